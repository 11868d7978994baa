//! Functions and classes of one source as they stand, documented or not, with the comment directly above them.

mod classes;
mod strip;

use std::ops::Range;

use serde::{Deserialize, Serialize};
use tree_sitter::Node;

use crate::{
    Language,
    documented::{
        comment::{self, Note},
        layout,
    },
    languages::{
        language::{DocKind, LanguageRules, Role},
        parse,
    },
};

pub use strip::strip_comments;

/// A kind of chunk of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChunkKind {
    /// A function or method with a body; functions inside of it are part of it.
    Function,
    /// A class, interface, trait, structure, enumeration or module, with what is in it.
    Class,
}

/// A function or a class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// Function or class.
    pub kind: ChunkKind,
    /// Its name as written; empty where it has none.
    pub name: String,
    /// First and last line, from 1: attributes and decorators included, the comment above not.
    pub lines: [u32; 2],
    /// The comment directly above it without markers, empty where there is none. (Python's docstrings stay in the text.)
    pub comment: String,
    /// Its text at its own margin.
    pub text: String,
}

/// A function or a class as it lies in its source, also where that does not parse in part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeItem {
    /// Function or class.
    pub kind: ChunkKind,
    /// Its name as written; empty where it has none.
    pub name: String,
    /// First and last line, from 1, with attributes and the comment directly above.
    pub lines: [u32; 2],
    /// The line of the code itself, below comments and attributes.
    pub code_line: u32,
}

/// The chunks of a source in its order; those that do not parse are left out.
///
/// Methods are functions: with both kinds asked for, a class is given whole and its methods once more.
/// `None` where the parser gives up: text that is no source.
pub fn chunks(source: &str, language: Language, kinds: &[ChunkKind]) -> Option<Vec<Chunk>> {
    let walked = Walk::through(source, language, false)?;
    let wanted = walked.found.iter().filter(|found| kinds.contains(&found.kind) && !found.has_error);
    Some(wanted.filter_map(|found| walked.chunk(found)).collect())
}

/// The functions and classes of a source in its order, those inside of others after them.
///
/// `None` where the parser gives up: text that is no source.
pub fn items(source: &str, language: Language) -> Option<Vec<CodeItem>> {
    let walked = Walk::through(source, language, true)?;
    Some(walked.found.iter().map(|found| walked.item(found)).collect())
}

struct Walk<'s> {
    source: &'s str,
    language: Language,
    rules: &'static dyn LanguageRules,
    /// True where functions are looked into.
    deep: bool,
    lines: layout::Lines,
    notes: Vec<Note>,
    found: Vec<FoundItem>,
}

/// A function or class with its bytes.
struct FoundItem {
    kind: ChunkKind,
    name: String,
    /// The node itself.
    node: Range<usize>,
    /// The node with its attributes.
    code: Range<usize>,
    /// The comments directly above.
    comments: Vec<(DocKind, Range<usize>)>,
    has_error: bool,
}

impl<'s> Walk<'s> {
    fn through(source: &'s str, language: Language, deep: bool) -> Option<Self> {
        // Positions of the grammars are 32 bits wide.
        u32::try_from(source.len()).ok()?;
        let rules = language.rules();
        let tree = parse(source, rules.grammars(source))?;
        let lines = layout::Lines::of(source);
        let mut walk = Self { source, language, rules, deep, lines, notes: Vec::new(), found: Vec::new() };
        walk.run(tree.root_node());
        Some(walk)
    }

    /// Visits nodes in the order of the source, without recursion: a hostile source can nest a million deep.
    fn run(&mut self, root: Node<'_>) {
        let mut stack: Vec<(Node<'_>, Option<Range<usize>>)> = vec![(root, None)];
        let mut children = Vec::new();
        while let Some((node, outer)) = stack.pop() {
            let mut handed_down = None;
            match self.rules.role(node) {
                role @ (Role::Comment | Role::Attribute) => {
                    self.notes.push(Note { range: node.byte_range(), is_attribute: matches!(role, Role::Attribute) });
                    continue;
                }
                Role::Wrapper => handed_down = Some(outer.clone().unwrap_or_else(|| node.byte_range())),
                Role::Function { name, .. } => {
                    let outer = outer.clone().unwrap_or_else(|| node.byte_range());
                    self.take(ChunkKind::Function, node, name, outer);
                    if !self.deep {
                        continue;
                    }
                }
                Role::Declaration | Role::Other => {}
            }
            if let Some((name, own)) = classes::class(self.language, node) {
                self.take(ChunkKind::Class, node, name, outer.unwrap_or(own));
            }
            children.clear();
            let mut cursor = node.walk();
            children.extend(node.children(&mut cursor));
            stack.extend(children.drain(..).rev().map(|child| (child, handed_down.clone())));
        }
    }

    fn take(&mut self, kind: ChunkKind, node: Node<'_>, name: Option<Node<'_>>, outer: Range<usize>) {
        let (code, comments) = self.above(outer);
        let name = name.and_then(|name| self.source.get(name.byte_range())).unwrap_or_default();
        let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
        self.found.push(FoundItem { kind, name, node: node.byte_range(), code, comments, has_error: node.has_error() });
    }

    fn chunk(&self, found: &FoundItem) -> Option<Chunk> {
        Some(Chunk {
            kind: found.kind,
            name: found.name.clone(),
            lines: self.lines.span(self.source, &found.code),
            comment: comment::text(self.source, &found.comments, self.rules).trim().to_owned(),
            text: layout::without(self.source, found.code.clone(), &[])?,
        })
    }

    fn item(&self, found: &FoundItem) -> CodeItem {
        let from = found.comments.first().map_or(found.code.start, |(_, range)| range.start);
        let lines = self.lines.span(self.source, &(from..found.code.end));
        let [code_line, _] = self.lines.span(self.source, &found.node);
        CodeItem { kind: found.kind, name: found.name.clone(), lines, code_line }
    }

    /// The range with the attributes before it, and the comments directly above.
    fn above(&self, mut code: Range<usize>) -> (Range<usize>, Vec<(DocKind, Range<usize>)>) {
        let mut at = code.start;
        let mut comments: Vec<(DocKind, Range<usize>)> = Vec::new();
        for note in self.notes.iter().rev() {
            let Some(text) = self.source.get(note.range.clone()) else { break };
            let end = note.range.start + text.trim_end().len();
            let Some(gap) = self.source.get(end..at) else { continue };
            let far = gap.bytes().filter(|byte| *byte == b'\n').count() > 1;
            let ends_here = !gap.trim().is_empty() || far || self.rules.doc_kind(text.trim_end()) == DocKind::Stop;
            // A comment behind other code on its line speaks of that code.
            if ends_here || !note.is_attribute && !layout::begins_line(self.source, note.range.start) {
                break;
            }
            match note.is_attribute && self.rules.doc_kind(text.trim_end()) == DocKind::Remark {
                true => code.start = note.range.start,
                false => {
                    let is_block = text.starts_with("/*") || text.starts_with("=begin");
                    comments.push((if is_block { DocKind::Block } else { DocKind::Line }, note.range.start..end));
                }
            }
            at = note.range.start;
        }
        // A comment between an attribute and its function stays where it is; only what stands above all of it is apart.
        comments.retain(|(_, range)| range.end <= code.start);
        comments.reverse();
        (code, comments)
    }
}

#[cfg(test)]
mod tests;
