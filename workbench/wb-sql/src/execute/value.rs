//! Values and tables as SQLite returns them, with equality as Python has it.

use std::collections::HashMap;

/// One value of a result.
#[derive(Debug, Clone, PartialEq)]
pub enum CellValue {
    /// NULL.
    Null,
    /// A whole number.
    Int(i64),
    /// A floating-point number; SQLite has no NaN, it is NULL there.
    Real(f64),
    /// Text; bytes that are not UTF-8 have been left out.
    Text(String),
    /// Bytes.
    Blob(Vec<u8>),
}

/// A result: rows of equal width, in order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ResultTable {
    /// Values per row.
    pub width: usize,
    /// All values, row by row.
    pub cells: Vec<CellValue>,
}

impl ResultTable {
    /// A table of rows that are all as wide as the first.
    pub fn of(rows: Vec<Vec<CellValue>>) -> ResultTable {
        ResultTable { width: rows.first().map_or(0, Vec::len), cells: rows.into_iter().flatten().collect() }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.cells.len().checked_div(self.width).unwrap_or(0)
    }

    /// True where there is no row.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// The bytes that its values have in memory, about.
    pub(super) fn bytes(&self) -> usize {
        let beside = |value: &CellValue| match value {
            CellValue::Text(text) => text.len(),
            CellValue::Blob(bytes) => bytes.len(),
            _ => 0,
        };
        self.cells.len() * size_of::<CellValue>() + self.cells.iter().map(beside).sum::<usize>()
    }

    /// The very same values in the same order: types, and the signs of zeros too.
    pub(super) fn is_identical(&self, other: &ResultTable) -> bool {
        let same = |(one, other): (&CellValue, &CellValue)| match (one, other) {
            (CellValue::Real(one), CellValue::Real(other)) => one.to_bits() == other.to_bits(),
            (one, other) => one == other,
        };
        self.width == other.width
            && self.cells.len() == other.cells.len()
            && self.cells.iter().zip(&other.cells).all(same)
    }

    /// The rows in order.
    pub fn rows(&self) -> impl Iterator<Item = &[CellValue]> {
        self.cells.chunks_exact(self.width.max(1))
    }
}

/// Key of a value by Python's `==` and `hash`: `1`, `1.0` are one; `'1'`, `b'1'` and NULL are others.
#[derive(PartialEq, Eq, Hash)]
enum Key<'a> {
    Null,
    Int(i64),
    Real(u64),
    Text(&'a str),
    Blob(&'a [u8]),
}

/// 2^63: whole numbers of floating point below it (and not below its negative) are compared as integers.
const TWO_63: f64 = 9_223_372_036_854_775_808.0;

fn key(value: &CellValue) -> Key<'_> {
    match value {
        CellValue::Null => Key::Null,
        CellValue::Int(number) => Key::Int(*number),
        CellValue::Real(number) if number.fract() == 0.0 && (-TWO_63..TWO_63).contains(number) =>
        {
            #[expect(clippy::cast_possible_truncation, reason = "whole and within the range of i64")]
            Key::Int(*number as i64)
        }
        CellValue::Real(number) => Key::Real(number.to_bits()),
        CellValue::Text(text) => Key::Text(text),
        CellValue::Blob(bytes) => Key::Blob(bytes),
    }
}

/// Numbers for values: equal ones (in Python's sense) have the same number.
#[derive(Default)]
pub(crate) struct Numbering<'a> {
    numbers: HashMap<Key<'a>, (u32, Spelling)>,
    /// A number was seen that Python writes in several ways: `1` and `1.0`, `0.0` and `-0.0`.
    pub mixed: bool,
}

impl<'a> Numbering<'a> {
    /// The numbers of a table's cells.
    pub fn cells(&mut self, table: &'a ResultTable) -> Vec<u32> {
        table.cells.iter().map(|value| self.number(value)).collect()
    }

    fn number(&mut self, value: &'a CellValue) -> u32 {
        let spelling = match value {
            CellValue::Real(real) if real.is_sign_negative() && *real == 0.0 => Spelling::NegativeZero,
            CellValue::Real(_) => Spelling::Real,
            _ => Spelling::Other,
        };
        let next = u32::try_from(self.numbers.len()).unwrap_or(u32::MAX);
        let (number, first) = *self.numbers.entry(key(value)).or_insert((next, spelling));
        self.mixed |= first != spelling;
        number
    }
}

/// Spellings that tell equal numbers apart.
#[derive(Clone, Copy, PartialEq)]
enum Spelling {
    NegativeZero,
    Real,
    Other,
}
