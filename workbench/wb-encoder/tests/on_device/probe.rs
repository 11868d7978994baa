//! The self-test, on the one device that is always there: burn's and the CPU's own kernels must agree.

use std::path::Path;

use wb_encoder::{
    DeviceConfig, Folder,
    self_test::{made_up_model, probe, sample_batch},
};

#[test]
fn the_cpu_passes_its_own_test() {
    let (model, batch) = made_up_model();
    let mut doings = Vec::new();
    let report = probe(DeviceConfig::Cpu, &model, &batch, &mut |what| doings.push(what.to_owned()), |_| ());
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
    assert_eq!(probe(DeviceConfig::Cpu, &folder.model, &batch, &mut |_| (), |_| ()).failure, None);
}

#[test]
fn auto_passes_where_there_is_nothing_but_the_cpu() {
    if DeviceConfig::compiled().len() > 1 {
        return;
    }
    let (model, batch) = made_up_model();
    let report = probe(DeviceConfig::Auto, &model, &batch, &mut |_| (), |_| ());
    assert_eq!((report.device.as_str(), report.checks.len(), report.failure), ("cpu", 0, None));
}

#[test]
fn a_device_that_is_not_there_fails_its_test() {
    if DeviceConfig::compiled().len() > 1 {
        return;
    }
    let (model, batch) = made_up_model();
    let report = probe("cuda".parse().unwrap(), &model, &batch, &mut |_| (), |_| ());
    let error = report.require().unwrap_err().to_string();
    assert!(error.contains("cannot use device `cuda`: this wb was built without the feature `cuda`"), "{error}");
}
