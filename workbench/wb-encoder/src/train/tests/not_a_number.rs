//! A value that is no number stops training where it is met, and leaves every checkpoint as it was.

use std::collections::BTreeMap;

use super::*;
use crate::similarities::SimilarityConfig;

/// Every file under a folder, by its path.
fn files(folder: &Path) -> BTreeMap<std::path::PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => drop(found.insert(path.clone(), fs::read(&path).unwrap())),
        }
    }
    found
}

#[test]
fn the_batch_is_named() {
    let mut run = Run::new(config(|_| {}));
    let mut pairs = run.pairs.pairs().to_vec();
    pairs[40].positive = format!("p{}", POISON - 100);
    run.pairs = PairSet::new(pairs).unwrap();
    let mut bag = Bag::new();
    let error = run.train(&mut bag, false, &mut silent).unwrap_err();
    let told = error.to_string();
    let (step, message) = told.strip_prefix("training stopped at step ").unwrap().split_once(": ").unwrap();
    let step: u64 = step.parse().unwrap();
    assert!((1..=8).contains(&step), "the pair is met in the first epoch, not at step {step}");
    assert!(message.starts_with("the loss is NaN; pairs pair-"), "{message}");
    let listed = fs::read_to_string(run.path(&format!("checkpoints/failed-step-{step:06}.json"))).unwrap();
    assert!(listed.contains("\"pair-40\""));
    assert!(bag.parameters.iter().all(|p| p.values.floats().iter().all(|value| value.is_finite())));
    let steps: Vec<StepRecord> = records(&fs::read_to_string(run.path("metrics.jsonl")).unwrap());
    assert_eq!(steps.len() as u64, step - 1);
}

/// Step 14 goes wrong, after checkpoints of the steps 8 and 12.
#[test]
fn training_stops_and_writes_over_nothing() {
    let dot = |c: &mut TrainConfig| c.similarity = SimilarityConfig::Dot;
    type Case = (Wrong, fn(&mut TrainConfig), &'static str);
    let cases: [Case; 3] = [
        (Wrong::Embedding, |_| {}, "the loss is NaN"),
        (Wrong::Distance, dot, "the loss is inf"),
        (Wrong::Gradient, |_| {}, "the gradient norm is NaN"),
    ];
    for (what, change, expected) in cases {
        let reference = Run::new(config(change)).finish(false).0;
        let run = Run::new(config(change));
        let mut bag = Bag { broken: Some(Broken { pass: 14, what }), ..Bag::new() };
        let mut before = BTreeMap::new();
        let error = run.train(&mut bag, false, &mut |p| {
            if p.done == 13 {
                before = files(&run.path("checkpoints"));
            }
        });
        let error = error.unwrap_err();
        let message = error.to_string();
        assert!(message.starts_with(&format!("training stopped at step 14: {expected}")), "{message}");
        assert!(message.contains("pairs pair-"), "{message}");
        assert!(error.hint().unwrap().ends_with("the last checkpoint is as it was"));

        let names = run.checkpoints();
        for step in ["step-000008", "step-000012"] {
            assert!(names.contains(&step.to_owned()), "{expected}: {names:?}");
        }
        let failed = run.path("checkpoints/failed-step-000014.json");
        let mut after = files(&run.path("checkpoints"));
        let listed: Vec<Vec<String>> = serde_json::from_slice(&after.remove(&failed).unwrap()).unwrap();
        assert_eq!((listed.len(), listed[0].len()), (1, 8));
        assert!(before.len() > 8 && after == before, "{expected}: checkpoints were written over");
        // The weights at hand are those of step 13.
        let other = Run::new(config(change));
        let mut of_13 = Bag::new();
        other.train(&mut of_13, false, &mut |p| other.stop.store(p.done >= 13, Ordering::Relaxed)).unwrap();
        assert!(bag.weights() == of_13.weights(), "{expected}: the step was half done");
        // And where it does not go wrong again, training ends as if it never had.
        assert_eq!(run.finish(true).0, reference, "{expected}");
    }
}
