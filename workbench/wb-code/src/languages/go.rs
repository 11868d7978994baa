//! Go: the comment directly above a `func`.

use tree_sitter::Node;

use super::{
    Grammar,
    language::{DocKind, LanguageRules, Role, function_of},
};
use crate::{labels::Typing, prose::Markup};

pub(super) struct Go;

impl LanguageRules for Go {
    fn grammars(&self, _source: &str) -> &'static [Grammar] {
        &[Grammar::Go]
    }

    fn markers(&self) -> &'static [&'static str] {
        &["//", "/*"]
    }

    fn role<'tree>(&self, node: Node<'tree>, _source: &str) -> Role<'tree> {
        match node.kind() {
            "function_declaration" | "method_declaration" => function_of(node),
            "method_elem" => Role::Declaration,
            "comment" => Role::Comment,
            _ => Role::Other,
        }
    }

    fn doc_kind(&self, text: &str) -> DocKind {
        if text.starts_with("//") { DocKind::Line } else { DocKind::Block }
    }

    fn markup(&self) -> Markup {
        Markup::GoDoc
    }

    fn typings(&self) -> &'static [Typing] {
        TYPINGS
    }

    /// `go:noinline`, `nolint:…`, `+build …`: no space after the slashes, a word, a colon.
    fn is_directive(&self, line: &str) -> bool {
        if line.trim_start().starts_with("+build ") || line.starts_with("nolint") || line.starts_with("export ") {
            return true;
        }
        line.split_once(':').is_some_and(|(word, rest)| {
            !word.is_empty()
                && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
                && rest.starts_with(|c: char| c.is_ascii_lowercase())
        })
    }
}

/// Nodes that declare types.
const TYPINGS: &[Typing] = &[
    Typing::new("parameter_declaration", "name", "type"),
    Typing::new("variadic_parameter_declaration", "name", "type"),
    Typing::new("var_spec", "name", "type"),
    Typing::new("const_spec", "name", "type"),
    Typing::new("field_declaration", "name", "type"),
    Typing::new("function_declaration", "name", "result"),
    Typing::new("method_declaration", "name", "result"),
];
