//! The tables of `configs/README.md`: key, default and meaning, from the schema, which has them from the types.
//!
//! A table stands between `<!-- keys of NAME -->` and `<!-- end -->`; all else on the page is written by hand. The name is
//! that of a struct, of a choice, whose members are listed, or `Experiment` for the whole file.

use serde_json::Value;
use wb_core::{Error, Result};

const FROM: &str = "<!-- keys of ";
const TO: &str = "<!-- end -->";
/// The name of the whole file, whose keys are the schema's own.
const WHOLE: &str = "Experiment";

/// The page with its tables made anew.
///
/// # Errors
///
/// If a table is of no struct or choice of a YAML, or has no end.
pub fn with_tables(page: &str) -> Result<String> {
    let schema: Value =
        serde_json::from_str(&super::schema()?).map_err(|error| Error::data("the schema", error.to_string()))?;
    let mut filled = String::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        filled += &format!("{line}\n");
        let Some(name) = line.strip_prefix(FROM).and_then(|rest| rest.strip_suffix(" -->")) else { continue };
        let refuse = |message: &str| Error::data(format!("configs/README.md: `{line}`"), message);
        let of = section(&schema, name).ok_or_else(|| refuse("no section of a YAML has this name"))?;
        filled += &table(of);
        lines.find(|line| *line == TO).ok_or_else(|| refuse("no `<!-- end -->` follows"))?;
        filled += &format!("{TO}\n");
    }
    Ok(filled)
}

/// The part of the schema that a mark names. Of what is a text or a map, the map has the keys.
fn section<'s>(schema: &'s Value, name: &str) -> Option<&'s Value> {
    if name == WHOLE {
        return Some(schema);
    }
    let of = schema["definitions"].get(name)?;
    let maps = of["anyOf"].as_array().into_iter().flatten();
    maps.filter(|one| one["properties"].is_object()).chain([of]).next()
}

fn table(of: &Value) -> String {
    if let Some(members) = of["oneOf"].as_array() {
        let rows: String = members.iter().map(member_row).collect();
        return format!("| entry | meaning |\n|---|---|\n{rows}");
    }
    let required = |key: &str| of["required"].as_array().is_some_and(|all| all.iter().any(|one| one == key));
    let row = |(key, about): (&String, &Value)| {
        let default = if required(key) { "required".to_owned() } else { default_cell(about) };
        format!("| `{key}` | {} | {} |\n", escaped(&default), meaning(about))
    };
    let rows: String = of["properties"].as_object().into_iter().flatten().map(row).collect();
    format!("| key | default | meaning |\n|---|---|---|\n{rows}")
}

/// A member of a choice: a word alone, or a map with its name as the only key.
fn member_row(member: &Value) -> String {
    let key = member["properties"].as_object().and_then(|fields| fields.keys().next());
    let name = key.map(String::as_str).or(member["const"].as_str()).unwrap_or_default();
    format!("| `{name}` | {} |\n", meaning(member))
}

fn meaning(about: &Value) -> String {
    let words = about["description"].as_str().unwrap_or_default().split_whitespace();
    escaped(&words.collect::<Vec<_>>().join(" "))
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
    fn a_choice_has_its_members_and_a_name_or_a_map_the_keys_of_the_map() {
        let choice = json!({ "oneOf": [
            { "description": "A\nfile.", "properties": { "file": { "type": "string" } } },
            { "description": "None.", "const": "off" },
        ] });
        assert_eq!(table(&choice), "| entry | meaning |\n|---|---|\n| `file` | A file. |\n| `off` | None. |\n");
        let schema = json!({ "properties": { "name": {} }, "definitions": {
            "Ref": { "anyOf": [{ "type": "string" }, { "properties": { "id": {} } }] },
        } });
        let keys = |name: &str| section(&schema, name).map(|of| of["properties"].clone());
        assert_eq!(keys("Ref"), Some(json!({ "id": {} })));
        assert_eq!(keys("Experiment"), Some(json!({ "name": {} })));
        assert_eq!(keys("Nobody"), None);
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
