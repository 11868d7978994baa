//! Scores of documents for an anchor, as a record has them: one number, or one for each document.

use serde_json::Value;

use super::record::{Record, kind, lookup, place_of};
use crate::{Error, Result};

/// One score or 1 + `negatives` of them, or none; a text, as in CSV, is read as JSON.
pub(super) fn scores(record: &Record<'_>, expression: &str, negatives: usize) -> Result<Vec<f32>> {
    for name in expression.split('|').map(str::trim) {
        let value = match lookup(&record.fields, name) {
            None | Some(Value::Null) => continue,
            Some(Value::String(text)) if text.trim().is_empty() => return Ok(Vec::new()),
            Some(Value::String(text)) => serde_json::from_str(text).unwrap_or_else(|_| text.as_str().into()),
            Some(other) => other.clone(),
        };
        let items = match value {
            Value::Array(items) => items,
            one => vec![one],
        };
        let refuse = |found: String| {
            let expected = match negatives {
                0 => "one number".to_owned(),
                n => format!("one number, or {}: the positive's and one for each hard negative", n + 1),
            };
            let message = format!("field `{name}` is {found}, expected {expected}");
            Err(Error::record(place_of(record, name), "scores", message))
        };
        let number = |item: &Value| item.as_f64().map(|number| number as f32).filter(|number| number.is_finite());
        let Some(scores) = items.iter().map(number).collect::<Option<Vec<f32>>>() else {
            let odd = items.iter().find(|item| number(item).is_none()).map_or("nothing", kind);
            return refuse(if odd == "a number" { "a number out of range".into() } else { odd.into() });
        };
        if !(scores.len() <= 1 || scores.len() == 1 + negatives) {
            return refuse(format!("{} numbers", scores.len()));
        }
        return Ok(scores);
    }
    Ok(Vec::new())
}
