//! A question to a project, asked and answered.

use anyhow::Result;
use wb_core::{EncoderRef, untrusted::harmless_json};
use wb_encoder::{BiEncoder, DeviceConfig};
use wb_search::{
    AnswerRequest, CodeIndex, IndexPlace, IndexUpdate, RankingWeights, SearchAnswer, UnitVectors, VectorEncoder,
    answer::UNSURE, vector_store,
};

use super::{Told, encoder_of, expect_reading, kept_or_told, reopen};
use crate::{encoder, output, session, structure};

/// Answers to a question, where nothing else is asked for.
const ANSWERS: usize = 10;

/// Characters of a unit for people, who are shown a few lines of it.
const FOR_PEOPLE: usize = 300;

/// A question to a project, and the form of the answer.
pub struct ProjectSearch {
    /// The question.
    pub request: AnswerRequest,
    /// The ranking's weights, see [`super::weights`].
    pub weights: RankingWeights,
    /// Reads files that have changed first.
    pub fresh: bool,
    /// Leaves vectors aside.
    pub words: bool,
    /// A cross-encoder that reads the first answers.
    pub rerank: Option<EncoderRef>,
    /// The form of the answer.
    pub form: SearchForm,
}

/// The form in which an answer is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchForm {
    /// Places with a few of their lines.
    Text,
    /// Places with what their scores are made of.
    Explained,
    /// Snippets for a prompt, each whole.
    Snippets,
    /// JSON.
    Json,
}

impl SearchForm {
    /// The form that is asked for by `--json`, `--snippets` and `--explain`.
    pub fn of(json: bool, snippets: bool, explained: bool) -> Self {
        match (json, snippets, explained) {
            (true, ..) => Self::Json,
            (_, true, _) => Self::Snippets,
            (.., true) => Self::Explained,
            _ => Self::Text,
        }
    }
}

/// Answers that are shown at most: as many as were asked for, all lines where there is no question.
pub fn most_answers(asked_for: Option<u16>, has_question: bool) -> usize {
    match asked_for {
        Some(number) => usize::from(number),
        None if has_question => ANSWERS,
        None => usize::MAX,
    }
}

impl ProjectSearch {
    /// Asks, after making the index where there is none; true where there was an answer.
    pub fn ask(mut self, place: &IndexPlace, progress: Told<'_>) -> Result<bool> {
        if matches!(self.form, SearchForm::Text | SearchForm::Explained) {
            self.weights.excerpt = self.weights.excerpt.map(|most| most.min(FOR_PEOPLE));
        }
        let reranker = match &self.rerank {
            Some(reference) => {
                expect_reading(&self.weights)?;
                Some(encoder::open_cross_encoder(reference, session::runs(), DeviceConfig::Cpu)?)
            }
            None => None,
        };
        let by_meaning = !self.words && self.request.parted.has_words();
        let kept = if self.fresh { None } else { place.read()? };
        let index = match kept {
            Some(mut index) => {
                if by_meaning && let Some(kept) = index.kept_vectors()? {
                    self.ask_by_meaning(&mut index, kept)?;
                }
                index
            }
            None => {
                let mut update = place.update_unless_busy(progress)?;
                if by_meaning {
                    self.bring_up_meaning(&mut update, progress)?;
                }
                kept_or_told(update)
            }
        };
        for path in self.request.parted.unknown_files(&index) {
            output::note(format!("{path} is none of the files of this index"));
        }
        if let Some(reranker) = &reranker {
            self.request.parted.read(&index, &self.weights, reranker, progress)?;
        }
        let answer = self.answer(place, index, progress)?;
        match self.form {
            SearchForm::Json => output::line(harmless_json(serde_json::to_string_pretty(&answer)?)),
            SearchForm::Snippets => output::line(answer.snippets()),
            SearchForm::Text | SearchForm::Explained => {
                output::painted(&answer.painted(self.form == SearchForm::Explained, Some(&self.request)));
            }
        }
        if let Some(sure) = answer.confidence.filter(|sure| *sure < UNSURE && answer.empty.is_none()) {
            output::note(format!("confidence {sure:.2}: perhaps nothing here answers this"));
        }
        tell_of_state(&answer);
        Ok(answer.empty.is_none())
    }

    /// The answer; where the question is about a symbol by its form, with what the project's structure has for it.
    fn answer(&mut self, place: &IndexPlace, index: CodeIndex, progress: Told<'_>) -> Result<SearchAnswer> {
        if !self.request.may_be_aimed() {
            return Ok(SearchAnswer::of(&index, &self.request, &self.weights)?);
        }
        let graph = structure::open_with(place, index, progress)?;
        graph.route(&mut self.request, &self.weights)?;
        Ok(SearchAnswer::of(graph.index(), &self.request, &self.weights)?)
    }

    /// Gives an index vectors of what is new, and the question its own.
    fn bring_up_meaning(&mut self, update: &mut IndexUpdate<'_>, progress: Told<'_>) -> Result<()> {
        let opened = match update.index().kept_vectors()? {
            Some(kept) => self.ask_by_meaning(update.index_mut(), kept)?,
            None => {
                let opened = encoder_of(None, update.index())?;
                opened.as_ref().map(|(_, encoder)| self.request.parted.embed(encoder)).transpose()?;
                opened
            }
        };
        if let Some((made_by, encoder)) = opened {
            update.embed(&vector_store(made_by)?, &encoder, progress)?;
        }
        Ok(())
    }

    /// Gives index and question their vectors; the encoder, where units have none yet.
    fn ask_by_meaning(
        &mut self,
        index: &mut CodeIndex,
        kept: UnitVectors,
    ) -> Result<Option<(VectorEncoder, BiEncoder)>> {
        let before = kept.encoder().clone();
        let missing = index.set_vectors(kept);
        let (made_by, encoder) = reopen(&before)?;
        if made_by.fingerprint != before.fingerprint {
            output::note(format!(
                "{} has changed since it made this index's vectors; `wb index` asks it again",
                made_by.opens
            ));
            return Ok(None);
        }
        self.request.parted.embed(&encoder)?;
        Ok((missing > 0).then_some((made_by, encoder)))
    }
}

/// Tells which state of the project an answer is of, and what it leaves out.
fn tell_of_state(SearchAnswer { commit, stale, unread, left_out, .. }: &SearchAnswer) {
    let files = |n: usize| if n == 1 { "1 file has".to_owned() } else { format!("{n} files have") };
    let at = commit.as_ref().map(|commit| format!("at commit {commit:.12}"));
    let since = if at.is_some() { "since" } else { "since the project was indexed" };
    let changed = || format!("{} changed {since}; --fresh reads what has changed first", files(stale.len()));
    let told: Vec<String> = at.iter().cloned().chain((!stale.is_empty()).then(changed)).collect();
    if !told.is_empty() {
        output::note(told.join("; "));
    }
    if *left_out > 0 {
        output::note(format!("{left_out} more lines match; -n and --budget say how many are shown"));
    }
    if !unread.is_empty() {
        let names = unread.iter().take(3).map(String::as_str).collect::<Vec<_>>().join(", ");
        output::note(format!(
            "{} not been looked into, unreadable or with a line of more than 32 MiB: {names}",
            files(unread.len())
        ));
    }
}
