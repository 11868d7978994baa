//! `bench/BENCHMARK-CONTESTANT.json`: what a benchmark measured, each number with its protocol and pool.

use serde::{Deserialize, Serialize, de::IgnoredAny};

use crate::statistics::Interval;

/// A contestant's part in the run or command that measured it, in the order of tables.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContestantRole {
    /// The lexical baseline.
    Bm25,
    /// The encoder before training.
    Untrained,
    /// Another model.
    #[default]
    Other,
    /// The encoder that a run trained.
    Trained,
    /// An encoder's scores with BM25's.
    Fused,
}

/// Beginning of the settings that are the contestant's; comparisons allow them to differ.
pub const CONTESTANT_SETTING: &str = "contestant.";

/// One contestant measured under every protocol that the data allows. Most of a file are `Q`, the ranks of queries, and
/// `E`, the examples: [`OutcomeNumbers`] goes without them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ContestantOutcome<Q = Vec<QueryRank>, E = Vec<QueryExample>> {
    /// `codesearchnet`, `cosqa`, `pairs`, ...
    pub benchmark: String,
    /// Raised when what is measured changes; `wb compare` refuses two versions.
    pub version: u32,
    /// The retriever's name: `bm25`, `untrained`, a run's id, a model's name.
    pub contestant: String,
    /// Part of the contestant in the run, whatever its name; [`ContestantRole::Other`] in files of before there were roles.
    #[serde(default)]
    pub role: ContestantRole,
    /// The pretrained encoder that its training began with, as the run's config names it; none where it was not trained
    /// here, or began from scratch.
    pub base: Option<String>,
    /// Fingerprint of all that decides its vectors.
    pub contestant_fingerprint: String,
    /// Fingerprint of the data read.
    pub dataset_fingerprint: String,
    /// Maximum lengths, prompts, text mode, as shown to people.
    pub settings: Vec<(String, String)>,
    /// Every number.
    pub protocols: Vec<ProtocolScore<Q>>,
    /// Protocols that this data cannot give.
    pub not_run: Vec<NotRun>,
    /// Warnings that belong to the numbers (repeated URLs, a leaking text mode, duplicates).
    pub warnings: Vec<String>,
    /// Duplicate and leak counts.
    pub audit: Vec<AuditLine>,
    /// The best and the worst queries with what came back, for the report.
    pub examples: E,
}

/// Numbers of an outcome, whose ranks and examples are passed over while it is read.
pub type OutcomeNumbers = ContestantOutcome<IgnoredAny, IgnoredAny>;

impl<Q, E> ContestantOutcome<Q, E> {
    /// Settings of the benchmark: numbers compare where these are equal.
    pub fn benchmark_settings(&self) -> impl Iterator<Item = &(String, String)> {
        self.settings.iter().filter(|(name, _)| !name.starts_with(CONTESTANT_SETTING))
    }
}

/// One number.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ProtocolScore<Q = Vec<QueryRank>> {
    /// Protocol: `csn-1000`, `cosqa-6267`, `pairs-full`, ...
    pub id: String,
    /// Description of the protocol, in words for people that do not know its id.
    #[serde(default)]
    pub description: String,
    /// `ruby`, `all`, ...
    pub language: String,
    /// `test`, `valid`, ...
    pub split: String,
    /// Documents that a query is ranked against.
    pub pool: u64,
    /// Number of queries that were measured.
    pub n_queries: u64,
    /// `mrr`, `ndcg@10`, `recall@1`, `ndcg`.
    pub metric: String,
    /// The value under the protocol's own tie rule, as a fraction.
    pub value: f64,
    /// 95 % bootstrap interval over queries.
    #[serde(flatten)]
    pub interval: Interval,
    /// The value with every tie broken in favour of the answer.
    pub tie_best: f64,
    /// The expected value under random tie breaking.
    pub tie_expected: f64,
    /// The value with every tie broken against the answer.
    pub tie_worst: f64,
    /// The value after removing duplicate documents from the pool; absent where it has no meaning.
    pub deduplicated: Option<f64>,
    /// Each query's rank under the protocol's tie rule, from 1; 0 where the answer was not found.
    pub queries: Q,
}

impl<Q> ProtocolScore<Q> {
    /// Protocol, language, split and metric: `csn-1000 ruby test mrr`.
    pub fn title(&self) -> String {
        format!("{} {} {} {}", self.id, self.language, self.split, self.metric)
    }
}

/// A query's rank.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct QueryRank {
    /// The query's id.
    pub id: String,
    /// From 1; 0 where the answer was not found.
    pub rank: u64,
    /// The query's own value of the metric.
    #[serde(default)]
    pub value: f64,
}

/// A protocol that was not run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct NotRun {
    /// Protocol.
    pub id: String,
    /// Reason, and what would be needed.
    pub reason: String,
}

/// One line of the duplicate and leak page.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AuditLine {
    /// Name of what was counted.
    pub what: String,
    /// Number of those that have it.
    pub count: u64,
    /// Out of how many.
    pub of: u64,
    /// A few, for a reader's eyes.
    pub examples: Vec<String>,
}

/// A query with its answer and what was returned.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct QueryExample {
    /// Under which protocol it was asked, in which language and split: what its rank means.
    #[serde(default)]
    pub protocol: (String, String, String),
    /// The query's id.
    pub id: String,
    /// Its text.
    pub query: String,
    /// Rank of the right answer, from 1.
    pub rank: u64,
    /// The right answer.
    pub answer: String,
    /// Documents that came first, with scores.
    pub returned: Vec<ReturnedDocument>,
}

/// A returned document.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ReturnedDocument {
    /// The document's id.
    pub id: String,
    /// Its text.
    pub text: String,
    /// Its score.
    pub score: f64,
    /// True where it is the right answer.
    pub relevant: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_without_ranks_and_examples() {
        let interval = Interval { low: 0.25, high: 0.75 };
        let queries = vec![QueryRank::default()];
        let score = ProtocolScore { id: "p".into(), value: 0.5, interval, queries, ..ProtocolScore::default() };
        let examples = vec![QueryExample::default()];
        let outcome = ContestantOutcome { protocols: vec![score], examples, ..ContestantOutcome::default() };
        let json = serde_json::to_string(&outcome).unwrap();
        assert!(json.contains("\"value\":0.5,\"low\":0.25,\"high\":0.75,\"tie_best\":0.0"), "{json}");
        assert_eq!(serde_json::from_str::<ContestantOutcome>(&json).unwrap(), outcome);
        let read: OutcomeNumbers = serde_json::from_str(&json).unwrap();
        assert_eq!((&*read.protocols[0].id, read.protocols[0].interval), ("p", interval));
    }

    #[test]
    fn roles_are_words_in_files() {
        let outcome: ContestantOutcome = ContestantOutcome {
            role: ContestantRole::Trained,
            base: Some("o/n".into()),
            ..ContestantOutcome::default()
        };
        let mut json = serde_json::to_value(&outcome).unwrap();
        assert_eq!((&json["role"], &json["base"]), (&"trained".into(), &"o/n".into()));
        assert_eq!(serde_json::from_value::<ContestantOutcome>(json.clone()).unwrap(), outcome);
        // An older file can be read, and takes nobody for what its name says.
        json.as_object_mut().unwrap().remove("role");
        assert_eq!(serde_json::from_value::<ContestantOutcome>(json).unwrap().role, ContestantRole::Other);
    }
}
