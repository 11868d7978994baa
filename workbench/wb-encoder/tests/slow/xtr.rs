//! A folder laid out like google/xtr-base-en, with random weights of its shapes: it loads, equals burn, and learns.

use std::{fs, process::Command, time::Instant};

use ndarray::Array2;
use wb_core::Seed;
use wb_encoder::{
    Architecture, Backbone, BurnBackbone, DeviceConfig, Dropout, ExportConfig, Folder, Gradients, LoraConfig,
    Parameters, TokenBatch, Tokenizer, Upstream, export, folder::MaxTokens, models::T5Config,
};

use crate::{golden, python, say};

/// Writes `2_Dense/pytorch_model.bin` as torch does.
const PROJECTION: &str = "import sys, torch; torch.manual_seed(1); \
    torch.save(torch.nn.ModuleDict({'linear': torch.nn.Linear(768, 128, bias=False)}).state_dict(), sys.argv[1])";

#[test]
#[ignore = "slow: two minutes, 4 GB of memory, half a GB of disk, needs torch"]
fn a_folder_of_xtrs_shapes_loads_and_learns() {
    let Some(python) = python("a_folder_of_xtrs_shapes_loads_and_learns", "torch") else { return };
    let place = tempfile::tempdir().unwrap();
    let root = place.path().join("xtr-base-en");
    let sizes = T5Config {
        vocab_size: 32_128,
        d_model: 768,
        d_kv: 64,
        d_ff: 2048,
        num_layers: 12,
        num_heads: 12,
        relative_attention_num_buckets: 32,
        relative_attention_max_distance: 128,
        layer_norm_epsilon: 1e-6,
        dropout_rate: 0.1,
    };
    let tokenizer = Tokenizer::read(&golden().join("tiny-t5/tokenizer.json")).unwrap();
    let fresh = Folder::fresh("xtr", Architecture::T5(sizes), tokenizer, MaxTokens::both(512), Seed(1)).unwrap();
    export(&fresh, &ExportConfig::default(), &|_| String::new(), &root).unwrap();
    // The hub's folder has neither modules nor a pooling.
    for name in
        ["modules.json", "sentence_bert_config.json", "config_sentence_transformers.json", "1_Pooling/config.json"]
    {
        fs::remove_file(root.join(name)).unwrap();
    }
    fs::create_dir(root.join("2_Dense")).unwrap();
    let config = r#"{"in_features": 768, "out_features": 128, "bias": false, "activation_function": "torch.nn.modules.linear.Identity"}"#;
    fs::write(root.join("2_Dense/config.json"), config).unwrap();
    let file = root.join("2_Dense/pytorch_model.bin");
    assert!(Command::new(python).args(["-c", PROJECTION]).arg(&file).status().unwrap().success());

    let start = Instant::now();
    let mut folder = Folder::read(&root).unwrap();
    say(&format!("read in {:.1} s: {:?}", start.elapsed().as_secs_f64(), folder.notes));
    assert_eq!(folder.model.parameters.counts().0, 109_628_544 + 768 * 128);
    assert!(fresh.model.parameters.iter().all(|p| folder.model.parameters.get(&p.name) == Some(p)));
    assert_eq!(folder.dim(), 128);
    let lora = r#"{"rank": 32, "alpha": 64, "dropout": 0.1, "targets": ["q", "k", "v", "o", "wi_0", "wi_1", "wo"]}"#;
    folder.attach(&serde_json::from_str::<LoraConfig>(lora).unwrap(), Seed(2)).unwrap();
    assert_eq!(folder.model.parameters.counts().1, 12 * (4 * 32 * 1536 + 3 * 32 * 2816) + 768 * 128);
    let spread = |p: &mut wb_encoder::Parameter| {
        p.values.floats_mut().iter_mut().enumerate().for_each(|(i, v)| *v = (i as f32).sin() * 0.02)
    };
    folder.model.parameters.iter_mut().filter(|p| p.name.contains("lora_B")).for_each(spread);

    let texts: Vec<Vec<u32>> =
        (0..16u32).map(|n| (0..128 - n).map(|at| (n * 7919 + at * at * 31) % 32_100).collect()).collect();
    let batch = TokenBatch::new(texts.iter().map(Vec::as_slice));
    let mut native = DeviceConfig::Cpu.open().unwrap().open_backbone(folder.model.clone()).unwrap();
    let burn = BurnBackbone::new(folder.model, DeviceConfig::Cpu.open().unwrap().burn(), "cpu").unwrap();
    let n = batch.ids().len() as f64;
    let (states, gradients) = pass("native", native.as_ref(), &batch, n);
    let (of_burn, gradients_of_burn) = pass("burn", &burn, &batch, n);
    let worst = (&states - &of_burn).iter().fold(0f32, |worst, x| worst.max(x.abs()));
    let lengths = |found: &Gradients| found.iter().flatten().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
    let (length, apart) = (lengths(&gradients), {
        let pairs = gradients.iter().flatten().zip(gradients_of_burn.iter().flatten());
        pairs.map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>().sqrt()
    });
    say(&format!("states differ by {worst:.1e}, gradients of length {length:.3} by {apart:.1e}"));
    assert!(worst < 1e-4 && apart < 1e-4 * length, "{worst} {apart} {length}");

    // Three steps that shorten the projected states.
    let matrix = native.parameters().get("late_interaction.weight").unwrap().values.floats().into_owned();
    let matrix = Array2::from_shape_vec((128, 768), matrix).unwrap();
    let loss = |backbone: &dyn Backbone| {
        let projected = backbone.embed_tokens(&batch).unwrap().dot(&matrix.t());
        f64::from(projected.iter().map(|x| x * x).sum::<f32>()) / n
    };
    let before = loss(native.as_ref());
    for step in 0..3 {
        let (_, states, tape) = native.embed_tokens_tracked(&batch, Some(Dropout { seed: step })).unwrap();
        let at = states.dot(&matrix.t()).dot(&matrix) * (2.0 / n as f32);
        let mut gradients = Gradients::zeros(native.parameters());
        native.backward_tokens(tape, Upstream::states(at.view()), &mut gradients).unwrap();
        let step = 0.2 / lengths(&gradients) as f32;
        let mut change = |parameters: &mut Parameters| {
            for (p, g) in parameters.iter_mut().zip(gradients.iter()).filter(|(p, _)| p.trainable) {
                p.values.floats_mut().iter_mut().zip(g).for_each(|(v, g)| *v -= step * g);
            }
        };
        native.update(&mut change).unwrap();
    }
    let after = loss(native.as_ref());
    say(&format!("the loss fell from {before:.4} to {after:.4} in three steps"));
    assert!(after < before);
}

/// States and the gradients of a fixed gradient at them, and how long both took.
fn pass(name: &str, backbone: &dyn Backbone, batch: &TokenBatch, n: f64) -> (Array2<f32>, Gradients) {
    let start = Instant::now();
    let states = backbone.embed_tokens(batch).unwrap();
    let embedding = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let (_, tracked, tape) = backbone.embed_tokens_tracked(batch, None).unwrap();
    assert!((&tracked - &states).iter().all(|x| x.abs() < 1e-4));
    let at = Array2::from_shape_fn(states.dim(), |(i, j)| ((i * 31 + j * 7) as f32 * 0.37).sin());
    let mut gradients = Gradients::zeros(backbone.parameters());
    backbone.backward_tokens(tape, Upstream::states(at.view()), &mut gradients).unwrap();
    let training = start.elapsed().as_secs_f64();
    let per_second = |seconds: f64| n / seconds;
    say(&format!(
        "{name}: {:.0} tokens a second to embed, {:.0} to train",
        per_second(embedding),
        per_second(training)
    ));
    (states, gradients)
}
