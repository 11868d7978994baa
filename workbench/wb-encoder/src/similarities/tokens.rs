//! Late interaction: texts of several vectors compared token by token, by MaxSim or as XTR trains.

use ndarray::Array2;
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wb_core::{Embeddings, Error, Result};

use super::{
    maxima::{all_maxima, maxima_of, retrieved_maxima},
    rows,
};
use crate::{
    error::expect_value,
    kernels::{
        Mat,
        vector::{add_scaled, vectorized},
    },
};

/// XTR's similarity in training.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct XtrConfig {
    /// Number of document tokens, of all those of the batch, that each query token retrieves. The score of a document
    /// without any is 0.
    pub top_k: usize,
    /// Divisor of the sum of a document's retrieved maxima. `sentence_transformers`: the number of query tokens that
    /// retrieved a token of the document, as in the paper. `pylate`: the number of those whose cosine is above 0, as in
    /// PyLate and PrimeQA; others count as nothing retrieved.
    pub normalizer: Normalizer,
}

/// Divisor of the sum of a document's retrieved maxima.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Normalizer {
    /// The number of query tokens that retrieved a token of the document: the paper's Z, and that of
    /// sentence-transformers 6.2. A document that is far from every token of a query keeps its negative score.
    #[default]
    SentenceTransformers,
    /// The number of query tokens whose retrieved maximum is above 0, as in PyLate and PrimeQA. Maxima below 0 count
    /// as nothing retrieved.
    Pylate,
}

impl Default for XtrConfig {
    fn default() -> Self {
        Self { top_k: 256, normalizer: Normalizer::default() }
    }
}

impl XtrConfig {
    /// Refuses values that make no sense.
    pub fn validate(&self, key: &str) -> Result<()> {
        expect_value(format!("{key}.top_k"), self.top_k, self.top_k > 0, "at least 1")
    }
}

/// A similarity of texts of several vectors.
///
/// MaxSim: s(q, d) = Σ_i max_j q_i·d_j (Khattab and Zaharia 2020, ColBERT, arXiv 2004.12832).
///
/// XTR (Lee et al. 2023, arXiv 2304.01982, equation 5): s(q, d) = 1/Z Σ_i max_j A_ij q_i·d_j, where A_ij is 1 where
/// document token `j` is among the k tokens of the whole batch that are nearest to query token `i`, and Z is the number
/// of query tokens with a token of `d` among them; a document without any has the score 0.
///
/// Equal maxima: the first token gets the gradient and is retrieved first; PyTorch's order of equal values is not said.
/// A document without tokens has the lowest score that vectors of length 1 can have, -1 for each query token.
///
/// Equals sentence-transformers' `maxsim` and `xtr_scores` (6.2). Its XTR takes the k nearest of all columns of a batch, as
/// here. PyLate's puts 0 for what is not retrieved before it takes the maximum, so that a negative maximum is lost
/// unless every token of a document was retrieved; here such a maximum is always lost, and its floor of 10⁻³ under Z
/// never shows, because a document without a maximum above 0 has the sum 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenSimilarity {
    /// The sum of maxima over all tokens.
    Maxsim,
    /// The mean of maxima over retrieved tokens.
    Xtr(XtrConfig),
}

/// Texts of several vectors, borrowed.
#[derive(Debug, Clone, Copy)]
pub struct TokenTexts<'a> {
    pub(super) vectors: &'a [f32],
    pub(super) dim: usize,
    pub(super) offsets: &'a [usize],
}

impl<'a> TokenTexts<'a> {
    /// Borrows embeddings with one vector a token; one vector a text is an error.
    pub fn new(texts: &'a Embeddings) -> Result<Self> {
        let Some(offsets) = texts.offsets() else {
            return Err(Error::data("embeddings", "have one vector a text, expected one a token"));
        };
        // They are in standard layout, whatever they were made of.
        Ok(Self { vectors: texts.view().to_slice().unwrap_or_default(), dim: texts.dim(), offsets })
    }

    /// Number and length of all vectors.
    pub(crate) fn shape(self) -> (usize, usize) {
        (self.tokens(), self.dim)
    }

    /// The first few texts.
    #[must_use]
    pub fn first(self, texts: usize) -> Self {
        Self { offsets: &self.offsets[..=texts], ..self }
    }

    /// Number of texts.
    pub fn len(self) -> usize {
        self.offsets.len() - 1
    }

    /// True where there are none.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    pub(crate) fn tokens(self) -> usize {
        self.offsets[self.len()]
    }

    pub(super) fn range(self, text: usize) -> std::ops::Range<usize> {
        self.offsets[text]..self.offsets[text + 1]
    }

    fn row(self, token: usize) -> &'a [f32] {
        &self.vectors[token * self.dim..][..self.dim]
    }

    pub(super) fn rows(self, tokens: std::ops::Range<usize>) -> Mat<'a> {
        let n = tokens.len();
        Mat::new(&self.vectors[tokens.start * self.dim..tokens.end * self.dim], n, self.dim)
    }
}

/// The absence of a token: nothing is retrieved, or there is none.
pub(super) const NONE: u32 = u32::MAX;

/// The token of each right text that counts for each left token.
#[derive(Debug, Clone)]
pub struct Matches {
    /// `[left tokens, right texts]`: tokens of the right side, or [`NONE`].
    best: Vec<u32>,
    /// `[left texts, right texts]`: what each score's sum is multiplied by, 1/Z.
    factors: Array2<f32>,
}

/// Left tokens that one thread takes at a time; fixed, so that a result does not depend on the threads.
const TILE: usize = 64;

impl TokenSimilarity {
    /// Refuses values that make no sense.
    pub fn validate(self, key: &str) -> Result<()> {
        match self {
            Self::Maxsim => Ok(()),
            Self::Xtr(config) => config.validate(&format!("{key}.xtr")),
        }
    }

    /// Scores of all left texts with all right texts, `[left, right]`, and the tokens that they are made of.
    /// Takes 8 bytes for each left token and right text, and 64 rows of the right side's tokens for each thread with XTR.
    pub fn scores(self, left: TokenTexts<'_>, right: TokenTexts<'_>) -> (Array2<f32>, Matches) {
        let texts = right.len();
        let mut best = vec![NONE; left.tokens() * texts];
        let mut values = vec![0.0f32; left.tokens() * texts];
        if texts > 0 {
            let tiles = best.par_chunks_mut(TILE * texts).zip(values.par_chunks_mut(TILE * texts)).enumerate();
            tiles.for_each(|(tile, (best, values))| {
                let first = tile * TILE;
                let tokens = first..first + values.len() / texts;
                match self {
                    Self::Maxsim => all_maxima(left.rows(tokens), right, best, values),
                    Self::Xtr(config) => retrieved_maxima(left.rows(tokens), right, config, best, values),
                }
            });
        }
        let mut scores = Array2::zeros((left.len(), texts));
        let mut factors = Array2::ones((left.len(), texts));
        let lines: Vec<_> = scores.outer_iter_mut().zip(factors.outer_iter_mut()).enumerate().collect();
        lines.into_par_iter().for_each(|(text, (mut scores, mut factors))| {
            let mut retrieved = vec![0u32; texts];
            for token in left.range(text) {
                let at = token * texts..(token + 1) * texts;
                let cells = values[at.clone()].iter().zip(&best[at]);
                for ((score, count), (value, best)) in scores.iter_mut().zip(&mut retrieved).zip(cells) {
                    *score += value;
                    *count += u32::from(*best != NONE);
                }
            }
            if let Self::Xtr(_) = self {
                for ((score, factor), count) in scores.iter_mut().zip(&mut factors).zip(retrieved) {
                    *factor = 1.0 / count.max(1) as f32;
                    *score *= *factor;
                }
            }
        });
        (scores, Matches { best, factors })
    }

    /// The score of each right text with the left text `owners[j]`, `[right]`, and the tokens that they are made of.
    /// For XTR these are cells of [`TokenSimilarity::scores`]: what is retrieved depends on all texts.
    pub fn own_scores(self, left: TokenTexts<'_>, right: TokenTexts<'_>, owners: &[u32]) -> (Vec<f32>, OwnMatches) {
        if let Self::Xtr(_) = self {
            let (scores, matches) = self.scores(left, right);
            let own = owners.iter().enumerate().map(|(text, owner)| scores[[*owner as usize, text]]).collect();
            return (own, OwnMatches::Cells(matches));
        }
        let pair = |(text, owner): (usize, &u32)| {
            let (query, document) = (left.range(*owner as usize), right.range(text));
            let mut best = vec![NONE; query.len()];
            let mut values = vec![0.0; query.len()];
            let alone = TokenTexts { offsets: &right.offsets[text..=text + 1], ..right };
            if !query.is_empty() {
                maxima_of(left.rows(query), alone, document, &mut best, &mut values, 1, 0);
            }
            (values.iter().sum::<f32>(), best)
        };
        let (scores, best) = owners.par_iter().enumerate().map(pair).unzip();
        (scores, OwnMatches::Pairs(best))
    }

    /// Gradients at the tokens' vectors of both sides, given the loss's gradient at [`TokenSimilarity::scores`].
    pub fn backward(
        left: TokenTexts<'_>,
        right: TokenTexts<'_>,
        matches: &Matches,
        at_scores: &Array2<f32>,
    ) -> [Array2<f32>; 2] {
        let (texts, at_scores) = (right.len(), at_scores * &matches.factors);
        let owner = owners_of_tokens(left);
        let best = |token: usize| &matches.best[token * texts..(token + 1) * texts];
        let mut at_left = Array2::zeros((left.tokens(), left.dim));
        rows::each(&mut at_left, |token, row| {
            let weights = at_scores.row(owner[token]);
            vectorized!({
                for (best, weight) in best(token).iter().zip(weights) {
                    if *best != NONE && *weight != 0.0 {
                        add_scaled(row, *weight, right.row(*best as usize));
                    }
                }
            });
        });
        let mut at_right = Array2::zeros((right.tokens(), right.dim));
        let parts = text_rows(&mut at_right, right);
        parts.into_par_iter().enumerate().for_each(|(text, rows)| {
            let first = right.offsets[text];
            vectorized!({
                for token in 0..left.tokens() {
                    let (best, weight) = (best(token)[text], at_scores[[owner[token], text]]);
                    if best != NONE && weight != 0.0 {
                        let at = (best as usize - first) * right.dim;
                        add_scaled(&mut rows[at..at + right.dim], weight, left.row(token));
                    }
                }
            });
        });
        [at_left, at_right]
    }

    /// Gradients at both sides, given the loss's gradient at [`TokenSimilarity::own_scores`].
    pub fn own_backward(
        left: TokenTexts<'_>,
        right: TokenTexts<'_>,
        matches: &OwnMatches,
        owners: &[u32],
        at_scores: &[f32],
    ) -> [Array2<f32>; 2] {
        let best = match matches {
            OwnMatches::Pairs(best) => best,
            OwnMatches::Cells(matches) => {
                let mut at_cells = Array2::zeros((left.len(), right.len()));
                for ((text, owner), at) in owners.iter().enumerate().zip(at_scores) {
                    at_cells[[*owner as usize, text]] = *at;
                }
                return Self::backward(left, right, matches, &at_cells);
            }
        };
        let owned = rows::by_owner(owners, left.len());
        let mut at_left = Array2::zeros((left.tokens(), left.dim));
        let parts = text_rows(&mut at_left, left);
        parts.into_par_iter().enumerate().for_each(|(text, rows)| {
            for document in &owned[text] {
                for (row, matched) in rows.chunks_exact_mut(left.dim.max(1)).zip(&best[*document]) {
                    if *matched != NONE {
                        add(row, at_scores[*document], right.row(*matched as usize));
                    }
                }
            }
        });
        let mut at_right = Array2::zeros((right.tokens(), right.dim));
        let parts = text_rows(&mut at_right, right);
        parts.into_par_iter().enumerate().for_each(|(text, rows)| {
            let first = right.offsets[text];
            for (token, matched) in left.range(owners[text] as usize).zip(&best[text]) {
                if *matched != NONE {
                    let at = (*matched as usize - first) * right.dim;
                    add(&mut rows[at..at + right.dim], at_scores[text], left.row(token));
                }
            }
        });
        [at_left, at_right]
    }
}

/// The tokens that scores of documents with their own anchors are made of.
#[derive(Debug, Clone)]
pub enum OwnMatches {
    /// Per right text and token of its owner, a token of the right side.
    Pairs(Vec<Vec<u32>>),
    /// Cells of a whole matrix.
    Cells(Matches),
}

fn add(sum: &mut [f32], factor: f32, row: &[f32]) {
    vectorized!(add_scaled(sum, factor, row));
}

/// The text that each token belongs to.
fn owners_of_tokens(texts: TokenTexts<'_>) -> Vec<usize> {
    (0..texts.len()).flat_map(|text| texts.range(text).map(move |_| text)).collect()
}

/// The rows of each text, to be written by different threads.
fn text_rows<'m>(matrix: &'m mut Array2<f32>, texts: TokenTexts<'_>) -> Vec<&'m mut [f32]> {
    let mut rest = matrix.as_slice_mut().unwrap_or_default();
    let cut = |text: usize| {
        let (rows, after) = std::mem::take(&mut rest).split_at_mut(texts.range(text).len() * texts.dim);
        rest = after;
        rows
    };
    (0..texts.len()).map(cut).collect()
}
