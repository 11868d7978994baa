//! Labels of code at its tokens, for objectives: syntax nodes and declared types.

use std::ops::Range;

use wb_code::{Language, node_labels, type_labels};
use wb_encoder::train::objectives::DeclaredType;

/// Named syntax nodes of a text, parents first; nothing for a language without a grammar.
pub fn nodes(text: &str, language: &str) -> Vec<(Range<usize>, Option<u16>)> {
    let Some(language) = Language::named(language) else { return Vec::new() };
    node_labels(text, language).into_iter().map(|node| (node.bytes, node.kind)).collect()
}

/// Names with a declared type; nothing for a language that declares none.
pub fn types(text: &str, language: &str) -> Vec<DeclaredType> {
    let Some(language) = Language::named(language) else { return Vec::new() };
    let declared = |typed: wb_code::TypedName| DeclaredType {
        name: typed.name,
        annotation: typed.annotation,
        type_name: typed.type_name,
    };
    type_labels(text, language).into_iter().map(declared).collect()
}
