//! Examples of finished pairs, shown to the model as earlier questions with their answers.

use std::path::Path;

use rand::RngExt;
use serde::{Deserialize, Serialize};
use wb_core::{Error, Result, Seed, json_lines};

use super::PromptMaterial;
use crate::{config::FewShotConfig, tasks::StepOutput};

/// The examples that come with the tasks, with the names that errors give their files: three for each task, each in
/// another language where the task has several.
const BUILT_IN: [(&str, &str); 4] = [
    ("tasks/few_shot/text2code.jsonl", include_str!("../../tasks/few_shot/text2code.jsonl")),
    ("tasks/few_shot/code2text.jsonl", include_str!("../../tasks/few_shot/code2text.jsonl")),
    ("tasks/few_shot/code2code.jsonl", include_str!("../../tasks/few_shot/code2code.jsonl")),
    ("tasks/few_shot/hybrid.jsonl", include_str!("../../tasks/few_shot/hybrid.jsonl")),
];

/// One line of a file of examples: what a good answer to each step of a task looks like.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Example {
    /// The task's full name.
    pub task: String,
    /// The snippet it is made of.
    pub snippet: String,
    /// Words that speak of the snippet.
    pub context: String,
    /// The language in people's words.
    pub language: String,
    /// The language to translate into.
    pub target_language: String,
    /// The style word of a candidate.
    pub variant: String,
    /// The first part of a snippet that is cut.
    pub before: String,
    /// The second part of it.
    pub after: String,
    /// A note for a later step.
    pub note: String,
    /// The query.
    pub query: String,
    /// The document.
    pub document: String,
}

impl Example {
    pub(super) fn has(&self, output: StepOutput) -> bool {
        !self.text(output).is_empty()
    }

    fn text(&self, output: StepOutput) -> &str {
        match output {
            StepOutput::Query => &self.query,
            StepOutput::Document => &self.document,
            StepOutput::Note => &self.note,
        }
    }

    /// The answer as the model should give it.
    pub(super) fn answer(&self, output: StepOutput) -> String {
        serde_json::json!({ output.name(): self.text(output) }).to_string()
    }

    pub(super) fn material(&self) -> PromptMaterial<'_> {
        PromptMaterial {
            snippet: &self.snippet,
            context: &self.context,
            before: &self.before,
            after: &self.after,
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
        for (name, text) in BUILT_IN {
            examples.extend(json_lines::parse::<Example>(text, Path::new(name))?);
        }
    }
    for path in &config.files {
        examples.extend(json_lines::read::<Example>(path)?);
    }
    for (at, example) in &examples {
        if example.task.is_empty() || example.snippet.is_empty() {
            let place = format!("few-shot examples, line {at}");
            return Err(Error::data(place, "an example without `task` or `snippet`, expected both"));
        }
    }
    Ok(examples.into_iter().map(|(_, example)| example).collect())
}

/// Draws at most `count` examples of a task, once for all of its questions.
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
    use std::collections::BTreeSet;

    use wb_code::CODE_LANGUAGES;

    use super::*;
    use crate::tasks::{SnippetRole, TaskCatalog};

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
        let catalog = TaskCatalog::load(&[]).unwrap();
        let mut snippets = BTreeSet::new();
        for example in load(&FewShotConfig::default()).unwrap() {
            let name = &example.task;
            let chosen = catalog.tasks.iter().find(|chosen| chosen.name() == *name);
            let task = &chosen.unwrap_or_else(|| panic!("no task {name}")).task;
            for output in [StepOutput::Query, StepOutput::Document, StepOutput::Note] {
                assert_eq!(task.writes(output), example.has(output), "{name}: {output:?}");
            }
            assert_eq!(task.translate, !example.target_language.is_empty(), "{name}");
            assert_eq!(task.snippet == SnippetRole::Part, !example.before.is_empty(), "{name}");
            if task.snippet == SnippetRole::Part {
                assert_eq!(format!("{}{}", example.before, example.after), example.snippet, "{name}");
            }
            let styled = task.steps.iter().any(|step| step.prompt.contains("variant"));
            assert_eq!(styled, !example.variant.is_empty(), "{name}");
            assert!(snippets.insert(example.snippet.clone()), "{name}: {}", example.snippet);
        }
    }

    /// Examples are the same whatever language is asked about: so they are of different ones.
    #[test]
    fn every_task_has_three_examples_of_different_languages() {
        let examples = load(&FewShotConfig::default()).unwrap();
        for chosen in &TaskCatalog::load(&[]).unwrap().tasks {
            let drawn = draw(&examples, &chosen.name(), 3, Seed(17));
            assert_eq!(drawn.len(), 3, "{}", chosen.name());
            let languages: BTreeSet<&str> = drawn.iter().map(|example| example.language.as_str()).collect();
            let expected = if chosen.task.languages.len() == 1 { 1 } else { 3 };
            assert_eq!(languages.len(), expected, "{}: {languages:?}", chosen.name());
        }
    }

    /// The head of a configuration promises this by `few_shot: { count: 3 }`.
    #[test]
    fn three_examples_stand_before_every_question() {
        let catalog = TaskCatalog::load(&[]).unwrap();
        let prompts = crate::prompts::PromptSet::new(&catalog, &FewShotConfig::default(), Seed(17)).unwrap();
        for task in &prompts.tasks {
            for beginning in &task.beginnings {
                let answers = beginning.iter().filter(|message| message.role == wb_llm::Role::Assistant).count();
                assert_eq!((answers, beginning.len()), (3, 7), "{}", task.name);
            }
        }
        let questions: usize = prompts.tasks.iter().map(|task| task.beginnings.len()).sum();
        assert_eq!((prompts.tasks.len(), questions), (47, 58));
    }

    #[test]
    fn the_code_of_the_examples_parses() {
        let (mut parsed, mut other) = (0, 0);
        for example in load(&FewShotConfig::default()).unwrap() {
            for (title, code) in code_of(&example) {
                let language = CODE_LANGUAGES.iter().find(|language| language.title == title);
                let language = language.unwrap_or_else(|| panic!("{}: no language {title}", example.task));
                match language.grammar {
                    Some(grammar) => {
                        assert!(grammar.parses(code), "{}, {title}:\n{code}", example.task);
                        parsed += 1;
                    }
                    None => other += 1,
                }
            }
        }
        assert!(parsed > 5 * other, "{parsed} parsed, {other} without a grammar");
    }

    /// Every text of an example that is code, with its language in people's words.
    fn code_of(example: &Example) -> Vec<(&str, &str)> {
        let own = example.language.as_str();
        let other = if example.target_language.is_empty() { own } else { example.target_language.as_str() };
        let mut codes = vec![(own, example.snippet.as_str()), (own, example.note.as_str())];
        match example.task.split_once('/').unwrap() {
            ("code2text", _) => codes.push((own, example.query.as_str())),
            ("code2code", _) => codes.extend([(own, example.query.as_str()), (other, example.document.as_str())]),
            ("hybrid", id) => {
                codes.extend(example.query.split("```").skip(1).step_by(2).map(|fenced| (own, fenced)));
                if !["code_comparison", "best_practices"].contains(&id) {
                    codes.push((own, example.document.as_str()));
                }
            }
            _ => {}
        }
        codes.retain(|(_, code)| !code.is_empty());
        codes
    }
}
