//! Distillation by Kullback–Leibler divergence: which of its own documents answers an anchor best, as a teacher says.

use burn::tensor::{Bool, Tensor, TensorData, activation::log_softmax};
use serde::{Deserialize, Serialize};
use wb_core::Result;

use super::{
    labels::Labels,
    loss::{Loss, Needs},
    mnrl_config::positive,
    sides::{HostSides, TensorSides, numbers},
};
use crate::similarities::rows::by_owner;

/// KL distillation from a teacher's scores.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DistillKlConfig {
    /// Scores are divided by this on both sides; higher is softer.
    pub temperature: f64,
    /// The model's own, instead of `temperature`.
    pub student_temperature: Option<f64>,
    /// The teacher's own, instead of `temperature`; it should suit the spread of its scores.
    pub teacher_temperature: Option<f64>,
}

impl Default for DistillKlConfig {
    fn default() -> Self {
        Self { temperature: 1.0, student_temperature: None, teacher_temperature: None }
    }
}

impl DistillKlConfig {
    /// The loss, ready to use.
    pub fn init(&self) -> DistillKl {
        DistillKl {
            student: self.student_temperature.unwrap_or(self.temperature),
            teacher: self.teacher_temperature.unwrap_or(self.temperature),
        }
    }

    /// Refuses values that make no sense.
    pub fn validate(&self, key: &str) -> Result<()> {
        let hint = "1 leaves scores as they are; cosines want about 0.05";
        positive(&format!("{key}.temperature"), Some(self.temperature), hint)?;
        positive(&format!("{key}.student_temperature"), self.student_temperature, hint)?;
        positive(&format!("{key}.teacher_temperature"), self.teacher_temperature, hint)
    }
}

/// KL distillation, ready to use.
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
#[derive(Debug, Clone)]
pub struct DistillKl {
    pub(super) student: f64,
    teacher: f64,
}

impl Loss for DistillKl {
    fn needs(&self) -> Needs {
        Needs { loss: "distill_kl", negatives: true, scores: true, ..Needs::default() }
    }

    fn forward(&self, sides: &TensorSides<'_>, labels: &Labels) -> Tensor<1> {
        let owned = by_owner(labels.owners(), labels.pairs());
        let width = owned.iter().map(Vec::len).max().unwrap_or(0);
        let shape = [owned.len(), width];
        let cells = owned.iter().flat_map(|own| (0..width).map(move |rank| own.get(rank)));
        // A pair with fewer documents has its first one again, hidden.
        let at = cells.clone().map(|document| document.copied().unwrap_or(0));
        let hidden = TensorData::new(cells.map(|document| document.is_none()).collect::<Vec<bool>>(), shape);
        let hidden = Tensor::<2, Bool>::from_data(hidden, &sides.device());
        let scores = sides.own_scores(labels.owners()).select(0, numbers(at, &sides.device())).reshape(shape);
        let log_q = log_softmax(scores.div_scalar(self.student).mask_fill(hidden, -1e9), 1);
        let teachers: Vec<Vec<f64>> = owned.iter().map(|own| self.of_teacher(own, labels)).collect();
        let padded = teachers.iter().flat_map(|log_p| (0..width).map(|rank| log_p.get(rank).map_or(0.0, |x| x.exp())));
        let p = TensorData::new(padded.map(|p| p as f32).collect::<Vec<f32>>(), shape);
        let p = Tensor::<2>::from_data(p, &sides.device());
        let entropy: f64 = teachers.iter().flatten().filter(|log_p| log_p.is_finite()).map(|x| x.exp() * x).sum();
        let factor = self.student * self.student / labels.pairs() as f64;
        (p * log_q).sum().neg().add_scalar(entropy).mul_scalar(factor)
    }

    fn forward_backward_host(&self, sides: &mut HostSides<'_>, labels: &Labels) -> f64 {
        let scores = sides.own_scores(labels.owners());
        let pairs = labels.pairs() as f64;
        let mut at_scores = vec![0.0; scores.len()];
        let mut sum = 0.0;
        for own in by_owner(labels.owners(), labels.pairs()) {
            let log_q = log_softmax_of(own.iter().map(|at| f64::from(scores[*at]) / self.student).collect());
            for ((at, log_q), log_p) in own.iter().zip(log_q).zip(self.of_teacher(&own, labels)) {
                let p = log_p.exp();
                if p > 0.0 {
                    sum += p * (log_p - log_q);
                }
                at_scores[*at] = (self.student * (log_q.exp() - p) / pairs) as f32;
            }
        }
        sides.add_own_gradient(labels.owners(), &at_scores);
        self.student * self.student * sum / pairs
    }
}

impl DistillKl {
    /// log p over some documents. Labels are checked before: all have scores.
    fn of_teacher(&self, documents: &[usize], labels: &Labels) -> Vec<f64> {
        let score = |at: &usize| f64::from(labels.scores()[*at].unwrap_or_default()) / self.teacher;
        log_softmax_of(documents.iter().map(score).collect())
    }
}

fn log_softmax_of(mut x: Vec<f64>) -> Vec<f64> {
    let largest = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let total = largest + x.iter().map(|x| (x - largest).exp()).sum::<f64>().ln();
    x.iter_mut().for_each(|x| *x -= total);
    x
}
