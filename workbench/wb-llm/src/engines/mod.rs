//! The engines, and which of them a configuration means.

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
/// `auto` is `http` where there is a `base_url`, else `sidecar` where a llama-server is found. No server is taken that
/// the configuration does not name, whatever listens on this machine.
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
        EngineConfig::Auto => {
            sidecar::find(Path::new(""))?;
            sidecar(&SidecarConfig::default())
        }
        // A client answers from its ledger; there is nothing to open.
        EngineConfig::Replay => Err(Error::Engine("a replay has no engine, only a ledger".into())),
    }
}
