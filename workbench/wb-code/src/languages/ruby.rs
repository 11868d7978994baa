//! Ruby: the block of `#` lines (or `=begin … =end`) directly above a `def`, read as RDoc or YARD.

use tree_sitter::Node;

use super::{
    Grammar,
    language::{DocKind, LanguageRules, Role, function_of},
};
use crate::prose::Markup;

pub(super) struct Ruby;

impl LanguageRules for Ruby {
    fn grammars(&self, _source: &str) -> &'static [Grammar] {
        &[Grammar::Ruby]
    }

    fn markers(&self) -> &'static [&'static str] {
        &["#", "=begin"]
    }

    fn role<'tree>(&self, node: Node<'tree>, _source: &str) -> Role<'tree> {
        match node.kind() {
            "method" | "singleton_method" => function_of(node),
            "comment" => Role::Comment,
            // `private def x`, `memoize def x`
            "argument_list" if holds_one_method(node) => Role::Wrapper,
            "call" if node.child_by_field_name("arguments").is_some_and(holds_one_method) => Role::Wrapper,
            _ => Role::Other,
        }
    }

    fn doc_kind(&self, text: &str) -> DocKind {
        if text.starts_with("#!") {
            DocKind::Stop
        } else if text.starts_with('#') {
            DocKind::Line
        } else {
            DocKind::Block
        }
    }

    fn markup(&self) -> Markup {
        Markup::Rdoc
    }

    fn is_directive(&self, line: &str) -> bool {
        const TOOLS: [&str; 8] =
            ["frozen_string_literal:", "rubocop:", "encoding:", "coding:", "-*-", ":nocov:", "typed:", "steep:"];
        let line = line.trim_start();
        TOOLS.iter().any(|tool| line.starts_with(tool))
    }
}

fn holds_one_method(node: Node<'_>) -> bool {
    node.named_child_count() == 1
        && node.named_child(0).is_some_and(|child| matches!(child.kind(), "method" | "singleton_method"))
}
