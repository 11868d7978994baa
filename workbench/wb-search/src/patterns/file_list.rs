//! Ascending numbers of files in few bytes.

use crate::{
    Result,
    bytes::{Reader, Writer, damaged},
};

/// Ascending numbers: the steps between them, seven bits a byte, the first from 0.
#[derive(Debug, Default)]
pub(crate) struct FileList {
    steps: Writer,
    last: u32,
}

impl FileList {
    pub(crate) fn of(numbers: impl IntoIterator<Item = u32>) -> Self {
        let mut list = Self::default();
        numbers.into_iter().for_each(|number| list.push(number));
        list
    }

    /// Adds a number that is greater than all before it; the first may be 0.
    pub(crate) fn push(&mut self, number: u32) {
        self.steps.number(u64::from(number - self.last));
        self.last = number;
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.steps.0
    }

    pub(crate) fn numbers(&self) -> Result<Vec<u32>> {
        Self::read(&self.steps.0, u32::MAX)
    }

    /// Numbers below a limit out of bytes.
    pub(crate) fn read(bytes: &[u8], below: u32) -> Result<Vec<u32>> {
        let mut from = Reader(bytes);
        let (mut numbers, mut last) = (Vec::new(), 0_u64);
        while !from.0.is_empty() {
            last = last.checked_add(from.number()?).filter(|number| *number < u64::from(below)).ok_or_else(damaged)?;
            numbers.push(last as u32);
        }
        Ok(numbers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_and_are_below_their_limit() {
        let list = FileList::of([0, 1, 200, 70_000]);
        assert_eq!(list.numbers().unwrap(), [0, 1, 200, 70_000]);
        assert_eq!(list.bytes().len(), 1 + 1 + 2 + 3);
        assert!(FileList::read(list.bytes(), 70_000).is_err());
        assert!(FileList::read(&[], 0).unwrap().is_empty());
    }
}
