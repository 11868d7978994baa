//! All steps of a training, before it starts: which pairs each sees, and how many steps there are.

use wb_core::{Error, Result, Seed};

use super::{config::TrainConfig, texts::PairTable};

/// One optimizer step to come.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedStep {
    /// Its batches; more than one where gradients are accumulated.
    pub batches: Vec<Vec<u32>>,
    /// Epochs done after it, with a fraction.
    pub epoch: f64,
}

/// All steps.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// In order; step 1 is `steps[0]`.
    pub steps: Vec<PlannedStep>,
    /// Pairs left out of each epoch; see [`super::sampler::EpochPlan::left_out`].
    pub left_out: Vec<usize>,
}

impl Plan {
    /// Plans epoch after epoch until the epochs or the steps are done. No step at all is an error.
    /// Accumulation does not reach over the end of an epoch: the last step of an epoch may average fewer batches.
    pub fn new(table: &PairTable<'_>, config: &TrainConfig, seed: Seed) -> Result<Self> {
        let pairs = table.pair_texts();
        let batch = &config.batch;
        let mut plan = Self { steps: Vec::new(), left_out: Vec::new() };
        let limit = if config.max_steps == 0 { u64::MAX } else { config.max_steps };
        'epochs: for epoch in 0..config.epochs {
            let of_epoch = batch.sampler.plan(&pairs, batch.pairs, batch.drop_last, seed, epoch);
            if of_epoch.batches.is_empty() {
                return Err(no_batch(table.len(), config));
            }
            plan.left_out.push(of_epoch.left_out);
            let count = of_epoch.batches.len();
            let mut batches = of_epoch.batches.into_iter();
            let mut done = 0;
            while done < count {
                if plan.steps.len() as u64 == limit {
                    break 'epochs;
                }
                let batches: Vec<Vec<u32>> = batches.by_ref().take(batch.accumulate).collect();
                done += batches.len();
                plan.steps.push(PlannedStep { batches, epoch: epoch as f64 + done as f64 / count as f64 });
            }
        }
        Ok(plan)
    }

    /// How many steps.
    pub fn len(&self) -> u64 {
        self.steps.len() as u64
    }

    /// Whether there are none; a plan that was made has some.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }
}

fn no_batch(pairs: usize, config: &TrainConfig) -> Error {
    let message =
        format!("{} pairs are needed for a batch, and {pairs} training pairs cannot fill one", config.batch.pairs);
    Error::value("train.batch.pairs", message).with_hint("a smaller train.batch.pairs, or train.batch.drop_last=false")
}

#[cfg(test)]
mod tests {
    use wb_core::Pair;

    use super::*;

    fn plan(change: impl FnOnce(&mut TrainConfig)) -> Result<Plan> {
        let pair = |i: usize| Pair {
            id: i.to_string(),
            anchor: format!("a{i}"),
            positive: format!("p{i}"),
            ..Pair::default()
        };
        let pairs: Vec<Pair> = (0..23).map(pair).collect();
        let mut config = TrainConfig::default();
        config.batch.pairs = 4;
        config.epochs = 2;
        change(&mut config);
        Plan::new(&PairTable::new(&pairs, 0), &config, Seed(1))
    }

    #[test]
    fn steps_are_counted_exactly() {
        // 23 pairs give 5 full batches and 3 pairs over.
        let whole = plan(|_| {}).unwrap();
        assert_eq!((whole.len(), whole.left_out.as_slice()), (10, &[3, 3][..]));
        assert_eq!(whole.steps[4].epoch, 1.0);
        assert_eq!(whole.steps[9].epoch, 2.0);
        assert_eq!(plan(|c| c.batch.drop_last = false).unwrap().len(), 12);
        let accumulated = plan(|c| c.batch.accumulate = 2).unwrap();
        let sizes: Vec<usize> = accumulated.steps.iter().map(|step| step.batches.len()).collect();
        assert_eq!(sizes, [2, 2, 1, 2, 2, 1]);
        assert_eq!(plan(|c| c.max_steps = 7).unwrap().steps, whole.steps[..7]);
    }

    #[test]
    fn too_few_pairs_are_an_error() {
        let error = plan(|c| c.batch.pairs = 24).unwrap_err();
        assert!(error.to_string().starts_with("train.batch.pairs: 24 pairs are needed"), "{error}");
    }
}
