//! The work of an experiment, put together from its config and the sizes of its data.

use anyhow::Result;
use wb_encoder::{
    Folder,
    train::{
        TrainConfig, Until,
        curriculum::StageConfig,
        guide_cache::{ENTRY, GUIDE_CACHE},
        teacher::SAMPLE,
    },
};
use wb_retrieval::mining::{MiningConfig, MiningRetriever};

use super::{
    KnownData,
    estimate::{MiningWork, TrainingWork, Work},
    lengths::Lengths,
    sizes::{self, PairCounts},
};
use crate::{config::Experiment, steps::PlannedTraining};

/// The work of an experiment, and the sizes that it was reckoned from.
pub struct Planning {
    /// The stages' work.
    pub work: Work,
    /// Pairs; nothing where they are not known yet.
    pub sizes: Option<PairCounts>,
}

/// Puts the work together, of texts of these lengths, embeddings of so many numbers and the loss's guide.
pub fn planning(
    experiment: &Experiment,
    known: &KnownData<'_>,
    lengths: Lengths,
    dim: usize,
    guide: Option<&Folder>,
) -> Result<Planning> {
    let (reading, sizes) = match known.steps {
        Some(_) => (None, Some(PairCounts::prepared(known.folder)?)),
        None => {
            let data = experiment.data()?;
            let (reading, assumed) = sizes::sources(&data.sources)?;
            (Some(reading), known.pairs.or(assumed).map(|pairs| PairCounts::of(&data.split, pairs)))
        }
    };
    let training = sizes.map(|sizes| {
        let training = training(experiment, sizes, known.steps);
        guided(training, experiment, sizes, [dim, guide.map_or(dim, Folder::dim)])
    });
    let steps = training.as_ref().map_or(0.0, TrainingWork::steps);
    let work = Work {
        lengths: Some(lengths),
        data: reading,
        mining: sizes.and_then(|sizes| mining(experiment, sizes, steps)),
        benches: sizes::benches(experiment, sizes.map(|sizes| sizes.test))?,
        training,
        dim: dim as f64,
        by_tokens: experiment.train.similarity.of_tokens().is_some(),
    };
    Ok(Planning { work, sizes })
}

fn training(experiment: &Experiment, sizes: PairCounts, planned: Option<&PlannedTraining>) -> TrainingWork {
    let train = &experiment.train;
    let stages = match planned {
        Some(planned) => {
            planned.stages().into_iter().map(|(steps, negatives)| (steps as f64, negatives as f64)).collect()
        }
        // Pairs that are not read yet are taken to bring no negatives of their own.
        None => stages(train, sizes.train, experiment.mined_per_pair().unwrap_or(0)),
    };
    let steps: f64 = stages.iter().map(|(steps, _)| steps).sum();
    let limit = |most: usize| if most == 0 { f64::INFINITY } else { most as f64 };
    let every = train.validate.every.steps(whole(steps)) as f64;
    TrainingWork {
        stages,
        pairs: train.batch.pairs as f64,
        together: experiment.reads_pairs(),
        accumulate: train.batch.accumulate as f64,
        part: (limit(train.batch.micro_tokens.at_first()), limit(train.batch.micro_texts)),
        objectives: !train.objectives.weights().is_empty(),
        guide: train.loss.needs().guide,
        guide_pairs: f64::INFINITY,
        sampled: 0.0,
        // Before the first step too, and after the last.
        validations: ((steps / every).ceil() + 1.0, sizes.validation.min(train.validate.pairs as f64)),
    }
}

/// Adds the work of a guide whose vectors have `width` numbers, for a model of `dim`: a sample to shorten them, and each text
/// once where they are kept.
fn guided(work: TrainingWork, experiment: &Experiment, sizes: PairCounts, [dim, width]: [usize; 2]) -> TrainingWork {
    let shortened = experiment.train.loss.needs().guide_dim && width > dim;
    let kept = if shortened { dim } else { width };
    let texts = sizes.train * (2.0 + work.most_negatives() as f64);
    let fits = texts * (4 * kept + ENTRY) as f64 <= GUIDE_CACHE as f64;
    TrainingWork {
        guide_pairs: if fits { sizes.train } else { f64::INFINITY },
        sampled: if shortened { (2.0 * sizes.train).min(SAMPLE as f64) } else { 0.0 },
        ..work
    }
}

/// Steps of each stage with its hard negatives, as they follow from the number of pairs alone.
fn stages(train: &TrainConfig, pairs: f64, brought: usize) -> Vec<(f64, f64)> {
    let a_step = (train.batch.pairs * train.batch.accumulate) as f64;
    let an_epoch = (pairs / a_step).floor().max(1.0);
    let limit = if train.max_steps == 0 { f64::INFINITY } else { train.max_steps as f64 };
    let total = (an_epoch * train.epochs as f64).min(limit);
    if train.curriculum.is_empty() {
        return vec![(total, train.negatives.min(brought) as f64)];
    }
    let mut begin = 0.0;
    let stage = |stage: &StageConfig| {
        let end = match stage.until {
            Some(Until::Share(share)) => (share * total).round(),
            Some(Until::Epochs(epochs)) => epochs * an_epoch,
            Some(Until::Steps(steps)) => steps as f64,
            None => total,
        };
        let steps = (end.min(limit) - begin).max(0.0);
        begin += steps;
        (steps, stage.negatives.unwrap_or(train.negatives).min(brought) as f64)
    };
    train.curriculum.iter().map(stage).collect()
}

/// Nothing is mined where neither a section nor a refresh asks for it.
fn mining(experiment: &Experiment, sizes: PairCounts, steps: f64) -> Option<MiningWork> {
    let refreshes = experiment.train.refresh.map_or(0.0, |refresh| {
        let every = refresh.every.steps(whole(steps)) as f64;
        ((steps - 1.0) / every).floor().max(0.0) + f64::from(u8::from(refresh.at_start))
    });
    let mines = experiment.negatives.as_ref().is_some_and(|negatives| negatives.mined.is_none());
    let times = f64::from(u8::from(mines)) + refreshes;
    if times == 0.0 {
        return None;
    }
    let config = experiment.negatives.clone().unwrap_or_default();
    let given = config.vectors.is_some();
    let embeds = config.retriever == MiningRetriever::Encoder && !given;
    Some(MiningWork {
        pairs: sizes.train,
        embeds,
        by_own: config.encoder.is_none(),
        rescored: rescored(&config),
        times,
    })
}

/// Documents of each query that a cross-encoder reads.
fn rescored(config: &MiningConfig) -> f64 {
    let is_cross = config.rescore.as_ref().is_some_and(|rescore| rescore.cross_encoder().is_some());
    if is_cross { config.rules().depth(1, 1, true).1 as f64 } else { 0.0 }
}

/// A number of steps as it is planned with.
fn whole(steps: f64) -> u64 {
    steps.round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(json: &str) -> TrainConfig {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn steps_follow_from_pairs_batches_and_epochs() {
        let steps = |json: &str, pairs: f64| stages(&config(json), pairs, 3);
        assert_eq!(steps(r#"{"batch": {"pairs": 64}}"#, 1000.0), [(15.0, 3.0)]);
        assert_eq!(steps(r#"{"batch": {"pairs": 64, "accumulate": 4}, "epochs": 2}"#, 1000.0), [(6.0, 3.0)]);
        assert_eq!(steps(r#"{"batch": {"pairs": 64}, "max_steps": 10, "negatives": 1}"#, 1000.0), [(10.0, 1.0)]);
        // Fewer pairs than a batch are one step.
        assert_eq!(steps(r#"{"batch": {"pairs": 64}}"#, 30.0), [(1.0, 3.0)]);
    }

    /// The flagship: 1.9 million pairs by 256 are 7,421 steps an epoch.
    #[test]
    fn stages_share_the_steps() {
        let json = r#"{"batch": {"pairs": 64, "accumulate": 4}, "epochs": 3, "negatives": 31, "curriculum": [
            {"name": "easy", "until": {"epochs": 1}, "negatives": 3},
            {"name": "medium", "until": {"epochs": 2}, "negatives": 7},
            {"name": "hard", "until": {"epochs": 3}, "negatives": 15}]}"#;
        let found = stages(&config(json), 1.9e6, 31);
        assert_eq!(found, [(7421.0, 3.0), (7421.0, 7.0), (7421.0, 15.0)]);
        let half = r#"{"batch": {"pairs": 10}, "curriculum": [
            {"name": "a", "until": {"share": 0.5}, "negatives": 0}, {"name": "b"}]}"#;
        assert_eq!(stages(&config(half), 100.0, 15), [(5.0, 0.0), (5.0, 15.0)]);
        let short = r#"{"batch": {"pairs": 10}, "max_steps": 4, "curriculum": [
            {"name": "a", "until": {"steps": 6}}, {"name": "b"}]}"#;
        assert_eq!(stages(&config(short), 100.0, 0), [(4.0, 0.0), (0.0, 0.0)]);
    }
}
