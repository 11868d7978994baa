//! Documented functions of one source text: the doc comment apart, the code without it.

use std::{collections::BTreeMap, ops::Range};

use tree_sitter::Node;

use crate::languages::{
    Language,
    clauses::{Part, parts},
    language::{DocKind, LanguageRules, Placement, Role},
    parse,
};

pub(crate) mod comment;
mod docstring;
pub(crate) mod layout;

use comment::Note;

/// A function or method that has a doc comment and a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentedFunction {
    /// Its name as written (`Stack::push`, `exports.parse`), empty where it has none.
    pub name: String,
    /// First and last line of the code, from 1.
    pub lines: [u32; 2],
    /// The documentation without its comment markers, markup left as it is.
    pub doc: String,
    /// The text of the function, from its attributes on, without the documentation, its own indentation taken off.
    pub code: String,
}

/// The documented functions of one source.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Extraction {
    /// The functions in the order of the source.
    pub functions: Vec<DocumentedFunction>,
    /// Documented things that are no pair, by reason.
    pub rejected: BTreeMap<&'static str, u64>,
}

/// Reason for a documented function that has no body.
pub(crate) const NO_BODY: &str = "declaration without a body";
/// Reason for a documented function in which the grammar found an error.
pub(crate) const BROKEN_FUNCTION: &str = "function that does not parse";
/// Reason for a documented function that is a test.
pub(crate) const TEST: &str = "test function";
/// Reason for a file that the parser gave up.
pub(crate) const PARSE_FAILED: &str = "parse failed";

/// Every documented function of a source, in its order; nested ones are found as their own.
///
/// A function is documented if a doc comment in the manner of its language stands above it, in Elixir the attribute
/// `@doc`, or if it begins with a docstring (Python).
/// Functions without a body and functions that do not parse are left out.
pub fn documented_functions(source: &str, language: Language) -> Vec<DocumentedFunction> {
    extract(source, language, true).functions
}

/// [`documented_functions`] with what was left out; functions and modules that attributes call tests only if asked for.
pub(crate) fn extract(source: &str, language: Language, include_tests: bool) -> Extraction {
    let mut found = Extraction::default();
    let rules = language.rules();
    let markers = marker_positions(source, rules.markers());
    if markers.is_empty() || !rules.may_document(source) || u32::try_from(source.len()).is_err() {
        return found;
    }
    let Some(tree) = parse(source, rules.grammars(source)) else {
        found.rejected.insert(PARSE_FAILED, 1);
        return found;
    };
    Walk {
        source,
        rules,
        markers,
        include_tests,
        lines: layout::Lines::of(source),
        notes: Vec::new(),
        found: &mut found,
    }
    .run(tree.root_node());
    found
}

fn marker_positions(source: &str, markers: &[&str]) -> Vec<usize> {
    let mut positions: Vec<usize> =
        markers.iter().flat_map(|marker| source.match_indices(marker)).map(|(at, _)| at).collect();
    positions.sort_unstable();
    positions
}

struct Walk<'s, 'f> {
    source: &'s str,
    rules: &'static dyn LanguageRules,
    markers: Vec<usize>,
    include_tests: bool,
    lines: layout::Lines,
    notes: Vec<Note>,
    found: &'f mut Extraction,
}

impl Walk<'_, '_> {
    /// Visits nodes in the order of the source, without recursion: a hostile source can nest a million deep.
    fn run(&mut self, root: Node<'_>) {
        let mut stack = vec![Step { node: root, part: Part::Alone, outer: None, in_test: false }];
        let mut children = Vec::new();
        while let Some(Step { node, part, outer, in_test }) = stack.pop() {
            let mut handed_down = None;
            let in_test =
                in_test || !self.include_tests && (self.follows_test_attribute(node) || self.begins_as_test(node));
            let role = if part == Part::Rest { Role::Other } else { self.rules.role(node, self.source) };
            match role {
                role @ (Role::Comment | Role::Attribute) => {
                    self.notes.push(Note { range: node.byte_range(), is_attribute: matches!(role, Role::Attribute) });
                    continue;
                }
                Role::Wrapper => handed_down = Some(outer.unwrap_or_else(|| self.rules.code_range(node))),
                Role::Function { name, body } => {
                    let outer = outer.or_else(|| part.range()).unwrap_or_else(|| self.rules.code_range(node));
                    self.function(Candidate { outer, name, body, in_test, has_error: part.has_error(node) });
                }
                Role::Declaration => self.declaration(outer.unwrap_or_else(|| node.byte_range())),
                Role::Other => {}
            }
            // What a comment stands before may be a body of which the documented function is the first part.
            if handed_down.is_none() && !self.has_marker(node) && !self.follows_note(node) {
                continue;
            }
            children.clear();
            let mut cursor = node.walk();
            children.extend(node.children(&mut cursor));
            let parts = parts(&children, self.rules, self.source);
            let step = |(at, node): (usize, _)| {
                let part = parts.get(at).cloned().unwrap_or(Part::Alone);
                Step { node, part, outer: handed_down.clone(), in_test }
            };
            stack.extend(children.drain(..).enumerate().rev().map(step));
        }
    }

    fn has_marker(&self, node: Node<'_>) -> bool {
        let range = node.byte_range();
        let next = self.markers.partition_point(|at| *at < range.start);
        self.markers.get(next).is_some_and(|at| *at < range.end)
    }

    fn follows_note(&self, node: Node<'_>) -> bool {
        let gap = self.notes.last().and_then(|note| self.source.get(note.range.end..node.start_byte()));
        gap.is_some_and(|gap| gap.trim().is_empty())
    }

    /// True where the attributes directly before a node say that it is a test or a module of tests.
    fn follows_test_attribute(&self, node: Node<'_>) -> bool {
        let mut at = node.start_byte();
        for note in self.notes.iter().rev() {
            let gap_is_white = self.source.get(note.range.end..at).is_some_and(|gap| gap.trim().is_empty());
            if !gap_is_white {
                return false;
            }
            if note.is_attribute && self.source.get(note.range.clone()).is_some_and(|text| self.rules.is_test(text)) {
                return true;
            }
            at = note.range.start;
        }
        false
    }

    /// True where an attribute among the first parts of a node says that it is a test.
    fn begins_as_test(&self, node: Node<'_>) -> bool {
        let marks = self.rules.test_marks();
        let is_mark = |text: &str| {
            let ends = |at: usize, mark: &str| !text[at + mark.len()..].starts_with(|c: char| c.is_alphanumeric());
            marks.iter().any(|mark| text.match_indices(mark).any(|(at, _)| ends(at, mark)))
        };
        let mut cursor = node.walk();
        !marks.is_empty()
            && node
                .children(&mut cursor)
                .take_while(|child| matches!(child.kind(), "modifiers" | "attribute_list" | "annotation"))
                .any(|child| self.source.get(child.byte_range()).is_some_and(is_mark))
    }

    fn function(&mut self, candidate: Candidate<'_>) {
        let Candidate { outer, name, body, in_test, has_error } = candidate;
        let documentation = match self.rules.placement() {
            Placement::InBody => docstring::in_body(self.source, outer, body),
            Placement::Above | Placement::DirectlyAbove => self.above(outer),
        };
        let Some(documentation) = documentation else { return };
        if in_test {
            return self.reject(TEST);
        }
        if has_error {
            return self.reject(BROKEN_FUNCTION);
        }
        if documentation.leaves_no_body {
            return self.reject(NO_BODY);
        }
        let name = name.and_then(|name| self.source.get(name.byte_range())).unwrap_or_default();
        let Some(code) = layout::without(self.source, documentation.code.clone(), &documentation.cuts) else { return };
        self.found.functions.push(DocumentedFunction {
            name: name.split_whitespace().collect::<Vec<_>>().join(" "),
            lines: self.lines.span(self.source, &documentation.code),
            doc: documentation.text,
            code,
        });
    }

    fn declaration(&mut self, outer: Range<usize>) {
        if self.above(outer).is_some() {
            self.reject(NO_BODY);
        }
    }

    fn reject(&mut self, reason: &'static str) {
        *self.found.rejected.entry(reason).or_default() += 1;
    }

    /// The documentation in the comments that stand before `outer`, with only attributes and remarks between.
    fn above(&self, outer: Range<usize>) -> Option<Documentation> {
        let mut at = outer.start;
        let mut code = outer;
        let mut docs: Vec<(DocKind, Range<usize>)> = Vec::new();
        for note in self.notes.iter().rev() {
            let text = self.source.get(note.range.clone())?;
            let end = note.range.start + text.trim_end().len();
            let Some(gap) = self.source.get(end..at) else { continue };
            let far = gap.bytes().filter(|byte| *byte == b'\n').count() > 1;
            if !gap.trim().is_empty() || far && self.rules.placement() == Placement::DirectlyAbove {
                break;
            }
            match self.rules.doc_kind(text.trim_end()) {
                DocKind::Stop => break,
                DocKind::Remark if note.is_attribute => code.start = note.range.start,
                DocKind::Remark => {}
                DocKind::Line if !layout::begins_line(self.source, note.range.start) && !note.is_attribute => break,
                kind => {
                    // One block is the documentation where blocks stand alone; lines go on over their neighbours.
                    let mixes = self.rules.placement() == Placement::Above;
                    if !mixes && docs.last().is_some_and(|(before, _)| *before == DocKind::Block || *before != kind) {
                        break;
                    }
                    docs.push((kind, note.range.start..end));
                }
            }
            at = note.range.start;
        }
        docs.reverse();
        let text = comment::text(self.source, &docs, self.rules);
        let cuts = docs.into_iter().map(|(_, range)| range).filter(|range| range.start >= code.start).collect();
        (!text.trim().is_empty()).then_some(Documentation { text, code, cuts, leaves_no_body: false })
    }
}

/// A node to be visited: its part of a function, the range of the wrappers around it, whether a test is around it.
struct Step<'tree> {
    node: Node<'tree>,
    part: Part,
    outer: Option<Range<usize>>,
    in_test: bool,
}

/// A function on the way, with the range of it and its wrappers.
struct Candidate<'tree> {
    outer: Range<usize>,
    name: Option<Node<'tree>>,
    body: Node<'tree>,
    in_test: bool,
    has_error: bool,
}

/// Documentation found, and what of the source is code then.
struct Documentation {
    text: String,
    code: Range<usize>,
    cuts: Vec<Range<usize>>,
    leaves_no_body: bool,
}
