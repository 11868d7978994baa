//! Weights of an architecture: names, shapes, and how each begins when training starts from nothing.

use rand::RngExt;
use wb_core::Seed;

use crate::{
    models::{Architecture, bert_config::BertConfig, static_config::StaticConfig, t5_config::T5Config},
    parameters::{Parameter, Parameters},
};

/// Beginning of a weight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum WeightInit {
    /// Normal with mean 0 and this standard deviation.
    Normal(f32),
    /// All 0.
    Zeros,
    /// All 1.
    Ones,
}

/// One weight that an architecture has.
#[derive(Debug, Clone, PartialEq)]
pub struct WeightSpec {
    /// Name as in `model.safetensors`.
    pub name: String,
    /// Shape as in `model.safetensors`.
    pub shape: Vec<usize>,
    /// Beginning of its values.
    pub init: WeightInit,
}

/// Standard deviation of a fresh BERT's weights: the `initializer_range` of the original and of nearly all since.
const BERT_STD: f32 = 0.02;

/// A T5's table of distances, which is an embedding and no linear layer.
const POSITION_BIAS: &str = ".relative_attention_bias";

impl Architecture {
    /// Every weight, in the order in which they are kept and written.
    pub fn weights(&self) -> Vec<WeightSpec> {
        match self {
            Self::Bert(config) => bert(config),
            Self::T5(config) => t5(config),
            Self::StaticEmbedding(config) => static_embedding(config),
        }
    }

    /// Names of the linear layers, without `.weight`: what an adapter can stand beside.
    pub fn linear_layers(&self) -> Vec<String> {
        let layer = |w: WeightSpec| {
            let name = w.name.strip_suffix(".weight")?;
            let is_linear = w.shape.len() == 2 && name.starts_with("encoder.") && !name.ends_with(POSITION_BIAS);
            is_linear.then(|| name.to_owned())
        };
        self.weights().into_iter().filter_map(layer).collect()
    }

    /// Fresh weights, all of them to be trained. Each weight draws from a stream of its own name.
    pub fn fresh(&self, seed: Seed) -> Parameters {
        let mut parameters = Parameters::default();
        for spec in self.weights() {
            parameters.insert(fresh_weight(spec, seed));
        }
        parameters
    }
}

/// A fresh weight, to be trained, drawn from a stream of its own name.
pub fn fresh_weight(spec: WeightSpec, seed: Seed) -> Parameter {
    let WeightSpec { name, shape, init } = spec;
    let n = shape.iter().product();
    let values = match init {
        WeightInit::Zeros => vec![0.0; n],
        WeightInit::Ones => vec![1.0; n],
        WeightInit::Normal(std) => normal(seed, &name, n, std),
    };
    Parameter { name, shape, values, trainable: true }
}

/// `n` draws from a normal distribution by Box and Muller's transform.
fn normal(seed: Seed, name: &str, n: usize, std: f32) -> Vec<f32> {
    let mut rng = seed.stream(&format!("fresh {name}"));
    let mut values = Vec::with_capacity(n + 1);
    while values.len() < n {
        // 1 - u lies in (0, 1], so the logarithm is finite.
        let radius = (-2.0 * (1.0 - rng.random::<f64>()).ln()).sqrt() * f64::from(std);
        let angle = std::f64::consts::TAU * rng.random::<f64>();
        values.push((radius * angle.cos()) as f32);
        values.push((radius * angle.sin()) as f32);
    }
    values.truncate(n);
    values
}

fn bert(c: &BertConfig) -> Vec<WeightSpec> {
    let (h, f) = (c.hidden_size, c.intermediate_size);
    let mut list = Vec::with_capacity(5 + 16 * c.num_hidden_layers);
    let mut push = |name: String, shape: &[usize], init| list.push(WeightSpec { name, shape: shape.to_vec(), init });
    let normal = WeightInit::Normal(BERT_STD);
    push("embeddings.word_embeddings.weight".into(), &[c.vocab_size, h], normal);
    push("embeddings.position_embeddings.weight".into(), &[c.max_position_embeddings, h], normal);
    push("embeddings.token_type_embeddings.weight".into(), &[c.type_vocab_size, h], normal);
    push("embeddings.LayerNorm.weight".into(), &[h], WeightInit::Ones);
    push("embeddings.LayerNorm.bias".into(), &[h], WeightInit::Zeros);
    for layer in 0..c.num_hidden_layers {
        let mut linear = |name: &str, out: usize, inside: usize| {
            push(format!("encoder.layer.{layer}.{name}.weight"), &[out, inside], normal);
            push(format!("encoder.layer.{layer}.{name}.bias"), &[out], WeightInit::Zeros);
        };
        linear("attention.self.query", h, h);
        linear("attention.self.key", h, h);
        linear("attention.self.value", h, h);
        linear("attention.output.dense", h, h);
        linear("intermediate.dense", f, h);
        linear("output.dense", h, f);
        for name in ["attention.output.LayerNorm", "output.LayerNorm"] {
            push(format!("encoder.layer.{layer}.{name}.weight"), &[h], WeightInit::Ones);
            push(format!("encoder.layer.{layer}.{name}.bias"), &[h], WeightInit::Zeros);
        }
    }
    list
}

/// Fresh weights as in transformers' T5, whose factors make up for the scores that are not divided.
fn t5(c: &T5Config) -> Vec<WeightSpec> {
    let (width, inner, wide) = (c.d_model, c.inner(), c.d_ff);
    let root = |n: usize| WeightInit::Normal(1.0 / (n as f32).sqrt());
    let mut list = Vec::with_capacity(3 + 9 * c.num_layers);
    let mut push = |name: String, shape: &[usize], init| list.push(WeightSpec { name, shape: shape.to_vec(), init });
    push("shared.weight".into(), &[c.vocab_size, width], WeightInit::Normal(1.0));
    for layer in 0..c.num_layers {
        let mut part = |name: &str, shape: &[usize], init| {
            push(format!("encoder.block.{layer}.layer.{name}.weight"), shape, init);
        };
        part("0.SelfAttention.q", &[inner, width], root(width * c.d_kv));
        part("0.SelfAttention.k", &[inner, width], root(width));
        part("0.SelfAttention.v", &[inner, width], root(width));
        part("0.SelfAttention.o", &[width, inner], root(inner));
        if layer == 0 {
            let buckets = c.relative_attention_num_buckets;
            part("0.SelfAttention.relative_attention_bias", &[buckets, c.num_heads], root(width));
        }
        part("0.layer_norm", &[width], WeightInit::Ones);
        part("1.DenseReluDense.wi_0", &[wide, width], root(width));
        part("1.DenseReluDense.wi_1", &[wide, width], root(width));
        part("1.DenseReluDense.wo", &[width, wide], root(wide));
        part("1.layer_norm", &[width], WeightInit::Ones);
    }
    push("encoder.final_layer_norm.weight".into(), &[width], WeightInit::Ones);
    list
}

fn static_embedding(c: &StaticConfig) -> Vec<WeightSpec> {
    // Vectors of length about 1, so that means over texts are comparable whatever `dim` is.
    let std = 1.0 / (c.dim.max(1) as f32).sqrt();
    let mut list = vec![WeightSpec {
        name: "embeddings.weight".into(),
        shape: vec![c.vocab_size, c.dim],
        init: WeightInit::Normal(std),
    }];
    if c.weighted {
        list.push(WeightSpec { name: "token_weights".into(), shape: vec![c.vocab_size], init: WeightInit::Zeros });
    }
    if c.positions > 0 {
        list.push(WeightSpec { name: "position_weights".into(), shape: vec![c.positions], init: WeightInit::Zeros });
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bag_of_vectors_begins_with_vectors_of_length_one() {
        let architecture =
            Architecture::StaticEmbedding(StaticConfig { vocab_size: 500, dim: 64, weighted: true, positions: 0 });
        let fresh = architecture.fresh(Seed(7));
        assert_eq!(fresh, architecture.fresh(Seed(7)));
        assert_ne!(fresh, architecture.fresh(Seed(8)));
        let values = &fresh.get("embeddings.weight").unwrap().values;
        let mean_square = values.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>() / values.len() as f64;
        // 32,000 draws: the mean square of N(0, 1/64) is 1/64 ± 2 %.
        assert!((mean_square * 64.0 - 1.0).abs() < 0.03, "{mean_square}");
        assert!(fresh.get("token_weights").unwrap().values.iter().all(|v| *v == 0.0));
        assert_eq!(fresh.counts(), (500 * 64 + 500, 500 * 64 + 500));
    }
}
