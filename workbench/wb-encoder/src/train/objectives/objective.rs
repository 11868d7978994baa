//! The interface of an objective on tokens: what it asks about a text's tokens, and how answers are judged.

use std::ops::Range;

use super::{
    draws::TokenDraws,
    head::{judge, linear_head},
};
use crate::{
    models::WeightSpec,
    parameters::{Gradients, Parameters},
};

/// A text of code on its way through the objectives, token by token.
#[derive(Debug, Clone)]
pub struct CodeText<'a> {
    /// The whole text.
    pub text: &'a str,
    /// Its programming language, empty where it is not known.
    pub language: &'a str,
    /// Token ids as the model will see them: objectives may replace some.
    pub ids: Vec<u32>,
    /// Places of the tokens in the text, in bytes and without white space around them;
    /// `None` for special tokens, prompts and white space.
    pub places: Vec<Option<Range<usize>>>,
    /// Tokens that are hidden already or asked about, which no other objective may hide.
    pub taken: Vec<bool>,
    /// The draws on this text.
    pub draws: TokenDraws,
}

/// Something to be told about a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenQuestion {
    /// The token's position in its text.
    pub token: usize,
    /// The right answer.
    pub class: u32,
}

/// Token states that were asked about.
#[derive(Debug)]
pub struct TokenAnswers<'a> {
    /// States of the tokens asked about, `[questions, dim]`.
    pub states: &'a [f32],
    /// The right answers.
    pub classes: &'a [u32],
    /// Factor of the gradients.
    pub factor: f32,
    /// The gradients at the states are added here, `[questions, dim]`.
    pub at_states: &'a mut [f32],
}

/// Something that a model is asked about the tokens of code while it trains. Its head is one linear layer over its classes,
/// where it has no other.
pub trait Objective: Send + Sync {
    /// Its name in YAML, in journals, and in `heads.NAME` among the weights.
    fn name(&self) -> &'static str;

    /// Factor of its loss in the sum of all losses.
    fn weight(&self) -> f64;

    /// The weights of its head, which are trained with the model and not kept with it. Their names begin with `heads.`.
    fn head(&self, dim: usize) -> Vec<WeightSpec> {
        linear_head(self.name(), self.classes().len(), dim)
    }

    /// The classes in order, which must be the same when training goes on from a checkpoint.
    fn classes(&self) -> Vec<String>;

    /// Asks about a text; may replace tokens that are not taken.
    fn ask(&self, text: &mut CodeText<'_>) -> Vec<TokenQuestion>;

    /// The sum of the answers' losses; adds the gradients of `factor` times that sum at the states and the weights.
    fn forward_backward(&self, answers: TokenAnswers<'_>, parameters: &Parameters, gradients: &mut Gradients) -> f64 {
        judge(self.name(), answers, parameters, gradients)
    }
}
