//! C++: Doxygen comments directly above functions, methods and templates.

use tree_sitter::Node;

use super::{
    Grammar, c,
    language::{DocKind, LanguageRules, Role},
};
use crate::{labels::Typing, prose::Markup};

pub(super) struct Cpp;

impl LanguageRules for Cpp {
    fn grammars(&self, _source: &str) -> &'static [Grammar] {
        &[Grammar::Cpp]
    }

    fn markers(&self) -> &'static [&'static str] {
        c::MARKERS
    }

    fn role<'tree>(&self, node: Node<'tree>, _source: &str) -> Role<'tree> {
        c::role(node)
    }

    fn doc_kind(&self, text: &str) -> DocKind {
        c::doc_kind(text)
    }

    fn markup(&self) -> Markup {
        Markup::Doxygen
    }

    fn typings(&self) -> &'static [Typing] {
        c::TYPINGS
    }
}

/// True where a header speaks C++: a line that opens a namespace, class, template or access section.
///
/// What stands under `#ifdef __cplusplus` (`extern "C"`) does not count.
pub(super) fn looks_like_cpp(source: &str) -> bool {
    const OPENERS: [&str; 8] =
        ["namespace ", "class ", "template <", "template<", "public:", "private:", "protected:", "using "];
    source.lines().any(|line| {
        let line = line.trim_start();
        OPENERS.iter().any(|opener| line.starts_with(opener))
    })
}
