//! Rows of Parquet files as JSON lines, with columns under the names that readers know.

use std::{path::Path, sync::Arc};

use serde::Serialize;
use serde_json::{Map, Value};
use wb_core::Progress;

use super::{
    conversion::{ConversionCounts, Convert, Inputs, count},
    lines,
};
use crate::{
    Error, RecordPlace, Result,
    sources::{batches, columns, value},
};

/// Files of JSON lines, each out of the rows of its Parquet files in their order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Rows {
    /// The files.
    pub outputs: Vec<OutputFile>,
    /// The fields of a line, in this order.
    pub columns: Vec<ColumnField>,
    /// The counts' word for lines: `functions`, `questions`.
    pub unit: &'static str,
}

/// A file to write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OutputFile {
    /// The name by which its Parquet files are wanted.
    pub from: &'static str,
    /// Its name; packed where it ends in `.gz`.
    pub to: String,
}

/// A column, and the field that it becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ColumnField {
    /// Its name in the Parquet files.
    pub from: &'static str,
    /// The field's name.
    pub to: &'static str,
    /// The content that it has to have.
    pub kind: ColumnContent,
}

/// The content that a column has to have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ColumnContent {
    /// A text in every row.
    Text,
    /// A list of texts in every row.
    Texts,
    /// Anything, null too.
    Any,
}

impl ColumnContent {
    fn expected(self) -> &'static str {
        match self {
            Self::Text => "a text",
            Self::Texts => "a list of texts",
            Self::Any => "anything",
        }
    }

    fn holds(self, value: &Value) -> bool {
        match self {
            Self::Text => value.is_string(),
            Self::Texts => value.as_array().is_some_and(|items| items.iter().all(Value::is_string)),
            Self::Any => true,
        }
    }
}

impl Convert for Rows {
    fn convert(&self, inputs: &Inputs<'_>, to: &Path, progress: &mut dyn FnMut(Progress)) -> Result<ConversionCounts> {
        let mut counts = ConversionCounts::new();
        for output in &self.outputs {
            let files = inputs.named(output.from)?;
            let written = lines::write(&to.join(&output.to), |lines| {
                for path in &files {
                    rows(path, &self.columns, progress, &mut |fields| lines.json(&fields))?;
                }
                match lines.n {
                    0 => Err(Error::file(files[0], "no row is in it, expected some")),
                    _ => Ok(()),
                }
            })?;
            count(&mut counts, self.unit, written);
        }
        Ok(counts)
    }
}

/// Gives every row of a file to `take`: the columns' values under their fields' names.
pub(super) fn rows(
    path: &Path,
    wanted: &[ColumnField],
    progress: &mut dyn FnMut(Progress),
    take: &mut dyn FnMut(Map<String, Value>) -> Result<()>,
) -> Result<()> {
    let there = columns(path)?;
    if let Some(missing) = wanted.iter().find(|column| !there.iter().any(|name| name == column.from)) {
        let message = format!("there is no column `{}`; the file has {}", missing.from, there.join(", "));
        return Err(Error::file(path, message).with_hint("the data set was published anew in another form"));
    }
    let place: Arc<Path> = Arc::from(path);
    let mut row = 0;
    batches(path, |name| wanted.iter().any(|column| column.from == name), &mut |batch, total| {
        let schema = batch.schema();
        let at: Vec<usize> = wanted.iter().filter_map(|column| schema.index_of(column.from).ok()).collect();
        for line in 0..batch.num_rows() {
            row += 1;
            let mut fields = Map::new();
            for (column, index) in wanted.iter().zip(&at) {
                let refused = |got: String| {
                    let message = format!("column `{}` holds {got}, expected {}", column.from, column.kind.expected());
                    Error::record(RecordPlace::row(&place, row), "wrong type", message)
                };
                let array = batch.column(*index);
                let cell = value(array, line).map_err(|_| refused(array.data_type().to_string()))?;
                if !column.kind.holds(&cell) {
                    return Err(refused(if cell.is_null() { "null".into() } else { array.data_type().to_string() }));
                }
                fields.insert(column.to.to_owned(), cell);
            }
            take(fields)?;
        }
        let note = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        progress(Progress { total, ..Progress::new("converting rows", row, 0).note(note) });
        Ok(())
    })
}
