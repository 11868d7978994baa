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
        clauses::{Part, parts},
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
    /// A class, interface, trait, protocol, object, instance, structure, enumeration or module, with what is in it.
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
    /// The node itself, or all nodes of a function that several make up.
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
        let mut stack: Vec<(Node<'_>, Part, Option<Range<usize>>)> = vec![(root, Part::Alone, None)];
        let mut children = Vec::new();
        while let Some((node, part, outer)) = stack.pop() {
            if part == Part::Rest && !self.deep {
                continue;
            }
            let mut handed_down = None;
            let role = if part == Part::Rest { Role::Other } else { self.rules.role(node, self.source) };
            match role {
                role @ (Role::Comment | Role::Attribute) => {
                    self.notes.push(Note { range: node.byte_range(), is_attribute: matches!(role, Role::Attribute) });
                    continue;
                }
                Role::Wrapper => {
                    handed_down = Some(outer.clone().unwrap_or_else(|| self.rules.code_range(node)));
                }
                Role::Function { name, .. } => {
                    let own = part.range().unwrap_or_else(|| self.rules.code_range(node));
                    let end = own.end;
                    let outer = outer.clone().unwrap_or_else(|| own.clone());
                    let name = name.map(|name| name.byte_range());
                    self.take(ChunkKind::Function, own, name, outer, part.has_error(node));
                    if !self.deep {
                        self.pass_comments(node, end);
                        continue;
                    }
                }
                Role::Declaration | Role::Other => {}
            }
            if let Some((name, own)) = classes::class(self.language, node, self.source) {
                self.take(ChunkKind::Class, node.byte_range(), name, outer.unwrap_or(own), node.has_error());
            }
            children.clear();
            let mut cursor = node.walk();
            children.extend(node.children(&mut cursor));
            let parts = parts(&children, self.rules, self.source);
            let step =
                |(at, child): (usize, _)| (child, parts.get(at).cloned().unwrap_or(Part::Alone), handed_down.clone());
            stack.extend(children.drain(..).enumerate().rev().map(step));
        }
    }

    /// Notes the comments that the grammar counts to a node and that stand behind its code.
    fn pass_comments(&mut self, node: Node<'_>, end: usize) {
        let mut stack = vec![node];
        while let Some(node) = stack.pop() {
            if node.start_byte() >= end && matches!(self.rules.role(node, self.source), Role::Comment) {
                self.notes.push(Note { range: node.byte_range(), is_attribute: false });
            } else if node.end_byte() > end {
                let mut cursor = node.walk();
                let children: Vec<Node<'_>> = node.children(&mut cursor).collect();
                stack.extend(children.into_iter().rev());
            }
        }
    }

    fn take(
        &mut self,
        kind: ChunkKind,
        node: Range<usize>,
        name: Option<Range<usize>>,
        outer: Range<usize>,
        has_error: bool,
    ) {
        let (code, comments) = self.above(outer);
        let name = name.and_then(|name| self.source.get(name)).unwrap_or_default();
        let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
        self.found.push(FoundItem { kind, name, node, code, comments, has_error });
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
                    let is_block = ["/*", "=begin", "--[", "{-", "@doc"].iter().any(|open| text.starts_with(open));
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
