//! One line of a ledger: a record and the checksum of its bytes.

use serde::{Deserialize, Serialize};

use crate::{
    Error, Result, account::TokenTotals, ask::LlmQuestion, canaries::Canaries, engine::EngineInfo, request::Usage,
};

/// One line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LedgerRecord {
    /// A run began to ask.
    Opened(Box<Opened>),
    /// An answer that fits.
    Answered(Box<AnsweredRecord>),
    /// A question that was given up.
    Rejected(Box<Rejected>),
}

/// The engine that answers from here on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Opened {
    /// The version of this format.
    pub format: u32,
    /// The engine and its model.
    pub engine: EngineInfo,
    /// The run's seed.
    pub seed: u64,
    /// The engine's answers to questions whose answer is known.
    pub canaries: Option<Canaries>,
}

/// The format that is written here.
pub const FORMAT: u32 = 1;

/// The cost of a question beside its answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AnswerCost {
    /// Requests that failed and were sent again.
    pub retries: u32,
    /// Answers that did not fit.
    pub wasted_answers: u32,
    /// Their tokens.
    pub wasted: TokenTotals,
}

/// The question that a record is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedQuestion {
    /// The question's key.
    pub key: String,
    /// Recipe that asked.
    pub recipe: String,
    /// Item that it is about.
    pub item: String,
    /// Number among several candidates.
    pub sample: u32,
}

impl RecordedQuestion {
    /// A question with its key.
    pub fn of(key: String, question: &LlmQuestion) -> Self {
        Self { key, recipe: question.recipe.clone(), item: question.item.clone(), sample: question.sample }
    }
}

/// An answer that fits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnsweredRecord {
    /// The question.
    #[serde(flatten)]
    pub question: RecordedQuestion,
    /// Number of the attempt, from 0.
    pub attempt: u32,
    /// The seed of that attempt.
    pub seed: u32,
    /// The text, as it came.
    pub text: String,
    /// Its tokens.
    pub usage: Usage,
    /// Cost of the question beside.
    pub cost: AnswerCost,
    /// Milliseconds of the request that brought it. Nothing that is made of answers depends on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub milliseconds: Option<u32>,
}

/// The class of questions that were given up because the server failed at them: nothing is known of what the model would
/// say, so a later run asks them again, and its record of them takes the place of this one.
pub const SERVER: &str = "server";

/// A question that was given up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rejected {
    /// The question.
    #[serde(flatten)]
    pub question: RecordedQuestion,
    /// The reason's class: `length`, `not_json`, `schema`, `empty`, `unusable`, `prompt`, `server`, `other`.
    pub class: String,
    /// The reason.
    pub reason: String,
    /// Cost of the question.
    pub cost: AnswerCost,
}

impl LedgerRecord {
    /// The question, where it is about one.
    pub fn question(&self) -> Option<&RecordedQuestion> {
        match self {
            Self::Opened(_) => None,
            Self::Answered(answered) => Some(&answered.question),
            Self::Rejected(rejected) => Some(&rejected.question),
        }
    }

    /// True where the server failed at the question, so that it is open.
    pub fn is_open(&self) -> bool {
        matches!(self, Self::Rejected(rejected) if rejected.class == SERVER)
    }
}

const HEAD: &str = "{\"check\":\"";
const BETWEEN: &str = "\",\"record\":";
const DIGITS: usize = 16;

/// A record as a line, with its end.
pub(crate) fn line(record: &LedgerRecord) -> Result<String> {
    let record =
        serde_json::to_string(record).map_err(|error| Error::failed(format!("a record is no JSON: {error}")))?;
    Ok(format!("{HEAD}{}{BETWEEN}{record}}}\n", digits(record.as_bytes())))
}

fn digits(record: &[u8]) -> String {
    blake3::hash(record).to_hex().as_str()[..DIGITS].to_owned()
}

/// The record of a line without its end.
pub(crate) fn parse(line: &[u8]) -> std::result::Result<LedgerRecord, String> {
    let inside = line
        .strip_prefix(HEAD.as_bytes())
        .and_then(|rest| rest.split_at_checked(DIGITS))
        .and_then(|(check, rest)| Some((check, rest.strip_prefix(BETWEEN.as_bytes())?.strip_suffix(b"}")?)));
    let Some((check, record)) = inside else { return Err("not a line of a ledger".into()) };
    if digits(record).as_bytes() != check {
        return Err("the record is not what its checksum says".into());
    }
    serde_json::from_slice(record).map_err(|error| format!("a record of an unknown shape: {error}"))
}

/// True where a last line that cannot be read is what a death in the middle of a write leaves: the beginning of a record, or
/// zeros for parts of it. Anything else was written whole and damaged later. The first line of a file has to look like
/// ours: a wrong path is not to cost somebody a file.
pub(crate) fn is_torn(line: &[u8], is_first: bool) -> bool {
    let head = HEAD.as_bytes();
    let one = line.windows(head.len()).filter(|window| *window == head).count() <= 1;
    let ours = line.iter().zip(head).all(|(found, expected)| found == expected) || line.iter().all(|byte| *byte == 0);
    one && (ours || !is_first) && (line.last() != Some(&b'\n') || line.contains(&0))
}
