//! The JSON Schema of a YAML, made from the types that read it: what editors complete and check by.

use schemars::{generate::SchemaSettings, transform::RecursiveTransform};
use serde_json::Value;
use wb_core::{Error, Result};

use super::Experiment;

/// The schema of an [`Experiment`] as JSON text, as `configs/schema.json` has it.
///
/// # Errors
///
/// If a default is no JSON.
pub fn schema() -> Result<String> {
    // The draft that editors' YAML servers know best.
    let settings = SchemaSettings::draft07().with_transform(RecursiveTransform(shorten_default));
    let schema = settings.into_generator().into_root_schema_for::<Experiment>();
    serde_json::to_string_pretty(&schema).map_err(|error| Error::data("the schema of a YAML", error.to_string()))
}

fn shorten_default(schema: &mut schemars::Schema) {
    if let Some(default) = schema.get_mut("default") {
        shorten(default);
    }
}

/// Makes the 0.05000000074505806 of a number in single precision the 0.05 that its code says.
fn shorten(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(shorten),
        Value::Object(fields) => fields.values_mut().for_each(shorten),
        Value::Number(number) if number.is_f64() => {
            let single = number.as_f64().map(|wide| (wide, wide as f32));
            let exact = single.filter(|(wide, single)| f64::from(*single) == *wide);
            if let Some(short) = exact.and_then(|(_, single)| single.to_string().parse::<f64>().ok()) {
                *value = Value::from(short);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_written_as_in_the_code() {
        let mut value = serde_json::json!([0.05f32, 0.1, 1e-6f32, 64.0, 7, { "of": 0.9f32 }, "0.1"]);
        shorten(&mut value);
        assert_eq!(value, serde_json::json!([0.05, 0.1, 1e-6, 64.0, 7, { "of": 0.9 }, "0.1"]));
    }

    #[test]
    fn keys_have_meanings_defaults_and_no_strangers() {
        let schema: Value = serde_json::from_str(&schema().unwrap()).unwrap();
        assert_eq!(schema["required"], serde_json::json!(["name"]));
        assert_eq!(schema["additionalProperties"], false);
        assert_eq!(schema["properties"]["seed"]["default"], 17);
        assert!(schema["properties"].get("read_by").is_none());
        for (name, of) in schema["definitions"].as_object().unwrap() {
            for (key, about) in of["properties"].as_object().into_iter().flatten() {
                assert!(about.get("description").is_some(), "{name}.{key} has no meaning");
            }
        }
    }
}
