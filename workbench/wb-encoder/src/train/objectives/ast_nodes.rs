//! Syntax: for each token of a code text, the kind of the smallest named syntax node around it.

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wb_core::Result;

use super::{
    code_tokens::{CodeTokens, NodesOf},
    objective::{CodeText, Objective, TokenQuestion},
    weight_is_fine,
};

/// Prediction of syntax nodes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AstNodesConfig {
    /// Factor of the loss; `0` is as if the objective was not there.
    pub weight: f64,
}

impl Default for AstNodesConfig {
    fn default() -> Self {
        Self { weight: 0.1 }
    }
}

impl AstNodesConfig {
    /// Refuses values that make no sense.
    pub fn validate(&self, key: &str) -> Result<()> {
        weight_is_fine(key, self.weight)
    }
}

/// One linear layer at the token states. Not asked about are tokens of white space or across parts that the grammar
/// cannot read, and texts in languages without a grammar.
pub struct AstNodes<'a> {
    config: AstNodesConfig,
    kinds: &'a [String],
    nodes: &'a NodesOf<'a>,
}

impl<'a> AstNodes<'a> {
    /// An objective with the kinds and the trees of `code`.
    pub fn open(config: &AstNodesConfig, code: &CodeTokens<'a>) -> Self {
        Self { config: config.clone(), kinds: code.node_kinds, nodes: code.nodes }
    }
}

impl Objective for AstNodes<'_> {
    fn name(&self) -> &'static str {
        "ast_nodes"
    }

    fn weight(&self) -> f64 {
        self.config.weight
    }

    fn classes(&self) -> Vec<String> {
        self.kinds.to_vec()
    }

    fn ask(&self, text: &mut CodeText<'_>) -> Vec<TokenQuestion> {
        let nodes = (self.nodes)(text.text, text.language);
        let kinds = smallest_around(&nodes, &text.places);
        let question = |(token, kind): (usize, Option<u16>)| Some(TokenQuestion { token, class: u32::from(kind?) });
        kinds.into_iter().enumerate().filter_map(question).collect()
    }
}

/// The kind of the smallest node around each place. Nodes come parents first, places from the beginning to the end.
fn smallest_around(nodes: &[(Range<usize>, Option<u16>)], places: &[Option<Range<usize>>]) -> Vec<Option<u16>> {
    let mut open: Vec<&(Range<usize>, Option<u16>)> = Vec::new();
    let mut next = 0;
    let kind_around = |place: &Option<Range<usize>>| {
        let place = place.as_ref()?;
        while let Some(node) = nodes.get(next).filter(|(bytes, _)| bytes.start <= place.start) {
            // What ends before this node begins will not be around anything that follows.
            while open.last().is_some_and(|(bytes, _)| bytes.end <= node.0.start) {
                open.pop();
            }
            open.push(node);
            next += 1;
        }
        open.iter().rfind(|(bytes, _)| bytes.end >= place.end).and_then(|(_, kind)| *kind)
    };
    places.iter().map(kind_around).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_node_around_each_token() {
        // a( bc ) d e: the whole, a call around `a( bc )`, its name, its argument, an error around `d`.
        let nodes = [(0..11, Some(0)), (0..7, Some(1)), (0..1, Some(2)), (3..5, Some(3)), (8..9, None)];
        let places = [0..1, 1..2, 3..4, 4..5, 3..5, 4..7, 6..7, 6..9, 8..9, 10..11];
        let mut places: Vec<Option<Range<usize>>> = places.into_iter().map(Some).collect();
        places.insert(0, None);
        places.sort_by_key(|place| place.as_ref().map_or(0, |place| place.start));
        let expected: Vec<Option<u16>> = places
            .iter()
            .map(|place| {
                let place = place.as_ref()?;
                nodes.iter().rfind(|(bytes, _)| bytes.start <= place.start && place.end <= bytes.end)?.1
            })
            .collect();
        assert_eq!(smallest_around(&nodes, &places), expected);
        assert_eq!(expected.iter().filter(|kind| kind.is_none()).count(), 2);
        assert_eq!(smallest_around(&[], &places), vec![None; places.len()]);
    }
}
