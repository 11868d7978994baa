//! Versions in the names of registry folders, and which of two is newer.

use std::cmp::Ordering;

/// A semantic version; build metadata orders last so that the order is total.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Version {
    numbers: [u64; 3],
    pre: String,
    build: String,
}

impl Version {
    fn parse(text: &str) -> Option<Self> {
        let (text, build) = text.split_once('+').unwrap_or((text, ""));
        let (numbers, pre) = text.split_once('-').unwrap_or((text, ""));
        let mut parts = numbers.split('.');
        let mut number = || {
            let part = parts.next()?;
            if part.bytes().all(|byte| byte.is_ascii_digit()) { part.parse().ok() } else { None }
        };
        let numbers = [number()?, number()?, number()?];
        if parts.next().is_some() {
            return None;
        }
        Some(Self { numbers, pre: pre.to_owned(), build: build.to_owned() })
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        let release = |version: &Self| version.pre.is_empty();
        self.numbers
            .cmp(&other.numbers)
            .then_with(|| release(self).cmp(&release(other)))
            .then_with(|| compare_pre(&self.pre, &other.pre))
            .then_with(|| self.build.cmp(&other.build))
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Pre-release parts: numbers by value and before words, words by letters, fewer parts first.
fn compare_pre(one: &str, other: &str) -> Ordering {
    let mut others = other.split('.');
    for part in one.split('.') {
        let Some(against) = others.next() else { return Ordering::Greater };
        let order = match (part.parse::<u64>(), against.parse::<u64>()) {
            (Ok(one), Ok(other)) => one.cmp(&other),
            (Ok(_), Err(_)) => Ordering::Less,
            (Err(_), Ok(_)) => Ordering::Greater,
            (Err(_), Err(_)) => part.cmp(against),
        };
        if order != Ordering::Equal {
            return order;
        }
    }
    if others.next().is_some() { Ordering::Less } else { Ordering::Equal }
}

/// `name` and version of a folder `name-1.2.3`.
pub(super) fn registry_folder(folder: &str) -> Option<(&str, Version)> {
    folder
        .match_indices('-')
        .filter(|(at, _)| *at > 0)
        .find_map(|(at, _)| Version::parse(&folder[at + 1..]).map(|version| (&folder[..at], version)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_taken_apart() {
        for (folder, expected) in [
            ("serde-1.0.229", Some("serde")),
            ("tree-sitter-rust-0.24.2", Some("tree-sitter-rust")),
            ("wasi-0.11.1+wasi-snapshot-preview1", Some("wasi")),
            ("burn-0.23.0-pre.1", Some("burn")),
            ("winapi-i686-pc-windows-gnu-0.4.0", Some("winapi-i686-pc-windows-gnu")),
            ("float-2-1.0.0", Some("float-2")),
            ("src", None),
            ("a-1.2", None),
            ("-1.2.3", None),
        ] {
            assert_eq!(registry_folder(folder).map(|(name, _)| name), expected, "{folder}");
        }
    }

    #[test]
    fn versions_are_ordered_as_semver_orders_them() {
        let ordered = [
            "0.9.10",
            "1.0.0-alpha",
            "1.0.0-alpha.1",
            "1.0.0-alpha.beta",
            "1.0.0-beta.2",
            "1.0.0-beta.11",
            "1.0.0-rc.1",
            "1.0.0",
            "1.0.0+1",
            "1.2.0",
            "1.10.0",
        ];
        for pair in ordered.windows(2) {
            assert!(Version::parse(pair[0]).unwrap() < Version::parse(pair[1]).unwrap(), "{pair:?}");
        }
    }
}
