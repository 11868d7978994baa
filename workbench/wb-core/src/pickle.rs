//! The tape that a pickle's program runs over: its bytes, and the stack, marks and memo of values that it makes.
//!
//! Values are known here by their places alone. What a program may make of its steps, and which names it may use, is the
//! business of each reader; nothing is ever executed. Messages name no file and no byte: readers put those before them.

use std::collections::BTreeMap;

/// A value, by its place among all values that a reader made.
pub type Id = usize;

/// A program, how far it was read, and the places of its values.
#[derive(Debug)]
pub struct PickleTape<'a> {
    program: &'a [u8],
    at: usize,
    stack: Vec<Id>,
    /// Height of the stack at each mark.
    marks: Vec<usize>,
    memo: BTreeMap<u32, Id>,
}

impl<'a> PickleTape<'a> {
    /// A program at its beginning.
    pub fn new(program: &'a [u8]) -> Self {
        Self { program, at: 0, stack: Vec::new(), marks: Vec::new(), memo: BTreeMap::new() }
    }

    /// Bytes read.
    pub fn at(&self) -> usize {
        self.at
    }

    /// Bytes that were not read.
    pub fn left(&self) -> usize {
        self.program.len() - self.at
    }

    /// Values and marks that are still there, and values that are remembered: what memory depends on.
    pub fn places(&self) -> usize {
        self.stack.len() + self.marks.len() + self.memo.len()
    }

    /// The next `n` bytes.
    pub fn take(&mut self, n: usize) -> Result<&'a [u8], String> {
        let end = self.at.checked_add(n).filter(|end| *end <= self.program.len());
        let end = end.ok_or_else(|| format!("ends after {} bytes, in the middle of a step", self.program.len()))?;
        let taken = &self.program[self.at..end];
        self.at = end;
        Ok(taken)
    }

    /// An unsigned little-endian number of up to eight bytes.
    pub fn number(&mut self, bytes: usize) -> Result<u64, String> {
        Ok(self.take(bytes)?.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// The number of LONG1: a length, and so many little-endian bytes with a sign.
    pub fn long(&mut self) -> Result<i64, String> {
        let length = usize::from(self.take(1)?[0]);
        let bytes = self.take(length)?;
        if length > 8 {
            return Err(format!("has a number of {length} bytes"));
        }
        let sign = bytes.last().map_or(0, |byte| if byte & 0x80 != 0 { 0xff } else { 0 });
        let mut whole = [sign; 8];
        whole[..length].copy_from_slice(bytes);
        Ok(i64::from_le_bytes(whole))
    }

    /// A text behind its length, which has so many bytes.
    pub fn text(&mut self, length_bytes: usize) -> Result<&'a str, String> {
        let length = usize::try_from(self.number(length_bytes)?).unwrap_or(usize::MAX);
        utf8(self.take(length)?)
    }

    /// A text up to the end of its line.
    pub fn line(&mut self) -> Result<&'a str, String> {
        let rest = &self.program[self.at..];
        let length = rest.iter().position(|byte| *byte == b'\n').ok_or("has a name without an end")?;
        let line = self.take(length + 1)?;
        utf8(&line[..length])
    }

    /// Puts a value on the stack.
    pub fn push(&mut self, id: Id) {
        self.stack.push(id);
    }

    /// The uppermost value.
    pub fn top(&self) -> Result<Id, String> {
        self.stack.last().copied().ok_or_else(nothing_there)
    }

    /// Takes the uppermost value, which must lie above the last mark.
    pub fn pop(&mut self) -> Result<Id, String> {
        let floor = self.marks.last().copied().unwrap_or(0);
        if self.stack.len() <= floor {
            return Err(nothing_there());
        }
        self.stack.pop().ok_or_else(nothing_there)
    }

    /// Takes the `n` uppermost values, the lowest first.
    pub fn pop_many(&mut self, n: usize) -> Result<Vec<Id>, String> {
        let mut items = (0..n).map(|_| self.pop()).collect::<Result<Vec<Id>, String>>()?;
        items.reverse();
        Ok(items)
    }

    /// Takes the values above the last mark, and the mark.
    pub fn pop_to_mark(&mut self) -> Result<Vec<Id>, String> {
        let mark = self.marks.pop().ok_or("has no mark where one is needed")?;
        Ok(self.stack.split_off(mark))
    }

    /// The value that a program leaves at its end, which has to be its only one.
    pub fn last(&mut self) -> Result<Id, String> {
        let last = self.pop()?;
        match self.stack.is_empty() && self.marks.is_empty() {
            true => Ok(last),
            false => Err("ends with values that nothing used".into()),
        }
    }

    /// Does a step that makes no value: FRAME, MARK, and those of the memo. False where `code` is none of them.
    pub fn moves(&mut self, code: u8) -> Result<bool, String> {
        match code {
            // FRAME: only tells how much to read at once.
            0x95 => drop(self.take(8)?),
            b'(' => self.marks.push(self.stack.len()),
            b'q' | b'r' => {
                let place = self.place(code == b'q')?;
                self.remember(place)?;
            }
            0x94 => self.remember(self.memo.len() as u32)?,
            b'h' | b'j' => {
                let place = self.place(code == b'h')?;
                let id = self.memo.get(&place).ok_or_else(|| format!("recalls {place}, which was never remembered"))?;
                self.stack.push(*id);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// A place of the memo.
    fn place(&mut self, is_short: bool) -> Result<u32, String> {
        Ok(self.number(if is_short { 1 } else { 4 })? as u32)
    }

    fn remember(&mut self, place: u32) -> Result<(), String> {
        let top = self.top()?;
        self.memo.insert(place, top);
        Ok(())
    }
}

/// A name as messages show it: short, and with nothing in it that a terminal would follow.
pub fn shown(text: &str) -> String {
    text.chars().take(80).collect::<String>().escape_debug().to_string()
}

fn nothing_there() -> String {
    "takes a value where there is none".into()
}

fn utf8(bytes: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(bytes).map_err(|_| "has text that is no UTF-8".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_move_as_the_steps_say() {
        let mut tape = PickleTape::new(b"\x94h\x00(t\x8a\x01\xff");
        assert_eq!(tape.moves(b'\x94').unwrap_err(), "takes a value where there is none");
        tape.push(7);
        for _ in 0..3 {
            let code = tape.take(1).unwrap()[0];
            assert!(tape.moves(code).unwrap(), "{code:#x}");
        }
        // 7 was remembered, recalled, and a mark stands above both.
        assert_eq!(tape.pop().unwrap_err(), "takes a value where there is none");
        tape.push(8);
        let code = tape.take(1).unwrap()[0];
        assert!(!tape.moves(code).unwrap());
        assert_eq!((tape.pop_to_mark().unwrap(), tape.places()), (vec![8], 3));
        assert_eq!(tape.pop_many(2).unwrap(), [7, 7]);
        assert_eq!(tape.pop_to_mark().unwrap_err(), "has no mark where one is needed");
        tape.take(1).unwrap();
        assert_eq!((tape.long().unwrap(), tape.left()), (-1, 0));
        assert_eq!(tape.number(4).unwrap_err(), "ends after 8 bytes, in the middle of a step");
    }
}
