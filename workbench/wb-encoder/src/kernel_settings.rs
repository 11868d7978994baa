//! Settings of how a device's kernels are made, for devices on which one that burn makes is wrong.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of burn and CubeCL, which make the kernels of every device but the processor. They hold for a whole process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct KernelSettings {
    /// Operations that follow one another become one kernel: those of `wb`, and what burn can make one of.
    pub fusion: bool,
    /// Number of kernels for the same product that are timed, of which the quickest is taken.
    pub autotune: Autotune,
}

/// Number of kernels for the same product that are timed: CubeCL's levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Autotune {
    /// The few that are most likely quick.
    Minimal,
    /// The number that CubeCL takes by itself.
    #[default]
    Balanced,
    /// More than that.
    Extensive,
    /// All of them.
    Full,
}

impl Default for KernelSettings {
    fn default() -> Self {
        Self { fusion: true, autotune: Autotune::default() }
    }
}

impl KernelSettings {
    const OTHERS: [Self; 3] = [
        Self { fusion: false, autotune: Autotune::Balanced },
        Self { fusion: true, autotune: Autotune::Minimal },
        Self { fusion: false, autotune: Autotune::Minimal },
    ];

    /// The settings that a device which is wrong may be right with, the nearest to the usual ones first, as far as this
    /// build has what they turn off.
    pub fn others() -> impl Iterator<Item = Self> {
        let usual = Self::default();
        Self::OTHERS.into_iter().filter(move |other| {
            (other.fusion == usual.fusion || cfg!(feature = "fused"))
                && (other.autotune == usual.autotune || cfg!(feature = "autotune"))
        })
    }

    /// All of them in words, and what this build has nothing for.
    pub fn in_words(self) -> String {
        let fusion = if self.fusion { "fusion" } else { "no fusion" };
        if !cfg!(feature = "autotune") {
            return format!("{fusion}, no autotune");
        }
        let level = |level: serde_json::Value| level.as_str().unwrap_or("unknown").to_owned();
        // Files and variables of CubeCL decide where nothing is said.
        #[cfg(any(feature = "cuda", feature = "wgpu"))]
        let level = level(match self.autotune == Autotune::default() {
            true => applied::autotune(),
            false => serde_json::to_value(self.autotune).unwrap_or_default(),
        });
        #[cfg(not(any(feature = "cuda", feature = "wgpu")))]
        let level = level(serde_json::to_value(self.autotune).unwrap_or_default());
        format!("{fusion}, autotune {level}")
    }

    /// Differences from the usual, as YAML and JSON have it: `{"fusion":false}`.
    pub(crate) fn changed(self) -> serde_json::Value {
        let (all, usual) = (serde_json::to_value(self), serde_json::to_value(Self::default()));
        let (Ok(serde_json::Value::Object(mut all)), Ok(usual)) = (all, usual) else { return serde_json::Value::Null };
        all.retain(|name, value| usual[name.as_str()] != *value);
        all.into()
    }
}

/// The folder of kernels that were made, and of which of them were quickest; none where this build keeps none, has nothing
/// that tells it from others, or the user has no cache.
pub fn kernel_cache() -> Option<PathBuf> {
    #[cfg(feature = "kernel-cache")]
    let is_known = buildid::build_id().is_some();
    #[cfg(not(feature = "kernel-cache"))]
    let is_known = false;
    let caches = || wb_core::paths::caches().ok();
    is_known.then(caches)?.map(|caches| caches.join("wb/kernels"))
}

#[cfg(any(feature = "cuda", feature = "wgpu"))]
pub(crate) use applied::apply;

/// True where this process has operations that follow one another become one kernel.
#[cfg(feature = "fused")]
pub(crate) fn fuses() -> bool {
    #[cfg(any(feature = "cuda", feature = "wgpu"))]
    let known = applied::settings();
    #[cfg(not(any(feature = "cuda", feature = "wgpu")))]
    let known: Option<KernelSettings> = None;
    known.unwrap_or_default().fusion
}

#[cfg(any(feature = "cuda", feature = "wgpu"))]
mod applied {
    use std::sync::{Mutex, PoisonError};

    use burn::BurnConfig;
    use burn_std::config::RuntimeConfig;
    use cubecl_runtime::config::CubeClRuntimeConfig;
    use serde::{Serialize, de::DeserializeOwned};
    use serde_json::{Value, json};

    use super::{KernelSettings, kernel_cache};
    use crate::error::{Result, cannot_use};

    /// The settings of this process, once it has opened a device.
    static SETTINGS: Mutex<Option<KernelSettings>> = Mutex::new(None);

    /// Sets burn and CubeCL up, before the first device is opened. What their own files and variables say stays, but for
    /// what is set here to something else than the usual.
    ///
    /// All threads give their work to one stream of a device, whatever files say: CubeCL keeps memory for each stream by
    /// itself, and gives that of a thread which has ended back to nobody.
    pub(crate) fn apply(settings: KernelSettings, device: &str) -> Result<()> {
        let mut known = SETTINGS.lock().unwrap_or_else(PoisonError::into_inner);
        if known.is_some_and(|known| known == settings) {
            return Ok(());
        }
        let usual = KernelSettings::default();
        let (mut of_burn, mut of_cubecl) = (Vec::new(), kept());
        of_cubecl.push((&["streaming", "policy"], json!("single")));
        if settings.fusion != usual.fusion {
            of_burn.push((&["fusion", "beam_search", "max_explorations"][..], json!(0)));
        }
        if settings.autotune != usual.autotune {
            of_cubecl.push((&["autotune", "level"], json!(settings.autotune)));
        }
        let is_set = known.is_none() && set::<BurnConfig>(of_burn) && set::<CubeClRuntimeConfig>(of_cubecl);
        if !is_set {
            let message = "this process has opened a device with other settings of fusion and autotune";
            return Err(cannot_use(device, message).with_hint("the same settings for every device of a config"));
        }
        *known = Some(settings);
        Ok(())
    }

    /// The settings of this process, once it has opened a device.
    pub(super) fn settings() -> Option<KernelSettings> {
        *SETTINGS.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The level of autotune, as files and variables of CubeCL have it.
    pub(super) fn autotune() -> Value {
        serde_json::to_value(&CubeClRuntimeConfig::get().autotune.level).unwrap_or_default()
    }

    /// Values of a configuration by their paths.
    type Values = Vec<(&'static [&'static str], Value)>;

    /// Values that have kernels kept in [`kernel_cache`], where this build keeps any.
    fn kept() -> Values {
        let Some(folder) = kernel_cache() else { return Vec::new() };
        vec![(&["compilation", "cache"], json!(true)), (&["environment", "path"], json!({ "directory": folder }))]
    }

    /// Sets values of a configuration; false where somebody has read that already.
    fn set<C: RuntimeConfig + Serialize + DeserializeOwned>(values: Values) -> bool {
        if values.is_empty() {
            return true;
        }
        let config = C::from_current_dir().override_from_env();
        let Ok(mut all) = serde_json::to_value(config) else { return false };
        for (path, value) in values {
            let Some(place) = path.iter().try_fold(&mut all, |place, name| place.get_mut(name)) else { return false };
            *place = value;
        }
        serde_json::from_value::<C>(all).is_ok_and(C::try_set)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_told() {
        assert_eq!(KernelSettings::default().changed().to_string(), "{}");
        let autotune = if cfg!(feature = "autotune") { "autotune minimal" } else { "no autotune" };
        assert_eq!(KernelSettings::OTHERS[2].in_words(), format!("no fusion, {autotune}"));
        let told = KernelSettings::OTHERS.map(|settings| settings.changed().to_string());
        assert_eq!(
            told,
            [r#"{"fusion":false}"#, r#"{"autotune":"minimal"}"#, r#"{"fusion":false,"autotune":"minimal"}"#]
        );
    }
}
