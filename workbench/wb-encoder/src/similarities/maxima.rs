//! The greatest products of tokens with each text's tokens: over all of them, or over those that are retrieved.

use super::tokens::{NONE, Normalizer, TokenTexts, XtrConfig};
use crate::kernels::{
    Mat, MatMut, matmul,
    vector::{max, vectorized},
};

/// The score that every query token gets from a document without tokens.
const LEAST: f32 = -1.0;
/// Right tokens that meet a tile of left ones at a time, of whole texts.
const CHUNK: usize = 1024;

/// Maxima of some left tokens over each right text, in chunks of whole texts.
pub(super) fn all_maxima(left: Mat<'_>, right: TokenTexts<'_>, best: &mut [u32], values: &mut [f32]) {
    let mut text = 0;
    while text < right.len() {
        let first = right.offsets[text];
        let more = right.offsets[text + 1..].iter().take_while(|end| **end - first <= CHUNK).count().max(1);
        let some = TokenTexts { offsets: &right.offsets[text..=text + more], ..right };
        maxima_of(left, some, first..right.offsets[text + more], best, values, right.len(), text);
        text += more;
    }
}

/// Maxima of some left tokens over some neighboring right texts, whose tokens are `tokens`. They are written into
/// columns from `column` of rows of so many texts.
pub(super) fn maxima_of(
    left: Mat<'_>,
    right: TokenTexts<'_>,
    tokens: std::ops::Range<usize>,
    best: &mut [u32],
    values: &mut [f32],
    texts: usize,
    column: usize,
) {
    let width = tokens.len();
    let mut products = vec![0.0f32; values.len() / texts * width];
    matmul(MatMut::new(&mut products, values.len() / texts, width), false, left, right.rows(tokens).t(), 1.0);
    for (row, (best, values)) in best.chunks_exact_mut(texts).zip(values.chunks_exact_mut(texts)).enumerate() {
        let products = &products[row * width..(row + 1) * width];
        for text in 0..right.offsets.len() - 1 {
            let range = right.offsets[text] - right.offsets[0]..right.offsets[text + 1] - right.offsets[0];
            let (at, value) = first_maximum(&products[range]);
            best[column + text] = at.map_or(NONE, |at| (right.offsets[text] + at) as u32);
            values[column + text] = value;
        }
    }
}

/// The greatest of some products, and the first place where it stands. Products that are no numbers are passed over;
/// where all are none, so is the result.
fn first_maximum(products: &[f32]) -> (Option<usize>, f32) {
    if products.is_empty() {
        return (None, LEAST);
    }
    vectorized!({
        let greatest = max(products);
        match products.iter().position(|product| *product == greatest) {
            Some(at) => (Some(at), greatest),
            None => (Some(0), f32::NAN),
        }
    })
}

/// Maxima over the tokens that are retrieved: the nearest of all right tokens.
pub(super) fn retrieved_maxima(
    left: Mat<'_>,
    right: TokenTexts<'_>,
    config: XtrConfig,
    best: &mut [u32],
    values: &mut [f32],
) {
    let (texts, width) = (right.len(), right.tokens());
    let rows = values.len() / texts;
    let mut products = vec![0.0f32; rows * width];
    matmul(MatMut::new(&mut products, rows, width), false, left, right.rows(0..width).t(), 1.0);
    let mut order = Vec::with_capacity(width);
    for (row, (best, values)) in best.chunks_exact_mut(texts).zip(values.chunks_exact_mut(texts)).enumerate() {
        let products = &products[row * width..(row + 1) * width];
        let least = Retrieved::of(products, config.top_k, &mut order);
        for text in 0..texts {
            let range = right.range(text);
            let (at, value) = first_maximum(&products[range.clone()]);
            // Where the first of a text's greatest products is not retrieved, none of the text is.
            let counts = at.filter(|at| least.holds(value, range.start + at)).filter(|_| match config.normalizer {
                Normalizer::SentenceTransformers => true,
                Normalizer::Pylate => value.is_nan() || value > 0.0,
            });
            best[text] = counts.map_or(NONE, |at| (range.start + at) as u32);
            values[text] = if counts.is_some() { value } else { 0.0 };
        }
    }
}

/// The products that are among the k greatest: those above a value, and of those equal to it the first few.
struct Retrieved {
    value: f32,
    last_equal: usize,
}

impl Retrieved {
    fn of(products: &[f32], k: usize, order: &mut Vec<f32>) -> Self {
        if k >= products.len() {
            return Self { value: f32::NEG_INFINITY, last_equal: usize::MAX };
        }
        order.clear();
        order.extend_from_slice(products);
        let (_, value, _) = order.select_nth_unstable_by(k - 1, |a, b| b.total_cmp(a));
        let value = *value;
        let above = products.iter().filter(|product| product.total_cmp(&value).is_gt()).count();
        let mut equal = products.iter().enumerate().filter(|(_, product)| product.total_cmp(&value).is_eq());
        let last_equal = equal.nth(k - above - 1).map_or(0, |(at, _)| at);
        Self { value, last_equal }
    }

    fn holds(&self, value: f32, at: usize) -> bool {
        value.is_nan() || value > self.value || (value == self.value && at <= self.last_equal)
    }
}
