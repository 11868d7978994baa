//! Hard negatives that are mined again while training goes on, by the rules of `negatives:`.

use std::{
    collections::HashMap,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use anyhow::Result;
use wb_core::{Document, Pair, Progress, Seed};
use wb_encoder::{
    Backbone, LateInteraction,
    train::{Moment, PromptsConfig, RefreshedNegatives, Tokenize},
    training_stopped,
};
use wb_retrieval::mining::{MinedPairs, MiningConfig, Round, mine};

use super::{corpus, stronger::Stronger};
use crate::config::Experiment;

/// Mining with the weights of the moment.
pub struct Refresher<'a> {
    pairs: &'a [Pair],
    corpus: Vec<Document>,
    config: MiningConfig,
    seed: Seed,
    prompts: &'a PromptsConfig,
    stronger: Option<Stronger<'a>>,
}

impl<'a> Refresher<'a> {
    /// Opens the mining of an experiment that asks for it: reads the corpus and the cross-encoder, where there are
    /// any. A cross-encoder's scores are kept in `datasets`: most candidates come again, and are not scored again.
    pub fn open(
        experiment: &'a Experiment,
        pairs: &'a [Pair],
        datasets: &Path,
        stop: &'a AtomicBool,
    ) -> Result<Option<Self>> {
        if experiment.train.refresh.is_none() {
            return Ok(None);
        }
        let config = experiment.negatives.clone().unwrap_or_default();
        let corpus = corpus::read(&config, pairs)?;
        let stronger =
            Stronger::open(&config, experiment.device.first(), datasets)?.map(|stronger| stronger.until(stop));
        let (seed, prompts) = (experiment.seed, &experiment.train.prompts);
        Ok(Some(Self { pairs, corpus, config, seed, prompts, stronger }))
    }

    /// Mines after so many steps. Nothing where it was stopped.
    pub fn mine(
        &self,
        (backbone, late_interaction): (&dyn Backbone, Option<&LateInteraction>),
        tokenize: &Tokenize<'_>,
        step: u64,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(Progress),
    ) -> wb_encoder::Result<Option<RefreshedNegatives>> {
        let moment = Moment { backbone, late_interaction, tokenize, prompts: self.prompts, stop };
        let cross_encoder = self.stronger.as_ref().and_then(Stronger::cross_encoder);
        let round = Round { seed: self.seed, number: step, stop: Some(stop) };
        match mine(self.pairs, &self.corpus, &moment, &self.config, round, cross_encoder, progress) {
            Ok(mined) => Ok(Some(by_position(mined))),
            Err(_) if stop.load(Ordering::Relaxed) => Ok(None),
            Err(error) => Err(training_stopped(step, "hard negatives cannot be mined again").with_cause(error)),
        }
    }
}

/// Each text once, and the pairs' negatives as positions in them.
fn by_position(mined: MinedPairs) -> RefreshedNegatives {
    let mut positions: HashMap<Arc<str>, u32> = HashMap::new();
    let mut texts = Vec::new();
    let mut position = |text: Arc<str>| {
        *positions.entry(text).or_insert_with_key(|text| {
            texts.push(text.to_string());
            texts.len() as u32 - 1
        })
    };
    let negatives = mined.pairs.into_iter().map(|pair| pair.negatives.into_iter().map(&mut position).collect());
    let negatives = negatives.collect();
    RefreshedNegatives { texts, negatives }
}
