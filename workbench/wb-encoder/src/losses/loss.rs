//! What a loss gets, a score matrix, and what it gives, one number and its gradient at the scores.

use std::{collections::HashMap, fmt::Debug};

use burn::tensor::{Bool, Device, Tensor, TensorData};
use ndarray::Array2;

/// A score matrix to one number.
///
/// Each loss is written twice, like each [`Similarity`](crate::similarities::Similarity).
pub trait Loss: Debug + Send + Sync {
    /// The loss, `[1]`.
    fn forward(&self, matrix: ScoreMatrix) -> Tensor<1>;

    /// The loss in host memory. `scores` comes in as in [`ScoreMatrix`] and leaves as the loss's gradient at the scores.
    fn forward_backward_host(&self, scores: &mut Array2<f32>, blocked: &Blocked) -> f64;

    /// Whether documents that are right answers to another anchor too are taken out of its candidates.
    fn masks_duplicates(&self) -> bool;
}

/// Scores of anchors against candidates.
#[derive(Debug, Clone)]
pub struct ScoreMatrix {
    /// `[B, D]`, D ≥ B: column `i` is the positive of row `i`; all first hard negatives follow, then all second ones, ...
    pub scores: Tensor<2>,
    /// True where a score must not count, `[B, D]`; absent where all count.
    pub blocked: Option<Tensor<2, Bool>>,
}

/// Cells (row, column) of a score matrix that must not count. A row's own positive is never among them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Blocked {
    cells: Vec<(usize, usize)>,
}

impl Blocked {
    /// Candidates that are right answers after all: documents whose text equals the row's positive,
    /// and positives of other pairs with the row's anchor. Equal numbers stand for equal texts;
    /// the first `anchors.len()` documents are the positives.
    pub fn duplicates(anchors: &[u32], documents: &[u32]) -> Self {
        let rows = anchors.len();
        let mut by_positive: HashMap<u32, Vec<usize>> = HashMap::with_capacity(rows);
        let mut by_anchor: HashMap<u32, Vec<usize>> = HashMap::with_capacity(rows);
        for row in 0..rows {
            by_positive.entry(documents[row]).or_default().push(row);
            by_anchor.entry(anchors[row]).or_default().push(row);
        }
        let mut cells = Vec::new();
        for (column, document) in documents.iter().enumerate() {
            let same_positive = by_positive.get(document).map_or(&[][..], Vec::as_slice);
            let same_anchor =
                anchors.get(column).and_then(|anchor| by_anchor.get(anchor)).map_or(&[][..], Vec::as_slice);
            let others = same_positive.iter().chain(same_anchor).filter(|row| **row != column);
            cells.extend(others.map(|row| (*row, column)));
        }
        cells.sort_unstable();
        cells.dedup();
        Self { cells }
    }

    /// The cells in order.
    pub fn cells(&self) -> &[(usize, usize)] {
        &self.cells
    }

    /// Whether all scores count.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// As a tensor of truth values, `[rows, columns]`.
    pub fn tensor(&self, rows: usize, columns: usize, device: &Device) -> Option<Tensor<2, Bool>> {
        if self.is_empty() {
            return None;
        }
        let mut blocked = vec![false; rows * columns];
        for (row, column) in &self.cells {
            blocked[row * columns + column] = true;
        }
        Some(Tensor::from_data(TensorData::new(blocked, [rows, columns]), device))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_positives_equal_anchors_and_a_positive_among_the_negatives_are_blocked() {
        // Pairs 0 and 2 share the positive 10, pairs 1 and 2 share the anchor 6; negatives: 10 of pair 1 is the positive of 0 and 2.
        let blocked = Blocked::duplicates(&[5, 6, 6], &[10, 11, 10, 12, 10, 13]);
        assert_eq!(blocked.cells(), [(0, 2), (0, 4), (1, 2), (2, 0), (2, 1), (2, 4)]);
        assert!(Blocked::duplicates(&[1, 2], &[3, 4, 5]).is_empty());
    }
}
