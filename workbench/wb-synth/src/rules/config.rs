//! Configuration of rules: which tasks, which rewrites, how many pairs, and whether code is run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wb_code::RewriteKind;
use wb_core::{Error, Result, Task};

/// `rules:` of a synthesis: pairs without a language model.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct RulesConfig {
    /// Kinds of pairs to make; also `code2text` and `hybrid`.
    pub tasks: Vec<Task>,
    /// Rewrites that keep the meaning, for `code2code` and `hybrid`.
    pub rewrites: Vec<RewriteKind>,
    /// Rewrites that change the meaning, for hard negatives.
    pub perturbations: Vec<RewriteKind>,
    /// Number of pairs of each task, drawn by the seed; `null` for all. Where the snippets do not give as many, how
    /// many are missing is told.
    pub pairs_per_task: Option<usize>,
    /// Rewritten versions of one function, each a pair of its own.
    pub per_snippet: usize,
    /// The most different rewrites one after the other in a version; at least half as many are made where they apply.
    pub chain: usize,
    /// The most hard negatives for each pair: its code with the meaning changed. Near misses can hurt a retriever:
    /// measure before you trust them.
    pub negatives: usize,
    /// Origin of the text of `text2code`: `docstring`; `name`, the words of the function's name, which is then taken
    /// out of its code.
    pub queries: Vec<QuerySource>,
    /// Characters of a function's code at least.
    pub min_chars: usize,
    /// Characters of a function's code at most.
    pub max_chars: usize,
    /// `run` calls both sides of a `code2code` pair with drawn arguments in a child process with limits of time and
    /// memory. This executes the code of your sources.
    pub verify: Verify,
}

/// Origin of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QuerySource {
    /// The first paragraph of the documentation, as plain prose.
    Docstring,
    /// The words of the function's name: `read_all_lines` asks for "read all lines".
    Name,
}

/// Check of pairs by running their code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verify {
    /// Nothing is run.
    #[default]
    Off,
    /// Self-contained functions in Python and JavaScript are run in a child process, with drawn arguments, under
    /// limits of time and memory. This executes the source code: use it for sources that you would run yourself.
    Run,
}

impl Default for RulesConfig {
    fn default() -> Self {
        Self {
            tasks: vec![Task::Text2code, Task::Code2code],
            rewrites: RewriteKind::ALL.into_iter().filter(|kind| kind.keeps_meaning()).collect(),
            perturbations: RewriteKind::ALL.into_iter().filter(|kind| !kind.keeps_meaning()).collect(),
            pairs_per_task: None,
            per_snippet: 1,
            chain: 3,
            negatives: 0,
            queries: vec![QuerySource::Docstring],
            min_chars: 100,
            max_chars: 5000,
            verify: Verify::Off,
        }
    }
}

impl RulesConfig {
    /// Refuses what cannot work; `key` is where this stands in the YAML.
    pub fn validate(&self, key: &str) -> Result<()> {
        let value = |name: &str, message: String| Err(Error::value(format!("{key}.{name}"), message));
        if self.tasks.is_empty() {
            return value("tasks", "empty, expected some of text2code, code2text, code2code, hybrid".to_owned());
        }
        let rewrites = self.tasks.iter().any(|task| matches!(task, Task::Code2code | Task::Hybrid));
        if rewrites && self.rewrites.is_empty() {
            return value("rewrites", "empty, expected rewrites for code2code and hybrid".to_owned());
        }
        if let Some(kind) = self.rewrites.iter().find(|kind| !kind.keeps_meaning()) {
            return value(
                "rewrites",
                format!("{} changes the meaning, expected it under `perturbations`", kind.name()),
            );
        }
        if let Some(kind) = self.perturbations.iter().find(|kind| kind.keeps_meaning()) {
            return value("perturbations", format!("{} keeps the meaning, expected it under `rewrites`", kind.name()));
        }
        if self.negatives > 0 && self.perturbations.is_empty() {
            return value(
                "negatives",
                format!("{} without perturbations, expected 0 or a list of them", self.negatives),
            );
        }
        if self.tasks.contains(&Task::Text2code) && self.queries.is_empty() {
            return value("queries", "empty, expected docstring, name or both".to_owned());
        }
        for (name, number, least) in [("per_snippet", self.per_snippet, 1), ("chain", self.chain, 1)] {
            if number < least || number > 100 {
                return value(name, format!("got {number}, expected {least} to 100"));
            }
        }
        if self.pairs_per_task == Some(0) {
            return value("pairs_per_task", "got 0, expected at least 1, or null for all".to_owned());
        }
        if let Some(at) = (1..self.tasks.len()).find(|at| self.tasks[..*at].contains(&self.tasks[*at])) {
            return value("tasks", format!("{} stands there twice", self.tasks[at].as_str()));
        }
        if self.min_chars > self.max_chars {
            return value(
                "min_chars",
                format!("got {}, expected at most max_chars ({})", self.min_chars, self.max_chars),
            );
        }
        Ok(())
    }
}
