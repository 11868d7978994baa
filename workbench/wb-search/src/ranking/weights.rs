//! Weights of a ranking's signals, for each kind of question.

use std::path::Path;

use serde::{Deserialize, Serialize};
use wb_core::config;

use super::{Intent, SearchQuestion};
use crate::{CodeIndex, Result, context::ContextWeights, files::FileRole, issue::IssueWeights};

/// Weights for all kinds of questions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RankingWeights {
    /// Weights that hold where words alone are asked.
    pub words: IntentWeights,
    /// Weights that hold where an encoder's vectors are asked too.
    pub vectors: IntentWeights,
    /// Weights for the parts of an issue; none to ask for it as a whole.
    pub issue: Option<IssueWeights>,
    /// Weights of what whoever asks is doing.
    pub context: ContextWeights,
    /// Weight of a question that the answers before it brought up, beside theirs.
    pub hop: f32,
    /// Weight of a cross-encoder's scores beside the ranking's own, where one reads the first answers.
    #[serde(default)]
    pub rerank: f32,
    /// Characters above which an answer has an excerpt of a unit: its defining line and the lines with most of the question;
    /// none for all of its lines.
    pub excerpt: Option<usize>,
}

/// Weights by the form of a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IntentWeights {
    /// Weights for names.
    pub symbol: SignalWeights,
    /// Weights for words.
    pub prose: SignalWeights,
}

/// The weights that the ranking has, as `wb search tune` writes them.
const SHIPPED: &str = include_str!("weights.yaml");

impl RankingWeights {
    /// The ranking's own weights. An error is a defect of this program.
    pub fn shipped() -> Result<Self> {
        config::from_text(SHIPPED, Path::new("weights.yaml"))
    }

    /// Plain BM25 over the text of units.
    pub fn plain() -> Self {
        let plain = IntentWeights { symbol: SignalWeights::plain(), prose: SignalWeights::plain() };
        let (words, vectors) = (plain.clone(), plain);
        Self { words, vectors, issue: None, context: ContextWeights::none(), hop: 0.0, rerank: 0.0, excerpt: None }
    }

    /// The weights that hold for the parts of an issue, in which other forms of words have a share of their own.
    pub(crate) fn of_parts(&self) -> Self {
        let mut own = self.clone();
        if let Some(IssueWeights { variants, .. }) = self.issue {
            for IntentWeights { symbol, prose } in [&mut own.words, &mut own.vectors] {
                (symbol.variants, prose.variants) = (variants, variants);
            }
        }
        own
    }

    /// The weights of a question to an index: of names or of prose, with vectors where both have some.
    pub(crate) fn of(&self, question: &SearchQuestion, index: &CodeIndex) -> Result<&SignalWeights> {
        let by_meaning = index.vectors().is_some() && !question.vector.is_empty();
        let weights = if by_meaning { &self.vectors } else { &self.words };
        Ok(match index.intent(question)? {
            Intent::Symbol => &weights.symbol,
            Intent::Prose => &weights.prose,
        })
    }
}

impl IntentWeights {
    /// The weights of one kind of question.
    pub(crate) fn of_mut(&mut self, intent: Intent) -> &mut SignalWeights {
        match intent {
            Intent::Symbol => &mut self.symbol,
            Intent::Prose => &mut self.prose,
        }
    }
}

/// Weights for one kind of question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignalWeights {
    /// BM25's k1: how soon further occurrences of a word stop to count.
    pub k1: f32,
    /// BM25's b: how much a long unit's words count less.
    pub b: f32,
    /// Occurrences in names count so many times.
    pub names: f32,
    /// Occurrences in comments above and in the defining line count so many times.
    pub head: f32,
    /// Share for which other forms of a word count: those of its root, and short ones.
    pub variants: f32,
    /// Share for which names count that two neighboring words of the question would make (`typeDetector` of `type detection`).
    pub compounds: f32,
    /// Weight of the question's share that the path has.
    pub path: f32,
    /// Weight of the question's share that the file's own name has.
    pub stem: f32,
    /// Weight of a name that the question spells.
    pub defines: f32,
    /// Weight of the other units of the file that match.
    pub coherence: f32,
    /// Weight of the question's vector being near the unit's, where an encoder made them.
    pub means: f32,
    /// Weight of the file's best units being near the question's vector.
    pub file_means: f32,
    /// Share that counts more in files whose own name all units say; with the logarithm of how many do.
    pub centrality: f32,
    /// Share that counts more in files that were changed by the latest commits; a year before them it is half as much.
    #[serde(default)]
    pub recency: f32,
    /// Factor for each unit of the same file that stands before.
    pub again: f32,
    /// Factors for files that are no source.
    pub roles: RoleWeights,
}

/// Factors by the part that a file plays in its project.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the roles' own names")]
pub struct RoleWeights {
    pub test: f32,
    pub example: f32,
    pub declaration: f32,
    pub generated: f32,
    pub docs: f32,
    pub config: f32,
}

impl SignalWeights {
    pub(crate) fn role(&self, role: FileRole) -> f32 {
        match role {
            FileRole::Source | FileRole::Other => 1.0,
            FileRole::Test => self.roles.test,
            FileRole::Example => self.roles.example,
            FileRole::Declaration => self.roles.declaration,
            FileRole::Generated => self.roles.generated,
            FileRole::Docs => self.roles.docs,
            FileRole::Config => self.roles.config,
        }
    }
}

impl SignalWeights {
    /// Weights of plain BM25.
    pub fn plain() -> Self {
        Self {
            k1: 1.5,
            b: 0.75,
            names: 0.0,
            head: 0.0,
            variants: 0.0,
            compounds: 0.0,
            path: 0.0,
            stem: 0.0,
            defines: 0.0,
            coherence: 0.0,
            means: 0.0,
            file_means: 0.0,
            centrality: 0.0,
            recency: 0.0,
            again: 1.0,
            roles: RoleWeights { test: 1.0, example: 1.0, declaration: 1.0, generated: 1.0, docs: 1.0, config: 1.0 },
        }
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;
    use crate::{FolderFiles, build};

    #[test]
    fn a_single_word_is_a_name_where_something_is_called_so() {
        let folder = TempDir::new().unwrap();
        std::fs::write(folder.path().join("a.rs"), "fn flatten() {\n    expand()\n}\n").unwrap();
        let (index, _) = build(FolderFiles::of(folder.path()).unwrap(), &mut |_| {}).unwrap();
        for (text, expected) in [
            ("flatten", Intent::Symbol),
            (" flatten ", Intent::Symbol),
            ("Flatten", Intent::Prose),
            ("expand", Intent::Prose),
            ("flatten expand", Intent::Prose),
            ("readFile", Intent::Symbol),
            ("", Intent::Prose),
        ] {
            assert_eq!(index.intent(&SearchQuestion::new(text)).unwrap(), expected, "{text:?}");
        }
    }
}
