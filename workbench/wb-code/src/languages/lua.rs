//! Lua: the comment directly above a function, be it LDoc's `---`, annotations of types or plain `--` lines.

use tree_sitter::Node;

use super::{
    Grammar,
    language::{DocKind, LanguageRules, Role, begins_with_any},
};
use crate::documented::layout::dedent;

pub(super) struct Lua;

impl LanguageRules for Lua {
    fn grammars(&self, _source: &str) -> &'static [Grammar] {
        &[Grammar::Lua]
    }

    fn markers(&self) -> &'static [&'static str] {
        &["--"]
    }

    fn role<'tree>(&self, node: Node<'tree>, _source: &str) -> Role<'tree> {
        match node.kind() {
            "function_declaration" => function(node, node.child_by_field_name("name")),
            "assignment_statement" => assigned(node).unwrap_or(Role::Other),
            // `local f = function() … end`
            "variable_declaration" => Role::Wrapper,
            "field" => held(node.child_by_field_name("name"), node.child_by_field_name("value")).unwrap_or(Role::Other),
            "comment" | "hash_bang_line" => Role::Comment,
            _ => Role::Other,
        }
    }

    fn doc_kind(&self, text: &str) -> DocKind {
        if text.starts_with("#!") {
            DocKind::Stop
        } else if is_block(text) {
            DocKind::Block
        } else {
            DocKind::Line
        }
    }

    fn comment_text(&self, comment: &str) -> Option<String> {
        if !is_block(comment) {
            let text = comment.trim_start_matches('-');
            return Some(text.strip_prefix(' ').unwrap_or(text).to_owned());
        }
        let inner = comment.trim_start_matches('-').trim_start_matches(['[', '=']);
        Some(dedent(inner.trim_end_matches([']', '=']).trim_matches('-')).trim().to_owned())
    }

    fn is_directive(&self, line: &str) -> bool {
        begins_with_any(line, &["luacheck:", "stylua:", "selene:", "@diagnostic", "vim:", "-*-"])
    }
}

/// `--[[ … ]]`, `--[==[ … ]==]`.
fn is_block(comment: &str) -> bool {
    let after = comment.strip_prefix("--[").map(|after| after.trim_start_matches('='));
    after.is_some_and(|after| after.starts_with('['))
}

/// A function of no statements has no node for its body.
fn function<'tree>(node: Node<'tree>, name: Option<Node<'tree>>) -> Role<'tree> {
    Role::Function { name, body: node.child_by_field_name("body").unwrap_or(node) }
}

/// `M.f = function() … end`, with one name on the left.
fn assigned(node: Node<'_>) -> Option<Role<'_>> {
    let [names, values] = [node.named_child(0)?, node.named_child(1)?];
    if names.named_child_count() != 1 {
        return None;
    }
    held(names.named_child(0), values.named_child(0))
}

fn held<'tree>(name: Option<Node<'tree>>, value: Option<Node<'tree>>) -> Option<Role<'tree>> {
    let value = value.filter(|value| value.kind() == "function_definition")?;
    Some(function(value, Some(name?)))
}
