//! Kernels that a layer launches, counted by CubeCL's own log, on a device that `WB_TEST_DEVICE` names.

use std::fs;

use wb_encoder::{
    Architecture, Backbone, BurnBackbone, DeviceConfig, Dropout, KernelSettings, Pooling,
    train::{TrainConfig, state::TrainState},
};

use crate::{
    own_process::{own_process, skipped},
    passes::{batch, bert, model},
    test_device,
};

/// Variable that tells a child what to do: `encode` or `step`, and a number of layers.
const WORK: &str = "WB_TEST_LAUNCHES";

/// Launches of a layer of a BERT while encoding, and in a step of adapters on its six linear layers, with dropout
/// everywhere, forward, backward and update, in a build without burn's own fusion: the most with our own kernels, and
/// without them, counted as 31 and 172, 53 and 465.
const OF_A_LAYER: [[usize; 2]; 2] = [[33, 180], [60, 500]];

#[test]
#[ignore = "run by launches_of_a_layer_are_counted in processes of its own"]
fn work_to_be_counted() {
    let Ok(work) = std::env::var(WORK) else { return };
    let (what, layers) = work.split_once(' ').unwrap();
    let Architecture::Bert(mut config) = bert() else { return };
    config.sizes.num_hidden_layers = layers.parse().unwrap();
    let model = model(Architecture::Bert(config), Pooling::Mean, what == "step");
    let mut backbone = BurnBackbone::new(model, test_device().burn(), "test device").unwrap();
    let batch = batch(&[9, 16, 3, 12]);
    if what == "encode" {
        drop(backbone.embed(&batch).unwrap());
        return;
    }
    let mut state = TrainState::new(&TrainConfig::default(), backbone.parameters()).unwrap();
    state.settle(&mut backbone).unwrap();
    let (embeddings, tape) = backbone.embed_tracked(&batch, Some(Dropout { seed: 1 })).unwrap();
    backbone.backward(tape, embeddings.view(), &mut state.gradients).unwrap();
    state.gradient_norm(&mut backbone).unwrap();
    state.update(&mut backbone, 1e-4, 1.0, 1).unwrap();
    test_device().burn().sync().unwrap();
}

/// Launches of a process that does this work.
fn launches(device: DeviceConfig, work: &str, layers: usize) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("launches.log");
    let settings = format!("[profiling]\nlogger = {{ level = \"minimal\", file = {:?} }}\n", log.display().to_string());
    fs::write(folder.path().join("cubecl.toml"), settings).unwrap();
    let mut command = own_process("launches::work_to_be_counted");
    command.env(WORK, format!("{work} {layers}")).env("WB_TEST_DEVICE", device.to_string());
    let status = command.current_dir(folder.path()).status().unwrap();
    assert!(status.success(), "{work}, {layers} layers: {status}");
    fs::read_to_string(log).unwrap().lines().filter(|line| line.contains("Executing ")).count()
}

#[test]
fn launches_of_a_layer_are_counted() {
    let device = test_device();
    if device.is_cpu() {
        skipped("launches_of_a_layer_are_counted", &format!("{} launches nothing", device.description));
        return;
    }
    for (fusion, limits) in [true, false].into_iter().zip(OF_A_LAYER) {
        let config = device.config.with_kernels(KernelSettings { fusion, ..KernelSettings::default() });
        for (work, limit) in ["encode", "step"].into_iter().zip(limits) {
            let [one, two] = [1, 2].map(|layers| launches(config, work, layers));
            let of_a_layer = two - one;
            eprintln!("{config}: {work}: {of_a_layer} launches a layer, {} besides", one - of_a_layer);
            assert!(of_a_layer > 0 && of_a_layer <= limit, "{work}: {of_a_layer} launches a layer, at most {limit}");
        }
    }
}
