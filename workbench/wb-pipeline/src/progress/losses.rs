//! The losses of recent steps: one smoothed number, and their course as a line of small bars.

use std::collections::VecDeque;

/// Steps that are kept.
const KEPT: usize = 512;

/// The weight of the past in the smoothed loss: about the last 20 steps count.
const PAST: f64 = 0.95;

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Losses in the order of their steps.
#[derive(Debug, Clone, Default)]
pub struct Losses {
    recent: VecDeque<f64>,
    sum: f64,
    weight: f64,
}

impl Losses {
    /// Takes the loss of the next step.
    pub fn push(&mut self, loss: f64) {
        if self.recent.len() == KEPT {
            self.recent.pop_front();
        }
        self.recent.push_back(loss);
        self.sum = PAST * self.sum + loss;
        self.weight = PAST * self.weight + 1.0;
    }

    /// The exponentially weighted mean, `sum(0.95^i * loss_i) / sum(0.95^i)` with `i` steps ago; the first loss counts
    /// fully, as there is nothing before it. Nothing before the first step.
    pub fn smoothed(&self) -> Option<f64> {
        (self.weight > 0.0).then(|| self.sum / self.weight)
    }

    /// Up to `width` bars from the lowest to the highest of the recent losses, each the mean of as many steps.
    pub fn spark(&self, width: usize) -> String {
        let columns = width.min(self.recent.len());
        let start = |column: usize| column * self.recent.len() / columns.max(1);
        let mean = |column: usize| {
            let (first, end) = (start(column), start(column + 1));
            self.recent.range(first..end).sum::<f64>() / (end - first) as f64
        };
        let means: Vec<f64> = (0..columns).map(mean).collect();
        let lowest = means.iter().copied().fold(f64::INFINITY, f64::min);
        let highest = means.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let step = (highest - lowest) / BARS.len() as f64;
        let bar = |mean: &f64| match step > 0.0 {
            true => BARS[(((mean - lowest) / step) as usize).min(BARS.len() - 1)],
            false => BARS[0],
        };
        means.iter().map(bar).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn losses(all: impl IntoIterator<Item = f64>) -> Losses {
        let mut losses = Losses::default();
        all.into_iter().for_each(|loss| losses.push(loss));
        losses
    }

    #[test]
    fn the_smoothed_loss_by_hand() {
        assert_eq!(losses([]).smoothed(), None);
        assert_eq!(losses([3.0]).smoothed(), Some(3.0));
        let two = losses([3.0, 1.0]).smoothed().unwrap();
        assert!((two - (0.95 * 3.0 + 1.0) / 1.95).abs() < 1e-12);
        // A level that is held is reached, and what was long before it is forgotten.
        let held = losses(std::iter::once(100.0).chain(std::iter::repeat_n(2.0, 400))).smoothed().unwrap();
        assert!((held - 2.0).abs() < 1e-6, "{held}");
    }

    #[test]
    fn the_course_by_hand() {
        assert_eq!(losses([]).spark(10), "");
        assert_eq!(losses([1.0, 1.0]).spark(10), "▁▁");
        assert_eq!(losses((0..8).rev().map(f64::from)).spark(10), "█▇▆▅▄▃▂▁");
        // Means of pairs: 0.5, 2.5, 4.5, 6.5.
        assert_eq!(losses((0..8).map(f64::from)).spark(4), "▁▃▆█");
        assert_eq!(losses((0..8).map(f64::from)).spark(0), "");
    }

    #[test]
    fn steps_of_long_ago_are_forgotten() {
        let many = losses(std::iter::repeat_n(50.0, 1000).chain(std::iter::repeat_n(1.0, KEPT)));
        assert_eq!(many.recent.len(), KEPT);
        assert_eq!(many.spark(5), "▁▁▁▁▁");
    }
}
