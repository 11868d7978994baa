//! New tasks by the model: proposed for each kind, given an instruction and a criterion, written down for a person to edit.

use serde::Deserialize;
use serde_json::{Value, json};
use wb_core::{Error, Task, records::data::Gate};
use wb_llm::{LlmQuestion, Reply};

use super::{Desk, desk::reason, gates::drop_one};
use crate::{
    Result,
    config::BrainstormConfig,
    prompts::PromptSet,
    tasks::{ChosenTask, SnippetContent, SnippetRole, Step, StepOutput, TaskCatalog, TaskFile, TaskType},
};

/// Version of the words asked here; a change is another recipe.
const VERSION: u32 = 1;

/// Tasks that were proposed and can be worked on, and why the others cannot.
pub(super) struct Proposed {
    pub(super) tasks: Vec<ChosenTask>,
    pub(super) gate: Gate,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Ideas {
    tasks: Vec<Idea>,
}

#[derive(Deserialize, Clone)]
#[serde(deny_unknown_fields)]
struct Idea {
    id: String,
    title: String,
    query: String,
    document: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Instruction {
    instruction: String,
    relevance: String,
}

/// Asks for tasks of every kind that takes part, then for the words of each.
pub(super) fn run(config: &BrainstormConfig, catalog: &TaskCatalog, desk: &mut Desk) -> Result<Proposed> {
    let kinds: Vec<Task> =
        Task::ALL.into_iter().filter(|kind| catalog.tasks.iter().any(|task| task.kind == *kind)).collect();
    let mut gate = Gate { name: "brainstorm".into(), ..Gate::default() };
    let replies = desk.ask("proposing tasks", kinds.len(), &|at| {
        let kind = kinds[at];
        let known: Vec<String> =
            catalog.tasks.iter().filter(|task| task.kind == kind).map(|task| task.task.title.clone()).collect();
        Ok(question(
            kind,
            "brainstorm",
            "",
            PromptSet::brainstorm(kind, &known, config.per_kind),
            config,
            ideas_schema(config),
        ))
    })?;
    let mut ideas: Vec<(Task, Idea)> = Vec::new();
    for (kind, reply) in kinds.into_iter().zip(replies) {
        gate.before += config.per_kind as u64;
        let proposed = match typed::<Ideas>(&reply) {
            Ok(proposed) => proposed.tasks,
            Err(why) => {
                (0..config.per_kind).for_each(|_| drop_one(&mut gate, why.clone(), kind.as_str(), ""));
                continue;
            }
        };
        for at in 0..config.per_kind {
            let why = match proposed.get(at) {
                None => "fewer than were asked for",
                Some(idea) if !is_id(&idea.id) => "an id that is no id",
                Some(idea) if [&idea.title, &idea.query, &idea.document].iter().any(|text| !is_phrase(text, 160)) => {
                    "words that are too long, or control tokens"
                }
                Some(idea) if is_known(catalog, &ideas, kind, &idea.id) => "known already",
                Some(idea) => {
                    ideas.push((kind, idea.clone()));
                    continue;
                }
            };
            drop_one(&mut gate, why.to_owned(), kind.as_str(), "");
        }
    }
    let replies = desk.ask("instructing tasks", ideas.len(), &|at| {
        let (kind, idea) = &ideas[at];
        let messages = PromptSet::instruct(*kind, &idea.title, &idea.query, &idea.document);
        Ok(question(*kind, "instruct", &idea.id, messages, config, instruct_schema()))
    })?;
    let mut tasks = Vec::new();
    for ((kind, idea), reply) in ideas.into_iter().zip(replies) {
        let words = typed::<Instruction>(&reply).and_then(|words| {
            let fits = is_phrase(&words.instruction, 400) && is_phrase(&words.relevance, 400);
            if fits { Ok(words) } else { Err("words that are too long, or control tokens".to_owned()) }
        });
        match words {
            Ok(words) => tasks.push(ChosenTask { kind, task: task(kind, idea, words) }),
            Err(why) => drop_one(&mut gate, why, &idea.id, &idea.title),
        }
    }
    gate.after = tasks.len() as u64;
    Ok(Proposed { tasks, gate })
}

/// One file a kind, in the format of task files (JSON is YAML): to be read, edited, and named in `synth.task_files`.
pub(super) fn files(tasks: &[ChosenTask]) -> Result<Vec<(String, String)>> {
    let mut files = Vec::new();
    for kind in Task::ALL {
        let own: Vec<TaskType> = tasks.iter().filter(|task| task.kind == kind).map(|task| task.task.clone()).collect();
        if own.is_empty() {
            continue;
        }
        let file = TaskFile { version: 1, kind, tasks: own };
        let text =
            serde_json::to_string_pretty(&file).map_err(|error| Error::data("proposed tasks", error.to_string()))?;
        files.push((format!("proposed-{}.json", kind.as_str()), text + "\n"));
    }
    Ok(files)
}

fn question(
    kind: Task,
    stage: &str,
    item: &str,
    messages: Vec<wb_llm::Message>,
    config: &BrainstormConfig,
    schema: Value,
) -> LlmQuestion {
    LlmQuestion {
        recipe: format!("{}/brainstorm@{VERSION}/{stage}", kind.as_str()),
        item: item.to_owned(),
        sample: 0,
        messages,
        sampling: config.sampling(),
        schema: Some(schema),
    }
}

fn typed<T: serde::de::DeserializeOwned>(reply: &Reply) -> std::result::Result<T, String> {
    match reply {
        Reply::Rejected(rejection) => Err(reason(&rejection.reason)),
        Reply::Answered(answer) => {
            let value = answer.value.clone().ok_or("an answer of another form")?;
            serde_json::from_value(value).map_err(|_| "an answer of another form".to_owned())
        }
    }
}

/// The words of the model never become a template: every proposed task has the prompts that stand here.
fn task(kind: Task, idea: Idea, words: Instruction) -> TaskType {
    const DOCUMENT: &str = "Write the document that the search task wants for this code as its query.\n\n\
        Programming language: {{ language }}\n\nThe code:\n{{ snippet }}";
    const QUERY: &str = "Write the query that the search task expects for this code as its document.\n\
        {% if variant %}Style: {{ variant }}{% endif %}\n\nProgramming language: {{ language }}\n\nThe code:\n{{ snippet }}";
    const WORDS: &str = "Write the words of the query: what is asked about this code. The code itself will stand below them.\n\
        {% if variant %}Style: {{ variant }}{% endif %}\n\nProgramming language: {{ language }}\n\nThe code:\n{{ snippet }}";
    const ANSWER: &str = "Write the document that the search task wants for this query: words, and the code that they are about.\n\n\
        Programming language: {{ language }}\n\nThe words:\n{{ query }}\n\nThe code:\n{{ snippet }}";
    let step = |output, prompt: &str| Step { output, prompt: prompt.to_owned() };
    let (snippet, steps) = match kind {
        Task::Text2code => (SnippetRole::Document, vec![step(StepOutput::Query, QUERY)]),
        Task::Code2text | Task::Code2code => (SnippetRole::Query, vec![step(StepOutput::Document, DOCUMENT)]),
        Task::Hybrid => (SnippetRole::Query, vec![step(StepOutput::Query, WORDS), step(StepOutput::Document, ANSWER)]),
    };
    TaskType {
        id: idea.id,
        title: idea.title,
        instruction: words.instruction,
        relevance: words.relevance,
        snippet,
        source: SnippetContent::Code,
        query: idea.query,
        document: idea.document,
        languages: Vec::new(),
        translate: false,
        max_jaccard: (kind == Task::Code2code).then_some(0.95),
        same_results: false,
        steps,
    }
}

fn is_known(catalog: &TaskCatalog, ideas: &[(Task, Idea)], kind: Task, id: &str) -> bool {
    catalog.tasks.iter().any(|task| task.kind == kind && task.task.id == id)
        || ideas.iter().any(|(other, idea)| *other == kind && idea.id == id)
}

fn is_id(id: &str) -> bool {
    (1..=64).contains(&id.len()) && id.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

/// Words of the model that will stand in prompts: one line, not long, and nothing that looks like a control token.
fn is_phrase(text: &str, longest: usize) -> bool {
    let text = text.trim();
    !text.is_empty()
        && text.chars().count() <= longest
        && !text.chars().any(char::is_control)
        && !["<|", "<｜", "[INST", "[/INST", "<s>", "</s>", "<<<", ">>>"].iter().any(|token| text.contains(token))
}

fn ideas_schema(config: &BrainstormConfig) -> Value {
    let text = json!({ "type": "string", "minLength": 1 });
    json!({
        "type": "object",
        "properties": { "tasks": {
            "type": "array",
            "minItems": 1,
            "maxItems": config.per_kind,
            "items": {
                "type": "object",
                "properties": { "id": text, "title": text, "query": text, "document": text },
                "required": ["id", "title", "query", "document"],
                "additionalProperties": false,
            },
        } },
        "required": ["tasks"],
        "additionalProperties": false,
    })
}

fn instruct_schema() -> Value {
    let text = json!({ "type": "string", "minLength": 1 });
    json!({
        "type": "object",
        "properties": { "instruction": text, "relevance": text },
        "required": ["instruction", "relevance"],
        "additionalProperties": false,
    })
}
