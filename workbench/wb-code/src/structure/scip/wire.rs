//! The fields of a message of protocol buffers, read in place: nothing is taken from memory for what a file only claims to
//! hold.

/// Content of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WireValue<'a> {
    /// A number.
    Number(u64),
    /// A text, a message, numbers in a row.
    Bytes(&'a [u8]),
    /// Bytes of a fixed length, which nothing here asks for.
    Fixed,
}

/// The fields of a message, one after the other; an error where its bytes are none.
#[derive(Debug, Clone)]
pub(super) struct WireFields<'a>(pub &'a [u8]);

/// Mark of bytes that are no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NoMessage;

impl<'a> WireFields<'a> {
    fn number(&mut self) -> Result<u64, NoMessage> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first().ok_or(NoMessage)?;
            self.0 = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(NoMessage)
    }

    fn bytes(&mut self, length: u64) -> Result<&'a [u8], NoMessage> {
        let length = usize::try_from(length).map_err(|_| NoMessage)?;
        let (taken, rest) = self.0.split_at_checked(length).ok_or(NoMessage)?;
        self.0 = rest;
        Ok(taken)
    }

    fn field(&mut self) -> Result<(u64, WireValue<'a>), NoMessage> {
        let key = self.number()?;
        let value = match key & 7 {
            0 => WireValue::Number(self.number()?),
            1 => self.bytes(8).map(|_| WireValue::Fixed)?,
            2 => {
                let length = self.number()?;
                WireValue::Bytes(self.bytes(length)?)
            }
            5 => self.bytes(4).map(|_| WireValue::Fixed)?,
            _ => return Err(NoMessage),
        };
        match key >> 3 {
            0 => Err(NoMessage),
            tag => Ok((tag, value)),
        }
    }
}

impl<'a> Iterator for WireFields<'a> {
    type Item = Result<(u64, WireValue<'a>), NoMessage>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.0 = &[];
        }
        Some(field)
    }
}

/// Numbers in a row, which are at most so many.
pub(super) fn numbers<const MOST: usize>(bytes: &[u8]) -> Result<([u64; MOST], usize), NoMessage> {
    let (mut all, mut count, mut rest) = ([0; MOST], 0, WireFields(bytes));
    while !rest.0.is_empty() {
        *all.get_mut(count).ok_or(NoMessage)? = rest.number()?;
        count += 1;
    }
    Ok((all, count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_and_bytes_that_are_none_end_them() {
        let fields = |bytes| WireFields(bytes).collect::<Result<Vec<_>, _>>();
        assert_eq!(
            fields(&[8, 0x96, 1, 18, 2, 7, 7]),
            Ok(vec![(1, WireValue::Number(150)), (2, WireValue::Bytes(&[7, 7]))])
        );
        assert_eq!(fields(&[13, 0, 0, 0, 0]), Ok(vec![(1, WireValue::Fixed)]));
        for bad in [&[18, 3, 7, 7][..], &[8], &[0x80; 12], &[0, 1], &[11], &[9, 0]] {
            assert_eq!(fields(bad), Err(NoMessage), "{bad:?}");
        }
        assert_eq!(numbers::<4>(&[1, 2, 3]), Ok(([1, 2, 3, 0], 3)));
        assert_eq!(numbers::<2>(&[1, 2, 3]), Err(NoMessage));
    }
}
