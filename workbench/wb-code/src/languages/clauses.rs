//! Functions that several neighbors make up: a signature and the equations below it, the clauses of one name.

use std::ops::Range;

use tree_sitter::Node;

use super::language::{Clause, LanguageRules, Role};

/// The part that a node is of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part {
    /// None, or all of it.
    Alone,
    /// The first with a body, which stands for the whole.
    Whole {
        /// From its signature to the end of its last clause.
        range: Range<usize>,
        /// True where a clause does not parse.
        has_error: bool,
    },
    /// A signature that has a body below it, or a further clause.
    Rest,
}

impl Part {
    /// The range of the whole function, where that is more than one node.
    pub(crate) fn range(&self) -> Option<Range<usize>> {
        match self {
            Self::Whole { range, .. } => Some(range.clone()),
            Self::Alone | Self::Rest => None,
        }
    }

    /// True where the function of this node does not parse.
    pub(crate) fn has_error(&self, node: Node<'_>) -> bool {
        node.has_error() || matches!(self, Self::Whole { has_error: true, .. })
    }
}

/// A function on the way through its neighbors.
struct Open {
    names: Vec<String>,
    start: usize,
    end: usize,
    /// The place of the first part with a body.
    carrier: Option<usize>,
    /// Places of the other parts.
    rest: Vec<usize>,
    has_error: bool,
}

impl Open {
    fn new(at: usize, node: Node<'_>, clause: Clause) -> Self {
        let (carrier, rest) = if clause.has_body { (Some(at), Vec::new()) } else { (None, vec![at]) };
        Self {
            names: clause.names,
            start: node.start_byte(),
            end: node.end_byte(),
            carrier,
            rest,
            has_error: node.has_error(),
        }
    }

    /// Takes a clause with a body that belongs to it.
    fn add(&mut self, at: usize, node: Node<'_>, clause: Clause) {
        if self.carrier.is_some() {
            self.rest.push(at);
        } else {
            // A signature of several names goes to the first of them that has an equation.
            self.names = clause.names;
            self.carrier = Some(at);
        }
        self.end = node.end_byte();
        self.has_error |= node.has_error();
    }

    fn close(self, parts: &mut [Part]) {
        let Some(carrier) = self.carrier.filter(|_| !self.rest.is_empty()) else { return };
        let whole = Part::Whole { range: self.start..self.end, has_error: self.has_error };
        for (at, part) in [(carrier, whole)].into_iter().chain(self.rest.into_iter().map(|at| (at, Part::Rest))) {
            if let Some(place) = parts.get_mut(at) {
                *place = part;
            }
        }
    }
}

/// The part that each of some neighbors is; nothing in languages in which every function is one node.
///
/// A function begins with what has no body, if there is such a part. Comments and attributes between two parts do not
/// keep them apart, anything else does.
pub(crate) fn parts(neighbors: &[Node<'_>], rules: &dyn LanguageRules, source: &str) -> Vec<Part> {
    if !rules.has_clauses() {
        return Vec::new();
    }
    let mut parts = vec![Part::Alone; neighbors.len()];
    let mut open: Option<Open> = None;
    for (at, node) in neighbors.iter().enumerate() {
        let clause = rules.clause(*node, source);
        let is_between = clause.is_none()
            && (!node.is_named() || matches!(rules.role(*node, source), Role::Comment | Role::Attribute));
        if is_between {
            continue;
        }
        match (&mut open, clause) {
            (Some(open), Some(clause))
                if clause.has_body && clause.names.iter().any(|name| open.names.contains(name)) =>
            {
                open.add(at, *node, clause);
            }
            (open, clause) => {
                let next = clause.map(|clause| Open::new(at, *node, clause));
                if let Some(before) = std::mem::replace(open, next) {
                    before.close(&mut parts);
                }
            }
        }
    }
    if let Some(last) = open {
        last.close(&mut parts);
    }
    parts
}
