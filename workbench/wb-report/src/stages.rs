//! The stages of a curriculum: where they begin in the charts, and what each was, as a table.

use serde::Serialize;
use wb_core::records::journal::StageRecord;

use crate::{
    gather::RunContents,
    numbers::{count, fraction, significant},
};

/// Beginning of a stage in the journal.
#[derive(Debug, Clone, PartialEq)]
pub struct Begin {
    /// Its first step.
    pub step: f64,
    /// Its name.
    pub name: String,
}

/// The stages in the order of the journal; none where it has one stage only.
pub fn begins(run: &RunContents) -> Vec<Begin> {
    let mut begins: Vec<Begin> = Vec::new();
    let mut last = None;
    for record in &run.steps {
        if last != Some(record.stage) {
            last = Some(record.stage);
            let name = run.stages.iter().find(|stage| stage.stage == record.stage).map(|stage| stage.name.clone());
            let name = name.unwrap_or_else(|| format!("stage {}", u64::from(record.stage) + 1));
            begins.push(Begin { step: record.step as f64, name });
        }
    }
    if begins.len() > 1 { begins } else { Vec::new() }
}

/// A stage as a row.
#[derive(Debug, Serialize)]
pub struct StageView {
    name: String,
    steps: String,
    epochs: String,
    datasets: String,
    pairs: String,
    negatives: String,
    temperature: String,
    rate: String,
    lengths: String,
    loss: String,
    mrr: String,
}

/// The planned stages with what the journals say of them.
pub fn table(run: &RunContents) -> Vec<StageView> {
    run.stages.iter().map(|stage| row(run, stage)).collect()
}

fn row(run: &RunContents, stage: &StageRecord) -> StageView {
    let inside = |step: u64| (stage.first_step..=stage.last_step).contains(&step);
    let losses: Vec<f64> = run.steps.iter().filter(|record| inside(record.step)).map(|record| record.loss).collect();
    let finite = losses.iter().filter(|loss| loss.is_finite());
    let mean = finite.clone().sum::<f64>() / finite.count() as f64;
    let validated = run.validations.iter().rfind(|record| inside(record.step));
    let or = |text: Option<String>| text.unwrap_or_else(|| "–".to_owned());
    StageView {
        name: stage.name.clone(),
        steps: format!("{} to {}", count(stage.first_step), count(stage.last_step)),
        epochs: significant(stage.epoch, 3),
        datasets: stage.datasets.iter().filter(|name| !name.is_empty()).cloned().collect::<Vec<_>>().join(", "),
        pairs: count(stage.pairs),
        negatives: count(stage.negatives),
        temperature: or(stage
            .scale
            .map(|scale| format!("{} (scale {})", significant(1.0 / scale, 2), significant(scale, 3)))),
        rate: format!("× {}", significant(stage.learning_rate_factor, 2)),
        lengths: or(stage.max_tokens.map(|[query, document]| format!("{} / {}", count(query), count(document)))),
        loss: or(mean.is_finite().then(|| significant(mean, 3))),
        mrr: or(validated.map(|record| fraction(record.mrr))),
    }
}

#[cfg(test)]
mod tests {
    use wb_core::records::journal::StepRecord;

    use super::*;

    fn run(stages: &[u32]) -> RunContents {
        let step = |(at, stage): (usize, &u32)| StepRecord {
            step: at as u64 + 1,
            epoch: 0.0,
            stage: *stage,
            loss: 2.0,
            objectives: Default::default(),
            learning_rate: 0.1,
            grad_norm: 1.0,
            loss_scale: None,
            skipped: false,
            micro_tokens: None,
            pairs: 8,
            tokens: 80,
        };
        let named =
            StageRecord { stage: 1, name: "hard".into(), first_step: 3, last_step: 4, ..StageRecord::default() };
        RunContents {
            steps: stages.iter().enumerate().map(step).collect(),
            stages: vec![named],
            ..RunContents::default()
        }
    }

    #[test]
    fn stages_begin_where_the_journal_changes() {
        let begin = |step: f64, name: &str| Begin { step, name: name.into() };
        assert_eq!(begins(&run(&[0, 0, 1, 1])), [begin(1.0, "stage 1"), begin(3.0, "hard")]);
        assert!(begins(&run(&[0, 0])).is_empty());
        assert!(begins(&run(&[])).is_empty());
    }

    #[test]
    fn a_stage_that_was_not_reached_has_no_loss() {
        assert_eq!(table(&run(&[0, 0, 1, 1]))[0].loss, "2.00");
        assert_eq!(table(&run(&[0, 0]))[0].loss, "–");
    }
}
