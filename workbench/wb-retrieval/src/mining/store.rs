//! Embeddings written to a file as they are made, so that they need no memory and are made once.

use std::{
    fs::{File, OpenOptions},
    io::{Read, Seek, SeekFrom, Write},
    path::Path,
};

use wb_core::{Encoder, Error, Progress, Side, publish};

use crate::{
    Result,
    error::{cannot_encode, unlike_lengths},
    npy::NpyHeader,
};

/// Texts that are encoded and written together.
pub(super) const BLOCK: usize = 4096;

/// Encodes texts into a `.npy` file, row `i` for text `i`, unless it is there. It appears when it is whole; what a
/// stopped process left beside it is gone on with, and one that another process is making is waited for, so a path must
/// be named by all that decides the vectors.
pub fn encode_to_file(
    encoder: &dyn Encoder,
    texts: &[&str],
    side: Side,
    path: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<()> {
    publish::file(path, progress, |part, progress| encode_into(encoder, texts, side, part, progress))?;
    Ok(())
}

/// Encodes the texts that are not in an unfinished file yet.
fn encode_into(
    encoder: &dyn Encoder,
    texts: &[&str],
    side: Side,
    part: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<()> {
    let header = NpyHeader::new("<f4", &[texts.len(), encoder.dim()]).encode();
    let (mut file, done) = begin(part, &header, encoder.dim()).map_err(Error::io("write", part))?;
    for (at, block) in texts.chunks(BLOCK).enumerate().skip(done / BLOCK) {
        let before = at * BLOCK;
        let mut within = |part: Progress| {
            progress(
                Progress::new(side.encoding(), before + (part.done as usize).min(block.len()), texts.len())
                    .note(part.note),
            );
        };
        let vectors = encoder
            .encode_single_vector(block, side, &mut within)
            .map_err(|source| cannot_encode(side.plural(), &encoder.name(), source))?;
        if vectors.texts() != block.len() {
            return Err(unlike_lengths("vectors and texts", vectors.texts(), block.len()));
        }
        let bytes: Vec<u8> = vectors.view().iter().flat_map(|number| number.to_le_bytes()).collect();
        file.write_all(&bytes).and_then(|()| file.sync_data()).map_err(Error::io("write", part))?;
    }
    file.sync_all().map_err(Error::io("write", part))
}

/// The file to go on with, at the row where that is: after the last block but one that is there, because the last may
/// have been on its way to the disk when the machine stopped.
fn begin(part: &Path, header: &[u8], dim: usize) -> std::io::Result<(File, usize)> {
    let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(part)?;
    let mut found = vec![0; header.len()];
    let is_ours = file.read_exact(&mut found).is_ok() && found == header;
    let mut done = 0;
    if is_ours && dim > 0 {
        let rows = (file.metadata()?.len() as usize - header.len()) / (4 * dim);
        done = (rows / BLOCK).saturating_sub(1) * BLOCK;
    }
    let end = if is_ours { header.len() + 4 * dim * done } else { 0 };
    file.set_len(end as u64)?;
    file.seek(SeekFrom::Start(end as u64))?;
    if !is_ours {
        file.write_all(header)?;
    }
    Ok((file, done))
}

#[cfg(test)]
mod tests {
    use std::{cell::Cell, fs};

    use ndarray::Array2;
    use wb_core::{Embeddings, progress::silent};

    use super::*;
    use crate::{
        dense::tests::Made,
        mining::{VectorFile, Vectors},
    };

    /// A text's length and its first byte; counts its calls, and fails at one of them.
    fn counting(calls: &Cell<usize>, fails_at: usize) -> impl Encoder {
        Made::of_two_numbers("counting", move |texts, _| {
            calls.set(calls.get() + 1);
            if calls.get() == fails_at {
                return Err("stopped".into());
            }
            let vectors = texts.iter().flat_map(|text| [text.len() as f32, f32::from(text.as_bytes()[0])]).collect();
            Ok(Embeddings::dense(Array2::from_shape_vec((texts.len(), 2), vectors)?))
        })
    }

    #[test]
    fn what_was_stopped_goes_on_and_comes_to_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let texts: Vec<String> = (0..5 * BLOCK + 77).map(|at| format!("{at} {}", "x".repeat(at % 13))).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let (whole, resumed) = (folder.path().join("a.npy"), folder.path().join("b.npy"));
        let encode = |path: &Path, fails_at: usize| {
            let calls = Cell::new(0);
            let done = encode_to_file(&counting(&calls, fails_at), &texts, Side::Document, path, &mut silent);
            (done.is_ok(), calls.get())
        };
        assert_eq!(encode(&whole, 0), (true, 6));
        assert_eq!(encode(&resumed, 4), (false, 4));
        assert!(!resumed.exists(), "it appears when it is whole");
        // A block that was half written when the power went.
        let part = resumed.with_extension("npy.part");
        OpenOptions::new().append(true).open(&part).unwrap().write_all(&[7; 1001]).unwrap();
        assert_eq!(encode(&resumed, 0), (true, 4), "two of three blocks are kept");
        assert_eq!(fs::read(&whole).unwrap(), fs::read(&resumed).unwrap());
        assert!(!part.exists());
        assert_eq!(encode(&whole, 1), (true, 0), "what is there is taken");
        let mut read = VectorFile::open(&whole).unwrap();
        let mut row = Vec::new();
        read.read(5 * BLOCK + 3..5 * BLOCK + 4, &mut row).unwrap();
        assert_eq!((read.len(), read.dim(), row), (texts.len(), 2, vec![texts[5 * BLOCK + 3].len() as f32, 50.0]));
    }

    #[test]
    fn the_beginning_of_another_file_is_not_gone_on_with() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npy");
        fs::write(path.with_extension("npy.part"), [&NpyHeader::new("<f4", &[9, 2]).encode()[..], &[9; 4000]].concat())
            .unwrap();
        encode_to_file(&counting(&Cell::new(0), 0), &["abc"], Side::Query, &path, &mut silent).unwrap();
        let mut rows = Vec::new();
        VectorFile::open(&path).unwrap().read(0..1, &mut rows).unwrap();
        assert_eq!(rows, [3.0, 97.0]);
        assert_eq!(fs::metadata(&path).unwrap().len() as usize, 128 + 8);
    }
}
