//! The schema of a YAML: it and the tables of keys are committed as the types make them, and every config fits it.

use std::{fs, path::Path};

use serde_json::Value;
use wb_pipeline::config;

use crate::{
    configs::{configs, resolved},
    tree::root,
};

/// The schema that is printed.
fn schema() -> Value {
    serde_json::from_str(&config::schema().unwrap()).unwrap()
}

#[test]
fn what_is_made_from_the_types_is_committed_as_they_make_it() {
    let committed = |file: &str| fs::read_to_string(root().join(file)).unwrap_or_default();
    let tables = config::with_tables(&committed("configs/README.md")).unwrap();
    let made =
        [("configs/schema.json", "--schema", config::schema().unwrap()), ("configs/README.md", "--defaults", tables)];
    for (file, option, text) in made {
        let again = format!("cargo run --release -p wb -- ls {option} > made && mv made {file}");
        assert!(committed(file).trim_end() == text.trim_end(), "{file} is stale; make it again: {again}");
    }
}

#[test]
fn every_config_names_the_schema_and_fits_it() {
    let schema = schema();
    for path in configs() {
        let text = fs::read_to_string(&path).unwrap();
        let mut head = text.lines().take_while(|line| line.starts_with('#'));
        assert!(head.any(|line| line == "# yaml-language-server: $schema=schema.json"), "{}", path.display());
        for text in [text.clone(), resolved(&path)] {
            let value: Value = wb_core::config::from_text(&text, &path).unwrap();
            assert_eq!(misfits(&schema, &schema, &value, ""), Vec::<String>::new(), "{}", path.display());
        }
    }
}

#[test]
fn what_the_types_refuse_does_not_fit_the_schema() {
    let schema = schema();
    for (yaml, at) in [
        ("name: x\ntrian: {}", ".trian"),
        ("name: 3", ".name"),
        ("name: x\ndata: { sources: [], on_bad: ignore }", ".data.on_bad"),
        ("name: x\nllm: { engine: { embedded: { treads: 1 } } }", ".llm.engine.embedded.treads"),
        ("name: x\ntrain: { loss: { mnrl: { scael: 20 } } }", ".train.loss.mnrl.scael"),
        ("name: x\nnegatives: { encoder: { id: a, revison: b } }", ".negatives.encoder.revison"),
        ("name: x\nencoder: { model: { pretrained: latest }, lora: { targets: 3 } }", ".encoder.lora.targets"),
    ] {
        let value: Value = wb_core::config::from_text(yaml, Path::new("x.yaml")).unwrap();
        assert_eq!(misfits(&schema, &schema, &value, ""), [at], "{yaml}");
    }
    for yaml in [
        "name: x\nllm: { engine: http }\ndevice: cuda:1",
        "name: x\nllm: { engine: { http: {} } }\ndevice: auto",
        "name: x\nnegatives: { encoder: { id: a }, ram: 2GB }",
        "name: x\nnegatives: { encoder: latest, ram: 4096 }",
        "name: x\nencoder: { model: { pretrained: latest }, lora: { targets: all-linear, rank_pattern: { q: 4 } } }",
    ] {
        let value: Value = wb_core::config::from_text(yaml, Path::new("x.yaml")).unwrap();
        assert_eq!(misfits(&schema, &schema, &value, ""), Vec::<String>::new(), "{yaml}");
    }
}

/// The paths of what a schema does not take: unknown keys, values of another type or name. Of alternatives the one
/// counts that is entered deepest. Numbers' bounds and texts' patterns are not looked at.
fn misfits(root: &Value, schema: &Value, value: &Value, at: &str) -> Vec<String> {
    if let Some(reference) = schema["$ref"].as_str() {
        let target = root.pointer(reference.trim_start_matches('#')).unwrap_or_else(|| panic!("no {reference}"));
        return misfits(root, target, value, at);
    }
    if !has_type(&schema["type"], value) || !is_one_of(schema, value) {
        return vec![at.to_owned()];
    }
    let parts = |name: &str| schema[name].as_array();
    let mut found: Vec<String> =
        parts("allOf").into_iter().flatten().flat_map(|part| misfits(root, part, value, at)).collect();
    for alternatives in ["anyOf", "oneOf"].into_iter().filter_map(parts) {
        let of_each = alternatives.iter().map(|part| misfits(root, part, value, at));
        // A path that is longer shows that the alternative was the one that was meant.
        found.extend(of_each.min_by_key(|found| found.first().map(|path| usize::MAX - path.len())).unwrap_or_default());
    }
    let of_items = |(index, item): (usize, &Value)| {
        let of_item = schema["items"].get(index).unwrap_or(&schema["items"]);
        misfits(root, of_item, item, &format!("{at}[{index}]"))
    };
    found.extend(value.as_array().into_iter().flatten().enumerate().flat_map(of_items));
    for (key, value) in value.as_object().into_iter().flatten() {
        let at = format!("{at}.{key}");
        match (schema["properties"].get(key), &schema["additionalProperties"]) {
            (None, Value::Bool(false)) => found.push(at),
            (Some(of_key), _) | (None, of_key) => found.extend(misfits(root, of_key, value, &at)),
        }
    }
    found
}

fn has_type(types: &Value, value: &Value) -> bool {
    let one = |name: &Value| match name.as_str().unwrap_or_default() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        unknown => panic!("no type {unknown}"),
    };
    match types {
        Value::Null => true,
        Value::Array(names) => names.iter().any(one),
        name => one(name),
    }
}

fn is_one_of(schema: &Value, value: &Value) -> bool {
    let is_const = schema.get("const").is_none_or(|only| only == value);
    is_const && schema["enum"].as_array().is_none_or(|names| names.contains(value))
}
