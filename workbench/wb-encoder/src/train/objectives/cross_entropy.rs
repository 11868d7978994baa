//! Linear classes with softmax cross-entropy at many states, forward and backward at once, in bounded memory.

use rayon::prelude::*;

use crate::kernels::{
    Mat, MatMut, matmul,
    vector::{add_column_sums, exp, fill_rows, max, sum, vectorized},
};

/// Rows whose logits are held at once: with 30,000 classes these are 15 MB.
const ROWS: usize = 128;
/// Classes that one task computes.
const BLOCK: usize = 256;
/// Rows that one task takes to the gradient at the states.
const FEW_ROWS: usize = 16;

/// Classes, each a row of weights and a bias.
#[derive(Debug, Clone, Copy)]
pub struct Linear<'a> {
    /// `[classes, width]`
    pub weight: &'a [f32],
    /// `[classes]`
    pub bias: &'a [f32],
}

/// Sums that gradients are added to; `None` for weights that do not train.
#[derive(Debug)]
pub struct AtLinear<'a> {
    /// `[classes, width]`
    pub weight: Option<&'a mut [f32]>,
    /// `[classes]`
    pub bias: Option<&'a mut [f32]>,
}

/// Σ over rows of −log softmax(x·Wᵀ + b)[class]; adds the gradients of `factor` times that sum.
///
/// Sums are cut into the same blocks and added in the same order on any number of threads.
///
/// # Shapes
/// `x` and `at_x` are `[rows, width]`, `classes` `[rows]`.
pub fn cross_entropy(
    x: &[f32],
    classes: &[u32],
    linear: Linear<'_>,
    factor: f32,
    at_x: &mut [f32],
    mut at: AtLinear<'_>,
) -> f64 {
    let n_classes = linear.bias.len();
    let width = linear.weight.len() / n_classes.max(1);
    let mut loss = 0.0;
    let mut blocks: Vec<Block> = (0..n_classes.div_ceil(BLOCK)).map(|_| Block::default()).collect();
    for first in (0..classes.len()).step_by(ROWS) {
        let rows = first..(first + ROWS).min(classes.len());
        let n = rows.len();
        let (x, at_x) = (&x[rows.start * width..rows.end * width], &mut at_x[rows.start * width..rows.end * width]);
        let classes = &classes[rows];

        let weights = linear.weight.par_chunks(BLOCK * width).zip(linear.bias.par_chunks(BLOCK));
        blocks.par_iter_mut().zip(weights).for_each(|(block, (weight, bias))| {
            block.logits.resize(n * bias.len(), 0.0);
            fill_rows(&mut block.logits, bias);
            let right = Mat::new(weight, bias.len(), width).t();
            matmul(MatMut::new(&mut block.logits, n, bias.len()), true, Mat::new(x, n, width), right, 1.0);
            block.maxima.clear();
            vectorized!(block.maxima.extend(block.logits.chunks_exact(bias.len()).map(max)));
        });
        let maxima: Vec<f32> = (0..n).map(|row| max_over(&blocks, row)).collect();
        let right: Vec<f32> = classes.iter().enumerate().map(|(row, class)| logit(&blocks, row, *class)).collect();

        blocks.par_iter_mut().for_each(|block| block.exponentials(&maxima));
        let sums: Vec<f32> = (0..n).map(|row| blocks.iter().map(|block| block.sums[row]).sum()).collect();
        for ((sum, max), right) in sums.iter().zip(&maxima).zip(&right) {
            loss += f64::from(*sum).ln() + f64::from(*max) - f64::from(*right);
        }

        // p - 1 at the right class: the gradient at the logits.
        let factors: Vec<f32> = sums.iter().map(|sum| factor / sum).collect();
        blocks.par_iter_mut().enumerate().for_each(|(at, block)| block.turn_to_gradient(at, classes, &factors, factor));
        if let Some(at_weight) = at.weight.as_deref_mut() {
            at_weight.par_chunks_mut(BLOCK * width).zip(&blocks).for_each(|(at_weight, block)| {
                let wide = at_weight.len() / width;
                let gradient = Mat::new(&block.logits, n, wide).t();
                matmul(MatMut::new(at_weight, wide, width), true, gradient, Mat::new(x, n, width), 1.0);
            });
        }
        if let Some(at_bias) = at.bias.as_deref_mut() {
            at_bias.par_chunks_mut(BLOCK).zip(&blocks).for_each(|(at, block)| add_column_sums(at, &block.logits));
        }
        at_x.par_chunks_mut(FEW_ROWS * width).enumerate().for_each(|(few, at_x)| {
            let (first, n) = (few * FEW_ROWS, at_x.len() / width);
            for (block, weight) in blocks.iter().zip(linear.weight.chunks(BLOCK * width)) {
                let wide = weight.len() / width;
                let gradient = Mat::new(&block.logits[first * wide..(first + n) * wide], n, wide);
                matmul(MatMut::new(at_x, n, width), true, gradient, Mat::new(weight, wide, width), 1.0);
            }
        });
    }
    loss
}

/// Some rows' logits of some neighbouring classes, which become exponentials and then gradients.
#[derive(Debug, Default)]
struct Block {
    logits: Vec<f32>,
    maxima: Vec<f32>,
    sums: Vec<f32>,
}

impl Block {
    fn wide(&self) -> usize {
        self.logits.len() / self.maxima.len().max(1)
    }

    fn exponentials(&mut self, maxima: &[f32]) {
        let wide = self.wide();
        self.sums.clear();
        for (row, max) in self.logits.chunks_exact_mut(wide).zip(maxima) {
            self.sums.push(vectorized!({
                row.iter_mut().for_each(|x| *x = exp(*x - max));
                sum(row)
            }));
        }
    }

    fn turn_to_gradient(&mut self, at: usize, classes: &[u32], factors: &[f32], factor: f32) {
        let wide = self.wide();
        for ((row, class), scale) in self.logits.chunks_exact_mut(wide).zip(classes).zip(factors) {
            row.iter_mut().for_each(|x| *x *= scale);
            if let Some(right) = (*class as usize).checked_sub(at * BLOCK).and_then(|class| row.get_mut(class)) {
                *right -= factor;
            }
        }
    }
}

fn max_over(blocks: &[Block], row: usize) -> f32 {
    blocks.iter().map(|block| block.maxima[row]).fold(f32::NEG_INFINITY, f32::max)
}

fn logit(blocks: &[Block], row: usize, class: u32) -> f32 {
    let (block, class) = (&blocks[class as usize / BLOCK], class as usize % BLOCK);
    block.logits[row * block.wide() + class]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(n: usize, seed: usize) -> Vec<f32> {
        (0..n).map(|i| ((i * 37 + seed * 11) as f32 * 0.61).sin()).collect()
    }

    /// The definition, in double precision.
    fn by_definition(x: &[f32], classes: &[u32], linear: Linear<'_>) -> f64 {
        let width = linear.weight.len() / linear.bias.len();
        let row = |(x, class): (&[f32], &u32)| {
            let logits: Vec<f64> = linear
                .weight
                .chunks(width)
                .zip(linear.bias)
                .map(|(w, b)| f64::from(*b) + w.iter().zip(x).map(|(w, x)| f64::from(*w) * f64::from(*x)).sum::<f64>())
                .collect();
            logits.iter().map(|l| l.exp()).sum::<f64>().ln() - logits[*class as usize]
        };
        x.chunks(width).zip(classes).map(row).sum()
    }

    /// More rows and classes than one block of either.
    #[test]
    fn loss_and_gradients_equal_the_definition_and_its_differences() {
        for (n, n_classes, width) in [(3, 5, 4), (150, 600, 7), (0, 3, 2)] {
            let (mut x, mut weight, mut bias) =
                (numbers(n * width, 1), numbers(n_classes * width, 2), numbers(n_classes, 3));
            let classes: Vec<u32> = (0..n).map(|row| (row * 7 % n_classes) as u32).collect();
            let (mut at_x, mut at_weight, mut at_bias) =
                (vec![0.0; x.len()], vec![0.0; weight.len()], vec![0.0; bias.len()]);
            let at = AtLinear { weight: Some(&mut at_weight), bias: Some(&mut at_bias) };
            let linear = Linear { weight: &weight, bias: &bias };
            let loss = cross_entropy(&x, &classes, linear, 0.5, &mut at_x, at);
            let expected = by_definition(&x, &classes, linear);
            assert!((loss - expected).abs() <= 1e-5 * expected.max(1.0), "{loss} {expected}");
            for (which, gradient) in [at_x, at_weight, at_bias].into_iter().enumerate() {
                for at in (0..gradient.len()).step_by(gradient.len() / 9 + 1) {
                    let mut moved = |by: f32| {
                        [&mut x, &mut weight, &mut bias][which][at] += by;
                        let loss = by_definition(&x, &classes, Linear { weight: &weight, bias: &bias });
                        [&mut x, &mut weight, &mut bias][which][at] -= by;
                        0.5 * loss
                    };
                    let h = 1.0 / 256.0;
                    let slope = (moved(h) - moved(-h)) / (2.0 * f64::from(h));
                    assert!((slope - f64::from(gradient[at])).abs() < 2e-4, "{which} {at}: {slope} {}", gradient[at]);
                }
            }
        }
    }

    #[test]
    fn threads_do_not_matter_and_frozen_weights_are_left_out() {
        let (x, weight, bias) = (numbers(200 * 9, 1), numbers(700 * 9, 2), numbers(700, 3));
        let classes: Vec<u32> = (0..200).map(|row| (row * 3) as u32).collect();
        let run = |threads: usize, trains: bool| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let (mut at_x, mut at_weight) = (vec![0.0; x.len()], vec![0.0; weight.len()]);
            let at = AtLinear { weight: trains.then_some(at_weight.as_mut_slice()), bias: None };
            let linear = Linear { weight: &weight, bias: &bias };
            let loss = pool.install(|| cross_entropy(&x, &classes, linear, 1.0, &mut at_x, at));
            (loss, at_x, at_weight)
        };
        assert!(run(1, true) == run(3, true));
        let (loss, at_x, at_weight) = run(2, false);
        assert!(at_weight.iter().all(|g| *g == 0.0));
        assert!((loss, at_x) == (run(1, true).0, run(1, true).1));
    }
}
