//! Training records: a pair of texts that belong together, and a set of them in a fixed order.

use std::{collections::HashMap, sync::Arc};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Error, Result, fingerprint::Fingerprint};

/// Kind of a pair, by what it goes from and to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema, Default)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    /// A description or question to code.
    #[default]
    Text2code,
    /// Code to its description.
    Code2text,
    /// Code to equivalent or translated code.
    Code2code,
    /// Text and code to text or code.
    Hybrid,
}

impl Task {
    /// Every task, in the order of everything that is listed by task.
    pub const ALL: [Self; 4] = [Self::Text2code, Self::Code2text, Self::Code2code, Self::Hybrid];

    /// The name in files and tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Text2code => "text2code",
            Self::Code2text => "code2text",
            Self::Code2code => "code2code",
            Self::Hybrid => "hybrid",
        }
    }
}

/// Origin of a pair, so that it can be found again and split without leaks.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Origin {
    /// The unit that must not stand on both sides of a split: a repository, a crate, a package.
    pub group: String,
    /// File inside the group, with `/`.
    pub path: String,
    /// First and last line of the positive in that file, from 1; zeros where it is not known.
    pub lines: [u32; 2],
    /// Licence as an SPDX expression, empty where it is not known.
    pub license: String,
    /// The data set that it belongs to, by the name that its source has in the YAML; empty where nothing named it.
    /// Batches, curricula and prompts may depend on it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub dataset: String,
}

/// One training record.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pair {
    /// Unique in its set.
    pub id: String,
    /// Task of the pair: the kinds of its two texts.
    #[serde(default)]
    pub task: Task,
    /// Programming language of the code side, lower case (`rust`, `python`, `cpp`), empty where it is not known.
    #[serde(default)]
    pub language: String,
    /// The query side.
    pub anchor: String,
    /// The document that answers the anchor; empty for a text without a label, which is the anchor.
    pub positive: String,
    /// Hard negatives, best first; empty before mining. Many pairs may have the same ones, which are in memory once.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "shared_texts")]
    pub negatives: Vec<Arc<str>>,
    /// Scores of documents as answers to the anchor, as a teacher or a person said: the positive, then each hard negative;
    /// empty where nobody did, and the positive's alone where only that was scored.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scores: Vec<f32>,
    /// Origin of the pair.
    #[serde(default)]
    pub origin: Origin,
}

/// Texts that others may have too, as a list of texts.
mod shared_texts {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(texts: &[Arc<str>], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(texts.iter().map(|text| &**text))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Arc<str>>, D::Error> {
        Ok(Vec::<String>::deserialize(deserializer)?.into_iter().map(Arc::from).collect())
    }
}

impl Pair {
    /// True for a text without a label: it is no pair, and stands in the place of the anchor.
    pub fn is_text(&self) -> bool {
        self.positive.is_empty()
    }

    /// The document: the positive, or the text without a label itself.
    pub fn document(&self) -> &str {
        if self.is_text() { &self.anchor } else { &self.positive }
    }
}

/// Pairs with unique ids in a stable order.
#[derive(Debug, Clone, Default)]
pub struct PairSet {
    pairs: Vec<Pair>,
}

impl PairSet {
    /// Takes pairs as they are ordered; two equal ids are an error.
    pub fn new(pairs: Vec<Pair>) -> Result<Self> {
        let mut first: HashMap<&str, usize> = HashMap::with_capacity(pairs.len());
        for (index, pair) in pairs.iter().enumerate() {
            if let Some(before) = first.insert(&pair.id, index) {
                return Err(Error::data(
                    format!("pair {}", pair.id),
                    format!("the id stands at positions {before} and {index}, expected unique ids"),
                ));
            }
        }
        Ok(Self { pairs })
    }

    /// The pairs in order, taken out.
    pub fn into_pairs(self) -> Vec<Pair> {
        self.pairs
    }

    /// The pairs in order.
    pub fn pairs(&self) -> &[Pair] {
        &self.pairs
    }

    /// Number of pairs.
    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    /// True where there are no pairs.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// A fingerprint over every field of every pair, in order.
    pub fn fingerprint(&self) -> Fingerprint {
        let mut fingerprint = Fingerprint::builder();
        for pair in &self.pairs {
            for text in
                [&pair.id, &pair.language, &pair.anchor, &pair.positive, &pair.origin.group, &pair.origin.dataset]
            {
                fingerprint.text(text);
            }
            fingerprint.number(pair.task as u64);
            fingerprint.number(pair.negatives.len() as u64);
            for negative in &pair.negatives {
                fingerprint.text(negative);
            }
        }
        // Pairs without any scores have the fingerprint that they had before there were scores.
        if self.pairs.iter().any(|pair| !pair.scores.is_empty()) {
            fingerprint.text("scores").number(self.pairs.len() as u64);
            for pair in &self.pairs {
                fingerprint.floats(&pair.scores);
            }
        }
        fingerprint.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(id: &str) -> Pair {
        Pair { id: id.into(), anchor: "sort a list".into(), positive: "xs.sort()".into(), ..Pair::default() }
    }

    #[test]
    fn equal_ids_are_refused() {
        assert!(PairSet::new(vec![pair("a"), pair("b")]).is_ok());
        let error = PairSet::new(vec![pair("a"), pair("b"), pair("a")]).unwrap_err();
        assert!(error.to_string().contains("positions 0 and 2"), "{error}");
    }

    #[test]
    fn the_fingerprint_sees_order_and_text() {
        let one = PairSet::new(vec![pair("a"), pair("b")]).unwrap().fingerprint();
        let other = PairSet::new(vec![pair("b"), pair("a")]).unwrap().fingerprint();
        assert_ne!(one, other);
    }

    #[test]
    fn the_fingerprint_sees_scores_and_whose_they_are() {
        let of = |a: &[f32], b: &[f32]| {
            let scored = |id, scores: &[f32]| Pair { scores: scores.to_vec(), ..pair(id) };
            PairSet::new(vec![scored("a", a), scored("b", b)]).unwrap().fingerprint()
        };
        let all = [of(&[], &[]), of(&[0.5], &[]), of(&[], &[0.5]), of(&[0.5], &[0.25]), of(&[0.5, 0.25], &[])];
        for (at, one) in all.iter().enumerate() {
            assert!(!all[..at].contains(one), "{at}");
        }
    }
}
