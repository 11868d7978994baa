//! Ruby: `while` and `until`, each as the other of the opposite condition.

use super::Change;
use crate::rewrites::{Edits, ParsedSource, source::preorder};

pub(super) fn ways(source: &ParsedSource<'_>) -> Vec<Change> {
    let mut ways = Vec::new();
    for node in preorder(source.root()) {
        let other = match node.kind() {
            "while" | "while_modifier" => "until",
            "until" | "until_modifier" => "while",
            _ => continue,
        };
        let keyword = node.kind().trim_end_matches("_modifier");
        let mut cursor = node.walk();
        let token = node.children(&mut cursor).find(|child| !child.is_named() && child.kind() == keyword);
        let (Some(token), Some(condition)) = (token.filter(|_| node.is_named()), node.child_by_field_name("condition"))
        else {
            continue;
        };
        let text = source.str(condition);
        if text == "true" || text.contains('\n') {
            continue;
        }
        let mut edits = Edits::new();
        edits.replace(token.byte_range(), other);
        edits.replace(condition.byte_range(), format!("!({text})"));
        ways.push(Change { edits, note: format!("write the {keyword} loop with {other}") });
    }
    ways
}
