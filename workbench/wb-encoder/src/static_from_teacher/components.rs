//! Principal components of the rows of a matrix: their scores, or the components themselves.

use ndarray::{Array1, Array2, ArrayView2, Axis};

use super::eigen;
use crate::error::Result;

/// Rows that are widened to f64 at once.
const ROWS: usize = 1024;

/// Length of a row's scores: at most its own, and its own where there are no more rows than components.
pub(super) fn length(rows: usize, width: usize, wanted: usize) -> usize {
    let components = wanted.min(width);
    if components >= rows { width } else { components }
}

/// Scores of every row on the first components, those of the largest variance first; the rows as they are where there
/// are no more of them than components.
///
/// With X the rows less their mean, components are eigenvectors of XᵀX / (rows - 1), and scores are X times them. The
/// score that is farthest from 0, the first of such, is positive: so the sign is decided by the rows alone.
///
/// # Shapes
/// `[rows, width]` to `[rows, min(wanted, width)]`
pub(super) fn principal(rows: Array2<f32>, wanted: usize) -> Result<Array2<f32>> {
    let (n, width) = rows.dim();
    let count = wanted.min(width);
    if count >= n {
        return Ok(rows);
    }
    let (mean, components) = first(&rows, count)?;
    let mut scores = Array2::zeros((n, count));
    for (from, mut to) in rows.axis_chunks_iter(Axis(0), ROWS).zip(scores.axis_chunks_iter_mut(Axis(0), ROWS)) {
        to.assign(&centered(from, &mean).dot(&components.t()).mapv(|x| x as f32));
    }
    for mut column in scores.columns_mut() {
        let farthest = column.iter().fold(0.0f32, |most, x| if x.abs() > most.abs() { *x } else { most });
        if farthest < 0.0 {
            column.mapv_inplace(|x| -x);
        }
    }
    Ok(scores)
}

/// The first components themselves, of length 1 and at right angles: what shortens other rows as scores do, but for the mean.
/// The number of each that is farthest from 0, the first of such, is positive.
///
/// Equals scikit-learn's `PCA.components_`.
///
/// # Shapes
/// `[rows, width]` to `[count, width]`, with `count` at most the width and less than the rows.
pub(crate) fn axes(rows: &Array2<f32>, count: usize) -> Result<Array2<f32>> {
    let (_, mut components) = first(rows, count)?;
    for mut component in components.rows_mut() {
        let farthest = component.iter().fold(0.0f64, |most, x| if x.abs() > most.abs() { *x } else { most });
        if farthest < 0.0 {
            component.mapv_inplace(|x| -x);
        }
    }
    Ok(components.mapv(|x| x as f32))
}

/// Mean `[width]` and the first components `[count, width]`, those of the largest variance first.
fn first(rows: &Array2<f32>, count: usize) -> Result<(Array1<f64>, Array2<f64>)> {
    let (mean, covariance) = moments(rows);
    let (_, vectors) = eigen::symmetric(covariance)?;
    Ok((mean, vectors.slice_move(ndarray::s![..count, ..])))
}

/// Mean `[width]` and covariance `[width, width]` of rows.
fn moments(rows: &Array2<f32>) -> (Array1<f64>, Array2<f64>) {
    let (n, width) = rows.dim();
    let mut mean = Array1::<f64>::zeros(width);
    for row in rows.rows() {
        mean.iter_mut().zip(row).for_each(|(sum, x)| *sum += f64::from(*x));
    }
    mean /= n as f64;
    let mut covariance = Array2::zeros((width, width));
    for part in rows.axis_chunks_iter(Axis(0), ROWS) {
        let part = centered(part, &mean);
        covariance += &part.t().dot(&part);
    }
    covariance /= (n - 1) as f64;
    (mean, covariance)
}

fn centered(rows: ArrayView2<'_, f32>, mean: &Array1<f64>) -> Array2<f64> {
    rows.mapv(f64::from) - mean
}

#[cfg(test)]
mod tests {
    use ndarray::arr2;

    use super::*;

    #[test]
    fn points_on_a_line_have_one_component() {
        // Along (3, 4) / 5 around (1, 1), at -10, 5, 5: the farthest is made positive.
        let rows = arr2(&[[-5.0f32, -7.0], [4.0, 5.0], [4.0, 5.0]]);
        let scores = principal(rows, 1).unwrap();
        let expected = [10.0, -5.0, -5.0];
        assert!(scores.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-5), "{scores}");
    }

    #[test]
    fn few_rows_stay_as_they_are() {
        let rows = arr2(&[[1.0f32, 2.0, 3.0], [4.0, 5.0, 7.0]]);
        assert_eq!(principal(rows.clone(), 2).unwrap(), rows);
        assert_eq!(principal(rows.clone(), 300).unwrap(), rows);
        assert_eq!([length(2, 3, 2), length(2, 3, 1), length(100, 3, 2), length(100, 3, 9)], [3, 1, 2, 3]);
        assert_eq!(principal(rows, 1).unwrap().dim(), (2, 1));
    }

    #[test]
    fn components_have_length_one_and_point_where_they_are_longest() {
        let rows = arr2(&[[-5.0f32, -7.0], [4.0, 5.0], [4.0, 5.0]]);
        let found = axes(&rows, 2).unwrap();
        let expected = arr2(&[[0.6f32, 0.8], [0.8, -0.6]]);
        assert!(found.iter().zip(&expected).all(|(found, expected)| (found - expected).abs() < 1e-6), "{found}");
    }
}
