//! Low-rank adapters (LoRA, Hu et al. 2021, arXiv 2106.09685) beside frozen linear layers.
//!
//! A layer with weight W `[out, in]` and adapter A `[rank, in]`, B `[out, rank]` computes x·Wᵀ + b + s·(drop(x)·Aᵀ)·Bᵀ
//! with s = alpha / rank. Names, layouts, initial values and defaults are PEFT's:
//! A is Kaiming-uniform with a = √5, that is uniform in ±1/√in, and B is zero, so a fresh adapter changes nothing.

use rand::RngExt;
use serde::{Deserialize, Serialize};
use wb_core::{Seed, suggest};

use crate::{Architecture, Error, Parameter, Parameters, Result};

/// Which layers get an adapter, and how large.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LoraConfig {
    /// Inner width of an adapter.
    pub rank: usize,
    /// The adapter's output is multiplied by alpha / rank.
    pub alpha: f64,
    /// Dropout on the adapter's input while training.
    pub dropout: f64,
    /// Names of linear layers, or their endings: `query`, `output.dense`.
    pub targets: Vec<String>,
}

impl Default for LoraConfig {
    fn default() -> Self {
        Self { rank: 8, alpha: 16.0, dropout: 0.1, targets: vec!["query".into(), "value".into()] }
    }
}

/// What a forward pass needs to know about the adapters among its weights.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Adapter {
    /// s = alpha / rank.
    pub scale: f32,
    /// Dropout on the adapter's input while training.
    pub dropout: f64,
}

impl LoraConfig {
    /// Refuses values that make no sense.
    pub fn validate(&self, key: &str) -> wb_core::Result<()> {
        let value = |field: &str, message: String| Err(wb_core::Error::value(format!("{key}.{field}"), message));
        if self.rank == 0 {
            return value("rank", "is 0, expected at least 1".into());
        }
        if !(self.alpha.is_finite() && self.alpha > 0.0) {
            return value("alpha", format!("is {}, expected a positive number", self.alpha));
        }
        if !(0.0..1.0).contains(&self.dropout) {
            return value("dropout", format!("is {}, expected at least 0 and less than 1", self.dropout));
        }
        if self.targets.is_empty() {
            return value("targets", "is empty, expected names of linear layers such as `query`".into());
        }
        Ok(())
    }

    /// Scale and dropout for the forward pass.
    pub fn adapter(&self) -> Adapter {
        Adapter { scale: (self.alpha / self.rank as f64) as f32, dropout: self.dropout }
    }
}

/// Adds an adapter to every target and freezes everything else. `name` is the model's, for messages.
pub fn attach(
    parameters: &mut Parameters,
    architecture: &Architecture,
    config: &LoraConfig,
    seed: Seed,
    name: &str,
) -> Result<()> {
    config.validate("lora")?;
    let layers = targets(architecture, config, name)?;
    parameters.iter_mut().for_each(|p| p.trainable = false);
    for layer in layers {
        let Some(weight) = parameters.get(&format!("{layer}.weight")) else {
            return Err(wb_core::Error::data(name, format!("has no weight `{layer}.weight`, expected one")).into());
        };
        let (out, inside) = (weight.shape[0], weight.shape[1]);
        if config.rank > out.min(inside) {
            return Err(wb_core::Error::value(
                "lora.rank",
                format!("is {}, expected at most {} for `{layer}` of {name}", config.rank, out.min(inside)),
            )
            .into());
        }
        let bound = 1.0 / (inside as f32).sqrt();
        let mut rng = seed.stream(&format!("lora {layer}"));
        let a = (0..config.rank * inside).map(|_| rng.random_range(-bound..bound)).collect();
        let adapter = |part: &str, shape: Vec<usize>, values| Parameter {
            name: format!("{layer}.{part}.weight"),
            shape,
            values,
            trainable: true,
        };
        parameters.insert(adapter("lora_A", vec![config.rank, inside], a));
        parameters.insert(adapter("lora_B", vec![out, config.rank], vec![0.0; out * config.rank]));
    }
    Ok(())
}

/// The layers that the targets name, in the model's order. A target that names none is an error.
fn targets(architecture: &Architecture, config: &LoraConfig, name: &str) -> Result<Vec<String>> {
    let layers = architecture.linear_layers();
    let named = |layer: &str, target: &str| {
        layer == target || layer.strip_suffix(target).is_some_and(|before| before.ends_with('.'))
    };
    for target in &config.targets {
        if layers.iter().any(|layer| named(layer, target)) {
            continue;
        }
        let known = target_names(&layers);
        let list = known.join(", ");
        let message = match known.is_empty() {
            true => format!("adapter target `{target}` matches no parameter of {name}, which has no linear layers"),
            false => format!("adapter target `{target}` matches no parameter of {name}; targets here are: {list}"),
        };
        let mut error = wb_core::Error::value("lora.targets", message);
        if let Some(near) = suggest::nearest(target, known.iter().map(String::as_str)) {
            error = error.with_hint(format!("did you mean `{near}`?"));
        } else if !known.is_empty() {
            error = error.with_hint("targets: [query, value]");
        } else {
            error = error.with_hint("leave `lora` out: all weights of this encoder train");
        }
        return Err(error.into());
    }
    Ok(layers.into_iter().filter(|layer| config.targets.iter().any(|target| named(layer, target))).collect())
}

/// What can be written as a target: the layers' names without their number, and their last parts.
fn target_names(layers: &[String]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for layer in layers {
        let parts: Vec<&str> = layer.split('.').collect();
        let after_number = parts.iter().rposition(|p| p.parse::<usize>().is_ok()).map_or(0, |at| at + 1);
        let own = &parts[after_number..];
        let last = own[own.len() - 1].to_owned();
        if last == "dense" {
            names.push(own.join("."));
        }
        names.push(last);
    }
    names.sort();
    names.dedup();
    names
}

/// Adds every adapter into its layer (W += s·B·A) and removes it: what remains computes the same without adapters.
pub fn merge(parameters: &Parameters, config: &LoraConfig) -> Result<Parameters> {
    let scale = config.adapter().scale;
    let mut merged = Parameters::default();
    for parameter in parameters.iter().filter(|p| !is_adapter(&p.name)) {
        let mut parameter = parameter.clone();
        let part = |part: &str| {
            let layer = parameter.name.strip_suffix(".weight")?;
            parameters.get(&format!("{layer}.{part}.weight"))
        };
        if let (Some(a), Some(b)) = (part("lora_A"), part("lora_B")) {
            let (rank, inside, out) = (a.shape[0], a.shape[1], b.shape[0]);
            if b.shape[1] != rank || parameter.shape != [out, inside] {
                return Err(Error::Core(wb_core::Error::data(
                    parameter.name.as_str(),
                    format!(
                        "has shape {:?} with adapters {:?} and {:?}, which do not fit",
                        parameter.shape, a.shape, b.shape
                    ),
                )));
            }
            for row in 0..out {
                for column in 0..inside {
                    let product: f64 = (0..rank)
                        .map(|r| f64::from(b.values[row * rank + r]) * f64::from(a.values[r * inside + column]))
                        .sum();
                    parameter.values[row * inside + column] += (f64::from(scale) * product) as f32;
                }
            }
        }
        merged.insert(parameter);
    }
    Ok(merged)
}

/// Whether a weight is part of an adapter, by its name.
pub fn is_adapter(name: &str) -> bool {
    name.ends_with(".lora_A.weight") || name.ends_with(".lora_B.weight")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::{Activation, BertConfig, StaticConfig};

    fn bert() -> Architecture {
        Architecture::Bert(BertConfig {
            vocab_size: 10,
            hidden_size: 8,
            num_hidden_layers: 2,
            num_attention_heads: 2,
            intermediate_size: 16,
            max_position_embeddings: 12,
            type_vocab_size: 2,
            layer_norm_eps: 1e-12,
            first_position: 0,
            activation: Activation::Gelu,
            hidden_dropout: 0.1,
            attention_dropout: 0.1,
        })
    }

    #[test]
    fn only_the_adapters_train() {
        let mut parameters = bert().fresh(Seed(1));
        let before = parameters.clone();
        attach(&mut parameters, &bert(), &LoraConfig { rank: 4, ..LoraConfig::default() }, Seed(1), "tiny").unwrap();
        let trainable: Vec<&str> = parameters.iter().filter(|p| p.trainable).map(|p| p.name.as_str()).collect();
        assert_eq!(trainable.len(), 8, "{trainable:?}");
        assert_eq!(trainable[0], "encoder.layer.0.attention.self.query.lora_A.weight");
        let a = parameters.get("encoder.layer.1.attention.self.value.lora_A.weight").unwrap();
        let bound = 1.0 / 8f32.sqrt();
        assert!(a.values.iter().all(|v| v.abs() <= bound) && a.values.iter().any(|v| v.abs() > bound / 2.0));
        assert!(
            parameters
                .get("encoder.layer.1.attention.self.value.lora_B.weight")
                .unwrap()
                .values
                .iter()
                .all(|v| *v == 0.0)
        );
        // A fresh adapter changes nothing.
        let merged = merge(&parameters, &LoraConfig::default()).unwrap();
        assert!(merged.iter().zip(before.iter()).all(|(a, b)| a.values == b.values && a.name == b.name));
    }

    #[test]
    fn an_unknown_target_names_the_known_ones() {
        let config = LoraConfig { targets: vec!["q_proj".into()], rank: 4, ..LoraConfig::default() };
        let error = attach(&mut bert().fresh(Seed(1)), &bert(), &config, Seed(1), "tiny").unwrap_err();
        assert_eq!(
            error.to_string(),
            "lora.targets: adapter target `q_proj` matches no parameter of tiny; targets here are: \
             attention.output.dense, dense, intermediate.dense, key, output.dense, query, value"
        );
        let bag = Architecture::StaticEmbedding(StaticConfig { vocab_size: 4, dim: 2, weighted: false, positions: 0 });
        let error = attach(&mut bag.fresh(Seed(1)), &bag, &LoraConfig::default(), Seed(1), "bag").unwrap_err();
        assert!(error.to_string().contains("has no linear layers"), "{error}");
        let config = LoraConfig { rank: 9, ..LoraConfig::default() };
        let error = attach(&mut bert().fresh(Seed(1)), &bert(), &config, Seed(1), "tiny").unwrap_err();
        assert!(error.to_string().contains("expected at most 8"), "{error}");
    }

    #[test]
    fn merging_adds_the_scaled_product() {
        let mut parameters = bert().fresh(Seed(1));
        let config =
            LoraConfig { rank: 1, alpha: 3.0, dropout: 0.0, targets: vec!["layer.0.attention.self.query".into()] };
        attach(&mut parameters, &bert(), &config, Seed(1), "tiny").unwrap();
        let layer = "encoder.layer.0.attention.self.query";
        let before = parameters.get(&format!("{layer}.weight")).unwrap().values.clone();
        for p in parameters.iter_mut().filter(|p| is_adapter(&p.name)) {
            p.values.iter_mut().enumerate().for_each(|(i, v)| *v = i as f32);
        }
        let merged = merge(&parameters, &config).unwrap();
        let after = &merged.get(&format!("{layer}.weight")).unwrap().values;
        // Row 2, column 5: W + 3 · B[2] · A[5] = W + 3 · 2 · 5.
        assert!((after[2 * 8 + 5] - before[2 * 8 + 5] - 30.0).abs() < 1e-5);
        assert!(merged.get(&format!("{layer}.lora_A.weight")).is_none());
    }
}
