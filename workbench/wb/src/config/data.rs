//! The `data:` section: sources, and the gates that pairs pass.

use std::path::Path;

use serde::{Deserialize, Serialize};
use wb_code::TreeConfig;
use wb_core::{Error, Pair, Progress, Result, fingerprint::Fingerprint};
use wb_data::{
    OnBad, PrepareConfig, Source, SourceConfig, SourceRead, Tolerance,
    balance::BalanceConfig,
    dedupe::DedupeConfig,
    filter::FilterConfig,
    judge::{ConsistencyConfig, DifficultyConfig, SemanticConfig},
    leak::LeakConfig,
    sources::{self, MAX_BAD_SHARE},
    split::SplitConfig,
};
use wb_encoder::train::mix::check_name;
use wb_sql::rag::ExamplesConfig;

/// Where pairs come from, and what is done to them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataConfig {
    /// Read in this order.
    pub sources: Vec<SourceChoice>,
    /// Never holds all training pairs in memory: they are read, cleaned and split one by one, and trained on from the disk.
    #[serde(default)]
    pub streaming: bool,
    /// What to do with a record that is not a pair: `stop` or `skip`.
    #[serde(default)]
    pub on_bad: OnBad,
    /// With `on_bad: skip`, the share of bad records in a source, from 0 to 1, that is still not an error.
    // The usual share is not written, so that it is no part of a run's id.
    #[serde(default = "max_bad_share", skip_serializing_if = "is_usual")]
    pub max_bad_share: f64,
    /// Quality.
    #[serde(default)]
    pub filter: FilterConfig,
    /// Duplicates.
    #[serde(default)]
    pub dedupe: DedupeConfig,
    /// Duplicates by meaning; off unless it is given.
    #[serde(default)]
    pub semantic: Option<SemanticConfig>,
    /// Train, validation, test.
    #[serde(default)]
    pub split: SplitConfig,
    /// What training shares with the others.
    #[serde(default)]
    pub leaks: LeakConfig,
    /// Training pairs whose two sides find each other; off unless it is given.
    #[serde(default)]
    pub consistency: Option<ConsistencyConfig>,
    /// Training pairs that are neither solved already nor out of reach; off unless it is given.
    #[serde(default)]
    pub difficulty: Option<DifficultyConfig>,
    /// Pairs a language, in training.
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SourceChoice {
    /// Documented functions of a source tree; without a path, of the crates in Cargo's registry sources.
    Code(TreeConfig),
    /// JSON lines or one JSON array, plain or gzipped.
    Jsonl(sources::FilesConfig),
    /// Rows of Parquet files.
    Parquet(sources::FilesConfig),
    /// CSV with a header line; `query,pos,neg` without any `fields`.
    Csv(sources::FilesConfig),
    /// Two text files, line by line.
    ParallelLines(sources::ParallelLinesConfig),
    /// Two files of records joined by a key.
    Joined(sources::JoinedConfig),
    /// A JSON object of Python functions.
    CodeMap(sources::CodeMapConfig),
    /// Files of a Hugging Face data set.
    Hub(sources::HubConfig),
    /// Questions and queries of a text-to-SQL data set in Spider's layout.
    TextToSql(ExamplesConfig),
}

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
            wb_data::streaming::check(&self.prepare(), key)?;
        }
        let Some(names) = self.source_names() else { return Ok(()) };
        let of_gates = [
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
            if !is_named && source.has_records() {
                return None;
            }
            if !names.contains(&name) {
                names.push(name);
            }
        }
        Some(names)
    }

    /// What is done with records that are no pairs.
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

impl SourceChoice {
    /// Refuses values that make no sense.
    pub fn validate(&self, key: &str) -> Result<()> {
        match self.choice() {
            Choice::Tree(tree) => tree.validate(&format!("{key}.code")),
            Choice::Examples(examples) => examples.validate(&format!("{key}.text_to_sql")),
            Choice::Records(records) => records.validate(key),
        }
    }

    /// A file of pairs with the usual names of fields; its suffix says the format.
    pub fn of_file(path: &Path) -> Result<Self> {
        let files = sources::FilesConfig { path: path.to_owned(), ..Default::default() };
        let name = path.to_string_lossy();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        match name.rsplit_once('.').map(|(_, suffix)| suffix) {
            Some("jsonl" | "json") => Ok(Self::Jsonl(files)),
            Some("parquet") => Ok(Self::Parquet(files)),
            Some("csv") => Ok(Self::Csv(files)),
            _ => Err(Error::data(path.display().to_string(), "expected a file of pairs: .jsonl, .json, .parquet or .csv")
                .with_hint("for other names of fields, other layouts and whole folders: `bench.benchmarks` with `sources` in a YAML")),
        }
    }

    /// The kind and place, for tables.
    pub fn name(&self) -> String {
        match self.choice() {
            Choice::Tree(tree) => match &tree.path {
                Some(path) => format!("code {path}"),
                None => "code of Cargo's registry sources".into(),
            },
            Choice::Examples(examples) => format!("text_to_sql {}", examples.path.display()),
            Choice::Records(records) => records.name(),
        }
    }

    /// The data set that pairs of the source at a position belong to, and whether the source names it.
    /// One without a name is called by its kind and its position from 1, as in `jsonl-2`.
    pub fn dataset(&self, at: usize) -> (String, bool) {
        let (kind, name) = match self {
            Self::Code(config) => ("code", &config.dataset),
            Self::Jsonl(config) => ("jsonl", &config.dataset),
            Self::Parquet(config) => ("parquet", &config.dataset),
            Self::Csv(config) => ("csv", &config.dataset),
            Self::ParallelLines(config) => ("parallel_lines", &config.dataset),
            Self::Joined(config) => ("joined", &config.dataset),
            Self::CodeMap(config) => ("code_map", &config.dataset),
            Self::Hub(config) => ("hub", &config.dataset),
            Self::TextToSql(config) => ("text_to_sql", &config.dataset),
        };
        if name.is_empty() { (format!("{kind}-{}", at + 1), false) } else { (name.clone(), true) }
    }

    /// Whether it reads records with fields of their own, which may name a data set.
    fn has_records(&self) -> bool {
        matches!(self, Self::Jsonl(_) | Self::Parquet(_) | Self::Csv(_) | Self::Hub(_))
    }

    /// Changes whenever reading would give something else.
    pub fn fingerprint(&self) -> anyhow::Result<Fingerprint> {
        Ok(match self.choice() {
            Choice::Tree(tree) => wb_code::tree_fingerprint(tree)?,
            Choice::Examples(examples) => of_examples(examples)?,
            Choice::Records(records) => records.fingerprint()?,
        })
    }

    /// Reads everything; `at` is the source's position among all.
    pub fn read(
        &self,
        at: usize,
        tolerance: Tolerance,
        progress: &mut dyn FnMut(Progress),
    ) -> anyhow::Result<SourceRead> {
        let mut pairs = Vec::new();
        let mut take = |pair| {
            pairs.push(pair);
            Ok(())
        };
        let read = self.each(at, tolerance, &mut take, progress)?;
        Ok(SourceRead { pairs, ..read })
    }

    /// Gives every pair to `take`, in order; what it returns has no pairs. A source tree is in memory as a whole.
    pub fn each(
        &self,
        at: usize,
        tolerance: Tolerance,
        take: &mut dyn FnMut(Pair) -> wb_data::Result<()>,
        progress: &mut dyn FnMut(Progress),
    ) -> anyhow::Result<SourceRead> {
        let (dataset, is_named) = self.dataset(at);
        let mut take = |mut pair: Pair| {
            if is_named || pair.origin.dataset.is_empty() {
                pair.origin.dataset.clone_from(&dataset);
            }
            take(pair)
        };
        match self.choice() {
            Choice::Tree(tree) => {
                let read = wb_code::read_tree(tree, progress)?;
                let mut skipped = read.skipped;
                skipped.extend(read.rejected);
                read.pairs.into_iter().try_for_each(&mut take)?;
                Ok(SourceRead { name: self.name(), pairs: Vec::new(), skipped, fingerprint: read.fingerprint })
            }
            Choice::Records(records) => Ok(records.each(tolerance, &mut take, progress)?),
            Choice::Examples(examples) => {
                let (pairs, without) = examples.pairs()?;
                let skipped = (without > 0).then(|| ("a query without a question".to_owned(), without));
                pairs.into_iter().try_for_each(&mut take)?;
                let skipped = skipped.into_iter().collect();
                Ok(SourceRead { name: self.name(), pairs: Vec::new(), skipped, fingerprint: of_examples(examples)? })
            }
        }
    }

    fn choice(&self) -> Choice<'_> {
        Choice::Records(match self {
            Self::Code(tree) => return Choice::Tree(tree),
            Self::TextToSql(examples) => return Choice::Examples(examples),
            Self::Jsonl(files) => SourceConfig::Jsonl(files.clone()),
            Self::Parquet(files) => SourceConfig::Parquet(files.clone()),
            Self::Csv(files) => SourceConfig::Csv(files.clone()),
            Self::ParallelLines(lines) => SourceConfig::ParallelLines(lines.clone()),
            Self::Joined(joined) => SourceConfig::Joined(joined.clone()),
            Self::CodeMap(map) => SourceConfig::CodeMap(map.clone()),
            Self::Hub(hub) => SourceConfig::Hub(hub.clone()),
        })
    }
}

#[expect(clippy::large_enum_variant, reason = "made, matched and dropped in one expression")]
enum Choice<'a> {
    Tree(&'a TreeConfig),
    Records(SourceConfig),
    Examples(&'a ExamplesConfig),
}

/// Changes with every file that the pairs are made of, and with what is made of them.
fn of_examples(examples: &ExamplesConfig) -> anyhow::Result<Fingerprint> {
    let mut of = Fingerprint::builder();
    of.text(Fingerprint::of_json(examples).as_str());
    for file in [examples.tables()].into_iter().chain(examples.training.within(&examples.path)) {
        of.text(Fingerprint::of_file(&file)?.as_str());
    }
    Ok(of.finish())
}
