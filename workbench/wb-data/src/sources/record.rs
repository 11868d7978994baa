//! One record, and the values that expressions (`a|b`, `a+b`, `meta.doc`) find in it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};
use wb_core::suggest;

use crate::{Error, RecordPlace, Result};

/// One record: its fields, its place, and the text that it was parsed from where there is one.
pub(crate) struct Record<'a> {
    pub(crate) place: RecordPlace,
    pub(crate) fields: Map<String, Value>,
    pub(crate) raw: &'a [u8],
}

/// A record that was understood: what it became, or why the config leaves it out.
#[derive(Debug)]
pub enum Mapped<T> {
    /// A pair, or a text with what is known of it.
    To(Box<T>),
    /// The reason, to count by.
    LeftOut(String),
}

/// A text, or the name of a field that is null.
pub(super) enum Found {
    Text(String),
    Null(String),
}

/// The top-level names in expressions, sorted; each may be the name of a column itself.
pub(super) fn roots<'a>(expressions: impl Iterator<Item = &'a str>) -> Vec<String> {
    let parts = expressions.flat_map(|name| name.split(['|', '+']).chain([name]));
    let names = parts.flat_map(|name| [name.trim(), name.trim().split('.').next().unwrap_or_default()]);
    let roots: BTreeSet<&str> = names.filter(|name| !name.is_empty()).collect();
    roots.into_iter().map(str::to_owned).collect()
}

/// Refuses values that no field is compared with.
pub(super) fn validate_only(only: &BTreeMap<String, Value>, key: &str) -> wb_core::Result<()> {
    for (name, value) in only {
        if value.is_array() || value.is_object() {
            let message = format!("got {}, expected a string, a number, true, false or null", kind(value));
            return Err(Error::value(format!("{key}.only.{name}"), message));
        }
    }
    Ok(())
}

/// The reason why a record is left out, if some field has not the value that it should have.
pub(super) fn left_out(only: &BTreeMap<String, Value>, record: &Record<'_>) -> Result<Option<String>> {
    for (name, wanted) in only {
        let value = lookup(&record.fields, name).ok_or_else(|| missing(record, name))?;
        if scalar(value) != scalar(wanted) {
            return Ok(Some(format!("not `{name}: {}`", scalar(wanted))));
        }
    }
    Ok(None)
}

/// The text that a field expression names, for sources that read one text a record.
pub(crate) fn text_of(record: &Record<'_>, expression: &str) -> Result<Option<String>> {
    Ok(match find_text(record, expression)? {
        Found::Text(text) => Some(text),
        Found::Null(_) => None,
    })
}

pub(super) fn find_text(record: &Record<'_>, expression: &str) -> Result<Found> {
    if let Some(value) = record.fields.get(expression) {
        return one_text(record, expression, value);
    }
    let alternatives: Vec<&str> = expression.split('|').map(str::trim).collect();
    let mut null = None;
    for alternative in &alternatives {
        let parts: Vec<&str> = alternative.split('+').map(str::trim).collect();
        let Some(values) = parts.iter().map(|part| lookup(&record.fields, part)).collect::<Option<Vec<_>>>() else {
            continue;
        };
        let mut joined = String::new();
        let mut whole = true;
        for (part, value) in parts.iter().zip(values) {
            match one_text(record, part, value)? {
                Found::Text(text) => joined.push_str(&text),
                Found::Null(name) => {
                    whole = false;
                    null.get_or_insert(name);
                }
            }
        }
        if whole {
            return Ok(Found::Text(joined));
        }
    }
    match null {
        Some(name) => Ok(Found::Null(name)),
        None => {
            let parts = alternatives[0].split('+').map(str::trim);
            let absent =
                parts.into_iter().find(|part| lookup(&record.fields, part).is_none()).unwrap_or(alternatives[0]);
            Err(missing(record, absent))
        }
    }
}

fn one_text(record: &Record<'_>, name: &str, value: &Value) -> Result<Found> {
    match value {
        Value::String(text) => Ok(Found::Text(text.clone())),
        Value::Null => Ok(Found::Null(name.to_owned())),
        Value::Array(items) => match items.iter().map(Value::as_str).collect::<Option<Vec<_>>>() {
            Some(words) => Ok(Found::Text(words.join(" "))),
            None => {
                let odd = items.iter().find(|item| !item.is_string()).map_or("nothing", kind);
                Err(wrong(record, name, &format!("an array with {odd} in it")))
            }
        },
        other => Err(wrong(record, name, kind(other))),
    }
}

/// A field that may be absent; numbers are taken as they are written.
pub(super) fn optional(record: &Record<'_>, expression: &str) -> Result<String> {
    for name in expression.split('|').map(str::trim) {
        match lookup(&record.fields, name) {
            None | Some(Value::Null) => {}
            Some(value @ (Value::String(_) | Value::Number(_) | Value::Bool(_))) => return Ok(scalar(value)),
            Some(other) => return Err(wrong(record, name, kind(other))),
        }
    }
    Ok(String::new())
}

pub(super) fn negatives(record: &Record<'_>, expression: &str) -> Result<Vec<String>> {
    for name in expression.split('|').map(str::trim) {
        match lookup(&record.fields, name) {
            None | Some(Value::Null) => {}
            Some(Value::String(text)) if text.is_empty() => return Ok(Vec::new()),
            Some(Value::String(text)) => return Ok(vec![text.clone()]),
            Some(value @ Value::Array(items)) => {
                let texts = items.iter().map(|item| item.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>();
                return texts.ok_or_else(|| wrong(record, name, &format!("{} with something else in it", kind(value))));
            }
            Some(other) => return Err(wrong(record, name, kind(other))),
        }
    }
    Ok(Vec::new())
}

pub(super) fn lookup<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    if let Some(value) = fields.get(name) {
        return Some(value);
    }
    let (first, rest) = name.split_once('.')?;
    lookup(fields.get(first)?.as_object()?, rest)
}

fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

fn missing(record: &Record<'_>, name: &str) -> Error {
    let names: Vec<&str> = record.fields.keys().map(String::as_str).collect();
    let message = match names.is_empty() {
        true => format!("no field `{name}`, the record is empty"),
        false => format!("no field `{name}`, the record has {}", quoted(&names)),
    };
    let error = Error::record(record.place.clone(), "missing field", message);
    match suggest::nearest(name, names.iter().copied()) {
        Some(near) => error.with_hint(format!("did you mean `{near}`?")),
        None => error.with_hint(naming(&names)),
    }
}

/// Names for a message.
pub(super) fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// A hint that names fields which are there; which of them is meant, the user knows.
pub(super) fn naming(names: &[&str]) -> String {
    let [anchor, positive] = [0, 1].map(|at| names.get(at).copied().unwrap_or("code"));
    format!("name the fields, as in `fields: {{ anchor: {anchor}, positive: {positive} }}`")
}

fn wrong(record: &Record<'_>, name: &str, got: &str) -> Error {
    let message = format!("field `{name}` is {got}, expected a string or an array of strings");
    Error::record(place_of(record, name), "wrong type", message)
}

/// The place of a key in the text of its record, as far as a search for it tells.
pub(super) fn place_of(record: &Record<'_>, name: &str) -> RecordPlace {
    let key = format!("\"{}\"", name.rsplit('.').next().unwrap_or(name));
    let Some(at) = record.raw.windows(key.len()).position(|part| part == key.as_bytes()) else {
        return record.place.clone();
    };
    let before = &record.raw[..at];
    let lines = before.iter().filter(|byte| **byte == b'\n').count();
    let column = match before.iter().rposition(|byte| *byte == b'\n') {
        Some(newline) => at - newline,
        None => record.place.column + at,
    };
    RecordPlace { line: record.place.line + lines, ..record.place.clone() }.at(column)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_about_fields_can_be_pasted() {
        let hint = naming(&["docstring", "code", "url"]);
        assert_eq!(hint, "name the fields, as in `fields: { anchor: docstring, positive: code }`");
    }
}
