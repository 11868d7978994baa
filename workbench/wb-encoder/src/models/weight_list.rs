//! Weights of an architecture: names, shapes, and how each begins when training starts from nothing.

use rand::RngExt;
use wb_core::Seed;

use crate::{
    models::{
        Architecture,
        stack::{LinearSpec, NormKind, NormOrder, Stack, StackLayer},
        static_config::StaticConfig,
        transformer_config::Transformer,
    },
    parameters::{Parameter, Parameters},
    values::Values,
    weights::WeightType,
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

impl Architecture {
    /// Every weight, in the order in which they are kept and written.
    pub fn weights(&self) -> Vec<WeightSpec> {
        match self {
            Self::StaticEmbedding(config) => static_embedding(config),
            _ => self.transformer().map(transformer).unwrap_or_default(),
        }
    }

    /// Names of the linear layers, without `.weight`: what an adapter can stand beside.
    pub fn linear_layers(&self) -> Vec<String> {
        let layers = self.stack().map(|stack| stack.layers).unwrap_or_default();
        layers.iter().flat_map(StackLayer::linear).map(|linear| linear.name.clone()).collect()
    }

    /// Fresh weights, all of them to be trained. Each weight draws from a stream of its own name.
    pub fn fresh(&self, seed: Seed) -> Parameters {
        fresh_weights(self.weights(), seed, WeightType::F32)
    }
}

/// Fresh weights whose matrices are kept in memory as those of a file of this type are, all of them to be trained.
pub fn fresh_weights(specs: Vec<WeightSpec>, seed: Seed, kind: WeightType) -> Parameters {
    let mut parameters = Parameters::default();
    for spec in specs {
        let mut parameter = fresh_weight(spec, seed);
        if parameter.shape.len() > 1
            && let Some((bits, kind)) = kind.to_short(&parameter.values.floats())
        {
            parameter.values = Values::of_short(bits, kind);
        }
        parameters.insert(parameter);
    }
    parameters
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
    Parameter { name, shape, values: values.into(), trainable: true }
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

/// Weights of a transformer.
fn transformer(config: &dyn Transformer) -> Vec<WeightSpec> {
    let stack = &config.stack();
    let std = |name: &str, inputs| config.fresh_std(name, inputs);
    let Stack { width, heads, .. } = *stack;
    let mut list = Vec::new();
    let mut push = |name: String, shape: Vec<usize>, init| list.push(WeightSpec { name, shape, init });
    let one = match stack.norm {
        NormKind::Rms { from_one: true } => WeightInit::Zeros,
        _ => WeightInit::Ones,
    };
    let norm = |push: &mut dyn FnMut(String, Vec<usize>, WeightInit), name: &str, width: usize| {
        push(format!("{name}.weight"), vec![width], one);
        if stack.norm == (NormKind::Layer { shift: true }) {
            push(format!("{name}.bias"), vec![width], WeightInit::Zeros);
        }
    };
    let linear = |push: &mut dyn FnMut(String, Vec<usize>, WeightInit), spec: &LinearSpec| {
        let LinearSpec { name, inputs, outputs, bias } = spec;
        push(format!("{name}.weight"), vec![*outputs, *inputs], WeightInit::Normal(std(name, *inputs)));
        if *bias {
            push(format!("{name}.bias"), vec![*outputs], WeightInit::Zeros);
        }
    };
    let mut table = |name: &str, rows: usize, columns: usize| {
        push(name.to_owned(), vec![rows, columns], WeightInit::Normal(std(name, width)));
    };
    table(&stack.words, stack.vocab_size, width);
    if let Some(positions) = &stack.positions {
        table(&positions.name, positions.rows, width);
    }
    if let Some((name, rows)) = &stack.token_types {
        table(name, *rows, width);
    }
    if let Some(name) = &stack.embedding_norm {
        norm(&mut push, name, width);
    }
    for (at, layer) in stack.layers.iter().enumerate() {
        for spec in layer.projections.iter().chain([&layer.attention_output]) {
            linear(&mut push, spec);
        }
        if let Some(distances) = stack.distances.as_ref().filter(|_| at == 0) {
            let init = WeightInit::Normal(std(&distances.name, width));
            push(distances.name.clone(), vec![distances.buckets, heads.count], init);
        }
        for name in layer.head_norms.iter().flatten() {
            push(format!("{name}.weight"), vec![heads.size], one);
        }
        let feed_forward: Vec<&LinearSpec> = layer.inner.iter().chain([&layer.output]).collect();
        // Each part with its normalization where that stands before it, as BERT's come last.
        if stack.order == NormOrder::After {
            feed_forward.iter().for_each(|spec| linear(&mut push, spec));
        }
        if let Some(name) = &layer.attention_norm {
            norm(&mut push, name, width);
        }
        if stack.order == NormOrder::Before {
            feed_forward.iter().for_each(|spec| linear(&mut push, spec));
        }
        norm(&mut push, &layer.feed_forward_norm, width);
        for name in [&layer.attention_update_norm, &layer.feed_forward_update_norm].into_iter().flatten() {
            norm(&mut push, name, width);
        }
    }
    if let Some(name) = &stack.final_norm {
        norm(&mut push, name, width);
    }
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
        let values = fresh.get("embeddings.weight").unwrap().values.floats();
        let mean_square = values.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>() / values.len() as f64;
        // 32,000 draws: the mean square of N(0, 1/64) is 1/64 ± 2 %.
        assert!((mean_square * 64.0 - 1.0).abs() < 0.03, "{mean_square}");
        assert!(fresh.get("token_weights").unwrap().values.floats().iter().all(|v| *v == 0.0));
        assert_eq!(fresh.counts(), (500 * 64 + 500, 500 * 64 + 500));
    }
}
