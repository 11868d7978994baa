//! A bag of token vectors made from another encoder, its teacher: a start that knows something, to train on.
//!
//! The computation is that of Model2Vec's `distill` (Tulkens and van Dongen 2024): every token is put through the teacher
//! alone, principal components shorten what comes out, and SIF weights (Arora et al. 2017) let frequent tokens count less.
//!
//! Where we differ:
//! - The teacher's tokenizer stays as it is, and every id gets a vector; Model2Vec leaves out unused and added tokens.
//!   The ranks of SIF are ids, so its weights are those of Model2Vec where that leaves nothing out.
//! - A state that is not finite is an error; Model2Vec makes it 0.
//! - Components are found in f64; Model2Vec finds them in the type of the states.
//! - Weights stand beside the vectors where the bag has weights (as logarithms), and are multiplied into them where not.
//!   Embeddings have length 1, so that both point the same way.

pub(crate) mod components;
mod eigen;

use ndarray::Array2;
use wb_core::{Progress, Seed, Side};

use crate::{
    bi_encoder::BiEncoder,
    device::OpenDevice,
    error::{Error, Result, expect_value},
    folder::{Folder, MaxTokens},
    models::{Architecture, StaticConfig},
    pooling::Pooling,
    text_vectors::TextVectors,
};

/// Tokens that are put together for the teacher; a step of the progress.
const WINDOW: usize = 4096;
/// Words for what takes the time.
const STAGE: &str = "asking the teacher for every token";

/// A bag to be made.
#[derive(Debug, Clone, PartialEq)]
pub struct BagFromTeacher {
    /// Its sizes; those that the teacher decides are given by [`BagFromTeacher::of`].
    pub bag: StaticConfig,
    /// `a` of SIF, between 0 and 1: a token of probability `p` weighs a / (a + p). 0 for no weights.
    pub sif: f64,
    /// Longer texts are cut.
    pub max_tokens: MaxTokens,
}

impl BagFromTeacher {
    /// Refuses values that make no sense.
    pub fn validate_sif(sif: f64, key: &str) -> Result<()> {
        expect_value(key.to_owned(), sif, (0.0..1.0).contains(&sif), "at least 0 and below 1; 0 is for none")
    }

    /// The sizes of the bag of a teacher: all ids of its tokenizer, and vectors of at most its width.
    /// Where there are no more tokens than components, there are no components, and the width stays.
    pub fn of(&self, teacher: &Folder) -> StaticConfig {
        let (vocab_size, width) = (teacher.tokenizer.vocab_size(), teacher.model.architecture.dim());
        StaticConfig { vocab_size, dim: components::length(vocab_size, width, self.bag.dim), ..self.bag.clone() }
    }

    /// An encoder of the bag's sizes with fresh weights, to be measured in the place of the real one.
    pub fn sized_like(&self, name: &str, teacher: &Folder, seed: Seed) -> Result<Folder> {
        let tokenizer = teacher.tokenizer.clone().without_special_tokens();
        Folder::fresh(name, Architecture::StaticEmbedding(self.of(teacher)), tokenizer, self.max_tokens, seed)
    }

    /// Makes the bag. Memory is that of the teacher, and then that of one vector of its width for every token.
    ///
    /// # Errors
    ///
    /// If the teacher's state of a token is not finite.
    pub fn make(
        &self,
        name: &str,
        teacher: Folder,
        device: &OpenDevice,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Folder> {
        Self::validate_sif(self.sif, "sif")?;
        let mut folder = self.sized_like(name, &teacher, Seed(0))?;
        let note = format!("token vectors were made from {}", teacher.name);
        let states = states(teacher, device, progress)?;
        let vectors = components::principal(states, self.bag.dim)?;
        let weights = sif_weights(vectors.nrows(), self.sif);
        folder.notes.push(note);
        fill(&mut folder, vectors, &weights, self.bag.weighted);
        Ok(folder)
    }
}

/// Puts vectors and weights into a bag: weights beside the vectors as logarithms, or multiplied into them.
fn fill(folder: &mut Folder, mut vectors: Array2<f32>, weights: &[f64], weighted: bool) {
    if !weighted {
        for (mut vector, weight) in vectors.rows_mut().into_iter().zip(weights) {
            vector.mapv_inplace(|x| (f64::from(x) * weight) as f32);
        }
    }
    let (mut vectors, _) = vectors.into_raw_vec_and_offset();
    for parameter in folder.model.parameters.iter_mut() {
        match parameter.name.as_str() {
            "embeddings.weight" => parameter.values = std::mem::take(&mut vectors).into(),
            "token_weights" => {
                parameter.values = weights.iter().map(|weight| weight.ln() as f32).collect::<Vec<f32>>().into();
            }
            _ => {}
        }
    }
}

/// The weight of every token: a / (a + p) with p = (1 / (rank + 2)) / Σ 1 / (rank + 2), Zipf's law with ids for ranks;
/// 1 where `a` is 0.
fn sif_weights(tokens: usize, a: f64) -> Vec<f64> {
    if a == 0.0 {
        return vec![1.0; tokens];
    }
    let inverse = |rank: usize| 1.0 / (rank + 2) as f64;
    let sum: f64 = (0..tokens).map(inverse).sum();
    (0..tokens).map(|rank| a / (a + inverse(rank) / sum)).collect()
}

/// The teacher's vector of every token: the mean over the states of the token and of the special tokens around it, by
/// whatever way the teacher itself comes from states to a vector.
///
/// # Shapes
/// `[tokens, width]`
fn states(mut teacher: Folder, device: &OpenDevice, progress: &mut dyn FnMut(Progress)) -> Result<Array2<f32>> {
    let tokens = teacher.tokenizer.vocab_size();
    teacher.model.pooling = Pooling::Mean;
    let teacher = BiEncoder::open_frozen(teacher, device)?;
    let (tokenizer, backbone) = (&teacher.settings().tokenizer, teacher.backbone());
    let mut states = TextVectors::new(None, backbone, tokens);
    progress(Progress::new(STAGE, 0, tokens));
    for begin in (0..tokens).step_by(WINDOW) {
        let end = tokens.min(begin + WINDOW);
        let texts: Vec<Vec<u32>> = (begin..end).map(|id| tokenizer.alone(id as u32)).collect();
        let mut each = |_, wrong: Option<usize>| wrong.map_or(Ok(()), |at| Err(not_finite(&teacher, begin + at)));
        states.append(backbone, &texts, Side::Document, &mut each)?;
        progress(Progress::new(STAGE, end, tokens));
    }
    Ok(states.finish()?.into_inner())
}

fn not_finite(teacher: &BiEncoder, id: usize) -> Error {
    let token = teacher.settings().tokenizer.token(id as u32).unwrap_or_default();
    let message = format!("its state of token {id}, {token:?}, is not finite");
    Error::data(teacher.settings().name.as_str(), message)
        .with_hint("token vectors cannot be made from an encoder whose numbers overflow: name another one in `from`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequent_tokens_weigh_less() {
        let weights = sif_weights(3, 0.1);
        // 1/2 + 1/3 + 1/4 = 13/12, so that p is 6/13, 4/13, 3/13.
        let expected = [6.0, 4.0, 3.0].map(|p: f64| 0.1 / (0.1 + p / 13.0));
        assert!(weights.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-15), "{weights:?}");
        assert!(weights.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!(sif_weights(2, 0.0), [1.0, 1.0]);
    }
}
