//! Stopped in the middle of a step: the rest of it is not computed, and after a resume it is as if nothing had been.

use super::*;
use crate::{native, train::step::tests::dropping};

/// A step of 2 batches of 16 texts, in parts of two texts: 32 passes forward. Training is stopped at every look in turn.
#[test]
fn no_further_part_begins_and_the_resumed_weights_are_the_same_to_the_last_bit() {
    let small = |c: &mut TrainConfig| {
        (c.max_steps, c.batch.accumulate, c.batch.micro_texts) = (3, 2, 2);
        c.validate = ValidateConfig { every: Every::Steps(2), pairs: 50 };
    };
    let reference = Run::new(config(small)).finish(false).0;
    let (mut within, mut stopped) = (0, [0; 4]);
    for look in 0.. {
        let mut run = Run::new(config(small));
        let mut bag = Bag::new();
        // Passes when the answer was yes for the first time.
        let at = Arc::new(AtomicUsize::new(usize::MAX));
        let (passes, seen, looks) = (Arc::clone(&bag.passes), Arc::clone(&at), AtomicUsize::new(0));
        run.asked = Some(Stop::asking(move || {
            let is_set = looks.fetch_add(1, Ordering::Relaxed) >= look;
            if is_set {
                seen.fetch_min(passes.load(Ordering::Relaxed), Ordering::Relaxed);
            }
            is_set
        }));
        let outcome = run.train(&mut bag, false, &mut silent).unwrap();
        if !outcome.stopped {
            assert_eq!(outcome.steps, 3);
            break;
        }
        let at = at.load(Ordering::Relaxed);
        assert_eq!(bag.passes.load(Ordering::Relaxed), at, "look {look}: a part began after the stop");
        stopped[outcome.steps as usize] += 1;
        // Two passes measure the weights before the first step, and two more after the second.
        within += usize::from(![2, 34, 66, 68, 100].contains(&at));
        let steps = fs::read_to_string(run.path("metrics.jsonl")).unwrap();
        assert_eq!(records::<StepRecord>(&steps).len() as u64, outcome.steps);
        run.asked = None;
        if look % 5 == 0 {
            assert_eq!(run.finish(true).0, reference, "stopped at look {look}");
        }
    }
    assert!(stopped[..3].iter().all(|times| *times > 45) && within > 120, "{stopped:?} {within}");
}

/// The passes of the processor end in the middle of a batch too, and such a backward pass adds nothing.
#[test]
fn a_pass_on_the_processor_ends_within_the_batch() {
    let texts: Vec<Vec<u32>> = (0..60u32).map(|text| (0..35).map(|at| (text * 7 + at * 3) % 50).collect()).collect();
    let batch = TokenBatch::new(texts.iter().map(Vec::as_slice));
    let mut backbone = native::open(dropping()).unwrap();
    let (whole, tape) = backbone.embed_tracked(&batch, None).unwrap();
    let mut expected = Gradients::zeros(backbone.parameters());
    backbone.backward(tape, whole.view(), &mut expected).unwrap();

    let from = |look: usize| {
        let looks = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&looks);
        (Stop::asking(move || counted.fetch_add(1, Ordering::Relaxed) >= look), looks)
    };
    // 2,100 tokens are eight groups of 256 and more.
    for look in 0..8 {
        backbone.watch(Stop::default());
        let (_, tape) = backbone.embed_tracked(&batch, None).unwrap();
        let mut gradients = Gradients::zeros(backbone.parameters());
        for pass in 0..4 {
            let (stop, looks) = from(look);
            backbone.watch(stop);
            let stopped = match pass {
                0 => backbone.embed(&batch).map(|_| ()),
                1 => backbone.embed_tokens(&batch).map(|_| ()),
                2 => backbone.embed_tracked(&batch, None).map(|_| ()),
                _ => break,
            };
            assert!(matches!(stopped, Err(Error::Stopped)), "pass {pass}, look {look}");
            assert!(looks.load(Ordering::Relaxed) > look);
        }
        let (stop, _) = from(look);
        backbone.watch(stop);
        let stopped = backbone.backward(tape, whole.view(), &mut gradients);
        assert!(matches!(stopped, Err(Error::Stopped)), "look {look}");
        assert!(gradients.iter().flatten().all(|g| *g == 0.0), "look {look}");
    }
    // Who is not stopped computes what it did.
    let (stop, looks) = from(1000);
    backbone.watch(stop);
    let (again, tape) = backbone.embed_tracked(&batch, None).unwrap();
    let mut gradients = Gradients::zeros(backbone.parameters());
    backbone.backward(tape, whole.view(), &mut gradients).unwrap();
    assert!(again == whole && gradients.iter().eq(expected.iter()));
    assert_eq!(looks.load(Ordering::Relaxed), 16);
}
