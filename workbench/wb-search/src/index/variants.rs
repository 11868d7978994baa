//! Words of an index that say what a word says in other forms.

use super::CodeIndex;
use crate::{
    Result,
    words::{root, roots, short_forms},
};

/// Letters of the shortest root that counts.
const SHORTEST: usize = 3;

impl CodeIndex {
    /// Other words of the word's root that stand here (`resolver` for `resolution`) and of what it is short for, and what
    /// these are shortened to (`auth` for `authentication`), wherever that stands; each once. Of words that are not English
    /// letters, none.
    pub(crate) fn variants<'a>(&'a self, word: &str) -> Result<Vec<&'a str>> {
        let mut found: Vec<&str> = Vec::new();
        if !word.is_ascii() {
            return Ok(found);
        }
        for of in roots(word).into_iter().filter(|root| root.len() >= SHORTEST) {
            let mut of_root = self.of_root("", of)?;
            of_root.extend(short_forms(of));
            for other in of_root {
                if other != word && other.is_ascii() && !found.contains(&other) {
                    found.push(other);
                }
            }
        }
        Ok(found)
    }

    /// Names that stand here and are made of two words, whatever the form of the second: `typedetector` for `type` and
    /// `detection`.
    pub(crate) fn compounds<'a>(&'a self, first: &str, second: &str) -> Result<Vec<&'a str>> {
        self.of_root(first, root(second))
    }

    /// Words that are something and then a word of a root, which begins with that root.
    fn of_root<'a>(&'a self, before: &str, of: &str) -> Result<Vec<&'a str>> {
        let prefix = format!("{before}{of}");
        let is_of_root = |found: &Result<&str>| found.as_ref().map_or(true, |word| root(&word[before.len()..]) == of);
        self.sections.beginning(&prefix)?.filter(is_of_root).collect()
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
