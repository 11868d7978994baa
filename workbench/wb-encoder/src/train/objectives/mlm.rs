//! Masked language modelling (Devlin et al. 2018, arXiv 1810.04805): some tokens are hidden, and are to be told.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wb_core::{Error, Result};

use super::{
    code_tokens::CodeTokens,
    draws::limit,
    head::{STD, judge_with},
    objective::{CodeText, Objective, TokenAnswers, TokenQuestion},
    weight_is_fine,
};
use crate::{
    error::expect_value,
    kernels::{
        Mat, MatMut, activation, matmul,
        normalize::{Normalized, add_and_normalize, normalize_backward},
        vector::{add_column_sums, fill_rows},
    },
    models::{Activation, WeightInit, WeightSpec},
    parameters::{Gradients, Parameters},
};

/// The token vectors, which are also the classes.
const WORDS: &str = "embeddings.word_embeddings.weight";
/// Added to the variance in the head's normalization.
const EPSILON: f32 = 1e-12;

/// Masked language modelling.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MlmConfig {
    /// Factor of the loss; `0` is as if the objective was not there.
    pub weight: f64,
    /// Share of the tokens that are asked about.
    pub mask_share: f64,
}

impl Default for MlmConfig {
    fn default() -> Self {
        Self { weight: 0.1, mask_share: 0.15 }
    }
}

impl MlmConfig {
    /// Refuses values that make no sense.
    pub fn validate(&self, key: &str) -> Result<()> {
        weight_is_fine(key, self.weight)?;
        let fine = self.mask_share > 0.0 && self.mask_share < 1.0;
        expect_value(format!("{key}.mask_share"), self.mask_share, fine, "a share above 0 and below 1")
    }
}

/// The head is BERT's: y = LayerNorm(gelu(x·Wᵀ + b)), logits y·Eᵀ + c with the model's token vectors E
/// (tied; they get the gradient where they train), equal to transformers' `BertForMaskedLM`. Its W, b, normalization
/// and c begin fresh.
///
/// Each token (no special ones, no prompts) is drawn with `mask_share`; of those, 80 % become the mask token,
/// 10 % any token, and 10 % stay.
#[derive(Debug)]
pub struct Mlm {
    config: MlmConfig,
    mask_token: u32,
    vocab_size: u32,
    dim: usize,
}

impl Mlm {
    /// An objective for a model that has the token vectors of a transformer.
    pub fn open(config: &MlmConfig, code: &CodeTokens<'_>, parameters: &Parameters) -> Result<Self> {
        let key = "train.objectives.mlm";
        let Some(words) = parameters.get(WORDS) else {
            let message = format!("needs a transformer: the model has no `{WORDS}`, and a hidden token no context");
            return Err(Error::value(key, message).with_hint("take it out, or encoder.model={transformer: {}}"));
        };
        let mask_token = code.mask_token(key)?;
        Ok(Self { config: config.clone(), mask_token, vocab_size: words.shape[0] as u32, dim: words.shape[1] })
    }
}

/// Draws on one token.
const IS_ASKED: u64 = 0;
const BECOMES: u64 = 1;
const ANY: u64 = 2;

impl Objective for Mlm {
    fn name(&self) -> &'static str {
        "mlm"
    }

    fn weight(&self) -> f64 {
        self.config.weight
    }

    fn head(&self, dim: usize) -> Vec<WeightSpec> {
        let spec = |name: &str, shape: &[usize], init| WeightSpec {
            name: format!("heads.mlm.{name}"),
            shape: shape.to_vec(),
            init,
        };
        vec![
            spec("dense.weight", &[dim, dim], WeightInit::Normal(STD)),
            spec("dense.bias", &[dim], WeightInit::Zeros),
            spec("LayerNorm.weight", &[dim], WeightInit::Ones),
            spec("LayerNorm.bias", &[dim], WeightInit::Zeros),
            spec("bias", &[self.vocab_size as usize], WeightInit::Zeros),
        ]
    }

    fn classes(&self) -> Vec<String> {
        Vec::new()
    }

    fn ask(&self, text: &mut CodeText<'_>) -> Vec<TokenQuestion> {
        let asked = limit(self.config.mask_share);
        let (four_fifths, nine_tenths) = (limit(0.8), limit(0.9));
        let mut questions = Vec::new();
        for token in 0..text.ids.len() {
            let free = text.places[token].is_some() && !text.taken[token];
            if !free || text.draws.draw(token, IS_ASKED) >= asked {
                continue;
            }
            questions.push(TokenQuestion { token, class: text.ids[token] });
            text.taken[token] = true;
            let drawn = text.draws.draw(token, BECOMES);
            if drawn < four_fifths {
                text.ids[token] = self.mask_token;
            } else if drawn < nine_tenths {
                text.ids[token] = ((text.draws.draw(token, ANY) * u64::from(self.vocab_size)) >> 32) as u32;
            }
        }
        questions
    }

    fn forward_backward(&self, answers: TokenAnswers<'_>, parameters: &Parameters, gradients: &mut Gradients) -> f64 {
        let (n, dim) = (answers.classes.len(), self.dim);
        let names = ["dense.weight", "dense.bias", "LayerNorm.weight", "LayerNorm.bias"];
        let places = names.map(|name| parameters.position(&format!("heads.mlm.{name}")));
        let [Some(weight), Some(bias), Some(scale), Some(shift)] = places else { return f64::NAN };
        let values = |place: usize| parameters.floats(place);

        let mut before = vec![0.0; n * dim];
        fill_rows(&mut before, values(bias));
        let dense = Mat::new(values(weight), dim, dim);
        let x = Mat::new(answers.states, n, dim);
        matmul(MatMut::new(&mut before, n, dim), true, x, dense.t(), 1.0);
        let mut y = vec![0.0; n * dim];
        activation::activate(&mut y, &before, Activation::Gelu);
        let mut kept = Normalized::default();
        add_and_normalize(&mut y, &[], &[], values(scale), values(shift), EPSILON, Some(&mut kept));

        let mut g = vec![0.0; n * dim];
        let of_words = TokenAnswers { states: &y, classes: answers.classes, factor: answers.factor, at_states: &mut g };
        let loss = judge_with(WORDS, "heads.mlm.bias", of_words, parameters, gradients);

        let [mut at_scale, mut at_shift] = [scale, shift].map(|place| std::mem::take(gradients.at_mut(place)));
        normalize_backward(&mut g, &kept, values(scale), Some((at_scale.as_mut_slice(), at_shift.as_mut_slice())));
        *gradients.at_mut(scale) = at_scale;
        *gradients.at_mut(shift) = at_shift;
        activation::times_derivative(&mut g, &before, Activation::Gelu);
        add_column_sums(gradients.at_mut(bias), &g);
        let at_dense = MatMut::new(gradients.at_mut(weight), dim, dim);
        matmul(at_dense, true, Mat::new(&g, n, dim).t(), x, 1.0);
        matmul(MatMut::new(answers.at_states, n, dim), true, Mat::new(&g, n, dim), dense, 1.0);
        loss
    }
}
