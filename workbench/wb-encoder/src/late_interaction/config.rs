//! The keys of late interaction.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wb_core::{Error, Result};

use crate::error::expect_value;

/// One vector a token: how token states become vectors, and which tokens count.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LateInteractionConfig {
    /// Length of a token's vector.
    pub dim: usize,
    /// Tokens that tell queries from documents: `{ query: "[unused0]", document: "[unused1]" }` for BERT's
    /// vocabularies. They stand before a text and its prompt, and take one of its `max_tokens`.
    pub markers: Option<Markers>,
    /// Queries with fewer tokens are filled up to so many with mask tokens, which count as the query's own; `0` for
    /// off. ColBERT has 32.
    pub expansion: usize,
    /// Lets the query's tokens attend to the mask tokens of `expansion`. `false`: these attend to the query, and
    /// nothing to them, as in ColBERT and by default in PyLate and sentence-transformers.
    pub attend: bool,
    /// Leaves the 32 ASCII punctuation marks of documents out of what is compared. It suits prose; in code they may
    /// matter.
    pub skip_punctuation: bool,
}

/// A token for each side.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Markers {
    /// Before queries.
    pub query: String,
    /// Before documents.
    pub document: String,
}

impl Default for LateInteractionConfig {
    fn default() -> Self {
        Self { dim: 128, markers: None, expansion: 0, attend: true, skip_punctuation: false }
    }
}

impl LateInteractionConfig {
    /// Refuses values that make no sense.
    pub fn validate(&self, key: &str) -> Result<()> {
        expect_value(format!("{key}.dim"), self.dim, self.dim > 0, "at least 1")?;
        if let Some(Markers { query, document }) = &self.markers {
            for (side, token) in [("query", query), ("document", document)] {
                if token.is_empty() {
                    return Err(Error::value(format!("{key}.markers.{side}"), "is empty, expected a token")
                        .with_hint("markers: { query: \"[unused0]\", document: \"[unused1]\" }"));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_values_are_named_by_their_key() {
        let check = |json: &str| {
            let config: LateInteractionConfig = serde_json::from_str(json).unwrap();
            config.validate("late").map_err(|error| error.to_string())
        };
        check("{}").unwrap();
        check(r#"{"markers": {"query": "[unused0]", "document": "[unused1]"}, "expansion": 32}"#).unwrap();
        assert_eq!(check(r#"{"dim": 0}"#).unwrap_err(), "late.dim: got 0, expected at least 1");
        let error = check(r#"{"markers": {"query": "a", "document": ""}}"#).unwrap_err();
        assert_eq!(error, "late.markers.document: is empty, expected a token");
    }
}
