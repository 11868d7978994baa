//! Keys that do not show: not in `Debug`, not in an error, not in a file.

use std::fmt;

/// A key. Nothing here prints it; [`Key::reveal`] is called where a request's header is made, and nowhere else.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

/// Stands in a key's place where a text is shown.
pub const HIDDEN: &str = "[key]";

/// Shorter ones are taken for mistakes: to hide them would tear other words apart.
const SHORTEST: usize = 8;

impl Key {
    /// Takes a key; the message of a refusal does not hold it.
    pub fn new(text: &str) -> Result<Self, String> {
        if text.len() < SHORTEST {
            return Err(format!("a key of {} bytes, expected at least {SHORTEST}", text.len()));
        }
        match text.bytes().position(|byte| !byte.is_ascii_graphic()) {
            Some(at) => Err(format!("byte {at} of the key cannot stand in a header, expected visible ASCII")),
            None => Ok(Self(text.to_owned())),
        }
    }

    /// The key itself, for a header.
    pub fn reveal(&self) -> &str {
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
    fn a_key_does_not_show() {
        let key = Key::new("sk-very-secret").unwrap();
        assert_eq!(key.reveal(), "sk-very-secret");
        assert_eq!(format!("{key:?} {:?}", Some(&key)), "[key] Some([key])");
        assert_eq!(key.redact("bad key sk-very-secret!"), "bad key [key]!");
        assert!(Key::new("short").is_err() && Key::new("with space inside").is_err());
    }
}
