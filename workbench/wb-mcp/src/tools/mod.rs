//! Tools of the server: what each takes and gives. All read, and none reaches outside of the project's index.

mod impact;
mod outline;
mod related;
mod search;
mod symbol;

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use schemars::JsonSchema;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use wb_core::{Error, Result, suggest};
use wb_search::CodeIndex;

use crate::{
    answer::{AnswerPage, BUDGETS, TOKENS, ToolAnswer},
    live::LiveProject,
    schema,
};

/// Characters of a text that is asked for.
const MOST_CHARS: usize = 20_000;
/// Characters of a path.
const MOST_PATH: usize = 4_096;
/// Answers that may be skipped.
const MOST_SKIPPED: u32 = 1_000_000;

/// A tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AgentTool {
    /// Questions in words, names, patterns, issues.
    Search,
    /// Definitions, usages, callers, calls and tests of a symbol.
    Symbol,
    /// Functions and types of a file or a folder; the map of the project.
    Outline,
    /// Users whom a change affects.
    Impact,
    /// Definitions that belong with one.
    Related,
}

impl AgentTool {
    /// All of them, in the order in which they are listed.
    pub const ALL: [Self; 5] = [Self::Search, Self::Symbol, Self::Outline, Self::Impact, Self::Related];

    /// Name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Search => "search",
            Self::Symbol => "symbol",
            Self::Outline => "outline",
            Self::Impact => "impact",
            Self::Related => "related",
        }
    }

    /// The tool as it is listed.
    pub fn described(self) -> Tool {
        let (words, input) = match self {
            Self::Search => (search::WORDS, schema::of_input::<search::SearchCall, PageCall>()),
            Self::Symbol => (symbol::WORDS, schema::of_input::<symbol::SymbolCall, PageCall>()),
            Self::Outline => (outline::WORDS, schema::of_input::<outline::OutlineCall, PageCall>()),
            Self::Impact => (impact::WORDS, schema::of_input::<impact::ImpactCall, PageCall>()),
            Self::Related => (related::WORDS, schema::of_input::<related::RelatedCall, PageCall>()),
        };
        let hints = ToolAnnotations::new().read_only(true).destructive(false).idempotent(true).open_world(false);
        Tool::new(self.name(), words, input)
            .with_raw_output_schema(schema::of_output::<ToolAnswer>())
            .with_annotations(hints)
    }

    /// Answers a call.
    pub fn call(self, project: &Arc<LiveProject>, arguments: JsonObject) -> Result<Value> {
        // Models write null for what they leave out.
        let given = arguments.into_iter().filter(|(_, value)| !value.is_null());
        let (of_page, rest): (JsonObject, JsonObject) = given.partition(|(name, _)| PageCall::NAMES.contains(&&**name));
        let page = self.read::<PageCall>(of_page)?.page(self)?;
        match self {
            Self::Search => search::call(project, self.read(rest)?, page),
            Self::Symbol => symbol::call(project, self.read(rest)?, page),
            Self::Outline => outline::call(project, self.read(rest)?, page),
            Self::Impact => impact::call(project, self.read(rest)?, page),
            Self::Related => related::call(project, self.read(rest)?, page),
        }
    }

    fn read<T: DeserializeOwned>(self, arguments: JsonObject) -> Result<T> {
        serde_json::from_value(Value::Object(arguments))
            .map_err(|error| Error::failed(format!("arguments of {}: {error}", self.name())))
    }
}

/// Arguments of every tool: the part of its answers that is wanted.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct PageCall {
    /// `next` of the answer before.
    skip: Option<u32>,
    /// Tokens of the answer (2000; search: 1200).
    budget: Option<u32>,
}

impl PageCall {
    /// Its names among the arguments of a call.
    const NAMES: [&str; 2] = ["skip", "budget"];

    fn page(&self, tool: AgentTool) -> Result<AnswerPage> {
        let tokens = if tool == AgentTool::Search { search::TOKENS } else { TOKENS };
        let skip = in_range("skip", self.skip.unwrap_or(0), [0, MOST_SKIPPED])?;
        let budget = in_range("budget", self.budget.unwrap_or(tokens), BUDGETS)?;
        Ok(AnswerPage { skip, budget })
    }
}

/// A number that lies between two others.
fn in_range(name: &str, number: u32, [least, most]: [u32; 2]) -> Result<usize> {
    match (least..=most).contains(&number) {
        true => Ok(number as usize),
        false => Err(Error::value(name, format!("{number}, expected {least} to {most}"))),
    }
}

/// A text of no more than is meant for a question.
fn of_length(name: &str, text: &str, most: usize) -> Result<()> {
    match text.len() {
        bytes if bytes > most => Err(Error::value(name, format!("{bytes} bytes, expected {most} at most"))),
        _ => Ok(()),
    }
}

/// A path of the index's files, or of a folder of some, as it is typed: below the project's folder, or in full. No file is
/// looked at.
fn known_path(index: &CodeIndex, typed: &str) -> Result<String> {
    of_length("path", typed, MOST_PATH)?;
    let root = index.root().to_string_lossy();
    let below = typed.strip_prefix(root.as_ref()).filter(|rest| rest.is_empty() || rest.starts_with('/'));
    let path = below.map_or(typed, |rest| rest.trim_start_matches('/'));
    let path = path.strip_prefix("./").unwrap_or(path).trim_end_matches('/');
    if path.is_empty() || path == "." {
        return Ok(String::new());
    }
    let files = || index.files().iter().map(|file| file.path.as_str());
    // A folder of the project that is ignored and searched as a dependency has full paths.
    for form in [path, &format!("{root}/{path}")] {
        let is_below =
            |file: &str| file.strip_prefix(form).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        if files().any(is_below) {
            return Ok(form.to_owned());
        }
    }
    let name = path.rsplit('/').next().unwrap_or(path);
    let near = files().find(|file| file.rsplit('/').next() == Some(name)).or_else(|| suggest::nearest(path, files()));
    let near = near.map(|near| format!("perhaps {near}"));
    Err(Error::failed(format!("{path} is not among the files of this project")).with_hint_if(near))
}
