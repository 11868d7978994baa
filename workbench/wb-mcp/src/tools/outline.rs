//! `outline`: functions and types of a file or a folder, by the lines that define them.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use wb_core::Result;
use wb_search::structure::{OutlineItem, outline};

use super::{known_path, symbol::word};
use crate::{
    answer::{AnswerPage, FoundPlace, ToolAnswer, at},
    live::{LiveProject, Wanted},
};

/// Words for the list of tools.
pub(super) const WORDS: &str = "Functions and types of a file or a folder by the lines that define them, without bodies. \
Without a path, a map of the project: the most used ones first.";

/// Arguments of `outline`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct OutlineCall {
    /// File or folder.
    path: String,
}

/// Answers a call.
pub(super) fn call(project: &Arc<LiveProject>, call: OutlineCall, page: AnswerPage) -> Result<Value> {
    let now = project.now(Wanted::Graph)?;
    let path = known_path(now.index(), &call.path)?;
    let mut answer = ToolAnswer::of(&now);
    let items = if path.is_empty() {
        // Half of it: as JSON each item has its path and its field names.
        let map = project.graph(&now)?.map(page.budget / 2, &[])?.answer;
        let (n_told, total) = (map.answers.len(), map.total);
        if n_told < total {
            answer.notes.push(format!("the {n_told} most used of {total} definitions; a larger budget has more"));
        }
        answer.empty = map.empty;
        map.answers
    } else {
        let is_file = now.index().files().iter().any(|file| file.path == path);
        let mut items = outline(&now.index().root().join(&path))?;
        items
            .iter_mut()
            .for_each(|item| item.path = if is_file { path.clone() } else { format!("{path}/{}", item.path) });
        items
    };
    let total = items.len();
    let places: Vec<FoundPlace> = items.into_iter().skip(page.skip).take(page.budget).map(place).collect();
    if places.is_empty() && answer.empty.is_none() {
        let why = if total == 0 { "nothing in it is a function or a type" } else { "there are no more answers" };
        answer.empty = Some(why.to_owned());
    }
    answer.total = Some(total);
    let is_all = page.skip + places.len() >= total;
    Ok(answer.within(page, places, is_all))
}

fn place(item: OutlineItem) -> FoundPlace {
    let (at, depth) = (at(&item.path, item.lines), (item.depth > 0).then_some(item.depth));
    FoundPlace { at, name: item.name, kind: word(&item.kind), depth, text: item.signature, ..FoundPlace::default() }
}
