//! Cosines between two encoders' vectors of the same texts.

use ndarray::ArrayView1;
use wb_core::Embeddings;

use crate::{Error, Result, contestant::Scorer};

/// Cosines of vectors with those that another encoder gives.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cosines {
    /// Number of vectors: one a text, or one a token.
    pub vectors: usize,
    /// Their mean.
    pub mean: f64,
    /// The least of them.
    pub least: f64,
}

/// Cosines of all vectors of a benchmark, queries and documents. Contestants without vectors are an error, and so are two
/// that cut texts into different numbers of tokens.
pub fn cosines(a: &Scorer<'_>, b: &Scorer<'_>) -> Result<Cosines> {
    let (mut sum, mut least, mut vectors) = (0.0, f64::INFINITY, 0);
    for (of_a, of_b) in sides(a)?.into_iter().zip(sides(b)?) {
        if of_a.view().dim() != of_b.view().dim() {
            let message = format!("gives vectors {:?}, and {} {:?}", of_a.view().dim(), b.name(), of_b.view().dim());
            return Err(Error::data(a.name(), message));
        }
        for (x, y) in of_a.view().rows().into_iter().zip(of_b.view().rows()) {
            let cosine = cosine(x, y);
            (sum, least, vectors) = (sum + cosine, cosine.min(least), vectors + 1);
        }
    }
    Ok(Cosines { vectors, mean: sum / f64::from(vectors.max(1) as u32), least })
}

fn sides<'a>(scorer: &'a Scorer<'_>) -> Result<[&'a Embeddings; 2]> {
    scorer.embeddings().ok_or_else(|| Error::data(scorer.name(), "has no vectors, expected an encoder alone"))
}

/// x·y / (|x|·|y|) in 64 bits; 1 of equal vectors, be they zeros.
fn cosine(x: ArrayView1<'_, f32>, y: ArrayView1<'_, f32>) -> f64 {
    if x == y {
        return 1.0;
    }
    let dot = |x: ArrayView1<'_, f32>, y: ArrayView1<'_, f32>| {
        x.iter().zip(y).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum::<f64>()
    };
    dot(x, y) / (dot(x, x) * dot(y, y)).sqrt().max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use ndarray::arr1;

    use super::*;

    #[test]
    fn cosines_by_hand() {
        let of = |x: [f32; 2], y: [f32; 2]| cosine(arr1(&x).view(), arr1(&y).view());
        assert!((of([3.0, 4.0], [4.0, 3.0]) - 24.0 / 25.0).abs() < 1e-12);
        assert!((of([1.0, 0.0], [-2.0, 0.0]) + 1.0).abs() < 1e-12);
        assert_eq!((of([0.0, 0.0], [0.0, 0.0]), of([0.0, 0.0], [1.0, 0.0])), (1.0, 0.0));
    }
}
