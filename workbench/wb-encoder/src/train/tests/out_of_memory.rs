//! A device whose memory runs out: training goes on in smaller parts, with the result of these parts.

use super::*;

fn with_room(tokens: usize) -> Bag {
    Bag { room: Arc::new(AtomicUsize::new(tokens)), ..Bag::new() }
}

/// A bag that holds five tokens at once. The batches have sixteen, and their halves are of eight and of four.
fn small() -> Bag {
    with_room(5)
}

fn parts_of(micro_tokens: MicroTokens) -> TrainConfig {
    // Two batches a step: what the first added before the second was too much is forgotten.
    config(|c| (c.batch.micro_tokens, c.batch.accumulate) = (micro_tokens, 2))
}

#[test]
fn parts_are_halved_and_the_result_is_that_of_such_parts() {
    let reference = Run::new(parts_of(MicroTokens::Most(4))).finish(false).0;
    let run = Run::new(parts_of(MicroTokens::Auto));
    let outcome = run.train(&mut small(), false, &mut silent).unwrap();
    assert_eq!(outcome.warnings.len(), 2, "{:?}", outcome.warnings);
    assert!(outcome.warnings[1].contains("ran out in step 1, and training goes on in parts of 4 tokens"));
    let found = run.finish(true).0;
    assert_eq!((&found.weights, &found.validation), (&reference.weights, &reference.validation));
    let mut steps: Vec<StepRecord> = records(&found.metrics);
    assert!(steps.iter().all(|step| step.micro_tokens == Some(4)));
    steps.iter_mut().for_each(|step| step.micro_tokens = None);
    assert_eq!(steps, records::<StepRecord>(&reference.metrics));
}

/// The memory is short from the middle of the training on, and after a resume the parts are those of before.
#[test]
fn stopped_and_resumed_goes_on_in_the_same_parts() {
    let shrinks = |run: &Run, stop: u64| {
        run.train_until(6, false);
        let mut bag = small();
        run.train(&mut bag, true, &mut |p| run.stop.store(p.done >= stop, Ordering::Relaxed)).unwrap();
        run.stop.store(false, Ordering::Relaxed);
    };
    let reference = Run::new(parts_of(MicroTokens::Auto));
    shrinks(&reference, 20);
    let reference = reference.finish(true).0;
    let halved = records::<StepRecord>(&reference.metrics).into_iter().map(|step| step.micro_tokens);
    assert_eq!(halved.collect::<Vec<_>>(), [vec![None; 6], vec![Some(4); 14]].concat());

    let run = Run::new(parts_of(MicroTokens::Auto));
    shrinks(&run, 9);
    // With all the memory of the world, and no warning.
    let outcome = run.train(&mut Bag::new(), true, &mut silent).unwrap();
    assert!(outcome.warnings.is_empty(), "{:?}", outcome.warnings);
    assert_eq!(run.finish(true).0, reference);
}

#[test]
fn a_limit_of_the_config_is_kept_and_the_error_names_what_helps() {
    for (micro_tokens, room, helps) in [
        (MicroTokens::Most(0), 5, "train.batch.micro_tokens=auto"),
        (MicroTokens::Most(8), 5, "train.batch.micro_tokens=auto"),
        (MicroTokens::Auto, 0, "train.gradient_checkpointing=true"),
    ] {
        let run = Run::new(parts_of(micro_tokens));
        let error = run.train(&mut with_room(room), false, &mut silent).unwrap_err();
        let told = error.to_string();
        assert!(told.starts_with("training stopped at step 1: cannot use device `bag`: its memory ran out"), "{told}");
        assert!(told.ends_with("out of device memory allocating 64 bytes"), "{told}");
        assert!(error.hint().unwrap().starts_with(helps), "{:?}", error.hint());
        assert!(!error.hint().unwrap().contains("--resume"), "no step was done: {:?}", error.hint());
    }
}

/// Steps that were done are kept, and the setting that the hint names goes on from them.
#[test]
fn steps_before_are_kept_and_go_on_in_parts() {
    let reference = Run::new(parts_of(MicroTokens::Auto));
    reference.train_until(7, false);
    reference.train(&mut small(), true, &mut silent).unwrap();
    let reference = reference.finish(true).0;

    let mut run = Run::new(parts_of(MicroTokens::Most(0)));
    let mut bag = Bag::new();
    let room = bag.room.clone();
    let shrinks = &mut |p: Progress| room.store(if p.done >= 7 { 5 } else { usize::MAX }, Ordering::Relaxed);
    let error = run.train(&mut bag, false, shrinks).unwrap_err();
    assert!(error.hint().unwrap().ends_with("; with --resume it goes on from step 7"), "{:?}", error.hint());
    run.config = parts_of(MicroTokens::Auto);
    run.train(&mut small(), true, &mut silent).unwrap();
    assert_eq!(run.finish(true).0, reference);
}
