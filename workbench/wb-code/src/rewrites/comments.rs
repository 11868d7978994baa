//! Comments: taken out, moved from the end of a line to a line above it, or a docstring taken out.

use std::ops::Range;

use tree_sitter::Node;

use super::{
    Draw, Edits, ParsedSource, Refusal,
    rewrite::{Change, Rewrite},
    source::{is_comment, named_children, preorder},
};
use crate::languages::Language;

/// Comments that speak to a tool stay: a compiler or a linter may read them.
pub(super) struct Comments;

const DIRECTIVES: &[&str] = &[
    "#!",
    "# -*-",
    "#-*-",
    "# type:",
    "# noqa",
    "# pragma",
    "# pylint",
    "# frozen_string_literal",
    "# rubocop",
    "# encoding",
    "# coding",
    "//go:",
    "// +build",
    "//export",
    "//#",
    "// @ts-",
    "/* eslint",
    "// eslint",
    "//! ",
    "/*!",
    "#cgo",
    "//nolint",
    "# -*",
    "#coding",
    "# fmt:",
    "# mypy",
    "// prettier",
    "/* istanbul",
    "// NOLINT",
    "/* global",
    "/*global",
    "/* jshint",
];

impl Rewrite for Comments {
    fn edits(&self, source: &ParsedSource<'_>, draw: &mut Draw) -> Result<Change, Refusal> {
        let comments: Vec<Node<'_>> = preorder(source.root())
            .into_iter()
            .filter(|node| node.is_named() && is_comment(*node) && !is_directive(source.str(*node)))
            .collect();
        let ways = [strip(source, &comments), move_trailing(source, &comments), strip_docstrings(source)];
        let ways: Vec<Change> = ways.into_iter().filter(|change| !change.edits.is_empty()).collect();
        draw.one_of(&ways).cloned().ok_or(Refusal::NoSite)
    }
}

fn is_directive(text: &str) -> bool {
    DIRECTIVES.iter().any(|start| text.starts_with(start))
}

fn strip(source: &ParsedSource<'_>, comments: &[Node<'_>]) -> Change {
    let mut edits = Edits::new();
    for comment in comments {
        // Rust's doc comments hold their line break.
        let text = source.str(*comment).trim_end();
        let range = comment.start_byte()..comment.start_byte() + text.len();
        let ends_line = source.text.get(range.end..source.line_end(range.end)).unwrap_or_default().trim().is_empty();
        if ends_line && source.margin(range.start).is_some() {
            let end = source.line_end(range.end);
            let after = end + usize::from(end < source.text.len());
            edits.remove(source.line_start(range.start)..after);
        } else if ends_line {
            let line = source.text.get(source.line_start(range.start)..range.start).unwrap_or_default();
            let spaces = line.len() - line.trim_end().len();
            edits.remove(range.start - spaces..range.end);
        } else {
            // A block comment between tokens keeps them apart, and its line breaks count in some languages.
            edits.replace(range, if text.contains('\n') { "\n" } else { " " });
        }
    }
    Change { edits, note: "remove the comments".to_owned() }
}

fn move_trailing(source: &ParsedSource<'_>, comments: &[Node<'_>]) -> Change {
    let mut edits = Edits::new();
    for comment in comments {
        let Some(moved) = moved(source, *comment) else { continue };
        let (line, spaces, text) = moved;
        edits.insert(line, text);
        edits.remove(spaces);
    }
    Change { edits, note: "move comments to lines of their own".to_owned() }
}

/// The new place of a comment, what is taken out at the end of its line, and the new line.
fn moved(source: &ParsedSource<'_>, comment: Node<'_>) -> Option<(usize, Range<usize>, String)> {
    let text = source.str(comment).trim_end();
    let start = source.line_start(comment.start_byte());
    let end = comment.start_byte() + text.len();
    let before = source.text.get(start..comment.start_byte())?;
    let after = source.text.get(end..source.line_end(end))?;
    let is_doc = source.language == Language::Rust && (text.starts_with("///") || text.starts_with("//!"));
    if before.trim().is_empty() || !after.trim().is_empty() || text.contains('\n') || is_doc {
        return None;
    }
    // The line must begin with the beginning of a statement, and not in the middle of a text or a continued line.
    let code = start + before.len() - before.trim_start().len();
    let first = source.root().descendant_for_byte_range(code, code + 1)?;
    let continues = source.text.get(..start).is_some_and(|text| text.trim_end_matches('\n').ends_with('\\'));
    let inside_text = first.start_byte() < code;
    let opens = before.trim_start().starts_with(['}', ')', ']', '.', '|', '&', '+', '-', '*', '/', '?', ':']);
    let begins = statement_begins_at(source, code);
    if continues || inside_text || opens || !begins {
        return None;
    }
    let margin = source.margin(code)?;
    let spaces = before.len() - before.trim_end().len();
    Some((start, comment.start_byte() - spaces..end, format!("{margin}{text}\n")))
}

/// Kinds of nodes whose children are statements or declarations.
const HOLDERS: &[&str] = &[
    "block",
    "module",
    "program",
    "source_file",
    "statement_block",
    "statement_list",
    "class_body",
    "body_statement",
    "compound_statement",
    "declaration_list",
    "translation_unit",
    "do",
    "then",
    "block_body",
];

/// True where some statement or declaration begins at a byte: the first node up that begins there and stands in a holder.
fn statement_begins_at(source: &ParsedSource<'_>, at: usize) -> bool {
    let Some(mut node) = source.root().named_descendant_for_byte_range(at, at + 1) else { return false };
    loop {
        let Some(parent) = node.parent().filter(|_| node.start_byte() == at) else { return false };
        if HOLDERS.contains(&parent.kind()) {
            return true;
        }
        node = parent;
    }
}

fn strip_docstrings(source: &ParsedSource<'_>) -> Change {
    let mut edits = Edits::new();
    let functions = if source.language == Language::Python && !source.text.contains("__doc__") {
        source.all_functions()
    } else {
        Vec::new()
    };
    for function in functions {
        let Some(body) = function.child_by_field_name("body") else { continue };
        let statements = named_children(body);
        let [first, next, ..] = statements.as_slice() else { continue };
        let is_text = first.kind() == "expression_statement"
            && first.named_child_count() == 1
            && first.named_child(0).is_some_and(|inner| inner.kind() == "string");
        if is_text && source.owns_lines(*first) && source.margin(next.start_byte()).is_some() {
            // Its lines and the blank ones after it; a remark before the next statement stays.
            let mut end = source.line_end(first.end_byte()) + 1;
            while source.text.get(end..source.line_end(end)).is_some_and(|line| line.trim().is_empty()) {
                end = source.line_end(end) + 1;
            }
            edits.remove(source.line_start(first.start_byte())..end);
        }
    }
    Change { edits, note: "remove the docstring".to_owned() }
}
