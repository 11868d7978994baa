//! Settings of the hub (cache, server, key, patience) out of the environment, as Python's client takes it.

use std::{ffi::OsString, path::PathBuf, time::Duration};

use wb_core::key::Key;

/// The environment of the hub.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The hub's address, without a slash at the end.
    pub endpoint: String,
    /// The cache that all of the hub's clients share; none where there is no home folder.
    pub cache: Option<PathBuf>,
    /// Key for repositories that are not open to everybody; only ever sent to the endpoint.
    pub key: Option<Key>,
    /// The variable that forbids to ask anybody.
    pub offline: Option<&'static str>,
    /// Names that the lock file does not know are refused.
    pub locked: bool,
    /// Limits of attempts and waits.
    pub patience: Patience,
}

/// Limits after which a server counts as not reachable.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Patience {
    /// Attempts in a row that bring nothing.
    pub attempts: u32,
    /// The wait after the first, doubled after each further one.
    pub first_wait: Duration,
    /// The longest wait that a server may ask for.
    pub longest_wait: Duration,
    /// Silence after which a connection counts as cut.
    pub silence: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            attempts: 6,
            first_wait: Duration::from_secs(1),
            longest_wait: Duration::from_secs(300),
            silence: Duration::from_secs(60),
        }
    }
}

impl Settings {
    /// Reads this process's environment.
    pub fn of_environment() -> Self {
        Self::of(&|name| std::env::var_os(name))
    }

    /// Reads an environment, asked variable by variable.
    pub fn of(get: &dyn Fn(&str) -> Option<OsString>) -> Self {
        let set = |name: &str| get(name).filter(|value| !value.is_empty());
        let path = |name: &str| set(name).map(PathBuf::from);
        let text = |name: &str| set(name).and_then(|value| value.into_string().ok());
        let home = path("HF_HOME")
            .or_else(|| path("XDG_CACHE_HOME").map(|cache| cache.join("huggingface")))
            .or_else(|| path("HOME").or_else(std::env::home_dir).map(|home| home.join(".cache").join("huggingface")));
        let cache = path("HF_HUB_CACHE")
            .or_else(|| path("HUGGINGFACE_HUB_CACHE"))
            .or_else(|| home.as_ref().map(|home| home.join("hub")));
        let is_on = |name: &str| {
            text(name).is_some_and(|value| !matches!(value.to_uppercase().as_str(), "0" | "OFF" | "NO" | "FALSE"))
        };
        let of_file = || {
            if is_on("HF_HUB_DISABLE_IMPLICIT_TOKEN") {
                return None;
            }
            let file = path("HF_TOKEN_PATH").or_else(|| home.as_ref().map(|home| home.join("token")))?;
            std::fs::read_to_string(file).ok()
        };
        let key = text("HF_TOKEN").or_else(|| text("HUGGING_FACE_HUB_TOKEN")).or_else(of_file);
        let endpoint = text("HF_ENDPOINT").unwrap_or_else(|| "https://huggingface.co".to_owned());
        Self {
            endpoint: endpoint.trim_end_matches('/').to_owned(),
            cache,
            key: key.and_then(|key| Key::new(key.trim()).ok()),
            offline: ["WB_OFFLINE", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"].into_iter().find(|name| is_on(name)),
            locked: false,
            patience: Patience::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::HashMap, path::Path};

    use super::*;

    fn of(variables: &[(&str, &str)]) -> Settings {
        let map: HashMap<&str, &str> = variables.iter().copied().collect();
        Settings::of(&|name| map.get(name).map(OsString::from))
    }

    #[test]
    fn the_environment_says_where_and_whom() {
        let plain = of(&[("HOME", "/home/me")]);
        assert_eq!(plain.endpoint, "https://huggingface.co");
        assert_eq!(plain.cache.as_deref(), Some(Path::new("/home/me/.cache/huggingface/hub")));
        assert!(plain.key.is_none() && plain.offline.is_none());
        let cache = |variables: &[(&str, &str)]| of(variables).cache.unwrap();
        assert_eq!(cache(&[("HOME", "/h"), ("XDG_CACHE_HOME", "/x")]), Path::new("/x/huggingface/hub"));
        assert_eq!(cache(&[("XDG_CACHE_HOME", "/x"), ("HF_HOME", "/f")]), Path::new("/f/hub"));
        assert_eq!(cache(&[("HF_HOME", "/f"), ("HUGGINGFACE_HUB_CACHE", "/old")]), Path::new("/old"));
        assert_eq!(cache(&[("HF_HOME", "/f"), ("HF_HUB_CACHE", "/c")]), Path::new("/c"));
        let mirror = of(&[("HOME", "/h"), ("HF_ENDPOINT", "http://mirror.example/hf/")]);
        assert_eq!(mirror.endpoint, "http://mirror.example/hf");
    }

    #[test]
    fn offline_is_what_is_not_no() {
        for (value, expected) in
            [("1", true), ("true", true), ("on", true), ("0", false), ("", false), ("False", false)]
        {
            assert_eq!(of(&[("HOME", "/h"), ("WB_OFFLINE", value)]).offline.is_some(), expected, "{value}");
        }
        assert_eq!(of(&[("HOME", "/h"), ("HF_HUB_OFFLINE", "1")]).offline, Some("HF_HUB_OFFLINE"));
    }

    #[test]
    fn a_key_comes_from_a_variable_or_the_file_that_the_login_of_others_leaves() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("token"), "hf_of_the_file\n").unwrap();
        let home = folder.path().to_str().unwrap();
        let key = |more: &[(&str, &str)]| {
            let mut all = vec![("HF_HOME", home)];
            all.extend(more);
            of(&all).key.map(|key| key.reveal().to_owned())
        };
        assert_eq!(key(&[]).as_deref(), Some("hf_of_the_file"));
        assert_eq!(key(&[("HF_TOKEN", " hf_of_the_variable ")]).as_deref(), Some("hf_of_the_variable"));
        assert_eq!(key(&[("HF_HUB_DISABLE_IMPLICIT_TOKEN", "1")]), None);
    }
}
