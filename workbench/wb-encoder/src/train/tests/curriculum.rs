//! Stages, data sets, prompts, averages and refreshed negatives, seen from the end of a training.

use wb_core::records::journal::StageRecord;

use super::*;

fn stages(json: &str) -> Vec<StageConfig> {
    serde_json::from_str(json).unwrap()
}

#[test]
fn the_journal_and_the_list_of_stages_show_the_stage_at_every_step() {
    let mut run = Run::new(config(|c| {
        c.schedule = ScheduleConfig::Constant(Warmup { warmup_steps: Some(0), ..Warmup::default() });
        c.curriculum = stages(
            r#"[{"name": "short", "until": {"share": 0.25}, "max_tokens": {"query": 1, "document": 1}},
                {"name": "long", "until": {"steps": 12}, "learning_rate_factor": 0.5, "scale": 10},
                {"name": "hard", "negatives": 2, "temperature": 0.05}]"#,
        );
    }));
    let words = |at: usize| Pair {
        negatives: (1..4).map(|other| format!("p{}", (at + other) % 64).into()).collect(),
        ..pair(at, format!("a{at} a{}", at + 10), format!("p{at} p{} p{}", at + 10, at + 20))
    };
    run.pairs = PairSet::new((0..64).map(words).collect()).unwrap();
    let (finished, _) = run.finish(false);
    let steps: Vec<StepRecord> = records(&finished.metrics);
    assert_eq!(steps.iter().map(|step| step.stage).collect::<Vec<_>>(), [[0; 5].as_slice(), &[1; 7], &[2; 8]].concat());
    // 8 anchors, 8 positives and 24 hard negatives: of one token each, whole (2, 3 and 1 tokens), whole with two negatives.
    assert_eq!([0, 4, 5, 11, 12, 19].map(|at| steps[at].tokens), [40, 40, 64, 64, 56, 56]);
    assert_eq!([0, 4, 5, 11, 12, 19].map(|at| steps[at].learning_rate), [0.02, 0.02, 0.01, 0.01, 0.02, 0.02]);
    let listed: Vec<StageRecord> =
        serde_json::from_str(&fs::read_to_string(run.path("curriculum.json")).unwrap()).unwrap();
    let of = |stage: &StageRecord| (stage.first_step, stage.last_step, stage.negatives, stage.scale);
    assert_eq!(
        listed.iter().map(of).collect::<Vec<_>>(),
        [(1, 5, 15, Some(20.0)), (6, 12, 15, Some(10.0)), (13, 20, 2, Some(20.0))]
    );
    assert_eq!((listed[0].name.as_str(), listed[0].max_tokens, listed[1].max_tokens), ("short", Some([1, 1]), None));
    assert_eq!((listed[2].epoch, listed[2].pairs), (2.5, 64));
}

#[test]
fn a_lower_temperature_is_what_the_loss_gets() {
    let first_loss = |change: fn(&mut TrainConfig)| {
        let mut config = config(|c| (c.max_steps, c.dropout) = (1, false));
        change(&mut config);
        let finished = Run::new(config).finish(false).0;
        records::<StepRecord>(&finished.metrics)[0].loss
    };
    let by_stage = first_loss(|c| c.curriculum = stages(r#"[{"name": "a", "temperature": 0.1}]"#));
    let by_loss = first_loss(|c| c.loss = c.loss.with_scale(10.0).unwrap());
    assert_eq!(by_stage, by_loss);
    assert_ne!(by_stage, first_loss(|_| {}));
}

#[test]
fn prompts_are_tokenized_with_the_texts_of_their_data_set_and_column() {
    let mut run = Run::new(config(|c| {
        (c.max_steps, c.epochs) = (16, 2);
        c.prompts = serde_json::from_str(
            r#"{"query": "a90 ", "datasets": {"odd": {"query": "a91 a92 ", "document": "p93 "}}}"#,
        )
        .unwrap();
    }));
    let mut pairs = apart().pairs().to_vec();
    pairs.iter_mut().enumerate().for_each(|(at, pair)| pair.origin.dataset = ["even", "odd"][at % 2].to_owned());
    run.pairs = PairSet::new(pairs).unwrap();
    let log = run.path("log");
    let mut bag = Bag { log: Some(fs::File::create(&log).unwrap().into()), ..Bag::new() };
    run.train(&mut bag, false, &mut silent).unwrap();
    let (mut odd, mut even) = (0, 0);
    for line in fs::read_to_string(&log).unwrap().lines() {
        let ids: Vec<u32> = serde_json::from_str(line).unwrap();
        // 8 pairs of one data set: queries of 1 + 1 or 2 + 1 tokens, documents of 1 or 1 + 1.
        if ids.len() == 8 * 3 {
            assert!((0..8).all(|at| ids[2 * at] == 90 && ids[2 * at + 1].is_multiple_of(2)));
            assert!((16..24).all(|at| ids[at] >= 100 && ids[at].is_multiple_of(2)));
            even += 1;
        } else {
            assert!((0..8).all(|at| ids[3 * at..3 * at + 2] == [91, 92] && ids[3 * at + 2] % 2 == 1));
            assert!((0..8).all(|at| ids[24 + 2 * at] == 193 && ids[25 + 2 * at] % 2 == 1));
            odd += 1;
        }
    }
    assert_eq!((odd, even), (8, 8));
    run.config.prompts = serde_json::from_str(r#"{"datasets": {"od": {}}}"#).unwrap();
    let error = Run { folder: Folder::new(), ..run }.train(&mut Bag::new(), false, &mut silent).unwrap_err();
    assert!(error.to_string().starts_with("train.prompts.datasets.od: there is no data set `od`"), "{error}");
}

#[test]
fn the_average_is_what_is_validated_and_kept() {
    let train = |keep, ema| {
        let run = Run::new(config(|c| (c.keep, c.ema) = (keep, ema)));
        let mut bag = Bag::new();
        run.train(&mut bag, false, &mut silent).unwrap();
        let read = |name: &str| fs::read(run.path("checkpoints/step-000020").join(name));
        (
            bag,
            read("weights.safetensors").unwrap(),
            read("average.safetensors").ok(),
            records::<ValidationRecord>(&fs::read_to_string(run.path("validation.jsonl")).unwrap()),
        )
    };
    let (plain, weights, none, plain_validations) = train(Keep::Last, 0.0);
    assert!(none.is_none());
    let (averaged, same_weights, average, validations) = train(Keep::Last, 0.9);
    // The weights go their way as without an average.
    assert_eq!(weights, same_weights);
    assert_ne!(plain.weights(), averaged.weights());
    assert_eq!(validations[0].mrr, plain_validations[0].mrr);
    assert_ne!(validations[3].loss, plain_validations[3].loss);
    // What is left in the model is what the checkpoint says, also where the best one is asked for.
    let held = |bytes: &[u8]| {
        let tensors = safetensors::SafeTensors::deserialize(bytes).unwrap();
        let data = tensors.tensor("embeddings.weight").unwrap().data().to_vec();
        data.chunks_exact(4).map(|four| u32::from_le_bytes(four.try_into().unwrap())).collect::<Vec<u32>>()
    };
    assert_eq!(averaged.weights()[..WORDS * DIM], held(&average.unwrap()));
    let (best, _, average, validations) = train(Keep::Best, 0.9);
    assert!(validations.last().unwrap().best, "the last is the best here");
    assert_eq!(best.weights()[..WORDS * DIM], held(&average.unwrap()));
}

#[test]
fn refreshed_negatives_are_those_of_the_weights_at_hand() {
    let run = Run::new(config(|c| {
        c.negatives = 2;
        c.refresh = Some(RefreshConfig { every: Every::Steps(5), at_start: true });
    }));
    let (finished, outcome) = run.finish(false);
    let steps: Vec<StepRecord> = records(&finished.metrics);
    assert!(steps.iter().all(|step| step.tokens == 8 * 4), "two of the three negatives that were mined");
    assert_eq!(outcome.short_of_negatives, 0);
    let left: Vec<String> = run.checkpoints().into_iter().filter(|name| name.starts_with("negatives")).collect();
    assert!(left.contains(&"negatives-000015.json".to_owned()), "{left:?}");
    let without = Run::new(config(|c| c.refresh = Some(RefreshConfig { every: Every::Steps(5), at_start: false })));
    let steps: Vec<StepRecord> = records(&without.finish(false).0.metrics);
    let tokens: Vec<u64> = steps.iter().map(|step| step.tokens).collect();
    assert_eq!(tokens, [[16; 5].as_slice(), &[40; 15]].concat());
}

#[test]
fn pairs_that_are_read_from_the_disk_train_the_same() {
    let changes: [fn(&mut TrainConfig); 2] =
        [|_| {}, |c| c.refresh = Some(RefreshConfig { every: Every::Steps(5), at_start: true })];
    for change in changes {
        let memory = Run::new(config(change)).finish(false);
        let run = Run { streamed: true, ..Run::new(config(change)) };
        assert_eq!(run.finish(false).0, memory.0);
        assert!(!run.path("checkpoints/training-texts").exists());
        // Where one reads does not matter for going on.
        let run = Run { streamed: true, ..Run::new(config(change)) };
        run.train_until(11, false);
        assert_eq!(Run { streamed: false, ..run }.finish(true).0, memory.0);
    }
}

/// Batch 32 equals 8 parts of 4 pairs through cached gradients, over a whole training.
#[test]
fn a_batch_in_parts_trains_like_the_whole_batch() {
    let train = |micro_tokens: usize| {
        let run = Run::new(config(|c| {
            (c.batch.pairs, c.batch.micro_tokens, c.dropout, c.keep) =
                (32, MicroTokens::Most(micro_tokens), false, Keep::Last);
        }));
        let mut bag = Bag::new();
        run.train(&mut bag, false, &mut silent).unwrap();
        let losses: Vec<f64> = records::<StepRecord>(&fs::read_to_string(run.path("metrics.jsonl")).unwrap())
            .iter()
            .map(|s| s.loss)
            .collect();
        (bag.parameters.at(0).values.floats().into_owned(), losses)
    };
    let (whole, losses) = train(0);
    // 64 texts of one token each: 8 parts of 8 texts.
    let (parts, same) = train(8);
    assert!(losses.iter().zip(&same).all(|(a, b)| (a - b).abs() <= 1e-6), "{losses:?} {same:?}");
    assert!(whole.iter().zip(&parts).all(|(a, b)| (a - b).abs() <= 1e-5));
}
