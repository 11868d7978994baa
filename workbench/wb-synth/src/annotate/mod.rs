//! Annotations of chunks by a language model: a summary, keywords, and queries that it would answer; and which is embedded.
//!
//! Embeddings of code see libraries and domains; a summary names the technique. Whether that helps on the data at hand
//! is what `wb-bench`'s A/B experiment measures, with [`EmbedText`] as its one switch.

mod embed;
mod estimate;
mod prompt;
mod record;

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wb_core::{Error, Progress, Seed, fingerprint::Fingerprint, records::annotation::Annotation};
use wb_llm::{Answer, Ask, LlmQuestion, Reply, SamplingConfig, neutral::BREAK};

pub use embed::{EmbedText, EmbedTexts};
pub use estimate::{AnnotateEstimate, estimate};
pub use prompt::{FencedQuestion, question, recipe, schema};
pub use record::{AnnotationPairs, AnnotationRecord};

use crate::{
    Snippet, SynthesisAccount,
    chain::{PORTION, reason},
    provenance,
};

/// The stage of the question in provenance.
const STAGE: &str = "annotate";

/// Annotation of chunks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AnnotateConfig {
    /// Characters of a snippet that the model is shown at most, from its beginning.
    pub max_chars: usize,
    /// Characters of the context before it (a notebook's Markdown) that the model is shown at most, from its end.
    pub max_context_chars: usize,
    /// Keywords at most.
    pub keywords: usize,
    /// Example queries.
    pub queries: usize,
    /// Makes each example query a training pair with its snippet, `text2code`, in the data set `annotations`.
    pub pairs: bool,
    /// Sampling of the answers: `temperature` (`0.0`), `top_p` (`1.0`), `max_tokens` (`512`).
    pub sampling: SamplingConfig,
}

impl Default for AnnotateConfig {
    fn default() -> Self {
        Self {
            max_chars: 6000,
            max_context_chars: 1000,
            keywords: 10,
            queries: 3,
            pairs: true,
            sampling: SamplingConfig { temperature: 0.0, top_p: 1.0, max_tokens: 512 },
        }
    }
}

impl AnnotateConfig {
    /// Refuses values that make no sense; `key` is where this config stands.
    pub fn validate(&self, key: &str) -> wb_core::Result<()> {
        let counts = [
            ("keywords", self.keywords, 1, 50),
            ("queries", self.queries, 1, 20),
            ("max_chars", self.max_chars, 50, usize::MAX),
        ];
        for (name, value, least, most) in counts {
            if !(least..=most).contains(&value) {
                let expected =
                    if most == usize::MAX { format!("{least} or more") } else { format!("{least} to {most}") };
                return Err(Error::value(format!("{key}.{name}"), format!("got {value}, expected {expected}")));
            }
        }
        // Fewer cannot hold a summary, keywords and questions.
        self.sampling.validate(&format!("{key}.sampling"), 64)
    }
}

/// Annotations of snippets, with what became of the others.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AnnotatedSnippets {
    /// One for each snippet, in their order; nothing where the model gave none that can be used.
    pub annotations: Vec<Option<Annotation>>,
    /// The question behind each annotation.
    pub asked: Vec<Option<provenance::AskedQuestion>>,
    /// BLAKE3 of the messages of each question that has an annotation.
    pub prompt_hashes: Vec<Option<String>>,
    /// Snippets without an annotation, by reason.
    pub rejected: BTreeMap<String, u64>,
    /// The costs.
    pub account: SynthesisAccount,
}

/// Asks for an annotation of every snippet. The same snippets, config, seed and replies give the same annotations.
pub fn annotate(
    config: &AnnotateConfig,
    snippets: &[Snippet],
    ask: &dyn Ask,
    seed: Seed,
    progress: &mut dyn FnMut(Progress),
) -> wb_llm::Result<AnnotatedSnippets> {
    let (mut annotated, mut done) = (AnnotatedSnippets::default(), 0);
    for (at, portion) in snippets.chunks(PORTION).enumerate() {
        let asked = portion.par_iter().map(|snippet| question(config, snippet, seed));
        let (questions, nonces): (Vec<_>, Vec<_>) = asked.map(|asked| (asked.question, asked.nonce)).unzip();
        let replies = ask.ask_all(&questions, &mut |_, _| {
            done += 1;
            progress(Progress::new("annotating", done, snippets.len()));
        })?;
        for ((reply, question), nonce) in replies.iter().zip(&questions).zip(&nonces) {
            annotated.add(config, reply, question, nonce);
        }
        annotated.fill(at * PORTION + portion.len());
    }
    ask.settle()?;
    Ok(annotated)
}

impl AnnotatedSnippets {
    /// Leaves the snippets up to one without an annotation, where an [`Ask`] gave fewer replies than it was asked questions.
    fn fill(&mut self, end: usize) {
        let missing = end.saturating_sub(self.annotations.len());
        if missing > 0 {
            *self.rejected.entry("no reply".into()).or_default() += missing as u64;
            self.annotations.resize(end, None);
            self.asked.resize(end, None);
            self.prompt_hashes.resize(end, None);
        }
    }

    /// Takes the reply for the next snippet in.
    fn add(&mut self, config: &AnnotateConfig, reply: &Reply, question: &LlmQuestion, nonce: &str) {
        self.account.add(question, reply);
        let prompt_hash = Fingerprint::of_json(&question.messages).to_string();
        let read = match reply {
            Reply::Answered(answer) => accept(config, answer, nonce)
                .map(|annotation| (annotation, provenance::AskedQuestion::of(STAGE, answer))),
            Reply::Rejected(rejection) => Err(reason(&rejection.reason)),
        };
        if let Err(reason) = &read {
            *self.rejected.entry(reason.clone()).or_default() += 1;
        }
        let (annotation, asked) = read.ok().unzip();
        self.prompt_hashes.push(annotation.is_some().then_some(prompt_hash));
        self.annotations.push(annotation);
        self.asked.push(asked);
    }
}

/// An answer as an annotation: white space folded, keywords and queries once each, no more of them than asked for.
fn accept(config: &AnnotateConfig, answer: &Answer, nonce: &str) -> Result<Annotation, String> {
    if answer.text.contains(nonce) {
        return Err("answer that repeats the fence".into());
    }
    let given: Annotation = match &answer.value {
        Some(value) => serde_json::from_value(value.clone()),
        None => serde_json::from_str(&answer.text),
    }
    .map_err(|_| "answer of another shape")?;
    let annotation = Annotation {
        summary: folded(&given.summary),
        keywords: once(given.keywords, config.keywords),
        queries: once(given.queries, config.queries),
    };
    match annotation {
        Annotation { summary, .. } if summary.is_empty() => Err("annotation without a summary".into()),
        Annotation { queries, .. } if queries.is_empty() => Err("annotation without a query".into()),
        annotation => Ok(annotation),
    }
}

/// Puts a text on one line, without the breaks that were copied from the fenced text.
fn folded(text: &str) -> String {
    wb_data::text::fold(&text.replace(BREAK, ""))
}

fn once(texts: Vec<String>, most: usize) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let folded = texts.iter().map(|text| folded(text));
    folded.filter(|text| !text.is_empty() && seen.insert(text.to_lowercase())).take(most).collect()
}

#[cfg(test)]
mod tests;
