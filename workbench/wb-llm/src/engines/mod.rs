//! The engines, and which of them a configuration means.

#[cfg(feature = "embedded")]
pub mod embedded;
pub mod http;
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
    config::{EngineConfig, LlmConfig},
    engine::LlmEngine,
    error::{Error, Result},
};

/// Opens the engine of a configuration. `log` is where the output of a server goes that is started here.
///
/// `auto` is `http` where there is a `base_url`, else `sidecar` where a llama-server is found, else `embedded`. No server
/// is taken that the configuration does not name, whatever listens on this machine.
pub fn open(config: &LlmConfig, log: &Path, interrupt: &Arc<AtomicBool>) -> Result<Arc<dyn LlmEngine>> {
    let sidecar = |sidecar: &SidecarConfig| -> Result<Arc<dyn LlmEngine>> {
        Ok(Arc::new(SidecarEngine::open(config, sidecar, log, interrupt.clone())?))
    };
    match &config.engine {
        EngineConfig::Http(http) => Ok(Arc::new(HttpEngine::open(config, http)?)),
        EngineConfig::Sidecar(settings) => sidecar(settings),
        EngineConfig::Auto if !config.base_url.is_empty() => {
            Ok(Arc::new(HttpEngine::open(config, &HttpConfig::default())?))
        }
        EngineConfig::Auto if sidecar::find(Path::new("")).is_ok() => sidecar(&SidecarConfig::default()),
        EngineConfig::Auto | EngineConfig::Embedded => embedded(config),
        // A client answers from its ledger; there is nothing to open.
        EngineConfig::Replay => Err(Error::Engine("a replay has no engine, only a ledger".into())),
    }
}

/// A model in this process.
#[cfg(feature = "embedded")]
fn embedded(config: &LlmConfig) -> Result<Arc<dyn LlmEngine>> {
    let defaults = embedded::EmbeddedConfig::default();
    let context = if config.context == 0 { defaults.context } else { config.context };
    let model = config.model.clone().into();
    Ok(Arc::new(embedded::EmbeddedEngine::open(&embedded::EmbeddedConfig { model, context })?))
}

/// This build has no engine of its own.
#[cfg(not(feature = "embedded"))]
fn embedded(_: &LlmConfig) -> Result<Arc<dyn LlmEngine>> {
    Err(Error::Engine(
        "no llama-server is found, and this build runs no model itself: install llama.cpp or name it in WB_LLAMA_SERVER, \
         give `llm.base_url`, or build with --features embedded"
            .into(),
    ))
}
