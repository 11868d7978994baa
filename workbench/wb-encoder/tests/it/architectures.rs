//! Tiny random decoders and newer encoders, laid out as their repositories are, against transformers, PEFT and
//! sentence-transformers: token ids, states of all lengths, gradients, adapters, vectors of both sides.

use std::{collections::BTreeMap, fs};

use serde::Deserialize;
use wb_core::{Seed, Side, progress::silent};
use wb_encoder::{
    ExportConfig, ExportFormat, Folder, Gradients, LoraConfig, Model, Pooling, TokenBatch, Upstream, export,
    models::HubTokens,
};

use crate::{
    common::{both, compare, copy, cpu, edit, golden, golden_json, gradient_error, matrix, refused, same, tiny},
    tokens::weights,
};

pub const NAMES: [&str; 5] = ["tiny-qwen2", "tiny-qwen3", "tiny-modernbert", "tiny-nomic", "tiny-gemma"];

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
