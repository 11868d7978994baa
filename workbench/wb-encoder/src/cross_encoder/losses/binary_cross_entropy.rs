//! Binary cross-entropy: each pair of texts by itself, relevant or not.

/// Mean over pairs of log(1 + exp(x)) − y·x, for numbers x and labels y from 0 to 1, and its gradient at the numbers,
/// (σ(x) − y)/n. Slices are of one length, `[n]`.
///
/// Equals sentence-transformers' `BinaryCrossEntropyLoss` without `pos_weight`.
pub fn binary_cross_entropy(numbers: &[f32], labels: &[f32]) -> (f64, Vec<f32>) {
    let n = numbers.len().max(1) as f64;
    let mut sum = 0.0;
    let one = |(x, y): (&f32, &f32)| {
        let (x, y) = (f64::from(*x), f64::from(*y));
        // log(1 + exp(x)) without overflow.
        sum += x.max(0.0) + (-x.abs()).exp().ln_1p() - y * x;
        ((1.0 / (1.0 + (-x).exp()) - y) / n) as f32
    };
    let gradient = numbers.iter().zip(labels).map(one).collect();
    (sum / n, gradient)
}
