//! A person's word: pairs on a page, accepted or rejected, exported, and read back whoever made them.

mod page;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use serde::{Deserialize, Serialize};
use wb_core::{Pair, fingerprint::Fingerprint, json_lines};

pub use page::{MAX_ROWS, page};

use crate::Result;

/// The decision of a person about a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewVerdict {
    /// Keeps the pair, before others.
    Accept,
    /// Drops the pair.
    Reject,
}

impl ReviewVerdict {
    fn name(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Reject => "reject",
        }
    }
}

/// One line of an exported review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    id: String,
    /// The hash of both sides as they were seen, so that another text under the same id is not judged by it.
    hash: String,
    verdict: ReviewVerdict,
    #[serde(default)]
    note: String,
}

/// An exported review.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reviews {
    verdicts: BTreeMap<String, Line>,
}

impl Reviews {
    /// The decision about a candidate, if its texts are those that were seen.
    pub fn of(&self, id: &str, query: &str, document: &str) -> Option<ReviewVerdict> {
        let line = self.verdicts.get(id)?;
        (line.hash == text_hash(query, document)).then_some(line.verdict)
    }

    /// The decision about a pair, if its texts are those that were seen.
    pub fn of_pair(&self, pair: &Pair) -> Option<ReviewVerdict> {
        self.of(&pair.id, &pair.anchor, &pair.positive)
    }

    /// Pairs that were decided.
    pub fn len(&self) -> usize {
        self.verdicts.len()
    }

    /// True where nothing was decided.
    pub fn is_empty(&self) -> bool {
        self.verdicts.is_empty()
    }

    /// Decisions about others than these, in the order of their ids.
    fn beside<'r>(&'r self, ids: &'r BTreeSet<&str>) -> impl Iterator<Item = &'r Line> {
        self.verdicts.values().filter(move |line| !ids.contains(line.id.as_str()))
    }
}

/// Reads an exported review; of several lines about one pair the last counts.
pub fn read(path: &Path) -> Result<Reviews> {
    let mut reviews = Reviews::default();
    for (_, line) in json_lines::read::<Line>(path)? {
        reviews.verdicts.insert(line.id.clone(), line);
    }
    Ok(reviews)
}

/// The effect of a review.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Reviewed {
    /// Pairs and candidates that a person accepted.
    pub accepted: u64,
    /// Pairs and candidates that are left out because a person rejected them.
    pub rejected: u64,
}

impl Reviewed {
    /// Counts one verdict.
    pub(crate) fn count(&mut self, verdict: Option<ReviewVerdict>) {
        self.accepted += u64::from(verdict == Some(ReviewVerdict::Accept));
        self.rejected += u64::from(verdict == Some(ReviewVerdict::Reject));
    }

    /// Adds what was done elsewhere.
    pub(crate) fn add(&mut self, other: Self) {
        self.accepted += other.accepted;
        self.rejected += other.rejected;
    }
}

/// The hash of a pair's two sides, as the page exports it.
fn text_hash(query: &str, document: &str) -> String {
    Fingerprint::builder().text(query).text(document).finish().short().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_exported_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("review.jsonl");
        let hash = text_hash("q", "d");
        let text = format!(
            "{{\"id\":\"a\",\"hash\":\"{hash}\",\"verdict\":\"accept\"}}\n{{\"id\":\"a\",\"hash\":\"{hash}\",\"verdict\":\"reject\",\"note\":\"no\"}}\n"
        );
        std::fs::write(&path, &text).unwrap();
        let reviews = read(&path).unwrap();
        assert_eq!(reviews.of("a", "q", "d"), Some(ReviewVerdict::Reject));
        assert_eq!(reviews.of("a", "q", "another text"), None);
        assert_eq!(reviews.of("b", "q", "d"), None);
        std::fs::write(&path, text.replace("accept", "maybe")).unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("review.jsonl:1:"));
    }
}
