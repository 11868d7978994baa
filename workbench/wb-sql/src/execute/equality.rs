//! Comparison of two results: rows as a bag or in order, under any permutation of columns.
//!
//! After `result_eq` of test-suite-sql-eval (Zhong et al. 2020), whose verdict is reproduced; the search for the
//! permutation is ours and does not enumerate them.

use std::time::Instant;

use super::{
    ResultTable,
    columns::{self, Grid},
    python,
    value::Numbering,
};
use crate::Compat;

/// The verdict of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Equality {
    /// There is a permutation of columns under which they are equal.
    Equal,
    /// There is none.
    Different,
    /// The search was given up: more than [`columns::BUDGET`] rows were looked at, or the time was over.
    Undecided,
}

/// Compares two results. `order_matters`: rows are compared in order, not as a bag.
///
/// Two results without rows are equal, whatever their columns. Values are equal as in Python: `1 == 1.0`, NULL equals
/// NULL, text and bytes differ. Under [`Compat::Official`] the quick reject sorts each row by the text of its values,
/// see [`Compat`].
pub fn compare(gold: &ResultTable, prediction: &ResultTable, order_matters: bool, compat: Compat) -> Equality {
    compare_until(gold, prediction, order_matters, compat, None)
}

/// [`compare`], undecided when the time is over. What comes before the search for a permutation takes time in
/// proportion to the values, of which there are not more than a worker may send.
pub(super) fn compare_until(
    gold: &ResultTable,
    prediction: &ResultTable,
    order_matters: bool,
    compat: Compat,
    deadline: Option<Instant>,
) -> Equality {
    if gold.is_empty() && prediction.is_empty() {
        return Equality::Equal;
    }
    if gold.len() != prediction.len() || gold.width != prediction.width {
        return Equality::Different;
    }
    // The very same rows pass every test below; most correct answers end here.
    if gold.is_identical(prediction) {
        return Equality::Equal;
    }
    let mut numbering = Numbering::default();
    let (left, right) = (numbering.cells(gold), numbering.cells(prediction));
    let by_text = compat == Compat::Official && numbering.mixed;
    let sorted = |table: &ResultTable, numbers: &[u32]| {
        let sort = |(row, numbers)| if by_text { sorted_by_text(row, numbers) } else { sorted_by_number(numbers) };
        table.rows().zip(numbers.chunks_exact(table.width)).map(sort).collect::<Vec<_>>()
    };
    let (mut left_rows, mut right_rows) = (sorted(gold, &left), sorted(prediction, &right));
    if !order_matters {
        for rows in [&mut left_rows, &mut right_rows] {
            rows.sort_unstable();
            // The test suite compares sets here; how often each occurs is counted later.
            rows.dedup();
        }
    }
    if left_rows != right_rows {
        return Equality::Different;
    }
    let (left, right) = (Grid::new(&left, gold.width), Grid::new(&right, gold.width));
    if order_matters { columns::equal_in_order(&left, &right) } else { columns::equal_as_bags(&left, &right, deadline) }
}

/// A row in the order of Python's `sorted(row, key=lambda x: str(x) + str(type(x)))`.
fn sorted_by_text(row: &[super::CellValue], numbers: &[u32]) -> Vec<u32> {
    let mut keyed: Vec<(String, u32)> = row.iter().map(python::sort_key).zip(numbers.iter().copied()).collect();
    keyed.sort_by(|one, other| one.0.cmp(&other.0));
    keyed.into_iter().map(|(_, number)| number).collect()
}

/// Order of a row's values: where no number occurs in two types, every order of values is as good as that of their texts.
fn sorted_by_number(numbers: &[u32]) -> Vec<u32> {
    let mut row = numbers.to_vec();
    row.sort_unstable();
    row
}

#[cfg(test)]
mod tests {
    use super::{super::CellValue, *};

    fn table(rows: &[&[CellValue]]) -> ResultTable {
        ResultTable::of(rows.iter().map(|row| row.to_vec()).collect())
    }

    fn int(number: i64) -> CellValue {
        CellValue::Int(number)
    }

    #[test]
    fn bags_and_orders_and_columns() {
        let gold = table(&[&[int(1), int(2)], &[int(3), int(4)]]);
        let swapped_rows = table(&[&[int(3), int(4)], &[int(1), int(2)]]);
        let swapped_columns = table(&[&[int(2), int(1)], &[int(4), int(3)]]);
        let crossed = table(&[&[int(2), int(1)], &[int(3), int(4)]]);
        for compat in [Compat::Official, Compat::Strict] {
            assert_eq!(compare(&gold, &swapped_rows, false, compat), Equality::Equal);
            assert_eq!(compare(&gold, &swapped_rows, true, compat), Equality::Different);
            assert_eq!(compare(&gold, &swapped_columns, true, compat), Equality::Equal);
            assert_eq!(compare(&gold, &crossed, false, compat), Equality::Different);
        }
    }

    #[test]
    fn duplicates_count() {
        let gold = table(&[&[int(1)], &[int(1)], &[int(2)]]);
        let other = table(&[&[int(1)], &[int(2)], &[int(2)]]);
        assert_eq!(compare(&gold, &other, false, Compat::Official), Equality::Different);
    }

    #[test]
    fn whole_numbers_of_two_types_beside_others() {
        let alone = (table(&[&[int(1)]]), table(&[&[CellValue::Real(1.0)]]));
        assert_eq!(compare(&alone.0, &alone.1, false, Compat::Official), Equality::Equal);
        // "1.5<class 'float'>" sorts before "1<class 'int'>" and after "1.0<class 'float'>".
        let gold = table(&[&[int(1), CellValue::Real(1.5)]]);
        let other = table(&[&[CellValue::Real(1.0), CellValue::Real(1.5)]]);
        assert_eq!(compare(&gold, &other, false, Compat::Official), Equality::Different);
        assert_eq!(compare(&gold, &other, false, Compat::Strict), Equality::Equal);
    }

    #[test]
    fn big_integers_are_not_rounded() {
        let gold = table(&[&[int((1 << 53) + 1)]]);
        let other = table(&[&[CellValue::Real(9_007_199_254_740_992.0)]]);
        assert_eq!(compare(&gold, &other, false, Compat::Strict), Equality::Different);
    }

    #[test]
    fn no_rows_are_equal_whatever_the_columns() {
        let none = ResultTable { width: 3, cells: Vec::new() };
        assert_eq!(compare(&none, &ResultTable::default(), true, Compat::Official), Equality::Equal);
        assert_eq!(compare(&none, &table(&[&[CellValue::Null]]), true, Compat::Official), Equality::Different);
    }
}
