//! A mining by parts: negatives for some queries, and the whole out of its parts, as one machine would have mined it.

use std::{
    ops::Range,
    path::{Path, PathBuf},
};

use anyhow::Result;
use serde::{Deserialize, Serialize};
use wb_core::{Error, Pair, Progress, Seed};
use wb_encoder::DeviceConfig;
use wb_retrieval::{
    Bm25Config,
    mining::{MinedNegatives, MinedPart, MiningConfig, MiningRetriever, MiningTexts},
};

use super::{Search, account, corpus, ranker::MiningRanker, stronger::Stronger, write};
use crate::config::{BenchConfig, Experiment};

/// Pairs to mine for, by words or by vectors in files.
pub struct MiningParts {
    experiment: Experiment,
    config: MiningConfig,
    pairs: Vec<Pair>,
    corpus: Vec<wb_core::Document>,
}

/// Names of what ranks and of what scores, for the account: here they may lie under other names.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartNames {
    /// The file with the vectors, where there is one.
    pub vectors: Option<PathBuf>,
    /// The stronger model, or the file with its scores.
    pub stronger: Option<String>,
}

impl MiningParts {
    /// Refuses what cannot be mined by parts.
    ///
    /// # Errors
    ///
    /// If there are no vectors, and words are not what ranks.
    pub fn check(config: &MiningConfig) -> Result<()> {
        if config.vectors.is_none() && config.retriever != MiningRetriever::Bm25 {
            let what = "negatives are mined in shards by words (negatives.retriever=bm25) or by vectors that are there, and negatives.vectors names none";
            return Err(Error::failed(what)
                .with_hint("--stage encode for both sides first, then negatives.vectors={queries: ..., query_ids: ..., documents: ..., document_ids: ...}")
                .into());
        }
        Ok(())
    }

    /// Pairs and a config, whose files are at the places that it names.
    ///
    /// # Errors
    ///
    /// If the corpus cannot be read.
    pub fn open(pairs: Vec<Pair>, config: MiningConfig, seed: Seed, bm25: Bm25Config) -> Result<Self> {
        Self::check(&config)?;
        let corpus = corpus::read(&config, &pairs)?;
        let bench = BenchConfig { bm25, ..BenchConfig::default() };
        Ok(Self { experiment: Experiment { seed, bench, ..Experiment::default() }, config, pairs, corpus })
    }

    /// The number of queries, of which parts are ranges.
    pub fn queries(&self) -> Result<usize> {
        Ok(MiningTexts::new(&self.pairs, &self.corpus)?.queries().len())
    }

    fn search<'a>(&'a self, texts: &'a MiningTexts<'a>, queries: Option<[usize; 2]>) -> Search<'a> {
        let taken = texts.bytes();
        Search { experiment: &self.experiment, config: &self.config, texts, taken, stronger: None, queries }
    }

    fn ranker(&self) -> MiningRanker {
        match &self.config.vectors {
            Some(vectors) => MiningRanker::Vectors(vectors.clone()),
            None => MiningRanker::Words(self.experiment.bench.bm25, None),
        }
    }

    /// Mines for some of the queries. A cross-encoder's scores are kept in a folder.
    pub fn mine(
        &self,
        queries: Range<usize>,
        device: DeviceConfig,
        kept: &Path,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<MinedPart> {
        let texts = MiningTexts::new(&self.pairs, &self.corpus)?;
        let stronger = Stronger::open(&self.config, device, kept)?;
        let whole = self.search(&texts, Some([queries.start, queries.end]));
        let search = Search { stronger: stronger.as_ref(), ..whole };
        // Vectors that are given lie where the config says.
        let mined = search.mined(&mut self.ranker(), Path::new(""), None, progress)?;
        Ok(mined.into_part(&texts, &queries))
    }

    /// Writes the whole into a folder: pairs, scores and the account.
    pub fn write(
        &self,
        parts: impl IntoIterator<Item = MinedPart>,
        names: &PartNames,
        folder: &Path,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<()> {
        let texts = MiningTexts::new(&self.pairs, &self.corpus)?;
        let mined = MinedNegatives::of_parts(&texts, self.config.rules().per_pair, parts);
        let search = self.search(&texts, None);
        let mut card = account::card(&search, &mined, &mut self.ranker(), progress)?;
        if let Some(vectors) = &names.vectors {
            card.retriever = format!("vectors in {}", vectors.display());
        }
        card.rules.extend(names.stronger.iter().map(|name| account::rescored_by(name.clone())));
        write(folder, &texts, &mined, &card)
    }
}
