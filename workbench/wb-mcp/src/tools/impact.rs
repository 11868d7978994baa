//! `impact`: who is affected by a change, tests first.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use wb_core::Result;
use wb_search::structure::{ProjectChange, diff_since, diffed_files};

use super::{
    in_range, of_length,
    symbol::{question, told, user},
};
use crate::{
    answer::{AnswerPage, FoundPlace},
    live::{LiveProject, Wanted},
};

/// Words for the list of tools.
pub(super) const WORDS: &str = "Who is affected by a change: users of what it touches, tests first. The change is a symbol, a \
unified diff (done or planned), or with neither what is not committed yet.";

/// Characters of a diff.
const MOST_DIFF: usize = 1 << 19;
/// Steps that users are followed: where nothing is said, and most.
const STEPS: [u32; 2] = [2, 10];
/// Files that are named whose changes are in no definition.
const NAMED: usize = 5;

/// Arguments of `impact`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ImpactCall {
    symbol: String,
    diff: String,
    /// Steps (2).
    depth: Option<u32>,
}

/// Answers a call.
pub(super) fn call(project: &Arc<LiveProject>, call: ImpactCall, page: AnswerPage) -> Result<Value> {
    let depth = in_range("depth", call.depth.unwrap_or(STEPS[0]), [1, STEPS[1]])?;
    of_length("diff", &call.diff, MOST_DIFF)?;
    let now = project.now(Wanted::Graph)?;
    let question = question(now.index(), &call.symbol, page)?;
    let graph = project.graph(&now)?;
    let change = match (call.symbol.is_empty(), call.diff.is_empty()) {
        (false, _) => {
            let symbols = question.symbols(&graph)?;
            if symbols.is_empty() {
                return Ok(told(&now, page, question.definitions(&graph)?, |_| FoundPlace::default()));
            }
            ProjectChange { symbols, ..ProjectChange::default() }
        }
        (true, false) => graph.change(&diffed_files(&call.diff)?)?,
        (true, true) => graph.change(&diffed_files(&diff_since(now.index().root(), "HEAD")?)?)?,
    };
    let found = question.impact(change, depth, &graph)?;
    let mut now = now;
    if !found.change.removed.is_empty() {
        let names: Vec<&str> = found.change.removed.iter().map(|(_, name)| name.as_str()).take(NAMED).collect();
        now.notes.push(format!("{} definitions are gone: {}", found.change.removed.len(), names.join(", ")));
    }
    if !found.change.elsewhere.is_empty() {
        let (files, all) = (&found.change.elsewhere, found.change.elsewhere.len());
        let named = files.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
        now.notes.push(format!("changes in no definition, in {all} files: {named}"));
    }
    Ok(told(&now, page, found.answer, |one| {
        let kind = one.is_test.then(|| "test".to_owned());
        FoundPlace { kind, ..user(one) }
    }))
}
