//! JSON schemas, of the few keywords that every server enforces alike, and the check of an answer against one.
//!
//! Servers take keywords that they do not enforce, with status 200: `uniqueItems`, `multipleOf`, `pattern` with
//! look-ahead. So a keyword outside of this list is refused when the recipe is read, not ignored when it is answered:
//! `type`, `properties`, `required`, `additionalProperties: false`, `enum`, `const`, `items`, `minItems`, `maxItems`,
//! `minLength`, `maxLength`, and `minimum` and `maximum` of integers; `title`, `description` and `$schema` say nothing.
//! What they mean is what JSON Schema 2020-12 says they mean; lengths are Unicode code points.

use serde_json::{Map, Value};

/// Schemas nested deeper are refused.
const DEPTH: usize = 32;

/// A schema that is understood to its last keyword.
#[derive(Debug, Clone, PartialEq)]
pub struct Schema(Node);

#[derive(Debug, Clone, PartialEq, Default)]
struct Node {
    kind: Option<Kind>,
    properties: Vec<(String, Node)>,
    required: Vec<String>,
    closed: bool,
    allowed: Option<Vec<Value>>,
    items: Option<Box<Node>>,
    n_items: (u64, Option<u64>),
    length: (u64, Option<u64>),
    range: (Option<i64>, Option<i64>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Object,
    Array,
    String,
    Integer,
    Number,
    Boolean,
    Null,
}

const KINDS: [(&str, Kind); 7] = [
    ("object", Kind::Object),
    ("array", Kind::Array),
    ("string", Kind::String),
    ("integer", Kind::Integer),
    ("number", Kind::Number),
    ("boolean", Kind::Boolean),
    ("null", Kind::Null),
];

const KEYWORDS: &str = "type, properties, required, additionalProperties: false, enum, const, items, minItems, \
                        maxItems, minLength, maxLength, minimum and maximum of integers";

impl Schema {
    /// Reads a schema; the message names the place and what is not understood there.
    pub fn parse(schema: &Value) -> Result<Self, String> {
        node(schema, "$", 0).map(Self)
    }

    /// Checks a value; the message names the first place that does not fit.
    pub fn check(&self, value: &Value) -> Result<(), String> {
        check(&self.0, value, "$")
    }
}

fn node(schema: &Value, at: &str, depth: usize) -> Result<Node, String> {
    let Some(map) = schema.as_object() else { return Err(format!("schema {at}: {schema}, expected an object")) };
    if depth > DEPTH {
        return Err(format!("schema {at}: nested more than {DEPTH} deep"));
    }
    let mut node = Node { kind: kind(map, at)?, ..Node::default() };
    for (keyword, value) in map {
        let bad = |expected: &str| format!("schema {at}: `{keyword}` is {value}, expected {expected}");
        let only_of = |kinds: &[Kind], words: &str| match node.kind {
            Some(kind) if kinds.contains(&kind) => Ok(()),
            _ => Err(format!("schema {at}: `{keyword}` needs `type: {words}` beside it")),
        };
        let count = || value.as_u64().ok_or_else(|| bad("a whole number of at least 0"));
        let whole = || value.as_i64().ok_or_else(|| bad("a whole number"));
        match keyword.as_str() {
            "type" | "title" | "description" | "$schema" => {}
            "properties" => {
                only_of(&[Kind::Object], "object")?;
                let inside = value.as_object().ok_or_else(|| bad("an object"))?;
                node.properties = inside
                    .iter()
                    .map(|(name, schema)| Ok((name.clone(), self::node(schema, &format!("{at}.{name}"), depth + 1)?)))
                    .collect::<Result<_, String>>()?;
            }
            "required" => {
                only_of(&[Kind::Object], "object")?;
                let names =
                    value.as_array().and_then(|names| names.iter().map(Value::as_str).collect::<Option<Vec<_>>>());
                node.required = names.ok_or_else(|| bad("a list of names"))?.into_iter().map(str::to_owned).collect();
            }
            "additionalProperties" => {
                only_of(&[Kind::Object], "object")?;
                node.closed = value == &Value::Bool(false);
                if !node.closed {
                    return Err(bad("false"));
                }
            }
            "enum" => {
                let values =
                    value.as_array().filter(|values| !values.is_empty()).ok_or_else(|| bad("a list of values"))?;
                node.allowed = Some(values.clone());
            }
            "const" => node.allowed = Some(vec![value.clone()]),
            "items" => {
                only_of(&[Kind::Array], "array")?;
                node.items = Some(Box::new(self::node(value, &format!("{at}[]"), depth + 1)?));
            }
            "minItems" => {
                only_of(&[Kind::Array], "array")?;
                node.n_items.0 = count()?;
            }
            "maxItems" => {
                only_of(&[Kind::Array], "array")?;
                node.n_items.1 = Some(count()?);
            }
            "minLength" => {
                only_of(&[Kind::String], "string")?;
                node.length.0 = count()?;
            }
            "maxLength" => {
                only_of(&[Kind::String], "string")?;
                node.length.1 = Some(count()?);
            }
            "minimum" => {
                only_of(&[Kind::Integer], "integer")?;
                node.range.0 = Some(whole()?);
            }
            "maximum" => {
                only_of(&[Kind::Integer], "integer")?;
                node.range.1 = Some(whole()?);
            }
            _ => return Err(format!("schema {at}: `{keyword}` is not enforced alike by servers, expected {KEYWORDS}")),
        }
    }
    if map.contains_key("enum") && map.contains_key("const") {
        return Err(format!("schema {at}: `enum` beside `const`, expected one of them"));
    }
    let names = |name: &String| node.properties.iter().any(|(known, _)| known == name);
    if let Some(name) = node.required.iter().find(|name| node.closed && !names(name)) {
        return Err(format!("schema {at}: `{name}` is required and no property, so nothing can fit"));
    }
    Ok(node)
}

fn kind(map: &Map<String, Value>, at: &str) -> Result<Option<Kind>, String> {
    let Some(value) = map.get("type") else {
        if map.contains_key("enum") || map.contains_key("const") {
            return Ok(None);
        }
        return Err(format!("schema {at}: has neither `type` nor `enum` nor `const`"));
    };
    let known = value.as_str().and_then(|name| KINDS.iter().find(|(known, _)| *known == name));
    let names = KINDS.map(|(name, _)| name).join(", ");
    known.map(|(_, kind)| Some(*kind)).ok_or_else(|| format!("schema {at}: `type` is {value}, expected one of {names}"))
}

fn check(node: &Node, value: &Value, at: &str) -> Result<(), String> {
    let shown = || {
        let text = value.to_string();
        if text.chars().count() <= 60 { text } else { text.chars().take(60).chain("...".chars()).collect() }
    };
    if let Some(kind) = node.kind
        && !is(kind, value)
    {
        let name = KINDS.iter().find(|(_, known)| *known == kind).map_or("", |(name, _)| name);
        return Err(format!("{at}: {}, expected {name}", shown()));
    }
    if let Some(allowed) = &node.allowed
        && !allowed.iter().any(|allowed| equal(allowed, value))
    {
        let list: Vec<String> = allowed.iter().take(8).map(Value::to_string).collect();
        return Err(format!("{at}: {}, expected one of {}", shown(), list.join(", ")));
    }
    let within = |n: u64, (least, most): (u64, Option<u64>), what: &str| {
        if n >= least && most.is_none_or(|most| n <= most) {
            return Ok(());
        }
        let most = most.map_or("any number".to_owned(), |most| most.to_string());
        Err(format!("{at}: {n} {what}, expected {least} to {most}"))
    };
    match value {
        Value::Object(map) => {
            if let Some(name) = node.required.iter().find(|name| !map.contains_key(*name)) {
                return Err(format!("{at}: lacks `{name}`"));
            }
            for (name, value) in map {
                match node.properties.iter().find(|(known, _)| known == name) {
                    Some((_, inside)) => check(inside, value, &format!("{at}.{name}"))?,
                    None if node.closed => return Err(format!("{at}: `{name}` is not expected")),
                    None => {}
                }
            }
        }
        Value::Array(values) => {
            within(values.len() as u64, node.n_items, "items")?;
            if let Some(inside) = &node.items {
                for (i, value) in values.iter().enumerate() {
                    check(inside, value, &format!("{at}[{i}]"))?;
                }
            }
        }
        Value::String(text) => within(text.chars().count() as u64, node.length, "characters")?,
        Value::Number(number) => {
            let (least, most) = node.range;
            // Whole numbers beyond 64 bits are floats here, and so is 3.0.
            let below =
                |least: i64| number.as_i64().map_or_else(|| number.as_f64() < Some(least as f64), |n| n < least);
            let above = |most: i64| number.as_i64().map_or_else(|| number.as_f64() > Some(most as f64), |n| n > most);
            if least.is_some_and(below) || most.is_some_and(above) {
                let bound = |bound: Option<i64>| bound.map_or("any number".to_owned(), |bound| bound.to_string());
                return Err(format!("{at}: {number}, expected {} to {}", bound(least), bound(most)));
            }
        }
        Value::Null | Value::Bool(_) => {}
    }
    Ok(())
}

fn is(kind: Kind, value: &Value) -> bool {
    match kind {
        Kind::Object => value.is_object(),
        Kind::Array => value.is_array(),
        Kind::String => value.is_string(),
        Kind::Number => value.is_number(),
        // 3.0 is an integer to JSON Schema.
        Kind::Integer => value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|n| n.fract() == 0.0),
        Kind::Boolean => value.is_boolean(),
        Kind::Null => value.is_null(),
    }
}

/// Equal as JSON Schema means it: 1 and 1.0 are one number, and an object's order says nothing.
fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| equal(a, b)))
        }
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use serde_json::json;

    #[test]
    fn unknown_and_impossible_keywords_are_refused_by_place() {
        for (schema, message) in [
            (json!({"type": "array", "uniqueItems": true}), "schema $: `uniqueItems` is not enforced alike"),
            (
                json!({"type": "object", "properties": {"a": {"type": "string", "pattern": "^a"}}}),
                "schema $.a: `pattern`",
            ),
            (json!({"type": ["string", "null"]}), "schema $: `type` is [\"string\",\"null\"]"),
            (json!({"$ref": "http://127.0.0.1/x"}), "schema $: has neither"),
            (json!({"type": "number", "minimum": 1}), "schema $: `minimum` needs `type: integer`"),
            (json!({"minLength": 1, "enum": ["a"]}), "schema $: `minLength` needs `type: string`"),
            (json!({"type": "object", "additionalProperties": true}), "schema $: `additionalProperties` is true"),
            (
                json!({"type": "object", "required": ["a"], "additionalProperties": false}),
                "schema $: `a` is required and no property",
            ),
            (json!(true), "schema $: true, expected an object"),
            (json!({"enum": []}), "schema $: `enum` is []"),
        ] {
            let error = Schema::parse(&schema).unwrap_err();
            assert!(error.starts_with(message), "{error}");
        }
        let deep = (0..40).fold(json!({"type": "null"}), |inside, _| json!({"type": "array", "items": inside}));
        assert!(Schema::parse(&deep).unwrap_err().contains("deep"));
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let schema = json!({"type": "object", "additionalProperties": false, "required": ["n"], "properties": {
            "n": {"type": "integer", "minimum": 1, "maximum": 5},
            "tags": {"type": "array", "maxItems": 2, "items": {"type": "string", "maxLength": 3}},
        }});
        let schema = Schema::parse(&schema).unwrap();
        for (value, message) in [
            (json!({"n": 9}), "$.n: 9, expected 1 to 5"),
            (json!({"n": 1, "x": 1}), "$: `x` is not expected"),
            (json!({"tags": []}), "$: lacks `n`"),
            (json!({"n": 1, "tags": ["abcd"]}), "$.tags[0]: 4 characters, expected 0 to 3"),
            (json!({"n": 1, "tags": [1, 2, 3]}), "$.tags: 3 items, expected 0 to 2"),
            (json!({"n": "1"}), "$.n: \"1\", expected integer"),
        ] {
            assert_eq!(schema.check(&value).unwrap_err(), message);
        }
        schema.check(&json!({"n": 5.0, "tags": ["äöü"]})).unwrap();
    }

    /// Verdicts of the Python library `jsonschema` on made-up schemas and values: scripts/golden-schema.py.
    #[test]
    fn verdicts_are_those_of_the_reference() {
        #[derive(Deserialize)]
        struct Case {
            schema: Value,
            value: Value,
            valid: bool,
        }
        let text = include_str!("../tests/golden/schema.json");
        let cases: Vec<Case> = serde_json::from_str(text).unwrap();
        assert!(cases.len() >= 1000 && cases.iter().filter(|case| case.valid).count() * 5 > cases.len());
        for case in cases {
            let found = Schema::parse(&case.schema).unwrap().check(&case.value);
            assert_eq!(found.is_ok(), case.valid, "{} {}: {found:?}", case.schema, case.value);
        }
    }
}
