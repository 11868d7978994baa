//! The questions by what retrieval did to them, each with the gold query, every arm's, and its examples.

use minijinja::Value;
use serde::Serialize;
use wb_core::records::rag::{Rag, RagAnswer, RagExample, RagQuestion};

use super::{is_ceiling, sql::sql};
use crate::numbers::{count, significant};

/// Questions of a group that are shown at most.
const MOST: usize = 60;
/// About how many bytes a group may take, so that the page stays small with many arms and long examples.
const ROOM: usize = 500_000;
/// About what the markup of a question, an answer or an example takes.
const MARKUP: usize = 150;
/// Longer texts (questions, messages, names) are cut.
const LONGEST: usize = 600;

/// Effect of retrieval on a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Group {
    Helped,
    Hurt,
    Others,
    Ceiling,
    Wrong,
    Right,
}

impl Group {
    const ALL: [Self; 6] = [Self::Helped, Self::Hurt, Self::Others, Self::Ceiling, Self::Wrong, Self::Right];

    /// The group's class, name, and what it means; `best` is the headline's arm, `first` the one without retrieval.
    fn words(self, first: &str, best: &str) -> (&'static str, &'static str, String) {
        match self {
            Self::Helped => {
                ("helped", "retrieval made it right", format!("{first} has it wrong and {best} has it right"))
            }
            Self::Hurt => ("hurt", "retrieval made it wrong", format!("{first} has it right and {best} has it wrong")),
            Self::Others => (
                "others",
                "other arms differ",
                format!("{first} and {best} agree, and another arm has it the other way round"),
            ),
            Self::Ceiling => (
                "ceiling",
                "only the ceiling is right",
                "no arm has it right but the one that reads the gold query".to_owned(),
            ),
            Self::Wrong => ("wrong", "all wrong", "no arm has it right".to_owned()),
            Self::Right => ("allright", "all right", "every arm has it right, the ceiling aside".to_owned()),
        }
    }
}

/// Questions of one group.
#[derive(Debug, Serialize)]
pub struct GroupView {
    class: &'static str,
    name: &'static str,
    means: String,
    count: String,
    /// Numbers of questions that are shown and left out; none where all are shown.
    left_out: Option<[String; 2]>,
    questions: Vec<QuestionView>,
}

#[derive(Debug, Serialize)]
struct QuestionView {
    index: String,
    db: String,
    text: String,
    hardness: String,
    /// Place in [`hardness`]: a number, so that no text becomes a class.
    level: usize,
    gold: Value,
    marks: Vec<(String, Mark)>,
    arms: Vec<AnswerView>,
}

#[derive(Debug, Clone, Copy, Serialize)]
struct Mark {
    class: &'static str,
    sign: &'static str,
}

#[derive(Debug, Serialize)]
struct AnswerView {
    name: String,
    mark: Mark,
    status: String,
    verdicts: String,
    message: Option<String>,
    sql: Option<Value>,
    examples: Vec<ExampleView>,
}

#[derive(Debug, Serialize)]
struct ExampleView {
    id: String,
    db: String,
    score: String,
    question: Option<String>,
    sql: Value,
}

/// The groups that have questions, those first that tell most; `best` is the headline's arm.
pub fn groups(rag: &Rag, best: Option<usize>) -> Vec<GroupView> {
    let first = rag.arms.first().map_or("", |arm| &arm.name);
    let name = best.map_or("", |best| &rag.arms[best].name);
    let levels = hardness(rag);
    let mut views = Vec::new();
    for group in Group::ALL {
        let all: Vec<&RagQuestion> =
            rag.questions.iter().filter(|question| group_of(rag, best, question) == group).collect();
        if all.is_empty() {
            continue;
        }
        let shown = shown(&all);
        let left = all.len() - shown.len();
        let (class, name, means) = group.words(first, name);
        views.push(GroupView {
            class,
            name,
            means,
            count: count(all.len() as u64),
            left_out: (left > 0).then(|| [shown.len(), left].map(|number| count(number as u64))),
            questions: shown.into_iter().map(|question| view(rag, &levels, question)).collect(),
        });
    }
    views
}

/// The hardnesses that questions have, in the order of the arms' tables.
pub fn hardness(rag: &Rag) -> Vec<String> {
    let known = rag.arms.first().map_or(&[][..], |arm| &arm.levels).iter().map(|level| &level.hardness);
    let asked = |name: &String| rag.questions.iter().any(|question| question.hardness.as_ref() == Some(name));
    known.filter(|name| asked(name)).cloned().collect()
}

/// Judges by execution, and by exact match where execution has no verdict.
fn is_right(answer: &RagAnswer) -> bool {
    answer.ex.unwrap_or(answer.em)
}

fn group_of(rag: &Rag, best: Option<usize>, question: &RagQuestion) -> Group {
    let right = |at: usize| question.arms.get(at).is_some_and(is_right);
    let (ceilings, arms): (Vec<usize>, Vec<usize>) =
        (0..rag.arms.len()).partition(|&at| at > 0 && is_ceiling(&rag.arms[at]));
    match best.map(|best| (right(0), right(best))) {
        Some((false, true)) => Group::Helped,
        Some((true, false)) => Group::Hurt,
        _ if arms.iter().all(|&at| right(at)) => Group::Right,
        _ if arms.iter().any(|&at| right(at)) => Group::Others,
        _ if ceilings.into_iter().any(right) => Group::Ceiling,
        _ => Group::Wrong,
    }
}

/// Takes as many as there is room for, spread evenly over the file: neighbors are often of one database.
fn shown<'a>(all: &[&'a RagQuestion]) -> Vec<&'a RagQuestion> {
    let mean = all.iter().map(|question| size(question)).sum::<usize>() / all.len().max(1);
    let most = MOST.min((ROOM / mean.max(1)).max(1)).min(all.len());
    (0..most).map(|nth| all[nth * all.len() / most]).collect()
}

/// About how many bytes of the page a question takes.
fn size(question: &RagQuestion) -> usize {
    let example = |example: &RagExample| {
        let texts = example.id.len() + example.db_id.len() + example.question.as_ref().map_or(0, String::len);
        MARKUP + texts + 3 * example.sql.len() / 2
    };
    let answer =
        |answer: &RagAnswer| 2 * MARKUP + 3 * answer.sql.len() / 2 + answer.examples.iter().map(example).sum::<usize>();
    2 * MARKUP + question.question.len() + question.gold.len() + question.arms.iter().map(answer).sum::<usize>()
}

fn view(rag: &Rag, levels: &[String], question: &RagQuestion) -> QuestionView {
    let hardness = question.hardness.clone().unwrap_or_else(|| "of unknown hardness".to_owned());
    let named = || rag.arms.iter().map(|arm| cut(&arm.name)).zip(&question.arms);
    QuestionView {
        index: question.index.to_string(),
        db: cut(&question.db_id),
        text: cut(&question.question),
        level: levels.iter().position(|level| *level == hardness).unwrap_or(levels.len()),
        hardness,
        gold: sql(&question.gold),
        marks: named().map(|(name, answer)| (name, mark(answer))).collect(),
        arms: named().map(|(name, answer)| answer_view(name, answer)).collect(),
    }
}

fn mark(answer: &RagAnswer) -> Mark {
    match (is_right(answer), answer.ex) {
        (true, Some(_)) => Mark { class: "yes", sign: "✓" },
        (false, Some(_)) => Mark { class: "no", sign: "✗" },
        (true, None) => Mark { class: "yes", sign: "(✓)" },
        (false, None) => Mark { class: "no", sign: "(✗)" },
    }
}

fn answer_view(name: String, answer: &RagAnswer) -> AnswerView {
    let said = |right: bool| if right { "right" } else { "wrong" };
    AnswerView {
        name,
        mark: mark(answer),
        status: status(&answer.status),
        verdicts: format!("EX {}, EM {}", answer.ex.map_or("unknown", said), said(answer.em)),
        message: answer.message.as_deref().map(cut),
        sql: (!answer.sql.trim().is_empty()).then(|| sql(&answer.sql)),
        examples: answer.examples.iter().map(example_view).collect(),
    }
}

fn example_view(example: &RagExample) -> ExampleView {
    ExampleView {
        id: cut(&example.id),
        db: cut(&example.db_id),
        score: significant(f64::from(example.score), 4),
        question: example.question.as_deref().map(cut),
        sql: sql(&example.sql),
    }
}

/// A status for people.
fn status(name: &str) -> String {
    match name {
        "parse_error" => "cannot be read".to_owned(),
        "sql_error" => "does not run".to_owned(),
        "timeout" => "takes too long".to_owned(),
        other => cut(other),
    }
}

fn cut(text: &str) -> String {
    let left = text.chars().count().saturating_sub(LONGEST);
    if left == 0 {
        return text.to_owned();
    }
    let shown: String = text.chars().take(LONGEST).collect();
    format!("{shown}… {} more characters", count(left as u64))
}
