//! Rules of a language by which its documented functions are found: grammar, doc comments, functions.

use std::ops::Range;

use tree_sitter::Node;

use super::Grammar;
use crate::{labels::Typing, prose::Markup};

/// The rules of one language; documentation is in the manner of Javadoc unless a language says otherwise.
pub(crate) trait LanguageRules: Sync {
    /// The grammars to try on a source, best first; the next one is tried only where the one before finds errors.
    fn grammars(&self, source: &str) -> &'static [Grammar];

    /// Texts of which a source must hold at least one to have any doc comment.
    ///
    /// A part of a file without any of them is not looked at, so they must be certain.
    fn markers(&self) -> &'static [&'static str] {
        &["/**"]
    }

    /// A second, cheap look at a source that has a marker: whether it is worth parsing.
    fn may_document(&self, _source: &str) -> bool {
        true
    }

    /// True where an attribute says that what follows is a test.
    fn is_test(&self, _attribute: &str) -> bool {
        false
    }

    /// Beginnings of attributes that are the first parts of a definition and say that it is a test: `@Test`.
    fn test_marks(&self) -> &'static [&'static str] {
        &[]
    }

    /// The role of a node.
    fn role<'tree>(&self, node: Node<'tree>, source: &str) -> Role<'tree>;

    /// The range of a node's own code.
    fn code_range(&self, node: Node<'_>) -> Range<usize> {
        node.byte_range()
    }

    /// True where one function can be several neighbors, see [`LanguageRules::clause`].
    fn has_clauses(&self) -> bool {
        false
    }

    /// The part that a node is of a function that several neighbors make up: a signature, one of several equations.
    /// A part without a body is the first of its function.
    fn clause(&self, _node: Node<'_>, _source: &str) -> Option<Clause> {
        None
    }

    /// The place of this language's documentation.
    fn placement(&self) -> Placement {
        Placement::DirectlyAbove
    }

    /// The kind of documentation that a comment or an attribute is.
    fn doc_kind(&self, text: &str) -> DocKind {
        javadoc_kind(text)
    }

    /// The text of a comment whose markers are this language's own; `None` for those that most languages share.
    fn comment_text(&self, _comment: &str) -> Option<String> {
        None
    }

    /// The conventions inside a doc comment.
    fn markup(&self) -> Markup {
        Markup::Tags
    }

    /// Node kinds that declare a type for a name; none where types are not written.
    fn typings(&self) -> &'static [Typing] {
        &[]
    }

    /// True where a line of a doc comment (without its marker) speaks to a tool and not to a reader.
    fn is_directive(&self, _line: &str) -> bool {
        false
    }
}

/// The role of a syntax node in the extraction.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Role<'tree> {
    /// A function or method with a body.
    Function {
        /// The node that holds its name.
        name: Option<Node<'tree>>,
        /// Its body.
        body: Node<'tree>,
    },
    /// A function or method that is only declared.
    Declaration,
    /// A node that belongs to the one function in it: `export`, `template <…>`, decorators, `private def`.
    Wrapper,
    /// A comment.
    Comment,
    /// An attribute that stands as a sibling before its function.
    Attribute,
    /// Anything else.
    Other,
}

/// A part of a function that several neighbors make up.
pub(crate) struct Clause {
    /// The names that it declares or defines; those of one function are equal.
    pub(crate) names: Vec<String>,
    /// True for what has a body.
    pub(crate) has_body: bool,
}

/// The place of documentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Placement {
    /// Above the function, blank lines allowed.
    Above,
    /// Above the function, nothing but the line end between.
    DirectlyAbove,
    /// The first statement of the body.
    InBody,
}

/// The kind of documentation that a comment is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DocKind {
    /// Nothing: a remark.
    Remark,
    /// One line of documentation, continued by its neighbours.
    Line,
    /// A whole block of documentation.
    Block,
    /// Something else ends here (documentation of the item before, an interpreter line).
    Stop,
}

/// A function role out of the fields `name` and `body`.
pub(crate) fn function_of<'tree>(node: Node<'tree>) -> Role<'tree> {
    function(node.child_by_field_name("name"), node.child_by_field_name("body"))
}

/// A function with a body, else a declaration.
pub(crate) fn function<'tree>(name: Option<Node<'tree>>, body: Option<Node<'tree>>) -> Role<'tree> {
    match body {
        Some(body) => Role::Function { name, body },
        None => Role::Declaration,
    }
}

/// True where a line begins with one of some words, white space aside.
pub(super) fn begins_with_any(line: &str, words: &[&str]) -> bool {
    words.iter().any(|word| line.trim_start().starts_with(word))
}

/// Documentation in the manner of `///` lines and `/** … */` blocks.
pub(super) fn slashes_kind(text: &str) -> DocKind {
    match text.starts_with("///") {
        true if text.starts_with("////") => DocKind::Remark,
        true => DocKind::Line,
        false => javadoc_kind(text),
    }
}

/// The first child of a kind, named or not.
pub(crate) fn child_of_kind<'tree>(node: Node<'tree>, kind: &str) -> Option<Node<'tree>> {
    node.children(&mut node.walk()).find(|child| child.kind() == kind)
}

/// Documentation in the manner of Javadoc: `/** … */` and nothing else.
pub(super) fn javadoc_kind(text: &str) -> DocKind {
    if text.starts_with("/**") && !text.starts_with("/***") && text.len() > 4 {
        DocKind::Block
    } else {
        DocKind::Remark
    }
}
