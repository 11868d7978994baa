//! Files of vectors: NumPy's, Parquet, JSON lines.

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use serde::Serialize;
use wb_core::{Embeddings, Error, Result, atomic};
use wb_data::vector_table::write_vectors;
use wb_retrieval::npy::NpyHeader;

use super::{blocks::EncodedBlocks, with_suffix};

/// Format of a file of vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputFormat {
    /// NumPy's array of 32-bit floats, `[texts, dim]`, with the texts' names beside it, one a line. With a vector for
    /// each token `[tokens, dim]`, and beside it where each text begins, with the end: `[texts + 1]`.
    Npy,
    /// A table of `id` and `embedding`.
    Parquet,
    /// `{"id": ..., "embedding": [...]}` a line.
    Jsonl,
}

impl OutputFormat {
    /// The format that a file's name says.
    pub fn of(path: &Path) -> Result<Self> {
        match path.extension().and_then(|suffix| suffix.to_str()) {
            Some("npy") => Ok(Self::Npy),
            Some("parquet") => Ok(Self::Parquet),
            Some("jsonl") => Ok(Self::Jsonl),
            _ => Err(Error::file(path, "the name says no format, expected one that ends in .npy, .parquet or .jsonl")),
        }
    }

    /// The files that may come beside one of this format.
    pub fn beside(self, out: &Path) -> Vec<PathBuf> {
        match self {
            Self::Npy => vec![ids_of(out), offsets_of(out)],
            Self::Parquet | Self::Jsonl => Vec::new(),
        }
    }

    /// Writes all blocks into `part`, which will be `out`, and what comes beside that. Returns how many vectors there
    /// are, and the files beside.
    pub(super) fn write(
        self,
        blocks: &EncodedBlocks,
        dim: usize,
        part: &Path,
        out: &Path,
    ) -> Result<(usize, Vec<PathBuf>)> {
        let mut vectors = 0;
        let counted =
            blocks.all().inspect(|block| vectors += block.as_ref().map_or(0, |(_, block)| block.view().nrows()));
        match self {
            Self::Npy => return write_npy(blocks, dim, part, out),
            Self::Parquet => write_vectors(part, counted)?,
            Self::Jsonl => write_lines(part, counted)?,
        }
        Ok((vectors, Vec::new()))
    }
}

fn ids_of(out: &Path) -> PathBuf {
    with_suffix(&out.with_extension(""), ".ids.txt")
}

fn offsets_of(out: &Path) -> PathBuf {
    with_suffix(&out.with_extension(""), ".offsets.npy")
}

fn write_npy(blocks: &EncodedBlocks, dim: usize, part: &Path, out: &Path) -> Result<(usize, Vec<PathBuf>)> {
    let (mut ids, mut offsets, mut ragged) = (String::new(), vec![0_i64], false);
    for block in blocks.all() {
        let (names, vectors) = block?;
        for (text, name) in names.iter().enumerate() {
            if name.contains('\n') {
                return Err(Error::data(
                    out.display().to_string(),
                    format!("the id {name:?} has an end of a line in it"),
                )
                .with_hint("write .parquet or .jsonl, which keep it"));
            }
            ids.push_str(name);
            ids.push('\n');
            let rows = vectors.rows(text..text + 1).len() as i64;
            offsets.extend(offsets.last().map(|end| end + rows));
        }
        ragged |= vectors.offsets().is_some();
    }
    let vectors = offsets.last().map_or(0, |end| *end as usize);

    to_file(part, |to| {
        to.write_all(&NpyHeader::new("<f4", &[vectors, dim]).encode())?;
        for block in blocks.all() {
            let (_, vectors) = block.map_err(io::Error::other)?;
            vectors.view().iter().try_for_each(|number| to.write_all(&number.to_le_bytes()))?;
        }
        Ok(())
    })?;
    let mut beside = vec![ids_of(out)];
    atomic::write(&beside[0], ids.as_bytes())?;
    if ragged {
        let mut bytes = NpyHeader::new("<i8", &[offsets.len()]).encode();
        bytes.extend(offsets.iter().flat_map(|offset| offset.to_le_bytes()));
        beside.push(offsets_of(out));
        atomic::write(&beside[1], &bytes)?;
    }
    Ok((vectors, beside))
}

fn write_lines(part: &Path, blocks: impl Iterator<Item = Result<(Vec<String>, Embeddings)>>) -> Result<()> {
    to_file(part, |to| {
        for block in blocks {
            let (ids, vectors) = block.map_err(io::Error::other)?;
            for (text, id) in ids.iter().enumerate() {
                match vectors.offsets() {
                    None => serde_json::to_writer(&mut *to, &Line { id, embedding: vectors.row(text).to_vec() })?,
                    Some(_) => {
                        let rows: Vec<_> = vectors.of(text).rows().into_iter().map(|row| row.to_vec()).collect();
                        serde_json::to_writer(&mut *to, &Line { id, embedding: rows })?;
                    }
                }
                to.write_all(b"\n")?;
            }
        }
        Ok(())
    })
}

#[derive(Serialize)]
struct Line<'a, E> {
    id: &'a str,
    embedding: E,
}

/// Writes a file over, and has it on the disk.
fn to_file(path: &Path, fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> Result<()> {
    let written = File::create(path).and_then(|file| {
        let mut to = BufWriter::with_capacity(1 << 20, file);
        fill(&mut to)?;
        to.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
    });
    written.map_err(Error::io("write", path))
}
