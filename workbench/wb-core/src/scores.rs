//! Metric names with their values, overall and per query.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::statistics;

/// Values of metrics as fractions (`mrr`, `ndcg@10`, `recall@5`), with each query's own value where it has one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scores {
    /// Metric to its mean.
    pub mean: BTreeMap<String, f64>,
    /// Metric to the value of each query, in query order.
    pub per_query: BTreeMap<String, Vec<f64>>,
}

impl Scores {
    /// Sets a metric from its per-query values; the mean of no queries is 0.
    pub fn set(&mut self, metric: impl Into<String>, values: Vec<f64>) {
        let metric = metric.into();
        self.mean.insert(metric.clone(), statistics::mean(&values));
        self.per_query.insert(metric, values);
    }

    /// A metric's mean.
    pub fn get(&self, metric: &str) -> Option<f64> {
        self.mean.get(metric).copied()
    }
}
