//! TypeScript, with and without JSX: JSDoc as in JavaScript.

use tree_sitter::Node;

use super::{
    Grammar, javascript,
    language::{DocKind, LanguageRules, Placement, Role, javadoc_kind},
};
use crate::prose::Markup;

pub(super) struct TypeScript;

impl LanguageRules for TypeScript {
    fn grammars(&self, _source: &str) -> &'static [Grammar] {
        &[Grammar::TypeScript, Grammar::Tsx]
    }

    fn markers(&self) -> &'static [&'static str] {
        &["/**"]
    }

    fn role<'tree>(&self, node: Node<'tree>) -> Role<'tree> {
        javascript::role(node)
    }

    fn placement(&self) -> Placement {
        Placement::DirectlyAbove
    }

    fn doc_kind(&self, text: &str) -> DocKind {
        javadoc_kind(text)
    }

    fn markup(&self) -> Markup {
        Markup::Tags
    }

    fn import_kinds(&self) -> &'static [&'static str] {
        &["import_statement"]
    }
}
