//! Prepared pairs on disk: `train.parquet`, `validation.parquet`, `test.parquet`, `data.json`, `README.md`.

use std::{fs, io, path::Path, sync::Arc};

use arrow::{
    array::{ArrayRef, AsArray, ListBuilder, RecordBatch, StringArray, StringBuilder, UInt32Array},
    datatypes::UInt32Type,
};
use parquet::{
    arrow::ArrowWriter,
    basic::{Compression, ZstdLevel},
    errors::ParquetError,
    file::properties::WriterProperties,
};
use wb_core::{Origin, Pair, PairSet, Task, atomic};

use crate::{Error, Prepared, Result, card, sources::batches};

/// Rows and bytes of text that are encoded at once.
const BATCH: (usize, usize) = (8192, 64 << 20);

/// Writes everything; the folder appears whole or not at all, and one that is there already is an error.
/// The same pairs give the same bytes.
pub fn write(prepared: &Prepared, folder: &Path) -> Result<()> {
    atomic::folder_with(folder, |inside| {
        write_pairs(&inside.join("train.parquet"), prepared.train.pairs())?;
        write_pairs(&inside.join("validation.parquet"), prepared.validation.pairs())?;
        write_pairs(&inside.join("test.parquet"), prepared.test.pairs())?;
        let mut json = serde_json::to_vec_pretty(&prepared.card)
            .map_err(|error| Error::file(&inside.join("data.json"), "not written").with_cause(error))?;
        json.push(b'\n');
        atomic::write(&inside.join("data.json"), &json)?;
        atomic::write(&inside.join("README.md"), card::render(&prepared.card).as_bytes())?;
        Ok(())
    })
}

/// Reads what [`write()`] wrote.
pub fn load(folder: &Path) -> Result<Prepared> {
    let pairs = |name: &str| Ok::<_, Error>(PairSet::new(read_pairs(&folder.join(name))?)?);
    let path = folder.join("data.json");
    let bytes = fs::read(&path).map_err(wb_core::Error::io("read", &path))?;
    let card =
        serde_json::from_slice(&bytes).map_err(|error| Error::file(&path, "not a data card").with_cause(error))?;
    Ok(Prepared {
        train: pairs("train.parquet")?,
        validation: pairs("validation.parquet")?,
        test: pairs("test.parquet")?,
        card,
    })
}

/// Writes pairs as one Parquet file, whole or not at all.
///
/// Columns: `id, task, language, anchor, positive` text, `negatives` list of text, `group, path` text,
/// `first_line, last_line` 32 bits, `license` text.
pub fn write_pairs(path: &Path, pairs: &[Pair]) -> Result<()> {
    let mut rest = pairs;
    write_batches(path, &mut || {
        if rest.is_empty() {
            return None;
        }
        let mut bytes = 0;
        let rows = rest.iter().take(BATCH.0).take_while(|pair| fits(&mut bytes, pair)).count();
        let (now, later) = rest.split_at(rows);
        rest = later;
        Some(batch(now))
    })
}

/// [`write_pairs`] for pairs that are made one by one and need not be in memory together.
pub fn write_pairs_from(path: &Path, pairs: impl Iterator<Item = Pair>) -> Result<()> {
    let mut pairs = pairs.peekable();
    let mut now: Vec<Pair> = Vec::new();
    write_batches(path, &mut || {
        now.clear();
        let mut bytes = 0;
        while now.len() < BATCH.0
            && let Some(pair) = pairs.next_if(|pair| fits(&mut bytes, pair))
        {
            now.push(pair);
        }
        (!now.is_empty()).then(|| batch(&now))
    })
}

/// Whether one more pair is encoded with those before it, whose bytes are counted.
fn fits(bytes: &mut usize, pair: &Pair) -> bool {
    let fits = *bytes < BATCH.1;
    *bytes += pair.anchor.len() + pair.positive.len() + pair.negatives.iter().map(String::len).sum::<usize>();
    fits
}

fn write_batches(
    path: &Path,
    next: &mut dyn FnMut() -> Option<std::result::Result<RecordBatch, ParquetError>>,
) -> Result<()> {
    let properties = || -> std::result::Result<_, ParquetError> {
        Ok(WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
            .set_created_by("wb-data".into())
            .build())
    };
    let mut fill = |file: &mut fs::File| -> std::result::Result<(), ParquetError> {
        let mut writer = ArrowWriter::try_new(file, batch(&[])?.schema(), Some(properties()?))?;
        while let Some(batch) = next() {
            writer.write(&batch?)?;
        }
        writer.close()?;
        Ok(())
    };
    Ok(atomic::write_with(path, |file| fill(file).map_err(io::Error::other))?)
}

/// Reads what [`write_pairs`] wrote, in order.
pub fn read_pairs(path: &Path) -> Result<Vec<Pair>> {
    let mut pairs = Vec::new();
    batches(path, |_| true, &mut |batch, _| {
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
        let (id, task, language) = (text("id")?, text("task")?, text("language")?);
        let (anchor, positive, group) = (text("anchor")?, text("positive")?, text("group")?);
        let (file, license) = (text("path")?, text("license")?);
        let (first, last) = (number("first_line")?, number("last_line")?);
        for row in 0..batch.num_rows() {
            let negatives = lists.value(row);
            let negatives = negatives.as_string_opt::<i32>().ok_or_else(|| not_ours(path, "negatives"))?;
            pairs.push(Pair {
                id: id.value(row).to_owned(),
                task: task_of(task.value(row)).ok_or_else(|| not_ours(path, "task"))?,
                language: language.value(row).to_owned(),
                anchor: anchor.value(row).to_owned(),
                positive: positive.value(row).to_owned(),
                negatives: negatives.iter().flatten().map(str::to_owned).collect(),
                origin: Origin {
                    group: group.value(row).to_owned(),
                    path: file.value(row).to_owned(),
                    lines: [first.value(row), last.value(row)],
                    license: license.value(row).to_owned(),
                },
            });
        }
        Ok(())
    })?;
    Ok(pairs)
}

fn batch(pairs: &[Pair]) -> std::result::Result<RecordBatch, ParquetError> {
    let text =
        |field: fn(&Pair) -> &str| -> ArrayRef { Arc::new(StringArray::from_iter_values(pairs.iter().map(field))) };
    let number =
        |field: fn(&Pair) -> u32| -> ArrayRef { Arc::new(UInt32Array::from_iter_values(pairs.iter().map(field))) };
    let mut negatives = ListBuilder::new(StringBuilder::new());
    for pair in pairs {
        pair.negatives.iter().for_each(|negative| negatives.values().append_value(negative));
        negatives.append(true);
    }
    let columns: [(&str, ArrayRef); 11] = [
        ("id", text(|pair| &pair.id)),
        ("task", text(|pair| task_name(pair.task))),
        ("language", text(|pair| &pair.language)),
        ("anchor", text(|pair| &pair.anchor)),
        ("positive", text(|pair| &pair.positive)),
        ("negatives", Arc::new(negatives.finish())),
        ("group", text(|pair| &pair.origin.group)),
        ("path", text(|pair| &pair.origin.path)),
        ("first_line", number(|pair| pair.origin.lines[0])),
        ("last_line", number(|pair| pair.origin.lines[1])),
        ("license", text(|pair| &pair.origin.license)),
    ];
    Ok(RecordBatch::try_from_iter(columns)?)
}

const TASKS: [(Task, &str); 4] = [
    (Task::Text2code, "text2code"),
    (Task::Code2text, "code2text"),
    (Task::Code2code, "code2code"),
    (Task::Hybrid, "hybrid"),
];

fn task_name(task: Task) -> &'static str {
    TASKS.iter().find(|(other, _)| *other == task).map_or("text2code", |(_, name)| name)
}

fn task_of(name: &str) -> Option<Task> {
    TASKS.iter().find(|(_, other)| *other == name).map(|(task, _)| *task)
}

fn not_ours(path: &Path, column: &str) -> Error {
    Error::file(path, format!("the column `{column}` is missing or of another type than prepared pairs have"))
        .with_hint("read other Parquet files with a `parquet` source")
}
