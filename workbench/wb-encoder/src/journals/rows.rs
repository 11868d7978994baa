//! Both journals as one: what is known of each step, step by step.

use std::{fs, path::Path};

use serde_json::{Map, Value};
use wb_core::{Error, Result};

/// Named values of one step, `train/loss` and so on, in the order of the journal's fields.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row {
    pub step: u64,
    pub values: Vec<(String, Value)>,
}

/// One row a step, in order.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Rows(pub Vec<Row>);

impl Rows {
    /// Reads journals, each under its name. A file that is not there has no rows; a last line that a crash cut off
    /// is none yet.
    pub fn read(journals: &[(&str, &Path)]) -> Result<Self> {
        let mut rows: Vec<Row> = Vec::new();
        for (name, path) in journals {
            let text = match fs::read_to_string(path) {
                Ok(text) => text,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                Err(error) => return Err(Error::io("read", *path)(error)),
            };
            for (number, line) in text.split_inclusive('\n').enumerate().filter(|(_, line)| line.ends_with('\n')) {
                let place = || format!("{}:{}", path.display(), number + 1);
                let record: Map<String, Value> = serde_json::from_str(line)
                    .map_err(|error| Error::data(place(), format!("not a record: {error}")))?;
                let step = record.get("step").and_then(Value::as_u64);
                let step = step.ok_or_else(|| Error::data(place(), "has no `step`, expected a whole number"))?;
                let mut values = Vec::new();
                for (key, value) in record.into_iter().filter(|(key, _)| key != "step") {
                    flatten(format!("{name}/{key}"), value, &mut values);
                }
                rows.push(Row { step, values });
            }
        }
        // Stable: of one step, the training's values come first.
        rows.sort_by_key(|row| row.step);
        let mut merged: Vec<Row> = Vec::new();
        for row in rows {
            match merged.last_mut().filter(|last| last.step == row.step) {
                Some(last) => last.values.extend(row.values),
                None => merged.push(row),
            }
        }
        Ok(Self(merged))
    }
}

/// `{"a": {"b": 1}}` under `train` is `train/a/b`.
fn flatten(name: String, value: Value, into: &mut Vec<(String, Value)>) {
    match value {
        Value::Object(map) => map.into_iter().for_each(|(key, value)| flatten(format!("{name}/{key}"), value, into)),
        Value::Null => {}
        other => into.push((name, other)),
    }
}
