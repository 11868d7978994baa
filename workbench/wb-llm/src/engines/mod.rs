//! The engines, and which of them a configuration means.

#[cfg(feature = "embedded")]
pub mod embedded;
mod guard;
pub mod http;
pub mod llama_server;
pub mod replay;
pub mod sidecar;

use std::{
    path::Path,
    sync::{Arc, atomic::AtomicBool},
};

use self::{
    http::{HttpConfig, HttpEngine},
    sidecar::{SidecarConfig, SidecarEngine},
};
use crate::{
    Error, Result,
    config::{EmbeddedSettings, EngineConfig, LlmConfig},
    engine::LlmEngine,
};

/// Opens the engine of a configuration. `log` is where the output of a server goes that is started here.
///
/// `auto` is `http` where there is a `base_url`, else `sidecar` where a llama-server is found, else `embedded`. No server
/// is taken that the configuration does not name, whatever listens on this machine.
pub fn open(config: &LlmConfig, log: &Path, interrupt: &Arc<AtomicBool>) -> Result<Arc<dyn LlmEngine>> {
    let sidecar = |sidecar: &SidecarConfig| -> Result<Arc<dyn LlmEngine>> {
        Ok(Arc::new(SidecarEngine::open(config, sidecar, log, interrupt.clone())?))
    };
    let http = |http: &HttpConfig| -> Result<Arc<dyn LlmEngine>> {
        Ok(Arc::new(HttpEngine::open_unless(config, http, interrupt)?))
    };
    match &config.engine {
        EngineConfig::Http(settings) => http(settings),
        EngineConfig::Sidecar(settings) => sidecar(settings),
        EngineConfig::Auto if !config.base_url.is_empty() => http(&HttpConfig::default()),
        // A server that is named and is not there is a mistake, and not a reason to take another engine.
        EngineConfig::Auto if llama_server::is_named() || llama_server::find(Path::new("")).is_ok() => {
            sidecar(&SidecarConfig::default())
        }
        EngineConfig::Auto => embedded(config, &EmbeddedSettings::default()),
        EngineConfig::Embedded(settings) => embedded(config, settings),
        // A client answers from its ledger; there is nothing to open.
        EngineConfig::Replay => Err(Error::failed("a replay has no engine, only a ledger")),
    }
}

/// Variables that have to be in the environment before the process begins for the `embedded` engine to run well; empty
/// where another engine is meant for certain. What is set already is left as it is.
///
/// candle learns of the number of threads from its environment alone, which no part of a running process may change.
/// Where `RAYON_NUM_THREADS` is missing, it reads the number of cores out of a file of the system at every product of
/// matrices: a model of 260 thousand weights is then 15 times slower, and the file is longer on larger machines.
pub fn environment(config: &LlmConfig) -> Vec<(&'static str, String)> {
    let threads = match &config.engine {
        EngineConfig::Embedded(settings) => settings.threads,
        EngineConfig::Auto if config.base_url.is_empty() => 0,
        _ => return Vec::new(),
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = if threads == 0 { cores } else { threads };
    // The first is what it is where it is missing, so that nothing else changes by it.
    [("RAYON_NUM_THREADS", cores), ("CANDLE_NUM_THREADS", threads)]
        .into_iter()
        .filter(|(name, _)| std::env::var_os(name).is_none())
        .map(|(name, n)| (name, n.to_string()))
        .collect()
}

/// A model in this process.
#[cfg(feature = "embedded")]
fn embedded(config: &LlmConfig, settings: &EmbeddedSettings) -> Result<Arc<dyn LlmEngine>> {
    let defaults = embedded::EmbeddedConfig::default();
    Ok(Arc::new(embedded::EmbeddedEngine::open(&embedded::EmbeddedConfig {
        model: config.model.clone().into(),
        context: if config.context == 0 { defaults.context } else { config.context },
        threads: settings.threads,
        limit_s: config.timeouts.request_s,
    })?))
}

/// Refuses: this build has no engine of its own.
#[cfg(not(feature = "embedded"))]
fn embedded(_: &LlmConfig, _: &EmbeddedSettings) -> Result<Arc<dyn LlmEngine>> {
    Err(Error::failed("no llama-server is found, and this build runs no model itself").with_hint(
        "install llama.cpp or name it in WB_LLAMA_SERVER, give `llm.base_url`, or build with --features embedded",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_embedded_engine_wants_variables_and_only_those_that_are_missing() {
        let wanted = |engine: &str, base_url: &str| {
            let engine = serde_json::from_str(engine).unwrap();
            environment(&LlmConfig { engine, base_url: base_url.into(), ..LlmConfig::default() })
        };
        assert_eq!(wanted("\"http\"", "http://127.0.0.1:1"), []);
        assert_eq!(wanted("\"auto\"", "http://127.0.0.1:1"), []);
        assert_eq!((wanted("\"sidecar\"", ""), wanted("\"replay\"", "")), (vec![], vec![]));
        let missing = |name: &str| std::env::var_os(name).is_none();
        for (engine, threads) in [("\"auto\"", None), ("{\"embedded\": {\"threads\": 3}}", Some("3"))] {
            let found = wanted(engine, "");
            let names: Vec<&str> = found.iter().map(|(name, _)| *name).collect();
            let expected: Vec<&str> =
                ["RAYON_NUM_THREADS", "CANDLE_NUM_THREADS"].into_iter().filter(|name| missing(name)).collect();
            assert_eq!(names, expected);
            for (name, value) in found {
                assert!(value.parse::<usize>().unwrap() > 0);
                assert!(name == "RAYON_NUM_THREADS" || threads.is_none_or(|threads| threads == value));
            }
        }
    }
}
