//! FAISS files of `IndexFlatIP`: exact inner product, all vectors one after the other.
//!
//! The layout, little endian, as `faiss::write_index` makes it (1.15) and as it has been for years:
//!
//! | bytes | what |
//! |---|---|
//! | 4 | `IxFI` |
//! | 4 | dimension, `int` |
//! | 8 | number of vectors, `int64` |
//! | 8 + 8 | two numbers that are not used, 2^20 each |
//! | 1 | whether it is trained: 1 |
//! | 4 | the metric: 0, inner product |
//! | 8 | how many floats follow: dimension · vectors |
//! | 4 each | the floats, row by row |

use std::{
    fs::File,
    io::{BufReader, BufWriter, Read, Write},
    path::Path,
};

use wb_core::{Error, Result};

/// The vectors of an `IndexFlatIP`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FlatIp {
    /// Values per vector.
    pub dimension: usize,
    /// All values, row by row.
    pub values: Vec<f32>,
}

const MAGIC: [u8; 4] = *b"IxFI";
const UNUSED: i64 = 1 << 20;
/// All before the floats.
const HEADER: usize = 45;

impl FlatIp {
    /// Vectors of one dimension.
    ///
    /// # Errors
    ///
    /// If the floats are no whole number of vectors, or the dimension is 0 or too large for the file.
    pub fn new(dimension: usize, values: Vec<f32>) -> Result<Self> {
        let fits = dimension > 0 && i32::try_from(dimension).is_ok() && values.len().is_multiple_of(dimension);
        if fits {
            Ok(Self { dimension, values })
        } else {
            Err(Error::failed(format!("{} floats are no vectors of {dimension}", values.len())))
        }
    }

    /// Number of vectors.
    pub fn len(&self) -> usize {
        self.values.len().checked_div(self.dimension).unwrap_or(0)
    }

    /// True where there are no vectors.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The vectors, in order.
    pub fn rows(&self) -> impl Iterator<Item = &[f32]> {
        self.values.chunks_exact(self.dimension.max(1))
    }

    /// Writes the file; one that is there is replaced when the new one is whole.
    ///
    /// # Errors
    ///
    /// If it cannot be written, or the vectors have no dimension.
    pub fn write(&self, path: &Path) -> Result<()> {
        Self::new(self.dimension, Vec::new())?;
        wb_core::atomic::write_with(path, |file| {
            let mut out = BufWriter::new(file);
            self.encode(&mut out)?;
            out.flush()
        })
    }

    fn encode(&self, out: &mut impl Write) -> std::io::Result<()> {
        out.write_all(&MAGIC)?;
        out.write_all(&i32::try_from(self.dimension).unwrap_or(i32::MAX).to_le_bytes())?;
        for number in [i64::try_from(self.len()).unwrap_or(i64::MAX), UNUSED, UNUSED] {
            out.write_all(&number.to_le_bytes())?;
        }
        out.write_all(&[1])?;
        out.write_all(&0_i32.to_le_bytes())?;
        out.write_all(&(self.values.len() as u64).to_le_bytes())?;
        self.values.iter().try_for_each(|value| out.write_all(&value.to_le_bytes()))
    }

    /// Reads a file. Sizes are checked against each other and against the file before memory is taken.
    ///
    /// # Errors
    ///
    /// If it cannot be read, is no `IndexFlatIP`, is cut, or has bytes behind its end.
    pub fn read(path: &Path) -> Result<Self> {
        let io = |source| Error::Io { action: "read", path: path.to_owned(), source };
        let file = File::open(path).map_err(io)?;
        let length = file.metadata().map_err(io)?.len();
        let layout = |at: usize, what: String| Error::data(format!("{}: byte {at}", path.display()), what);
        let mut reader = BufReader::new(file);
        let mut header = Vec::with_capacity(HEADER);
        reader.by_ref().take(HEADER as u64).read_to_end(&mut header).map_err(io)?;
        let header: [u8; HEADER] = header.try_into().map_err(|short: Vec<u8>| {
            layout(short.len(), format!("the file ends, expected {HEADER} bytes before the vectors"))
        })?;
        let (dimension, count) = Self::sizes(&header, length).map_err(|(at, what)| layout(at, what))?;
        let mut values = Vec::with_capacity(count);
        let mut bytes = vec![0; 4 << 10];
        while values.len() < count {
            let take = bytes.len().min(4 * (count - values.len()));
            reader.read_exact(&mut bytes[..take]).map_err(io)?;
            values.extend(
                bytes[..take].chunks_exact(4).map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]])),
            );
        }
        Ok(Self { dimension, values })
    }

    /// Dimension and number of floats out of a header, checked against the file's length.
    fn sizes(header: &[u8; HEADER], length: u64) -> Result<(usize, usize), (usize, String)> {
        let eight = |at: usize| header[at..].first_chunk::<8>().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let four = |at: usize| header[at..].first_chunk::<4>().map_or(0, |bytes| i32::from_le_bytes(*bytes));
        if header[..4] != MAGIC {
            let found: String = header[..4].iter().flat_map(|byte| byte.escape_ascii()).map(char::from).collect();
            return Err((0, format!("found `{found}`, expected `IxFI`: the file is no IndexFlatIP")));
        }
        let dimension = usize::try_from(four(4)).ok().filter(|&dimension| dimension > 0);
        let dimension = dimension.ok_or_else(|| (4, format!("dimension {}, expected 1 or more", four(4))))?;
        if header[32] != 1 {
            return Err((32, format!("found {}, expected 1: the index is not trained", header[32])));
        }
        if four(33) != 0 {
            return Err((33, format!("metric {}, expected 0: inner product", four(33))));
        }
        let (vectors, count) = (eight(8), eight(37));
        if vectors.checked_mul(dimension as u64) != Some(count) {
            return Err((37, format!("{count} floats, expected {vectors} vectors of {dimension}")));
        }
        let expected = count.checked_mul(4).and_then(|bytes| bytes.checked_add(HEADER as u64));
        if expected != Some(length) {
            return Err((HEADER, format!("the file has {length} bytes, which is not room for {count} floats exactly")));
        }
        let count =
            usize::try_from(count).map_err(|_| (37, format!("{count} floats are too many for this machine")))?;
        Ok((dimension, count))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use std::fs;

    use super::*;

    /// Bytes that faiss 1.15 writes for the three vectors (0, 1), (2, 3), (4, 5).
    const REAL: &str = "4978464902000000030000000000000000001000000000000000100000000000010000000006000000000000000000\
                        00000000803f0000004000004040000080400000a040";

    fn bytes_of(hex: &str) -> Vec<u8> {
        let hex: Vec<u8> = hex.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
        hex.chunks(2).map(|two| u8::from_str_radix(std::str::from_utf8(two).unwrap(), 16).unwrap()).collect()
    }

    fn read(bytes: &[u8]) -> Result<FlatIp> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index.bin");
        fs::write(&path, bytes).unwrap();
        FlatIp::read(&path)
    }

    #[test]
    fn the_bytes_are_those_of_faiss() {
        let index = FlatIp::new(2, (0_u8..6).map(f32::from).collect()).unwrap();
        let mut bytes = Vec::new();
        index.encode(&mut bytes).unwrap();
        assert_eq!(bytes, bytes_of(REAL));
        assert_eq!(read(&bytes).unwrap(), index);
        let empty = FlatIp::new(7, Vec::new()).unwrap();
        let mut bytes = Vec::new();
        empty.encode(&mut bytes).unwrap();
        assert_eq!((bytes.len(), read(&bytes).unwrap()), (45, empty));
        assert!(FlatIp::new(0, Vec::new()).is_err() && FlatIp::new(2, vec![1.0]).is_err());
    }

    #[test]
    fn other_files_are_told_apart() {
        let real = bytes_of(REAL);
        let with = |at: usize, byte: u8| {
            let mut bytes = real.clone();
            bytes[at] = byte;
            read(&bytes).unwrap_err().to_string()
        };
        assert!(with(3, b'2').contains("`IxF2`"));
        assert!(with(33, 1).contains("metric 1"));
        assert!(with(32, 0).contains("not trained"));
        assert!(with(7, 0x80).contains("dimension -"));
        assert!(with(15, 0x7f).contains("6 floats, expected"));
        assert!(read(&real[..20]).unwrap_err().to_string().contains("byte 20: the file ends"));
        assert!(read(&real[..68]).unwrap_err().to_string().contains("68 bytes"));
        assert!(read(&[real.clone(), vec![0]].concat()).unwrap_err().to_string().contains("70 bytes"));
        // Sizes that agree with each other, but not with the file: no memory is taken for them.
        let mut huge = real;
        huge[8..16].copy_from_slice(&(1_u64 << 60).to_le_bytes());
        huge[37..45].copy_from_slice(&(1_u64 << 61).to_le_bytes());
        assert!(read(&huge).unwrap_err().to_string().contains("not room"));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(at in 0_usize..45, bytes in prop::collection::vec(any::<u8>(), 0..90), keep in 0_usize..69) {
            let mut file = bytes_of(REAL);
            file.truncate(keep);
            let at = at.min(file.len());
            file.splice(at..(at + 3).min(file.len()), bytes);
            if let Ok(index) = read(&file) {
                prop_assert_eq!(index.values.len() * 4 + HEADER, file.len());
            }
        }

        #[test]
        fn what_is_written_is_read(dimension in 1_usize..9, count in 0_usize..9, bits in any::<u32>()) {
            let values = (0..dimension * count).map(|at| f32::from_bits(bits.rotate_left(at as u32) & 0x7f7f_ffff)).collect();
            let index = FlatIp::new(dimension, values).unwrap();
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("a.bin");
            index.write(&path).unwrap();
            prop_assert_eq!(FlatIp::read(&path).unwrap(), index);
        }
    }
}
