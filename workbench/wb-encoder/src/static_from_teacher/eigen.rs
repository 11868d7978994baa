//! Eigenvalues and eigenvectors of a symmetric matrix: made tridiagonal by Householder's reflections, then diagonal by
//! implicit QR steps with Wilkinson's shift (Golub and Van Loan, Matrix Computations, §8.3).
//!
//! Time grows with the cube of the width, about 13 · width³ operations, on one thread.

use ndarray::Array2;

use crate::error::{Error, Result};

/// Steps that an eigenvalue may take; two or three are usual.
const STEPS: usize = 60;

/// Eigenvalues, the largest first, and the eigenvector of each as a row.
///
/// # Shapes
/// `[n, n]` to `n` and `[n, n]`
///
/// # Errors
///
/// If a number is not finite, or the steps do not come to an end.
pub(super) fn symmetric(matrix: Array2<f64>) -> Result<(Vec<f64>, Array2<f64>)> {
    let n = matrix.nrows();
    if matrix.iter().any(|x| !x.is_finite()) {
        return Err(Error::data("principal components", "the covariance is not finite"));
    }
    let (mut matrix, _) = matrix.as_standard_layout().into_owned().into_raw_vec_and_offset();
    let Tridiagonal { mut diagonal, mut beside, mut rows } = tridiagonal(&mut matrix, n);
    diagonalize(&mut diagonal, &mut beside, &mut rows)?;
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|a, b| diagonal[*b].total_cmp(&diagonal[*a]).then(a.cmp(b)));
    let values = order.iter().map(|at| diagonal[*at]).collect();
    let vectors = Array2::from_shape_fn((n, n), |(row, column)| rows[order[row] * n + column]);
    Ok((values, vectors))
}

/// T of A = Rᵀ·T·R.
struct Tridiagonal {
    /// Its diagonal, `n`.
    diagonal: Vec<f64>,
    /// Its entries beside the diagonal, `n - 1`.
    beside: Vec<f64>,
    /// R, row after row.
    rows: Vec<f64>,
}

/// Reflects the part of each row beyond the diagonal onto its first number. Reflections are I - β·v·vᵀ; v is kept
/// in the place of the numbers that it turns into zeros.
fn tridiagonal(a: &mut [f64], n: usize) -> Tridiagonal {
    let mut betas = vec![0.0; n];
    let mut beside = vec![0.0; n.saturating_sub(1)];
    for k in 0..n.saturating_sub(1) {
        let (above, below) = a.split_at_mut((k + 1) * n);
        let v = &mut above[k * n + k + 1..];
        let rest = dot(&v[1..], &v[1..]);
        if rest == 0.0 {
            beside[k] = v[0];
            continue;
        }
        let norm = (v[0] * v[0] + rest).sqrt();
        beside[k] = if v[0] > 0.0 { -norm } else { norm };
        v[0] -= beside[k];
        let beta = 2.0 / (v[0] * v[0] + rest);
        betas[k] = beta;
        // (I - β·v·vᵀ)·B·(I - β·v·vᵀ) = B - v·wᵀ - w·vᵀ with w = p - (β/2)(p·v)·v and p = β·B·v.
        let mut w: Vec<f64> = below.chunks_exact(n).map(|row| beta * dot(&row[k + 1..], v)).collect();
        let along = 0.5 * beta * dot(&w, v);
        w.iter_mut().zip(v.iter()).for_each(|(w, v)| *w -= along * v);
        for (at, row) in below.chunks_exact_mut(n).enumerate() {
            let (of_v, of_w) = (v[at], w[at]);
            row[k + 1..].iter_mut().zip(&w).zip(v.iter()).for_each(|((x, w), v)| *x -= of_v * w + of_w * v);
        }
    }
    let diagonal = (0..n).map(|k| a[k * n + k]).collect();
    Tridiagonal { diagonal, beside, rows: product(a, &betas, n) }
}

/// The product of all reflections, the last first: R. Each is applied from the right to a matrix that is still the
/// identity in the rows and columns before it.
fn product(a: &[f64], betas: &[f64], n: usize) -> Vec<f64> {
    let mut rows = vec![0.0; n * n];
    (0..n).for_each(|k| rows[k * n + k] = 1.0);
    for k in (0..n).rev().filter(|k| betas[*k] != 0.0) {
        let v = &a[k * n + k + 1..(k + 1) * n];
        for row in rows.chunks_exact_mut(n).skip(k + 1) {
            let row = &mut row[k + 1..];
            let along = betas[k] * dot(row, v);
            row.iter_mut().zip(v).for_each(|(x, v)| *x -= along * v);
        }
    }
    rows
}

/// Turns a tridiagonal matrix into a diagonal one by rotations of neighbouring rows, each applied to `rows` too.
fn diagonalize(diagonal: &mut [f64], beside: &mut [f64], rows: &mut [f64]) -> Result<()> {
    let n = diagonal.len();
    let largest = diagonal.iter().chain(beside.iter()).fold(0.0f64, |most, x| most.max(x.abs()));
    let (mut end, mut steps) = (n.saturating_sub(1), 0);
    while end > 0 {
        if beside[end - 1].abs() <= f64::EPSILON * largest {
            beside[end - 1] = 0.0;
            end -= 1;
            continue;
        }
        steps += 1;
        if steps > STEPS * n {
            return Err(Error::data(
                "principal components",
                "eigenvalues were not found: the steps do not come to an end",
            ));
        }
        let mut begin = end - 1;
        while begin > 0 && beside[begin - 1].abs() > f64::EPSILON * largest {
            begin -= 1;
        }
        step(diagonal, beside, rows, begin, end);
    }
    Ok(())
}

/// One step on the block from `begin` to `end`: the shift's rotation of the first two rows makes a bulge beside the
/// tridiagonal, and further ones chase it out.
fn step(diagonal: &mut [f64], beside: &mut [f64], rows: &mut [f64], begin: usize, end: usize) {
    let n = diagonal.len();
    // Wilkinson's shift: the eigenvalue of the last 2×2 block that is nearer to its last entry.
    let (half, last) = (0.5 * (diagonal[end - 1] - diagonal[end]), beside[end - 1]);
    let root = half.hypot(last);
    let shift = diagonal[end] - last * (last / (half + if half < 0.0 { -root } else { root }));
    let (mut x, mut bulge) = (diagonal[begin] - shift, beside[begin]);
    for k in begin..end {
        let length = x.hypot(bulge);
        let (c, s) = if length == 0.0 { (1.0, 0.0) } else { (x / length, bulge / length) };
        if k > begin {
            beside[k - 1] = length;
        }
        let (first, between, second) = (diagonal[k], beside[k], diagonal[k + 1]);
        diagonal[k] = c * c * first + 2.0 * c * s * between + s * s * second;
        diagonal[k + 1] = s * s * first - 2.0 * c * s * between + c * c * second;
        beside[k] = c * s * (second - first) + (c * c - s * s) * between;
        if k + 1 < end {
            bulge = s * beside[k + 1];
            beside[k + 1] *= c;
            x = beside[k];
        }
        let (upper, lower) = rows[k * n..(k + 2) * n].split_at_mut(n);
        for (a, b) in upper.iter_mut().zip(lower) {
            (*a, *b) = (c * *a + s * *b, c * *b - s * *a);
        }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, arr2};

    use super::*;

    /// Vectors are orthonormal, each is stretched by its value, and values fall.
    fn check(matrix: &Array2<f64>) -> Vec<f64> {
        let (values, vectors) = symmetric(matrix.clone()).unwrap();
        let size = matrix.iter().fold(1.0f64, |most, x| most.max(x.abs())) * matrix.nrows() as f64;
        let products = vectors.dot(&vectors.t()) - Array2::<f64>::eye(matrix.nrows());
        assert!(products.iter().all(|x| x.abs() < 1e-12), "not orthonormal");
        let mut stretched = vectors.clone();
        stretched.rows_mut().into_iter().zip(&values).for_each(|(mut row, value)| row *= *value);
        let off = vectors.dot(matrix) - stretched;
        assert!(off.iter().all(|x| x.abs() < 1e-13 * size), "{}", off.iter().fold(0.0f64, |m, x| m.max(x.abs())));
        assert!(values.windows(2).all(|pair| pair[0] >= pair[1]), "{values:?}");
        values
    }

    #[test]
    fn eigenvectors_are_stretched_by_their_eigenvalues() {
        for n in [1, 2, 3, 10, 65] {
            let wave = |i: usize, j: usize| ((i * 7 + j * 13) as f64 * 0.37).sin();
            check(&Array2::from_shape_fn((n, n), |(i, j)| wave(i, j) + wave(j, i)));
            // Of low rank, as covariances of few rows are.
            let few = Array2::from_shape_fn((n, 2), |(i, j)| wave(i, j) * 1e3);
            let values = check(&few.dot(&few.t()));
            assert!(values.iter().skip(2).all(|value| value.abs() < 1e-8 * values[0]), "{values:?}");
        }
    }

    #[test]
    fn simple_matrices_have_known_values() {
        let near = |found: Vec<f64>, expected: &[f64]| {
            assert_eq!(found.len(), expected.len());
            assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?}");
        };
        near(check(&arr2(&[[2.0, 1.0], [1.0, 2.0]])), &[3.0, 1.0]);
        near(check(&arr2(&[[0.0, 1.0], [1.0, 0.0]])), &[1.0, -1.0]);
        near(check(&Array2::zeros((4, 4))), &[0.0; 4]);
        near(check(&Array2::from_diag(&ndarray::arr1(&[1.0, 5.0, 3.0]))), &[5.0, 3.0, 1.0]);
        // The second difference of n points: 2 - 2·cos(π·k / (n + 1)).
        let differences = Array2::from_shape_fn((6, 6), |(i, j): (usize, usize)| match i.abs_diff(j) {
            0 => 2.0,
            1 => -1.0,
            _ => 0.0,
        });
        let expected: Vec<f64> =
            (1..=6).rev().map(|k| 2.0 - 2.0 * (std::f64::consts::PI * k as f64 / 7.0).cos()).collect();
        near(check(&differences), &expected);
        assert!(symmetric(arr2(&[[f64::NAN]])).is_err());
    }
}
