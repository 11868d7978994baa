//! The device beside the processor: together they compute what the processor does alone.

use wb_encoder::{
    Backbone, BurnBackbone, DeviceConfig, Dropout, Gradients, Pooling, Precision, SeveralBackbones, train::TrainConfig,
};

use crate::{
    own_process::{counts_memory, passes_alone},
    passes::{GRADIENTS, Loss, STATES, apart, batch, bert, model, norm, step},
    test_device,
    training::{HARD, config, losses, run},
};

#[test]
fn a_device_and_the_processor_share_a_batch() {
    let cpu = || DeviceConfig::Cpu.open().unwrap().open_backbone(model(bert(), Pooling::Mean, true)).unwrap();
    let other = BurnBackbone::new(model(bert(), Pooling::Mean, true), test_device().burn(), "test device").unwrap();
    let both = SeveralBackbones::new(vec![Box::new(other), cpu()]).unwrap();
    let batch = batch(&[9, 16, 3, 12, 5, 14]);
    for loss in [Loss::Embeddings, Loss::States] {
        let expected = step(&*cpu(), &batch, Some(Dropout { seed: 3 }), loss);
        let found = step(&both, &batch, Some(Dropout { seed: 3 }), loss);
        assert!(apart(&found.embeddings, &expected.embeddings) <= STATES);
        assert!(apart(&found.states, &expected.states) <= STATES);
        for (a, b) in found.gradients.iter().zip(expected.gradients.iter()).filter(|(a, _)| !a.is_empty()) {
            let size = norm(b.iter().map(|b| f64::from(*b)));
            let error = norm(a.iter().zip(b).map(|(a, b)| f64::from(a - b))) / size;
            assert!(error <= GRADIENTS, "{error:.2e} of {size:.2e}");
        }
    }
}

/// Losses with hard negatives, dropout and batches in parts, after each of six steps.
#[test]
fn a_device_and_the_processor_train_as_one() {
    for loss in [r#"{"mnrl": {}}"#, r#"{"triplet": {}}"#, r#"{"matryoshka": {"dims": [16, 8], "loss": {"mnrl": {}}}}"#]
    {
        let mut config = TrainConfig { negatives: HARD, max_steps: 6, ..config(Precision::Fp32) };
        config.loss = serde_json::from_str(loss).unwrap();
        config.batch.micro_texts = 7;
        let of = |backbone: &mut dyn Backbone| {
            let folder = tempfile::tempdir().unwrap();
            run(backbone, folder.path(), false, &config);
            losses(folder.path())
        };
        let cpu = || DeviceConfig::Cpu.open().unwrap().open_backbone(model(bert(), Pooling::Mean, true)).unwrap();
        let other = BurnBackbone::new(model(bert(), Pooling::Mean, true), test_device().burn(), "test device").unwrap();
        let alone = of(&mut *cpu());
        let together = of(&mut SeveralBackbones::new(vec![Box::new(other), cpu()]).unwrap());
        let apart = alone.iter().zip(&together).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        eprintln!("{}: {loss}: losses {apart:.1e} apart of {:.3}", test_device().description, alone[5]);
        assert!(alone.len() == 6 && together.len() == 6 && apart <= 1e-5, "{loss}: {alone:?}, together {together:?}");
    }
}

/// Each pass has a thread of its own for each device: what that leaves on the device is taken again by the next.
#[test]
fn threads_that_have_ended_keep_no_memory() {
    passes_alone("several::forty_passes");
}

#[test]
#[ignore = "run by threads_that_have_ended_keep_no_memory in a process of its own"]
fn forty_passes() {
    let device = test_device();
    if !counts_memory(&device, "threads_that_have_ended_keep_no_memory") {
        return;
    }
    let cpu = DeviceConfig::Cpu.open().unwrap().open_backbone(model(bert(), Pooling::Mean, true)).unwrap();
    let other = BurnBackbone::new(model(bert(), Pooling::Mean, true), device.burn(), "test device").unwrap();
    let both = SeveralBackbones::new(vec![Box::new(other), cpu]).unwrap();
    let batch = batch(&[9, 16, 3, 12, 5, 14]);
    let mut gradients = Gradients::zeros(both.parameters());
    let mut after = |number: u64| {
        let (embeddings, tape) = both.embed_tracked(&batch, Some(Dropout { seed: number })).unwrap();
        both.backward(tape, embeddings.view(), &mut gradients).unwrap();
        both.collect_gradients(&mut gradients).unwrap();
        device.burn().sync().unwrap();
        device.burn().memory_pool_usage().unwrap().bytes_reserved
    };
    let first = (1..=10).map(&mut after).max().unwrap();
    let most = (11..=40).map(&mut after).max().unwrap();
    eprintln!("{}: {first} bytes reserved after ten passes, at most {most} in thirty more", device.description);
    assert!(most <= first, "{most} bytes reserved, {first} after ten passes");
}
