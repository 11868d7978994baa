//! Low-rank adapters (LoRA, Hu et al. 2021, arXiv 2106.09685) beside frozen linear layers.
//!
//! A layer with weight W `[out, in]` and adapter A `[rank, in]`, B `[out, rank]` computes x·Wᵀ + b + s·(drop(x)·Aᵀ)·Bᵀ
//! with s = alpha / rank, or alpha / √rank where the adapters are rank-stabilized (Kalajdzievski 2023, arXiv 2312.03732).
//! With `use_dora` (Liu et al. 2024, arXiv 2402.09353) the lengths of W's rows are learned too, as magnitudes m `[out]`:
//! the layer computes with m∘(W + s·B·A) / ‖W + s·B·A‖. Magnitudes begin as the lengths of W's rows, and as weights of
//! one dimension they do not decay, which in PEFT is left to the optimizer's groups.
//! Names, layouts, initial values and defaults are PEFT's:
//! A is Kaiming-uniform with a = √5, that is uniform in ±1/√in, and B is zero, so a fresh adapter changes nothing.

mod attach;
mod config;
pub mod merge;
mod patterns;
mod targets;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use attach::attach;
pub(crate) use attach::modules;
pub use config::LoraConfig;
pub use merge::merge;
pub use patterns::Patterns;
pub use targets::Targets;
pub(crate) use targets::ends_with;

/// Scales and dropout of the adapters, for the forward pass.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Adapter {
    /// Dropout on the adapter's input while training.
    pub dropout: f64,
    /// s of most layers.
    scale: f32,
    /// s of the layers that have another.
    scales: BTreeMap<String, f32>,
}

impl Adapter {
    /// Adapters beside these layers.
    pub fn new(config: &LoraConfig, layers: &[String]) -> Self {
        let scale = config.scale(config.rank, config.alpha);
        let of = |layer: &String| (layer.clone(), config.scale(config.rank_of(layer), config.alpha_of(layer)));
        let scales = layers.iter().map(of).filter(|(_, own)| *own != scale).collect();
        Self { dropout: config.dropout, scale, scales }
    }

    /// s of a layer, by its name.
    pub fn scale_of(&self, layer: &str) -> f32 {
        if self.scales.is_empty() { self.scale } else { self.scales.get(layer).copied().unwrap_or(self.scale) }
    }
}

/// Ending of the name of a layer's magnitudes, which DoRA learns beside A and B.
const MAGNITUDE: &str = ".lora_magnitude_vector";

/// Length that counts for rows that are shorter, zeros above all, so that nothing is divided by zero.
pub(crate) const SHORTEST_ROW: f32 = 1e-30;

/// True where a weight is part of an adapter, by its name.
pub fn is_adapter(name: &str) -> bool {
    name.ends_with(".lora_A.weight") || name.ends_with(".lora_B.weight") || layer_of_magnitude(name).is_some()
}

/// The linear layer that a weight is the first matrix of an adapter of.
#[cfg(feature = "burn")]
pub(crate) fn adapted_layer(name: &str) -> Option<&str> {
    name.strip_suffix(".lora_A.weight")
}

/// The layer whose rows' lengths a weight is, by its name; none where it is something else.
pub fn layer_of_magnitude(name: &str) -> Option<&str> {
    name.strip_suffix(MAGNITUDE)
}

/// Name of a layer's magnitudes, `[out]`, as in PEFT's files.
pub(crate) fn magnitude(layer: &str) -> String {
    format!("{layer}{MAGNITUDE}")
}

/// ‖row‖ of a weight, summed in double precision.
pub(crate) fn row_length(row: &[f32]) -> f64 {
    row.iter().map(|w| f64::from(*w) * f64::from(*w)).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use wb_core::Seed;

    use super::*;
    use crate::models::{Architecture, BertConfig, StaticConfig, TransformerSizes};

    fn bert() -> Architecture {
        let tiny = BertConfig::tiny(0.1);
        let sizes = TransformerSizes { hidden_size: 8, num_attention_heads: 2, ..tiny.sizes };
        Architecture::Bert(BertConfig { sizes, ..tiny })
    }

    #[test]
    fn only_the_adapters_train() {
        let mut parameters = bert().fresh(Seed(1));
        let before = parameters.clone();
        let config = LoraConfig { rank: 4, ..LoraConfig::default() };
        let adapter = attach(&mut parameters, &bert(), &config, Seed(1), "tiny").unwrap();
        let trainable: Vec<&str> = parameters.iter().filter(|p| p.trainable).map(|p| p.name.as_str()).collect();
        assert_eq!(trainable.len(), 8, "{trainable:?}");
        assert_eq!(trainable[0], "encoder.layer.0.attention.self.query.lora_A.weight");
        let a = parameters.get("encoder.layer.1.attention.self.value.lora_A.weight").unwrap();
        let bound = 1.0 / 8f32.sqrt();
        assert!(
            a.values.floats().iter().all(|v| v.abs() <= bound)
                && a.values.floats().iter().any(|v| v.abs() > bound / 2.0)
        );
        assert!(
            parameters
                .get("encoder.layer.1.attention.self.value.lora_B.weight")
                .unwrap()
                .values
                .floats()
                .iter()
                .all(|v| *v == 0.0)
        );
        // A fresh adapter changes nothing.
        let merged = merge(&parameters, &adapter).unwrap();
        assert!(merged.iter().zip(before.iter()).all(|(a, b)| a.values == b.values && a.name == b.name));
    }

    #[test]
    fn magnitudes_begin_as_lengths_and_merge_as_lengths() {
        let mut parameters = bert().fresh(Seed(1));
        let before = parameters.clone();
        let config = LoraConfig { rank: 4, use_dora: true, ..LoraConfig::default() };
        let adapter = attach(&mut parameters, &bert(), &config, Seed(1), "tiny").unwrap();
        assert_eq!(parameters.iter().filter(|p| p.trainable).count(), 12);
        let layer = "encoder.layer.1.attention.self.value";
        let rows = |p: &crate::parameters::Parameters| -> Vec<f32> {
            let weight = p.get(&format!("{layer}.weight")).unwrap().values.floats();
            weight.chunks(8).map(|row| row.iter().map(|w| w * w).sum::<f32>().sqrt()).collect()
        };
        let close = |found: &[f32], expected: &[f32]| {
            assert_eq!(found.len(), expected.len());
            assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6 * b), "{found:?} {expected:?}");
        };
        let m = parameters.get(&magnitude(layer)).unwrap();
        assert_eq!((m.shape.as_slice(), m.trainable), ([8].as_slice(), true));
        close(&m.values.floats(), &rows(&before));
        // A fresh adapter changes nothing but for rounding, and a trained one has rows of the lengths m.
        close(&rows(&merge(&parameters, &adapter).unwrap()), &rows(&before));
        for p in parameters.iter_mut().filter(|p| is_adapter(&p.name)) {
            p.values.floats_mut().iter_mut().enumerate().for_each(|(i, v)| *v += 0.1 + i as f32 * 0.01);
        }
        let merged = merge(&parameters, &adapter).unwrap();
        close(&rows(&merged), &parameters.get(&magnitude(layer)).unwrap().values.floats());
        assert!(merged.iter().all(|p| !is_adapter(&p.name)));
    }

    #[test]
    fn an_unknown_target_names_the_known_ones() {
        let config = LoraConfig { targets: vec!["q_proj".to_owned()].into(), rank: 4, ..LoraConfig::default() };
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
        let targets = vec!["layer.0.attention.self.query".to_owned()].into();
        let config = LoraConfig { rank: 1, alpha: 3.0, dropout: 0.0, targets, ..LoraConfig::default() };
        let adapter = attach(&mut parameters, &bert(), &config, Seed(1), "tiny").unwrap();
        let layer = "encoder.layer.0.attention.self.query";
        let before = parameters.get(&format!("{layer}.weight")).unwrap().values.floats().into_owned();
        for p in parameters.iter_mut().filter(|p| is_adapter(&p.name)) {
            p.values.floats_mut().iter_mut().enumerate().for_each(|(i, v)| *v = i as f32);
        }
        let merged = merge(&parameters, &adapter).unwrap();
        let after = merged.get(&format!("{layer}.weight")).unwrap().values.floats();
        // Row 2, column 5: W + 3 · B[2] · A[5] = W + 3 · 2 · 5.
        assert!((after[2 * 8 + 5] - before[2 * 8 + 5] - 30.0).abs() < 1e-5);
        assert!(merged.get(&format!("{layer}.lora_A.weight")).is_none());
    }

    #[test]
    fn ranks_and_alphas_by_pattern_give_scales_of_their_own() {
        let config: LoraConfig = serde_json::from_str(
            r#"{"rank": 4, "alpha": 8, "targets": "all-linear", "use_rslora": true, "modules_to_save": ["embeddings.LayerNorm", "1.output.dense"],
                "rank_pattern": {"layer.0.*.query": 1, "query": 2}, "alpha_pattern": {"output.dense": 3}}"#,
        )
        .unwrap();
        let mut parameters = bert().fresh(Seed(1));
        let adapter = attach(&mut parameters, &bert(), &config, Seed(1), "tiny").unwrap();
        let rank = |layer: &str| parameters.get(&format!("encoder.layer.{layer}.lora_A.weight")).map(|a| a.shape[0]);
        let scale = |layer: &str| adapter.scale_of(&format!("encoder.layer.{layer}"));
        let of = |layer: &str| (rank(layer), scale(layer));
        // s = alpha / √rank.
        assert_eq!(of("0.attention.self.query"), (Some(1), 8.0));
        assert_eq!(of("1.attention.self.query"), (Some(2), (8.0 / 2f64.sqrt()) as f32));
        assert_eq!(of("1.attention.self.key"), (Some(4), 4.0));
        assert_eq!(of("1.attention.output.dense"), (Some(4), 1.5));
        // It trains whole, so it gets no adapter.
        assert_eq!(rank("1.output.dense"), None);
        assert_eq!(rank("0.output.dense"), Some(4));
        let whole: Vec<&str> =
            parameters.iter().filter(|p| p.trainable && !is_adapter(&p.name)).map(|p| p.name.as_str()).collect();
        assert_eq!(
            whole,
            [
                "embeddings.LayerNorm.weight",
                "embeddings.LayerNorm.bias",
                "encoder.layer.1.output.dense.weight",
                "encoder.layer.1.output.dense.bias"
            ]
        );
        let json = serde_json::to_string(&config).unwrap();
        assert_eq!(serde_json::from_str::<LoraConfig>(&json).unwrap(), config);
    }

    #[test]
    fn what_would_do_nothing_is_refused() {
        let refused = |json: &str, expected: &str| {
            let config: LoraConfig = serde_json::from_str(json).unwrap();
            let error = attach(&mut bert().fresh(Seed(1)), &bert(), &config, Seed(1), "tiny").unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        };
        refused(
            r#"{"rank_pattern": {"dense": 2}}"#,
            "lora.rank_pattern.dense: fits no layer of tiny that gets an adapter",
        );
        let shadowed = r#"{"alpha_pattern": {"query": 2, "layer.1.*query": 3}}"#;
        refused(shadowed, "lora.alpha_pattern.layer.1.*query: fits no layer");
        refused(r#"{"rank_pattern": {"query": 0}}"#, "lora.rank_pattern.query: got 0, expected at least 1");
        refused(
            r#"{"modules_to_save": ["classifier"]}"#,
            "lora.modules_to_save: `classifier` is no module of tiny, expected one such as embeddings, ",
        );
        refused(r#"{"targets": "query"}"#, "lora.targets: adapter target `query` matches no parameter of tiny");
    }
}
