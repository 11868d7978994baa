//! Cells of a score matrix that must not count: texts against themselves, and answers that are right after all.

use std::collections::HashMap;

use ndarray::Array2;

use super::{labels::Labels, sides::Block};

/// Cells (row, column) of a score matrix that must not count. A pair's own positive is never among them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Blocked {
    cells: Vec<(usize, usize)>,
}

impl Blocked {
    /// Cells of a block of scores that must not count as wrong answers.
    ///
    /// Always: a text against itself, and a positive against the documents of its own anchor.
    /// With `duplicates` also what is right after all. Call two pairs alike whose anchors or whose positives are
    /// equal texts; then among the documents for an anchor: those equal to its positive, and the positives of pairs
    /// alike; among anchors, and among positives: those of pairs alike; and among the documents for a positive, as
    /// for its anchor, and all documents of equal anchors.
    pub fn of(block: Block, labels: &Labels, duplicates: bool) -> Self {
        let mut cells = if duplicates { right_answers(labels) } else { Vec::new() };
        match block {
            Block::AnchorsDocuments => {}
            Block::AnchorsAnchors | Block::PositivesPositives => {
                cells.retain(|(_, column)| *column < labels.pairs());
                cells.extend((0..labels.pairs()).map(|row| (row, row)));
            }
            Block::PositivesDocuments => {
                cells.extend(labels.owners().iter().enumerate().map(|(column, row)| (*row as usize, column)));
                if duplicates {
                    cells.extend(documents_of_equal_anchors(labels));
                }
            }
        }
        Self::new(cells)
    }

    /// Among anchors as answers to a positive: those of pairs alike. Own anchors count, they are the right answer.
    pub fn anchors_of_positives(labels: &Labels, duplicates: bool) -> Self {
        let mut cells = if duplicates { right_answers(labels) } else { Vec::new() };
        cells.retain(|(_, column)| *column < labels.pairs());
        Self::new(cells)
    }

    fn new(mut cells: Vec<(usize, usize)>) -> Self {
        cells.sort_unstable();
        cells.dedup();
        Self { cells }
    }

    /// The cells in order.
    pub fn cells(&self) -> &[(usize, usize)] {
        &self.cells
    }

    /// Puts minus infinity where a score must not count.
    pub fn apply(&self, scores: &mut Array2<f32>) {
        for cell in &self.cells {
            scores[*cell] = f32::NEG_INFINITY;
        }
    }
}

/// Anchor and document: the document equals the anchor's positive, or is the positive of a pair with an equal anchor.
fn right_answers(labels: &Labels) -> Vec<(usize, usize)> {
    let (anchors, documents) = (labels.anchors(), labels.documents());
    let by_positive = rows_by_text(&documents[..anchors.len()]);
    let by_anchor = rows_by_text(anchors);
    let rows = |of: Option<&Vec<usize>>, column: usize| {
        of.into_iter().flatten().filter(move |row| **row != column).map(move |row| (*row, column)).collect::<Vec<_>>()
    };
    let mut cells = Vec::new();
    for (column, document) in documents.iter().enumerate() {
        cells.extend(rows(by_positive.get(document), column));
        cells.extend(rows(anchors.get(column).and_then(|anchor| by_anchor.get(anchor)), column));
    }
    cells
}

fn documents_of_equal_anchors(labels: &Labels) -> Vec<(usize, usize)> {
    let by_anchor = rows_by_text(labels.anchors());
    let owners = labels.owners().iter().enumerate();
    owners
        .flat_map(|(column, owner)| {
            let equal = by_anchor.get(&labels.anchors()[*owner as usize]);
            equal.into_iter().flatten().map(move |row| (*row, column))
        })
        .collect()
}

fn rows_by_text(texts: &[u32]) -> HashMap<u32, Vec<usize>> {
    let mut rows: HashMap<u32, Vec<usize>> = HashMap::with_capacity(texts.len());
    for (row, text) in texts.iter().enumerate() {
        rows.entry(*text).or_default().push(row);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::losses::labels::PairLabels;

    /// Pairs 0 and 2 share the positive 10, pairs 1 and 2 share the anchor 6; pair 1 has 10 as a negative.
    fn labels() -> Labels {
        let pair = |anchor, documents| PairLabels { anchor, documents, scores: &[] };
        Labels::by_column(&[pair(5, &[10, 12]), pair(6, &[11, 10]), pair(6, &[10, 13])])
    }

    #[test]
    fn equal_positives_equal_anchors_and_a_positive_among_the_negatives_are_blocked() {
        let of = |block, duplicates| Blocked::of(block, &labels(), duplicates).cells().to_vec();
        assert_eq!(labels().documents(), [10, 11, 10, 12, 10, 13]);
        let answers = [(0, 2), (0, 4), (1, 2), (2, 0), (2, 1), (2, 4)];
        assert_eq!(of(Block::AnchorsDocuments, true), answers);
        assert!(of(Block::AnchorsDocuments, false).is_empty());
        let alike = [(0, 0), (0, 2), (1, 1), (1, 2), (2, 0), (2, 1), (2, 2)];
        assert_eq!(of(Block::AnchorsAnchors, true), alike);
        assert_eq!(of(Block::PositivesPositives, true), alike);
        assert_eq!(of(Block::AnchorsAnchors, false), [(0, 0), (1, 1), (2, 2)]);
        let own = [(0, 0), (0, 3), (1, 1), (1, 4), (2, 2), (2, 5)];
        assert_eq!(of(Block::PositivesDocuments, false), own);
        // Anchors 1 and 2 are equal: all their documents.
        let equal = [(1, 2), (1, 5), (2, 1), (2, 4)];
        let mut expected: Vec<_> = own.into_iter().chain(answers).chain(equal).collect();
        expected.sort_unstable();
        expected.dedup();
        assert_eq!(of(Block::PositivesDocuments, true), expected);
        assert_eq!(Blocked::anchors_of_positives(&labels(), true).cells(), [(0, 2), (1, 2), (2, 0), (2, 1)]);
        let distinct = Labels::distinct(4, 2);
        assert!(Blocked::of(Block::AnchorsDocuments, &distinct, true).cells().is_empty());
    }
}
