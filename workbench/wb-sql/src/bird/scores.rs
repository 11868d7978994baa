//! EX and Soft-F1 of two results.

use std::collections::HashSet;

use crate::execute::{Numbering, ResultTable};

/// EX: the sets of rows are equal, with the columns in order and values equal as in Python.
pub fn same_set(gold: &ResultTable, prediction: &ResultTable) -> bool {
    let mut numbering = Numbering::default();
    let (gold_cells, prediction_cells) = (numbering.cells(gold), numbering.cells(prediction));
    let set = |cells: &[u32], width: usize| -> HashSet<Vec<u32>> {
        cells.chunks_exact(width.max(1)).map(<[u32]>::to_vec).collect()
    };
    set(&gold_cells, gold.width) == set(&prediction_cells, prediction.width)
}

/// Soft-F1: after duplicates are dropped, the i-th rows are compared value by value, wherever in the row they stand.
///
/// With `n` columns in the gold row, a row adds to the true positives the predicted values that are in the gold row, to
/// the false positives those that are not, to the false negatives the gold values that are not in the predicted row,
/// each divided by `n`. A gold row without a partner is one false negative, a predicted row without one is one false
/// positive. Two empty results have 1.
pub fn soft_f1(gold: &ResultTable, prediction: &ResultTable) -> f64 {
    if gold.is_empty() && prediction.is_empty() {
        return 1.0;
    }
    let mut numbering = Numbering::default();
    let (gold_cells, prediction_cells) = (numbering.cells(gold), numbering.cells(prediction));
    let gold_rows = distinct(&gold_cells, gold.width);
    let predicted_rows = distinct(&prediction_cells, prediction.width);
    let (mut hits, mut surplus, mut missed) = (0.0, 0.0, 0.0);
    for (at, row) in gold_rows.iter().enumerate() {
        let Some(predicted) = predicted_rows.get(at) else {
            missed += 1.0;
            continue;
        };
        let found = predicted.iter().filter(|value| row.contains(value)).count();
        let not_found = row.iter().filter(|value| !predicted.contains(value)).count();
        hits += fraction(found, row.len());
        surplus += fraction(predicted.len() - found, row.len());
        missed += fraction(not_found, row.len());
    }
    surplus += fraction(predicted_rows.len().saturating_sub(gold_rows.len()), 1);
    let ratio = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
    let (precision, recall) = (ratio(hits, hits + surplus), ratio(hits, hits + missed));
    ratio(2.0 * precision * recall, precision + recall)
}

#[expect(clippy::cast_precision_loss, reason = "counts of rows and columns")]
fn fraction(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}

/// The rows without those that were there before.
fn distinct(cells: &[u32], width: usize) -> Vec<&[u32]> {
    let mut seen = HashSet::new();
    cells.chunks_exact(width.max(1)).filter(|row| seen.insert(*row)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::execute::CellValue;

    fn table(rows: &[&[i64]]) -> ResultTable {
        ResultTable::of(rows.iter().map(|row| row.iter().map(|number| CellValue::Int(*number)).collect()).collect())
    }

    #[test]
    fn sets_know_columns_but_neither_order_nor_duplicates() {
        let gold = table(&[&[1, 2], &[3, 4]]);
        assert!(same_set(&gold, &table(&[&[3, 4], &[1, 2], &[1, 2]])));
        assert!(!same_set(&gold, &table(&[&[2, 1], &[4, 3]])));
    }

    /// Counted by hand: row 1 has both values (2/2), row 2 one of two with one false, row 3 is missing.
    /// Hits 1.5, surplus .5, missed 1.5: precision .75, recall .5, F1 .6.
    #[test]
    fn soft_f1_by_hand() {
        let gold = table(&[&[1, 2], &[3, 4], &[5, 6]]);
        let predicted = table(&[&[2, 1], &[2, 1], &[3, 9], &[2, 1]]);
        // The second [2, 1] is a duplicate; [3, 9] is compared with [3, 4].
        assert!((soft_f1(&gold, &predicted) - 0.6).abs() < 1e-15);
        assert!((soft_f1(&ResultTable::default(), &ResultTable::default()) - 1.0).abs() < 1e-15);
        assert!(soft_f1(&gold, &ResultTable::default()).abs() < 1e-15);
    }
}
