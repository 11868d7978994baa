//! Filters of snippets that are worth a prompt: length, language, comments, each text once.

use std::collections::{BTreeMap, HashSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wb_code::{Language, canonical_name};
use wb_core::Error;
use wb_data::text::folded_hash;

use super::tokens::TokenRule;
use crate::Snippet;

/// Requirements that a snippet meets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FiltersConfig {
    /// Characters at least, comments aside where they are stripped. 200 as CodeR has it.
    pub min_chars: usize,
    /// Characters at most.
    pub max_chars: usize,
    /// Tokens at least.
    pub min_tokens: usize,
    /// Tokens at most; null for no such limit.
    pub max_tokens: Option<usize>,
    /// Languages to keep, `text` for snippets without one; empty for all.
    pub languages: Vec<String>,
    /// Takes comments out of code in the languages that can be parsed (and Python's docstrings), as CodeR does.
    pub strip_comments: bool,
    /// Keeps only the first of several snippets with one text (white space aside).
    pub unique: bool,
}

impl Default for FiltersConfig {
    fn default() -> Self {
        Self {
            min_chars: 200,
            max_chars: 50_000,
            min_tokens: 0,
            max_tokens: None,
            languages: Vec::new(),
            strip_comments: false,
            unique: true,
        }
    }
}

impl FiltersConfig {
    /// Refuses limits that leave nothing.
    pub fn validate(&self, key: &str) -> wb_core::Result<()> {
        let wrong = |name: &str, message: String| Err(Error::value(format!("{key}.{name}"), message));
        if self.max_chars < self.min_chars.max(1) {
            return wrong(
                "max_chars",
                format!("got {}, expected min_chars {} or more", self.max_chars, self.min_chars),
            );
        }
        if let Some(max) = self.max_tokens.filter(|max| *max < self.min_tokens.max(1)) {
            return wrong("max_tokens", format!("got {max}, expected min_tokens {} or more", self.min_tokens));
        }
        if self.languages.iter().any(|language| language.trim().is_empty()) {
            return wrong("languages", "got an empty name, expected `text` for snippets without a language".into());
        }
        Ok(())
    }
}

/// Lets snippets through or counts them.
pub(super) struct Filters<'c> {
    config: &'c FiltersConfig,
    tokens: &'c dyn TokenRule,
    languages: HashSet<String>,
    seen: HashSet<u128>,
    pub(super) dropped: BTreeMap<String, u64>,
    /// Snippets of code whose language cannot be parsed, where comments should have been stripped.
    pub(super) not_stripped: u64,
}

impl<'c> Filters<'c> {
    pub(super) fn new(config: &'c FiltersConfig, tokens: &'c dyn TokenRule) -> Self {
        let languages = config.languages.iter().map(|name| match name.as_str() {
            "text" => String::new(),
            name => canonical_name(name),
        });
        let languages = languages.collect();
        Self { config, tokens, languages, seen: HashSet::new(), dropped: BTreeMap::new(), not_stripped: 0 }
    }

    /// The snippet as it is kept, with its tokens.
    pub(super) fn keep(&mut self, mut snippet: Snippet) -> Option<(Snippet, usize)> {
        let config = self.config;
        // A text of a hundred megabytes is not parsed first.
        if snippet.text.len() > config.max_chars.saturating_mul(16) {
            return self.drop(format!("over {} characters", config.max_chars));
        }
        if !self.languages.is_empty() && !self.languages.contains(&snippet.language) {
            return self.drop("another language".into());
        }
        if config.strip_comments && !snippet.language.is_empty() {
            match Language::named(&snippet.language).and_then(|known| wb_code::strip_comments(&snippet.text, known)) {
                Some(stripped) => snippet.text = stripped.trim_matches(['\n', '\r']).trim_end().to_owned(),
                None => self.not_stripped += 1,
            }
        }
        let chars = snippet.text.chars().count();
        if snippet.text.trim().is_empty() || chars < config.min_chars {
            return self.drop(format!("under {} characters", config.min_chars));
        }
        if chars > config.max_chars {
            return self.drop(format!("over {} characters", config.max_chars));
        }
        let tokens = self.tokens.count(&snippet.text);
        if tokens < config.min_tokens {
            return self.drop(format!("under {} tokens", config.min_tokens));
        }
        if let Some(max) = config.max_tokens.filter(|max| tokens > *max) {
            return self.drop(format!("over {max} tokens"));
        }
        if config.unique && !self.seen.insert(folded_hash(&snippet.text)) {
            return self.drop("the same text as an earlier one".into());
        }
        Some((snippet, tokens))
    }

    fn drop<T>(&mut self, reason: String) -> Option<T> {
        *self.dropped.entry(reason).or_default() += 1;
        None
    }
}
