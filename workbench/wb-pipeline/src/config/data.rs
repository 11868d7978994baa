//! The `data:` section: sources, and the gates that pairs pass.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wb_code::{GroupBy, TreeConfig};
use wb_core::{Error, Progress, Result, fingerprint::Fingerprint};
use wb_data::{
    OnBad, PairSource, PrepareConfig, SourceConfig, SourceRead, Tolerance,
    balance::BalanceConfig,
    dedupe::DedupeConfig,
    filter::FilterConfig,
    judge::{ConsistencyConfig, DifficultyConfig, SemanticConfig},
    leak::LeakConfig,
    sources::{Gather, MAX_BAD_SHARE},
    split::{Family, SplitBy, SplitConfig},
};
use wb_encoder::train::mix::check_name;
use wb_text2sql::examples::ExamplesConfig;

/// Sources of pairs, and what is done to them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DataConfig {
    /// A list of sources, at least one; their pairs stand in this order.
    pub sources: Vec<SourceChoice>,
    /// Never holds all training pairs in memory: they are read, cleaned and split one by one, and trained on from the
    /// disk, in the same order and the same batches as from memory. About 250 bytes per pair stay in memory, and the
    /// held-out pairs: limit those with `split.max_validation` and `split.max_test`. Near duplicates are found on the
    /// disk, in about two kilobytes a pair for as long as that takes. Cannot be used with `semantic`, `consistency`,
    /// `difficulty` and `balance`, which look at all pairs at once. JSON lines, CSV and Parquet are read record by
    /// record; a JSON array, a source tree and `joined` files are in memory while they are read.
    #[serde(default)]
    pub streaming: bool,
    /// Treatment of a record that is not a pair. `stop`: the first one is an error with its file and line. `skip`: they
    /// are counted by reason, and more than `max_bad_share` of a source's records is an error.
    #[serde(default)]
    pub on_bad: OnBad,
    /// Share of bad records in a source, from 0 to 1, that is still not an error with `on_bad: skip`: one in a hundred
    /// is an accident, more is the wrong file.
    // The usual share is not written, so that it is no part of a run's id.
    #[serde(default = "max_bad_share", skip_serializing_if = "is_usual")]
    #[schemars(extend("default" = MAX_BAD_SHARE))]
    pub max_bad_share: f64,
    /// Quality.
    #[serde(default)]
    pub filter: FilterConfig,
    /// Duplicates.
    #[serde(default)]
    pub dedupe: DedupeConfig,
    /// Duplicates by meaning, by the embeddings of a pretrained encoder; off unless it is given.
    #[serde(default)]
    pub semantic: Option<SemanticConfig>,
    /// Train, validation, test.
    #[serde(default)]
    pub split: SplitConfig,
    /// Leaks: what training pairs share with held-out ones.
    #[serde(default)]
    pub leaks: LeakConfig,
    /// Keeps training pairs whose positive ranks among the first for its own anchor; off unless it is given.
    #[serde(default)]
    pub consistency: Option<ConsistencyConfig>,
    /// Keeps training pairs that are neither solved already nor out of reach; off unless it is given.
    #[serde(default)]
    pub difficulty: Option<DifficultyConfig>,
    /// Pairs per language, in training; no limits unless they are given.
    #[serde(default)]
    pub balance: BalanceConfig,
}

fn max_bad_share() -> f64 {
    MAX_BAD_SHARE
}

fn is_usual(share: &f64) -> bool {
    *share == MAX_BAD_SHARE
}

/// One source.
pub type SourceChoice = SourceConfig<TextToSqlPairs>;

impl DataConfig {
    /// Refuses values that make no sense.
    pub fn validate(&self, key: &str) -> Result<()> {
        if self.sources.is_empty() {
            return Err(Error::value(format!("{key}.sources"), "is empty, expected at least one source")
                .with_hint("sources: [{ code: {} }]"));
        }
        for (at, source) in self.sources.iter().enumerate() {
            source.validate(&format!("{key}.sources[{at}]"))?;
        }
        self.tolerance().validate(key)?;
        self.prepare().validate(key)?;
        if self.streaming {
            wb_data::streaming::check(&self.prepare(), key, &format!("with {key}.streaming"))?;
        }
        let Some(names) = self.source_names() else { return Ok(()) };
        let of_gates = [
            ("split", Some(&self.split.datasets)),
            ("consistency", self.consistency.as_ref().map(|gate| &gate.datasets)),
            ("difficulty", self.difficulty.as_ref().map(|gate| &gate.datasets)),
        ];
        for (gate, datasets) in of_gates {
            for (at, name) in datasets.into_iter().flatten().enumerate() {
                check_name(&format!("{key}.{gate}.datasets[{at}]"), name, &names)?;
            }
        }
        Ok(())
    }

    /// The tree that the benchmark `search` asks for what training has not seen, with the data set of its pairs: the first
    /// source, each file of which is on one side of the split.
    pub fn repository(&self) -> Result<(&TreeConfig, String)> {
        let refuse = |key: &str, message: &str, hint: &str| Err(Error::value(key, message).with_hint(hint));
        let Some(SourceChoice::Code(tree)) = self.sources.first() else {
            let message =
                "is no `code`, and the benchmark `search` without a `dataset` asks for the first source's files";
            return refuse("data.sources[0]", message, "code: { path: PATH, group: file }, or name a `dataset`");
        };
        if tree.path.is_none() || tree.group != GroupBy::File {
            let message =
                "needs a `path` and `group: file`, so that `search` can ask for files that were not trained on";
            return refuse("data.sources[0].code", message, "code: { path: PATH, group: file }");
        }
        if self.streaming {
            let message = "`search` has to know what was trained on, and `data.streaming` keeps that on the disk";
            return refuse("data.streaming", message, "data.streaming=false");
        }
        if self.split.by != SplitBy::Group || self.split.family != Family::Off || self.split.test == 0.0 {
            let message = "leaves no whole file for the benchmark `search` to ask for";
            return refuse("data.split", message, "data.split={by: group, family: off, test: 0.3}");
        }
        Ok((tree, self.sources[0].dataset(0).0))
    }

    /// The names of all data sets of training pairs, in order; none where the records of a source may name them.
    pub fn dataset_names(&self) -> Option<Vec<String>> {
        let mut names = self.source_names()?;
        let easy = self.difficulty.iter().map(|difficulty| difficulty.easy_dataset.clone());
        names.extend(easy.filter(|name| !name.is_empty()));
        Some(names)
    }

    fn source_names(&self) -> Option<Vec<String>> {
        let mut names: Vec<String> = Vec::new();
        for (at, source) in self.sources.iter().enumerate() {
            let (name, is_named) = source.dataset(at);
            if !is_named && source.records_name_datasets() {
                return None;
            }
            if !names.contains(&name) {
                names.push(name);
            }
        }
        Some(names)
    }

    /// The tolerance of records that are no pairs.
    pub fn tolerance(&self) -> Tolerance {
        Tolerance { on_bad: self.on_bad, max_bad_share: self.max_bad_share }
    }

    /// The gates.
    pub fn prepare(&self) -> PrepareConfig {
        PrepareConfig {
            filter: self.filter.clone(),
            dedupe: self.dedupe.clone(),
            split: self.split.clone(),
            leaks: self.leaks.clone(),
            semantic: self.semantic.clone(),
            consistency: self.consistency.clone(),
            difficulty: self.difficulty.clone(),
            balance: self.balance.clone(),
        }
    }
}

/// Questions and queries of a text-to-SQL data set in Spider's layout.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct TextToSqlPairs(pub ExamplesConfig);

impl PairSource for TextToSqlPairs {
    fn name(&self) -> String {
        format!("text_to_sql {}", self.0.path.display())
    }

    fn kind_and_dataset(&self) -> (&'static str, &str) {
        ("text_to_sql", &self.0.dataset)
    }

    fn validate(&self, key: &str) -> Result<()> {
        self.0.validate(key)
    }

    fn fingerprint(&self) -> wb_data::Result<Fingerprint> {
        let mut of = Fingerprint::builder();
        of.text(Fingerprint::of_json(&self.0).as_str());
        for file in self.0.files() {
            of.text(Fingerprint::of_file(&file)?.as_str());
        }
        Ok(of.finish())
    }

    fn gather(&self, mut gather: Gather<'_>, _: &mut dyn FnMut(Progress)) -> wb_data::Result<SourceRead> {
        let (pairs, without) = self.0.pairs()?;
        gather.leave_out("a query without a question", without);
        pairs.into_iter().try_for_each(|pair| gather.give(pair))?;
        gather.finish(self.name(), self.fingerprint()?)
    }
}
