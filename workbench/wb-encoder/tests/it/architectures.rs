//! Tiny random decoders and newer encoders, laid out as their repositories are, against transformers, PEFT and
//! sentence-transformers: token ids, states of all lengths, gradients, adapters, vectors of both sides.

use std::{collections::BTreeMap, fs};

use serde::Deserialize;
use wb_core::{Seed, Side, progress::silent};
use wb_encoder::{
    Backbone, ExportConfig, ExportFormat, Folder, Gradients, LoraConfig, Model, Pooling, TokenBatch, Upstream,
    WeightType, export, models::HubTokens,
};

use crate::{
    common::{both, compare, copy, cpu, edit, golden, golden_json, gradient_error, matrix, refused, same, tiny},
    tokens::weights,
};

const NAMES: [&str; 5] = ["tiny-qwen2", "tiny-qwen3", "tiny-modernbert", "tiny-nomic", "tiny-gemma"];

#[derive(Deserialize)]
struct Golden {
    texts: Vec<String>,
    ids: Vec<Vec<u32>>,
    lengths_ids: Vec<Vec<u32>>,
    states: Vec<Vec<f32>>,
    gradients: BTreeMap<String, [f64; 2]>,
    encoded: Encoded,
    peft: Adapted,
}

#[derive(Deserialize)]
struct Encoded {
    query: Vec<Vec<f32>>,
    document: Vec<Vec<f32>>,
}

#[derive(Deserialize)]
struct Adapted {
    states: Vec<Vec<f32>>,
    gradients: BTreeMap<String, [f64; 2]>,
}

fn load(name: &str) -> (Folder, Golden) {
    (tiny(name), golden_json(&format!("{name}.json")))
}

#[test]
fn folders_say_what_they_are() {
    for (name, described, pooling, prompts, notes) in [
        (
            "tiny-qwen2",
            "qwen2 3 × 24, 4 heads on 2",
            Pooling::Last,
            ["<instruct>Find code.\n<query>", ""],
            vec!["1 tensors not used: lm_head.weight", "no max_seq_length: texts are cut at 64 tokens"],
        ),
        (
            "tiny-qwen3",
            "qwen3 3 × 24, 4 heads on 2",
            Pooling::Last,
            ["Instruct: Given a question, retrieve code that answers it\nQuery:", ""],
            vec!["no max_seq_length: texts are cut at 64 tokens"],
        ),
        (
            "tiny-modernbert",
            "modernbert 4 × 24, 4 heads",
            Pooling::Cls,
            ["", ""],
            vec!["no max_seq_length: texts are cut at 64 tokens"],
        ),
        (
            "tiny-nomic",
            "nomic_bert 3 × 24, 4 heads",
            Pooling::Cls,
            ["Represent this query for searching relevant code: ", ""],
            vec!["no max_seq_length: texts are cut at 64 tokens"],
        ),
        (
            "tiny-gemma",
            "gemma3 3 × 24, 4 heads on 2",
            Pooling::Mean,
            ["task: search result | query: ", "title: none | text: "],
            vec!["no max_seq_length: texts are cut at 64 tokens"],
        ),
    ] {
        let folder = tiny(name);
        let architecture = &folder.model.architecture;
        assert_eq!(architecture.describe(), described);
        assert_eq!((folder.model.pooling, folder.normalize), (pooling, true), "{name}");
        assert_eq!((architecture.max_tokens(), folder.max_tokens.document), (Some(256), 64), "{name}");
        assert_eq!([folder.prompts.query.as_str(), folder.prompts.document.as_str()], prompts);
        assert_eq!(folder.notes, notes, "{name}");
    }
}

#[test]
fn token_ids_are_those_of_transformers() {
    for name in NAMES {
        let (folder, golden) = load(name);
        for (text, expected) in golden.texts.iter().zip(&golden.ids) {
            assert_eq!(&folder.tokenizer.encode("", text, 64).unwrap(), expected, "{name} {text:?}");
        }
    }
}

/// States of all lengths, alone and with others, and the gradients of all weights that train.
fn check(name: &str, model: &Model, ids: &[Vec<u32>], states: &[Vec<f32>], gradients: &BTreeMap<String, [f64; 2]>) {
    let batch = TokenBatch::new(ids.iter().map(Vec::as_slice));
    let rows: Vec<Vec<f32>> = states.iter().flat_map(|text| text.chunks(24).map(<[f32]>::to_vec)).collect();
    let expected = matrix(&rows);
    let size = expected.iter().map(|x| f64::from(x.abs())).fold(0.0, f64::max);
    let most = 1e-5 * size;
    for (path, backbone) in both(model) {
        let (_, tracked, tape) = backbone.embed_tokens_tracked(&batch, None).unwrap();
        for found in [&tracked, &backbone.embed_tokens(&batch).unwrap()] {
            let (cosine, difference) = compare(found.view(), expected.view());
            assert!(cosine >= 0.999999 && difference <= most, "{name} {path}: {cosine} {difference} of {size}");
        }
        let mut row = 0;
        for text in ids {
            let alone = backbone.embed_tokens(&TokenBatch::new([text.as_slice()])).unwrap();
            let (_, difference) = compare(alone.view(), expected.slice(ndarray::s![row..row + text.len(), ..]));
            assert!(difference <= most, "{name} {path}, {} tokens: {difference} of {size}", text.len());
            row += text.len();
        }
        let mut found = Gradients::zeros(backbone.parameters());
        backbone.backward_tokens(tape, Upstream::states(weights(tracked.dim()).view()), &mut found).unwrap();
        let mut worst = 0f64;
        let trained: Vec<_> = backbone.parameters().iter().enumerate().filter(|(_, p)| p.trainable).collect();
        assert_eq!(trained.len(), gradients.len(), "{name}");
        for (place, parameter) in trained {
            let error = gradient_error(&parameter.name, found.at(place), gradients[&parameter.name]);
            assert!(error <= 1e-4, "{name} {path} {}: {error}", parameter.name);
            worst = worst.max(error);
        }
        let (_, difference) = compare(tracked.view(), expected.view());
        eprintln!("{name} {path}: states differ by {:.1e}, gradients by {worst:.1e} of their size", difference / size);
    }
}

#[test]
fn states_and_gradients_are_those_of_transformers() {
    for name in NAMES {
        let (folder, golden) = load(name);
        check(name, &folder.model, &golden.lengths_ids, &golden.states, &golden.gradients);
    }
}

#[derive(Deserialize)]
struct States {
    states: Vec<Vec<f32>>,
    gradients: BTreeMap<String, [f64; 2]>,
}

/// A decoder whose tokens see those after them too, as it is written and read back; and the other way round.
#[test]
fn decoders_see_both_ways_where_they_are_told_to() {
    let key = "encoder.bidirectional";
    for name in ["tiny-qwen2", "tiny-qwen3", "tiny-gemma"] {
        let (mut folder, golden) = load(name);
        let own = name == "tiny-gemma";
        let expected = (!own).then(|| golden_json::<States>(&format!("{name}-bidirectional.json")));
        folder.model.architecture.set_bidirectional(true, key).unwrap();
        let States { states, gradients } =
            expected.unwrap_or(States { states: golden.states, gradients: golden.gradients });
        check(name, &folder.model, &golden.lengths_ids, &states, &gradients);
        for format in [ExportFormat::Safetensors, ExportFormat::St6] {
            let place = tempfile::tempdir().unwrap();
            let to = place.path().join("out");
            let config = ExportConfig { format, ..Default::default() };
            export(&folder, &config, &|_| String::new(), &to).unwrap();
            let again = Folder::read(&to).unwrap().model.architecture;
            let [found, expected] = [&again, &folder.model.architecture].map(|one| one.transformer().unwrap());
            let tokens = HubTokens { pad: 0, end: None };
            assert_eq!(found.to_hub(tokens), expected.to_hub(tokens), "{name} {format}");
            // What is exported is a model of its own; a run's folder still knows what it began with.
            let is_own_folder = format == ExportFormat::Safetensors;
            assert_eq!(found.attention_changed(), is_own_folder && !own, "{name} {format}");
        }
        folder.model.architecture.set_bidirectional(false, key).unwrap();
        if own {
            // The first token alone sees itself alone.
            let [first, second] = [vec![5], vec![5, 6, 7]].map(|ids: Vec<u32>| {
                let states = cpu(folder.clone()).backbone().embed_tokens(&TokenBatch::new([ids.as_slice()])).unwrap();
                states.row(0).to_owned()
            });
            assert_eq!(first, second);
        } else {
            assert_eq!(folder.model, tiny(name).model);
        }
    }
    for name in ["tiny-bert", "tiny-modernbert"] {
        let mut architecture = tiny(name).model.architecture;
        architecture.set_bidirectional(true, key).unwrap();
        let error = architecture.set_bidirectional(false, key).unwrap_err();
        let expected = format!("got false, and the encoder is {}, whose tokens see both ways", architecture.describe());
        assert!(error.to_string().contains(&expected), "{error}");
    }
}

/// Adapters stand on a model whose own config says what its tokens see; the other formats name the first transformers
/// that reads it.
#[test]
fn what_a_base_model_does_not_say_is_not_exported_as_adapters_of_it() {
    let lora: LoraConfig = serde_json::from_str(r#"{"rank": 2, "targets": "all-linear"}"#).unwrap();
    for (name, on, version) in [
        ("tiny-qwen2", true, "5.2.0"),
        ("tiny-qwen3", true, "5.2.0"),
        ("tiny-qwen3", false, "4.51.0"),
        ("tiny-gemma", false, "4.50.0"),
        ("tiny-gemma", true, "4.57.0"),
        ("tiny-modernbert", true, "4.48.0"),
        ("tiny-nomic", true, "5.5.0"),
    ] {
        let mut folder = tiny(name);
        let is_own = folder.model.architecture.is_causal() != on;
        folder.attach(&lora, Seed(3)).unwrap();
        folder.model.architecture.set_bidirectional(on, "encoder.bidirectional").unwrap();
        let place = tempfile::tempdir().unwrap();
        let write = |format: ExportFormat| {
            let config = ExportConfig { format, base: Some("owner/base".into()), ..ExportConfig::default() };
            export(&folder, &config, &|_| String::new(), &place.path().join(format.to_string()))
        };
        match write(ExportFormat::Peft) {
            Ok(_) => assert!(is_own, "{name} {on}"),
            Err(error) => {
                assert!(!is_own && error.to_string().contains("see others than those of its base model"), "{error}");
                assert_eq!(error.hint(), Some("--format st6"));
            }
        }
        let exported = write(ExportFormat::St).unwrap();
        let about = fs::read_to_string(place.path().join("st/config_sentence_transformers.json")).unwrap();
        assert!(about.contains(&format!("\"transformers\": \"{version}\"")), "{name}: {about}");
        let told = format!("is opened with transformers {} or later", version.strip_suffix(".0").unwrap());
        assert!(exported.notes.iter().any(|note| note.contains(&told)), "{:?}", exported.notes);
        let is_silent = exported.notes.iter().any(|note| note.contains("and give other vectors"));
        assert_eq!(is_silent, on && !["tiny-modernbert", "tiny-nomic"].contains(&name), "{:?}", exported.notes);
    }
}

#[derive(Deserialize)]
struct LongTexts {
    model: BTreeMap<usize, LongText>,
    peft: BTreeMap<usize, LongText>,
}

#[derive(Deserialize)]
struct LongText {
    mean: Vec<f32>,
    states: BTreeMap<usize, Vec<f32>>,
    gradients: BTreeMap<String, [f64; 2]>,
}

/// Texts much longer than the blocks that attention is computed in, and than any window: states, and gradients of all
/// weights and of adapters. Burn has the square of the length in memory, and computes the shorter one.
#[test]
fn states_and_gradients_of_long_texts_are_those_of_transformers() {
    for name in NAMES {
        let long: LongTexts = golden_json(&format!("{name}-long.json"));
        let place = copy(name);
        let places = r#""max_position_embeddings": 256"#;
        edit(&place.path().join("config.json"), places, r#""max_position_embeddings": 8192"#);
        let folder = Folder::read(place.path()).unwrap();
        let vocabulary = folder.model.architecture.vocab_size();
        let mut adapted = folder.clone();
        adapted.add_peft(&golden().join(format!("peft-{name}"))).unwrap();
        for (model, expected) in [(&folder.model, &long.model), (&adapted.model, &long.peft)] {
            for (path, backbone) in both(model) {
                for (length, expected) in expected.iter().filter(|(length, _)| path == "cpu" || **length < 2048) {
                    let ids: Vec<u32> = (0..*length).map(|at| ((17 + 31 * at + at * at) % vocabulary) as u32).collect();
                    check_long(&format!("{name} {path}, {length} tokens"), &*backbone, &ids, expected);
                }
            }
        }
    }
}

fn check_long(what: &str, backbone: &dyn Backbone, ids: &[u32], expected: &LongText) {
    let batch = TokenBatch::new([ids]);
    let (_, tracked, tape) = backbone.embed_tokens_tracked(&batch, None).unwrap();
    for states in [&tracked, &backbone.embed_tokens(&batch).unwrap()] {
        let mean = states.mean_axis(ndarray::Axis(0)).unwrap();
        let rows = expected.states.iter().map(|(row, expected)| (states.row(*row), expected));
        for (found, expected) in rows.chain([(mean.view(), &expected.mean)]) {
            let size = expected.iter().map(|x| x.abs()).fold(0f32, f32::max);
            let differences = found.iter().zip(expected).map(|(a, b)| (a - b).abs());
            let worst = differences.fold(0f32, f32::max);
            assert!(worst <= 1e-4 * size, "{what}: {worst} of {size}");
        }
    }
    let mut found = Gradients::zeros(backbone.parameters());
    backbone.backward_tokens(tape, Upstream::states(weights(tracked.dim()).view()), &mut found).unwrap();
    let trained: Vec<_> = backbone.parameters().iter().enumerate().filter(|(_, p)| p.trainable).collect();
    assert_eq!(trained.len(), expected.gradients.len(), "{what}");
    let mut worst = 0f64;
    for (place, parameter) in trained {
        let error = gradient_error(&parameter.name, found.at(place), expected.gradients[&parameter.name]);
        assert!(error <= 1e-4, "{what}, {}: {error}", parameter.name);
        worst = worst.max(error);
    }
    eprintln!("{what}: gradients differ by {worst:.1e} of their size");
}

#[test]
fn adapters_are_those_of_peft() {
    for name in NAMES {
        let golden: Golden = golden_json(&format!("{name}.json"));
        let mut folder = tiny(&format!("peft-{name}"));
        let lora = folder.lora.clone().unwrap();
        assert_eq!((lora.rank, lora.alpha, lora.dropout), (3, 6.0, 0.0));
        check(name, &folder.model, &golden.lengths_ids, &golden.peft.states, &golden.peft.gradients);
        // Merged, they are in the weights.
        folder.merge().unwrap();
        let batch = TokenBatch::new(golden.lengths_ids.iter().map(Vec::as_slice));
        let rows: Vec<Vec<f32>> =
            golden.peft.states.iter().flat_map(|text| text.chunks(24).map(<[f32]>::to_vec)).collect();
        for (path, backbone) in both(&folder.model) {
            let found = backbone.embed_tokens(&batch).unwrap();
            let (_, difference) = compare(found.view(), matrix(&rows).view());
            assert!(difference <= 4e-5, "{name} {path}: {difference}");
        }
    }
}

#[test]
fn vectors_are_those_of_sentence_transformers() {
    for name in NAMES {
        let (folder, golden) = load(name);
        let texts: Vec<&str> = golden.texts.iter().map(String::as_str).collect();
        let encoder = cpu(folder);
        for (side, expected) in [(Side::Query, &golden.encoded.query), (Side::Document, &golden.encoded.document)] {
            let found = encoder.embed(&texts, side, &mut silent).unwrap().view().to_owned();
            // A text without tokens, where no prompt and no template gives it one, has a vector of zeros there too.
            let expected = matrix(expected);
            let first = usize::from(expected.row(0).iter().all(|x| *x == 0.0));
            assert_eq!(found.row(0).iter().all(|x| *x == 0.0), first == 1, "{name} {side:?}");
            let (cosine, difference) =
                compare(found.slice(ndarray::s![first.., ..]), expected.slice(ndarray::s![first.., ..]));
            assert!(cosine >= 0.999999 && difference <= 1e-5, "{name} {side:?}: {cosine} {difference}");
        }
    }
}

#[test]
fn targets_are_named_as_in_peft() {
    for (name, number, targets) in [
        ("tiny-qwen3", 21, "down_proj, gate_proj, k_proj, o_proj, q_proj, up_proj, v_proj"),
        ("tiny-modernbert", 16, "Wi, Wo, Wqkv"),
        ("tiny-nomic", 21, "down_proj, gate_proj, k_proj, o_proj, q_proj, up_proj, v_proj"),
        ("tiny-gemma", 21, "down_proj, gate_proj, k_proj, o_proj, q_proj, up_proj, v_proj"),
    ] {
        let mut folder = tiny(name);
        let all: LoraConfig = serde_json::from_str(r#"{"rank": 2, "targets": "all-linear"}"#).unwrap();
        assert_eq!(all.layers(&folder.model.architecture, name).unwrap().len(), number);
        let error = folder.attach(&LoraConfig::default(), Seed(1)).unwrap_err().to_string();
        let expected = format!("`query` matches no parameter of {name}; targets here are: {targets}");
        assert!(error.contains(&expected), "{error}");
    }
}

#[test]
fn written_folders_give_the_same_embeddings() {
    for (name, targets) in [
        ("tiny-qwen2", r#"["q_proj", "v_proj", "down_proj"]"#),
        ("tiny-qwen3", r#""all-linear""#),
        ("tiny-modernbert", r#"["Wqkv", "mlp.Wo"]"#),
        ("tiny-nomic", r#"["q_proj", "k_proj", "mlp.down_proj"]"#),
        ("tiny-gemma", r#""all-linear""#),
    ] {
        let (mut folder, golden_file) = load(name);
        let texts: Vec<&str> = golden_file.texts.iter().map(String::as_str).collect();
        let config: LoraConfig = serde_json::from_str(&format!(r#"{{"rank": 2, "targets": {targets}}}"#)).unwrap();
        let texts = &texts[1..];
        folder.attach(&config, Seed(3)).unwrap();
        for p in folder.model.parameters.iter_mut().filter(|p| p.trainable) {
            p.values.floats_mut().iter_mut().enumerate().for_each(|(i, v)| *v += (i as f32 * 0.3).sin() * 0.1);
        }
        let place = tempfile::tempdir().unwrap();
        let base = Some(golden().join(name).display().to_string());
        for side in [Side::Query, Side::Document] {
            let expected = cpu(folder.clone()).embed(texts, side, &mut silent).unwrap();
            for format in [ExportFormat::Safetensors, ExportFormat::St, ExportFormat::St6, ExportFormat::Peft] {
                let to = place.path().join(format!("{format}-{side:?}"));
                let config = ExportConfig { format, base: base.clone(), ..Default::default() };
                export(&folder, &config, &|_| String::new(), &to).unwrap();
                let back = Folder::read(&to).unwrap();
                let found = cpu(back).embed(texts, side, &mut silent).unwrap();
                same(found.view(), expected.view(), 1e-5, (name, format, side));
            }
        }
    }
}

/// `config.json` as repositories of the NomicBERTs have it, from before transformers knew them; their weights are named
/// as in the golden folder.
fn older_nomic() -> serde_json::Value {
    serde_json::json!({
        "model_type": "nomic_bert", "auto_map": {"AutoModel": "nomic-ai/nomic-bert-2048--modeling_hf_nomic_bert.NomicBertModel"},
        "activation_function": "swiglu", "attn_pdrop": 0.0, "causal": false, "layer_norm_epsilon": 1e-12,
        "max_trained_positions": 200, "mlp_fc1_bias": false, "mlp_fc2_bias": false, "n_embd": 24, "n_head": 4,
        "n_inner": 40, "n_layer": 3, "n_positions": 256, "pad_vocab_size_multiple": 1, "parallel_block": false,
        "prenorm": false, "qkv_proj_bias": false, "resid_pdrop": 0.0, "rotary_emb_base": 1000,
        "rotary_emb_fraction": 1.0, "rotary_emb_interleaved": false, "rotary_emb_scale_base": null,
        "rotary_scaling_factor": null, "type_vocab_size": 2, "use_rms_norm": false, "vocab_size": 201,
    })
}

#[test]
fn the_older_form_of_a_nomic_bert_is_the_same_model() {
    let place = copy("tiny-nomic");
    let file = place.path().join("config.json");
    let read = |key: &str, value: serde_json::Value| {
        let mut config = older_nomic();
        config[key] = value;
        fs::write(&file, config.to_string()).unwrap();
        Folder::read(place.path())
    };
    let newer = tiny("tiny-nomic");
    assert_eq!(read("causal", false.into()).unwrap().model, newer.model);
    // Longer texts would be scaled.
    let scaled = read("rotary_scaling_factor", 2.into()).unwrap();
    assert_eq!(scaled.model.architecture.max_tokens(), Some(200));
    // Rows beyond the vocabulary's are there for speed alone.
    assert!(read("pad_vocab_size_multiple", 64.into()).unwrap_err().to_string().contains("expected [256, 24]"));
    for (key, value, expected) in [
        ("prenorm", true.into(), "has prenorm true, expected false"),
        ("num_experts", 8.into(), "has num_experts"),
        ("activation_function", "gelu".into(), "has activation_function `gelu`, expected swiglu or geglu"),
        ("rotary_emb_fraction", 0.5.into(), "expected heads that turn whole"),
        ("n_head", 5.into(), "num_attention_heads: got 5"),
    ] {
        let error = read(key, value).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn what_cannot_be_computed_is_refused_by_name() {
    let refuse = |name: &str, from: &str, to: &str, expected: &str| {
        let place = copy(name);
        edit(&place.path().join("config.json"), from, to);
        refused(place.path(), expected);
    };
    let ours = r#""model_type": "qwen3""#;
    refuse(
        "tiny-qwen3",
        ours,
        r#""model_type": "qwen3", "auto_map": {"AutoModel": "modeling.Model"}"#,
        "config.json: asks for code of its own, `modeling.Model`",
    );
    refuse("tiny-qwen3", r#""use_sliding_window": false"#, r#""use_sliding_window": true"#, "use_sliding_window true");
    refuse("tiny-qwen3", r#""attention_bias": false"#, r#""attention_bias": true"#, "attention_bias true");
    refuse("tiny-qwen3", r#""rope_type": "default""#, r#""rope_type": "yarn""#, "of type `yarn`, expected default");
    refuse("tiny-qwen3", r#""hidden_act": "silu""#, r#""hidden_act": "quick_gelu""#, "hidden_act `quick_gelu`");
    refuse("tiny-qwen3", r#""num_key_value_heads": 2"#, r#""num_key_value_heads": 3"#, "num_key_value_heads: got 3");
    refuse("tiny-qwen3", r#""head_dim": 8"#, r#""head_dim": 7"#, "head_dim: got 7, expected an even number");
    refuse("tiny-qwen3", r#""head_dim": 8"#, r#""head_dim": "8""#, "has `head_dim` \"8\", expected a whole number");
    refuse("tiny-qwen3", ours, r#""model_type": "qwen4""#, "has model_type `qwen4`, expected one of bert, roberta");
    refuse("tiny-modernbert", r#""hidden_size": 24"#, r#""hidden_size": 28"#, "num_attention_heads: got 4");
    refuse(
        "tiny-gemma",
        r#""attn_logit_softcapping": null"#,
        r#""attn_logit_softcapping": 50.0"#,
        "attn_logit_softcapping 50",
    );
    refuse("tiny-gemma", r#""full_attention""#, r#""linear_attention""#, "has layer_types");
    refuse("tiny-gemma", r#""sliding_window": 16"#, r#""sliding_window": 0"#, "sliding_window: got 0");
    refuse(
        "tiny-modernbert",
        "\"full_attention\",\n    \"sliding_attention\",\n    \"sliding_attention\"",
        "\"sliding_attention\",\n    \"sliding_attention\",\n    \"sliding_attention\"",
        "has layer_types",
    );
}

#[test]
fn weights_in_several_files_are_read_whole_or_not_at_all() {
    let place = copy("tiny-qwen3");
    let part = place.path().join("model-00002-of-00004.safetensors");
    let before = Folder::fingerprint(place.path()).unwrap();
    let bytes = fs::read(&part).unwrap();
    fs::write(&part, &bytes[..bytes.len() - 4]).unwrap();
    assert_ne!(Folder::fingerprint(place.path()).unwrap(), before);
    refused(place.path(), "model-00002-of-00004.safetensors: is not a whole safetensors file");
    fs::remove_file(&part).unwrap();
    refused(place.path(), "names `model-00002-of-00004.safetensors`, which is not in the folder");
    edit(&place.path().join("model.safetensors.index.json"), "model-00002-of-00004", "../model-00002-of-00004");
    refused(place.path(), "names `../model-00002-of-00004.safetensors`");
    // A part too few in the index: its weights are missing.
    let place = copy("tiny-qwen3");
    let index = place.path().join("model.safetensors.index.json");
    let text = fs::read_to_string(&index).unwrap().replace("model-00004-of-00004", "model-00003-of-00004");
    fs::write(&index, text).unwrap();
    refused(place.path(), "is missing, expected shape");
}

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
