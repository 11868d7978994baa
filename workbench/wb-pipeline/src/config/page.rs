//! The tables of `configs/README.md`: key, default and meaning, from the schema, which has them from the types.
//!
//! A table stands between `<!-- keys of NAME -->`, the name of a struct, and `<!-- end -->`; all else on the page is
//! written by hand.

use serde_json::Value;
use wb_core::{Error, Result};

const FROM: &str = "<!-- keys of ";
const TO: &str = "<!-- end -->";

/// The page with its tables made anew.
///
/// # Errors
///
/// If a table is of no struct of a YAML, or has no end.
pub fn with_tables(page: &str) -> Result<String> {
    let schema: Value =
        serde_json::from_str(&super::schema()?).map_err(|error| Error::data("the schema", error.to_string()))?;
    let mut filled = String::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        filled += &format!("{line}\n");
        let Some(name) = line.strip_prefix(FROM).and_then(|rest| rest.strip_suffix(" -->")) else { continue };
        let refuse = |message: &str| Error::data(format!("configs/README.md: `{line}`"), message);
        let of = schema["definitions"].get(name).ok_or_else(|| refuse("no section of a YAML has this name"))?;
        filled += &table(of);
        lines.find(|line| *line == TO).ok_or_else(|| refuse("no `<!-- end -->` follows"))?;
        filled += &format!("{TO}\n");
    }
    Ok(filled)
}

fn table(of: &Value) -> String {
    let required = |key: &str| of["required"].as_array().is_some_and(|all| all.iter().any(|one| one == key));
    let row = |(key, about): (&String, &Value)| {
        let default = if required(key) { "required".to_owned() } else { default_cell(about) };
        let meaning =
            about["description"].as_str().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
        format!("| `{key}` | {} | {} |\n", escaped(&default), escaped(&meaning))
    };
    let rows: String = of["properties"].as_object().into_iter().flatten().map(row).collect();
    format!("| key | default | meaning |\n|---|---|---|\n{rows}")
}

/// A bar would end the cell.
fn escaped(cell: &str) -> String {
    cell.replace('|', "\\|")
}

fn default_cell(about: &Value) -> String {
    match about.get("default") {
        None => "none".to_owned(),
        Some(default) => short(default).map_or_else(|| "see below".to_owned(), |yaml| format!("`{yaml}`")),
    }
}

/// A default in YAML's flow style, where it is short: a scalar, a list, or a map with one key.
fn short(default: &Value) -> Option<String> {
    match default {
        Value::Array(items) => Some(format!("[{}]", items.iter().map(short).collect::<Option<Vec<_>>>()?.join(", "))),
        Value::Object(fields) => match fields.iter().next() {
            None => Some("{}".to_owned()),
            // A choice: its member has defaults of its own within.
            Some((key, value)) if fields.len() == 1 => {
                let inner = short(value).or_else(|| value.is_object().then(|| "{}".to_owned()))?;
                Some(format!("{{ {key}: {inner} }}"))
            }
            Some(_) => None,
        },
        Value::String(text) if text.is_empty() => Some("\"\"".to_owned()),
        Value::String(text) => Some(text.clone()),
        scalar => Some(scalar.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_table_has_key_default_and_meaning() {
        let of = json!({
            "required": ["path"],
            "properties": {
                "path": { "description": "A file." },
                "by": { "description": "Who\nranks: a|b.", "default": "a|b" },
                "every": { "default": { "share": 0.1 } },
                "loss": { "default": { "mnrl": { "scale": 20.0, "temperature": null } } },
                "draw": { "default": { "top_p": 1.0, "count": 3 } },
                "names": { "default": ["a", "b"] },
                "entries": { "default": [{ "benchmark": { "pairs": { "seed": 0, "split": "test" } } }] },
                "limit": { "default": null },
            },
        });
        let expected = "| key | default | meaning |\n|---|---|---|\n| `path` | required | A file. |\n\
            | `by` | `a\\|b` | Who ranks: a\\|b. |\n| `every` | `{ share: 0.1 }` |  |\n| `loss` | `{ mnrl: {} }` |  |\n\
            | `draw` | see below |  |\n| `names` | `[a, b]` |  |\n\
            | `entries` | `[{ benchmark: { pairs: {} } }]` |  |\n| `limit` | `null` |  |\n";
        assert_eq!(table(&of), expected);
    }

    #[test]
    fn only_what_stands_between_the_marks_changes() {
        let page = "# Keys\n\n<!-- keys of BalanceConfig -->\n| old |\n<!-- end -->\n\nMore.\n";
        let filled = with_tables(page).unwrap();
        assert!(
            filled.starts_with("# Keys\n\n<!-- keys of BalanceConfig -->\n| key | default | meaning |\n"),
            "{filled}"
        );
        assert!(filled.ends_with("|\n<!-- end -->\n\nMore.\n") && !filled.contains("old"), "{filled}");
        assert!(filled.contains("| `max_per_language` | `0` | "), "{filled}");
        assert_eq!(with_tables(&filled).unwrap(), filled);
        assert!(with_tables("<!-- keys of Nobody -->\n<!-- end -->\n").is_err());
        assert!(with_tables("<!-- keys of BalanceConfig -->\n").is_err());
    }
}
