//! Keys that do not show: not in `Debug`, not in an error, not in a file.

use std::{fmt, fs};

use crate::{
    config::KeyConfig,
    error::{Error, Result},
};

/// A key. Nothing here prints it; `Key::reveal` is called where a request's header is made, and nowhere else.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

/// What is written in a key's place.
pub const HIDDEN: &str = "[key]";

/// Shorter ones are taken for mistakes: to hide them would tear other words apart.
const SHORTEST: usize = 8;

impl Key {
    /// The key that a configuration names, or none where it names none.
    pub fn from_config(config: &KeyConfig, at: &str) -> Result<Option<Self>> {
        let refuse = |key: &str, what: String| Error::Config { key: format!("{at}.{key}"), what };
        let (key, text) = match (config.env.as_str(), config.file.as_os_str().is_empty()) {
            ("", true) => return Ok(None),
            ("", false) => {
                let text = fs::read_to_string(&config.file)
                    .map_err(|source| Error::Io { path: config.file.display().to_string(), source })?;
                ("file", text)
            }
            (name, true) => {
                let text = std::env::var(name).map_err(|_| {
                    refuse("env", format!("the environment has no `{name}` in UTF-8, expected the key"))
                })?;
                ("env", text)
            }
            _ => return Err(refuse("file", "given beside `env`, expected one of them".into())),
        };
        Self::new(text.trim()).map(Some).map_err(|what| refuse(key, what))
    }

    /// Takes a key; the message of a refusal does not hold it.
    pub fn new(text: &str) -> std::result::Result<Self, String> {
        if text.len() < SHORTEST {
            return Err(format!("a key of {} bytes, expected at least {SHORTEST}", text.len()));
        }
        match text.bytes().position(|byte| !byte.is_ascii_graphic()) {
            Some(at) => Err(format!("byte {at} of the key cannot stand in a header, expected visible ASCII")),
            None => Ok(Self(text.to_owned())),
        }
    }

    /// A key that nobody knows yet, out of the system's randomness: it guards a server that is started here, and is in
    /// no result.
    pub fn random() -> Result<Self> {
        let mut bytes = [0; 24];
        getrandom::fill(&mut bytes).map_err(|error| Error::Engine(format!("no random bytes: {error}")))?;
        Ok(Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// The key itself.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    /// A text of others, without the key: servers repeat it in their messages.
    pub fn redact(&self, text: &str) -> String {
        text.replace(&self.0, HIDDEN)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_comes_from_one_place_and_does_not_show() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("key");
        fs::write(&file, "sk-very-secret\n").unwrap();
        let config = |env: &str, file: &std::path::Path| KeyConfig { env: env.into(), file: file.into() };
        let key = Key::from_config(&config("", &file), "k").unwrap().unwrap();
        assert_eq!(key.reveal(), "sk-very-secret");
        assert_eq!(format!("{key:?} {:?}", Some(&key)), "[key] Some([key])");
        assert_eq!(key.redact("bad key sk-very-secret!"), "bad key [key]!");
        assert_eq!(Key::from_config(&KeyConfig::default(), "k").unwrap(), None);
        for (env, path, expected) in [
            ("WB_NO_SUCH_KEY", "", "k.env: the environment has no `WB_NO_SUCH_KEY` in UTF-8, expected the key"),
            ("A", "b", "k.file: given beside `env`, expected one of them"),
        ] {
            let error = Key::from_config(&config(env, path.as_ref()), "k").unwrap_err().to_string();
            assert_eq!(error, expected);
        }
        assert!(Key::new("short").is_err() && Key::new("with space inside").is_err());
        assert_ne!(Key::random().unwrap(), Key::random().unwrap());
    }
}
