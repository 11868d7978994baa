//! ListNet: the documents of a query as two distributions, by number and by label.

/// Mean over lists of −Σ_j q_j·log p_j, with p the softmax of a list's numbers and q that of its labels, and its gradient
/// at the numbers, (p_j − q_j) divided by the number of lists. `lists` has the length of each, one after the other in both
/// slices. An infinite label makes q one there and zero elsewhere: the cross-entropy of one positive among its list.
///
/// Cao et al. 2007, "Learning to Rank: From Pairwise Approach to Listwise Approach". Equals sentence-transformers'
/// `ListNetLoss`.
pub fn list_net(numbers: &[f32], labels: &[f32], lists: &[usize]) -> (f64, Vec<f32>) {
    let n = lists.len().max(1) as f64;
    let (mut sum, mut gradient, mut start) = (0.0, Vec::with_capacity(numbers.len()), 0);
    for length in lists {
        let (x, y) = (&numbers[start..start + length], &labels[start..start + length]);
        start += length;
        let (log_p, log_q) = (log_softmax(x), log_softmax(y));
        for (log_p, log_q) in log_p.iter().zip(log_q) {
            let q = log_q.exp();
            sum -= q * log_p;
            gradient.push(((log_p.exp() - q) / n) as f32);
        }
    }
    (sum / n, gradient)
}

fn log_softmax(x: &[f32]) -> Vec<f64> {
    let top = f64::from(x.iter().copied().fold(f32::NEG_INFINITY, f32::max));
    // Infinity less itself is the top too.
    let below: Vec<f64> = x.iter().map(|x| f64::from(*x)).map(|x| if x == top { 0.0 } else { x - top }).collect();
    let log = below.iter().map(|x| x.exp()).sum::<f64>().ln();
    below.iter().map(|x| x - log).collect()
}
