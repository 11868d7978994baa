//! Knowledge of texts that objectives need: where tokens stand, and what is known of the code at that place.

use std::ops::Range;

use wb_core::{Error, Result as CoreResult};

use crate::{error::Result, tokenizer::PlacedTokens, train::token_cache::TokenizeRequest};

/// Text to token ids with their places, the same ids as [`crate::train::Tokenize`] gives.
pub type TokenizeWithPlaces<'a> = dyn Fn(TokenizeRequest<'_>) -> Result<PlacedTokens> + Sync + 'a;

/// Text and language to the named syntax nodes: bytes and kind (its position among the names of kinds), each node
/// before those inside it. Nothing for a language that is not known.
pub type NodesOf<'a> = dyn Fn(&str, &str) -> Vec<(Range<usize>, Option<u16>)> + Sync + 'a;

/// Text and language to the names with a declared type.
pub type TypesOf<'a> = dyn Fn(&str, &str) -> Vec<DeclaredType> + Sync + 'a;

/// A name and the type declared for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredType {
    /// Place of the name, in bytes.
    pub name: Range<usize>,
    /// Place of the written type.
    pub annotation: Range<usize>,
    /// The type, as the class that it belongs to is called.
    pub type_name: String,
}

/// Knowledge of texts that objectives need. Syntax trees are made outside of this crate.
#[derive(Clone, Copy)]
pub struct CodeTokens<'a> {
    /// Token ids with their places.
    pub tokenize: &'a TokenizeWithPlaces<'a>,
    /// Stands for a token that is hidden; see [`crate::tokenizer::Tokenizer::mask_token`].
    pub mask_token: Option<u32>,
    /// The names of all kinds of syntax nodes.
    pub node_kinds: &'a [String],
    /// Syntax nodes of a text.
    pub nodes: &'a NodesOf<'a>,
    /// Declared types of a text.
    pub types: &'a TypesOf<'a>,
}

impl CodeTokens<'_> {
    /// The mask token; without one an error at this key.
    pub(super) fn mask_token(&self, key: &str) -> CoreResult<u32> {
        let message = "needs a token that stands for hidden ones, and the tokenizer has none of [MASK], <mask>, [PAD]";
        self.mask_token.ok_or_else(|| Error::value(key, message).with_hint(format!("take {key} out of the config")))
    }
}
