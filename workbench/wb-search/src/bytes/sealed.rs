//! A file of sections that is checked before anything in it is believed.
//!
//! Eight bytes of magic, the last two of them the version; the lengths of the sections as 8 bytes each; the sections; 32
//! bytes of BLAKE3 of all before. Numbers are in little endian.

use std::{fs::File, io::Read, ops::Range, path::Path};

use wb_retrieval::MappedBytes;

use super::{OpenFile, damaged, unusable};
use crate::Result;

const CHECKSUM: usize = blake3::OUT_LEN;
/// Bytes that are checked at a time.
const PIECE: usize = 1 << 20;

/// The first bytes of a file: its kind and the version of its form.
pub(crate) type Magic = [u8; 8];

/// The last bytes of a file, which are a checksum of those before.
pub(crate) type Checksum = [u8; CHECKSUM];

/// The checksum that bytes end with; none where they are too few.
pub(crate) fn checksum(bytes: &[u8]) -> Option<Checksum> {
    bytes.last_chunk().copied()
}

/// The bytes of such a file, whose checksum holds, and the places of its `N` sections.
#[derive(Debug, Clone)]
pub(crate) struct Sealed<const N: usize> {
    bytes: MappedBytes,
    places: [Range<usize>; N],
}

impl<const N: usize> Sealed<N> {
    const HEAD: usize = size_of::<Magic>() + 8 * N;

    /// Sections as a file.
    pub fn of(magic: &Magic, sections: &[&[u8]; N]) -> Self {
        let length: usize = sections.iter().map(|section| section.len()).sum();
        let mut bytes = Vec::with_capacity(Self::HEAD + length + CHECKSUM);
        bytes.extend_from_slice(magic);
        sections.iter().for_each(|section| bytes.extend_from_slice(&(section.len() as u64).to_le_bytes()));
        let places = sections.map(|section| {
            let from = bytes.len();
            bytes.extend_from_slice(section);
            from..bytes.len()
        });
        let sum = blake3::hash(&bytes);
        bytes.extend_from_slice(sum.as_bytes());
        Self { bytes: MappedBytes::new(bytes), places }
    }

    /// A file, after its bytes were checked.
    pub fn open(magic: &Magic, file: &OpenFile) -> Result<Self> {
        let bytes = file.bytes().clone();
        let body = Self::body(magic, &bytes)?;
        let mut hasher = blake3::Hasher::new();
        file.read_first(body as u64, &mut vec![0; PIECE], |piece| _ = hasher.update(piece))?;
        let holds = |hash: blake3::Hash| hash.as_bytes() == &bytes[body..];
        // Between mapping and opening another file may have been put in its place: what is mapped decides.
        if !holds(hasher.finalize()) && !holds(blake3::hash(&bytes[..body])) {
            return Err(unusable("is damaged: its checksum is another"));
        }
        let mut places = [const { 0..0 }; N];
        let mut from = Self::HEAD;
        for (place, length) in places.iter_mut().zip(bytes[size_of::<Magic>()..Self::HEAD].chunks_exact(8)) {
            let length = length.try_into().ok().map(u64::from_le_bytes).and_then(|length| usize::try_from(length).ok());
            let to = length.and_then(|length| from.checked_add(length)).filter(|to| *to <= body).ok_or_else(damaged)?;
            *place = from..to;
            from = to;
        }
        if from == body { Ok(Self { bytes, places }) } else { Err(damaged()) }
    }

    /// Reads a part of an index after its bytes were checked; `None` where it is not there, or of another version of this
    /// program, and is to be made anew. An error names its file.
    pub fn read_part<T>(
        magic: &Magic,
        part: Option<&OpenFile>,
        read: impl FnOnce(Self) -> Result<T>,
    ) -> Result<Option<T>> {
        let is_of_another = |bytes: &[u8]| bytes.starts_with(&magic[..6]) && !bytes.starts_with(magic);
        let Some(file) = part.filter(|file| !is_of_another(file.bytes())) else { return Ok(None) };
        Self::open(magic, file).and_then(read).map(Some).map_err(|error| file.told(error))
    }

    /// True for a file that another version of this program wrote.
    pub fn is_of_another_version(magic: &Magic, path: &Path) -> bool {
        Self::head(path).is_some_and(|head| head[..6] == magic[..6] && head != *magic)
    }

    /// True for a file that begins as this program's of this kind do, of any version.
    pub fn is_of_any_version(magic: &Magic, path: &Path) -> bool {
        Self::head(path).is_some_and(|head| head[..6] == magic[..6])
    }

    /// The first bytes of a plain file.
    fn head(path: &Path) -> Option<Magic> {
        let mut head = Magic::default();
        path.is_file().then(|| File::open(path).and_then(|mut file| file.read_exact(&mut head)).ok()).flatten()?;
        Some(head)
    }

    fn body(magic: &Magic, bytes: &[u8]) -> Result<usize> {
        if !bytes.starts_with(&magic[..6]) {
            return Err(unusable("is no index of this program"));
        }
        if !bytes.starts_with(magic) {
            return Err(unusable("was written by another version of this program"));
        }
        bytes.len().checked_sub(CHECKSUM).filter(|body| *body >= Self::HEAD).ok_or_else(damaged)
    }

    /// All bytes of the file.
    pub fn bytes(&self) -> &MappedBytes {
        &self.bytes
    }

    /// Bytes of a section that live as long as whoever has them.
    pub fn kept_section(&self, number: usize) -> MappedBytes {
        self.bytes.slice(self.places[number].clone())
    }

    pub fn section(&self, number: usize) -> &[u8] {
        &self.bytes[self.places[number].clone()]
    }
}
