//! Hard negatives for training pairs, kept under the fingerprint of the pairs, the rules, and what ranked the documents.

mod account;
mod corpus;
mod files;
mod part;
mod ranker;
mod refresh;
mod stronger;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use wb_core::{
    PairSet, Progress,
    fingerprint::Fingerprint,
    publish::{self, Published},
    records::negatives::NegativesCard,
    remote::{self, Outgoing},
    run_dir::{read_json, write_json},
};
use wb_data::{
    PreparedPairs,
    negative_table::{with_negatives, write_negatives},
};
use wb_retrieval::mining::{
    MinedNegatives, MiningConfig, MiningSetup, MiningTexts, NegativeCandidate, Rescorer, mine_from,
};

use super::{data::ExperimentPairs, manifest::this_code};
use crate::{config::Experiment, output, session::Folders, shards};
use ranker::MiningRanker;
use stronger::Stronger;

pub use account::print;
pub use files::Out;
use files::write_out;
pub use part::{MiningParts, PartNames};
pub use refresh::Refresher;
pub use stronger::{cross_encoder, reranker};

/// The account of a mining, which every whole folder of mined pairs has.
const CARD: &str = "negatives.json";
/// The negatives of a mining, by the ids of their documents.
pub const NEGATIVES: &str = "negatives.parquet";

/// Mined pairs and where they lie.
pub struct MinedStage {
    /// The folder: `negatives.parquet`, `negatives.json`.
    pub folder: PathBuf,
    /// Fingerprint of all that decides the negatives.
    pub fingerprint: Fingerprint,
    /// The account.
    pub card: NegativesCard,
}

/// Files that are asked for beside the folder; they are made anew each time.
#[derive(Default)]
pub struct Extras<'a> {
    /// Mined pairs in a file of the user's choice.
    pub out: Option<&'a Out>,
    /// Every candidate of every query, for another model to score.
    pub candidates: Option<&'a Path>,
}

/// Mines negatives for an experiment's training pairs, or loads them where that was done before.
pub fn mine(
    experiment: &Experiment,
    data: &ExperimentPairs,
    places: Folders<'_>,
    extras: &Extras<'_>,
    progress: &mut dyn FnMut(Progress),
) -> Result<MinedStage> {
    let config = experiment.negatives.clone().unwrap_or_default();
    if let Some(file) = &config.mined {
        let message = format!("got {}, and what was mined before is not mined again", file.display());
        return Err(wb_core::Error::value("negatives.mined", message).with_hint("negatives.mined=null").into());
    }
    progress(Progress::new("opening the retriever", 0, 0));
    let mut ranker = MiningRanker::open(experiment, &config, places.runs)?;
    let stronger = Stronger::open(&config, experiment.device.first(), places.datasets)?;
    let fingerprint = fingerprint(experiment, data, &config, &ranker, stronger.as_ref())?;
    let folder = places.datasets.join(format!("mined-{}", fingerprint.short()));
    remote::bring(&folder)?;
    let file = folder.join(CARD);
    let is_there = file.is_file();
    if is_there && extras.candidates.is_none() && extras.out.is_none() {
        output::note(format!("negatives: unchanged, {}", folder.display()));
        return Ok(MinedStage { card: read_json(&file)?, folder, fingerprint });
    }
    let pairs = data.prepared.train.pairs();
    let corpus = corpus::read(&config, pairs)?;
    let texts = MiningTexts::new(pairs, &corpus)?;
    let others = [&data.prepared.validation, &data.prepared.test];
    let taken = texts.bytes() + others.iter().flat_map(|set| set.pairs()).map(bytes_of).sum::<u64>();
    let search =
        Search { experiment, config: &config, texts: &texts, taken, stronger: stronger.as_ref(), queries: None };
    let mined = match (&experiment.run_on, &ranker) {
        (Some(run_on), MiningRanker::Words(..) | MiningRanker::Encoder(_)) if extras.candidates.is_none() => {
            let by = match &ranker {
                MiningRanker::Encoder(encoder) if encoder.token_vectors().is_some() => (None, Some(&**encoder)),
                MiningRanker::Encoder(encoder) => {
                    (Some(ranker::vector_files(encoder, &search, places.datasets, progress)?), None)
                }
                _ => (None, None),
            };
            shards::mined(experiment, run_on, &texts, by, &data.folder.join("train.parquet"), progress)?
        }
        (Some(_), _) => {
            let what = "run_on cuts mining by words or by an encoder into shards, without --candidates";
            return Err(wb_core::Error::failed(what).with_hint("run_on=null").into());
        }
        (None, _) => {
            let candidates = extras.candidates.map(Outgoing::to).transpose()?;
            let local = candidates.as_ref().map(Outgoing::local);
            let mined = search.mined(&mut ranker, places.datasets, local, progress)?;
            candidates.map_or(Ok(()), |candidates| candidates.send(&[]))?;
            mined
        }
    };
    let card = match is_there {
        true => read_json(&file)?,
        false => {
            let card = account::card(&search, &mined, &mut ranker, progress)?;
            progress(Progress::new("writing negatives", 0, 0));
            let published = publish::folder(&folder, CARD, |inside| write(inside, &texts, &mined, &card))?;
            match published {
                Published::Ours(()) => card,
                Published::Theirs => read_json(&file)?,
            }
        }
    };
    if let Some(out) = extras.out {
        write_out(out, &texts, &mined, config.rules().per_pair)?;
    }
    Ok(MinedStage { folder, fingerprint, card })
}

/// Writes the files of a mining into a folder.
fn write(inside: &Path, texts: &MiningTexts<'_>, mined: &MinedNegatives, card: &NegativesCard) -> Result<()> {
    write_negatives(&inside.join(NEGATIVES), files::by_id(texts, mined))?;
    Ok(write_json(&inside.join(CARD), card)?)
}

/// The training pairs of a `wb run` with their negatives, where the experiment asks for them.
pub fn of_experiment(
    experiment: &Experiment,
    mut data: ExperimentPairs,
    places: Folders<'_>,
    progress: &mut dyn FnMut(Progress),
) -> Result<ExperimentPairs> {
    let Some(config) = &experiment.negatives else { return Ok(data) };
    if let Some(file) = &config.mined {
        take_mined(config, file, &mut data.prepared)?;
        let mut all = Fingerprint::builder();
        for decides in [Some(file), config.corpus.as_ref()].into_iter().flatten() {
            all.text(Fingerprint::of_file(decides)?.as_str());
        }
        data.mined = Some(all.finish());
        output::note(format!("negatives: {}", file.display()));
        return Ok(data);
    }
    let stage = mine(experiment, &data, places, &Extras::default(), progress)?;
    take_mined(config, &stage.folder.join(NEGATIVES), &mut data.prepared)?;
    data.mined = Some(stage.fingerprint);
    let card = &stage.card;
    output::note(format!(
        "negatives: {} for {} pairs, {} of them short; {}",
        card.chosen + card.filled,
        card.pairs,
        card.short,
        stage.folder.display()
    ));
    Ok(data)
}

/// Gives the training pairs the negatives of a file.
fn take_mined(config: &MiningConfig, file: &Path, prepared: &mut PreparedPairs) -> Result<()> {
    let pairs = std::mem::take(&mut prepared.train).into_pairs();
    let corpus = corpus::read(config, &pairs)?;
    let pairs = with_negatives(pairs, &corpus, file)?;
    let (most, per_pair) = (pairs.iter().map(|pair| pair.negatives.len()).max(), config.rules().per_pair);
    if let Some(most) = most.filter(|most| *most > per_pair) {
        let message = format!("got {per_pair}, and {} has {most} of a pair", file.display());
        return Err(wb_core::Error::value("negatives.per_pair", message)
            .with_hint(format!("negatives.per_pair={most}"))
            .into());
    }
    prepared.train = PairSet::new(pairs)?;
    Ok(())
}

/// Fingerprint of all that decides the negatives: the pairs, the section but for what changes nothing, and what ranks.
fn fingerprint(
    experiment: &Experiment,
    data: &ExperimentPairs,
    config: &MiningConfig,
    ranker: &MiningRanker,
    stronger: Option<&Stronger<'_>>,
) -> Result<Fingerprint> {
    let decides = MiningConfig { ram: MiningConfig::default().ram, ..config.clone() };
    let mut all = Fingerprint::builder();
    all.text(&this_code()).text("negatives").number(experiment.seed.0).text(data.fingerprint.as_str());
    all.text(Fingerprint::of_json(&decides).as_str()).text(ranker.fingerprint(experiment)?.as_str());
    if let Some(corpus) = &config.corpus {
        all.text(Fingerprint::of_file(corpus)?.as_str());
    }
    if let Some(stronger) = stronger {
        all.text(stronger.fingerprint()?.as_str());
    }
    Ok(all.finish())
}

fn bytes_of(pair: &wb_core::Pair) -> u64 {
    (pair.anchor.len() + pair.positive.len() + 300) as u64
}

/// One search: what is looked for, in what, by which rules.
struct Search<'a> {
    experiment: &'a Experiment,
    config: &'a MiningConfig,
    texts: &'a MiningTexts<'a>,
    /// Bytes of memory that texts take.
    taken: u64,
    /// A source of scores that decide in place of the ranker's.
    stronger: Option<&'a Stronger<'a>>,
    /// The first of the queries that are mined for, and the end; none for all.
    queries: Option<[usize; 2]>,
}

impl Search<'_> {
    fn mined(
        &self,
        ranker: &mut MiningRanker,
        datasets: &Path,
        candidates: Option<&Path>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<MinedNegatives> {
        let (texts, config) = (self.texts, self.config);
        let rules = config.rules();
        let given = match self.stronger {
            Some(stronger) => stronger.read(texts)?,
            None => None,
        };
        let rescore = given.as_ref().map(|given| given as &dyn Rescorer);
        let rescore = rescore.or_else(|| self.stronger?.cross_encoder());
        let setup = MiningSetup::new(&rules, self.experiment.seed);
        let mining = MiningSetup { rescore, queries: self.queries, ..setup };
        let (_, depth) = rules.depth(texts.most_pairs(), texts.most_never(), rescore.is_some());
        ranker.with_source(self, depth, datasets, progress, |source, progress| match candidates {
            None => Ok(mine_from(texts, source, &mining, None, progress)?),
            Some(path) => {
                let mut mined = None;
                files::write_candidates(path, texts, |each| {
                    let mut watch = |query: usize, candidates: &[NegativeCandidate]| {
                        each(query, candidates).map_err(wb_core::Error::io("write", path))
                    };
                    mined = Some(mine_from(texts, source, &mining, Some(&mut watch), progress)?);
                    Ok(())
                })?;
                mined.context("the search ended without a result")
            }
        })
    }
}
