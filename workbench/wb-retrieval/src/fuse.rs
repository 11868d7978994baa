//! Two retrievers' scores made one: a weighted sum of scores brought to one scale, or of reciprocal ranks.

use ndarray::{Array2, ArrayViewMut1, Zip};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Result, error::unlike_lengths, top_k::key};

/// Fusion of the scores of `a` and `b` into one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum FusionConfig {
    /// `(1 − weight)·a + weight·b`, each query's scores first put to mean 0 and deviation 1 over the corpus.
    ZScore(SumConfig),
    /// `(1 − weight)·a + weight·b`, each query's scores first put to 0..1 between its least and its greatest.
    MinMax(SumConfig),
    /// Reciprocal rank fusion (Cormack, Clarke and Büttcher 2009): `1 / (k + rank)` summed over both.
    ReciprocalRank(ReciprocalRankConfig),
}

/// Settings of a weighted sum.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SumConfig {
    /// The share of the second retriever, 0 to 1.
    pub weight: f32,
}

/// Settings of reciprocal rank fusion.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReciprocalRankConfig {
    /// Added to ranks; the greater, the less the first places count.
    pub k: f32,
    /// Documents beyond this rank give nothing. Equal scores share the best of their ranks.
    pub depth: usize,
    /// The share of the second retriever, 0 to 1.
    pub weight: f32,
}

impl Default for SumConfig {
    fn default() -> Self {
        Self { weight: 0.5 }
    }
}

impl Default for ReciprocalRankConfig {
    fn default() -> Self {
        Self { k: 60.0, depth: 1000, weight: 0.5 }
    }
}

impl Default for FusionConfig {
    fn default() -> Self {
        Self::ZScore(SumConfig::default())
    }
}

impl FusionConfig {
    /// Refuses weights outside 0..1, a negative `k` and a depth of 0.
    pub fn validate(&self, config_key: &str) -> wb_core::Result<()> {
        let (name, weight) = self.weight();
        let wrong =
            |field: &str, message: String| Err(wb_core::Error::value(format!("{config_key}.{name}.{field}"), message));
        if !(0.0..=1.0).contains(&weight) {
            return wrong("weight", format!("got {weight}, expected 0 to 1"));
        }
        if let Self::ReciprocalRank(config) = self {
            if !(config.k.is_finite() && config.k >= 0.0) {
                return wrong("k", format!("got {}, expected 0 or more", config.k));
            }
            if config.depth == 0 {
                return wrong("depth", "got 0, expected 1 or more".to_owned());
            }
        }
        Ok(())
    }

    /// The variant's name and its share of the second retriever.
    fn weight(&self) -> (&'static str, f32) {
        match self {
            Self::ZScore(sum) => ("z_score", sum.weight),
            Self::MinMax(sum) => ("min_max", sum.weight),
            Self::ReciprocalRank(config) => ("reciprocal_rank", config.weight),
        }
    }

    /// Joins two score matrices of one shape, `[queries, documents]`.
    pub fn fuse(&self, mut a: Array2<f32>, mut b: Array2<f32>) -> Result<Array2<f32>> {
        if a.dim() != b.dim() {
            return Err(unlike_lengths("scores of two retrievers", a.len(), b.len()));
        }
        let scale = |row: ArrayViewMut1<'_, f32>| match self {
            Self::ZScore(_) => standardize(row),
            Self::MinMax(_) => stretch(row),
            Self::ReciprocalRank(config) => reciprocal_ranks(config, row),
        };
        for scores in [&mut a, &mut b] {
            scores.rows_mut().into_iter().par_bridge().for_each(scale);
        }
        let (_, weight) = self.weight();
        Zip::from(&mut a).and(&b).for_each(|a, b| *a = (1.0 - weight) * *a + weight * b);
        Ok(a)
    }
}

/// Mean 0, deviation 1; a row of equal scores becomes zeros.
fn standardize(mut row: ArrayViewMut1<'_, f32>) {
    let n = row.len().max(1) as f64;
    let mean = row.iter().map(|x| f64::from(*x)).sum::<f64>() / n;
    let deviation = (row.iter().map(|x| (f64::from(*x) - mean).powi(2)).sum::<f64>() / n).sqrt();
    row.mapv_inplace(|x| if deviation > 0.0 { ((f64::from(x) - mean) / deviation) as f32 } else { 0.0 });
}

/// Least 0, greatest 1; a row of equal scores becomes zeros.
fn stretch(mut row: ArrayViewMut1<'_, f32>) {
    let (least, greatest) =
        row.iter().fold((f32::INFINITY, f32::NEG_INFINITY), |(least, most), x| (least.min(*x), most.max(*x)));
    row.mapv_inplace(|x| if greatest > least { (x - least) / (greatest - least) } else { 0.0 });
}

fn reciprocal_ranks(config: &ReciprocalRankConfig, mut row: ArrayViewMut1<'_, f32>) {
    let mut keys: Vec<u64> = row.iter().zip(0..).map(|(score, position)| key(*score, position)).collect();
    keys.sort_unstable_by(|a, b| b.cmp(a));
    row.fill(0.0);
    let (mut best, mut before) = (0, None);
    for (index, key) in keys.into_iter().enumerate() {
        let hit = crate::top_k::hit(key);
        if before != Some(hit.score) {
            (best, before) = (index + 1, Some(hit.score));
        }
        if best > config.depth {
            break;
        }
        row[hit.document] = 1.0 / (config.k + best as f32);
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn sums_by_hand() {
        let (a, b) = (array![[1.0, 2.0, 3.0]], array![[30.0, 10.0, 10.0]]);
        let min_max = FusionConfig::MinMax(SumConfig { weight: 0.25 });
        // 0.75·[0, .5, 1] + 0.25·[1, 0, 0]
        assert_eq!(min_max.fuse(a.clone(), b.clone()).unwrap(), array![[0.25, 0.375, 0.75]]);
        // a: mean 2, deviation √(2/3); b: mean 50/3, deviation √(800/9).
        let z = FusionConfig::default().fuse(a.clone(), b.clone()).unwrap();
        for (score, (a, b)) in z.iter().zip([(-1.0, 40.0), (0.0, -20.0), (1.0, -20.0f32)]) {
            let expected = 0.5 * (a / (2.0f32 / 3.0).sqrt() + b / 800f32.sqrt());
            assert!((score - expected).abs() < 1e-5, "{score} {expected}");
        }
        let rrf = FusionConfig::ReciprocalRank(ReciprocalRankConfig { weight: 0.5, k: 60.0, depth: 2 });
        // a ranks 3 2 1, and rank 3 is beyond the depth; b ranks 1 2 2.
        let expected = [0.5 / 61.0, 0.5 / 62.0 + 0.5 / 62.0, 0.5 / 61.0 + 0.5 / 62.0];
        for (score, expected) in rrf.fuse(a, b).unwrap().iter().zip(expected) {
            assert!((score - expected).abs() < 1e-7, "{score} {expected}");
        }
    }

    #[test]
    fn equal_scores_say_nothing() {
        for config in [FusionConfig::ZScore(SumConfig { weight: 0.5 }), FusionConfig::MinMax(SumConfig { weight: 0.5 })]
        {
            let fused = config.fuse(array![[7.0, 7.0]], array![[1.0, 2.0]]).unwrap();
            assert!(fused[[0, 1]] > fused[[0, 0]]);
            assert!(fused.iter().all(|x| x.is_finite()));
        }
    }

    #[test]
    fn impossible_settings_are_refused() {
        assert!(FusionConfig::default().validate("fusion").is_ok());
        let error = FusionConfig::ZScore(SumConfig { weight: 1.5 }).validate("bench.fusion").unwrap_err();
        assert_eq!(error.to_string(), "bench.fusion.z_score.weight: got 1.5, expected 0 to 1");
        let zero = ReciprocalRankConfig { depth: 0, ..ReciprocalRankConfig::default() };
        assert!(FusionConfig::ReciprocalRank(zero).validate("fusion").is_err());
    }
}
