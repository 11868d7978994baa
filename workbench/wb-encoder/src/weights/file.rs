//! Files of tensors, read one tensor after the other: memory holds what is kept of them, and a piece.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::Path,
};

use safetensors::{
    SafeTensorError,
    tensor::{Metadata, TensorInfo, TensorView},
};

use super::{
    tensor::Tensor,
    torch::{self, TorchFile},
};
use crate::error::{Error, Result};

/// Bytes of the longest header, by the format.
const MOST_OF_HEADER: u64 = 100_000_000;

/// Taker of a file's tensors.
pub(super) trait Visitor {
    /// True where a tensor of this name and shape is to be read.
    fn wants(&mut self, path: &Path, name: &str, shape: &[usize]) -> bool;

    /// Takes one that was wanted.
    fn take(&mut self, tensor: Tensor<'_>) -> Result<()>;
}

/// Shows a file's tensors in the order of their names: of a safetensors file, or of torch's own.
pub(super) fn visit(path: &Path, visitor: &mut dyn Visitor) -> Result<()> {
    if is_torch(path)? {
        let bytes = std::fs::read(path).map_err(Error::io("read", path))?;
        let file = TorchFile::open(path, &bytes)?;
        let mut views = file.views(path)?;
        views.sort_by(|one, other| one.0.cmp(other.0));
        let wanted = |(name, view): (&str, TensorView<'_>)| match visitor.wants(path, name, view.shape()) {
            true => visitor.take(Tensor::of_view(path, name, &view)),
            false => Ok(()),
        };
        return views.into_iter().try_for_each(wanted);
    }
    let mut file = TensorFile::open(path)?;
    let mut names = file.metadata.offset_keys();
    names.sort();
    for name in names {
        let Some(info) = file.metadata.info(&name) else { continue };
        if visitor.wants(path, &name, &info.shape) {
            let numbers = numbers(&mut file.file, file.start, info).map_err(Error::io("read", path))?;
            visitor.take(Tensor::new(path, &name, (info.dtype, &info.shape), numbers))?;
        }
    }
    Ok(())
}

/// True where a file is to be read as torch's own.
fn is_torch(path: &Path) -> Result<bool> {
    let mut start = Vec::new();
    let file = File::open(path).map_err(Error::io("read", path))?;
    file.take(4).read_to_end(&mut start).map_err(Error::io("read", path))?;
    Ok(torch::is_archive(&start) || path.extension().is_some_and(|extension| extension == "bin"))
}

/// A safetensors file, of which the header was read.
struct TensorFile {
    file: File,
    /// The byte at which the numbers begin.
    start: u64,
    metadata: Metadata,
}

impl TensorFile {
    fn open(path: &Path) -> Result<Self> {
        let io = |error| Error::io("read", path)(error);
        let mut file = File::open(path).map_err(io)?;
        let length = file.metadata().map_err(io)?.len();
        let mut head = Vec::new();
        file.by_ref().take(8).read_to_end(&mut head).map_err(io)?;
        let not_whole = |head: &[u8], error: SafeTensorError| not_whole(path, length, head, &error);
        let Ok(size) = <[u8; 8]>::try_from(head.as_slice()) else {
            return Err(not_whole(&head, SafeTensorError::HeaderTooSmall));
        };
        let size = u64::from_le_bytes(size);
        if size > length - 8 {
            file.take(64).read_to_end(&mut head).map_err(io)?;
            let is_too_large = size > MOST_OF_HEADER;
            let error =
                if is_too_large { SafeTensorError::HeaderTooLarge } else { SafeTensorError::InvalidHeaderLength };
            return Err(not_whole(&head, error));
        }
        let mut header = Vec::new();
        file.by_ref().take(size).read_to_end(&mut header).map_err(io)?;
        let metadata: Metadata = serde_json::from_slice(&header)
            .map_err(|error| not_whole(&head, SafeTensorError::InvalidHeaderDeserialization(error)))?;
        if 8 + size + metadata.data_len() as u64 != length {
            return Err(not_whole(&head, SafeTensorError::MetadataIncompleteBuffer));
        }
        Ok(Self { file, start: 8 + size, metadata })
    }
}

/// The bytes of a tensor, in a file whose numbers begin at `start`.
fn numbers<'a>(file: &'a mut File, start: u64, info: &TensorInfo) -> io::Result<impl Read + 'a> {
    let (first, end) = info.data_offsets;
    file.seek(SeekFrom::Start(start + first as u64))?;
    Ok(file.take((end - first) as u64))
}

/// A file that ends too early, or is another one. `head` is what it begins with.
pub(super) fn not_whole(path: &Path, length: u64, head: &[u8], error: &SafeTensorError) -> Error {
    Error::file(path, format!("is not a whole safetensors file ({length} bytes): {error}")).with_hint(
        match head.starts_with(b"version https://git-lfs") {
            true => "this is a Git LFS pointer, not the weights: git lfs pull",
            false => "fetch the file again and compare its size with the hub's",
        },
    )
}
