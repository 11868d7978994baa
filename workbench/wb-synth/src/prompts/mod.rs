//! Prompts: what the model is told about its work, examples, and the question with material that cannot speak for itself.
//!
//! What is the same for all questions of a task comes first, so that a server reads it once.

pub mod fence;
mod few_shot;
mod words;

use minijinja::{Environment, context};
use serde_json::{Value, json};
use wb_core::{Seed, Task, fingerprint::Fingerprint};
use wb_llm::{Message, Role, neutral::between};

pub use few_shot::Example;
pub use words::{LABELS, judge_system, judge_user, label_meaning};

use crate::{
    Error, Result,
    config::FewShotConfig,
    tasks::{ChosenTask, Step, StepOutput, TaskCatalog, VARIABLES},
};

/// Version of all words in this folder: a change of them is another recipe.
const VERSION: u32 = 1;

/// Texts that fill a template; those that are not our own are fenced on the way in.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PromptMaterial<'a> {
    /// The snippet, as it stands.
    pub snippet: &'a str,
    /// Words that speak of it in its source.
    pub context: &'a str,
    /// The first part of a snippet that was cut.
    pub before: &'a str,
    /// The second part.
    pub after: &'a str,
    /// The text that an earlier step wrote.
    pub note: &'a str,
    /// The query, as far as it is there.
    pub query: &'a str,
    /// The document, as far as it is there.
    pub document: &'a str,
    /// The language in people's words.
    pub language: &'a str,
    /// The language to translate into, in people's words.
    pub target_language: &'a str,
    /// A word that makes candidates differ.
    pub variant: &'a str,
}

/// The prompts of all tasks of a run.
pub struct PromptSet {
    environment: Environment<'static>,
    tasks: Vec<TaskPrompts>,
}

struct TaskPrompts {
    name: String,
    version: Fingerprint,
    /// System message and examples of each step.
    beginnings: Vec<Vec<Message>>,
}

impl PromptSet {
    /// Compiles the templates and draws the examples of each task.
    pub fn new(catalog: &TaskCatalog, few_shot: &FewShotConfig, seed: Seed) -> Result<Self> {
        let examples = few_shot::load(few_shot)?;
        let mut prompts = Self { environment: crate::tasks::environment(), tasks: Vec::new() };
        for chosen in &catalog.tasks {
            let name = chosen.name();
            for (at, step) in chosen.task.steps.iter().enumerate() {
                let added = prompts.environment.add_template_owned(template(&name, at), step.prompt.clone());
                added.map_err(|error| failed(&name, at, &error))?;
            }
            let drawn = few_shot::draw(&examples, &name, few_shot.count, seed);
            let mut beginnings = Vec::new();
            for (at, step) in chosen.task.steps.iter().enumerate() {
                let mut messages = vec![Message { role: Role::System, content: words::step_system(chosen, step) }];
                for example in drawn.iter().filter(|example| example.has(step.output)) {
                    let nonce = Fingerprint::of_json(example);
                    let question = prompts.fill(&name, at, &example.material(), nonce.short())?;
                    messages.push(Message { role: Role::User, content: question });
                    messages.push(Message { role: Role::Assistant, content: example.answer(step.output) });
                }
                beginnings.push(messages);
            }
            let version = Fingerprint::of_json(&(VERSION, &chosen.task, &beginnings));
            prompts.tasks.push(TaskPrompts { name, version, beginnings });
        }
        Ok(prompts)
    }

    /// The recipe of a task's stage in the ledger: name, version of the prompts, stage.
    pub fn recipe(&self, task: usize, stage: &str) -> String {
        let prompts = &self.tasks[task];
        format!("{}@{}/{stage}", prompts.name, prompts.version.short())
    }

    /// The conversation of a task's step.
    pub fn step(&self, task: usize, step: usize, material: &PromptMaterial, nonce: &str) -> Result<Vec<Message>> {
        let prompts = &self.tasks[task];
        let mut messages = prompts.beginnings[step].clone();
        messages.push(Message { role: Role::User, content: self.fill(&prompts.name, step, material, nonce)? });
        Ok(messages)
    }

    fn fill(&self, task: &str, step: usize, material: &PromptMaterial, nonce: &str) -> Result<String> {
        let text = |text: &str| if text.is_empty() { String::new() } else { fenced(text, nonce) };
        let values = context! {
            snippet => text(material.snippet),
            context => text(material.context),
            before => text(material.before),
            after => text(material.after),
            note => text(material.note),
            query => text(material.query),
            document => text(material.document),
            language => material.language,
            target_language => material.target_language,
            variant => material.variant,
        };
        let template =
            self.environment.get_template(&template(task, step)).map_err(|error| failed(task, step, &error))?;
        template.render(values).map_err(|error| failed(task, step, &error))
    }

    /// The conversation that asks for a label of a pair.
    pub fn judge(&self, chosen: &ChosenTask, query: &str, document: &str, nonce: &str) -> Vec<Message> {
        let user = judge_user(chosen, &fenced(query, nonce), &fenced(document, nonce));
        vec![Message { role: Role::System, content: judge_system(chosen) }, Message { role: Role::User, content: user }]
    }

    /// The conversation that asks for hard negatives of a pair.
    pub fn negatives(
        &self,
        chosen: &ChosenTask,
        count: usize,
        query: &str,
        document: &str,
        nonce: &str,
    ) -> Vec<Message> {
        let user = judge_user(chosen, &fenced(query, nonce), &fenced(document, nonce));
        vec![
            Message { role: Role::System, content: words::negatives_system(chosen, count) },
            Message { role: Role::User, content: user },
        ]
    }

    /// The conversation that asks for new tasks of a kind.
    pub fn brainstorm(kind: Task, known: &[String], count: usize) -> Vec<Message> {
        words::brainstorm(kind, known, count)
    }

    /// The conversation that asks for the instruction and the criterion of a proposed task.
    pub fn instruct(kind: Task, title: &str, query: &str, document: &str) -> Vec<Message> {
        words::instruct(kind, title, query, document)
    }
}

/// A text that is not our own. The control tokens of common models are broken here; those of the model at hand are when
/// the question is sent, so that a question is the same whichever way its model is reached.
pub(crate) fn fenced(text: &str, nonce: &str) -> String {
    between(text, nonce)
}

fn template(task: &str, step: usize) -> String {
    format!("{task}/{step}")
}

fn failed(task: &str, step: usize, error: &minijinja::Error) -> Error {
    Error::failed(format!("{task}, step {}: {error:#}", step + 1))
        .with_hint(format!("variables of a prompt: {}", VARIABLES.join(", ")))
}

/// The schema of a step's answer, in keywords that every server enforces.
pub fn step_schema(step: &Step) -> Value {
    let name = step.output.name();
    json!({
        "type": "object",
        "properties": { name: { "type": "string", "minLength": 1 } },
        "required": [name],
        "additionalProperties": false,
    })
}

/// The schema of a judgment.
pub fn judge_schema() -> Value {
    json!({
        "type": "object",
        "properties": { "label": { "type": "integer", "enum": [0, 1, 2] } },
        "required": ["label"],
        "additionalProperties": false,
    })
}

/// The schema of hard negatives.
pub fn negatives_schema(count: usize) -> Value {
    json!({
        "type": "object",
        "properties": { "negatives": {
            "type": "array", "items": { "type": "string", "minLength": 1 }, "minItems": count, "maxItems": count,
        } },
        "required": ["negatives"],
        "additionalProperties": false,
    })
}

/// The text that the model was asked for: the value of its only key, or nothing where the answer is of another form.
pub fn written(value: Option<&Value>, output: StepOutput) -> Option<&str> {
    let map = value?.as_object()?;
    if map.len() == 1 { map.get(output.name())?.as_str() } else { None }
}
