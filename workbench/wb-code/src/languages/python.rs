//! Python: the docstring, first statement of a `def`.

use tree_sitter::Node;

use super::{
    Grammar,
    language::{DocKind, LanguageRules, Placement, Role, function_of},
};
use crate::{labels::Typing, prose::Markup};

pub(super) struct Python;

impl LanguageRules for Python {
    fn grammars(&self, _source: &str) -> &'static [Grammar] {
        &[Grammar::Python]
    }

    fn markers(&self) -> &'static [&'static str] {
        &["\"", "'"]
    }

    fn role<'tree>(&self, node: Node<'tree>, _source: &str) -> Role<'tree> {
        match node.kind() {
            "function_definition" => function_of(node),
            "decorated_definition" => Role::Wrapper,
            "comment" => Role::Comment,
            _ => Role::Other,
        }
    }

    fn placement(&self) -> Placement {
        Placement::InBody
    }

    fn doc_kind(&self, _text: &str) -> DocKind {
        DocKind::Remark
    }

    fn markup(&self) -> Markup {
        Markup::Docstring
    }

    fn typings(&self) -> &'static [Typing] {
        TYPINGS
    }
}

/// Nodes that declare types.
const TYPINGS: &[Typing] = &[
    Typing::new("typed_parameter", "", "type"),
    Typing::new("typed_default_parameter", "name", "type"),
    Typing::new("function_definition", "name", "return_type"),
    Typing::new("assignment", "left", "type"),
];
