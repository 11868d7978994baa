//! Rust: `///`, `/** */` and `#[doc = "…"]` above `fn`, attributes in between.

use tree_sitter::Node;

use super::{
    Grammar,
    language::{DocKind, LanguageRules, Placement, Role, function_of, javadoc_kind},
};
use crate::{labels::Typing, prose::Markup};

pub(super) struct Rust;

impl LanguageRules for Rust {
    fn grammars(&self, _source: &str) -> &'static [Grammar] {
        &[Grammar::Rust]
    }

    fn markers(&self) -> &'static [&'static str] {
        &["///", "/**", "#[doc =", "#[doc="]
    }

    fn role<'tree>(&self, node: Node<'tree>, _source: &str) -> Role<'tree> {
        match node.kind() {
            "function_item" => function_of(node),
            "function_signature_item" => Role::Declaration,
            "line_comment" | "block_comment" => Role::Comment,
            "attribute_item" => Role::Attribute,
            _ => Role::Other,
        }
    }

    fn placement(&self) -> Placement {
        Placement::Above
    }

    fn doc_kind(&self, text: &str) -> DocKind {
        if text.starts_with("///") && !text.starts_with("////") || is_doc_attribute(text) {
            DocKind::Line
        } else if text.starts_with("//!") || text.starts_with("/*!") {
            DocKind::Stop
        } else {
            javadoc_kind(text)
        }
    }

    fn comment_text(&self, comment: &str) -> Option<String> {
        comment.starts_with("#[").then(|| doc_attribute(comment).unwrap_or_default())
    }

    fn may_document(&self, source: &str) -> bool {
        documents_a_function(source)
    }

    fn is_test(&self, attribute: &str) -> bool {
        let attribute = attribute.trim_start_matches("#[").trim_start();
        let path = attribute.split(['(', ']', ' ']).next().unwrap_or_default();
        path == "test"
            || path.ends_with("::test")
            || attribute.starts_with("cfg(test)")
            || attribute.starts_with("cfg(all(test")
    }

    fn markup(&self) -> Markup {
        Markup::Markdown
    }

    fn typings(&self) -> &'static [Typing] {
        TYPINGS
    }
}

/// Nodes that declare types.
const TYPINGS: &[Typing] = &[
    Typing::new("parameter", "pattern", "type"),
    Typing::new("let_declaration", "pattern", "type"),
    Typing::new("field_declaration", "name", "type"),
    Typing::new("const_item", "name", "type"),
    Typing::new("static_item", "name", "type"),
    Typing::new("function_item", "name", "return_type"),
    Typing::new("function_signature_item", "name", "return_type"),
];

/// True where the first code after some doc comment has the word `fn` before anything else begins.
///
/// Most files of bindings document constants and structures only; this is far quicker than parsing them.
fn documents_a_function(source: &str) -> bool {
    let mut lines_after_doc = None;
    for line in source.lines() {
        let line = line.trim_start();
        if line.starts_with("///") || line.starts_with("#[doc") || line.starts_with("/**") || line.ends_with("*/") {
            lines_after_doc = Some(0);
            continue;
        }
        let Some(seen) = lines_after_doc else { continue };
        if line.starts_with("//") || line.starts_with("#[") {
            continue;
        }
        if line.starts_with("fn ") || line.contains(" fn ") {
            return true;
        }
        let ends_here = line.contains(['{', ';', '=']) || seen > 40;
        lines_after_doc = if ends_here { None } else { Some(seen + 1) };
    }
    false
}

/// `#[doc = "…"]`, `#[doc(alias = "…")]`, `#[cfg_attr(docsrs, doc(cfg(…)))]`: none of them is code.
fn is_doc_attribute(text: &str) -> bool {
    text.starts_with("#[doc") && !text[5..].starts_with(|c: char| c.is_alphanumeric() || c == '_')
        || text.starts_with("#[cfg_attr") && (text.contains(" doc(") || text.contains(" doc ="))
}

/// The text of `#[doc = "…"]`, with its escapes resolved as far as prose needs them.
fn doc_attribute(text: &str) -> Option<String> {
    let value =
        text.strip_prefix("#[")?.strip_suffix(']')?.trim().strip_prefix("doc")?.trim_start().strip_prefix('=')?.trim();
    if let Some(raw) = value.strip_prefix('r') {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        let inner = raw.get(hashes..raw.len().checked_sub(hashes)?)?;
        return Some(inner.strip_prefix('"')?.strip_suffix('"')?.to_owned());
    }
    let inner = value.strip_prefix('"')?.strip_suffix('"')?;
    Some(inner.replace("\\n", "\n").replace("\\\"", "\"").replace("\\\\", "\\"))
}
