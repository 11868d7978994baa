//! Schemas of tools, with no more words than an agent needs: they stand in the context of each of its sessions.

use std::sync::Arc;

use rmcp::model::JsonObject;
use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::Value;

/// The schema of what a tool takes, with its words: fields of its own and those of all tools.
pub(crate) fn of_input<Own: JsonSchema, All: JsonSchema>() -> Arc<JsonObject> {
    let mut own = schema::<Own>(SchemaSettings::draft2020_12().for_deserialize(), true);
    let all = schema::<All>(SchemaSettings::draft2020_12().for_deserialize(), true);
    if let (Some(Value::Object(own)), Some(Value::Object(all))) = (own.get_mut("properties"), all.get("properties")) {
        own.extend(all.clone());
    }
    Arc::new(own)
}

/// The schema of an answer, without words: the answer itself has the same names.
pub(crate) fn of_output<T: JsonSchema>() -> Arc<JsonObject> {
    Arc::new(schema::<T>(SchemaSettings::draft2020_12().for_serialize(), false))
}

fn schema<T: JsonSchema>(settings: SchemaSettings, words: bool) -> JsonObject {
    let settings = settings.with(|it| {
        it.inline_subschemas = true;
        it.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    lean(&mut schema, words);
    if let Value::Object(fields) = &mut schema {
        fields.remove("title");
        fields.remove("description");
    }
    schema.as_object().cloned().unwrap_or_default()
}

/// True for what stands for a value that is not given.
fn is_nothing(value: &Value) -> bool {
    value.is_null() || value == "" || value.as_array().is_some_and(Vec::is_empty)
}

/// Takes out what says nothing that the values themselves do not: titles, sizes of numbers, that what may be missing may be
/// null too.
fn lean(schema: &mut Value, words: bool) {
    match schema {
        Value::Array(all) => all.iter_mut().for_each(|one| lean(one, words)),
        Value::Object(fields) => {
            if matches!(fields.get("format"), Some(Value::String(_))) {
                fields.remove("format");
                fields.remove("minimum").filter(|least| least != 0).map(|least| fields.insert("minimum".into(), least));
            }
            if !words && matches!(fields.get("description"), Some(Value::String(_))) {
                fields.remove("description");
            }
            fields.retain(|name, value| name != "default" || !is_nothing(value));
            if let Some(Value::Array(types)) = fields.get_mut("type") {
                types.retain(|one| one != "null");
                if let [one] = types.as_slice() {
                    let one = one.clone();
                    fields.insert("type".into(), one);
                }
            }
            fields.values_mut().for_each(|value| lean(value, words));
        }
        _ => {}
    }
}
