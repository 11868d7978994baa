//! All steps of a training, before it starts: which pairs each sees, in which stage, and how many steps there are.

use wb_core::{Error, Result, Seed, records::journal::StageRecord};

use super::{
    config::TrainConfig,
    curriculum::{TrainStage, Until, stages},
    epochs::Epochs,
    table::PairTable,
};

/// Less than the shortest step of any epoch, more than fractions of epochs are off by.
const EPSILON: f64 = 1e-9;

/// One optimizer step to come.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedStep {
    /// Its batches; more than one where gradients are accumulated.
    pub batches: Vec<Vec<u32>>,
    /// Epochs done after it, with a fraction.
    pub epoch: f64,
    /// Its stage, as a position in [`TrainPlan::stages`].
    pub stage: usize,
}

/// All steps.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainPlan {
    /// The steps in order; step 1 is `steps[0]`.
    pub steps: Vec<PlannedStep>,
    /// The stages; one without a name where there is no curriculum.
    pub stages: Vec<TrainStage>,
    /// Pairs that no batch of an epoch holds, by epoch.
    pub left_out: Vec<usize>,
    /// Notes for the user: data sets with a weight and no pairs, stages that are not reached.
    pub notes: Vec<String>,
}

impl TrainPlan {
    /// Plans stage after stage until the stages, the epochs or the steps are done. No step at all is an error.
    /// Accumulation does not reach over the end of an epoch: the last step of an epoch may average fewer batches.
    pub fn new(table: &PairTable<'_>, config: &TrainConfig, seed: Seed) -> Result<Self> {
        config.check_present(table.datasets())?;
        let stages = stages(config, table.datasets())?;
        let total = if needs_total(&stages) { Some(all_steps(table, config, seed)?) } else { None };
        let end = End { total, epochs: config.epochs as f64, limit: limit(config) };
        let mut plan =
            Self { steps: Vec::new(), stages, left_out: Vec::new(), notes: config.mix.absent(table.datasets()) };
        let mut epochs = Epochs::new(table, config, seed);
        for number in 0..plan.stages.len() {
            let stage = &plan.stages[number];
            let begin = plan.len();
            epochs.enter(&stage.datasets);
            while !end.is_reached(stage.until, plan.steps.len() as u64, epochs.position()) {
                let batches = epochs.next_step()?;
                plan.steps.push(PlannedStep { batches, epoch: epochs.position(), stage: number });
            }
            if plan.steps.len() as u64 == begin {
                if begin < end.limit {
                    return Err(no_steps(number, stage, begin));
                }
                plan.notes.push(format!("stage `{}` is not reached: training ends at step {begin}", stage.name));
            }
        }
        plan.left_out = epochs.left_out;
        Ok(plan)
    }

    /// Number of steps.
    pub fn len(&self) -> u64 {
        self.steps.len() as u64
    }

    /// True where there are none; a plan that was made has some.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// The stages that are reached, for reports.
    pub fn records(&self, table: &PairTable<'_>) -> Vec<StageRecord> {
        let sizes = table.dataset_sizes();
        let record = |(number, stage): (usize, &TrainStage)| {
            let first = self.steps.iter().position(|step| step.stage == number)?;
            let last = self.steps.iter().rposition(|step| step.stage == number)?;
            Some(StageRecord {
                stage: number as u32,
                name: stage.name.clone(),
                first_step: first as u64 + 1,
                last_step: last as u64 + 1,
                epoch: self.steps[last].epoch,
                datasets: stage.datasets.iter().map(|set| table.datasets()[*set].clone()).collect(),
                pairs: stage.datasets.iter().map(|set| sizes[*set] as u64).sum(),
                negatives: stage.negatives as u64,
                scale: stage.loss.scale(),
                learning_rate_factor: stage.rate_factor,
                max_tokens: stage.max_tokens.map(|most| [most.query as u64, most.document as u64]),
            })
        };
        self.stages.iter().enumerate().filter_map(record).collect()
    }
}

/// The limits that stages end at.
struct End {
    /// All steps, where a stage counts in shares of them.
    total: Option<u64>,
    epochs: f64,
    limit: u64,
}

impl End {
    fn is_reached(&self, until: Option<Until>, steps: u64, epochs: f64) -> bool {
        let done = match (until, self.total) {
            (Some(Until::Steps(end)), _) => steps >= end,
            (Some(Until::Epochs(end)), _) => epochs >= end - EPSILON,
            (Some(Until::Share(share)), Some(total)) => steps >= (share * total as f64).round() as u64,
            (_, Some(total)) => steps >= total,
            (_, None) => epochs >= self.epochs - EPSILON,
        };
        done || steps >= self.limit
    }
}

fn limit(config: &TrainConfig) -> u64 {
    if config.max_steps == 0 { u64::MAX } else { config.max_steps }
}

/// True where the number of all steps decides where a stage ends: it counts in shares, or goes on to the end
/// while epochs of different data sets are of different length.
fn needs_total(stages: &[TrainStage]) -> bool {
    let in_shares = stages.iter().any(|stage| matches!(stage.until, Some(Until::Share(_))));
    let to_the_end = stages.last().is_some_and(|stage| stage.until.is_none());
    in_shares || (to_the_end && stages.iter().any(|stage| stage.datasets != stages[0].datasets))
}

/// The steps of a training without stages on all data sets.
fn all_steps(table: &PairTable<'_>, config: &TrainConfig, seed: Seed) -> Result<u64> {
    let mut epochs = Epochs::new(table, config, seed);
    epochs.enter(&(0..table.datasets().len()).collect::<Vec<usize>>());
    let end = End { total: None, epochs: config.epochs as f64, limit: limit(config) };
    let mut steps = 0;
    while !end.is_reached(None, steps, epochs.position()) {
        epochs.next_step()?;
        steps += 1;
    }
    Ok(steps)
}

fn no_steps(number: usize, stage: &TrainStage, begin: u64) -> Error {
    let message = format!("the stage `{}` has no steps: it ends where it begins, after step {begin}", stage.name);
    Error::value(format!("train.curriculum[{number}].until"), message)
        .with_hint("ends are counted from the beginning of training")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use wb_core::Pair;

    use super::*;
    use crate::train::{config::BatchFrom, curriculum::StageConfig, mix::MixConfig};

    /// 23 pairs, or as many as each data set says.
    fn pairs(sets: &[(&str, usize)]) -> Vec<Pair> {
        let of_set = |(name, count): &(&str, usize)| {
            let name = (*name).to_owned();
            (0..*count).map(move |i| {
                let (anchor, positive) = (format!("a{name}{i}"), format!("p{name}{i}"));
                let mut pair = Pair { id: format!("{name}{i}"), anchor, positive, ..Pair::default() };
                pair.origin.dataset.clone_from(&name);
                pair
            })
        };
        sets.iter().flat_map(of_set).collect()
    }

    fn plan_of(sets: &[(&str, usize)], change: impl FnOnce(&mut TrainConfig)) -> Result<TrainPlan> {
        let mut config = TrainConfig::default();
        config.batch.pairs = 4;
        config.epochs = 2;
        change(&mut config);
        config.validate("train")?;
        TrainPlan::new(&PairTable::in_memory(&pairs(sets), 0), &config, Seed(1))
    }

    fn plan(change: impl FnOnce(&mut TrainConfig)) -> Result<TrainPlan> {
        plan_of(&[("", 23)], change)
    }

    fn stages(json: &str) -> Vec<StageConfig> {
        serde_json::from_str(json).unwrap()
    }

    /// Number of steps of each stage.
    fn lengths(plan: &TrainPlan) -> Vec<usize> {
        (0..plan.stages.len()).map(|stage| plan.steps.iter().filter(|step| step.stage == stage).count()).collect()
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
        let error = plan_of(&[("big", 20), ("small", 3)], |_| {}).unwrap_err();
        assert!(error.to_string().ends_with("3 training pairs of `small` cannot fill one"), "{error}");
        let error = plan_of(&[("big", 20), ("small", 1)], |c| c.batch.drop_last = false).unwrap_err();
        let told = "train.batch.pairs: 2 pairs are needed for a batch, and 1 training pairs of `small` cannot fill one";
        assert_eq!(
            (error.to_string().as_str(), error.hint()),
            (told, Some("train.batch.from=all_datasets, or more pairs of it"))
        );
    }

    /// An optional source may be without pairs; a name that is misspelled leaves another one without a weight.
    #[test]
    fn a_weight_without_pairs_is_told_and_a_data_set_without_a_weight_refused() {
        let planned = |names: &[&str]| {
            let weights = names.iter().map(|name| ((*name).to_owned(), 1.0)).collect();
            plan_of(&[("a", 20), ("b", 20)], |c| c.mix = MixConfig::Weights(weights))
        };
        let (whole, with_absent) = (planned(&["a", "b"]).unwrap(), planned(&["a", "b", "go"]).unwrap());
        assert_eq!((&whole.steps, whole.notes.len()), (&with_absent.steps, 0));
        assert_eq!(with_absent.notes, ["train.mix.weights.go: no training pair is of this data set"]);
        let error = planned(&["a", "bb"]).unwrap_err();
        assert_eq!(error.to_string(), "train.mix.weights: the data set `b` has no weight");
    }

    #[test]
    fn stages_on_the_same_pairs_change_no_batch() {
        let whole = plan(|_| {}).unwrap();
        for curriculum in [
            r#"[{"name": "a", "until": {"share": 0.25}}, {"name": "b", "until": {"share": 0.5}}, {"name": "c"}]"#,
            r#"[{"name": "a", "until": {"steps": 3}}, {"name": "b", "until": {"epochs": 1}}, {"name": "c"}]"#,
            r#"[{"name": "a", "until": {"epochs": 0.5}}, {"name": "b", "until": {"epochs": 1.0}}, {"name": "c"}]"#,
        ] {
            let staged = plan(|c| c.curriculum = stages(curriculum)).unwrap();
            // 0.25·10 = 2.5 is rounded to 3, half an epoch of 5 steps ends with the third.
            assert_eq!(lengths(&staged), [3, 2, 5]);
            let same = staged.steps.iter().zip(&whole.steps).all(|(a, b)| a.batches == b.batches && a.epoch == b.epoch);
            assert!(same && staged.len() == whole.len());
        }
    }

    #[test]
    fn a_stage_takes_its_data_sets_and_all_steps_stay_what_they_are() {
        let sets = [("text", 40), ("code", 20)];
        let curriculum = r#"[{"name": "warm", "until": {"share": 0.5}, "datasets": ["text"]},
                             {"name": "all", "until": {"share": 0.8}},
                             {"name": "code", "datasets": ["code"], "negatives": 2, "temperature": 0.05}]"#;
        let plan = plan_of(&sets, |c| c.curriculum = stages(curriculum)).unwrap();
        // Two epochs of (40 + 20)/4 steps.
        assert_eq!(lengths(&plan), [15, 9, 6]);
        let from = |stage: usize, set: &str| {
            let all = pairs(&sets);
            let steps = plan.steps.iter().filter(|step| step.stage == stage);
            steps
                .flat_map(|step| step.batches.iter().flatten())
                .filter(|p| all[**p as usize].origin.dataset == set)
                .count()
        };
        assert_eq!((from(0, "code"), from(2, "text")), (0, 0));
        assert_eq!(from(1, "code") + from(1, "text"), 36);
        // One and a half epochs of text, 9 of 15 batches of both, and 6 of 5 batches of code.
        let ends: Vec<f64> =
            plan.records(&PairTable::in_memory(&pairs(&sets), 0)).iter().map(|stage| stage.epoch).collect();
        assert!(ends.iter().zip([1.5, 2.1, 3.3]).all(|(found, expected)| (found - expected).abs() < 1e-12), "{ends:?}");
        let records = plan.records(&PairTable::in_memory(&pairs(&sets), 0));
        assert_eq!((records[2].first_step, records[2].last_step, records[2].pairs), (25, 30, 20));
        assert_eq!((records[2].scale, records[0].scale, records[2].negatives), (Some(20.0), Some(20.0), 2));
        assert_eq!(records[1].datasets, ["text", "code"]);
    }

    #[test]
    fn stages_without_steps_are_errors_but_where_max_steps_cuts_them_off() {
        let curriculum = r#"[{"name": "a", "until": {"steps": 6}}, {"name": "b", "until": {"epochs": 1}}]"#;
        let error = plan(|c| c.curriculum = stages(curriculum)).unwrap_err();
        assert!(error.to_string().starts_with("train.curriculum[1].until: the stage `b` has no steps"), "{error}");
        let curriculum = r#"[{"name": "a", "until": {"steps": 6}}, {"name": "b"}]"#;
        let short = plan(|c| (c.curriculum, c.max_steps) = (stages(curriculum), 4)).unwrap();
        assert_eq!(
            (short.len(), short.notes.as_slice()),
            (4, &["stage `b` is not reached: training ends at step 4".to_owned()][..])
        );
        assert_eq!(short.records(&PairTable::in_memory(&pairs(&[("", 23)]), 0)).len(), 1);
    }

    #[test]
    fn batches_come_from_one_data_set_or_from_all() {
        let sets = [("big", 40), ("small", 8)];
        let all = pairs(&sets);
        let names = |batch: &Vec<u32>| -> BTreeSet<&str> {
            batch.iter().map(|pair| all[*pair as usize].origin.dataset.as_str()).collect()
        };
        let mixes = [
            (MixConfig::Proportional, 12),
            (MixConfig::RoundRobin, 4),
            (MixConfig::Temperature(2.0), 12),
            (MixConfig::Weights([("big".to_owned(), 1.0), ("small".to_owned(), 3.0)].into()), 12),
        ];
        for (mix, steps) in mixes {
            for from in [BatchFrom::OneDataset, BatchFrom::AllDatasets] {
                let plan = plan_of(&sets, |c| {
                    (c.mix, c.batch.from, c.epochs, c.batch.drop_last) = (mix.clone(), from, 3, false);
                });
                let plan = plan.unwrap();
                let kinds: Vec<usize> = plan.steps.iter().map(|step| names(&step.batches[0]).len()).collect();
                match from {
                    BatchFrom::OneDataset => {
                        assert!(kinds.iter().all(|kinds| *kinds == 1), "{mix:?}");
                        assert_eq!(plan.len(), 3 * steps, "{mix:?}");
                    }
                    BatchFrom::AllDatasets => assert!(kinds.iter().filter(|kinds| **kinds == 2).count() > 3, "{mix:?}"),
                }
                for batch in plan.steps.iter().flat_map(|step| &step.batches) {
                    assert_eq!(batch.iter().collect::<BTreeSet<_>>().len(), batch.len(), "a pair twice");
                }
            }
        }
    }

    #[test]
    fn larger_data_sets_go_on_where_they_stopped() {
        let sets = [("big", 24), ("small", 8)];
        // Each epoch takes 2 batches of each; after 3 epochs all of `big` was seen once.
        let plan = plan_of(&sets, |c| (c.mix, c.epochs) = (MixConfig::RoundRobin, 3)).unwrap();
        let mut seen: Vec<u32> = plan.steps.iter().flat_map(|s| s.batches[0].clone()).filter(|p| *p < 24).collect();
        seen.sort_unstable();
        assert_eq!(seen, (0..24).collect::<Vec<u32>>());
        assert_eq!(plan.left_out, [16, 16, 16]);
    }

    #[test]
    fn adding_a_data_set_does_not_change_the_batches_of_another() {
        let batches_of_b = |sets: &[(&str, usize)]| {
            let all = pairs(sets);
            let plan = plan_of(sets, |_| {}).unwrap();
            let batches = plan.steps.into_iter().flat_map(|step| step.batches);
            let ids = |batch: Vec<u32>| batch.iter().map(|pair| all[*pair as usize].id.clone()).collect::<Vec<_>>();
            batches.map(ids).filter(|ids| ids[0].starts_with('b')).collect::<Vec<_>>()
        };
        assert_eq!(batches_of_b(&[("a", 12), ("b", 20)]), batches_of_b(&[("b", 20), ("c", 8)]));
    }
}
