//! AdamW on weights in host memory, with parameter groups and gradient clipping.

use std::collections::BTreeMap;

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wb_core::{Error, Result};

use crate::{
    error::expect_value,
    parameters::{Gradients, Parameter, Parameters},
    resident::AdamwStep,
};

/// Numbers that one thread updates at a time: 64 KiB of each array, and fixed, so that sums do not depend on the threads.
const CHUNK: usize = 16 * 1024;

/// Rule by which weights change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OptimizerConfig {
    /// Adam with decoupled weight decay.
    Adamw(AdamwConfig),
}

/// AdamW.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AdamwConfig {
    /// The full rate; the schedule multiplies it. The default suits a pretrained model with all weights training.
    /// Adapters want about ten times more, fresh weights 0.001 to 0.01.
    pub learning_rate: f64,
    /// Each step multiplies weights by 1 − learning rate · this. Weights of one dimension (biases, layer norms, token
    /// weights) never decay.
    pub weight_decay: f64,
    /// Decays weights whose name holds `embeddings` too; vectors of rare tokens fade by it.
    pub decay_embeddings: bool,
    /// Decays of the means of gradients and of their squares, each below 1; the greater, the more slowly they follow.
    pub betas: [f64; 2],
    /// Added to the root of the mean square.
    pub eps: f64,
    /// Learning rates of their own: a part of weights' names to a factor, as in `{ token_weights: 10 }`. The first
    /// fitting part in alphabetical order counts.
    pub rate_factors: BTreeMap<String, f64>,
    /// Layer-wise learning rates: the last layer has the full rate, each layer below it the rate of the one above times
    /// this, the embeddings one step further; `1` for the same rate everywhere, `0.9` is usual. Multiplies with
    /// `rate_factors`. Weights outside of numbered layers and embeddings keep the full rate.
    pub layer_decay: f64,
}

impl Default for OptimizerConfig {
    fn default() -> Self {
        Self::Adamw(AdamwConfig::default())
    }
}

impl Default for AdamwConfig {
    fn default() -> Self {
        Self {
            learning_rate: 2e-5,
            weight_decay: 0.01,
            decay_embeddings: true,
            betas: [0.9, 0.999],
            eps: 1e-8,
            rate_factors: BTreeMap::new(),
            layer_decay: 1.0,
        }
    }
}

impl OptimizerConfig {
    /// The full learning rate.
    pub fn learning_rate(&self) -> f64 {
        let Self::Adamw(config) = self;
        config.learning_rate
    }

    /// Refuses values that make no sense.
    pub fn validate(&self, key: &str) -> Result<()> {
        let Self::Adamw(config) = self;
        let expect = |field: &str, value: f64, fine: bool, expected: &str| {
            expect_value(format!("{key}.adamw.{field}"), value, fine && value.is_finite(), expected)
        };
        let [one, two] = config.betas;
        expect("learning_rate", config.learning_rate, config.learning_rate > 0.0, "a number above 0")?;
        expect("weight_decay", config.weight_decay, config.weight_decay >= 0.0, "0 or more")?;
        expect("betas", one, (0.0..1.0).contains(&one), "two numbers from 0 to below 1")?;
        expect("betas", two, (0.0..1.0).contains(&two), "two numbers from 0 to below 1")?;
        expect("eps", config.eps, config.eps > 0.0, "a number above 0")?;
        let decay = config.layer_decay;
        expect("layer_decay", decay, decay > 0.0 && decay <= 1.0, "a number above 0 and at most 1")?;
        for (part, factor) in &config.rate_factors {
            expect(&format!("rate_factors.{part}"), *factor, *factor >= 0.0, "0 or more")?;
        }
        Ok(())
    }
}

/// AdamW with its moments. Steps equal `torch.optim.AdamW`'s (Loshchilov and Hutter 2019,
/// "Decoupled Weight Decay Regularization"):
///
/// w ← w·(1 − r·λ); m ← β₁m + (1 − β₁)g; v ← β₂v + (1 − β₂)g²; w ← w − r/(1 − β₁ᵗ) · m / (√v/√(1 − β₂ᵗ) + ε).
#[derive(Debug, Clone, PartialEq)]
pub struct AdamW {
    config: AdamwConfig,
    groups: Vec<Group>,
    /// Updates done.
    pub steps: u64,
    /// First moments, in the parameters' order; empty for a weight that does not train.
    pub first: Vec<Vec<f32>>,
    /// Second moments.
    pub second: Vec<Vec<f32>>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Group {
    rate_factor: f64,
    decay: f64,
}

impl AdamW {
    /// An optimizer before its first step. A name part in `rate_factors` that no trained weight has is an error.
    pub fn new(config: &OptimizerConfig, parameters: &Parameters) -> Result<Self> {
        let OptimizerConfig::Adamw(config) = config;
        let trained = || parameters.iter().filter(|p| p.trainable);
        for part in config.rate_factors.keys() {
            if !trained().any(|p| p.name.contains(part.as_str())) {
                let names: Vec<&str> = trained().map(|p| p.name.as_str()).take(8).collect();
                let message = format!("no trained weight has `{part}` in its name");
                return Err(Error::value(format!("train.optimizer.adamw.rate_factors.{part}"), message)
                    .with_hint(format!("trained weights here: {}", names.join(", "))));
            }
        }
        let layers = parameters.iter().filter_map(|p| layer(&p.name)).map(|layer| layer + 1).max().unwrap_or(0);
        if config.layer_decay != 1.0 && layers == 0 {
            let message = "the model has no numbered layers, expected names like `encoder.layer.0.output.dense.weight`";
            return Err(Error::value("train.optimizer.adamw.layer_decay", message)
                .with_hint("rate_factors gives weights rates by their names"));
        }
        let group = |p: &Parameter| {
            let factor =
                config.rate_factors.iter().find(|(part, _)| p.name.contains(part.as_str())).map_or(1.0, |(_, f)| *f);
            let factor = factor * config.layer_decay.powi(layers_above(&p.name, layers) as i32);
            let decays = p.shape.len() > 1 && (config.decay_embeddings || !is_embedding(&p.name));
            Group { rate_factor: factor, decay: if decays { config.weight_decay } else { 0.0 } }
        };
        let zeros = |p: &Parameter| if p.trainable { vec![0.0; p.values.len()] } else { Vec::new() };
        Ok(Self {
            groups: parameters.iter().map(group).collect(),
            first: parameters.iter().map(zeros).collect(),
            second: parameters.iter().map(zeros).collect(),
            steps: 0,
            config: config.clone(),
        })
    }

    /// One step with gradients multiplied by `gradient_factor`; the gradients are left as zeros for the next step.
    pub fn update(
        &mut self,
        parameters: &mut Parameters,
        gradients: &mut Gradients,
        learning_rate: f64,
        gradient_factor: f64,
    ) {
        let steps = self.next_steps(learning_rate, gradient_factor);
        self.run(&steps, parameters, gradients);
    }

    /// Counts a step, and gives its numbers for each of the parameters.
    pub fn next_steps(&mut self, learning_rate: f64, gradient_factor: f64) -> Vec<AdamwStep> {
        self.steps += 1;
        let [beta1, beta2] = self.config.betas;
        let correction1 = 1.0 - beta1.powf(self.steps as f64);
        let correction2 = 1.0 - beta2.powf(self.steps as f64);
        let of_group = |group: &Group| {
            let rate = learning_rate * group.rate_factor;
            AdamwStep {
                keep: (1.0 - rate * group.decay) as f32,
                gradient_factor: gradient_factor as f32,
                follow1: (1.0 - beta1) as f32,
                beta2: beta2 as f32,
                follow2: (1.0 - beta2) as f32,
                root_correction: correction2.sqrt().recip() as f32,
                eps: self.config.eps as f32,
                step: (rate / correction1) as f32,
            }
        };
        self.groups.iter().map(of_group).collect()
    }

    /// Changes the weights in host memory that have gradients there, and leaves the gradients as zeros.
    pub fn run(&mut self, steps: &[AdamwStep], parameters: &mut Parameters, gradients: &mut Gradients) {
        let all = parameters
            .iter_mut()
            .zip(gradients.iter_mut())
            .zip(self.first.iter_mut().zip(&mut self.second))
            .zip(steps)
            .filter(|(((parameter, gradient), _), _)| parameter.trainable && !gradient.is_empty());
        for (((parameter, gradient), (first, second)), step) in all {
            let chunks = parameter.values.floats_mut().par_chunks_mut(CHUNK).zip(gradient.par_chunks_mut(CHUNK));
            let chunks = chunks.zip(first.par_chunks_mut(CHUNK).zip(second.par_chunks_mut(CHUNK)));
            chunks.for_each(|((w, g), (m, v))| step.run(w, g, m, v));
        }
    }

    /// True where a step changes two of the parameters by the same numbers.
    pub fn alike(&self, one: usize, other: usize) -> bool {
        self.groups[one] == self.groups[other]
    }
}

/// The number of the layer that a weight belongs to: `encoder.layer.3.output.dense.weight` is in layer 3.
fn layer(name: &str) -> Option<usize> {
    let mut parts = name.split('.');
    parts.find(|part| ["layer", "layers", "block", "blocks", "h"].contains(part))?;
    parts.next()?.parse().ok()
}

/// Number of layers above a weight's: all of them above embeddings, none above what comes after the last.
///
/// As in ELECTRA's fine-tuning (Clark et al. 2020, layer-wise learning-rate decay after Howard and Ruder 2018), whose
/// powers are all higher by one or two: there the full rate is that of a new layer on top, and here there is none.
fn layers_above(name: &str, layers: usize) -> usize {
    match layer(name) {
        Some(layer) => layers - 1 - layer,
        None if is_embedding(name) => layers,
        None => 0,
    }
}

/// True where a weight is a table of vectors or belongs to one: BERT's have it in their names, those of T5, Qwen and Gemma
/// have not.
fn is_embedding(name: &str) -> bool {
    name.contains("embeddings")
        || matches!(name, "shared.weight" | "embed_tokens.weight")
        || name.ends_with("relative_attention_bias.weight")
}

/// Sum of the squares of all gradients, in double precision and in a fixed order.
pub fn gradient_squares(gradients: &Gradients) -> f64 {
    let chunks: Vec<&[f32]> = gradients.iter().flat_map(|g| g.chunks(CHUNK)).collect();
    let squares: Vec<f64> = chunks.par_iter().map(|chunk| squares(chunk)).collect();
    squares.iter().sum()
}

fn squares(values: &[f32]) -> f64 {
    let mut lanes = [0.0f64; 8];
    let mut eights = values.chunks_exact(8);
    for eight in &mut eights {
        for (lane, x) in lanes.iter_mut().zip(eight) {
            *lane += f64::from(*x) * f64::from(*x);
        }
    }
    let rest: f64 = eights.remainder().iter().map(|x| f64::from(*x) * f64::from(*x)).sum();
    lanes.iter().sum::<f64>() + rest
}

/// Factor that brings gradients of this norm to a norm of at most `clip_norm` (0 for no limit):
/// min(1, clip_norm/(norm + 1e-6)), as `torch.nn.utils.clip_grad_norm_`.
pub fn clip_factor(norm: f64, clip_norm: f64) -> f64 {
    if clip_norm == 0.0 { 1.0 } else { (clip_norm / (norm + 1e-6)).min(1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(names: &[&str], config: AdamwConfig) -> Result<Vec<f64>> {
        let mut parameters = Parameters::default();
        for name in names {
            let parameter = Parameter {
                name: (*name).into(),
                shape: vec![1, 1],
                values: vec![1.0].into(),
                trainable: !name.ends_with("frozen"),
            };
            parameters.insert(parameter);
        }
        let optimizer = AdamW::new(&OptimizerConfig::Adamw(config), &parameters)?;
        Ok(optimizer.groups.iter().map(|group| group.rate_factor).collect())
    }

    #[test]
    fn each_layer_below_has_a_smaller_rate() {
        let names = [
            "embeddings.word_embeddings.weight",
            "encoder.layer.0.attention.self.query.weight.lora_A",
            "encoder.layer.1.output.LayerNorm.bias",
            "encoder.layer.2.frozen",
            "pooler.dense.weight",
        ];
        let half = AdamwConfig { layer_decay: 0.5, ..AdamwConfig::default() };
        assert_eq!(rates(&names, half.clone()).unwrap(), [0.125, 0.25, 0.5, 1.0, 1.0]);
        let of_t5 = [
            "shared.weight",
            "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight",
            "encoder.block.0.layer.1.DenseReluDense.wo.weight",
            "encoder.block.1.layer.0.SelfAttention.q.lora_A.weight",
            "encoder.final_layer_norm.weight",
        ];
        assert_eq!(rates(&of_t5, half.clone()).unwrap(), [0.25, 0.5, 0.5, 1.0, 1.0]);
        let of_qwen =
            ["embed_tokens.weight", "layers.0.self_attn.q_proj.weight", "layers.1.mlp.up_proj.weight", "norm.weight"];
        assert_eq!(rates(&of_qwen, half.clone()).unwrap(), [0.25, 0.5, 1.0, 1.0]);
        let both = AdamwConfig { rate_factors: [("layer.1".to_owned(), 3.0)].into(), ..half.clone() };
        assert_eq!(rates(&names, both).unwrap(), [0.125, 0.25, 1.5, 1.0, 1.0]);
        assert_eq!(rates(&names, AdamwConfig::default()).unwrap(), [1.0; 5]);
        let error = rates(&names[..1], half).unwrap_err().to_string();
        assert!(error.starts_with("train.optimizer.adamw.layer_decay: the model has no numbered layers"), "{error}");
        let error = OptimizerConfig::Adamw(AdamwConfig { layer_decay: 1.5, ..AdamwConfig::default() });
        let error = error.validate("train.optimizer").unwrap_err().to_string();
        assert_eq!(error, "train.optimizer.adamw.layer_decay: got 1.5, expected a number above 0 and at most 1");
    }
}
