//! JSON as text, on one line or on several.

use serde_json::Value;

/// Layout of values on lines.
#[derive(Debug, Clone, Copy)]
pub struct Layout<'a> {
    /// Indent of each level.
    pub unit: &'a str,
    /// Indent of the line that the value begins on.
    pub base: &'a str,
    /// Line end.
    pub end: &'a str,
}

/// A value as `JSON.stringify(value, null, unit)` writes it: agents that write their files anew leave it as it is.
pub fn on_lines(value: &Value, layout: &Layout) -> String {
    let inner = [layout.base, layout.unit].concat();
    let below = Layout { base: &inner, ..*layout };
    let (open, close, all): (_, _, Vec<String>) = match value {
        Value::Object(members) if !members.is_empty() => {
            let member = |(key, value): (&String, &Value)| format!("{}: {}", quoted(key), on_lines(value, &below));
            ('{', '}', members.iter().map(member).collect())
        }
        Value::Array(values) if !values.is_empty() => {
            ('[', ']', values.iter().map(|value| on_lines(value, &below)).collect())
        }
        other => return other.to_string(),
    };
    let between = format!(",{}{inner}", layout.end);
    format!("{open}{}{inner}{}{}{}{close}", layout.end, all.join(&between), layout.end, layout.base)
}

/// A value on one line, with spaces inside of its braces or without.
pub fn on_one_line(value: &Value, is_wide: bool) -> String {
    match value {
        Value::Object(members) => {
            let member = |(key, value): (&String, &Value)| format!("{}: {}", quoted(key), on_one_line(value, false));
            let space = if is_wide { " " } else { "" };
            format!("{{{space}{}{space}}}", members.iter().map(member).collect::<Vec<_>>().join(", "))
        }
        Value::Array(values) => {
            let all: Vec<String> = values.iter().map(|value| on_one_line(value, false)).collect();
            format!("[{}]", all.join(", "))
        }
        other => other.to_string(),
    }
}

/// A text as a JSON string.
pub fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}
