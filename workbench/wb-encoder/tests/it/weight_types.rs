//! Weights that are kept in 16 or 8 bits: the bits of the same numbers in 32.

use std::fs;

use wb_core::Seed;
use wb_encoder::{ExportConfig, ExportFormat, Folder, Gradients, LoraConfig, TokenBatch, Upstream, WeightType, export};

use crate::{
    common::{cpu, tiny},
    tokens::weights,
};

/// Weights of 16 bits stay that in memory, and give the bits of the same numbers in 32: states, and gradients of adapters
/// and of inputs. What training changes becomes 32-bit floats.
#[test]
fn weights_of_sixteen_bits_give_the_bits_of_their_floats() {
    let place = tempfile::tempdir().unwrap();
    let lora: LoraConfig = serde_json::from_str(r#"{"rank": 2, "targets": ["q_proj", "down_proj"]}"#).unwrap();
    for dtype in [WeightType::F16, WeightType::Bf16] {
        let to = place.path().join(dtype.to_string());
        let config = ExportConfig { format: ExportFormat::St, dtype, ..Default::default() };
        export(&tiny("tiny-qwen3"), &config, &|_| String::new(), &to).unwrap();
        let mut short = Folder::read(&to).unwrap();
        short.attach(&lora, Seed(3)).unwrap();
        for p in short.model.parameters.iter_mut().filter(|p| p.trainable) {
            p.values.floats_mut().iter_mut().enumerate().for_each(|(i, v)| *v += (i as f32 * 0.3).sin() * 0.1);
        }
        let mut floats = short.clone();
        floats.model.parameters.iter_mut().for_each(|p| {
            p.values.floats_mut();
        });
        let is_short = |p: &&wb_encoder::Parameter| p.values.weight_type() == dtype;
        assert_eq!(short.model.parameters.iter().filter(is_short).count(), 3 * 7 + 1);
        assert_eq!(floats.model.parameters.iter().filter(is_short).count(), 0);
        let ids: Vec<Vec<u32>> = [1, 2, 17, 90].map(|n| (0..n).map(|at| (at * 7 % 300) as u32).collect()).into();
        let batch = TokenBatch::new(ids.iter().map(Vec::as_slice));
        let device = wb_encoder::DeviceConfig::Cpu.open().unwrap();
        let run = |folder: &Folder| {
            let mut backbone = device.open_backbone(folder.model.clone()).unwrap();
            let (_, states, tape) = backbone.embed_tokens_tracked(&batch, None).unwrap();
            let mut found = Gradients::zeros(backbone.parameters());
            backbone.backward_tokens(tape, Upstream::states(weights(states.dim()).view()), &mut found).unwrap();
            let kept = backbone.parameters().iter().filter(is_short).count();
            // A step on a weight that was frozen: it counts from now on.
            let place = backbone.parameters().position("layers.1.mlp.up_proj.weight").unwrap();
            backbone
                .update(&mut |parameters| {
                    parameters.iter_mut().nth(place).unwrap().values.floats_mut().iter_mut().for_each(|w| *w *= 2.0);
                })
                .unwrap();
            let after = backbone.embed_tokens(&batch).unwrap();
            assert_ne!(after, states);
            (states, found, after, kept)
        };
        let (of_short, of_floats) = (run(&short), run(&floats));
        assert_eq!((of_short.3, of_floats.3), (3 * 7 + 1, 0));
        assert!(of_short.0 == of_floats.0 && of_short.1 == of_floats.1 && of_short.2 == of_floats.2, "{dtype}");
        // What the encoder was before a step is the same memory, but for what the step has changed.
        let mut encoder = cpu(short.clone());
        let before = encoder.to_folder();
        let step = |parameters: &mut wb_encoder::Parameters| {
            parameters
                .iter_mut()
                .filter(|p| p.trainable)
                .for_each(|p| p.values.floats_mut().iter_mut().for_each(|w| *w += 1.0));
        };
        encoder.backbone_mut().update(&mut |parameters| step(parameters)).unwrap();
        for (now, before) in encoder.backbone().parameters().iter().zip(before.model.parameters.iter()) {
            assert_eq!(now.values.shares(&before.values), !now.trainable, "{}", now.name);
        }
        assert_eq!(before.model.parameters, short.model.parameters);
        // Without its weights, a folder says how much memory they take.
        fs::remove_file(to.join("model.safetensors")).unwrap();
        let alike = Folder::sized_like(&to, Seed(1)).unwrap();
        let memory = |folder: &Folder| folder.model.parameters.iter().map(|p| p.values.memory()).collect::<Vec<_>>();
        let read = memory(&short);
        assert_eq!(memory(&alike), read[..alike.model.parameters.len()]);
        // A run's own folder has them in as many bits.
        let own = place.path().join(format!("own-{dtype}"));
        short.write(&own).unwrap();
        let back = Folder::read(&own).unwrap();
        assert_eq!(back.model.parameters.iter().filter(is_short).count(), 3 * 7 + 1);
        assert_eq!(back.model, short.model);
    }
}

/// Weights in 8 bits are computed as the floats that they stand for, bit for bit, with adapters beside them; and floats
/// rounded to 16 bits in memory are those that a file of 16 bits has.
#[test]
fn weights_of_other_types_give_the_bits_of_their_floats() {
    let ids: Vec<Vec<u32>> = [1, 2, 17, 90].map(|n| (0..n).map(|at| (at * 7 % 300) as u32).collect()).into();
    let batch = TokenBatch::new(ids.iter().map(Vec::as_slice));
    let device = wb_encoder::DeviceConfig::Cpu.open().unwrap();
    let states = |folder: &Folder| {
        let mut model = folder.model.clone();
        model.parameters.freeze();
        device.open_backbone(model).unwrap().embed_tokens(&batch).unwrap()
    };
    let lora: LoraConfig = serde_json::from_str(r#"{"rank": 2, "targets": ["q_proj", "down_proj"]}"#).unwrap();
    let mut own = tiny("tiny-qwen3");
    own.attach(&lora, Seed(3)).unwrap();
    let reference = states(&own);
    for (dtype, fewer) in [("f32", false), ("f16", true), ("bf16", true), ("int8", true)] {
        let mut folder = own.clone();
        folder.keep_as(dtype.parse().unwrap()).unwrap();
        let found = states(&folder);
        let memory =
            |folder: &Folder| folder.model.parameters.iter().map(|parameter| parameter.values.memory()).sum::<usize>();
        assert_eq!((found != reference, memory(&folder) < memory(&own)), (fewer, fewer), "{dtype}");
        folder.model.parameters.iter_mut().for_each(|parameter| _ = parameter.values.floats_mut());
        assert_eq!(states(&folder), found, "{dtype}");
    }
}

/// The lengths of rows of 16-bit weights are those of the same numbers in 32 bits: states, gradients, and after a step.
#[test]
fn dora_over_sixteen_bits_gives_the_bits_of_its_floats() {
    let lora: LoraConfig =
        serde_json::from_str(r#"{"rank": 2, "targets": "all-linear", "dropout": 0, "use_dora": true}"#).unwrap();
    let ids: Vec<Vec<u32>> = [1, 17, 90].map(|n| (0..n).map(|at| (at * 7 % 300) as u32).collect()).into();
    let batch = TokenBatch::new(ids.iter().map(Vec::as_slice));
    let device = wb_encoder::DeviceConfig::Cpu.open().unwrap();
    for dtype in ["f16", "bf16"] {
        let mut short = tiny("tiny-qwen3");
        short.keep_as(dtype.parse().unwrap()).unwrap();
        let mut floats = short.clone();
        floats.keep_as("f32".parse().unwrap()).unwrap();
        let run = |mut folder: Folder| {
            folder.attach(&lora, Seed(3)).unwrap();
            let mut backbone = device.open_backbone(folder.model).unwrap();
            let mut found = Vec::new();
            for _ in 0..2 {
                let (_, states, tape) = backbone.embed_tokens_tracked(&batch, None).unwrap();
                let mut gradients = Gradients::zeros(backbone.parameters());
                backbone.backward_tokens(tape, Upstream::states(weights(states.dim()).view()), &mut gradients).unwrap();
                backbone
                    .update(&mut |parameters| {
                        for (p, gradient) in parameters.iter_mut().zip(gradients.iter()).filter(|(p, _)| p.trainable) {
                            p.values.floats_mut().iter_mut().zip(gradient).for_each(|(w, g)| *w -= 0.01 * g);
                        }
                    })
                    .unwrap();
                found.push((states, gradients));
            }
            let kept = backbone.parameters().iter().filter(|p| p.values.weight_type() != WeightType::F32).count();
            (found, kept)
        };
        let ((of_short, kept), (of_floats, none)) = (run(short), run(floats));
        assert_eq!((kept, none), (3 * 7 + 1, 0));
        assert!(of_short == of_floats, "{dtype}");
        assert!(of_short[0].0 != of_short[1].0, "a step changes the states");
    }
}
