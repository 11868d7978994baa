//! A mining by parts: negatives for some queries, and the whole out of its parts, as one machine would have mined it.

use std::{ops::Range, path::Path};

use anyhow::Result;
use wb_core::{Error, Pair, Progress, Seed};
use wb_retrieval::{
    Bm25Config,
    mining::{MinedNegatives, MinedPart, MiningConfig, MiningTexts},
};

use super::{Search, account, corpus, ranker::MiningRanker, write};
use crate::config::{BenchConfig, Experiment};

/// Pairs to mine for, by vectors in files.
pub struct MiningParts {
    experiment: Experiment,
    config: MiningConfig,
    pairs: Vec<Pair>,
    corpus: Vec<wb_core::Document>,
}

impl MiningParts {
    /// Refuses what cannot be mined by parts.
    ///
    /// # Errors
    ///
    /// If there are no vectors, or another model scores what was found.
    pub fn check(config: &MiningConfig) -> Result<()> {
        if config.vectors.is_none() {
            let what = "negatives are mined in shards by vectors that are there, and negatives.vectors names none";
            return Err(Error::failed(what)
                .with_hint("--stage encode for both sides first, then negatives.vectors={queries: ..., query_ids: ..., documents: ..., document_ids: ...}")
                .into());
        }
        if config.rescore.is_some() {
            let what = "negatives.rescore is not cut into shards";
            return Err(Error::failed(what).with_hint("negatives.rescore=null").into());
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

    fn ranker(&self) -> Result<MiningRanker> {
        let vectors = self.config.vectors.clone();
        vectors.map(MiningRanker::Vectors).ok_or_else(|| Error::failed("there are no vectors").into())
    }

    /// Mines for some of the queries.
    pub fn mine(&self, queries: Range<usize>, progress: &mut dyn FnMut(Progress)) -> Result<MinedPart> {
        let texts = MiningTexts::new(&self.pairs, &self.corpus)?;
        let search = self.search(&texts, Some([queries.start, queries.end]));
        // Vectors that are given lie where the config says.
        let mined = search.mined(&mut self.ranker()?, Path::new(""), None, progress)?;
        Ok(mined.into_part(&texts, &queries))
    }

    /// Writes the whole into a folder: pairs, scores and the account, in which the vectors are called `name`.
    pub fn write(
        &self,
        parts: impl IntoIterator<Item = MinedPart>,
        name: &Path,
        folder: &Path,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<()> {
        let texts = MiningTexts::new(&self.pairs, &self.corpus)?;
        let mined = MinedNegatives::of_parts(&texts, self.config.rules().per_pair, parts);
        let search = self.search(&texts, None);
        let mut card = account::card(&search, &mined, &mut self.ranker()?, progress)?;
        card.retriever = format!("vectors in {}", name.display());
        write(folder, &texts, &mined, &card)
    }
}
