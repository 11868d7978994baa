//! Asks for a label of every candidate, and of the gold set, with the same words.

use std::{collections::BTreeMap, path::Path};

use serde_json::Value;
use wb_core::{Error, Seed, fingerprint::Fingerprint, json_lines, records::data::Gate};
use wb_llm::{Answer, LlmQuestion, Reply};

use super::{Desk, Stage, candidate::Candidate, desk::reason, gates::gate};
use crate::{
    Result,
    calibration::{Calibration, Gold},
    config::JudgeConfig,
    prompts::{PromptSet, judge_schema},
    provenance::AskedQuestion,
    tasks::TaskCatalog,
};

/// The candidates whose label is one of those that stay. One that nobody judged does not stay.
pub(super) fn run(
    config: &JudgeConfig,
    stage: &Stage,
    prompts: &PromptSet,
    mut candidates: Vec<Candidate>,
    desk: &mut Desk,
    gates: &mut Vec<Gate>,
) -> Result<Vec<Candidate>> {
    let replies = desk.ask("judging pairs", candidates.len(), &|at| {
        let candidate = &candidates[at];
        let (query, document) = (&candidate.query, &candidate.document);
        let nonce = stage.nonce(candidate.item, &[query, document]);
        Ok(LlmQuestion {
            recipe: prompts.recipe(stage.items[candidate.item].task, "judge"),
            item: stage.snippets[stage.items[candidate.item].snippet].id.clone(),
            sample: candidate.sample,
            messages: prompts.judge(stage.task_of(candidate), query, document, &nonce),
            sampling: config.sampling(),
            schema: Some(judge_schema()),
        })
    })?;
    let mut reasons = Vec::with_capacity(candidates.len());
    for (candidate, reply) in candidates.iter_mut().zip(replies) {
        reasons.push(match reply {
            Reply::Rejected(rejection) => Some(reason(&rejection.reason)),
            Reply::Answered(answer) => {
                candidate.asked.push(AskedQuestion::of("judge", &answer));
                candidate.label = label(&answer);
                match candidate.label {
                    None => Some("a judgment of another form".into()),
                    Some(label) if config.keep.contains(&label) => None,
                    Some(label) => Some(format!("label {label}")),
                }
            }
        });
    }
    Ok(gate("judge", candidates, reasons, gates))
}

/// The label of a judgment: a map with the one key `label` and 0, 1 or 2 as its value. Anything else is no label.
pub fn label(answer: &Answer) -> Option<u8> {
    let parsed;
    let value = match &answer.value {
        Some(value) => value,
        None => {
            parsed = serde_json::from_str::<Value>(answer.text.trim()).ok()?;
            &parsed
        }
    };
    let map = value.as_object()?;
    let label = map.get("label")?.as_u64()?;
    if map.len() == 1 && label <= 2 { Some(label as u8) } else { None }
}

/// The judge's labels beside those of the gold set, where there is one.
pub(super) fn calibrate(
    config: &JudgeConfig,
    catalog: &TaskCatalog,
    prompts: &PromptSet,
    desk: &mut Desk,
    seed: Seed,
) -> Result<Option<Calibration>> {
    let Some(path) = &config.gold else { return Ok(None) };
    let golds: Vec<(usize, Gold)> = json_lines::read(path)?;
    let places: BTreeMap<String, usize> =
        catalog.tasks.iter().enumerate().map(|(at, chosen)| (chosen.name(), at)).collect();
    let mut asked = Vec::with_capacity(golds.len());
    let mut calibration = Calibration::default();
    for (line, gold) in &golds {
        if gold.label > 2 {
            let place = format!("{}:{line}", path.display());
            return Err(Error::data(place, format!("label {}, expected 0, 1 or 2", gold.label)));
        }
        match places.get(&gold.task) {
            Some(task) => asked.push((*line, gold, *task)),
            // A task that takes no part in this run.
            None => calibration.other_tasks += 1,
        }
    }
    let replies = desk.ask("judging the gold set", asked.len(), &|at| {
        let (line, gold, task) = asked[at];
        let Gold { query, document, .. } = gold;
        let nonce = Fingerprint::builder().number(seed.0).text(query).text(document).finish();
        Ok(LlmQuestion {
            recipe: prompts.recipe(task, "judge"),
            item: format!("{}:{line}", name(path)),
            sample: 0,
            messages: prompts.judge(&catalog.tasks[task], query, document, nonce.short()),
            sampling: config.sampling(),
            schema: Some(judge_schema()),
        })
    })?;
    for ((_, gold, _), reply) in asked.iter().zip(&replies) {
        let judged = match reply {
            Reply::Answered(answer) => label(answer),
            Reply::Rejected(_) => None,
        };
        calibration.add(gold.label, judged);
    }
    Ok(Some(calibration))
}

/// A file's name without its folder: the ledger's keys do not depend on where a checkout lies.
fn name(path: &Path) -> String {
    path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn answer(text: &str, value: Option<Value>) -> Answer {
        Answer { text: text.into(), value, ..Answer::default() }
    }

    #[test]
    fn only_a_label_is_a_label() {
        for (value, expected) in [
            (json!({"label": 1}), Some(1)),
            (json!({"label": 0}), Some(0)),
            (json!({"label": 3}), None),
            (json!({"label": -1}), None),
            (json!({"label": 1.0}), None),
            (json!({"label": "1"}), None),
            (json!({"label": 1, "why": "it fits"}), None),
            (json!([1]), None),
            (json!(1), None),
        ] {
            assert_eq!(label(&answer("", Some(value.clone()))), expected, "{value}");
        }
        assert_eq!(label(&answer(" {\"label\": 2}\n", None)), Some(2));
        assert_eq!(label(&answer("1", None)), None);
        assert_eq!(label(&answer("label: 1", None)), None);
    }

    proptest! {
        #[test]
        fn no_text_panics_or_passes_by_chance(text in any::<String>()) {
            prop_assert_eq!(label(&answer(&text, None)), None);
        }

        #[test]
        fn what_surrounds_a_label_spoils_it(before in "[a-z0-9{\\[\":, ]{1,8}", after in "[a-z0-9}\\]\":, ]{1,8}", number in 0_u8..=2) {
            let text = format!("{before}{{\"label\": {number}}}{after}");
            let plain = before.trim().is_empty() && after.trim().is_empty();
            prop_assert_eq!(label(&answer(&text, None)).is_some(), plain);
        }
    }
}
