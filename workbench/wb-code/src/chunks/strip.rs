//! Code without its comments, everything else as it stands.

use std::ops::Range;

use tree_sitter::Node;

use crate::{
    Language,
    languages::{elixir, language::Role, parse},
};

/// A source without its comments, without Python's docstrings where something else is left in their body, and without
/// what documents in Elixir.
///
/// A line that held nothing but comments is gone; a comment between two words leaves a space. Strings are not touched.
/// `None` where the parser gives up.
pub fn strip_comments(source: &str, language: Language) -> Option<String> {
    u32::try_from(source.len()).ok()?;
    let rules = language.rules();
    let tree = parse(source, rules.grammars(source))?;
    let mut cuts: Vec<Range<usize>> = Vec::new();
    let mut stack = vec![tree.root_node()];
    let mut children = Vec::new();
    while let Some(node) = stack.pop() {
        let is_prose = match language {
            Language::Python => is_docstring(node),
            Language::Elixir => elixir::is_prose(node, source),
            _ => false,
        };
        if is_prose || matches!(rules.role(node, source), Role::Comment) {
            cuts.push(node.byte_range());
            continue;
        }
        children.clear();
        let mut cursor = node.walk();
        children.extend(node.children(&mut cursor));
        stack.extend(children.drain(..).rev());
    }
    Some(without(source, &cuts))
}

/// A string alone as the first statement of a module, class or function that has more statements.
fn is_docstring(node: Node<'_>) -> bool {
    node.kind() == "expression_statement"
        && node.named_child_count() == 1
        && node.named_child(0).is_some_and(|child| child.kind() == "string")
        && node.parent().is_some_and(|parent| {
            let in_definition =
                parent.parent().is_some_and(|above| matches!(above.kind(), "function_definition" | "class_definition"));
            let mut cursor = parent.walk();
            let mut statements = parent.named_children(&mut cursor).filter(|child| child.kind() != "comment");
            (parent.kind() == "module" || parent.kind() == "block" && in_definition)
                && statements.next() == Some(node)
                && statements.next().is_some()
        })
}

fn without(source: &str, cuts: &[Range<usize>]) -> String {
    let mut kept = String::with_capacity(source.len());
    let mut at = 0;
    for cut in cuts {
        kept.push_str(source.get(at..cut.start).unwrap_or_default());
        at = cut.end;
        // Some grammars take the line end into the comment.
        let comment = source.get(cut.clone()).unwrap_or_default();
        at -= comment.len() - comment.trim_end_matches(['\n', '\r']).len();
        let rest_of_line = source[at..].split_inclusive('\n').next().unwrap_or_default();
        let line_start = kept.rfind('\n').map_or(0, |newline| newline + 1);
        if !rest_of_line.trim().is_empty() {
            let spaced = kept.ends_with(char::is_whitespace) || rest_of_line.starts_with(char::is_whitespace);
            if !spaced && !kept.is_empty() {
                kept.push(' ');
            }
        } else if kept[line_start..].trim().is_empty() {
            kept.truncate(line_start);
            at += rest_of_line.len();
        } else {
            kept.truncate(kept.trim_end_matches([' ', '\t']).len());
        }
    }
    kept.push_str(source.get(at..).unwrap_or_default());
    kept
}
