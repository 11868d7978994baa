//! The head of objectives with classes of their own: one linear layer at the token states.

use super::{
    cross_entropy::{AtLinear, Linear, cross_entropy},
    objective::TokenAnswers,
};
use crate::{
    models::{WeightInit, WeightSpec},
    parameters::{Gradients, Parameters},
};

/// Standard deviation of fresh weights, as in BERT.
pub(super) const STD: f32 = 0.02;

/// `heads.NAME.weight` `[classes, dim]` and `heads.NAME.bias` `[classes]`.
pub(super) fn linear_head(name: &str, classes: usize, dim: usize) -> Vec<WeightSpec> {
    vec![
        WeightSpec { name: format!("heads.{name}.weight"), shape: vec![classes, dim], init: WeightInit::Normal(STD) },
        WeightSpec { name: format!("heads.{name}.bias"), shape: vec![classes], init: WeightInit::Zeros },
    ]
}

/// Cross-entropy of a head's answers; see [`cross_entropy`].
pub(super) fn judge(name: &str, answers: TokenAnswers<'_>, parameters: &Parameters, gradients: &mut Gradients) -> f64 {
    let [weight, bias] = [format!("heads.{name}.weight"), format!("heads.{name}.bias")];
    judge_with(&weight, &bias, answers, parameters, gradients)
}

/// Judges by weights of any name, such as the model's own token vectors.
pub(super) fn judge_with(
    weight: &str,
    bias: &str,
    answers: TokenAnswers<'_>,
    parameters: &Parameters,
    gradients: &mut Gradients,
) -> f64 {
    // They were found when the objective was opened.
    let (Some(weight), Some(bias)) = (parameters.position(weight), parameters.position(bias)) else { return f64::NAN };
    let (weight_values, bias_values) = (parameters.at(weight).values.floats(), parameters.at(bias).values.floats());
    let linear = Linear { weight: &weight_values, bias: &bias_values };
    let mut at_weight = std::mem::take(gradients.at_mut(weight));
    let mut at_bias = std::mem::take(gradients.at_mut(bias));
    let at = AtLinear {
        weight: Some(at_weight.as_mut_slice()).filter(|gradient| !gradient.is_empty()),
        bias: Some(at_bias.as_mut_slice()).filter(|gradient| !gradient.is_empty()),
    };
    let TokenAnswers { states, classes, factor, at_states } = answers;
    let loss = cross_entropy(states, classes, linear, factor, at_states, at);
    *gradients.at_mut(weight) = at_weight;
    *gradients.at_mut(bias) = at_bias;
    loss
}
