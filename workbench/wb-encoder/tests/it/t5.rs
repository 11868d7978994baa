//! A tiny random T5 encoder against transformers: token ids, buckets, states of all lengths, gradients; its adapters against PEFT.

use std::{collections::BTreeMap, fs, path::Path};

use serde::Deserialize;
use wb_core::{Seed, Side, progress::silent};
use wb_encoder::{
    Architecture, ExportConfig, ExportFormat, Folder, Gradients, LoraConfig, Model, TokenBatch, Tokenizer, Upstream,
    export,
    models::{T5Config, Transformer},
};

use crate::{
    common::{
        self, both, compare, copy, cpu, edit, golden, golden_json, gradient_error, matrix, matrix as matrix_of,
        refused, same, tiny,
    },
    tokens::weights,
};

#[derive(Deserialize)]
struct Golden {
    texts: Vec<String>,
    ids: Vec<Vec<u32>>,
    lower: Vec<Vec<u32>>,
    buckets: BTreeMap<String, Vec<usize>>,
    lengths_ids: Vec<Vec<u32>>,
    states: Vec<Vec<f32>>,
    projected: Vec<Vec<f32>>,
    gradients: BTreeMap<String, [f64; 2]>,
    peft: Adapted,
}

#[derive(Deserialize)]
struct Adapted {
    states: Vec<Vec<f32>>,
    gradients: BTreeMap<String, [f64; 2]>,
}

fn load() -> (Folder, Golden) {
    (tiny("tiny-t5"), golden_json("tiny-t5.json"))
}

fn t5(folder: &Folder) -> T5Config {
    match &folder.model.architecture {
        Architecture::T5(config) => config.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_folder_says_what_it_is() {
    let (folder, _) = load();
    let config = t5(&folder);
    assert_eq!((config.d_model, config.d_kv, config.num_heads, config.d_ff), (24, 8, 2, 40));
    assert_eq!((config.relative_attention_num_buckets, config.relative_attention_max_distance), (32, 128));
    assert_eq!((config.layer_norm_epsilon, config.dropout_rate), (1e-6, 0.1));
    assert_eq!(folder.model.architecture.describe(), "t5 2 × 24, 2 heads");
    assert_eq!((folder.max_tokens.query, folder.max_tokens.document), (512, 512));
    assert_eq!(folder.model.architecture.max_tokens(), None);
    assert_eq!(folder.tokenizer.special_tokens(), 1);
    assert!(folder.notes[0].starts_with("no modules.json: mean pooling"), "{:?}", folder.notes);
}

#[test]
fn token_ids_are_those_of_transformers() {
    let (folder, golden) = load();
    let lowercased = folder.tokenizer.clone().lowercased().unwrap();
    for ((text, expected), lower) in golden.texts.iter().zip(&golden.ids).zip(&golden.lower) {
        assert_eq!(&folder.tokenizer.encode("", text, 24).unwrap(), expected, "{text:?}");
        assert_eq!(&lowercased.encode("", text, 24).unwrap(), lower, "{text:?}");
        assert_eq!(expected.last(), Some(&1));
        assert_eq!(&folder.tokenizer.encode_with_places("", text, 24).unwrap().ids, expected, "{text:?}");
    }
}

#[derive(Deserialize)]
struct Ids {
    texts: Vec<String>,
    ids: Vec<Vec<u32>>,
    lower: Vec<Vec<u32>>,
}

/// T5's own layout of a tokenizer.json, with SentencePiece's table of characters as normalizer: the ids of Python's
/// tokenizers, and those of `text.lower()`, each with one `</s>` at its end, cut or not.
#[test]
fn a_tokenizer_with_sentencepieces_table_gives_pythons_ids() {
    let tokenizer = Tokenizer::read(&golden().join("t5-tokenizer.json")).unwrap();
    let expected: Ids = golden_json("t5-tokenizer-ids.json");
    assert_eq!((tokenizer.special_tokens(), tokenizer.special_tokens_before(), tokenizer.mask_token()), (1, 0, None));
    let again = tempfile::tempdir().unwrap();
    tokenizer.write(&again.path().join("tokenizer.json")).unwrap();
    let again = Tokenizer::read(&again.path().join("tokenizer.json")).unwrap();
    for (tokenizer, ids) in [
        (&tokenizer, &expected.ids),
        (&again, &expected.ids),
        (&tokenizer.clone().lowercased().unwrap(), &expected.lower),
    ] {
        for (text, ids) in expected.texts.iter().zip(ids) {
            assert_eq!(&tokenizer.encode("", text, 512).unwrap(), ids, "{text:?}");
            assert_eq!(&tokenizer.encode_with_places("", text, 512).unwrap().ids, ids, "{text:?}");
            assert_eq!(ids.iter().filter(|id| **id == 1).count(), 1 + text.matches("</s>").count());
            // Cut, it still ends in `</s>`.
            let cut = tokenizer.encode("", text, 9).unwrap();
            assert_eq!((cut.len(), cut.last()), (ids.len().min(9), Some(&1)));
            assert_eq!(cut[..cut.len() - 1], ids[..cut.len() - 1]);
        }
    }
    assert_ne!(expected.ids, expected.lower);
}

#[test]
fn buckets_are_those_of_transformers() {
    let (folder, golden) = load();
    assert_eq!(golden.buckets.len(), 3);
    for (sizes, expected) in &golden.buckets {
        let (buckets, most) = sizes.split_once(',').unwrap();
        let config = T5Config {
            relative_attention_num_buckets: buckets.parse().unwrap(),
            relative_attention_max_distance: most.parse().unwrap(),
            ..t5(&folder)
        };
        let distances = config.stack().distances.unwrap();
        let found: Vec<usize> = (-200..=200).map(|distance| distances.bucket(distance)).collect();
        assert_eq!(&found, expected, "{sizes}");
    }
}

/// States of all lengths, alone and with others, and the gradients of all weights that train.
fn check(model: &Model, ids: &[Vec<u32>], states: &[Vec<f32>], gradients: &BTreeMap<String, [f64; 2]>) {
    let batch = TokenBatch::new(ids.iter().map(Vec::as_slice));
    let expected = matrix(states);
    for (path, backbone) in both(model) {
        let (_, tracked, tape) = backbone.embed_tokens_tracked(&batch, None).unwrap();
        for found in [&tracked, &backbone.embed_tokens(&batch).unwrap()] {
            let (cosine, difference) = compare(found.view(), expected.view());
            assert!(cosine >= 0.999999 && difference <= 1e-5, "{path}: {cosine} {difference}");
        }
        let mut row = 0;
        for text in ids {
            let alone = backbone.embed_tokens(&TokenBatch::new([text.as_slice()])).unwrap();
            let (_, difference) = compare(alone.view(), expected.slice(ndarray::s![row..row + text.len(), ..]));
            assert!(difference <= 1e-5, "{path}, {} tokens: {difference}", text.len());
            row += text.len();
        }
        let mut found = Gradients::zeros(backbone.parameters());
        backbone.backward_tokens(tape, Upstream::states(weights(tracked.dim()).view()), &mut found).unwrap();
        let mut seen = 0;
        let mut worst = 0f64;
        for (place, parameter) in backbone.parameters().iter().enumerate().filter(|(_, p)| p.trainable) {
            let error = gradient_error(&parameter.name, found.at(place), gradients[&parameter.name]);
            assert!(error <= 2e-4, "{path} {}: {error}", parameter.name);
            worst = worst.max(error);
            seen += 1;
        }
        assert_eq!(seen, gradients.len());
        let (_, difference) = compare(tracked.view(), expected.view());
        eprintln!("t5 {path}: states differ by {difference:.1e}, gradients by {worst:.1e} of their size");
    }
}

#[test]
fn states_and_gradients_are_those_of_transformers() {
    let (folder, golden) = load();
    check(&folder.model, &golden.lengths_ids, &golden.states, &golden.gradients);
}

#[test]
fn adapters_are_those_of_peft() {
    let golden_file: Golden = golden_json("tiny-t5.json");
    let mut folder = tiny("peft-t5");
    let lora = folder.lora.clone().unwrap();
    assert_eq!((lora.rank, lora.alpha, lora.dropout), (2, 3.0, 0.1));
    check(&folder.model, &golden_file.lengths_ids, &golden_file.peft.states, &golden_file.peft.gradients);
    // Merged, they are in the weights.
    folder.merge().unwrap();
    let batch = TokenBatch::new(golden_file.lengths_ids.iter().map(Vec::as_slice));
    for (path, backbone) in both(&folder.model) {
        let found = backbone.embed_tokens(&batch).unwrap();
        let (_, difference) = compare(found.view(), matrix(&golden_file.peft.states).view());
        assert!(difference <= 2e-5, "{path}: {difference}");
    }
}

#[test]
fn targets_are_named_as_in_peft() {
    let (mut folder, _) = load();
    let config =
        |targets: &str| serde_json::from_str::<LoraConfig>(&format!("{{\"rank\": 2, \"targets\": {targets}}}"));
    let layers = config("\"all-linear\"").unwrap().layers(&folder.model.architecture, "tiny-t5").unwrap();
    assert_eq!(layers.len(), 14);
    assert_eq!(layers[0], "encoder.block.0.layer.0.SelfAttention.q");
    assert!(!layers.iter().any(|layer| layer.contains("relative_attention_bias")));
    let error = folder.attach(&LoraConfig::default(), Seed(1)).unwrap_err().to_string();
    assert!(
        error.contains("`query` matches no parameter of tiny-t5; targets here are: k, o, q, v, wi_0, wi_1, wo"),
        "{error}"
    );
    folder.attach(&config(r#"["q", "wo"]"#).unwrap(), Seed(1)).unwrap();
    assert_eq!(folder.model.parameters.iter().filter(|p| p.trainable).count(), 8);
}

#[test]
fn written_folders_give_the_same_embeddings() {
    let (mut folder, golden_file) = load();
    folder.normalize = true;
    let texts: Vec<&str> = golden_file.texts.iter().map(String::as_str).collect();
    let config: LoraConfig = serde_json::from_str(
        r#"{"rank": 2, "targets": ["q", "v", "wi_1", "wo"], "modules_to_save": ["final_layer_norm"]}"#,
    )
    .unwrap();
    folder.attach(&config, Seed(3)).unwrap();
    for p in folder.model.parameters.iter_mut().filter(|p| p.trainable) {
        p.values.floats_mut().iter_mut().enumerate().for_each(|(i, v)| *v += (i as f32 * 0.3).sin() * 0.1);
    }
    let expected = cpu(folder.clone()).embed(&texts, Side::Document, &mut silent).unwrap();
    let place = tempfile::tempdir().unwrap();
    let base = Some(golden().join("tiny-t5").display().to_string());
    for format in [ExportFormat::Safetensors, ExportFormat::St, ExportFormat::St6, ExportFormat::Peft] {
        let to = place.path().join(format.to_string());
        let config = ExportConfig { format, base: base.clone(), ..Default::default() };
        export(&folder, &config, &|_| String::new(), &to).unwrap();
        let back = Folder::read(&to).unwrap();
        let found = cpu(back).embed(&texts, Side::Document, &mut silent).unwrap();
        same(found.view(), expected.view(), 1e-5, format);
    }
}

/// The projection as torch saved it, and a whole encoder with it.
#[test]
fn the_projection_is_read_from_torchs_own_file() {
    let (plain, golden_file) = load();
    let place = copy("tiny-t5");
    fs::create_dir(place.path().join("2_Dense")).unwrap();
    fs::create_dir(place.path().join("1_Pooling")).unwrap();
    for name in ["config.json", "pytorch_model.bin"] {
        let name = Path::new("2_Dense").join(name);
        fs::copy(golden().join("xtr").join(&name), place.path().join(&name)).unwrap();
    }
    let module =
        |class: &str, path: &str| format!(r#"{{"path": "{path}", "type": "sentence_transformers.models.{class}"}}"#);
    let modules = [module("Transformer", ""), module("Pooling", "1_Pooling"), module("Dense", "2_Dense")].join(",");
    fs::write(place.path().join("modules.json"), format!("[{modules}]")).unwrap();
    fs::write(place.path().join("1_Pooling/config.json"), r#"{"pooling_mode": "mean"}"#).unwrap();
    let folder = Folder::read(place.path()).unwrap();
    assert_eq!((folder.dense.len(), folder.dim()), (1, 8));
    assert!(folder.late_interaction.is_none());
    let projected = folder.dense[0].forward(&matrix(&golden_file.states));
    let (_, difference) = compare(projected.view(), matrix(&golden_file.projected).view());
    assert!(difference <= 1e-6, "{difference}");
    assert_eq!(folder.model, plain.model);
    // It goes along, and is then a safetensors file.
    let to = place.path().join("written");
    let (source, config) = (folder.clone(), ExportConfig { format: ExportFormat::St, ..Default::default() });
    export(&source, &config, &|_| String::new(), &to).unwrap();
    assert!(to.join("2_Dense/model.safetensors").is_file());
    assert_eq!(Folder::read(&to).unwrap().dense, folder.dense);
    // Cut, it is refused.
    let file = place.path().join("2_Dense/pytorch_model.bin");
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, &bytes[..bytes.len() - 1]).unwrap();
    refused(place.path(), "2_Dense/pytorch_model.bin: is no whole zip archive");
}

/// A folder laid out as google/xtr-base-en is: one vector a token, in lower case.
#[test]
fn a_folder_of_xtrs_layout_has_one_vector_a_token() {
    let (plain, golden_file) = load();
    let place = copy("tiny-t5");
    fs::create_dir(place.path().join("2_Dense")).unwrap();
    for name in ["2_Dense/config.json", "2_Dense/pytorch_model.bin"] {
        fs::copy(golden().join("xtr").join(name), place.path().join(name)).unwrap();
    }
    let mut folder = Folder::read(place.path()).unwrap();
    assert_eq!((folder.dim(), folder.dense.len()), (8, 0));
    let note = "no modules.json, and a T5 with 2_Dense: read as XTR is";
    assert!(folder.notes.iter().any(|found| found.starts_with(note)), "{:?}", folder.notes);
    assert_eq!(folder.model.parameters.len(), plain.model.parameters.len() + 1);
    for (text, lower) in golden_file.texts.iter().zip(&golden_file.lower) {
        assert_eq!(&folder.tokenizer.encode("", text, 24).unwrap(), lower, "{text:?}");
    }
    // Vectors of whole texts: the projected states of their tokens, brought to length 1.
    let texts: Vec<&str> = golden_file.texts.iter().map(String::as_str).collect();
    let ids = folder.tokenizer.encode_all("", &texts, folder.max_tokens.document).unwrap();
    let batch = TokenBatch::new(ids.iter().map(Vec::as_slice));
    let [plain_native, _] = both(&plain.model);
    let states = plain_native.1.embed_tokens(&batch).unwrap();
    let matrix = folder.model.parameters.get("late_interaction.weight").unwrap().values.floats().into_owned();
    let matrix = ndarray::Array2::from_shape_vec((8, 24), matrix).unwrap();
    let mut expected = states.dot(&matrix.t());
    expected.rows_mut().into_iter().for_each(|mut row| row /= row.dot(&row).sqrt());
    let found = cpu(folder.clone()).embed(&texts, Side::Document, &mut silent).unwrap();
    let (_, difference) = compare(found.view(), expected.view());
    assert!(difference <= 1e-5, "{difference}");
    // The golden projection is of the same matrix.
    let (_, difference) =
        compare(matrix_of(&golden_file.states).dot(&matrix.t()).view(), matrix_of(&golden_file.projected).view());
    assert!(difference <= 1e-6, "{difference}");
    // With adapters, the matrix trains beside them; both are written and read back.
    folder.attach(&serde_json::from_str(r#"{"rank": 2, "targets": ["q", "wo"]}"#).unwrap(), Seed(1)).unwrap();
    let trained: Vec<&str> = folder.model.parameters.iter().filter(|p| p.trainable).map(|p| p.name.as_str()).collect();
    assert_eq!(trained.len(), 9);
    assert!(trained.contains(&"late_interaction.weight"));
    for format in [ExportFormat::Safetensors, ExportFormat::St, ExportFormat::Peft] {
        let to = place.path().join(format!("{format}"));
        let base = Some(golden().join("tiny-t5").display().to_string());
        export(&folder, &ExportConfig { format, base, ..Default::default() }, &|_| String::new(), &to).unwrap();
        let back = cpu(Folder::read(&to).unwrap()).embed(&texts, Side::Document, &mut silent).unwrap();
        let (_, difference) = compare(back.view(), found.view());
        assert!(difference <= 1e-5, "{format}: {difference}");
    }
}

fn rewrite(file: &Path, change: impl Fn(&str) -> Option<String>) {
    let bytes = fs::read(file).unwrap();
    let tensors = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let changed: Vec<_> = tensors.iter().filter_map(|(name, view)| Some((change(name)?, view))).collect();
    let whole = safetensors::serialize(changed, None).unwrap();
    fs::write(file, whole).unwrap();
}

/// Files of a whole T5, and of one whose token vectors have their other name or both.
#[test]
fn other_names_of_weights_are_known() {
    let (folder, _) = load();
    for (name, twice) in [("encoder.embed_tokens.weight", false), ("encoder.embed_tokens.weight", true)] {
        let place = copy("tiny-t5");
        let file = place.path().join("model.safetensors");
        if twice {
            let bytes = fs::read(&file).unwrap();
            let tensors = safetensors::SafeTensors::deserialize(&bytes).unwrap();
            let mut all = tensors.tensors();
            all.push((name.to_owned(), tensors.tensor("shared.weight").unwrap()));
            all.push((
                "decoder.final_layer_norm.weight".to_owned(),
                tensors.tensor("encoder.final_layer_norm.weight").unwrap(),
            ));
            all.push(("lm_head.weight".to_owned(), tensors.tensor("shared.weight").unwrap()));
            let whole = safetensors::serialize(all, None).unwrap();
            fs::write(&file, whole).unwrap();
        } else {
            rewrite(&file, |found| Some(if found == "shared.weight" { name.to_owned() } else { found.to_owned() }));
        }
        let read = Folder::read(place.path()).unwrap();
        assert_eq!(read.model, folder.model);
        let ignored = "3 tensors not used: decoder.final_layer_norm.weight, ";
        assert_eq!(read.notes.iter().any(|note| note.starts_with(ignored)), twice, "{:?}", read.notes);
    }
}

#[test]
fn what_is_no_t5_of_version_1_1_is_refused() {
    let refused = |from: &str, to: &str, expected: &str| {
        let place = copy("tiny-t5");
        edit(&place.path().join("config.json"), from, to);
        refused(place.path(), expected);
    };
    refused("\"gated-gelu\"", "\"relu\"", "config.json: has feed_forward_proj `relu`, expected gated-gelu");
    refused("\"feed_forward_proj\"", "\"other\"", "has feed_forward_proj `relu`, expected gated-gelu");
    refused("\"gelu_new\"", "\"silu\"", "has dense_act_fn `silu`, expected gelu_new");
    refused("\"is_decoder\": false", "\"is_decoder\": true", "has is_decoder true, expected an encoder");
    refused("\"d_kv\": 8", "\"d_kv\": null", "has no `d_kv`, expected a number");
    refused("\"d_kv\": 8", "\"d_kv\": 12", "has shape [16, 24], expected [24, 24] by the config beside it");
    refused("\"num_heads\": 2", "\"num_heads\": 0", "config.json.num_heads: got 0, expected at least 1");
    refused("\"t5\"", "\"umt5\"", "has model_type `umt5`, expected one of bert, roberta, xlm-roberta, camembert, t5, ");
    let place = copy("tiny-t5");
    fs::remove_file(place.path().join("tokenizer.json")).unwrap();
    common::refused(place.path(), "has no tokenizer.json, expected one; spiece.model is not read");
}
