//! A mining by parts: negatives for some queries, and the whole out of its parts, as one machine would have mined it.

use std::{ops::Range, path::Path};

use anyhow::Result;
use serde::{Deserialize, Serialize};
use wb_core::{Pair, Progress, Seed};
use wb_encoder::DeviceConfig;
use wb_retrieval::{
    Bm25Config,
    mining::{MinedNegatives, MinedPart, MiningConfig, MiningTexts},
};

use super::{Search, account, corpus, ranker::MiningRanker, stronger::Stronger, write};
use crate::{
    config::{BenchConfig, Experiment},
    session,
};

/// Pairs to mine for: by words, by vectors in files, or by an encoder that gives one vector a token.
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
    /// The ranker; none for words.
    pub retriever: Option<String>,
    /// The stronger model, or the file with its scores.
    pub stronger: Option<String>,
}

impl MiningParts {
    /// Pairs and a config, whose files are at the places that it names; models compute on a device.
    ///
    /// # Errors
    ///
    /// If the corpus cannot be read.
    pub fn open(
        pairs: Vec<Pair>,
        config: MiningConfig,
        (seed, bm25): (Seed, Bm25Config),
        device: DeviceConfig,
    ) -> Result<Self> {
        let corpus = corpus::read(&config, &pairs)?;
        let bench = BenchConfig { bm25, ..BenchConfig::default() };
        let experiment = Experiment { seed, bench, device: device.into(), ..Experiment::default() };
        Ok(Self { experiment, config, pairs, corpus })
    }

    /// The number of queries, of which parts are ranges.
    pub fn queries(&self) -> Result<usize> {
        Ok(MiningTexts::new(&self.pairs, &self.corpus)?.queries().len())
    }

    fn search<'a>(&'a self, texts: &'a MiningTexts<'a>, queries: Option<[usize; 2]>) -> Search<'a> {
        let taken = texts.bytes();
        Search { experiment: &self.experiment, config: &self.config, texts, taken, stronger: None, queries }
    }

    fn ranker(&self) -> Result<MiningRanker> {
        // No encoder judges a sample of what words have found.
        let config = MiningConfig { sample: 0, ..self.config.clone() };
        MiningRanker::open(&self.experiment, &config, session::runs())
    }

    /// Mines for some of the queries. A cross-encoder's scores are kept in a folder, and what tokens have found in another,
    /// which is this work's alone.
    pub fn mine(
        &self,
        queries: Range<usize>,
        [kept, own]: [&Path; 2],
        progress: &mut dyn FnMut(Progress),
    ) -> Result<MinedPart> {
        let texts = MiningTexts::new(&self.pairs, &self.corpus)?;
        let stronger = Stronger::open(&self.config, self.experiment.device.first(), kept)?;
        let whole = self.search(&texts, Some([queries.start, queries.end]));
        let search = Search { stronger: stronger.as_ref(), ..whole };
        let mined = search.mined(&mut self.ranker()?, own, None, progress)?;
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
        let mut card = account::card(&search, &mined, &mut self.ranker()?, progress)?;
        if let Some(retriever) = &names.retriever {
            card.retriever.clone_from(retriever);
        }
        card.rules.extend(names.stronger.iter().map(|name| account::rescored_by(name.clone())));
        write(folder, &texts, &mined, &card)
    }
}
