//! Encoders of one vector a token: in folders of ours and of sentence-transformers, and as they are asked.

use std::fs;

use serde_json::{Value, json};
use wb_core::{Embeddings, Encoder, Interaction, Seed, Side, progress::silent};
use wb_encoder::{
    BiEncoder, ExportConfig, ExportFormat, Folder, LateInteractionConfig, WeightType, export, folder::MaxTokens,
    late_interaction::WEIGHT,
};

use crate::common::{self, adapted, compare, cpu, golden, read_json};

const TEXTS: [&str; 4] = ["sort a list!", "def add(a, b): return a + b", "文字列 Größe", ""];
const WHOLE: &str =
    r#"{"dim": 16, "markers": {"query": "[MASK]", "document": "[UNK]"}, "expansion": 9, "skip_punctuation": true}"#;
const ADAPTERS: &str = r#"{"rank": 3, "targets": ["query"]}"#;

/// The tiny BERT with late interaction and a matrix of its own.
fn tiny(name: &str, config: &str) -> Folder {
    let mut folder = common::tiny(name);
    folder.max_tokens = MaxTokens { query: 12, document: 20 };
    let config: LateInteractionConfig = serde_json::from_str(config).unwrap();
    folder.add_late_interaction(&config, Seed(3), "encoder.late_interaction").unwrap();
    folder
}

fn encoder(folder: &Folder) -> BiEncoder {
    cpu(folder.clone())
}

fn embed(folder: &Folder, side: Side) -> Embeddings {
    encoder(folder).embed(&TEXTS, side, &mut silent).unwrap()
}

fn same(a: &Folder, b: &Folder) {
    for side in [Side::Query, Side::Document] {
        let (a, b) = (embed(a, side), embed(b, side));
        assert_eq!(a.offsets(), b.offsets());
        common::same(a.view(), b.view(), 1e-5, side);
    }
}

#[test]
fn every_token_that_counts_has_a_vector_of_length_1() {
    let mut folder = tiny("tiny-bert", WHOLE);
    folder.prompts = wb_encoder::folder::Prompts::default();
    let encoder = encoder(&folder);
    let (queries, documents) = (embed(&folder, Side::Query), embed(&folder, Side::Document));
    let lengths = |of: &Embeddings| (0..of.texts()).map(|text| of.of(text).nrows()).collect::<Vec<_>>();
    let ids = encoder.tokenize(&TEXTS, Side::Query).unwrap();
    assert_eq!(lengths(&queries), ids.iter().map(Vec::len).collect::<Vec<_>>());
    assert!(lengths(&queries).iter().all(|n| (9..=12).contains(n)), "{:?}", lengths(&queries));
    // `[CLS]`, the marker and `[SEP]` of the empty text.
    assert_eq!((lengths(&documents)[3], documents.dim(), encoder.dim()), (3, 16, 16));
    let marks = |text: &str| text.chars().filter(|c| "!(),:+".contains(*c)).count();
    let all = encoder.tokenize(&TEXTS, Side::Document).unwrap();
    assert_eq!(lengths(&documents)[0], all[0].len() - marks(TEXTS[0]));
    for vectors in [&queries, &documents] {
        for row in vectors.view().rows() {
            assert!((row.dot(&row) - 1.0).abs() < 1e-5);
        }
    }
    // Alone or among others, a text has the same vectors.
    let alone = encoder.embed(&TEXTS[1..2], Side::Document, &mut silent).unwrap();
    let (cosine, _) = compare(alone.view(), documents.of(1));
    assert!(cosine > 0.999999, "{cosine}");
    assert_eq!(encoder.interaction(), Interaction::MaxSim);
    let error = encoder.encode_single_vector(&TEXTS, Side::Query, &mut silent).unwrap_err().to_string();
    assert!(error.ends_with("gives one vector a token, and one a text is wanted here"), "{error}");
    let dense = cpu(common::tiny("tiny-bert"));
    assert_eq!(dense.interaction(), Interaction::InnerProduct);
    assert!(dense.embed(&TEXTS, Side::Query, &mut silent).unwrap().offsets().is_none());
}

#[test]
fn our_own_folder_keeps_everything_and_the_matrix_trains_beside_adapters() {
    let place = tempfile::tempdir().unwrap();
    for (name, source) in
        [("plain", tiny("tiny-bert", WHOLE)), ("lora", adapted(tiny("tiny-roberta", r#"{"dim": 5}"#), ADAPTERS))]
    {
        let to = place.path().join(name);
        source.write(&to).unwrap();
        let again = Folder::read(&to).unwrap();
        assert_eq!(again.late_interaction, source.late_interaction);
        assert_eq!(again.model.parameters.get(WEIGHT), source.model.parameters.get(WEIGHT));
        assert!(again.model.parameters.get(WEIGHT).unwrap().trainable);
        for side in [Side::Query, Side::Document] {
            assert_eq!(embed(&again, side), embed(&source, side));
        }
        assert_eq!(encoder(&again).fingerprint(), encoder(&source).fingerprint());
        assert_eq!(again.dim(), source.dim());
    }
    let trainable: Vec<String> = adapted(tiny("tiny-bert", "{}"), ADAPTERS)
        .model
        .parameters
        .iter()
        .filter(|parameter| parameter.trainable && !parameter.name.contains("lora_"))
        .map(|parameter| parameter.name.clone())
        .collect();
    assert_eq!(trainable, [WEIGHT]);
    let mut other = tiny("tiny-bert", WHOLE);
    let config = LateInteractionConfig { dim: 8, ..LateInteractionConfig::default() };
    let error = other.add_late_interaction(&config, Seed(1), "encoder.late_interaction").unwrap_err().to_string();
    assert!(
        error.starts_with("encoder.late_interaction.dim: is 8, and tiny-bert has vectors of 16 already"),
        "{error}"
    );
}

#[test]
fn sentence_transformers_layout_is_read_back_equal() {
    let place = tempfile::tempdir().unwrap();
    let configs = ["{}", WHOLE, r#"{"dim": 7, "expansion": 32}"#, r#"{"dim": 16, "expansion": 10, "attend": false}"#];
    for (number, config) in configs.into_iter().enumerate() {
        for format in [ExportFormat::St, ExportFormat::St6, ExportFormat::Safetensors] {
            let source = adapted(tiny("tiny-bert", config), ADAPTERS);
            let to = place.path().join(format!("{number}-{format}"));
            let settings = ExportConfig { format, ..ExportConfig::default() };
            let done = export(&source, &settings, &|_| String::new(), &to).unwrap();
            assert!(done.parity.cosine >= 0.99999, "{done:?}");
            let again = Folder::read(&to).unwrap();
            assert_eq!((again.max_tokens, &again.prompts), (source.max_tokens, &source.prompts));
            let (of_again, of_source) =
                (again.late_interaction.as_ref().unwrap(), source.late_interaction.as_ref().unwrap());
            assert_eq!(of_again.config().markers, of_source.config().markers);
            // No query has more tokens than 12.
            assert_eq!(of_again.config().expansion.min(12), of_source.config().expansion.min(12));
            assert_eq!(of_again.config().attend, of_source.config().attend);
            same(&again, &source);
        }
    }
    let to = place.path().join("1-st6");
    let kinds: Vec<Value> =
        read_json::<Value>(&to.join("modules.json")).as_array().unwrap().iter().map(|m| m["path"].clone()).collect();
    assert_eq!(kinds, [json!(""), json!("1_Dense"), json!("2_MultiVectorMask"), json!("3_Normalize")]);
    let about = read_json::<Value>(&to.join("config_sentence_transformers.json"));
    assert_eq!((&about["model_type"], &about["similarity_fn_name"]), (&json!("MultiVectorEncoder"), &json!("maxsim")));
    assert_eq!(about["prompts"], json!({"query": "[MASK]query: ", "document": "[UNK]passage: "}));
    let settings = read_json::<Value>(&to.join("sentence_bert_config.json"));
    assert_eq!((&settings["query_length"], &settings["document_length"]), (&json!(12), &json!(20)));
    assert_eq!(settings["query_expansion"], json!({"strategy": "min", "attend": true, "token": null, "length": 9}));
    // Half the bits, and still the same vectors up to rounding.
    let half = ExportConfig { format: ExportFormat::St6, dtype: WeightType::F16, ..ExportConfig::default() };
    let done = export(&tiny("tiny-bert", WHOLE), &half, &|_| String::new(), &place.path().join("half")).unwrap();
    assert!(done.parity.cosine >= 0.99999 && done.parity.rounded.unwrap() >= 0.999, "{done:?}");
}

#[test]
fn adapters_with_late_interaction_go_to_peft_with_the_matrix_beside_them() {
    let place = tempfile::tempdir().unwrap();
    let source = adapted(tiny("tiny-bert", WHOLE), ADAPTERS);
    let to = place.path().join("peft");
    let base = golden().join("tiny-bert").display().to_string();
    let settings = ExportConfig { format: ExportFormat::Peft, base: Some(base), ..ExportConfig::default() };
    export(&source, &settings, &|_| String::new(), &to).unwrap();
    assert!(to.join("adapter_model.safetensors").is_file() && to.join("1_Dense/model.safetensors").is_file());
    let again = Folder::read(&to).unwrap();
    assert!(again.lora.is_some());
    assert!(again.model.parameters.get(WEIGHT).unwrap().trainable, "adapters read from PEFT froze the matrix");
    same(&again, &source);
}

#[test]
fn what_cannot_be_computed_is_refused_with_its_file() {
    let place = tempfile::tempdir().unwrap();
    let to = place.path().join("st6");
    let settings = ExportConfig { format: ExportFormat::St6, ..ExportConfig::default() };
    export(&tiny("tiny-bert", WHOLE), &settings, &|_| String::new(), &to).unwrap();
    let refused = |file: &str, key: &str, value: Value| {
        let path = to.join(file);
        let before: Value = read_json(&path);
        let mut changed = before.clone();
        changed[key] = value;
        fs::write(&path, changed.to_string()).unwrap();
        let error = Folder::read(&to).unwrap_err().to_string();
        fs::write(&path, before.to_string()).unwrap();
        assert!(error.contains(file), "{error}");
        error
    };
    let expansion = json!({"strategy": "fixed", "attend": true, "token": "[UNK]", "length": 9});
    let error = refused("sentence_bert_config.json", "query_expansion", expansion);
    assert!(error.contains("expected the mask token"), "{error}");
    refused("2_MultiVectorMask/config.json", "skiplist_words", json!(["the"]));
    refused("2_MultiVectorMask/config.json", "keep_only_token_ids", json!([1]));
    let error = refused("1_Dense/config.json", "module_input_name", json!("sentence_embedding"));
    assert!(error.contains("expected \"token_embeddings\""), "{error}");
    Folder::read(&to).unwrap();
}

/// What PyLate writes: two modules, and everything else in `config_sentence_transformers.json`.
#[test]
fn pylates_layout_is_read() {
    let place = tempfile::tempdir().unwrap();
    let to = place.path().join("pylate");
    let config = r#"{"dim": 16, "markers": {"query": "[MASK]", "document": "[UNK]"}, "expansion": 12, "skip_punctuation": true}"#;
    let mut source = tiny("tiny-bert", config);
    source.prompts = wb_encoder::folder::Prompts::default();
    let settings = ExportConfig { format: ExportFormat::St6, ..ExportConfig::default() };
    export(&source, &settings, &|_| String::new(), &to).unwrap();
    let modules = json!([
        {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "name": "1", "path": "1_Dense", "type": "pylate.models.Dense.Dense"},
    ]);
    fs::write(to.join("modules.json"), modules.to_string()).unwrap();
    fs::write(to.join("sentence_bert_config.json"), json!({"max_seq_length": 24}).to_string()).unwrap();
    let dense = json!({"in_features": 32, "out_features": 16, "bias": false,
        "activation_function": "torch.nn.modules.linear.Identity", "use_residual": false});
    fs::write(to.join("1_Dense/config.json"), dense.to_string()).unwrap();
    let about = json!({"query_prefix": "[MASK]", "document_prefix": "[UNK]", "query_length": 12, "document_length": 20,
        "attend_to_expansion_tokens": true, "skiplist_words": null, "similarity_fn_name": "MaxSim"});
    fs::write(to.join("config_sentence_transformers.json"), about.to_string()).unwrap();
    let again = Folder::read(&to).unwrap();
    assert_eq!(again.late_interaction, source.late_interaction);
    same(&again, &source);
    // Without a word about it, none attends to the mask tokens; `attend_to_mask_tokens` is ColBERT's own name for it.
    for (key, attends) in [("attend_to_expansion_tokens", false), ("attend_to_mask_tokens", true), ("other", false)] {
        let mut changed = about.clone();
        changed.as_object_mut().unwrap().remove("attend_to_expansion_tokens");
        changed[key] = json!(attends);
        fs::write(to.join("config_sentence_transformers.json"), changed.to_string()).unwrap();
        let late = Folder::read(&to).unwrap().late_interaction.unwrap();
        assert_eq!((late.config().attend, late.config().expansion), (attends, 12), "{key}");
    }
}

/// Mask tokens that nothing attends to leave the query's own vectors as they are without them.
#[test]
fn unattended_mask_tokens_change_no_other_vector() {
    let plain = tiny("tiny-bert", r#"{"dim": 16}"#);
    let attended = tiny("tiny-bert", r#"{"dim": 16, "expansion": 12}"#);
    let unattended = tiny("tiny-bert", r#"{"dim": 16, "expansion": 12, "attend": false}"#);
    let [plain, attended, unattended] = [&plain, &attended, &unattended].map(|folder| embed(folder, Side::Query));
    for text in 0..TEXTS.len() {
        let own = plain.of(text);
        let (rows, all) = (own.nrows(), unattended.of(text));
        assert_eq!((all.nrows(), attended.of(text).nrows()), (12, 12));
        let (_, difference) = compare(own, all.slice(ndarray::s![..rows, ..]));
        assert!(difference < 1e-6, "{difference}");
        if rows < 12 {
            let (_, difference) = compare(own, attended.of(text).slice(ndarray::s![..rows, ..]));
            assert!(difference > 1e-3, "mask tokens that are attended to change nothing: {difference}");
            let (_, difference) = compare(all, attended.of(text));
            assert!(difference > 1e-3, "{difference}");
        }
    }
}

#[test]
fn markers_change_the_vectors_and_sides_differ() {
    let folder = tiny("tiny-bert", WHOLE);
    let rows = |side| Embeddings::dense(embed(&folder, side).of(1).to_owned());
    assert_ne!(rows(Side::Query), rows(Side::Document));
}
