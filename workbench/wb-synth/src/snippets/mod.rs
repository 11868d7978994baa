//! Source snippets: what a language model is shown and what rules rewrite, out of trees, records, databases, notebooks and pages.
//!
//! [`read`] takes a config to snippets in a fixed order with an account of everything that was left out. The same files,
//! config and seed give the same snippets, whatever the machine and the number of threads.

mod code_files;
mod cut;
mod draw;
mod files;
mod filters;
mod html;
mod markdown;
mod notebooks;
mod page;
mod records;
pub mod source;
mod sqlite;
pub mod tokens;
mod tree;

use std::collections::{BTreeMap, BTreeSet};

use crate::Result;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wb_core::{Error, Progress, Seed, fingerprint::Fingerprint};
use wb_data::{OnBad, Tolerance, sources::MAX_BAD_SHARE};

pub use code_files::FileSnippets;
pub use cut::{CutConfig, cut};
pub use draw::DrawConfig;
pub use files::FileGroup;
pub use filters::FiltersConfig;
pub use html::HtmlSnippets;
pub use markdown::MarkdownSnippets;
pub use notebooks::{Magics, NotebookSnippets, VoteKey, VotesConfig};
pub use page::PageCode;
pub use records::RecordSnippets;
pub use source::{SnippetSource, SourceAccount};
pub use sqlite::{Columns, SqliteSnippets};
pub use tokens::{TokenRule, WordsAndMarks};
pub use tree::{TreeSnippets, Unit};

use crate::Snippet;
use filters::Filters;
use source::Take;

/// A source of snippets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SnippetSourceConfig {
    /// A tree of sources, or Cargo's registry: files, functions, classes.
    Tree(TreeSnippets),
    /// Files of twenty languages by their endings, cut to pieces, without a grammar.
    Files(FileSnippets),
    /// Records of JSON lines, Parquet and CSV, on this disk or on the hub.
    Records(RecordSnippets),
    /// Rows of a table in an SQLite database.
    Sqlite(SqliteSnippets),
    /// Code cells of Jupyter notebooks.
    Notebooks(NotebookSnippets),
    /// HTML pages.
    Html(HtmlSnippets),
    /// Markdown pages.
    Markdown(MarkdownSnippets),
}

impl SnippetSourceConfig {
    fn source(&self) -> &dyn SnippetSource {
        match self {
            Self::Tree(source) => source,
            Self::Files(source) => source,
            Self::Records(source) => source,
            Self::Sqlite(source) => source,
            Self::Notebooks(source) => source,
            Self::Html(source) => source,
            Self::Markdown(source) => source,
        }
    }
}

/// Snippets to use: the sources, and what of them is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("required" = ["sources"]))]
pub struct SnippetsConfig {
    /// Read in this order; each is one of the members below.
    pub sources: Vec<SnippetSourceConfig>,
    /// Requirements that a snippet meets.
    pub filters: FiltersConfig,
    /// Number of snippets to take.
    pub draw: DrawConfig,
    /// Treatment of a file or record that is not what it should be: `stop`, or `skip` and count.
    pub on_bad: OnBad,
    /// Share of bad ones in a source that is still not an error with `on_bad: skip`.
    pub max_bad_share: f64,
}

impl Default for SnippetsConfig {
    fn default() -> Self {
        Self {
            sources: Vec::new(),
            filters: FiltersConfig::default(),
            draw: DrawConfig::default(),
            on_bad: OnBad::Stop,
            max_bad_share: MAX_BAD_SHARE,
        }
    }
}

impl SnippetsConfig {
    /// Refuses values that make no sense; `key` is where this config stands.
    pub fn validate(&self, key: &str) -> wb_core::Result<()> {
        if self.sources.is_empty() {
            let message = "got none, expected at least one, for example `- tree: { files: { path: src } }`";
            return Err(Error::value(format!("{key}.sources"), message));
        }
        for (at, source) in self.sources.iter().enumerate() {
            let source = source.source();
            source.validate(&format!("{key}.sources[{at}].{}", source.kind()))?;
        }
        self.tolerance().validate(key)?;
        self.filters.validate(&format!("{key}.filters"))?;
        self.draw.validate(&format!("{key}.draw"))
    }

    fn tolerance(&self) -> Tolerance {
        Tolerance { on_bad: self.on_bad, max_bad_share: self.max_bad_share }
    }
}

/// The account of all snippets.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SnippetsCard {
    /// Each source.
    pub sources: Vec<SourceAccount>,
    /// Snippets that the filters and the draw left out, by reason.
    pub dropped: BTreeMap<String, u64>,
    /// Snippets of code in languages that cannot be parsed, whose comments therefore stayed.
    pub not_stripped: u64,
    /// Snippets that are kept.
    pub kept: u64,
    /// Their tokens.
    pub tokens: u64,
    /// The rule that counts tokens.
    pub token_rule: String,
    /// Kept snippets by language; `text` for those without one.
    pub by_language: BTreeMap<String, u64>,
    /// Kept snippets by bucket of length: `0-63`, `64-127`, `128-`; empty without buckets.
    pub by_length: Vec<(String, u64)>,
    /// Kept snippets by license; `unknown` for those without one.
    pub by_license: BTreeMap<String, u64>,
    /// Groups that kept snippets belong to.
    pub groups: u64,
}

/// Snippets with their account.
#[derive(Debug, Clone, PartialEq)]
pub struct SnippetSet {
    /// The snippets in the order of sources, paths and lines; ids are unique.
    pub snippets: Vec<Snippet>,
    /// The account of all that was read.
    pub card: SnippetsCard,
}

impl SnippetSet {
    /// The fingerprint of every field of every snippet, in order.
    pub fn fingerprint(&self) -> Fingerprint {
        let mut fingerprint = Fingerprint::builder();
        for snippet in &self.snippets {
            fingerprint.text(Fingerprint::of_json(snippet).as_str());
        }
        fingerprint.finish()
    }
}

/// Reads all sources, filters, draws. `tokens` counts tokens everywhere: [`WordsAndMarks`], or a tokenizer.
pub fn read(
    config: &SnippetsConfig,
    tokens: &dyn TokenRule,
    seed: Seed,
    progress: &mut dyn FnMut(Progress),
) -> Result<SnippetSet> {
    config.validate("snippets")?;
    let mut filters = Filters::new(&config.filters, tokens);
    let mut card = SnippetsCard { token_rule: tokens.name().to_owned(), ..SnippetsCard::default() };
    let mut kept = Vec::new();
    let mut times: BTreeMap<&str, usize> = BTreeMap::new();
    for source in &config.sources {
        let source = source.source();
        let times = times.entry(source.kind()).or_default();
        *times += 1;
        let name = if *times > 1 { format!("{}{times}", source.kind()) } else { source.kind().to_owned() };
        let mut sink = |snippet: Snippet| kept.extend(filters.keep(snippet));
        let mut take = Take::new(&name, source.place(), tokens, config.tolerance(), &mut sink);
        source.each(&mut take, progress)?;
        card.sources.push(take.finish()?);
    }
    card.dropped = std::mem::take(&mut filters.dropped);
    card.not_stripped = filters.not_stripped;
    let (kept, beyond) = config.draw.draw(kept, seed);
    card.dropped.extend(beyond);
    if kept.is_empty() {
        let reasons: Vec<String> = card
            .sources
            .iter()
            .flat_map(|source| source.left_out.iter().chain(&source.bad))
            .chain(&card.dropped)
            .map(|(reason, count)| format!("{reason}: {count}"))
            .collect();
        let found: u64 = card.sources.iter().map(|source| source.snippets).sum();
        return Err(Error::failed(format!("no snippet is left of {found} ({})", reasons.join(", ")))
            .with_hint("`filters: { min_chars: ... }` is 200 unless set"));
    }
    count(&mut card, &kept, &config.draw);
    Ok(SnippetSet { snippets: kept.into_iter().map(|(snippet, _)| snippet).collect(), card })
}

fn count(card: &mut SnippetsCard, kept: &[(Snippet, usize)], draw: &DrawConfig) {
    let named = |name: &str, other: &str| if name.is_empty() { other.to_owned() } else { name.to_owned() };
    let mut groups = BTreeSet::new();
    let begins: Vec<usize> = [0].into_iter().chain(draw.buckets.iter().copied()).collect();
    if !draw.buckets.is_empty() {
        let name = |at: usize| match begins.get(at + 1) {
            Some(next) => format!("{}-{}", begins[at], next - 1),
            None => format!("{}-", begins[at]),
        };
        card.by_length = (0..begins.len()).map(|at| (name(at), 0)).collect();
    }
    for (snippet, tokens) in kept {
        card.kept += 1;
        card.tokens += *tokens as u64;
        *card.by_language.entry(named(&snippet.language, "text")).or_default() += 1;
        *card.by_license.entry(named(&snippet.origin.license, "unknown")).or_default() += 1;
        groups.insert((snippet.origin.dataset.as_str(), snippet.origin.group.as_str()));
        if let Some((_, count)) = card.by_length.get_mut(draw.bucket(*tokens)) {
            *count += 1;
        }
    }
    card.groups = groups.len() as u64;
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod real_tests;
