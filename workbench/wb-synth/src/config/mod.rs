//! `synth:` of the YAML: which pairs are made out of which snippets, by which tasks, and what is kept.

mod stages;

use std::{collections::BTreeMap, path::PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wb_code::CODE_LANGUAGES;
use wb_core::{Error, Result, Task};

pub use stages::{BrainstormConfig, FewShotConfig, GenerateConfig, JudgeConfig, NegativesConfig, SelectConfig};

use crate::languages::{self, weight};

/// Pairs from a language model.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct SynthConfig {
    /// Tasks that take part, of 47 (`wb ls --tasks`): `all` with equal shares of the four kinds, `{ only:
    /// [text2code/web_query] }`, or `{ kinds: { text2code: 2, code2code: 1 } }`.
    pub tasks: TaskChoice,
    /// Files with further tasks, in the format of the built-in ones (`workbench/wb-synth/tasks/README.md`); one with a
    /// known name replaces it.
    #[serde(deserialize_with = "wb_core::paths::typed")]
    pub task_files: Vec<PathBuf>,
    /// Number of (task, snippet) items; `null` is one for each snippet.
    pub items: Option<usize>,
    /// Answers asked for each item, each with a seed of its own.
    pub candidates: u32,
    /// Style words that candidates take in turn.
    pub variants: Vec<String>,
    /// Wanted languages with weights, CodeR's 20 with theirs unless some are given; snippets of others are counted:
    /// `java`, `python`, `javascript`, `php`, `ruby`, `go`, `csharp`, `cpp`, `c`, `rust`, `typescript`, `perl`,
    /// `shell`, `sql`, `batch`, `fortran`, `haskell`, `lua`, `powershell`, `vb`.
    pub languages: BTreeMap<String, f64>,
    /// Characters of a snippet, at least and at most.
    pub snippet_chars: [usize; 2],
    /// Range in which a snippet is cut in two for tasks on its halves, as shares of its tokens.
    pub split: [f64; 2],
    /// Examples shown before the question: `count` (`3`), `built_in` (`true`), `files` (`[]`).
    pub few_shot: FewShotConfig,
    /// New tasks proposed by the model, written to files to be edited: `per_kind` (`5`), `join` (`false`: this run does
    /// not use them yet).
    pub brainstorm: Option<BrainstormConfig>,
    /// Writing of pairs: `temperature` (`1.0`), `top_p` (`0.6`), `max_tokens` (`1024`).
    pub generate: GenerateConfig,
    /// The model's own judgment, 0, 1 or 2: `keep` (`[1]`: the pairs that belong together), `temperature` (`0.0`),
    /// `top_p` (`1.0`), `max_tokens` (`64`), `gold` (`null`: a file of pairs labelled by a person, for the judge's
    /// precision in the card); `null` for none.
    pub judge: Option<JudgeConfig>,
    /// Rules by which candidates become pairs.
    pub select: SelectConfig,
    /// Hard negatives written by the model: `per_pair`, `temperature`, `top_p`, `max_tokens`. In CodeR's ablation they
    /// hurt: 7 gave 56.40 and 1 gave 59.38, mined ones 67.29.
    pub negatives: Option<NegativesConfig>,
    /// Former place of `review`: it is a key of the whole file now, for pairs of every origin, and refused here.
    #[serde(skip_serializing)]
    #[schemars(skip)]
    pub review: Option<PathBuf>,
    /// Name of a pair's data set in training: its `kind`, or its `task`.
    pub datasets: DatasetNames,
}

/// Tasks that take part.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, PartialEq)]
#[serde(rename_all = "snake_case")]
pub enum TaskChoice {
    /// All, with an equal share for each kind.
    All,
    /// Tasks by their full names (`text2code/web_query`), with an equal share for each kind among them.
    Only(Vec<String>),
    /// All of these kinds, with these shares.
    Kinds(BTreeMap<Task, f64>),
}

/// Name of a pair's data set.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum DatasetNames {
    /// The task: `text2code/web_query`. Prompts may then differ from task to task.
    Task,
    /// The kind: `text2code`.
    Kind,
}

impl Default for SynthConfig {
    fn default() -> Self {
        Self {
            tasks: TaskChoice::All,
            task_files: Vec::new(),
            items: None,
            candidates: 1,
            variants: ["terse", "detailed", "beginner", "expert"].map(str::to_owned).to_vec(),
            languages: CODE_LANGUAGES
                .map(|language| (language.name.to_owned(), f64::from(weight(language.name))))
                .into(),
            snippet_chars: [200, 12_000],
            split: [0.4, 0.7],
            few_shot: FewShotConfig::default(),
            brainstorm: None,
            generate: GenerateConfig::default(),
            judge: Some(JudgeConfig::default()),
            select: SelectConfig::default(),
            negatives: None,
            review: None,
            datasets: DatasetNames::Kind,
        }
    }
}

impl SynthConfig {
    /// Refuses values that make no sense; `key` is where this section stands.
    pub fn validate(&self, key: &str) -> Result<()> {
        let bad = |name: &str, message: String| Err(Error::value(format!("{key}.{name}"), message));
        if let Some(path) = &self.review {
            let message =
                "this key is `review` now, at the top of the file: a person's word counts for pairs of every origin";
            return Err(Error::value(format!("{key}.review"), message)
                .with_hint(format!("review: {0}, or on the command line review={0}", path.display())));
        }
        if self.items == Some(0) {
            return bad("items", "got 0, expected at least 1, or null for one item a snippet".into());
        }
        if !(1..=64).contains(&self.candidates) {
            return bad("candidates", format!("got {}, expected 1 to 64", self.candidates));
        }
        if self.languages.is_empty() {
            return bad("languages", "empty, expected at least one language with its weight".into());
        }
        for (name, weight) in &self.languages {
            languages::check(name, &format!("{key}.languages.{name}"), "an unknown language")?;
            if !(weight.is_finite() && *weight > 0.0) {
                return bad(&format!("languages.{name}"), format!("got {weight}, expected a weight above 0"));
            }
        }
        let [least, most] = self.snippet_chars;
        if least > most || most == 0 {
            return bad(
                "snippet_chars",
                format!("[{least}, {most}], expected the smaller first and at least one character"),
            );
        }
        let [from, to] = self.split;
        if !(from > 0.0 && from <= to && to < 1.0) {
            return bad("split", format!("[{from}, {to}], expected two shares between 0 and 1, the smaller first"));
        }
        match &self.tasks {
            TaskChoice::All => {}
            TaskChoice::Only(names) if names.is_empty() => {
                return bad("tasks.only", "empty, expected names of tasks".into());
            }
            TaskChoice::Only(_) => {}
            TaskChoice::Kinds(shares) => {
                if shares.is_empty() || shares.values().any(|share| !(share.is_finite() && *share > 0.0)) {
                    return bad("tasks.kinds", "expected kinds with shares above 0".into());
                }
            }
        }
        self.generate.validate(&format!("{key}.generate"))?;
        self.select.validate(&format!("{key}.select"))?;
        if let Some(judge) = &self.judge {
            judge.validate(&format!("{key}.judge"))?;
        }
        if let Some(negatives) = &self.negatives {
            negatives.validate(&format!("{key}.negatives"))?;
        }
        if let Some(brainstorm) = &self.brainstorm {
            brainstorm.validate(&format!("{key}.brainstorm"))?;
        }
        Ok(())
    }

    /// Warnings for a person before this is run.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if let Some(negatives) = &self.negatives {
            warnings.push(negatives.warning());
        }
        if self.judge.is_none() {
            warnings.push(
                "nobody judges the pairs: in CodeR's ablation, training without any filter scored 68.25 against 70.12"
                    .into(),
            );
        }
        warnings
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use wb_core::config::{from_text, to_text};

    use super::*;

    #[test]
    fn defaults_are_possible_and_read_back() {
        let config: SynthConfig = from_text("{}", Path::new("a.yaml")).unwrap();
        assert_eq!(config, SynthConfig::default());
        config.validate("synth").unwrap();
        assert!(config.warnings().is_empty());
        let text = to_text(&config).unwrap();
        assert_eq!(from_text::<SynthConfig>(&text, Path::new("a.yaml")).unwrap(), config, "{text}");
        let full = "{tasks: {kinds: {text2code: 3, hybrid: 1}}, brainstorm: {}, negatives: {per_pair: 1}, judge: {gold: g.jsonl}}";
        let full: SynthConfig = from_text(full, Path::new("a.yaml")).unwrap();
        full.validate("synth").unwrap();
        assert!(full.warnings()[0].contains("59.38"));
        assert_eq!(from_text::<SynthConfig>(&to_text(&full).unwrap(), Path::new("a.yaml")).unwrap(), full);
    }

    /// Each row: what is given, the words of the refusal.
    #[test]
    fn impossible_values_are_refused() {
        for (given, words) in [
            ("{candidates: 0}", "synth.candidates: got 0, expected 1 to 64"),
            ("{items: 0}", "synth.items"),
            ("{review: a.jsonl}", "synth.review: this key is `review` now, at the top of the file"),
            ("{languages: {pyton: 1}}", "synth.languages.pyton: an unknown language"),
            ("{languages: {python: 0}}", "a weight above 0"),
            ("{languages: {}}", "synth.languages: empty"),
            ("{split: [0.7, 0.4]}", "the smaller first"),
            ("{snippet_chars: [9, 3]}", "synth.snippet_chars"),
            ("{tasks: {only: []}}", "synth.tasks.only"),
            ("{tasks: {kinds: {hybrid: -1}}}", "synth.tasks.kinds"),
            ("{generate: {top_p: 0}}", "synth.generate.top_p"),
            ("{generate: {temperature: -1}}", "synth.generate.temperature"),
            ("{judge: {keep: []}}", "synth.judge.keep"),
            ("{judge: {keep: [3]}}", "synth.judge.keep"),
            ("{select: {near: 0.1}}", "synth.select.near"),
            ("{select: {chars: [9, 3]}}", "synth.select.chars"),
            ("{negatives: {per_pair: 0}}", "synth.negatives.per_pair"),
            ("{brainstorm: {per_kind: 0}}", "synth.brainstorm.per_kind"),
        ] {
            let config: SynthConfig = from_text(given, Path::new("a.yaml")).unwrap();
            let error = config.validate("synth").unwrap_err();
            assert!(error.to_string().contains(words), "{given}: {error}");
        }
        let hint = from_text::<SynthConfig>("{languages: {pyton: 1}}", Path::new("a.yaml"))
            .unwrap()
            .validate("synth")
            .unwrap_err();
        assert_eq!(hint.hint(), Some("did you mean `python`?"));
        assert!(from_text::<SynthConfig>("{candidate: 1}", Path::new("a.yaml")).is_err());
    }
}
