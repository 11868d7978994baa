//! R-VES: how fast a right query is beside the gold query, in steps.

/// The reward of a right query, from times of both queries, measured in turns.
///
/// The ratios `gold / predicted` that lie strictly within three standard deviations of their mean are averaged; a mean
/// of 2 or more gives 1.25, of 1 or more 1, of 0.5 or more 0.75, of 0.25 or more 0.5, and less than that 0.25.
///
/// Where no ratio is left, because all are equal, the evaluator divides by zero and counts the query as wrong: 0. So it
/// does for a single measurement.
pub fn reward(gold_times: &[f64], predicted_times: &[f64]) -> f64 {
    let ratios: Vec<f64> = gold_times.iter().zip(predicted_times).map(|(gold, predicted)| gold / predicted).collect();
    let kept = within_three_deviations(&ratios);
    if kept.is_empty() {
        return 0.0;
    }
    let ratio = kept.iter().sum::<f64>() / count(kept.len());
    match ratio {
        0.0 => 0.0,
        2.0.. => 1.25,
        1.0.. => 1.0,
        0.5.. => 0.75,
        0.25.. => 0.5,
        _ => 0.25,
    }
}

/// R-VES of a set of questions: the mean of the rewards' square roots, times 100; wrong queries have reward 0.
pub fn ves(rewards: &[f64]) -> f64 {
    let total: f64 = rewards.iter().map(|reward| reward.sqrt() * 100.0).sum();
    if rewards.is_empty() { 0.0 } else { total / count(rewards.len()) }
}

fn within_three_deviations(ratios: &[f64]) -> Vec<f64> {
    let mean = pairwise_sum(ratios) / count(ratios.len());
    let squares: Vec<f64> = ratios.iter().map(|ratio| (ratio - mean) * (ratio - mean)).collect();
    let deviation = (pairwise_sum(&squares) / count(squares.len())).sqrt();
    let keeps = |ratio: &f64| *ratio < mean + 3.0 * deviation && *ratio > mean - 3.0 * deviation;
    ratios.iter().copied().filter(keeps).collect()
}

/// A sum in numpy's order: in eight lanes within blocks of 128, halves of longer lists apart.
fn pairwise_sum(numbers: &[f64]) -> f64 {
    let length = numbers.len();
    if length < 8 {
        return numbers.iter().sum();
    }
    if length > 128 {
        let half = length / 2 - (length / 2) % 8;
        return pairwise_sum(&numbers[..half]) + pairwise_sum(&numbers[half..]);
    }
    let (blocks, rest) = numbers.split_at(length - length % 8);
    let mut lanes = [0.0; 8];
    for block in blocks.chunks_exact(8) {
        for (lane, number) in lanes.iter_mut().zip(block) {
            *lane += number;
        }
    }
    let [a, b, c, d, e, f, g, h] = lanes;
    rest.iter().fold(((a + b) + (c + d)) + ((e + f) + (g + h)), |sum, number| sum + number)
}

#[expect(clippy::cast_precision_loss, reason = "counts of measurements")]
fn count(number: usize) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Twice the same two ratios around a value, so that the mean is that value and nothing is filtered.
    fn around(ratio: f64) -> f64 {
        reward(&[ratio - 0.001, ratio + 0.001], &[1.0, 1.0])
    }

    #[test]
    fn rewards_come_in_steps() {
        let rows =
            [(3.0, 1.25), (1.99, 1.0), (1.01, 1.0), (0.99, 0.75), (0.51, 0.75), (0.49, 0.5), (0.26, 0.5), (0.24, 0.25)];
        for (ratio, expected) in rows {
            assert!((around(ratio) - expected).abs() < 1e-15, "{ratio}");
        }
        assert!((reward(&[1.5, 2.5], &[1.0, 1.0]) - 1.25).abs() < 1e-15, "exactly 2");
    }

    #[test]
    fn equal_ratios_are_all_filtered() {
        assert!(reward(&[1.0], &[1.0]).abs() < 1e-15);
        assert!(reward(&[2.0, 2.0], &[1.0, 1.0]).abs() < 1e-15);
    }

    /// One of twenty is a thousand times longer: without it the mean ratio is about 1, with it 51.
    #[test]
    fn outliers_are_left_out() {
        let mut gold: Vec<f64> = (0..20).map(|at| 0.9 + 0.002 * f64::from(at)).collect();
        gold[7] = 1000.0;
        assert!((reward(&gold, &[1.0; 20]) - 0.75).abs() < 1e-15);
    }

    /// (√1.25 + √1 + √0.25 + 0) / 4 · 100.
    #[test]
    fn ves_by_hand() {
        let expected = (1.25_f64.sqrt() + 1.0 + 0.5) / 4.0 * 100.0;
        assert!((ves(&[1.25, 1.0, 0.25, 0.0]) - expected).abs() < 1e-12);
    }
}
