//! One task as its file writes it, and the checks that a file has to pass before anything is asked.

use std::{collections::BTreeSet, path::Path};

use minijinja::Environment;
use serde::{Deserialize, Serialize};
use wb_core::{Error, Result, Task};

use crate::languages;

/// Variables that a prompt can use. Those that a task does not have are empty.
pub const VARIABLES: [&str; 10] =
    ["snippet", "language", "target_language", "before", "after", "note", "query", "document", "context", "variant"];

/// A file of tasks of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskFile {
    /// Version of the format: 1.
    pub version: u32,
    /// The sides that its pairs go from and to.
    pub kind: Task,
    /// The tasks, in the order in which their pairs will stand.
    pub tasks: Vec<TaskType>,
}

/// One task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskType {
    /// Unique in its kind; lower case, digits, `_`.
    pub id: String,
    /// The title, for people.
    pub title: String,
    /// The task instruction that an encoder may be given.
    pub instruction: String,
    /// The judge's criterion: when a document is relevant to a query.
    pub relevance: String,
    /// The side that the snippet becomes.
    pub snippet: SnippetRole,
    /// The kind of snippet that it takes.
    #[serde(default)]
    pub source: SnippetContent,
    /// A query in words.
    pub query: String,
    /// A document in words.
    pub document: String,
    /// Languages that it is for; empty for all.
    #[serde(default)]
    pub languages: Vec<String>,
    /// True where a target language is drawn from the translation pairs.
    #[serde(default)]
    pub translate: bool,
    /// Limit for sides that are similar by nature: pairs whose sides are more similar than this are dropped.
    #[serde(default)]
    pub max_jaccard: Option<f64>,
    /// True where both sides are code of one language that gives the same results: with `select.runs` both are called where
    /// they can be, and a pair whose sides differ is dropped.
    #[serde(default)]
    pub same_results: bool,
    /// Questions for the model, one after the other; none where a split snippet is the whole pair.
    #[serde(default)]
    pub steps: Vec<Step>,
}

/// The side that a snippet becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SnippetRole {
    /// The query; in hybrid tasks the code of the query, after the text that a step writes.
    Query,
    /// The document.
    Document,
    /// Both sides, cut in two: what no step writes is the first part for the query, the second for the document.
    Part,
    /// Neither: it only gives the model an idea.
    Seed,
}

/// The kind of snippet that a task takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SnippetContent {
    /// Snippets with a language.
    #[default]
    Code,
    /// Snippets without one.
    Text,
}

/// One question of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// The text that is asked for.
    pub output: StepOutput,
    /// The question, as a template.
    pub prompt: String,
}

/// A text that an answer gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepOutput {
    /// The pair's anchor.
    Query,
    /// The pair's positive.
    Document,
    /// Something that a later step works with.
    Note,
}

impl StepOutput {
    /// Its name, in templates and in the answer's JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Query => "query",
            Self::Document => "document",
            Self::Note => "note",
        }
    }
}

impl TaskFile {
    /// Checks every task of the file.
    pub fn validate(&self, path: &Path) -> Result<()> {
        let bad = |at: String, message: String| Err(Error::data(format!("{}: {at}", path.display()), message));
        if self.version != 1 {
            return bad("version".into(), format!("got {}, expected 1", self.version));
        }
        let mut ids = BTreeSet::new();
        for task in &self.tasks {
            if !ids.insert(&task.id) {
                return bad(format!("task {}", task.id), "the id stands there twice, expected once".into());
            }
            if let Err(message) = task.check(self.kind) {
                return bad(format!("task {}", task.id), message);
            }
        }
        Ok(())
    }
}

impl TaskType {
    /// The sides that steps write.
    pub fn writes(&self, output: StepOutput) -> bool {
        self.steps.iter().any(|step| step.output == output)
    }

    fn check(&self, kind: Task) -> std::result::Result<(), String> {
        let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if self.id.is_empty() || !self.id.chars().all(word) {
            return Err("expected an id of lower-case letters, digits and `_`".into());
        }
        for (name, text) in [
            ("title", &self.title),
            ("instruction", &self.instruction),
            ("relevance", &self.relevance),
            ("query", &self.query),
            ("document", &self.document),
        ] {
            if text.trim().is_empty() {
                return Err(format!("`{name}` is empty, expected a few words"));
            }
        }
        if let Some(unknown) = self.languages.iter().find(|name| languages::known(name).is_none()) {
            return Err(format!("`languages` has `{unknown}`, which is none of the twenty"));
        }
        if self.max_jaccard.is_some_and(|limit| !(limit > 0.0 && limit <= 1.0)) {
            return Err("`max_jaccard` is out of range, expected above 0, at most 1".into());
        }
        self.check_sides(kind)?;
        self.check_prompts()
    }

    /// Each side comes from one place.
    fn check_sides(&self, kind: Task) -> std::result::Result<(), String> {
        let (query, document) = (self.writes(StepOutput::Query), self.writes(StepOutput::Document));
        let joined = kind == Task::Hybrid && self.snippet == SnippetRole::Query;
        let fits = match self.snippet {
            SnippetRole::Query => document && (!query || joined),
            SnippetRole::Document => query && !document,
            SnippetRole::Part => true,
            SnippetRole::Seed => query && document,
        };
        if !fits {
            let expected = match self.snippet {
                SnippetRole::Query => "a step that writes `document`, and `query` only in hybrid tasks",
                SnippetRole::Document => "a step that writes `query`, and none that writes `document`",
                SnippetRole::Part | SnippetRole::Seed => "steps that write `query` and `document`",
            };
            return Err(format!("the steps do not fit `snippet`, expected {expected}"));
        }
        let most = if self.snippet == SnippetRole::Part { 0..=2 } else { 1..=2 };
        if !most.contains(&self.steps.len()) {
            return Err(format!("{} steps, expected {} to {}", self.steps.len(), most.start(), most.end()));
        }
        if self.steps.len() == 2 && self.steps[0].output == self.steps[1].output {
            return Err(format!("both steps write `{}`, expected two different outputs", self.steps[0].output.name()));
        }
        if self.steps.last().is_some_and(|step| step.output == StepOutput::Note) {
            return Err("the last step writes `note`, which nothing uses".into());
        }
        if self.translate && self.source == SnippetContent::Text {
            return Err("`translate` is for code, and `source` is text".into());
        }
        Ok(())
    }

    /// Templates have no syntax errors, and use what there is when they are filled.
    fn check_prompts(&self) -> std::result::Result<(), String> {
        for (at, step) in self.steps.iter().enumerate() {
            let environment = environment();
            let failed = |error: minijinja::Error| format!("step {}: {error:#}", at + 1);
            let template = environment.template_from_str(&step.prompt).map_err(failed)?;
            let used = template.undeclared_variables(false);
            let mut used: Vec<&String> = used.iter().collect();
            used.sort();
            for name in used {
                let later = self.steps[at..].iter().any(|step| step.output.name() == name);
                let earlier = self.steps[..at].iter().any(|step| step.output.name() == name);
                let snippets = match name.as_str() {
                    "query" => self.snippet == SnippetRole::Query,
                    "document" => self.snippet == SnippetRole::Document,
                    "before" | "after" => self.snippet == SnippetRole::Part,
                    "note" => false,
                    // Functions of the template language.
                    "range" | "dict" | "namespace" | "loop" => true,
                    other if VARIABLES.contains(&other) => true,
                    other => {
                        let hint = wb_core::suggest::nearest(other, VARIABLES);
                        let hint = hint.map_or_else(
                            || format!("known: {}", VARIABLES.join(", ")),
                            |near| format!("did you mean `{near}`?"),
                        );
                        return Err(format!("step {}: unknown variable `{other}`, {hint}", at + 1));
                    }
                };
                if !snippets && !earlier {
                    let why = if later { "no earlier step writes it" } else { "nothing gives it a value" };
                    return Err(format!("step {}: uses `{name}`, and {why}", at + 1));
                }
            }
        }
        Ok(())
    }
}

/// The template engine of prompts: plain text, and a name that is not there is an error.
pub(crate) fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
    environment.set_undefined_behavior(minijinja::UndefinedBehavior::Strict);
    environment
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(kind: &str, fields: &str) -> Result<TaskFile> {
        let text = format!(
            "{{version: 1, kind: {kind}, tasks: [{{id: a, title: A, instruction: I, relevance: R, query: q, document: d, {fields}}}]}}"
        );
        super::super::read(&text, Path::new("mine.yaml"))
    }

    /// Each row: the kind, the fields, the words of the refusal; no words where it is fine.
    #[test]
    fn tasks_are_checked_before_anything_is_asked() {
        for (kind, fields, words) in [
            ("text2code", "snippet: document, steps: [{output: query, prompt: '{{ snippet }}'}]", ""),
            ("text2code", "snippet: document, steps: [{output: document, prompt: a}]", "do not fit `snippet`"),
            (
                "text2code",
                "snippet: query, steps: [{output: query, prompt: a}, {output: document, prompt: a}]",
                "do not fit",
            ),
            (
                "hybrid",
                "snippet: query, steps: [{output: query, prompt: a}, {output: document, prompt: '{{ query }}'}]",
                "",
            ),
            ("code2code", "snippet: part", ""),
            ("code2code", "snippet: query", "do not fit"),
            ("code2code", "snippet: part, steps: [{output: query, prompt: '{{ before }}'}]", ""),
            (
                "code2text",
                "snippet: query, steps: [{output: note, prompt: a}, {output: document, prompt: '{{ note }}'}]",
                "",
            ),
            (
                "code2text",
                "snippet: query, steps: [{output: document, prompt: '{{ note }}'}]",
                "uses `note`, and nothing",
            ),
            ("code2text", "snippet: query, steps: [{output: document, prompt: '{{ before }}'}]", "uses `before`"),
            (
                "code2text",
                "snippet: query, steps: [{output: document, prompt: '{{ snipet }}'}]",
                "did you mean `snippet`?",
            ),
            ("code2text", "snippet: query, steps: [{output: document, prompt: '{{ snippet'}]", "step 1: syntax error"),
            (
                "code2text",
                "snippet: query, steps: [{output: document, prompt: a}, {output: note, prompt: a}]",
                "which nothing uses",
            ),
            (
                "code2text",
                "snippet: query, languages: [latin], steps: [{output: document, prompt: a}]",
                "none of the twenty",
            ),
            ("code2text", "snippet: query, max_jaccard: 2, steps: [{output: document, prompt: a}]", "max_jaccard"),
            (
                "text2code",
                "snippet: seed, source: text, translate: true, steps: [{output: query, prompt: a}, {output: document, prompt: a}]",
                "`translate` is for code",
            ),
            (
                "text2code",
                "snippet: seed, source: text, steps: [{output: query, prompt: '{% for x in range(2) %}{{ x }}{{ loop.index }}{% endfor %}'}, {output: document, prompt: '{{ query }}'}]",
                "",
            ),
            ("text2code", "snippet: document, steps: [{output: query, prompt: a, extra: 1}]", "unknown field `extra`"),
        ] {
            match task(kind, fields) {
                Ok(_) => assert!(words.is_empty(), "{fields}: accepted, expected {words}"),
                Err(error) => assert!(!words.is_empty() && error.to_string().contains(words), "{fields}: {error}"),
            }
        }
    }
}
