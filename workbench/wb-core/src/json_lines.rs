//! Files of JSON lines: typed line by line, and every error says which line.

use std::path::Path;

use crate::{Error, Result, remote};
use serde::de::DeserializeOwned;

/// All records of a file with their line numbers, from 1; empty lines are passed over.
pub fn read<T: DeserializeOwned>(path: &Path) -> Result<Vec<(usize, T)>> {
    let bytes = std::fs::read(remote::local(path)?).map_err(Error::io("read", path))?;
    let text = String::from_utf8(bytes).map_err(|error| {
        Error::data(path.display().to_string(), format!("byte {} is not UTF-8", error.utf8_error().valid_up_to()))
    })?;
    parse(&text, path)
}

/// Parses the lines of a text; `path` is for messages.
pub fn parse<T: DeserializeOwned>(text: &str, path: &Path) -> Result<Vec<(usize, T)>> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(at, line)| {
            let record = serde_json::from_str(line).map_err(|error| Error::json_line(path, at + 1, &error))?;
            Ok((at + 1, record))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_line_is_named() {
        let error = parse::<Vec<u8>>("[1]\n\n[2, x]\n", Path::new("a.jsonl")).unwrap_err();
        assert!(error.to_string().starts_with("a.jsonl:3:5: "), "{error}");
        assert_eq!(parse::<Vec<u8>>("[1]\n\n[2]", Path::new("a.jsonl")).unwrap(), [(1, vec![1]), (3, vec![2])]);
    }
}
