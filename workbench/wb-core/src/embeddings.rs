//! Vectors in host memory, row `i` for text `i`.

use ndarray::{Array2, ArrayView1, ArrayView2};

/// Embeddings of texts: one vector each. (One vector a token: [`TokenEmbeddings`](crate::TokenEmbeddings).)
#[derive(Debug, Clone, PartialEq)]
pub struct Embeddings {
    vectors: Array2<f32>,
}

impl Embeddings {
    /// Takes vectors, `[texts, dim]`, in standard layout.
    pub fn dense(vectors: Array2<f32>) -> Self {
        let vectors = if vectors.is_standard_layout() { vectors } else { vectors.as_standard_layout().to_owned() };
        Self { vectors }
    }

    /// All vectors, `[texts, dim]`.
    pub fn view(&self) -> ArrayView2<'_, f32> {
        self.vectors.view()
    }

    /// One vector, `[dim]`.
    pub fn row(&self, index: usize) -> ArrayView1<'_, f32> {
        self.vectors.row(index)
    }

    /// How many texts.
    pub fn len(&self) -> usize {
        self.vectors.nrows()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Length of a vector.
    pub fn dim(&self) -> usize {
        self.vectors.ncols()
    }

    /// The matrix itself, `[texts, dim]`.
    pub fn into_inner(self) -> Array2<f32> {
        self.vectors
    }

    /// The same with every row divided by its Euclidean length (rows of zeros stay zeros).
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
