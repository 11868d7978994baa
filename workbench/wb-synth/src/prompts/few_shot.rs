//! Examples of finished pairs, shown to the model as earlier questions with their answers.

use std::path::Path;

use rand::RngExt;
use serde::{Deserialize, Serialize};
use wb_core::{Error, Result, Seed};

use super::Material;
use crate::{config::FewShotConfig, lines, tasks::Output};

/// The examples that come with the tasks.
const BUILT_IN: &str = include_str!("../../tasks/few_shot.jsonl");

/// One line of a file of examples: what a good answer to each step of a task looks like.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Example {
    /// The task's full name.
    pub task: String,
    /// The snippet it is made of.
    pub snippet: String,
    /// What speaks of the snippet.
    pub context: String,
    /// The language in people's words.
    pub language: String,
    /// The language to translate into.
    pub target_language: String,
    /// The style word of a candidate.
    pub variant: String,
    /// What the steps wrote: a note for a later step,
    pub note: String,
    /// the query,
    pub query: String,
    /// the document.
    pub document: String,
}

impl Example {
    pub(super) fn has(&self, output: Output) -> bool {
        !self.text(output).is_empty()
    }

    fn text(&self, output: Output) -> &str {
        match output {
            Output::Query => &self.query,
            Output::Document => &self.document,
            Output::Note => &self.note,
        }
    }

    /// The answer as the model should give it.
    pub(super) fn answer(&self, output: Output) -> String {
        serde_json::json!({ output.name(): self.text(output) }).to_string()
    }

    pub(super) fn material(&self) -> Material<'_> {
        Material {
            snippet: &self.snippet,
            context: &self.context,
            before: "",
            after: "",
            note: &self.note,
            query: &self.query,
            document: &self.document,
            language: &self.language,
            target_language: &self.target_language,
            variant: &self.variant,
        }
    }
}

/// The examples that come with the tasks, and those of further files, in order.
pub(super) fn load(config: &FewShotConfig) -> Result<Vec<Example>> {
    let mut examples = Vec::new();
    if config.built_in {
        examples.extend(lines::parse::<Example>(BUILT_IN, Path::new("tasks/few_shot.jsonl"))?);
    }
    for path in &config.files {
        examples.extend(lines::read::<Example>(path)?);
    }
    for (at, example) in &examples {
        if example.task.is_empty() || example.snippet.is_empty() {
            let place = format!("few-shot examples, line {at}");
            return Err(Error::data(place, "an example without `task` or `snippet`, expected both"));
        }
    }
    Ok(examples.into_iter().map(|(_, example)| example).collect())
}

/// At most `count` examples of a task, drawn once for all of its questions.
pub(super) fn draw<'a>(examples: &'a [Example], task: &str, count: usize, seed: Seed) -> Vec<&'a Example> {
    let mut own: Vec<&Example> = examples.iter().filter(|example| example.task == task).collect();
    let mut rng = seed.stream(&format!("synth few-shot {task}"));
    while own.len() > count {
        own.remove(rng.random_range(0..own.len()));
    }
    own
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_are_drawn_by_the_seed() {
        let examples: Vec<Example> = (0..9)
            .map(|at| Example {
                task: if at < 8 { "a" } else { "b" }.into(),
                snippet: at.to_string(),
                ..Example::default()
            })
            .collect();
        let drawn = |seed| {
            draw(&examples, "a", 3, Seed(seed)).iter().map(|example| example.snippet.clone()).collect::<Vec<_>>()
        };
        assert_eq!(drawn(1), drawn(1));
        assert_eq!(drawn(1).len(), 3);
        assert!((2..20).any(|seed| drawn(seed) != drawn(1)));
        assert_eq!(draw(&examples, "b", 3, Seed(1)).len(), 1);
        assert!(draw(&examples, "c", 3, Seed(1)).is_empty());
    }

    #[test]
    fn the_built_in_examples_belong_to_built_in_tasks() {
        let catalog = crate::tasks::Catalog::load(&[]).unwrap();
        for example in load(&FewShotConfig::default()).unwrap() {
            let chosen = catalog.tasks.iter().find(|chosen| chosen.name() == example.task);
            let chosen = chosen.unwrap_or_else(|| panic!("no task {}", example.task));
            for step in &chosen.task.steps {
                assert!(example.has(step.output), "{}: {:?}", example.task, step.output);
            }
            assert_eq!(chosen.task.translate, !example.target_language.is_empty(), "{}", example.task);
        }
    }
}
