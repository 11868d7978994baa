//! The device beside the processor: together they compute what the processor does alone.

use ndarray::Array2;
use wb_core::Seed;
use wb_encoder::{
    Backbone, BurnBackbone, DeviceConfig, Dropout, Gradients, Pooling, Precision, SeveralBackbones, Stop,
    losses::{GuideEmbeddings, Labels, LossConfig, LossOnEmbeddings, PairLabels},
    similarities::SimilarityConfig,
    train::{
        Meeting, TrainConfig,
        prefetch::TrainBatch,
        step::{StepOptions, accumulate},
    },
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

/// Every loss, with the number of hard negatives of a pair.
const LOSSES: [(&str, usize); 11] = [
    (r#"{"mnrl": {"directions": ["query_to_doc", "doc_to_query"], "hardness": {"hard_negatives": 5}}}"#, 2),
    (r#"{"gist": {"guide": {"id": "x"}}}"#, 2),
    (r#"{"triplet": {"margin": 0.4}}"#, 2),
    (r#"{"margin_mse": {}}"#, 3),
    (r#"{"distill_kl": {}}"#, 3),
    (r#"{"binary_cross_entropy": {}}"#, 2),
    (r#"{"list_net": {}}"#, 3),
    (r#"{"cosent": {"scale": 5}}"#, 2),
    (r#"{"angle": {"scale": 5}}"#, 2),
    (r#"{"distill_embeddings": {"teacher": {"id": "x"}}}"#, 2),
    (r#"{"matryoshka": {"dims": [24, 7, 16], "loss": {"mnrl": {}}}}"#, 2),
];

/// Made-up pairs, scores and vectors of a guide.
fn labels(pairs: usize, negatives: usize, dim: usize) -> Labels {
    let each = 1 + negatives;
    let documents: Vec<u32> = (0..(pairs * each) as u32).collect();
    let scores: Vec<f32> = documents.iter().map(|document| (document * 7 % 16) as f32 / 4.0 - 2.0).collect();
    let of_pair = documents.chunks(each).zip(scores.chunks(each)).enumerate();
    let pairs: Vec<PairLabels<'_>> =
        of_pair.map(|(at, (documents, scores))| PairLabels { anchor: at as u32, documents, scores }).collect();
    let made = Labels::by_column(&pairs);
    let guide =
        |rows: usize, shift: f32| Array2::from_shape_fn((rows, dim), |(i, j)| ((i * 7 + j * 3) as f32 + shift).sin());
    let guide = GuideEmbeddings { anchors: guide(pairs.len(), 0.0), documents: guide(made.owners().len(), 0.4) };
    made.with_guide(guide).unwrap()
}

#[test]
fn a_device_and_the_processor_learn_every_loss_as_one_does() {
    let told = serde_json::from_str::<LossConfig>(r#"{"no loss": {}}"#).unwrap_err().to_string();
    let names: Vec<&str> = told.split('`').skip(3).step_by(2).collect();
    let is_named = |name: &&str| LOSSES.iter().any(|(json, _)| json.starts_with(&format!("{{\"{name}\"")));
    assert!(names.len() == LOSSES.len() && names.iter().all(is_named), "{told}");

    let cpu = || DeviceConfig::Cpu.open().unwrap().open_backbone(model(bert(), Pooling::Mean, true)).unwrap();
    let other = BurnBackbone::new(model(bert(), Pooling::Mean, true), test_device().burn(), "test device").unwrap();
    let both = SeveralBackbones::new(vec![Box::new(other), cpu()]).unwrap();
    let (alone, stop) = (cpu(), Stop::default());
    let mut worst = (0.0, "");
    for (json, negatives) in LOSSES {
        let labels = labels(32, negatives, alone.dim());
        let lengths: Vec<usize> = (0..32 + labels.owners().len()).map(|at| 1 + at * 7 % 19).collect();
        let batch = TrainBatch { pairs: (0..32).collect(), tokens: batch(&lengths), labels };
        let loss = LossOnEmbeddings::new(SimilarityConfig::Cosine, &serde_json::from_str(json).unwrap());
        let run = |backbone: &dyn Backbone| {
            let mut gradients = Gradients::zeros(backbone.parameters());
            let options =
                StepOptions { dropout: Some(Seed(9)), micro_tokens: 0, micro_texts: 0, weight: 0.5, stop: &stop };
            let found = accumulate(backbone, Meeting::Vectors, &loss, &batch, 3, options, &mut gradients).unwrap();
            backbone.collect_gradients(&mut gradients).unwrap();
            (found, gradients)
        };
        let ((expected, of_one), (found, of_two)) = (run(&*alone), run(&both));
        assert!((found - expected).abs() < 1e-5 * expected.abs().max(1.0), "{json}: {found}, {expected}");
        let largest = of_one.iter().flatten().fold(0f32, |largest, g| largest.max(g.abs()));
        let pairs = of_two.iter().flatten().zip(of_one.iter().flatten());
        let apart = pairs.map(|(a, b)| (a - b).abs()).fold(0f32, f32::max) / largest;
        assert!(largest > 1e-3 && apart < 1e-5, "{json}: gradients differ by {apart:.1e} of {largest}");
        worst = if apart > worst.0 { (apart, json) } else { worst };
    }
    eprintln!("{}: gradients at most {:.1e} apart, {}", test_device().description, worst.0, worst.1);
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
