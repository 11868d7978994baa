//! Shell, read by the grammar of Bash: the `#` lines directly above a function.

use tree_sitter::Node;

use super::{
    Grammar,
    language::{DocKind, LanguageRules, Role, begins_with_any, function_of},
};
use crate::prose::Markup;

pub(super) struct Shell;

impl LanguageRules for Shell {
    fn grammars(&self, _source: &str) -> &'static [Grammar] {
        &[Grammar::Bash]
    }

    fn markers(&self) -> &'static [&'static str] {
        &["#"]
    }

    fn role<'tree>(&self, node: Node<'tree>, _source: &str) -> Role<'tree> {
        match node.kind() {
            "function_definition" => function_of(node),
            "comment" => Role::Comment,
            _ => Role::Other,
        }
    }

    fn doc_kind(&self, text: &str) -> DocKind {
        if text.starts_with("#!") { DocKind::Stop } else { DocKind::Line }
    }

    fn markup(&self) -> Markup {
        Markup::Shell
    }

    fn is_directive(&self, line: &str) -> bool {
        begins_with_any(line, &["shellcheck ", "shfmt:", "vim:", "-*-", "bashate:", "kcov-"])
    }
}
