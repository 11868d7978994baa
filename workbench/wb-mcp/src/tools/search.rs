//! `search`: the project asked in words, by names, by a pattern, or by an error message.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use wb_core::{Error, Result};
use wb_search::{
    AnswerRequest, CodeIndex, FileContext, LinePattern, PartedQuestion, SearchAnswer, SearchContext, SearchQuestion,
    answer::{AnsweredUnit, Extent, UNSURE},
    files::{FileKind, language_named},
    structure::AimedQuestion,
};

use super::{MOST_CHARS, in_range, known_path, of_length};
use crate::{
    answer::{AnswerPage, FoundPlace, REMARK, ToolAnswer, at, numbers, short},
    live::{LiveProject, Wanted},
};

/// Words for the list of tools.
pub(super) const WORDS: &str = "Finds functions, types and sections by what they do or how they are called. The question \
is words, a name, or a whole error message or stack trace (several lines). `pattern` keeps what has a matching line; \
alone, it lists all such lines.";

/// Answers, where nothing is said, and most.
const ANSWERS: [u32; 2] = [5, 100];
/// Tokens of an answer, where nothing is said: five answers, the first of them whole.
pub(super) const TOKENS: u32 = 1_200;
/// Names of a unit that are told.
const NAMES: usize = 8;

/// Arguments of `search`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SearchCall {
    /// Words, a name, an error.
    question: String,
    /// Regular expression for a line.
    pattern: String,
    /// Only below this path.
    below: String,
    /// Only these: source, test, example, declaration, generated, docs, config.
    kinds: Vec<String>,
    /// Only these: rust, python...
    languages: Vec<String>,
    /// The file that is open.
    current_file: String,
    /// Answers at most (5).
    n: Option<u32>,
}

/// Answers a call.
pub(super) fn call(project: &Arc<LiveProject>, call: SearchCall, page: AnswerPage) -> Result<Value> {
    let n = in_range("n", call.n.unwrap_or(ANSWERS[0]), [1, ANSWERS[1]])?;
    of_length("question", &call.question, MOST_CHARS)?;
    of_length("pattern", &call.pattern, MOST_CHARS)?;
    let pattern = (!call.pattern.is_empty()).then(|| LinePattern::new(&call.pattern)).transpose()?;
    if call.question.trim().is_empty() && pattern.is_none() {
        return Err(Error::failed("search asks for nothing").with_hint(r#"{"question": "where are retries counted"}"#));
    }
    // A question about a symbol is asked of the structure, too.
    let is_aimed = AimedQuestion::by_form(&call.question).next().is_some();
    let now = project.now(if is_aimed { Wanted::Graph } else { Wanted::Words })?;
    let index = now.index();
    let mut question = SearchQuestion::new(&call.question);
    question.below = Some(known_path(index, &call.below)?).filter(|path| !path.is_empty()).into_iter().collect();
    let of = |key: &'static str| move |error: String| Error::value(key, error);
    let kinds = call.kinds.iter().map(|kind| kind.parse::<FileKind>().map_err(of("kinds")));
    question.roles = kinds.collect::<Result<Vec<_>>>()?.into_iter().flat_map(|kind| kind.0).collect();
    question.languages =
        call.languages.iter().map(|name| language_named(name).map_err(of("languages"))).collect::<Result<_>>()?;
    let weights = project.weights();
    let is_issue = call.question.trim().contains('\n');
    let mut parted = match is_issue {
        true => PartedQuestion::new(&call.question, &question, weights),
        false => PartedQuestion::whole(question.clone()),
    };
    if !call.current_file.is_empty() {
        // One that is not saved yet says as much of what is near it.
        let known = known_path(index, &call.current_file);
        let is_plain = !call.current_file.contains(char::is_control);
        let current = Some(known.or_else(|error| is_plain.then(|| call.current_file.clone()).ok_or(error))?);
        let files = FileContext { current, recent: Vec::new() };
        parted.set_context(&SearchContext { files, ..SearchContext::default() }, &weights.context);
    }
    let asks_words = parted.has_words();
    if let Some(encoder) = project.encoder(&now).filter(|_| asks_words) {
        parted.embed(encoder.as_ref())?;
    }
    let most = if asks_words { page.skip + n } else { usize::MAX };
    let mut request = AnswerRequest { question, parted, pattern, most, budget: None, abstain: None, routed: None };
    if is_aimed {
        project.graph(&now)?.route(&mut request, weights)?;
    }
    let found = SearchAnswer::of(index, &request, weights)?;
    let mut answer = ToolAnswer { confidence: found.confidence, ..ToolAnswer::of(&now) };
    if !asks_words {
        let total = found.lines.len();
        // Without a number, as many as fit: each takes a token at least.
        let most = if call.n.is_some() { n } else { page.budget };
        let places = found.lines.into_iter().skip(page.skip).take(most).map(|line| {
            let at = format!("{}:{}", line.path, line.line);
            FoundPlace { at, text: line.text, ..FoundPlace::default() }
        });
        let places: Vec<FoundPlace> = places.collect();
        (answer.total, answer.empty) = (Some(total), found.empty);
        let is_all = page.skip + places.len() >= total;
        return Ok(answer.within(page, places, is_all));
    }
    let is_all = found.answers.len() < most;
    let places: Vec<FoundPlace> = found.answers.into_iter().skip(page.skip).map(|unit| place(index, unit)).collect();
    if found.confidence.is_some_and(|sure| sure < UNSURE) && !places.is_empty() {
        answer.notes.push("perhaps nothing here answers this".to_owned());
    }
    answer.empty = found.empty.or_else(|| places.is_empty().then(|| "there are no more answers".to_owned()));
    Ok(answer.within(page, places, is_all))
}

/// A unit as a place.
fn place(index: &CodeIndex, unit: AnsweredUnit) -> FoundPlace {
    let AnsweredUnit { found, extent, shown, matched, said, text, .. } = unit;
    let whole = (extent == Extent::Excerpt).then(|| index.text_of(&found)).flatten();
    let n_head = index.units().get(found.unit).map_or(0, |unit| (unit.head + 1).saturating_sub(found.lines[0]));
    let head: Vec<&str> = whole.as_deref().unwrap_or(&text).lines().take(n_head as usize).collect();
    let head = head.join("\n");
    FoundPlace {
        at: at(&found.path, found.lines),
        name: found.names.iter().take(NAMES).map(String::as_str).collect::<Vec<_>>().join(", "),
        lines: matched,
        part: (extent != Extent::Whole).then_some(extent),
        whole,
        shown: shown.into_iter().map(numbers).collect::<Vec<_>>().join(", "),
        summary: short(said.lines().next().unwrap_or_default(), REMARK),
        text,
        head,
        ..FoundPlace::default()
    }
}
