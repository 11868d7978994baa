//! Prepared pairs on disk: `train.parquet`, `validation.parquet`, `test.parquet`, `data.json`, `README.md`.

use std::{
    borrow::Borrow,
    collections::HashSet,
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use arrow_array::{
    Array, ArrayRef, RecordBatch, StringArray, UInt32Array,
    builder::{Float32Builder, ListBuilder, StringBuilder},
    cast::AsArray,
    types::{Float32Type, UInt32Type},
};
use parquet::{
    arrow::ArrowWriter,
    basic::{Compression, ZstdLevel},
    errors::ParquetError,
    file::properties::WriterProperties,
};
use wb_core::{
    Origin, Pair, PairSet, Task, atomic,
    publish::{self, Published},
    remote,
};

use crate::{Error, PreparedPairs, Result, card, chunks::Chunks, sources::batches};

/// Rows and bytes of text that are encoded at once.
const BATCH: (usize, usize) = (8192, 64 << 20);

/// Bytes of a row group; it is in memory until it is written.
const ROW_GROUP: usize = 64 << 20;

/// A file that every whole folder of prepared pairs has: the data card.
pub const PROOF: &str = "data.json";

/// Writes everything into a folder that is named by all that decides the pairs; it appears whole or not at all, and one
/// that is there already is taken. The same pairs give the same bytes.
pub fn write(prepared: &PreparedPairs, folder: &Path) -> Result<Published<()>> {
    publish::folder(folder, PROOF, |inside| {
        write_pairs(&inside.join("train.parquet"), prepared.train.pairs())?;
        write_rest(prepared, inside)
    })
}

/// Everything but the training pairs.
pub(crate) fn write_rest(prepared: &PreparedPairs, inside: &Path) -> Result<()> {
    write_pairs(&inside.join("validation.parquet"), prepared.validation.pairs())?;
    write_pairs(&inside.join("test.parquet"), prepared.test.pairs())?;
    let mut json = serde_json::to_vec_pretty(&prepared.card)
        .map_err(|error| Error::file(&inside.join(PROOF), "not written").with_cause(error))?;
    json.push(b'\n');
    atomic::write(&inside.join(PROOF), &json)?;
    atomic::write(&inside.join("README.md"), card::render(&prepared.card).as_bytes())?;
    Ok(())
}

/// Reads what [`write()`] wrote.
pub fn load(folder: &Path) -> Result<PreparedPairs> {
    let train = PairSet::new(read_pairs(&folder.join("train.parquet"))?)?;
    Ok(PreparedPairs { train, ..load_held_out(folder)? })
}

/// Reads what [`write()`] wrote, without the training pairs.
pub fn load_held_out(folder: &Path) -> Result<PreparedPairs> {
    let pairs = |name: &str| PairSet::new(read_pairs(&folder.join(name))?);
    let path = folder.join(PROOF);
    let bytes = fs::read(&path).map_err(Error::io("read", &path))?;
    let card =
        serde_json::from_slice(&bytes).map_err(|error| Error::file(&path, "not a data card").with_cause(error))?;
    Ok(PreparedPairs {
        train: PairSet::default(),
        validation: pairs("validation.parquet")?,
        test: pairs("test.parquet")?,
        card,
    })
}

/// Writes pairs as one Parquet file, whole or not at all; those that are made one by one need not be in memory together.
///
/// Columns: `id, task, language, anchor, positive` text, `negatives` list of text,
/// `scores` list of 32-bit floats, `group, path` text,
/// `first_line, last_line` 32 bits, `license, dataset` text.
pub fn write_pairs<P: Borrow<Pair>>(path: &Path, pairs: impl IntoIterator<Item = P>) -> Result<()> {
    let fill = |file: &mut fs::File| -> std::result::Result<(), ParquetError> {
        let mut table = Table::new(file)?;
        pairs.into_iter().try_for_each(|pair| table.push(pair))?;
        table.finish()?;
        Ok(())
    };
    atomic::write_with(path, |file| fill(file).map_err(io::Error::other))
}

/// A table of pairs that is written batch by batch.
struct Table<W: io::Write + Send, P> {
    writer: ArrowWriter<W>,
    waiting: Chunks<P>,
}

impl<W: io::Write + Send, P: Borrow<Pair>> Table<W, P> {
    fn new(to: W) -> std::result::Result<Self, ParquetError> {
        let writer = ArrowWriter::try_new(to, batch::<Pair>(&[])?.schema(), Some(properties()?))?;
        Ok(Self { writer, waiting: Chunks::new(BATCH) })
    }

    fn push(&mut self, pair: P) -> std::result::Result<(), ParquetError> {
        self.waiting.push(pair).map_or(Ok(()), |pairs| self.write(&pairs))
    }

    /// Writes a batch. A row group ends where it has grown to a size that a reader can hold.
    fn write(&mut self, pairs: &[P]) -> std::result::Result<(), ParquetError> {
        self.writer.write(&batch(pairs)?)?;
        if self.writer.in_progress_size() > ROW_GROUP { self.writer.flush() } else { Ok(()) }
    }

    fn finish(mut self) -> std::result::Result<W, ParquetError> {
        let rest = self.waiting.rest();
        if !rest.is_empty() {
            self.write(&rest)?;
        }
        self.writer.into_inner()
    }
}

/// Writes pairs one by one, in the layout of [`write_pairs`]. The file is there before it is whole: put it into a folder
/// that appears whole.
pub(crate) struct PairWriter {
    path: PathBuf,
    table: Table<fs::File, Pair>,
}

impl PairWriter {
    pub(crate) fn create(path: &Path) -> Result<Self> {
        let file = fs::File::create(path).map_err(wb_core::Error::io("create", path))?;
        let table = Table::new(file).map_err(|error| not_written(path, error))?;
        Ok(Self { path: path.to_owned(), table })
    }

    pub(crate) fn push(&mut self, pair: Pair) -> Result<()> {
        self.table.push(pair).map_err(|error| not_written(&self.path, error))
    }

    pub(crate) fn finish(self) -> Result<()> {
        let file = self.table.finish().map_err(|error| not_written(&self.path, error))?;
        file.sync_all().map_err(wb_core::Error::io("write", &self.path))
    }
}

/// Compression and signature of what is written here.
pub(crate) fn properties() -> std::result::Result<WriterProperties, ParquetError> {
    let compression = Compression::ZSTD(ZstdLevel::try_new(3)?);
    Ok(WriterProperties::builder().set_compression(compression).set_created_by("wb-data".into()).build())
}

pub(crate) fn not_written(path: &Path, error: ParquetError) -> Error {
    match error {
        // The system's own words: no space left, for example.
        ParquetError::External(source) if source.is::<io::Error>() => match source.downcast::<io::Error>() {
            Ok(source) => Error::io("write", path)(*source),
            Err(source) => Error::file(path, "not written").with_cause(source),
        },
        other => Error::file(path, "not written").with_cause(other),
    }
}

/// Reads what [`write_pairs`] wrote, in order; a hard negative of many pairs is in memory once.
pub fn read_pairs(path: &Path) -> Result<Vec<Pair>> {
    let (mut pairs, mut known) = (Vec::new(), HashSet::<Arc<str>>::new());
    each_pair(path, &mut |mut pair| {
        for negative in &mut pair.negatives {
            match known.get(negative) {
                Some(same) => *negative = Arc::clone(same),
                None => _ = known.insert(Arc::clone(negative)),
            }
        }
        pairs.push(pair);
        Ok(())
    })?;
    Ok(pairs)
}

/// Gives every pair of what [`write_pairs`] wrote to `take`, in order and a few thousand at a time in memory.
/// An error of `take` ends it.
pub fn each_pair(path: &Path, take: &mut dyn FnMut(Pair) -> Result<()>) -> Result<()> {
    batches(&remote::local(path)?, |_| true, &mut |batch, _| {
        let text = |name: &str| {
            let column = batch.column_by_name(name).and_then(|column| column.as_string_opt::<i32>());
            column.ok_or_else(|| not_ours(path, name))
        };
        let number = |name: &str| {
            let column = batch.column_by_name(name).and_then(|column| column.as_primitive_opt::<UInt32Type>());
            column.ok_or_else(|| not_ours(path, name))
        };
        let lists = batch.column_by_name("negatives").and_then(|column| column.as_list_opt::<i32>());
        let lists = lists.ok_or_else(|| not_ours(path, "negatives"))?;
        // Pairs that were prepared before there were scores have none.
        let scores = batch.column_by_name("scores").map(|column| column.as_list_opt::<i32>());
        let scores = scores.map(|lists| lists.ok_or_else(|| not_ours(path, "scores"))).transpose()?;
        let (id, task, language) = (text("id")?, text("task")?, text("language")?);
        let (anchor, positive, group) = (text("anchor")?, text("positive")?, text("group")?);
        let (file, license, dataset) = (text("path")?, text("license")?, text("dataset")?);
        let (first, last) = (number("first_line")?, number("last_line")?);
        for row in 0..batch.num_rows() {
            let negatives = lists.value(row);
            let negatives = negatives.as_string_opt::<i32>().ok_or_else(|| not_ours(path, "negatives"))?;
            let scores = match scores {
                None => Vec::new(),
                Some(lists) => {
                    let list = lists.value(row);
                    let list = list.as_primitive_opt::<Float32Type>().filter(|list| list.null_count() == 0);
                    list.ok_or_else(|| not_ours(path, "scores"))?.values().to_vec()
                }
            };
            take(Pair {
                id: id.value(row).to_owned(),
                task: Task::ALL
                    .into_iter()
                    .find(|known| known.as_str() == task.value(row))
                    .ok_or_else(|| not_ours(path, "task"))?,
                language: language.value(row).to_owned(),
                anchor: anchor.value(row).to_owned(),
                positive: positive.value(row).to_owned(),
                negatives: negatives.iter().flatten().map(Arc::from).collect(),
                scores,
                origin: Origin {
                    group: group.value(row).to_owned(),
                    path: file.value(row).to_owned(),
                    lines: [first.value(row), last.value(row)],
                    license: license.value(row).to_owned(),
                    dataset: dataset.value(row).to_owned(),
                },
            })?;
        }
        Ok(())
    })
}

fn batch<P: Borrow<Pair>>(pairs: &[P]) -> std::result::Result<RecordBatch, ParquetError> {
    let pairs = || pairs.iter().map(Borrow::borrow);
    let text = |field: fn(&Pair) -> &str| -> ArrayRef { Arc::new(StringArray::from_iter_values(pairs().map(field))) };
    let number = |field: fn(&Pair) -> u32| -> ArrayRef { Arc::new(UInt32Array::from_iter_values(pairs().map(field))) };
    let mut negatives = ListBuilder::new(StringBuilder::new());
    for pair in pairs() {
        pair.negatives.iter().for_each(|negative| negatives.values().append_value(negative));
        negatives.append(true);
    }
    let mut scores = ListBuilder::new(Float32Builder::new());
    for pair in pairs() {
        scores.values().append_slice(&pair.scores);
        scores.append(true);
    }
    let columns: [(&str, ArrayRef); 13] = [
        ("id", text(|pair| &pair.id)),
        ("task", text(|pair| pair.task.as_str())),
        ("language", text(|pair| &pair.language)),
        ("anchor", text(|pair| &pair.anchor)),
        ("positive", text(|pair| &pair.positive)),
        ("negatives", Arc::new(negatives.finish())),
        ("scores", Arc::new(scores.finish())),
        ("group", text(|pair| &pair.origin.group)),
        ("path", text(|pair| &pair.origin.path)),
        ("first_line", number(|pair| pair.origin.lines[0])),
        ("last_line", number(|pair| pair.origin.lines[1])),
        ("license", text(|pair| &pair.origin.license)),
        ("dataset", text(|pair| &pair.origin.dataset)),
    ];
    Ok(RecordBatch::try_from_iter(columns)?)
}

fn not_ours(path: &Path, column: &str) -> Error {
    Error::file(path, format!("the column `{column}` is missing or of another type than prepared pairs have"))
        .with_hint("read other Parquet files with a `parquet` source")
}
