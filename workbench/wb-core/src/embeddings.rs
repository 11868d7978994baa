//! Vectors of texts in host memory: one for each text, or several.

use std::ops::Range;

use ndarray::{Array2, ArrayView1, ArrayView2, Axis, s};

use crate::{Error, Result};

/// Embeddings of texts, text after text and without padding: one vector a text, or one a token (late interaction).
#[derive(Debug, Clone, PartialEq)]
pub struct Embeddings {
    vectors: Array2<f32>,
    /// Places where the vectors of each text begin, with the end, `[texts + 1]`; nothing where every text has one.
    offsets: Option<Vec<usize>>,
}

impl Embeddings {
    /// Takes one vector a text, `[texts, dim]`.
    pub fn dense(vectors: Array2<f32>) -> Self {
        Self { vectors: in_rows(vectors), offsets: None }
    }

    /// Takes any number of vectors a text, `[vectors, dim]`, and where those of each text begin, with the end:
    /// `[texts + 1]`.
    pub fn ragged(vectors: Array2<f32>, offsets: Vec<usize>) -> Result<Self> {
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
        Ok(Self { vectors: in_rows(vectors), offsets: Some(offsets) })
    }

    /// Takes the numbers of vectors of length `dim`, one after the other, and where the vectors of each text begin, with
    /// the end; nothing where every text has one.
    pub fn of_values(values: Vec<f32>, dim: usize, offsets: Option<Vec<usize>>) -> Result<Self> {
        let vectors = Array2::from_shape_vec((values.len() / dim.max(1), dim), values)
            .map_err(|error| Error::data("embeddings", error.to_string()))?;
        match offsets {
            Some(offsets) => Self::ragged(vectors, offsets),
            None => Ok(Self::dense(vectors)),
        }
    }

    /// All vectors, `[vectors, dim]`, in standard layout.
    pub fn view(&self) -> ArrayView2<'_, f32> {
        self.vectors.view()
    }

    /// One of all vectors, `[dim]`; where every text has one, that of text `index`.
    pub fn row(&self, index: usize) -> ArrayView1<'_, f32> {
        self.vectors.row(index)
    }

    /// The vectors of one text, `[vectors of the text, dim]`.
    pub fn of(&self, text: usize) -> ArrayView2<'_, f32> {
        self.vectors.slice(s![self.rows(text..text + 1), ..])
    }

    /// Places of the vectors of neighboring texts.
    pub fn rows(&self, texts: Range<usize>) -> Range<usize> {
        match &self.offsets {
            Some(offsets) => offsets[texts.start]..offsets[texts.end],
            None => texts,
        }
    }

    /// Places where the vectors of each text begin, with the end; nothing where every text has one.
    pub fn offsets(&self) -> Option<&[usize]> {
        self.offsets.as_deref()
    }

    /// Number of texts.
    pub fn texts(&self) -> usize {
        self.offsets.as_ref().map_or(self.vectors.nrows(), |offsets| offsets.len() - 1)
    }

    /// True where there are no texts.
    pub fn is_empty(&self) -> bool {
        self.texts() == 0
    }

    /// Length of a vector.
    pub fn dim(&self) -> usize {
        self.vectors.ncols()
    }

    /// The matrix of all vectors itself, `[vectors, dim]`.
    pub fn into_inner(self) -> Array2<f32> {
        self.vectors
    }

    /// Some texts, in the order given.
    #[must_use]
    pub fn select(&self, texts: impl IntoIterator<Item = usize>) -> Self {
        let (mut rows, mut offsets) = (Vec::new(), vec![0]);
        for text in texts {
            rows.extend(self.rows(text..text + 1));
            offsets.push(rows.len());
        }
        Self { vectors: self.vectors.select(Axis(0), &rows), offsets: self.offsets.as_ref().map(|_| offsets) }
    }

    /// Neighboring texts.
    #[must_use]
    pub fn part(&self, texts: Range<usize>) -> Self {
        let rows = self.rows(texts.clone());
        let beginning =
            |offsets: &Vec<usize>| offsets[texts.start..=texts.end].iter().map(|at| at - rows.start).collect();
        let offsets = self.offsets.as_ref().map(beginning);
        Self { vectors: self.vectors.slice(s![rows, ..]).to_owned(), offsets }
    }

    /// Embeddings of the first `dim` numbers of every vector, which is how Matryoshka embeddings are shortened; all of
    /// them where there are no more.
    #[must_use]
    pub fn truncated(self, dim: usize) -> Self {
        let dim = dim.min(self.dim());
        Self { vectors: in_rows(self.vectors.slice(s![.., ..dim]).to_owned()), offsets: self.offsets }
    }

    /// Embeddings with every vector divided by its Euclidean length (vectors of zeros stay zeros).
    #[must_use]
    pub fn normalized(mut self) -> Self {
        for mut row in self.vectors.rows_mut() {
            let norm = row.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>().sqrt() as f32;
            if norm > 0.0 {
                row.mapv_inplace(|x| x / norm);
            }
        }
        self
    }
}

fn in_rows(vectors: Array2<f32>) -> Array2<f32> {
    if vectors.is_standard_layout() { vectors } else { vectors.as_standard_layout().to_owned() }
}

#[cfg(test)]
mod tests {
    use ndarray::arr2;

    use super::*;

    #[test]
    fn texts_are_taken_out_by_hand() {
        let vectors = arr2(&[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]);
        let all = Embeddings::ragged(vectors.clone(), vec![0, 1, 1, 4]).unwrap();
        assert_eq!((all.texts(), all.dim(), all.is_empty()), (3, 2, false));
        assert_eq!((all.of(0), all.of(1).nrows(), all.rows(1..3)), (arr2(&[[1.0, 2.0]]).view(), 0, 1..4));
        let some = all.select([2, 0, 1]);
        assert_eq!(some.offsets(), Some(&[0, 3, 4, 4][..]));
        assert_eq!(some.of(1), all.of(0));
        let part = all.part(1..3);
        assert_eq!((part.offsets(), part.of(1)), (Some(&[0, 0, 3][..]), all.of(2)));
        assert!(Embeddings::ragged(Array2::zeros((0, 2)), vec![0]).unwrap().is_empty());
        for offsets in [vec![], vec![0, 3], vec![1, 4], vec![0, 3, 2, 4]] {
            assert!(Embeddings::ragged(vectors.clone(), offsets).is_err());
        }
    }

    #[test]
    fn one_vector_a_text_is_ragged_by_ones() {
        let vectors = arr2(&[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]);
        let dense = Embeddings::dense(vectors.clone());
        let ragged = Embeddings::ragged(vectors, vec![0, 1, 2, 3]).unwrap();
        assert_eq!((dense.texts(), dense.offsets()), (ragged.texts(), None));
        let values = vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        assert_eq!(Embeddings::of_values(values.clone(), 2, None).unwrap(), dense);
        assert_eq!(Embeddings::of_values(values.clone(), 2, Some(vec![0, 1, 2, 3])).unwrap(), ragged);
        assert!(Embeddings::of_values(values, 4, None).is_err());
        for text in 0..3 {
            assert_eq!((dense.of(text), dense.rows(text..3)), (ragged.of(text), ragged.rows(text..3)));
        }
        assert_eq!(dense.select([2, 0]).view(), ragged.select([2, 0]).view());
        assert_eq!((dense.part(1..3).view(), dense.part(1..3).texts()), (ragged.part(1..3).view(), 2));
    }
}
