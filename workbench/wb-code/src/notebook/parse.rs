//! The cells of a notebook file: formats 2 to 4 of Jupyter's `nbformat`. Outputs are passed over without being kept.

use serde::Deserialize;
use serde_json::Value;
use wb_core::error::json_message;

use crate::canonical_name;

/// The code and the prose of a notebook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notebook {
    /// The kernel's language by its usual name here; Python where the file says nothing.
    pub language: String,
    /// Its cells in order; what is wrong with one that is none.
    pub cells: Vec<Result<Cell, String>>,
}

/// A cell of a notebook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    /// Code or prose.
    pub kind: CellKind,
    /// Its text.
    pub source: String,
}

/// A kind of cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellKind {
    /// Code.
    Code,
    /// Markdown, or a heading.
    Text,
    /// Text for programs: raw cells, HTML.
    Other,
}

/// The reason that a text is no notebook.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}")]
pub struct NotebookFault {
    /// Line and column, or the line alone.
    pub place: String,
    /// The kind of fault in two words, to count by.
    pub reason: &'static str,
    /// The whole sentence.
    pub message: String,
}

#[derive(Deserialize)]
struct RawNotebook {
    nbformat: Option<u64>,
    #[serde(default)]
    metadata: Value,
    cells: Option<Vec<RawCell>>,
    /// Formats 2 and 3.
    worksheets: Option<Vec<Worksheet>>,
}

#[derive(Deserialize)]
struct Worksheet {
    #[serde(default)]
    cells: Vec<RawCell>,
}

#[derive(Deserialize)]
struct RawCell {
    #[serde(default)]
    cell_type: String,
    #[serde(default)]
    source: Value,
    /// The source of code in formats 2 and 3.
    #[serde(default)]
    input: Value,
    /// The level of a heading in formats 2 and 3.
    level: Option<u64>,
    /// The language of code in formats 2 and 3.
    #[serde(default)]
    language: String,
}

impl Notebook {
    /// Reads the text of an `.ipynb` file.
    ///
    /// # Errors
    ///
    /// If it is no notebook of formats 2 to 4; a cell that is none is told in its place.
    pub fn parse(text: &str) -> Result<Self, NotebookFault> {
        let raw: RawNotebook = serde_json::from_str(text).map_err(|error| {
            let message = json_message(&error);
            let (reason, message) = match error.classify() {
                serde_json::error::Category::Eof => {
                    ("cut off", "the notebook ends inside its JSON, as if it was cut off".to_owned())
                }
                serde_json::error::Category::Data => ("not a notebook", format!("not a notebook: {message}")),
                _ => ("not JSON", format!("not JSON: {message}")),
            };
            NotebookFault { place: format!("{}:{}", error.line(), error.column()), reason, message }
        })?;
        notebook(raw)
    }
}

fn notebook(raw: RawNotebook) -> Result<Notebook, NotebookFault> {
    let wrong = |message: String| NotebookFault { place: "1".into(), reason: "not a notebook", message };
    let cells: Vec<RawCell> = match (raw.nbformat, raw.cells, raw.worksheets) {
        (Some(4), Some(cells), _) => cells,
        (Some(2 | 3), _, Some(sheets)) => sheets.into_iter().flat_map(|sheet| sheet.cells).collect(),
        (Some(4), None, _) => return Err(wrong("no `cells`, which nbformat 4 has".into())),
        (Some(2 | 3), _, None) => return Err(wrong("no `worksheets`, which nbformat 2 and 3 have".into())),
        (Some(other), ..) => return Err(wrong(format!("got `nbformat` {other}, expected 2, 3 or 4"))),
        (None, ..) => return Err(wrong("no `nbformat`, expected a Jupyter notebook".into())),
    };
    let named = |path: &[&str]| {
        let value = path.iter().try_fold(&raw.metadata, |value, key| value.get(key));
        value.and_then(Value::as_str).map(str::to_owned)
    };
    let of_cell = cells.iter().map(|cell| &cell.language).find(|language| !language.is_empty()).cloned();
    let language = named(&["language_info", "name"])
        .or_else(|| named(&["kernelspec", "language"]))
        .or(of_cell)
        .unwrap_or_else(|| "python".to_owned());
    Ok(Notebook { language: canonical_name(&language), cells: cells.into_iter().map(cell).collect() })
}

fn cell(raw: RawCell) -> Result<Cell, String> {
    let (kind, source) = match raw.cell_type.as_str() {
        "code" if raw.source.is_null() => (CellKind::Code, raw.input),
        "code" => (CellKind::Code, raw.source),
        "markdown" | "heading" => (CellKind::Text, raw.source),
        "raw" | "html" | "plaintext" => (CellKind::Other, raw.source),
        "" => return Err("no `cell_type`, expected code, markdown or raw".into()),
        other => return Err(format!("got `cell_type` {other}, expected code, markdown or raw")),
    };
    let source = match source {
        Value::String(text) => text,
        // Lines carry their own ends.
        Value::Array(lines) => {
            let lines: Option<Vec<&str>> = lines.iter().map(Value::as_str).collect();
            lines.ok_or("the source is an array with something else than text in it")?.concat()
        }
        _ => return Err("no source, expected a text or an array of texts".into()),
    };
    let source = source.replace("\r\n", "\n");
    match (raw.cell_type.as_str(), raw.level) {
        ("heading", Some(level)) => {
            Ok(Cell { kind, source: format!("{} {source}", "#".repeat(level.clamp(1, 6) as usize)) })
        }
        _ => Ok(Cell { kind, source }),
    }
}
