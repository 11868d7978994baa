//! An answer to a question: what was found with its text, as people and as programs read it.

use std::collections::{BTreeSet, HashSet};

use serde::Serialize;
use wb_core::untrusted::clean;

use crate::{
    CodeIndex, Error, FoundUnit, LinePattern, PartedQuestion, RankingWeights, Result, SearchQuestion,
    excerpts::Excerpts,
    file_lines::{FileLines, run},
    index::Changes,
    patterns::{MatchedLine, MatchedLines},
    structure::QuestionAim,
};

/// Characters of a token, where a budget is kept.
pub const CHARS: usize = 4;
/// Reason of an answer to nothing.
const NO_WORDS: &str = "the question has no words";
/// Line of a text that stands for lines which are left out.
pub const GAP: &str = "…";

/// Confidence below which an answer may be none: of a set's questions 1 in 5 of those without an answer are below it, and of
/// those with one 1 in 20 at most (`wb bench search`, development parts).
pub const UNSURE: f32 = 0.07;

/// The share of a unit that an answer has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Extent {
    /// All of its lines.
    Whole,
    /// The line that defines it, and those that have most of the question.
    Excerpt,
    /// The comment above and the line that defines it.
    Head,
    /// Nothing: the file is gone or has changed, and its text would not be what was found.
    Stale,
}

/// A unit with its text.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AnsweredUnit {
    /// The unit.
    #[serde(flatten)]
    pub found: FoundUnit,
    /// The share of it that is here.
    pub extent: Extent,
    /// Runs of lines that an excerpt has, also where there was room for all of it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shown: Vec<[u32; 2]>,
    /// Numbers of its lines that the pattern matches, where there is one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub matched: Vec<u64>,
    /// The aim of the question, where the project's structure has it as an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aim: Option<QuestionAim>,
    /// Words of a language model about it, where the index has some.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub said: String,
    /// Its lines, without control characters; between the runs of an excerpt stands [`GAP`].
    pub text: String,
}

/// A question to an index, by words, by a pattern or by both.
#[derive(Debug, Clone)]
pub struct AnswerRequest {
    /// The question, also which files may answer; an empty one for all lines that match the pattern.
    pub question: SearchQuestion,
    /// The question in its parts, with its context; an issue stands here alone.
    pub parted: PartedQuestion,
    /// The regular expression that a line of an answer matches.
    pub pattern: Option<LinePattern>,
    /// Answers at most.
    pub most: usize,
    /// Tokens of text at most.
    pub budget: Option<usize>,
    /// Confidence below which there is no answer.
    pub abstain: Option<f32>,
    /// The aim of the question, and units that the project's structure has for it: those come first.
    pub routed: Option<(QuestionAim, Vec<usize>)>,
}

/// An answer of an index to a question.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SearchAnswer {
    /// The question.
    pub question: String,
    /// The commit at which the project was indexed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Files of the index.
    pub files: usize,
    /// Units of the index.
    pub units: usize,
    /// The encoder whose vectors were asked, as it was named; none where words alone were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoder: Option<String>,
    /// Confidence that something here answers, see [`CodeIndex::confidence`]; nothing where a pattern alone is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f32>,
    /// Files that have changed or gone since they were indexed.
    pub stale: Vec<String>,
    /// Files that the pattern was not looked for in: they cannot be read, or have a line of more than 32 MiB.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<String>,
    /// Best first.
    pub answers: Vec<AnsweredUnit>,
    /// All lines that match, in the order of paths, where nothing but a pattern was asked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<MatchedLine>,
    /// Number of lines that match and are left out, by `most` or by the budget, where nothing but a pattern was asked.
    #[serde(skip_serializing_if = "is_zero")]
    pub left_out: usize,
    /// The reason that there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub empty: Option<String>,
}

impl SearchAnswer {
    /// Asks an index: units, long ones as excerpts, as long as they fit into the budget, then their heads; what is left makes
    /// excerpts whole, best first. Lines as long as they fit.
    pub fn of(index: &CodeIndex, request: &AnswerRequest, weights: &RankingWeights) -> Result<Self> {
        let found = index.walk()?;
        let Changes { changed, gone } = Changes::between(index, &found);
        if !(gone.is_empty() || found.files.is_empty()) && gone.len() == index.files().len() {
            let (n, root) = (gone.len(), index.root().display());
            let what = format!(
                "none of the {n} files of the index is in {root}: all were renamed, or it was made of another folder"
            );
            return Err(Error::failed(what).with_hint("`wb index` brings it up to date; `--project` names its folder"));
        }
        let mut left = request.budget.map_or(usize::MAX, |tokens| tokens.saturating_mul(CHARS));
        let question = &request.question;
        let mut asked = request.parted.clone();
        let MatchedLines { lines: matched, unread } = match &request.pattern {
            Some(pattern) => index.matching_lines(&found, pattern, question)?,
            None => MatchedLines::default(),
        };
        let mut answer = Self {
            question: question.text().to_owned(),
            // Where no file has changed, what was indexed is what is there now.
            commit: if changed.is_empty() && gone.is_empty() {
                found.commit.clone()
            } else {
                index.commit().map(str::to_owned)
            },
            files: index.n_readable(),
            units: index.units().len(),
            confidence: None,
            encoder: index.vectors().filter(|_| asked.has_vectors()).map(|it| it.encoder().opens.clone()),
            // What no question finds is not missed; patterns look at every file as it is.
            stale: changed
                .into_iter()
                .chain(gone)
                .filter(|path| index.is_searched(path) || found.kind_of(path).is_some())
                .collect(),
            unread,
            answers: Vec::new(),
            lines: Vec::new(),
            left_out: 0,
            empty: None,
        };
        // Beside a pattern, a task is no question.
        if !asked.has_words() || request.pattern.is_some() && asked.is_context_alone() {
            let all = matched.len();
            for line in matched {
                let printed = line.printed();
                let fits = answer.lines.len() < request.most && printed <= left;
                if fits {
                    left -= printed;
                    answer.lines.push(line);
                }
            }
            answer.left_out = all - answer.lines.len();
            answer.empty = answer.lines.is_empty().then(|| match all {
                0 if request.pattern.is_none() => NO_WORDS.to_owned(),
                0 => no_line(request),
                _ => "no line that matches fits into the budget".to_owned(),
            });
            return Ok(answer);
        }
        if request.pattern.is_some() {
            asked.restrict(&matched.iter().filter_map(|line| line.unit).collect());
        }
        let sure = index.confidence(&asked)?;
        answer.confidence = Some(sure);
        let is_routed = request.routed.as_ref().is_some_and(|(_, units)| !units.is_empty());
        if let Some(least) = request.abstain.filter(|least| sure < *least && !is_routed) {
            answer.empty = Some(format!("confidence {sure:.2} is below {least}: nothing here seems to answer this"));
            return Ok(answer);
        }
        let lines = FileLines::new(index);
        // A line that matches is not left out.
        let excerpts = Excerpts::new(index, &asked, weights.excerpt.filter(|_| request.pattern.is_none()))?;
        let search = index.search_issue(&asked, weights, request.most)?;
        let has_line = |unit: usize| matched.iter().any(|line| line.unit == Some(unit));
        let may_answer = |unit: &usize| {
            let file = index.file_of(&index.units()[*unit]);
            question.allows(&file.path, file.role, &file.language) && (request.pattern.is_none() || has_line(*unit))
        };
        let aim = request.routed.as_ref().map(|(aim, _)| *aim);
        let routed = request.routed.iter().flat_map(|(_, units)| units).copied().filter(may_answer).collect::<Vec<_>>();
        for found in index.with_first(search, &routed, request.most) {
            let aim = aim.filter(|_| routed.contains(&found.unit));
            let unit = &index.units()[found.unit];
            let (extent, shown, text) = match lines.of(unit.file as usize) {
                None => (Extent::Stale, Vec::new(), String::new()),
                Some(of_file) => {
                    let shown = excerpts.of(unit, of_file);
                    let extent = if shown == [unit.lines] { Extent::Whole } else { Extent::Excerpt };
                    let head = [[unit.lines[0], unit.head]];
                    let forms = [(extent, shown.as_slice()), (Extent::Head, head.as_slice())];
                    let texts = forms.map(|(extent, runs)| (extent, joined(of_file, runs)));
                    let fits = |(_, text): &(Extent, String)| !text.is_empty() && text.len() <= left;
                    let Some((extent, text)) = texts.into_iter().find(fits) else { continue };
                    (extent, if extent == Extent::Excerpt { shown } else { Vec::new() }, text)
                }
            };
            left -= text.len();
            let of_unit = matched.iter().filter(|line| line.unit == Some(found.unit));
            let matched = of_unit.map(|line| line.line).collect();
            let said = index.names(found.unit).said.lines().map(clean).collect::<Vec<_>>().join("\n");
            answer.answers.push(AnsweredUnit { found, extent, shown, matched, aim, said, text });
        }
        if request.budget.is_some() {
            answer.widen(&lines, left);
        }
        if answer.answers.is_empty() {
            let no_match = request.pattern.is_some() && matched.is_empty();
            let why = match no_match {
                true => no_line(request),
                false => why_empty(index, &asked, request, &answer.stale_with(&matched))?,
            };
            answer.empty = Some(why);
        }
        Ok(answer)
    }

    /// Files with lines that match and that are not as they were indexed, so that nothing is known of what the lines are in.
    fn stale_with(&self, matched: &[MatchedLine]) -> BTreeSet<String> {
        let stale: HashSet<&str> = self.stale.iter().map(String::as_str).collect();
        let without = matched.iter().filter(|line| line.unit.is_none() && stale.contains(line.path.as_str()));
        without.map(|line| line.path.clone()).collect()
    }

    /// Makes excerpts whole, best first, as long as so many bytes more hold them.
    fn widen(&mut self, lines: &FileLines<'_>, mut left: usize) {
        for one in self.answers.iter_mut().filter(|one| one.extent == Extent::Excerpt) {
            let unit = &lines.index().units()[one.found.unit];
            let whole = lines.of(unit.file as usize).map(|of_file| joined(of_file, &[unit.lines])).unwrap_or_default();
            if let Some(rest) = (left + one.text.len()).checked_sub(whole.len()) {
                left = rest;
                (one.extent, one.text) = (Extent::Whole, whole);
            }
        }
    }
}

pub(crate) fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// The files that may answer, where not all may, as a reason that nothing was found.
fn restricted(SearchQuestion { below, roles, languages, .. }: &SearchQuestion) -> Option<String> {
    let mut among = Vec::new();
    if let Some(below) = below.first() {
        among.push(format!("below {below}"));
    }
    if !roles.is_empty() {
        let names: Vec<&str> = roles.iter().map(|role| role.name()).collect();
        among.push(format!("of kind {}", names.join(", ")));
    }
    if !languages.is_empty() {
        among.push(format!("in {}", languages.join(", ")));
    }
    Some(format!("the files {}", among.join(", "))).filter(|_| !among.is_empty())
}

/// Reason of an answer without a line that matches.
fn no_line(request: &AnswerRequest) -> String {
    match restricted(&request.question) {
        Some(files) => format!("no line of {files} matches the pattern"),
        None => "no line matches the pattern".to_owned(),
    }
}

/// Reason that nothing was found.
fn why_empty(
    index: &CodeIndex,
    asked: &PartedQuestion,
    request: &AnswerRequest,
    stale: &BTreeSet<String>,
) -> Result<String> {
    let n_searched = index.n_readable();
    if n_searched == 0 {
        return Ok("no file here has a text that words are looked for in".to_owned());
    }
    let (unknown, none) = asked.unknown_words(index)?;
    let unknown: Vec<String> = unknown.into_iter().map(|word| format!("`{word}`")).collect();
    Ok(match (unknown.is_empty(), none) {
        (true, true) => NO_WORDS.to_owned(),
        (false, true) => {
            let unknown = unknown.join(", ");
            match index.n_of_no_kind() {
                0 => format!("none of the files has {unknown}"),
                others => {
                    let more = if others == 1 { "one more" } else { &format!("{others} more") };
                    format!(
                        "none of the {n_searched} files that words are looked for in has {unknown}; patterns look into {more}"
                    )
                }
            }
        }
        _ => {
            // Asked once more without the budget: is there anything at all?
            let found = !index.search_issue(asked, &RankingWeights::plain(), 1)?.is_empty();
            match (found, restricted(&request.question)) {
                (true, _) => "nothing of what was found fits into the budget".to_owned(),
                (false, Some(files)) => format!("what has its words is not among {files}"),
                (false, None) => {
                    let none = "none of the lines that match the pattern is in a unit with its words";
                    match stale.first() {
                        None => none.to_owned(),
                        Some(first) => {
                            let (n, of) = (stale.len(), "of the files with such lines changed since they were indexed");
                            format!("{none}; {n} {of} ({first})")
                        }
                    }
                }
            }
        }
    })
}

/// Runs of a file's lines as one text.
fn joined(lines: &[String], runs: &[[u32; 2]]) -> String {
    runs.iter().map(|lines_of_run| run(lines, *lines_of_run).join("\n")).collect::<Vec<_>>().join(&format!("\n{GAP}\n"))
}
