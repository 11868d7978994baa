//! A teacher that is followed: by pairs, by texts without labels, and after a stop.

use super::*;

/// A teacher that gives the texts of a pair one vector, and those of different pairs others.
struct Knowing(usize);

impl wb_core::Encoder for Knowing {
    fn name(&self) -> String {
        "knowing".into()
    }

    fn dim(&self) -> usize {
        self.0
    }

    fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of_bytes(b"knowing")
    }

    fn encode(
        &self,
        texts: &[&str],
        _: Side,
        _: &mut dyn FnMut(Progress),
    ) -> Result<wb_core::Embeddings, Box<dyn std::error::Error + Send + Sync>> {
        let number = |text: &str| text[1..].parse::<u64>().unwrap();
        let rows = texts.iter().map(|text| Seed(number(text)).stream("knowing"));
        let values: Vec<f32> = rows.flat_map(|mut rng| (0..self.0).map(move |_| rng.random_range(-1.0..1.0))).collect();
        Ok(wb_core::Embeddings::of_values(values, self.0, None)?)
    }
}

/// The texts of the 64 pairs, none of which tells what it belongs to.
fn texts() -> PairSet {
    let pairs = apart();
    let texts = pairs.pairs().iter().flat_map(|pair| [pair.anchor.clone(), pair.positive.clone()]).enumerate();
    PairSet::new(texts.map(|(at, text)| pair(at, text, String::new())).collect()).unwrap()
}

fn distill(by: &str, change: impl FnOnce(&mut TrainConfig)) -> Run {
    let loss = format!(r#"{{"distill_embeddings": {{"teacher": {{"id": "knowing"}}, "by": "{by}"}}}}"#);
    let mut run = Run::new(config(|c| {
        c.loss = serde_json::from_str(&loss).unwrap();
        change(c);
    }));
    run.guide = Some(Box::new(Knowing(DIM)));
    run
}

#[test]
fn what_the_teacher_knows_is_learned_from_pairs_and_from_texts_alone() {
    for by in ["cosine", "mse"] {
        for (pairs, batch) in [(apart(), 8), (texts(), 8), (texts(), 1)] {
            let mut run = distill(by, |c| (c.max_steps, c.batch.pairs) = (if batch == 1 { 800 } else { 200 }, batch));
            run.config.validate = ValidateConfig { every: Every::Share(1.0), pairs: 64 };
            run.pairs = pairs;
            let (finished, outcome) = run.finish(false);
            let validations: Vec<ValidationRecord> = records(&finished.validation);
            let [before, after] = [0, validations.len() - 1].map(|at| validations[at].loss.unwrap());
            assert!(validations[0].mrr < 0.2 && outcome.best_mrr > 0.95, "{by}, {batch}: {}", outcome.best_mrr);
            // 1 less the mean cosine to the teacher, or 2/dim of that.
            assert!(after < 0.1 * before, "{by}, {batch}: {before} {after}");
            let steps: Vec<StepRecord> = records(&finished.metrics);
            let texts = if run.pairs.len() == 64 { 2 } else { 1 };
            assert_eq!((steps[0].pairs, steps[0].tokens), (batch as u64, (texts * batch) as u64));
        }
    }
}

#[test]
fn texts_alone_stopped_and_resumed_equal_not_stopped() {
    let begin = || {
        let mut run =
            distill("mse", |c| (c.similarity, c.batch.accumulate) = (crate::similarities::SimilarityConfig::Dot, 2));
        (run.pairs, run.streamed) = (texts(), true);
        run
    };
    let reference = begin().finish(false);
    let run = begin();
    run.train_until(7, false);
    assert_eq!(run.finish(true).0, reference.0);
}

#[test]
fn what_cannot_be_followed_is_refused() {
    let refused = |run: &Run| run.train(&mut Bag::new(), false, &mut silent).unwrap_err();
    let mut run = distill("cosine", |_| {});
    run.guide = Some(Box::new(Knowing(DIM - 1)));
    let error = refused(&run);
    assert!(error.to_string().starts_with("train.loss.teacher: its vectors have 15 numbers, and the model's have 16"));
    assert!(error.hint().is_some_and(|hint| hint.contains("a teacher with 16 numbers or more")), "{:?}", error.hint());
    run.guide = Some(Box::new(Knowing(DIM + 1)));
    assert_eq!(refused(&run).to_string(), "train.loss.teacher: its vectors have 17 numbers, and the model's have 16");
    run.guide = None;
    assert_eq!(refused(&run).to_string(), "train.loss: the loss asks a teacher, and there is none here");

    let mut run = Run::new(config(|_| {}));
    run.pairs = PairSet::new(apart().pairs().iter().chain(&texts().pairs()[64..67]).cloned().collect()).unwrap();
    let error = refused(&run);
    assert_eq!(error.to_string(), "pair pair-64: is a text without a label, as 3 of 67 are, and `mnrl` needs pairs");
    // With pairs they may be mixed, and hard negatives count only where there are pairs.
    let mut run = distill("cosine", |c| (c.max_steps, c.batch.drop_last) = (30, false));
    let mut pairs: Vec<Pair> = apart().pairs().iter().chain(&texts().pairs()[64..]).cloned().collect();
    (pairs[3].negatives, pairs[100].negatives) = (vec!["p9".into()], vec!["p9".into()]);
    run.pairs = PairSet::new(pairs).unwrap();
    let (finished, outcome) = run.finish(false);
    assert_eq!(outcome.short_of_negatives, 63);
    let steps: Vec<StepRecord> = records(&finished.metrics);
    // One text waits for a batch in which none is its equal, is alone in it, and is left out.
    let in_first_epoch = steps.iter().take_while(|step| step.epoch < 1.0 + 1e-9);
    assert_eq!((outcome.left_out[0], in_first_epoch.map(|step| step.tokens).sum::<u64>()), (1, 64 * 2 + 63 + 1));
}
