//! The choice among benchmarks.

mod beir;
mod benchmark;
mod codesearchnet;
mod cosqa;
mod pairs;
mod search;
mod stackoverflow_qa;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::{
    beir::BeirConfig,
    benchmark::{Benchmark, BenchmarkData, BenchmarkPlan, Card, stands_for},
    codesearchnet::CodeSearchNetConfig,
    cosqa::CosqaConfig,
    pairs::PairsConfig,
    search::SearchConfig,
    stackoverflow_qa::StackoverflowQaConfig,
};

/// A benchmark as it stands under `bench:`; a name on the command line is the same with nothing set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum BenchmarkConfig {
    /// CodeSearchNet and its neighbours.
    Codesearchnet(CodeSearchNetConfig),
    /// CoSQA.
    Cosqa(CosqaConfig),
    /// CoIR's StackOverflow QA.
    #[serde(rename = "stackoverflow-qa")]
    StackoverflowQa(StackoverflowQaConfig),
    /// Any data set in BEIR's layout.
    Beir(BeirConfig),
    /// Held-out pairs.
    Pairs(PairsConfig),
    /// A repository's own questions in the ranking of `wb search`.
    Search(SearchConfig),
}

/// Names of benchmarks in which texts find texts, in the order of lists.
pub const OF_TEXTS: [&str; 5] =
    [codesearchnet::CARD.name, cosqa::CARD.name, stackoverflow_qa::CARD.name, beir::CARD.name, pairs::CARD.name];

/// Name of the benchmark in which units of a repository are ranked.
pub const SEARCH: &str = search::CARD.name;

impl BenchmarkConfig {
    /// Every benchmark with nothing set: those of [`OF_TEXTS`] in their order, then [`SEARCH`].
    pub fn all() -> [Self; OF_TEXTS.len() + 1] {
        [
            Self::Codesearchnet(CodeSearchNetConfig::default()),
            Self::Cosqa(CosqaConfig::default()),
            Self::StackoverflowQa(StackoverflowQaConfig::default()),
            Self::Beir(BeirConfig::default()),
            Self::Pairs(PairsConfig::default()),
            Self::Search(SearchConfig::default()),
        ]
    }

    /// A benchmark by name, with nothing set.
    pub fn named(name: &str) -> wb_core::Result<Self> {
        Self::all().into_iter().find(|one| one.benchmark().card().name == name).ok_or_else(|| {
            let hint = wb_core::suggest::hint(name, OF_TEXTS.into_iter().chain([SEARCH]));
            wb_core::Error::unknown("benchmark", name).with_hint_if(hint)
        })
    }

    /// The benchmark behind it.
    pub fn benchmark(&self) -> &dyn Benchmark {
        match self {
            Self::Codesearchnet(config) => config,
            Self::Cosqa(config) => config,
            Self::StackoverflowQa(config) => config,
            Self::Beir(config) => config,
            Self::Pairs(config) => config,
            Self::Search(config) => config,
        }
    }

    /// Refuses values that make no sense.
    pub fn validate(&self, key: &str) -> wb_core::Result<()> {
        let benchmark = self.benchmark();
        benchmark.validate(&format!("{key}.{}", benchmark.card().name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_configurations() {
        let names: Vec<&str> = OF_TEXTS.into_iter().chain([SEARCH]).collect();
        assert_eq!(BenchmarkConfig::all().map(|one| one.benchmark().card().name).to_vec(), names);
        for name in names {
            assert_eq!(BenchmarkConfig::named(name).unwrap().benchmark().card().name, name);
        }
        let error = BenchmarkConfig::named("codesearchnt").unwrap_err();
        assert!(error.hint().unwrap().contains("codesearchnet"), "{error:?}");
    }

    #[test]
    fn main_protocols_are_listed() {
        for benchmark in BenchmarkConfig::all() {
            let Card { name, main, protocols, .. } = benchmark.benchmark().card();
            for (id, _) in *main {
                let is_listed = protocols.iter().any(|listed| id.starts_with(listed.trim_end_matches('*')));
                assert!(is_listed, "{name}: {id} is not in {protocols:?}");
            }
        }
    }

    #[test]
    fn yaml_is_typed() {
        let path = std::path::Path::new("bench.yaml");
        let read = |text: &str| wb_core::config::from_text::<BenchmarkConfig>(text, path);
        let config = read("codesearchnet: { languages: [ruby], text: raw }").unwrap();
        assert_eq!(
            wb_core::config::from_text::<BenchmarkConfig>(&wb_core::config::to_text(&config).unwrap(), path).unwrap(),
            config
        );
        assert!(read("codesearchnet: { language: ruby }").is_err());
        let upper = read("codesearchnet: { languages: [Ruby] }").unwrap().validate("bench[0]").unwrap_err();
        assert_eq!(
            upper.to_string(),
            "bench[0].codesearchnet.languages[0]: got `Ruby`, expected a lower-case name like ruby"
        );
    }
}
