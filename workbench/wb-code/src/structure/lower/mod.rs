//! One file a language: its syntax tree written down as a structure.

mod by_name;
mod go;
mod java;
mod javascript;
mod python;
mod rust;

use super::{builder::StructureBuilder, file::FileStructure};
use crate::{Language, languages::parse};

/// True for languages whose scopes and imports are known here; of others names are compared, and nothing more.
pub fn lowers_by_rules(language: Language) -> bool {
    matches!(
        language,
        Language::Go | Language::Java | Language::JavaScript | Language::TypeScript | Language::Python | Language::Rust
    )
}

/// The structure of a text; one without anything where it is no source.
pub fn structure_of(text: &str, language: Language) -> FileStructure {
    lower(language, text).unwrap_or_else(|| StructureBuilder::new("").structure)
}

/// The structure of a text; none where it is no source.
pub(super) fn lower(language: Language, text: &str) -> Option<FileStructure> {
    let tree = parse(text, language.rules().grammars(text))?;
    let (builder, root) = (&mut StructureBuilder::new(text), tree.root_node());
    match language {
        Language::Go => go::lower(builder, root),
        Language::Java => java::lower(builder, root),
        Language::JavaScript => javascript::lower(builder, root, false),
        Language::TypeScript => javascript::lower(builder, root, true),
        Language::Python => python::lower(builder, root),
        Language::Rust => rust::lower(builder, root),
        _ => by_name::lower(builder, root, language),
    }
    Some(std::mem::take(&mut builder.structure))
}
