//! Values by pattern of a layer's name, as PEFT's `rank_pattern` and `alpha_pattern` have them.

use std::{borrow::Cow, fmt};

use regex::Regex;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{MapAccess, Visitor},
    ser::SerializeMap,
};

/// Patterns with their values, in the order of the file: the first that fits a layer counts.
///
/// A pattern is a regular expression for the end of a layer's name, from after a point or from the beginning:
/// `query`, `layer.1.attention.self.value`, `layer\.[01]\..*\.dense`, `^encoder.layer.0.output.dense`.
#[derive(Debug, Clone, PartialEq)]
pub struct Patterns<T>(pub Vec<(String, T)>);

impl<T> Default for Patterns<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Copy> Patterns<T> {
    /// The value of the first pattern that fits a layer's name.
    pub fn of(&self, layer: &str) -> Option<T> {
        self.first(layer).map(|at| self.0[at].1)
    }

    /// A pattern that is the first to fit for none of the layers.
    pub fn useless(&self, layers: &[String]) -> Option<&str> {
        let used: Vec<Option<usize>> = layers.iter().map(|layer| self.first(layer)).collect();
        (0..self.0.len()).find(|at| !used.contains(&Some(*at))).map(|at| self.0[at].0.as_str())
    }

    /// Takes out patterns that are the first to fit for none of the layers, and gives them.
    pub fn keep_useful(&mut self, layers: &[String]) -> Vec<String> {
        let mut taken = Vec::new();
        while let Some(useless) = self.useless(layers).map(str::to_owned) {
            self.0.retain(|(pattern, _)| *pattern != useless);
            taken.push(useless);
        }
        taken
    }

    /// One that cannot be read, which `validate` refuses, fits no layer.
    fn first(&self, layer: &str) -> Option<usize> {
        self.0.iter().position(|(pattern, _)| expression(pattern).is_ok_and(|regex| regex.is_match(layer)))
    }

    /// True where there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Refuses patterns that are no regular expressions, and values that `fine` does not take.
    pub fn validate(&self, key: &str, expected: &str, fine: impl Fn(T) -> bool) -> wb_core::Result<()>
    where
        T: fmt::Display,
    {
        for (pattern, value) in &self.0 {
            let key = format!("{key}.{pattern}");
            if let Err(error) = expression(pattern) {
                return Err(not_a_pattern(&key, pattern, &error));
            }
            crate::error::expect_value(key, value, fine(*value), expected)?;
        }
        Ok(())
    }
}

/// PEFT's `re.match(rf"(.*\.)?({pattern})$", layer)`.
fn expression(pattern: &str) -> Result<Regex, regex::Error> {
    Regex::new(&format!(r"^(?:.*\.)?(?:{pattern})$"))
}

/// The error of a regular expression, in one line.
pub(super) fn not_a_pattern(key: &str, pattern: &str, error: &regex::Error) -> wb_core::Error {
    let text = error.to_string();
    let reason = text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
    wb_core::Error::value(key, format!("`{pattern}` is no regular expression: {reason}"))
        .with_hint("a list of names needs none: targets: [query, value]")
}

impl<T: Serialize> Serialize for Patterns<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (pattern, value) in &self.0 {
            map.serialize_entry(pattern, value)?;
        }
        map.end()
    }
}

impl<T: JsonSchema> JsonSchema for Patterns<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Patterns_of_{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object", "additionalProperties": generator.subschema_for::<T>() })
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Patterns<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries<T>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Entries<T> {
            type Value = Vec<(String, T)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map of patterns, as in { query: 4 }")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(entries)
            }
        }
        deserializer.deserialize_map(Entries(std::marker::PhantomData)).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_pattern_that_fits_counts() {
        let patterns = Patterns(vec![
            ("layer.0.*.query".to_owned(), 2),
            ("query".to_owned(), 3),
            ("x|output.dense".to_owned(), 5),
        ]);
        let of = |layer| patterns.of(layer);
        assert_eq!(of("encoder.layer.0.attention.self.query"), Some(2));
        assert_eq!(of("encoder.layer.1.attention.self.query"), Some(3));
        assert_eq!(of("encoder.layer.1.attention.output.dense"), Some(5));
        // From after a point only, and to the end.
        assert_eq!(of("encoder.layer.1.myquery"), None);
        assert_eq!(of("encoder.layer.1.query.more"), None);
        assert_eq!(of("query"), Some(3));
    }

    #[test]
    fn the_order_of_the_file_is_kept() {
        let text = r#"{"z": 1, "a": 2, "m": 3}"#;
        let patterns: Patterns<usize> = serde_json::from_str(text).unwrap();
        assert_eq!(patterns.0.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["z", "a", "m"]);
        assert_eq!(serde_json::to_string(&patterns).unwrap(), text.replace(": ", ":").replace(", ", ","));
        let error = Patterns(vec![("(".to_owned(), 1)]).validate("rank_pattern", "", |_| true).unwrap_err();
        assert!(
            error.to_string().starts_with("rank_pattern.(: `(` is no regular expression: unclosed group"),
            "{error}"
        );
    }
}
