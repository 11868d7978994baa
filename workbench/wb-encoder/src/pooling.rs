//! From token states to one vector.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Way from token states to one vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pooling {
    /// The mean over all tokens, special tokens included.
    #[default]
    Mean,
    /// The first token.
    Cls,
    /// The last token.
    Last,
}
