//! Keys of servers: out of the environment, a file, or the system's randomness.

use std::fs;

use wb_core::key::Key;

use crate::{Error, Result, config::KeyConfig};

/// The key that a configuration names, or none where it names none.
pub fn key_of(config: &KeyConfig, at: &str) -> Result<Option<Key>> {
    let refuse = |key: &str, what: String| Error::value(format!("{at}.{key}"), what);
    let (key, text) = match (config.env.as_str(), config.file.as_os_str().is_empty()) {
        ("", true) => return Ok(None),
        ("", false) => {
            let text = fs::read_to_string(&config.file).map_err(Error::io("read", &config.file))?;
            ("file", text)
        }
        (name, true) => {
            let text = std::env::var(name)
                .map_err(|_| refuse("env", format!("the environment has no `{name}` in UTF-8, expected the key")))?;
            ("env", text)
        }
        _ => return Err(refuse("file", "given beside `env`, expected one of them".into())),
    };
    Key::new(text.trim()).map(Some).map_err(|what| refuse(key, what))
}

/// A key that nobody knows yet, out of the system's randomness: it guards a server that is started here, and is in
/// no result.
pub fn random_key() -> Result<Key> {
    let mut bytes = [0; 24];
    getrandom::fill(&mut bytes).map_err(|error| Error::failed(format!("no random bytes: {error}")))?;
    let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Key::new(&text).map_err(Error::failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_comes_from_one_place() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("key");
        fs::write(&file, "sk-very-secret\n").unwrap();
        let config = |env: &str, file: &std::path::Path| KeyConfig { env: env.into(), file: file.into() };
        let key = key_of(&config("", &file), "k").unwrap().unwrap();
        assert_eq!(key.reveal(), "sk-very-secret");
        assert_eq!(key_of(&KeyConfig::default(), "k").unwrap(), None);
        for (env, path, expected) in [
            ("WB_NO_SUCH_KEY", "", "k.env: the environment has no `WB_NO_SUCH_KEY` in UTF-8, expected the key"),
            ("A", "b", "k.file: given beside `env`, expected one of them"),
        ] {
            let error = key_of(&config(env, path.as_ref()), "k").unwrap_err().to_string();
            assert_eq!(error, expected);
        }
        assert_ne!(random_key().unwrap(), random_key().unwrap());
    }
}
