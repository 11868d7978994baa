//! Choice of the next token.

use llguidance::toktrie::SimpleVob;

use crate::request::SamplingConfig;

/// The token drawn from logits, among those that are allowed; none where nothing is allowed.
///
/// With a temperature of 0 it is the likeliest, the lower number of two equal ones. Otherwise probabilities are
/// `softmax(logits / temperature)`; the likeliest that together reach `top_p` stay, and `draw` (from 0 to below 1) falls
/// into one of them. Sums are taken in 64 bits and in one order, so that the same draw always gives the same token.
pub fn pick(logits: &[f32], allowed: Option<&SimpleVob>, sampling: &SamplingConfig, draw: f64) -> Option<u32> {
    let mut open = (0..logits.len() as u32).filter(|id| allowed.is_none_or(|a| a.is_allowed(*id)));
    let logit = |id: u32| logits.get(id as usize).copied().unwrap_or(f32::NEG_INFINITY);
    if sampling.temperature <= 0.0 || !sampling.temperature.is_finite() {
        let first = open.next()?;
        return Some(open.fold(first, |best, id| if logit(id) > logit(best) { id } else { best }));
    }
    let top = open.clone().map(logit).fold(f32::NEG_INFINITY, f32::max);
    let weight = |id: u32| (f64::from(logit(id) - top) / f64::from(sampling.temperature)).exp();
    let mut weights: Vec<(u32, f64)> = open.map(|id| (id, weight(id))).collect();
    let mut total: f64 = weights.iter().map(|w| w.1).sum();
    if sampling.top_p < 1.0 {
        weights.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let wanted = total * f64::from(sampling.top_p.max(0.0));
        let mut sum = 0.0;
        let keep = weights.iter().position(|w| {
            sum += w.1;
            sum >= wanted
        });
        weights.truncate(keep.map_or(weights.len(), |k| k + 1));
        total = weights.iter().map(|w| w.1).sum();
    }
    let mut left = draw * total;
    for (id, weight) in &weights {
        left -= weight;
        if left < 0.0 {
            return Some(*id);
        }
    }
    // Rounding can leave a draw just behind the last.
    weights.iter().rev().find(|w| w.1 > 0.0).or(weights.last()).map(|w| w.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampling(temperature: f32, top_p: f32) -> SamplingConfig {
        SamplingConfig { temperature, top_p, max_tokens: 1 }
    }

    #[test]
    fn greedy_takes_the_first_of_the_likeliest_that_is_allowed() {
        let logits = [0.0, 3.0, 3.0, 9.0];
        assert_eq!(pick(&logits, None, &sampling(0.0, 1.0), 0.0), Some(3));
        let mut allowed = SimpleVob::alloc(4);
        assert_eq!(pick(&logits, Some(&allowed), &sampling(0.0, 1.0), 0.0), None);
        allowed.allow_token(2);
        allowed.allow_token(1);
        assert_eq!(pick(&logits, Some(&allowed), &sampling(0.0, 1.0), 0.0), Some(1));
    }

    #[test]
    fn draws_follow_the_probabilities() {
        // softmax of ln 1, ln 2, ln 5 at temperature 1 is 0.125, 0.25, 0.625.
        let logits = [1f32.ln(), 2f32.ln(), 5f32.ln()];
        let draws: Vec<u32> = (0..8000)
            .map(|i| pick(&logits, None, &sampling(1.0, 1.0), (f64::from(i) + 0.5) / 8000.0).unwrap())
            .collect();
        assert_eq!([0, 1, 2].map(|id| draws.iter().filter(|d| **d == id).count()), [1000, 2000, 5000]);
        // At temperature 0.5 the weights are squared: 1, 4, 25 of 30.
        let draws: Vec<u32> = (0..3000)
            .map(|i| pick(&logits, None, &sampling(0.5, 1.0), (f64::from(i) + 0.5) / 3000.0).unwrap())
            .collect();
        assert_eq!([0, 1, 2].map(|id| draws.iter().filter(|d| **d == id).count()), [100, 400, 2500]);
    }

    #[test]
    fn top_p_keeps_the_fewest_that_reach_it() {
        let logits = [1f32.ln(), 2f32.ln(), 5f32.ln()];
        let kept = |top_p: f32| -> std::collections::BTreeSet<u32> {
            (0..100).map(|i| pick(&logits, None, &sampling(1.0, top_p), f64::from(i) / 100.0).unwrap()).collect()
        };
        assert_eq!(kept(0.6), [2].into());
        assert_eq!(kept(0.7), [1, 2].into());
        assert_eq!(kept(0.9), [0, 1, 2].into());
        assert_eq!(kept(0.0), [2].into());
    }
}
