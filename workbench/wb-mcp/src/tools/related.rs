//! `related`: definitions that belong with a place or a symbol.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use wb_core::Result;
use wb_search::structure::RelatedSymbol;

use super::symbol::{place_of, question, told, word};
use crate::{
    answer::{AnswerPage, FoundPlace},
    live::{LiveProject, Wanted},
};

/// Words for the list of tools.
pub(super) const WORDS: &str = "What belongs with a definition and may have to change with it: what it calls, its users, \
tests, siblings, namesakes, and what is alike; `kind` says which.";

/// Arguments of `related`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RelatedCall {
    /// A name, or path:line inside of it.
    symbol: String,
}

/// Answers a call.
pub(super) fn call(project: &Arc<LiveProject>, call: RelatedCall, page: AnswerPage) -> Result<Value> {
    let now = project.now(Wanted::Graph)?;
    let question = question(now.index(), &call.symbol, page)?;
    let found = question.related(&*project.graph(&now)?, project.weights())?;
    Ok(told(&now, page, found, |RelatedSymbol { symbol, relations, .. }| {
        let relations: Vec<String> = relations.iter().filter_map(word).collect();
        FoundPlace {
            at: place_of(&symbol),
            kind: Some(relations.join(", ")),
            name: symbol.name,
            ..FoundPlace::default()
        }
    }))
}
