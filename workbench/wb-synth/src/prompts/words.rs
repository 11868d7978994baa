//! The words of all prompts that do not stand in a task file.

use serde_json::json;
use wb_core::Task;
use wb_llm::{Message, Role, neutral::RULE};

use crate::tasks::{ChosenTask, Step, StepOutput};

/// Labels that a judge can give.
pub const LABELS: [u8; 3] = [0, 1, 2];

fn about(chosen: &ChosenTask) -> String {
    let task = &chosen.task;
    format!(
        "The search task: {}\nA query is {}. A document is {}.\nA document is relevant to a query when this holds: {}",
        task.instruction, task.query, task.document, task.relevance
    )
}

/// The system message of a step.
pub(super) fn step_system(chosen: &ChosenTask, step: &Step) -> String {
    let name = step.output.name();
    let joined = chosen.kind == Task::Hybrid && chosen.task.snippet == crate::tasks::SnippetRole::Query;
    let what = match step.output {
        StepOutput::Query if joined => {
            "the words of the query; the code of the snippet is put below them afterwards".to_owned()
        }
        StepOutput::Query => format!("the query: {}", chosen.task.query),
        StepOutput::Document => format!("the document: {}", chosen.task.document),
        StepOutput::Note => "what the request asks for; it is the basis of a later step".to_owned(),
    };
    format!(
        "You help to build training data for a search engine over source code: pairs of a query and a document that is relevant to it.\n\n\
         {}\n\n\
         In this conversation you write one part of such a pair, {what}.\n\
         {RULE}\n\n\
         Answer with JSON alone, of the form {{\"{name}\": \"...\"}}. The text in it is the part itself: no remarks about it, no Markdown fence around it, \
         line breaks written as \\n. It stands by itself, for a reader who sees nothing of this conversation.",
        about(chosen)
    )
}

/// The meaning of a label in a kind of task.
///
/// The three labels, and that 1 is what is kept, are those of CodeR's annotation: 0 is about form, 1 and 2 about relevance.
pub fn label_meaning(kind: Task, label: u8) -> &'static str {
    match (label, kind) {
        (0, Task::Text2code) => {
            "a side is of the wrong sort: the query holds code where prose is expected, or the document is no code"
        }
        (0, Task::Code2text) => {
            "a side is of the wrong sort: the query is no code, or the document holds code where prose is expected"
        }
        (0, Task::Code2code) => "a side is of the wrong sort: the query or the document is prose instead of code",
        (0, Task::Hybrid) => {
            "a side is of the wrong sort: nowhere in the pair do prose and code stand together as the task wants"
        }
        (1, _) => "both sides are of the right sort, and the document meets the criterion for this query in full",
        (2, _) => {
            "both sides are of the right sort, but the document does not meet the criterion for this query, or only in part"
        }
        _ => "no label",
    }
}

/// The system message of a judge.
pub fn judge_system(chosen: &ChosenTask) -> String {
    let meanings: Vec<String> =
        LABELS.iter().map(|label| format!("{label}: {}.", label_meaning(chosen.kind, *label))).collect();
    format!(
        "You check training data for a search engine over source code. You are shown a query and a document, and give the pair one label.\n\n\
         {}\n\n{}\n\n\
         First look at the sort of each side, and only then at the criterion. Judge what is there, not what was probably meant. {RULE}\n\n\
         Answer with JSON alone, of the form {{\"label\": N}} where N is 0, 1 or 2.",
        about(chosen),
        meanings.join("\n")
    )
}

/// A pair, as it is shown to a judge and to whoever writes negatives; both sides fenced already.
pub fn judge_user(chosen: &ChosenTask, query: &str, document: &str) -> String {
    format!("The query ({}):\n{query}\n\nThe document ({}):\n{document}", chosen.task.query, chosen.task.document)
}

/// The system message before hard negatives.
pub(super) fn negatives_system(chosen: &ChosenTask, count: usize) -> String {
    format!(
        "You help to build training data for a search engine over source code. You are shown a query and a document that is relevant to it.\n\n\
         {}\n\n\
         Write {count} other document(s) that a hasty reader would take for an answer to this query: the same subject, the same sort of text, about the same length, \
         similar words or names. Each has to miss the criterion for a definite reason. None is a worse version of the given document that still meets it. {RULE}\n\n\
         Answer with JSON alone, of the form {{\"negatives\": [\"...\"]}} with {count} text(s) in the list.",
        about(chosen)
    )
}

fn kind_words(kind: Task) -> &'static str {
    match kind {
        Task::Text2code => "the query is text, the document is code",
        Task::Code2text => "the query is code, the document is text",
        Task::Code2code => "the query is code, the document is code",
        Task::Hybrid => "the query is text together with code, the document is code or text",
    }
}

/// Asks for new tasks of a kind.
pub(super) fn brainstorm(kind: Task, known: &[String], count: usize) -> Vec<Message> {
    let system = "You plan training data for a search engine over source code. A search task says what people search with, and what they hope to find.\n\
         Propose tasks that programmers really have, that can be written from one snippet of code, and that differ from each other and from the known ones.\n\
         Answer with JSON alone: {\"tasks\": [{\"id\": \"lower_case_words\", \"title\": \"...\", \"query\": \"what a query is, in up to twelve words\", \
         \"document\": \"what a document is, in up to twelve words\"}]}."
        .to_owned();
    let user = format!(
        "Kind of task: {} ({}).\nKnown tasks: {}.\nPropose {count} new task(s).",
        kind.as_str(),
        kind_words(kind),
        json!(known)
    );
    vec![Message { role: Role::System, content: system }, Message { role: Role::User, content: user }]
}

/// Asks for the instruction and the criterion of a proposed task.
pub(super) fn instruct(kind: Task, title: &str, query: &str, document: &str) -> Vec<Message> {
    let system = "You plan training data for a search engine over source code. For a search task you write two sentences.\n\
         The instruction says what is searched for, in the form \"Given ..., retrieve ...\". The criterion says when a document is relevant to a query, \
         so that two people who apply it agree.\n\
         Answer with JSON alone: {\"instruction\": \"...\", \"relevance\": \"...\"}."
        .to_owned();
    let user = format!(
        "The task, as data: {}\nKind of task: {} ({}).",
        json!({ "title": title, "query": query, "document": document }),
        kind.as_str(),
        kind_words(kind)
    );
    vec![Message { role: Role::System, content: system }, Message { role: Role::User, content: user }]
}
