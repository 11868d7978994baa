//! Numbers and texts as bytes of an index, and their reading, which trusts nothing.

mod open_file;
mod sealed;

pub(crate) use open_file::OpenFile;
pub(crate) use sealed::{Checksum, Magic, Sealed, checksum};

use crate::{Error, Result};

/// Bytes that grow.
#[derive(Debug, Default)]
pub(crate) struct Writer(pub Vec<u8>);

impl Writer {
    /// A number, seven bits a byte, the lowest first.
    pub fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    /// A key of a text, 16 bytes.
    pub fn key(&mut self, key: &[u64; 2]) {
        key.iter().for_each(|word| self.0.extend_from_slice(&word.to_le_bytes()));
    }

    /// A text after its length.
    pub fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.0.extend_from_slice(text.as_bytes());
    }
}

/// Bytes that are read from the front.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    #[inline]
    pub fn number(&mut self) -> Result<u64> {
        // Most have one byte.
        match self.0 {
            [byte, rest @ ..] if *byte < 0x80 => {
                self.0 = rest;
                Ok(u64::from(*byte))
            }
            _ => self.long_number(),
        }
    }

    fn long_number(&mut self) -> Result<u64> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first().ok_or_else(damaged)?;
            self.0 = rest;
            number |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(damaged())
    }

    /// A number below a limit.
    pub fn below(&mut self, limit: u64) -> Result<u32> {
        let number = self.number()?;
        u32::try_from(number).ok().filter(|_| number < limit).ok_or_else(damaged)
    }

    /// A number of a smaller type.
    pub fn count<T: TryFrom<u64>>(&mut self) -> Result<T> {
        T::try_from(self.number()?).map_err(|_| damaged())
    }

    pub fn bytes(&mut self, n: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(n).ok_or_else(damaged)?;
        self.0 = rest;
        Ok(taken)
    }

    /// A key of a text.
    pub fn key(&mut self) -> Result<[u64; 2]> {
        let mut word = || self.bytes(8)?.try_into().map(u64::from_le_bytes).map_err(|_| damaged());
        Ok([word()?, word()?])
    }

    pub fn text(&mut self) -> Result<&'a str> {
        let n = usize::try_from(self.number()?).map_err(|_| damaged())?;
        std::str::from_utf8(self.bytes(n)?).map_err(|_| damaged())
    }
}

/// The error of an index that is not what was written.
pub(crate) fn damaged() -> Error {
    unusable("is damaged: a length or an offset in it points out of it")
}

/// The error of an index that has to be made again.
pub(crate) fn unusable(what: &str) -> Error {
    Error::data("index", what).with_hint("make it again: wb index --anew")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_texts_come_back() {
        let numbers = [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX];
        let mut writer = Writer::default();
        numbers.iter().for_each(|number| writer.number(*number));
        writer.text("über");
        let mut reader = Reader(&writer.0);
        for number in numbers {
            assert_eq!(reader.number().unwrap(), number);
        }
        assert_eq!((reader.text().unwrap(), reader.0.len()), ("über", 0));
        assert!(reader.number().is_err());
        assert!(Reader(&[0xff; 12]).number().is_err());
        assert!(Reader(&[9, b'a']).text().is_err());
        assert!(Reader(&[7]).below(7).is_err());
    }
}
