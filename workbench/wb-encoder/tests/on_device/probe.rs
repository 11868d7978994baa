//! The self-test, on the one device that is always there: burn's and the CPU's own kernels must agree.

use std::path::Path;

use wb_encoder::{
    DeviceConfig, Folder, Precision,
    self_test::{ProbeCheck, made_up_model, probe, sample_batch},
};

use crate::test_device;

#[test]
fn the_cpu_passes_its_own_test() {
    let (model, batch) = made_up_model();
    let mut doings = Vec::new();
    let report =
        probe(DeviceConfig::Cpu, Precision::Fp32, &model, &batch, &mut |what| doings.push(what.to_owned()), |_| ());
    assert_eq!(report.failure, None, "{report:?}");
    assert_eq!((report.device.as_str(), report.checks.len()), ("cpu", 26));
    assert!(report.checks.iter().all(|check| check.passed));
    report.require().unwrap();
    assert_eq!(doings[..2], ["opening the device", "multiplying 16 × 16 matrices"]);
    let line = serde_json::to_string(&report).unwrap();
    assert!(!line.contains('\n'));

    let folder = Folder::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/tiny-roberta")).unwrap();
    let batch = sample_batch(&folder.tokenizer, folder.max_tokens.document).unwrap();
    assert_eq!(batch.len(), 16);
    for precision in Precision::ALL {
        let report = probe(DeviceConfig::Cpu, precision, &folder.model, &batch, &mut |_| (), |_| ());
        assert_eq!(report.failure, None, "{report:?}");
        let of_precision = |check: &&ProbeCheck| check.what.contains(&format!(" in {}: ", precision.name()));
        let found: Vec<&ProbeCheck> = report.checks.iter().filter(of_precision).collect();
        assert_eq!(found.len(), if precision == Precision::Fp32 { 0 } else { 3 });
        // Another path than the one of 32 bits, and far from what is refused.
        let is_near =
            |check: &&ProbeCheck| check.figure.is_some_and(|figure| figure > 1e-7 && figure < check.limit / 4.0);
        assert!(found.iter().all(is_near), "{found:?}");
    }
}

/// Of each architecture, with names of layers of its own, as its files are: without adapters.
#[test]
fn encoders_of_every_architecture_pass() {
    for name in ["t5", "nomic", "modernbert", "qwen2", "qwen3", "gemma"] {
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(format!("tiny-{name}"));
        let folder = Folder::read(&golden).unwrap();
        let batch = sample_batch(&folder.tokenizer, folder.max_tokens.document).unwrap();
        let report = probe(test_device().config, Precision::Fp32, &folder.model, &batch, &mut |_| (), |_| ());
        assert_eq!(report.failure, None, "{name}: {report:?}");
        let of_gradients =
            report.checks.iter().find(|check| check.what == "gradients of one LoRA step: relative error");
        eprintln!(
            "{}: {name}: gradients {:.1e}, {:.1} s",
            report.description,
            of_gradients.unwrap().figure.unwrap(),
            report.seconds
        );
    }
}

#[test]
fn auto_passes_where_there_is_nothing_but_the_cpu() {
    if DeviceConfig::compiled().len() > 1 {
        return;
    }
    let (model, batch) = made_up_model();
    let report = probe(DeviceConfig::Auto, Precision::Fp32, &model, &batch, &mut |_| (), |_| ());
    assert_eq!((report.device.as_str(), report.checks.len(), report.failure), ("cpu", 0, None));
}

#[test]
fn a_device_that_is_not_there_fails_its_test() {
    if DeviceConfig::compiled().len() > 1 {
        return;
    }
    let (model, batch) = made_up_model();
    let report = probe("cuda".parse().unwrap(), Precision::Fp32, &model, &batch, &mut |_| (), |_| ());
    let error = report.require().unwrap_err().to_string();
    assert!(error.contains("cannot use device `cuda`: this wb was built without the feature `cuda`"), "{error}");
}
