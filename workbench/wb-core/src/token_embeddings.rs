//! One vector a token, in host memory: what late interaction compares texts by.

use std::ops::Range;

use ndarray::{Array2, ArrayView2, s};

use crate::{Error, Result};

/// Embeddings of texts, one vector a token, texts one after the other and without padding.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenEmbeddings {
    vectors: Array2<f32>,
    offsets: Vec<usize>,
}

impl TokenEmbeddings {
    /// Takes vectors, `[tokens, dim]`, and where each text begins, with the end: `[texts + 1]`.
    pub fn new(vectors: Array2<f32>, offsets: Vec<usize>) -> Result<Self> {
        let ordered = offsets.windows(2).all(|ends| ends[0] <= ends[1]);
        if offsets.first() != Some(&0) || offsets.last() != Some(&vectors.nrows()) || !ordered {
            let message = format!(
                "texts begin at {:?} and end at {:?}, expected ascending places from 0 to {}, the number of vectors",
                offsets.first(),
                offsets.last(),
                vectors.nrows()
            );
            return Err(Error::data("token embeddings", message));
        }
        let vectors = if vectors.is_standard_layout() { vectors } else { vectors.as_standard_layout().to_owned() };
        Ok(Self { vectors, offsets })
    }

    /// No texts, of vectors of this length.
    pub fn none(dim: usize) -> Self {
        Self { vectors: Array2::zeros((0, dim)), offsets: vec![0] }
    }

    /// How many texts.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Length of a vector.
    pub fn dim(&self) -> usize {
        self.vectors.ncols()
    }

    /// All vectors, `[tokens, dim]`.
    pub fn view(&self) -> ArrayView2<'_, f32> {
        self.vectors.view()
    }

    /// Where each text begins, and the end: `[texts + 1]`.
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// The vectors of one text, `[tokens of the text, dim]`.
    pub fn text(&self, index: usize) -> ArrayView2<'_, f32> {
        self.vectors.slice(s![self.offsets[index]..self.offsets[index + 1], ..])
    }

    /// Some texts, in the order given.
    #[must_use]
    pub fn select(&self, texts: impl IntoIterator<Item = usize>) -> Self {
        let (mut rows, mut offsets) = (Vec::new(), vec![0]);
        for text in texts {
            rows.extend(self.offsets[text]..self.offsets[text + 1]);
            offsets.push(rows.len());
        }
        Self { vectors: self.vectors.select(ndarray::Axis(0), &rows), offsets }
    }

    /// Neighboring texts.
    #[must_use]
    pub fn part(&self, texts: Range<usize>) -> Self {
        let offsets = &self.offsets[texts.start..=texts.end];
        let (first, end) = (offsets[0], offsets[offsets.len() - 1]);
        let vectors = self.vectors.slice(s![first..end, ..]).to_owned();
        Self { vectors, offsets: offsets.iter().map(|at| at - first).collect() }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::arr2;

    use super::*;

    #[test]
    fn texts_are_taken_out_by_hand() {
        let vectors = arr2(&[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]);
        let all = TokenEmbeddings::new(vectors.clone(), vec![0, 1, 1, 4]).unwrap();
        assert_eq!((all.len(), all.dim(), all.is_empty()), (3, 2, false));
        assert_eq!((all.text(0), all.text(1).nrows()), (arr2(&[[1.0, 2.0]]).view(), 0));
        let some = all.select([2, 0, 1]);
        assert_eq!(some.offsets(), [0, 3, 4, 4]);
        assert_eq!(some.text(1), all.text(0));
        let part = all.part(1..3);
        assert_eq!((part.offsets(), part.text(1)), (&[0, 0, 3][..], all.text(2)));
        assert!(TokenEmbeddings::none(2).is_empty());
        for offsets in [vec![], vec![0, 3], vec![1, 4], vec![0, 3, 2, 4]] {
            assert!(TokenEmbeddings::new(vectors.clone(), offsets).is_err());
        }
    }
}
