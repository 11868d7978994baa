//! `symbol`: where a symbol is defined, who uses and calls it, what it calls, which tests reach it.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use wb_core::Result;
use wb_search::{
    CodeIndex,
    structure::{CalledSymbol, DefinedAt, FilePlace, GraphAnswer, SymbolPlace, SymbolQuestion, SymbolUser, UsedAt},
};

use super::{MOST_CHARS, in_range, known_path, of_length};
use crate::{
    answer::{AnswerPage, FoundPlace, ToolAnswer},
    live::{LiveProject, ProjectNow, Wanted},
};

/// Words for the list of tools.
pub(super) const WORDS: &str = "Where a symbol is defined, who uses or calls it, what it calls, which tests reach it: by \
scopes, imports and values, not by text. `edge` is the reason to believe it, from exact to name_only, which is a guess.";

/// Definitions that are named in an answer about them.
const NAMED: usize = 5;
/// Steps that callers are followed.
const STEPS: [u32; 2] = [1, 10];

/// A question about a symbol.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SymbolRelation {
    #[default]
    Definitions,
    Usages,
    Callers,
    Calls,
    Tests,
}

/// Arguments of `symbol`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SymbolCall {
    /// parse, Parser.parse, parser::parse; or path:line that uses it.
    symbol: String,
    #[serde(default)]
    relation: SymbolRelation,
    /// Steps of callers (1).
    depth: Option<u32>,
}

/// Answers a call.
pub(super) fn call(project: &Arc<LiveProject>, call: SymbolCall, page: AnswerPage) -> Result<Value> {
    let depth = in_range("depth", call.depth.unwrap_or(STEPS[0]), STEPS)?;
    let now = project.now(Wanted::Graph)?;
    let question = question(now.index(), &call.symbol, page)?;
    let graph = project.graph(&now)?;
    Ok(match call.relation {
        SymbolRelation::Definitions => told(&now, page, question.definitions(&graph)?, defined),
        SymbolRelation::Usages => told(&now, page, question.usages(&graph)?, used),
        SymbolRelation::Callers => told(&now, page, question.callers(depth, &graph)?, user),
        SymbolRelation::Calls => told(&now, page, question.calls(&graph)?, called),
        SymbolRelation::Tests => told(&now, page, question.tests(&graph)?, |test| user(test.user)),
    })
}

/// A question about a symbol, whose path, where it has one, is one of the index.
pub(super) fn question(index: &CodeIndex, symbol: &str, page: AnswerPage) -> Result<SymbolQuestion> {
    of_length("symbol", symbol, MOST_CHARS)?;
    let symbol = match FilePlace::of(symbol) {
        None => symbol.to_owned(),
        Some(FilePlace { path, line, column }) => {
            let path = known_path(index, &path)?;
            column.map_or_else(|| format!("{path}:{line}"), |column| format!("{path}:{line}:{column}"))
        }
    };
    // Each answer takes a token at least.
    Ok(SymbolQuestion { symbol, most: page.budget, skip: page.skip })
}

/// An answer of the graph as one of a tool.
pub(super) fn told<T>(
    now: &ProjectNow,
    page: AnswerPage,
    found: GraphAnswer<T>,
    place: impl Fn(T) -> FoundPlace,
) -> Value {
    let mut answer = ToolAnswer::of(now);
    answer.of = found.definitions.iter().take(NAMED).map(place_of).collect();
    if found.definitions.len() > NAMED {
        answer.of.push(format!("and {} more", found.definitions.len() - NAMED));
    }
    if found.empty.is_none() && found.answers.is_empty() {
        answer.empty = Some("there are no more answers".to_owned());
    }
    answer.empty = found.empty.or(answer.empty);
    answer.total = Some(found.total);
    let is_all = found.skipped + found.answers.len() >= found.total;
    answer.within(page, found.answers.into_iter().map(place).collect(), is_all)
}

/// A function or a class that uses another.
pub(super) fn user(SymbolUser { symbol, edge, lines, depth, .. }: SymbolUser) -> FoundPlace {
    let lines = lines.into_iter().map(u64::from).collect();
    FoundPlace {
        at: place_of(&symbol),
        name: symbol.name,
        edge: Some(edge),
        lines,
        depth: Some(depth),
        ..FoundPlace::default()
    }
}

fn defined(DefinedAt { place, edge, text }: DefinedAt) -> FoundPlace {
    FoundPlace { at: place_of(&place), kind: word(&place.kind), name: place.name, edge, text, ..FoundPlace::default() }
}

fn used(UsedAt { usage, text }: UsedAt) -> FoundPlace {
    let at = format!("{}:{}", usage.path, usage.line);
    FoundPlace { at, name: usage.within, edge: Some(usage.edge), text, ..FoundPlace::default() }
}

fn called(CalledSymbol { name, line, definitions }: CalledSymbol) -> FoundPlace {
    let lines = vec![u64::from(line)];
    match definitions.into_iter().next() {
        Some((edge, place)) => {
            FoundPlace { at: place_of(&place), name, edge: Some(edge), lines, ..FoundPlace::default() }
        }
        None => FoundPlace { at: "not known here".into(), name, lines, ..FoundPlace::default() },
    }
}

/// A definition by its path and line.
pub(super) fn place_of(place: &SymbolPlace) -> String {
    format!("{}:{}", place.path, place.line)
}

/// The word by which a kind is written.
pub(super) fn word(kind: &impl Serialize) -> Option<String> {
    serde_json::to_value(kind).ok()?.as_str().map(str::to_owned)
}
