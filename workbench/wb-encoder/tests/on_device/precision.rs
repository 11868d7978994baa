//! Products in 16 bits: near those in 32, and a training that learns as much, overflows that are left out included.

use std::{io::Write, path::Path};

use wb_core::{Embeddings, Encoder, Side, progress::silent};
use wb_encoder::{
    Architecture, Backbone, BiEncoder, BurnBackbone, DeviceConfig, Dropout, Folder, MemoryType, Pooling, Precision,
};

use crate::{
    passes::{Loss, apart, batch, bert, model, modern_bert, norm, qwen3, step, t5},
    test_device,
    training::{config, losses, mrr, noise_of_mrr, overflowing, run, steps},
};

/// Largest differences of embeddings and states, and of a weight's gradient, from those in 32 bits.
fn limits(precision: Precision) -> [f64; 2] {
    match precision {
        Precision::Fp32 => [0.0, 0.0],
        Precision::F16 => [5e-3, 1e-2],
        Precision::Bf16 => [4e-2, 8e-2],
    }
}

fn backbone(architecture: Architecture, pooling: Pooling, adapters: bool) -> BurnBackbone {
    BurnBackbone::new(model(architecture, pooling, adapters), test_device().burn(), "test device").unwrap()
}

/// Precisions of 16 bits that the device has; others are told of.
pub fn precisions(test: &str) -> Vec<Precision> {
    let has = |precision: &Precision| {
        let set = backbone(bert(), Pooling::Mean, true).set_precision(*precision);
        if let Err(error) = &set {
            // Past the capture of test output, so that skipped tests are seen and counted.
            let _ = writeln!(std::io::stderr(), "SKIPPED {test}: {error}");
        }
        set.is_ok()
    };
    [Precision::Bf16, Precision::F16].into_iter().filter(has).collect()
}

/// Layers that do not train cross once, in the products' type, and are never there in another.
#[test]
fn frozen_layers_cross_in_sixteen_bits() {
    let uploaded = |precision: Precision| {
        let (model, device) = (model(bert(), Pooling::Mean, true), test_device());
        BurnBackbone::with_precision(model, device.burn(), "test device", precision).unwrap().traffic().uploaded
    };
    let all = model(bert(), Pooling::Mean, true).parameters;
    let frozen = all.iter().filter(|p| !p.trainable && p.shape.len() == 2 && p.name.contains(".layer."));
    let of_layers: usize = frozen.map(|p| p.values.len()).sum();
    assert!(of_layers > 0);
    for precision in precisions("frozen_layers_cross_in_sixteen_bits") {
        assert_eq!(uploaded(Precision::Fp32) - uploaded(precision), 2 * of_layers as u64);
    }
}

#[test]
fn sixteen_bits_are_near_thirty_two() {
    let batch = batch(&[17, 5, 16]);
    for precision in precisions("sixteen_bits_are_near_thirty_two") {
        let (mut worst, mut least) = ([0f64; 2], f64::INFINITY);
        let all = [
            (bert as fn() -> _, Pooling::Mean),
            (t5, Pooling::WeightedMean),
            (qwen3, Pooling::Last),
            (modern_bert, Pooling::Cls),
        ];
        // A device of software makes kernels for minutes.
        let is_cpu = test_device().is_cpu();
        for (architecture, pooling) in all.into_iter().take(if is_cpu { 4 } else { 1 }) {
            let cases = [(true, false), (false, false), (true, true)];
            for (adapters, again) in cases.into_iter().take(if is_cpu { 3 } else { 1 }) {
                let mut backbone = backbone(architecture(), pooling, adapters);
                let run = |backbone: &BurnBackbone| step(backbone, &batch, Some(Dropout { seed: 3 }), Loss::Embeddings);
                let expected = run(&backbone);
                backbone.set_gradient_checkpointing(again).unwrap();
                backbone.set_precision(precision).unwrap();
                let found = run(&backbone);
                let error = apart(&found.embeddings, &expected.embeddings);
                worst[0] = worst[0].max(error).max(apart(&found.states, &expected.states));
                least = least.min(error);
                let size = |gradient: &[f32]| norm(gradient.iter().map(|g| f64::from(*g)));
                let largest = expected.gradients.iter().map(|gradient| size(gradient)).fold(0.0, f64::max);
                for (a, b) in found.gradients.iter().zip(expected.gradients.iter()) {
                    let error = norm(a.iter().zip(b).map(|(a, b)| f64::from(a - b)));
                    // That of a key's bias is zero but for rounding.
                    worst[1] = worst[1].max(error / size(b).max(0.1 * largest));
                }
                backbone.set_precision(Precision::Fp32).unwrap();
                assert_eq!(
                    apart(&backbone.embed(&batch).unwrap(), &expected_plain(&architecture(), pooling, adapters)),
                    0.0
                );
            }
        }
        let (name, device) = (precision.name(), test_device().description);
        eprintln!("{device}: {name}: states {:.1e}, gradients {:.1e} from those in 32 bits", worst[0], worst[1]);
        let limits = limits(precision);
        assert!(worst[0] <= limits[0] && worst[1] <= limits[1], "{name}: {worst:?}, expected at most {limits:?}");
        assert!(least > 1e-5, "{name}: {least:.1e} from 32 bits is what those are");
    }
}

/// Probabilities of a long text, which are computed again on the way back.
#[test]
fn a_long_text_is_as_near_in_sixteen_bits() {
    let batch = batch(&[300]);
    for precision in precisions("a_long_text_is_as_near_in_sixteen_bits") {
        let mut backbone = backbone(bert(), Pooling::Mean, true);
        let run = |backbone: &BurnBackbone| step(backbone, &batch, Some(Dropout { seed: 3 }), Loss::Embeddings);
        let expected = run(&backbone);
        backbone.set_precision(precision).unwrap();
        let found = run(&backbone);
        let size = |gradients: &mut dyn Iterator<Item = f32>| norm(gradients.map(f64::from));
        let all = size(&mut expected.gradients.iter().flatten().copied());
        let pairs = found.gradients.iter().flatten().zip(expected.gradients.iter().flatten());
        let errors = [apart(&found.states, &expected.states), size(&mut pairs.map(|(a, b)| a - b)) / all];
        eprintln!("{}: {}: {errors:?} from 32 bits", test_device().description, precision.name());
        let limits = limits(precision);
        assert!(errors[0] <= limits[0] && errors[1] <= limits[1], "{errors:?}, expected at most {limits:?}");
        assert!(errors.iter().all(|error| *error > 1e-6), "{errors:?} from 32 bits is what those are");
    }
}

/// An encoder that is opened in 16 bits embeds as one whose precision was set, and is told from others by its fingerprint.
#[test]
fn an_encoder_is_opened_in_sixteen_bits() {
    let folder = Folder::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/tiny-roberta")).unwrap();
    let device = test_device();
    let texts = ["sort a list", "fn sort(list: &mut Vec<u32>) { list.sort() }"];
    let embed = |encoder: &BiEncoder| encoder.encode(&texts, Side::Document, &mut silent).unwrap();
    if device.is_cpu() {
        let refused = BiEncoder::open_kept_as(folder, MemoryType::F16Products, &device).err().unwrap();
        assert!(refused.to_string().contains("which the processor has not"), "{refused}");
        return;
    }
    let own = BiEncoder::open_frozen(folder.clone(), &device).unwrap();
    for precision in precisions("an_encoder_is_opened_in_sixteen_bits") {
        let kind: MemoryType = format!("{}-products", precision.name()).parse().unwrap();
        let opened = BiEncoder::open_kept_as(folder.clone(), kind, &device).unwrap();
        let mut other = BiEncoder::open_frozen(folder.clone(), &device).unwrap();
        other.backbone_mut().set_precision(precision).unwrap();
        let (found, expected, exact) = (embed(&opened), embed(&other), embed(&own));
        let apart = |a: &Embeddings, b: &Embeddings| apart(&a.view().to_owned(), &b.view().to_owned());
        let [limit, _] = limits(precision);
        assert!(apart(&found, &expected) < limit && apart(&found, &exact) > 1e-6, "{}", apart(&found, &expected));
        assert_ne!(opened.fingerprint(), own.fingerprint());
        let refused = BiEncoder::open_kept_as(folder.clone(), MemoryType::Int8, &device).err().unwrap();
        assert!(refused.to_string().contains("which is for the processor"), "{refused}");
    }
}

/// Embeddings in 32 bits of a backbone that never had others.
fn expected_plain(architecture: &Architecture, pooling: Pooling, adapters: bool) -> ndarray::Array2<f32> {
    backbone(architecture.clone(), pooling, adapters).embed(&batch(&[17, 5, 16])).unwrap()
}

/// False where a device of software would make kernels of 16 bits for a quarter of an hour, and nobody asked for that.
pub fn has_time(test: &str) -> bool {
    let has_time = test_device().is_cpu() || std::env::var_os("WB_TEST_LONG").is_some();
    if !has_time {
        let _ = writeln!(std::io::stderr(), "SKIPPED {test}: WB_TEST_LONG is not set, and kernels take minutes here");
    }
    has_time
}

#[test]
fn twenty_steps_learn_what_those_in_32_bits_do() {
    if !has_time("twenty_steps_learn_what_those_in_32_bits_do") {
        return;
    }
    let device = test_device().description;
    let whole = tempfile::tempdir().unwrap();
    run(&mut backbone(bert(), Pooling::Mean, true), whole.path(), false, &config(Precision::Fp32));
    let noise = noise_of_mrr(&config(Precision::Fp32));
    for precision in precisions("twenty_steps_learn_what_those_in_32_bits_do") {
        let folder = tempfile::tempdir().unwrap();
        run(&mut backbone(bert(), Pooling::Mean, true), folder.path(), false, &config(precision));
        let (expected, found) = (losses(whole.path()), losses(folder.path()));
        let worst = expected.iter().zip(&found).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        let (skipped, name) = (steps(folder.path()).iter().filter(|step| step.skipped).count(), precision.name());
        let mrrs = [mrr(whole.path()), mrr(folder.path())];
        eprintln!(
            "{device}: {name}: losses at most {worst:.1e} apart, MRR {mrrs:.4?} (noise {noise:.4}), {skipped} steps left out"
        );
        assert_eq!(found.len(), 20);
        assert!((mrrs[0] - mrrs[1]).abs() < noise, "MRR {mrrs:.4?}, noise {noise:.4}");
        for step in steps(folder.path()) {
            assert_eq!(step.loss_scale.is_some(), precision == Precision::F16);
            assert!(!step.skipped || step.grad_norm == 0.0);
        }
    }
}

/// A step whose gradients overflow halves the scale and changes nothing, and training goes on.
#[test]
fn steps_that_overflow_are_left_out() {
    let test = "steps_that_overflow_are_left_out";
    if !has_time(test) || !precisions(test).contains(&Precision::F16) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut backbone = backbone(bert(), Pooling::Mean, true);
    let before = backbone.parameters().clone();
    run(&mut backbone, folder.path(), false, &overflowing(Precision::F16));
    let (steps, mut scale) = (steps(folder.path()), 65536.0);
    for step in &steps {
        assert_eq!(step.loss_scale, Some(scale), "step {}", step.step);
        assert!(step.loss.is_finite() && step.grad_norm.is_finite());
        assert_eq!(step.skipped, step.grad_norm == 0.0, "step {}", step.step);
        scale /= if step.skipped { 2.0 } else { 1.0 };
    }
    let skipped = steps.iter().filter(|step| step.skipped).count();
    eprintln!("{}: {skipped} of 20 steps left out, scale {scale}", test_device().description);
    assert!((1..15).contains(&skipped), "{skipped} steps left out");
    let changed = backbone.parameters().iter().zip(before.iter()).filter(|(now, before)| {
        assert!(now.values.floats().iter().all(|value| value.is_finite()));
        now.values.floats() != before.values.floats()
    });
    assert!(changed.count() > 0);
}

#[test]
fn what_computes_in_32_bits_alone_says_so() {
    let cpu = DeviceConfig::Cpu.open().unwrap();
    let mut native = cpu.open_backbone(model(bert(), Pooling::Mean, true)).unwrap();
    native.set_precision(Precision::Fp32).unwrap();
    let error = native.set_precision(Precision::Bf16).unwrap_err().to_string();
    let expected = "train.precision: got bf16, which the processor does not compute in: its kernels train in 32 bits";
    assert!(error.starts_with(expected), "{error}");
}
