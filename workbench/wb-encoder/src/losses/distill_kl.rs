//! Distillation by Kullback–Leibler divergence: which of its own documents answers an anchor best, as a teacher says.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wb_core::Result;

use super::{
    LossConfig,
    labels::Labels,
    loss::{Loss, Needs, OwnScoresLoss},
    mnrl::positive,
};
use crate::similarities::rows::by_owner;

/// KL distillation from a teacher's scores.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DistillKlConfig {
    /// Scores of both are divided by this before the softmax over a pair's own documents.
    pub temperature: f64,
    /// The model's own in place of `temperature`; cosines want about 0.05. The loss is multiplied by its square.
    pub student_temperature: Option<f64>,
    /// The teacher's own in place of `temperature`; it should suit the spread of the teacher's scores.
    pub teacher_temperature: Option<f64>,
}

impl Default for DistillKlConfig {
    fn default() -> Self {
        Self { temperature: 1.0, student_temperature: None, teacher_temperature: None }
    }
}

impl DistillKlConfig {
    fn student(&self) -> f64 {
        self.student_temperature.unwrap_or(self.temperature)
    }

    /// log p over some documents. Labels are checked before: all have scores.
    fn of_teacher(&self, documents: &[usize], labels: &Labels) -> Vec<f64> {
        let teacher = self.teacher_temperature.unwrap_or(self.temperature);
        let score = |at: &usize| f64::from(labels.scores()[*at].unwrap_or_default()) / teacher;
        log_softmax_of(documents.iter().map(score).collect())
    }
}

/// KL distillation of a batch.
///
/// Over the documents of each pair, its positive and its hard negatives: q = softmax(s/τ) of the model's scores,
/// p = softmax(t/τ') of the teacher's. τ²·(mean over pairs of Σ p·(log p − log q)). Pairs may bring different numbers
/// of negatives.
///
/// # Shapes
/// One score a document, `[D]`.
///
/// Lin et al. 2020, arXiv 2010.11386. Equals sentence-transformers' `DistillKLDivLoss`, whose default similarity is the
/// dot product.
impl Loss for DistillKlConfig {
    fn needs(&self) -> Needs {
        Needs { loss: "distill_kl", negatives: true, scores: true, ..Needs::default() }
    }

    fn on_own_scores(&self) -> Option<&dyn OwnScoresLoss> {
        Some(self)
    }

    fn scale(&self) -> Option<f64> {
        Some(self.student().recip())
    }

    /// A teacher's temperature stays.
    fn with_scale(&self, scale: f64) -> Option<LossConfig> {
        Some(LossConfig::DistillKl(Self { student_temperature: Some(scale.recip()), ..self.clone() }))
    }

    fn validate(&self, key: &str) -> Result<()> {
        let hint = "1 leaves scores as they are; cosines want about 0.05";
        positive(&format!("{key}.temperature"), Some(self.temperature), hint)?;
        positive(&format!("{key}.student_temperature"), self.student_temperature, hint)?;
        positive(&format!("{key}.teacher_temperature"), self.teacher_temperature, hint)
    }
}

impl OwnScoresLoss for DistillKlConfig {
    fn of_scores(&self, scores: &[f32], labels: &Labels) -> (f64, Vec<f32>) {
        let student = self.student();
        let pairs = labels.pairs() as f64;
        let mut at_scores = vec![0.0; scores.len()];
        let mut sum = 0.0;
        for own in by_owner(labels.owners(), labels.pairs()) {
            let log_q = log_softmax_of(own.iter().map(|at| f64::from(scores[*at]) / student).collect());
            for ((at, log_q), log_p) in own.iter().zip(log_q).zip(self.of_teacher(&own, labels)) {
                let p = log_p.exp();
                if p > 0.0 {
                    sum += p * (log_p - log_q);
                }
                at_scores[*at] = (student * (log_q.exp() - p) / pairs) as f32;
            }
        }
        (student * student * sum / pairs, at_scores)
    }
}

/// The logarithm of the softmax.
pub(super) fn log_softmax_of(mut x: Vec<f64>) -> Vec<f64> {
    let largest = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let total = largest + x.iter().map(|x| (x - largest).exp()).sum::<f64>().ln();
    x.iter_mut().for_each(|x| *x -= total);
    x
}
