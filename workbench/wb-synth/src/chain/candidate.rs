//! A candidate: a pair that may still be dropped, with all that is known of it.

use wb_core::fingerprint::Fingerprint;

use super::Stage;
use crate::{
    provenance::AskedQuestion,
    review::ReviewVerdict,
    tasks::{ChosenTask, SnippetRole, StepOutput},
};

/// Texts that the steps of a candidate wrote.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Outputs {
    pub(crate) query: Option<String>,
    pub(crate) document: Option<String>,
    pub(crate) note: Option<String>,
}

impl Outputs {
    pub(crate) fn get(&self, output: StepOutput) -> Option<&str> {
        match output {
            StepOutput::Query => self.query.as_deref(),
            StepOutput::Document => self.document.as_deref(),
            StepOutput::Note => self.note.as_deref(),
        }
    }

    pub(crate) fn set(&mut self, output: StepOutput, text: String) {
        match output {
            StepOutput::Query => self.query = Some(text),
            StepOutput::Document => self.document = Some(text),
            StepOutput::Note => self.note = Some(text),
        }
    }
}

/// A pair on its way.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Candidate {
    /// The id that the pair will have.
    pub(crate) id: String,
    /// Position of its item.
    pub(crate) item: usize,
    /// Number of the candidate among those of its item, from 0.
    pub(crate) sample: u32,
    /// Its two sides; empty until the last step is done.
    pub(crate) query: String,
    pub(crate) document: String,
    /// Texts that the steps wrote.
    pub(crate) outputs: Outputs,
    /// The questions behind it.
    pub(crate) asked: Vec<AskedQuestion>,
    /// Hashes of the messages of the questions that wrote it.
    pub(crate) prompts: Vec<Fingerprint>,
    /// The judge's label.
    pub(crate) label: Option<u8>,
    /// Closeness of its sides' lengths to the usual ones of its task, 0 to 1.
    pub(crate) clarity: f64,
    /// The decision of a person about it.
    pub(crate) review: Option<ReviewVerdict>,
    /// Hard negatives.
    pub(crate) negatives: Vec<String>,
}

impl<'a> Stage<'a> {
    pub(super) fn task_of(&self, candidate: &Candidate) -> &'a ChosenTask {
        &self.catalog.tasks[self.items[candidate.item].task]
    }

    pub(super) fn text_of(&self, candidate: &Candidate) -> &'a str {
        &self.snippets[self.items[candidate.item].snippet].text
    }

    /// `text2code/web_query/3f2a9c0d1e2b-0`: the same in every run over the same snippets.
    pub(super) fn id(&self, item: usize, sample: u32) -> String {
        let at = &self.items[item];
        let snippet = Fingerprint::of_bytes(self.snippets[at.snippet].id.as_bytes());
        format!("{}/{}-{sample}", self.catalog.tasks[at.task].name(), snippet.short())
    }

    /// The fence around this item's material: it depends on the material, so that no text can hold its own.
    pub(super) fn nonce(&self, item: usize, more: &[&str]) -> String {
        let at = &self.items[item];
        let snippet = &self.snippets[at.snippet];
        let mut builder = Fingerprint::builder();
        builder.number(self.seed.0).text(&self.catalog.tasks[at.task].name()).text(&snippet.id);
        builder.text(&snippet.text).text(&snippet.context);
        for text in more {
            builder.text(text);
        }
        builder.finish().short().to_owned()
    }

    /// The two parts of an item's snippet, where its task cuts it.
    pub(super) fn parts(&self, item: usize) -> (&'a str, &'a str) {
        let at = &self.items[item];
        let text = &self.snippets[at.snippet].text;
        at.cut.and_then(|cut| text.split_at_checked(cut)).unwrap_or((text, ""))
    }

    /// The two sides, out of the snippet and what was written.
    pub(super) fn sides(&self, item: usize, outputs: &Outputs) -> (String, String) {
        let at = &self.items[item];
        let chosen = &self.catalog.tasks[at.task];
        let snippet = &self.snippets[at.snippet];
        let written = |output| outputs.get(output).unwrap_or_default().to_owned();
        match chosen.task.snippet {
            SnippetRole::Document => (written(StepOutput::Query), snippet.text.clone()),
            SnippetRole::Seed => (written(StepOutput::Query), written(StepOutput::Document)),
            SnippetRole::Part => {
                let (before, after) = self.parts(item);
                let or = |output, part: &str| outputs.get(output).unwrap_or(part.trim_end()).to_owned();
                (or(StepOutput::Query, before), or(StepOutput::Document, after))
            }
            SnippetRole::Query => match &outputs.query {
                // In hybrid tasks the words stand before the code that they are about.
                Some(words) => {
                    let code = snippet.text.trim_end();
                    (format!("{words}\n\n```{}\n{code}\n```", at.language), written(StepOutput::Document))
                }
                None => (snippet.text.clone(), written(StepOutput::Document)),
            },
        }
    }
}
