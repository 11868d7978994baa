//! The head of NumPy's `.npy` files (format 1 to 3): the type of the numbers, their order, and the shape.

use std::{fmt::Write as _, io::Read};

/// The head of a `.npy` file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NpyHeader {
    /// The type of an entry as Python writes it, with its quotes: `'<f4'` for little-endian 32-bit floats, `'|O'` for
    /// Python's objects.
    pub kind: String,
    /// Column after column instead of row after row.
    pub fortran_order: bool,
    /// Number of entries along each axis; none for a single entry.
    pub shape: Vec<u64>,
}

/// Limit of a header's length: none is so long.
const LONGEST: u64 = 1 << 24;
/// Greatest number of axes that NumPy has.
const MOST_AXES: usize = 64;
/// Heads are padded to a multiple of this; NumPy wants a multiple of 64 bytes before the first entry.
const ALIGNMENT: usize = 128;

impl NpyHeader {
    /// The head of entries that stand row after row.
    pub fn new(kind: &str, shape: &[usize]) -> Self {
        Self { kind: format!("'{kind}'"), fortran_order: false, shape: shape.iter().map(|size| *size as u64).collect() }
    }

    /// Reads a head, with how many bytes stand before the first entry.
    ///
    /// # Errors
    ///
    /// In words, without the file's name, if it is no whole head.
    pub fn read(file: &mut impl Read) -> Result<(Self, u64), String> {
        let head = take(file, 8)?;
        if &head[..6] != b"\x93NUMPY" {
            return Err("does not begin as a .npy file does".into());
        }
        let bytes = if head[6] == 1 { 2 } else { 4 };
        let (header, length) = sized_header(file, bytes)?;
        Ok((Self::parse(&String::from_utf8_lossy(&header))?, 8 + bytes + length))
    }

    /// Reads the dictionary `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }`.
    fn parse(header: &str) -> Result<Self, String> {
        let value = |key: &str| {
            let after = header.split_once(&format!("'{key}'")).map(|(_, after)| after.trim_start_matches([':', ' ']));
            after.ok_or_else(|| format!("no `{key}` in its header"))
        };
        let kind = value("descr")?.split(',').next().unwrap_or_default().chars().take(80).collect();
        let fortran_order = !value("fortran_order")?.starts_with("False");
        let shape = value("shape")?.trim_start_matches('(').split(')').next().unwrap_or_default();
        let sizes = shape.split(',').map(str::trim).filter(|size| !size.is_empty());
        let sizes: Option<Vec<u64>> = sizes.take(MOST_AXES + 1).map(|size| size.parse().ok()).collect();
        let shown = || shape.chars().take(80).collect::<String>();
        let shape = sizes.ok_or_else(|| format!("has the shape ({}), expected whole numbers", shown()))?;
        if shape.len() > MOST_AXES {
            return Err(format!("has a shape of more than {MOST_AXES} axes"));
        }
        Ok(Self { kind, fortran_order, shape })
    }

    /// The shape as Python writes it: `(3, 2)`, `(3,)`, `()`.
    pub fn shape_text(&self) -> String {
        let sizes: Vec<String> = self.shape.iter().map(u64::to_string).collect();
        format!("({}{})", sizes.join(", "), if sizes.len() == 1 { "," } else { "" })
    }

    /// The head's bytes in format 1.0, as `numpy.save` lays them out.
    pub fn encode(&self) -> Vec<u8> {
        let order = if self.fortran_order { "True" } else { "False" };
        let mut text =
            format!("{{'descr': {}, 'fortran_order': {order}, 'shape': {}, }}", self.kind, self.shape_text());
        // Magic, version and length take 10 bytes, the line's end one.
        let width = (11 + text.len()).next_multiple_of(ALIGNMENT) - 11;
        let padding = width - text.len();
        let _ = writeln!(text, "{:padding$}", "");
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((text.len() as u16).to_le_bytes());
        bytes.extend(text.as_bytes());
        bytes
    }
}

/// Reads a header with its length, which stands before it in so many bytes.
pub(crate) fn sized_header(file: &mut impl Read, bytes: u64) -> Result<(Vec<u8>, u64), String> {
    let length = take(file, bytes)?.iter().rev().fold(0, |n, byte| n << 8 | u64::from(*byte));
    if length > LONGEST {
        return Err(format!("a header of {length} bytes, expected a shorter one"));
    }
    Ok((take(file, length)?, length))
}

fn take(file: &mut impl Read, n: u64) -> Result<Vec<u8>, String> {
    let mut bytes = vec![0; n as usize];
    file.read_exact(&mut bytes).map_err(|_| "ends inside its header".to_owned())?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_those_of_numpy_and_come_back() {
        // What `numpy.save` puts before three objects.
        let mut numpy = b"\x93NUMPY\x01\x00v\x00{'descr': '|O', 'fortran_order': False, 'shape': (3,), }".to_vec();
        numpy.resize(127, b' ');
        numpy.push(b'\n');
        assert_eq!(NpyHeader::new("|O", &[3]).encode(), numpy);
        for shape in [&[][..], &[7], &[usize::MAX, 2]] {
            let header = NpyHeader::new("<f4", shape);
            let bytes = header.encode();
            assert_eq!(NpyHeader::read(&mut &bytes[..]), Ok((header, 128)));
            for end in 0..bytes.len() {
                assert_eq!(NpyHeader::read(&mut &bytes[..end]), Err("ends inside its header".to_owned()));
            }
        }
    }

    #[test]
    fn what_is_no_head_says_so() {
        let refused = |text: &str| {
            let length = (text.len() as u16).to_le_bytes();
            let bytes = [&b"\x93NUMPY\x01\x00"[..], &length, text.as_bytes()].concat();
            NpyHeader::read(&mut &bytes[..]).unwrap_err()
        };
        assert_eq!(refused("{'fortran_order': False}"), "no `descr` in its header");
        assert_eq!(
            refused("{'descr': '<f4', 'fortran_order': False, 'shape': (-1, 2), }"),
            "has the shape (-1, 2), expected whole numbers"
        );
        let long = b"\x93NUMPY\x02\x00\xff\xff\xff\xff";
        assert_eq!(
            NpyHeader::read(&mut &long[..]),
            Err("a header of 4294967295 bytes, expected a shorter one".to_owned())
        );
    }
}
