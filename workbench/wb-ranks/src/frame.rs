//! Messages as bytes: a head, which says what they are, and numbers.
//!
//! `kind: u8`, and of a message `head: u32`, `numbers: u64` (lengths in bytes, little-endian), then both. A kind of 0 is a
//! sign of life and nothing else.

use std::io::{self, Read, Write};

use serde::{Serialize, de::DeserializeOwned};
use wb_core::{Error, Result};

const SIGN_OF_LIFE: u8 = 0;
const MESSAGE: u8 = 1;

/// A message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    head: Vec<u8>,
    /// The bytes behind the head.
    pub(crate) numbers: Vec<u8>,
}

impl Frame {
    /// A head alone, in the form of `postcard`.
    pub(crate) fn of(head: &impl Serialize) -> Result<Self> {
        Self::with(head, Vec::new())
    }

    /// A head and numbers.
    pub(crate) fn with(head: &impl Serialize, numbers: Vec<u8>) -> Result<Self> {
        let head =
            postcard::to_allocvec(head).map_err(|error| Error::failed(format!("a message as bytes: {error}")))?;
        Ok(Self { head, numbers })
    }

    /// The head.
    pub(crate) fn head<T: DeserializeOwned>(&self) -> Result<T> {
        postcard::from_bytes(&self.head)
            .map_err(|_| Error::failed("a rank sent a message that is none of this build's"))
    }

    /// Writes the message.
    pub(crate) fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let length = u32::try_from(self.head.len()).map_err(io::Error::other)?;
        let mut bytes = vec![MESSAGE];
        bytes.extend(length.to_le_bytes());
        bytes.extend((self.numbers.len() as u64).to_le_bytes());
        bytes.extend(&self.head);
        to.write_all(&bytes)?;
        to.write_all(&self.numbers)?;
        to.flush()
    }

    /// Reads a message of so many bytes at most; none for a sign of life.
    pub(crate) fn read(from: &mut impl Read, most: u64) -> io::Result<Option<Self>> {
        let mut kind = [0];
        from.read_exact(&mut kind)?;
        if kind[0] == SIGN_OF_LIFE {
            return Ok(None);
        }
        let (mut head, mut numbers) = ([0; 4], [0; 8]);
        from.read_exact(&mut head)?;
        from.read_exact(&mut numbers)?;
        let (head, numbers) = (u64::from(u32::from_le_bytes(head)), u64::from_le_bytes(numbers));
        if kind[0] != MESSAGE || head.saturating_add(numbers) > most {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "what came is no message of wb"));
        }
        Ok(Some(Self { head: exactly(from, head)?, numbers: exactly(from, numbers)? }))
    }

    /// Writes a sign of life.
    pub(crate) fn write_sign_of_life(to: &mut impl Write) -> io::Result<()> {
        to.write_all(&[SIGN_OF_LIFE])
    }
}

/// Reads so many bytes; memory is taken as they come.
fn exactly(from: &mut impl Read, bytes: u64) -> io::Result<Vec<u8>> {
    let mut found = Vec::with_capacity(bytes.min(1 << 26) as usize);
    let read = from.take(bytes).read_to_end(&mut found)? as u64;
    if read == bytes { Ok(found) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_go_through_and_what_is_none_is_refused() {
        let mut bytes = Vec::new();
        let sent = Frame::with(&("head", 7u32), vec![1, 2, 3]).unwrap();
        sent.write(&mut bytes).unwrap();
        Frame::write_sign_of_life(&mut bytes).unwrap();
        Frame::of(&1u8).unwrap().write(&mut bytes).unwrap();
        let mut from = &bytes[..];
        let found = Frame::read(&mut from, 100).unwrap().unwrap();
        assert_eq!(found.head::<(String, u32)>().unwrap(), ("head".to_owned(), 7));
        assert_eq!(found, sent);
        assert_eq!(Frame::read(&mut from, 100).unwrap(), None);
        assert_eq!(Frame::read(&mut from, 100).unwrap().unwrap().head::<u8>().unwrap(), 1);
        assert_eq!(Frame::read(&mut from, 100).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        // Too long, cut, and not even begun like one.
        assert_eq!(Frame::read(&mut &bytes[..], 8).unwrap_err().kind(), io::ErrorKind::InvalidData);
        assert_eq!(Frame::read(&mut &bytes[..15], 100).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        assert_eq!(
            Frame::read(&mut &b"GET / HTTP/1.1\r\n\r\n"[..], 100).unwrap_err().kind(),
            io::ErrorKind::InvalidData
        );
    }
}
