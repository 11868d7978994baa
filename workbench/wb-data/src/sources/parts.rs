//! Files of a source, or rows of them, that are read by themselves, wherever their bytes are by then.

use std::{
    collections::BTreeMap,
    ops::Range,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::{Deserialize, Serialize};
use wb_core::{Pair, Progress, RangeReader};

use super::{
    PairSource, SourceConfig,
    fields::Shape,
    files::{Format, Input, list, read_file, take as take_item},
    gather::Gather,
    intake::OnBad,
    parquet,
    row_ranges::Pieces,
};
use crate::{Error, Result};

/// A file of a source, or rows of one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourcePart {
    /// The file, for messages.
    pub file: PathBuf,
    /// The name that ids of its records begin with.
    pub stem: String,
    /// Rows of a Parquet file; none for the whole of another one.
    pub rows: Option<[u64; 2]>,
}

/// The bytes of a file.
#[derive(Clone)]
pub enum PartBytes {
    /// A file of this machine.
    File(PathBuf),
    /// A Parquet file that is read by ranges.
    Ranges(Arc<dyn RangeReader>),
}

impl<Other: PairSource> SourceConfig<Other> {
    /// The parts in their order, Parquet files by so many rows; and the number of files that are no part of it.
    ///
    /// # Errors
    ///
    /// If files cannot be read, or the source is none of files of records.
    pub fn parts(&self, rows: u64, progress: &mut dyn FnMut(Progress)) -> Result<(Vec<SourcePart>, u64)> {
        let (inputs, others) = match self {
            Self::Hub(hub) => (hub.inputs(progress)?, 0),
            _ => {
                let (format, files) = self.files()?;
                let (inputs, others) = list(&files.path, format)?;
                ((inputs.into_iter().map(|input| (input, format))).collect(), others)
            }
        };
        let mut parts = Vec::new();
        for (Input { path, stem }, format) in inputs {
            let part = |rows| SourcePart { file: path.to_path_buf(), stem: stem.clone(), rows };
            if format != Format::Parquet {
                parts.push(part(None));
                continue;
            }
            let file = std::fs::File::open(&path).map_err(Error::io("read", &*path))?;
            let all = parquet::rows_of(&path, file)?;
            parts.extend((0..all.div_ceil(rows.max(1))).map(|at| part(Some([at * rows, ((at + 1) * rows).min(all)]))));
        }
        Ok((parts, others))
    }

    /// Gives the pairs of a part to `take`, in order, and counts records that the config leaves out; `at` is the source's
    /// position. A bad record is an error.
    pub fn read_part(
        &self,
        at: usize,
        part: &SourcePart,
        bytes: PartBytes,
        take: &mut dyn FnMut(Pair) -> Result<()>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<BTreeMap<String, u64>> {
        let shape = match self {
            Self::Hub(hub) => hub.shape(),
            _ => self.files()?.1.shape(),
        };
        let mut gather = Gather::new(OnBad::Stop.into(), self.dataset(at));
        gather.take = Some(take);
        gather.texts = self.has_texts();
        match bytes {
            PartBytes::File(path) => {
                let format = match self {
                    Self::Hub(_) => Format::of(&path).unwrap_or(Format::Jsonl),
                    _ => self.files()?.0,
                };
                let input = Input { path: Arc::from(path.as_path()), stem: part.stem.clone() };
                read_file(&input, format, shape, &mut gather, progress)?;
            }
            PartBytes::Ranges(bytes) => read_rows(part, bytes, shape, &mut gather, progress)?,
        }
        Ok(gather.left_out())
    }

    fn files(&self) -> Result<(Format, &super::FilesConfig)> {
        match self {
            Self::Jsonl(files) => Ok((Format::Jsonl, files)),
            Self::Parquet(files) => Ok((Format::Parquet, files)),
            Self::Csv(files) => Ok((Format::Csv, files)),
            other => {
                let what = "is read by one process, expected files of pairs: jsonl, parquet, csv or hub";
                let hint = "prepare it alone with `wb data`, and name the train.parquet of that as a source";
                Err(Error::data(other.name(), what).with_hint(hint))
            }
        }
    }
}

fn read_rows(
    part: &SourcePart,
    bytes: Arc<dyn RangeReader>,
    shape: Shape<'_>,
    gather: &mut Gather<'_>,
    progress: &mut dyn FnMut(Progress),
) -> Result<()> {
    let rows: Option<Range<u64>> = part.rows.map(|[from, to]| from..to);
    let path: Arc<Path> = Arc::from(part.file.as_path());
    let mut sink = |item: super::Item<'_>| take_item(item, shape, gather, &part.stem);
    parquet::records_of(&path, (Pieces(bytes), rows), &shape.roots(), &mut sink, progress)
}
