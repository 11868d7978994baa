//! Declarations of what languages have built in, in each language itself: what comes out of its functions, and which members
//! its types have. Nobody is shown these places; they tell what a project's own types are given to and come back from.

use std::sync::LazyLock;

use super::{FileStructure, lower::lower, project::StructuredFile};
use crate::Language;

static RUST: LazyLock<Option<FileStructure>> = LazyLock::new(|| lower(Language::Rust, include_str!("rust.txt")));

/// The declarations for the languages of some files.
pub(super) fn declarations(files: &[StructuredFile]) -> Vec<StructuredFile> {
    let of = |(language, structure): (Language, &LazyLock<Option<FileStructure>>)| {
        let is_there = files.iter().any(|file| file.language == language);
        let structure = is_there.then(|| (*structure).clone()).flatten()?;
        Some(StructuredFile::new("std", language, structure))
    };
    [(Language::Rust, &RUST)].into_iter().filter_map(of).collect()
}
