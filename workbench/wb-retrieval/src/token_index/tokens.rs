//! Token vectors of some texts: one matrix, and where each text begins in it.

use ndarray::ArrayView2;

use crate::{Error, Result};

/// Token vectors of texts, one after the other: text `i` has the rows `offsets[i]..offsets[i + 1]`.
#[derive(Debug, Clone, Copy)]
pub struct TokenRows<'a> {
    vectors: ArrayView2<'a, f32>,
    offsets: &'a [usize],
}

impl<'a> TokenRows<'a> {
    /// Takes `[tokens, dim]` in standard layout and one offset more than there are texts.
    pub fn new(vectors: ArrayView2<'a, f32>, offsets: &'a [usize]) -> Result<Self> {
        let refuse = |message: String| Err(wb_core::Error::data("token vectors", message).into());
        if offsets.first() != Some(&0) || offsets.windows(2).any(|pair| pair[0] > pair[1]) {
            return refuse("offsets do not ascend from 0".to_owned());
        }
        if offsets.last() != Some(&vectors.nrows()) {
            return Err(Error::Lengths {
                what: "rows of token vectors and the last offset",
                given: vectors.nrows(),
                expected: offsets.last().copied().unwrap_or(0),
            });
        }
        if !vectors.is_standard_layout() {
            return refuse("not in standard layout".to_owned());
        }
        if let Some(row) = vectors.rows().into_iter().position(|row| !row.iter().all(|x| x.is_finite())) {
            return refuse(format!("row {row} has a value that is not finite"));
        }
        Ok(Self { vectors, offsets })
    }

    /// How many texts.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All rows, `[tokens, dim]`.
    pub fn vectors(&self) -> ArrayView2<'a, f32> {
        self.vectors
    }

    /// Where texts begin; the last entry is the number of rows.
    pub fn offsets(&self) -> &'a [usize] {
        self.offsets
    }

    /// One text's rows, `[tokens, dim]`.
    pub fn text(&self, index: usize) -> ArrayView2<'a, f32> {
        let (from, to) = (self.offsets[index], self.offsets[index + 1]);
        self.vectors.slice_move(ndarray::s![from..to, ..])
    }
}
