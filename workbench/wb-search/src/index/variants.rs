//! Words of an index that say what a word says in other forms.

use super::CodeIndex;
use crate::{
    Result,
    words::{root, roots, short_forms},
};

/// Letters of the shortest root that counts.
const SHORTEST: usize = 3;

impl CodeIndex {
    /// Other words that stand here and are of the word's root (`resolver` for `resolution`), short for it (`auth` for
    /// `authentication`), or what it is short for; each once. Of words that are not English letters, none.
    pub(crate) fn variants<'a>(&'a self, word: &str) -> Result<Vec<&'a str>> {
        let mut found: Vec<&str> = Vec::new();
        if !word.is_ascii() {
            return Ok(found);
        }
        for of in roots(word).into_iter().filter(|root| root.len() >= SHORTEST) {
            // A word begins with its root.
            for entry in self.sections.beginning(of) {
                let (other, _) = entry?;
                if other != word && other.is_ascii() && root(other) == of && !found.contains(&other) {
                    found.push(other);
                }
            }
            for short in short_forms(of) {
                if short != word && !found.contains(&short) {
                    found.push(short);
                }
            }
        }
        Ok(found)
    }

    /// Names that stand here and are made of two words, whatever the form of the second: `typedetector` for `type` and
    /// `detection`.
    pub(crate) fn compounds<'a>(&'a self, first: &str, second: &str) -> Result<Vec<&'a str>> {
        let of = root(second);
        let mut found = Vec::new();
        for entry in self.sections.beginning(&format!("{first}{of}")) {
            let (name, _) = entry?;
            if root(&name[first.len()..]) == of {
                found.push(name);
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use crate::{FolderFiles, build};

    #[test]
    fn each_variant_is_there_once() {
        let folder = TempDir::new().unwrap();
        std::fs::write(folder.path().join("a.md"), "resolver resolve typeDetector typeDetect args\n").unwrap();
        let (index, _) = build(FolderFiles::of(folder.path()).unwrap(), &mut |_| {}).unwrap();
        assert_eq!(index.variants("resolution").unwrap(), ["resolv", "resolver"]);
        // `arg` and `args` are one word to the index.
        assert_eq!(index.variants("argument").unwrap(), ["arg"]);
        assert_eq!(index.compounds("type", "detection").unwrap(), ["typedetect", "typedetector"]);
        assert!(index.variants("größe").unwrap().is_empty());
    }
}
