//! Layers that get an adapter: by name, by one pattern, or all of them, as PEFT's `target_modules` says it.

use std::{borrow::Cow, fmt};

use regex::Regex;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{SeqAccess, Visitor},
};
use wb_core::suggest;

use super::patterns::not_a_pattern;
use crate::error::Result;

/// The word for all linear layers, PEFT's.
const ALL_LINEAR: &str = "all-linear";

/// Layers to adapt. Written as a list, or as one text: `[query, value]`, `all-linear`, `.*\.(query|value)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Targets {
    /// Names of linear layers, or their endings after a point: `query`, `output.dense`.
    Names(Vec<String>),
    /// A regular expression for a layer's whole name.
    Pattern(String),
    /// Every linear layer.
    AllLinear,
}

impl From<Vec<String>> for Targets {
    fn from(names: Vec<String>) -> Self {
        Self::Names(names)
    }
}

impl Targets {
    /// Refuses an empty list and what is no regular expression.
    pub fn validate(&self, key: &str) -> wb_core::Result<()> {
        match self {
            Self::Names(names) if names.is_empty() => {
                Err(wb_core::Error::value(key, "is empty, expected names of linear layers such as `query`"))
            }
            Self::Names(_) | Self::AllLinear => Ok(()),
            Self::Pattern(pattern) => {
                expression(pattern).map(|_| ()).map_err(|error| not_a_pattern(key, pattern, &error))
            }
        }
    }

    /// True where a layer is named. A pattern that cannot be read, which `validate` refuses, names none.
    pub fn name(&self, layer: &str) -> bool {
        match self {
            Self::Names(names) => names.iter().any(|name| ends_with(layer, name)),
            Self::Pattern(pattern) => expression(pattern).is_ok_and(|regex| regex.is_match(layer)),
            Self::AllLinear => true,
        }
    }

    /// Refuses a name, or a pattern, that fits none of the layers; `model` is the model's name, for messages.
    pub fn check(&self, layers: &[String], model: &str) -> Result<()> {
        let useless = match self {
            Self::Names(names) => names.iter().find(|name| !layers.iter().any(|layer| ends_with(layer, name))),
            Self::Pattern(pattern) => (!layers.iter().any(|layer| self.name(layer))).then_some(pattern),
            Self::AllLinear => None,
        };
        let written = match useless {
            Some(name) => name.as_str(),
            None if layers.is_empty() => ALL_LINEAR,
            None => return Ok(()),
        };
        let known = known_names(layers);
        let list = known.join(", ");
        let message = match known.is_empty() {
            true => format!("adapter target `{written}` matches no parameter of {model}, which has no linear layers"),
            false => format!("adapter target `{written}` matches no parameter of {model}; targets here are: {list}"),
        };
        let mut error = wb_core::Error::value("lora.targets", message);
        let near = suggest::nearest(written, known.iter().map(String::as_str));
        if known.is_empty() {
            error = error.with_hint("leave `lora` out: all weights of this encoder train");
        } else if matches!(self, Self::Pattern(_)) {
            let hint =
                r"a text is a pattern for whole names: '.*\.(query|value)'; endings stand in a list: [query, value]";
            error = error.with_hint(hint);
        } else if let Some(near) = near {
            error = error.with_hint(format!("did you mean `{near}`?"));
        } else {
            error = error.with_hint("targets: [query, value]");
        }
        Err(error)
    }
}

/// True where a layer has this name, or a name that ends with it after a point.
pub(crate) fn ends_with(layer: &str, name: &str) -> bool {
    layer == name || layer.strip_suffix(name).is_some_and(|before| before.ends_with('.'))
}

/// PEFT's `re.fullmatch`.
fn expression(pattern: &str) -> std::result::Result<Regex, regex::Error> {
    Regex::new(&format!("^(?:{pattern})$"))
}

/// Names that can be targets: the layers' names without their number, and their last parts.
fn known_names(layers: &[String]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for layer in layers {
        let parts: Vec<&str> = layer.split('.').collect();
        let after_number = parts.iter().rposition(|p| p.parse::<usize>().is_ok()).map_or(0, |at| at + 1);
        let own = &parts[after_number..];
        let last = own[own.len() - 1].to_owned();
        if last == "dense" {
            names.push(own.join("."));
        }
        names.push(last);
    }
    names.sort();
    names.dedup();
    names
}

impl Serialize for Targets {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Self::Names(names) => names.serialize(serializer),
            Self::Pattern(pattern) => serializer.serialize_str(pattern),
            Self::AllLinear => serializer.serialize_str(ALL_LINEAR),
        }
    }
}

impl JsonSchema for Targets {
    fn schema_name() -> Cow<'static, str> {
        "Targets".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Layers to adapt: a list of names, a regular expression for whole names, or `all-linear`.",
            "anyOf": [
                { "const": ALL_LINEAR },
                { "type": "string" },
                { "type": "array", "items": { "type": "string" } },
            ],
        })
    }
}

impl<'de> Deserialize<'de> for Targets {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct ListOrText;
        impl<'de> Visitor<'de> for ListOrText {
            type Value = Targets;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of layers, a pattern, or `all-linear`")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> std::result::Result<Targets, E> {
                Ok(if text.eq_ignore_ascii_case(ALL_LINEAR) {
                    Targets::AllLinear
                } else {
                    Targets::Pattern(text.to_owned())
                })
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> std::result::Result<Targets, A::Error> {
                let mut names = Vec::new();
                while let Some(name) = list.next_element()? {
                    names.push(name);
                }
                Ok(Targets::Names(names))
            }
        }
        deserializer.deserialize_any(ListOrText)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_takes_endings_and_a_pattern_whole_names() {
        let read = |text: &str| serde_json::from_str::<Targets>(text).unwrap();
        let layer = "encoder.layer.1.attention.output.dense";
        for (text, named) in [
            (r#"["dense"]"#, true),
            (r#"["output.dense"]"#, true),
            (r#"["encoder.layer.1.attention.output.dense"]"#, true),
            (r#"["ense", "put.dense"]"#, false),
            (r#""all-linear""#, true),
            (r#""All-Linear""#, true),
            (r#"".*\\.output\\.dense""#, true),
            (r#""output\\.dense""#, false),
            (r#"".*\\.(query|dense)""#, true),
            (r#""encoder.layer.[01].attention""#, false),
        ] {
            assert_eq!(read(text).name(layer), named, "{text}");
        }
        for text in [r#"["query","value"]"#, r#""all-linear""#, r#"".*query""#] {
            assert_eq!(serde_json::to_string(&read(text)).unwrap(), text);
        }
        let error = serde_json::from_str::<Targets>("3").unwrap_err().to_string();
        assert!(error.contains("expected a list of layers, a pattern, or `all-linear`"), "{error}");
        let error = read(r#""(?=x)query""#).validate("lora.targets").unwrap_err().to_string();
        assert!(error.contains("look-around"), "{error}");
    }
}
