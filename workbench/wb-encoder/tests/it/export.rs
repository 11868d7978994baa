//! Encoders out to other tools' folders: the files as those tools expect them, and the same embeddings when read back.

use std::{fs, path::Path};

use serde_json::{Value, json};
use wb_core::{Seed, Side, progress::silent};
use wb_encoder::{
    Architecture, ExportConfig, ExportFormat, Exported, Folder, Pooling, Result, TokenizerConfig, WeightType, export,
    export::lint::lint, folder::MaxTokens, lora, models::StaticConfig, similarities::SimilarityConfig,
};

use crate::common::{self, adapted, cpu, golden, read_json, tiny};

const TEXTS: [&str; 3] = ["sort a list", "def add(a, b): return a + b", "文字列 Größe"];

fn out(folder: &Folder, config: &ExportConfig, to: &Path) -> Result<Exported> {
    export(folder, config, &|exported| format!("parity {:.6}\n", exported.parity.cosine), to)
}

fn embed(folder: &Folder, side: Side) -> wb_core::Embeddings {
    cpu(folder.clone()).embed(&TEXTS, side, &mut silent).unwrap()
}

fn same(a: &Folder, b: &Folder) {
    for side in [Side::Query, Side::Document] {
        common::same(embed(a, side).view(), embed(b, side).view(), 1e-5, side);
    }
}

#[test]
fn the_older_layout_has_the_keys_that_strict_readers_want() {
    let place = tempfile::tempdir().unwrap();
    let to = place.path().join("st");
    let source = tiny("tiny-bert");
    let exported = out(&source, &ExportConfig::default(), &to).unwrap();
    assert!(exported.parity.cosine >= 0.99999 && exported.parity.rounded.is_none(), "{exported:?}");
    assert_eq!((exported.parity.texts, exported.max_tokens, exported.notes.len()), (32, 24, 0));
    assert_eq!(fs::read_to_string(to.join("README.md")).unwrap(), "parity 1.000000\n");
    let types: Vec<Value> =
        read_json::<Value>(&to.join("modules.json")).as_array().unwrap().iter().map(|m| m["type"].clone()).collect();
    assert_eq!(
        types,
        ["Transformer", "Pooling", "Normalize"].map(|name| json!(format!("sentence_transformers.models.{name}")))
    );
    assert_eq!(
        read_json::<Value>(&to.join("sentence_bert_config.json")),
        json!({"max_seq_length": 24, "do_lower_case": false})
    );
    let pooling = read_json::<Value>(&to.join("1_Pooling/config.json"));
    assert_eq!(pooling["word_embedding_dimension"], 32);
    assert_eq!(
        (&pooling["pooling_mode_mean_tokens"], &pooling["pooling_mode_cls_token"]),
        (&json!(true), &json!(false))
    );
    let about = read_json::<Value>(&to.join("config_sentence_transformers.json"));
    assert_eq!(about["prompts"], json!({"query": "query: ", "document": "passage: "}));
    assert_eq!((&about["similarity_fn_name"], &about["default_prompt_name"]), (&json!("cosine"), &Value::Null));
    let config = read_json::<Value>(&to.join("config.json"));
    for (key, value) in read_json::<Value>(&golden().join("tiny-bert/config.json")).as_object().unwrap() {
        let told_otherwise = ["transformers_version", "torch_dtype", "dtype", "use_cache"].contains(&key.as_str());
        if !told_otherwise && !config[key].is_null() {
            assert_eq!(&config[key], value, "{key}");
        }
    }
    let special = read_json::<Value>(&to.join("special_tokens_map.json"));
    assert_eq!((&special["cls_token"], &special["pad_token"]), (&json!("[CLS]"), &json!("[PAD]")));
    assert_eq!(lint(&to).unwrap(), Vec::<String>::new());
    let back = Folder::read(&to).unwrap();
    assert_eq!((back.normalize, back.max_tokens, &back.prompts), (true, source.max_tokens, &source.prompts));
    same(&source, &back);
}

#[test]
fn both_layouts_keep_every_family_and_pooling() {
    let place = tempfile::tempdir().unwrap();
    let mut number = 0;
    for name in ["tiny-bert", "tiny-roberta"] {
        for pooling in Pooling::ALL {
            for format in [ExportFormat::St, ExportFormat::St6] {
                let mut source = tiny(name);
                source.model.pooling = pooling;
                source.normalize = number % 2 == 0;
                number += 1;
                let to = place.path().join(number.to_string());
                let similarity = SimilarityConfig::Dot;
                let exported =
                    out(&source, &ExportConfig { format, similarity, ..ExportConfig::default() }, &to).unwrap();
                let back = Folder::read(&to).unwrap();
                assert_eq!((back.model.pooling, back.normalize), (pooling, source.normalize));
                assert_eq!(back.max_tokens, source.max_tokens);
                same(&source, &back);
                assert_eq!(
                    read_json::<Value>(&to.join("config_sentence_transformers.json"))["similarity_fn_name"],
                    "dot"
                );
                // The newer layout is what strict readers stumble over, and the export says so.
                assert_eq!(exported.notes.is_empty(), format == ExportFormat::St, "{:?}", exported.notes);
            }
        }
    }
}

#[test]
fn the_newer_layout_is_that_of_sentence_transformers_6() {
    let place = tempfile::tempdir().unwrap();
    let to = place.path().join("st6");
    let exported =
        out(&tiny("tiny-roberta"), &ExportConfig { format: ExportFormat::St6, ..Default::default() }, &to).unwrap();
    // What version 6 itself wrote.
    let theirs = golden().join("tiny-roberta");
    assert_eq!(read_json::<Value>(&to.join("modules.json")), read_json::<Value>(&theirs.join("modules.json")));
    assert_eq!(
        read_json::<Value>(&to.join("1_Pooling/config.json")),
        read_json::<Value>(&theirs.join("1_Pooling/config.json"))
    );
    assert_eq!(read_json::<Value>(&to.join("tokenizer_config.json"))["model_max_length"], 24);
    let found = exported.notes.join("\n");
    assert!(found.contains("sentence_bert_config.json has no `max_seq_length`"), "{found}");
    assert!(found.contains("1_Pooling/config.json has no booleans"), "{found}");
    assert!(found.contains("modules.json has classes other than"), "{found}");
}

#[test]
fn adapters_are_merged_or_kept_apart() {
    let place = tempfile::tempdir().unwrap();
    let config = r#"{"rank": 4, "targets": "all-linear", "use_rslora": true, "modules_to_save": ["embeddings.LayerNorm"],
                     "rank_pattern": {"query": 2}, "alpha_pattern": {"layer.1.*": 5.5}}"#;
    for name in ["tiny-bert", "tiny-roberta"] {
        let source = adapted(tiny(name), config);
        let to = |what: &str| place.path().join(format!("{name}-{what}"));
        let exported = out(&source, &ExportConfig::default(), &to("st")).unwrap();
        assert!(exported.notes[0].starts_with("the adapters were added into the weights"), "{:?}", exported.notes);
        same(&source, &Folder::read(&to("st")).unwrap());

        let peft = ExportConfig {
            format: ExportFormat::Peft,
            base: Some(golden().join(name).display().to_string()),
            ..ExportConfig::default()
        };
        out(&source, &peft, &to("peft")).unwrap();
        let written = read_json::<Value>(&to("peft").join("adapter_config.json"));
        // PEFT would find the pooler's layer too, so ours are written out; and the module that is saved, by its whole name.
        assert_eq!(written["target_modules"].as_array().unwrap().len(), 12);
        assert_eq!(written["modules_to_save"], json!(["embeddings.LayerNorm"]));
        assert_eq!((&written["lora_alpha"], &written["alpha_pattern"]), (&json!(16), &json!({"layer.1.*": 5.5})));
        let back = Folder::read(&to("peft")).unwrap();
        assert_eq!(back.model.pooling, source.model.pooling);
        same(&source, &back);
        let lora =
            |folder: &Folder| folder.model.parameters.iter().filter(|p| p.trainable).cloned().collect::<Vec<_>>();
        assert_eq!(lora(&back), lora(&source));

        for merge in [false, true] {
            let own = ExportConfig { format: ExportFormat::Safetensors, merge, ..ExportConfig::default() };
            let to = to(&format!("own-{merge}"));
            out(&source, &own, &to).unwrap();
            let back = Folder::read(&to).unwrap();
            assert_eq!(back.lora.is_none(), merge);
            same(&source, &back);
        }
    }
    // A list of names that the pooler does not fit stays as it is.
    let source = adapted(tiny("tiny-bert"), r#"{"rank": 2, "targets": ["query", "value"]}"#);
    let peft = ExportConfig {
        format: ExportFormat::Peft,
        base: Some("owner/name".into()),
        base_revision: Some("abc".into()),
        ..Default::default()
    };
    out(&source, &peft, &place.path().join("names")).unwrap();
    let written = read_json::<Value>(&place.path().join("names/adapter_config.json"));
    assert_eq!(written["target_modules"], json!(["query", "value"]));
    assert_eq!((&written["base_model_name_or_path"], &written["revision"]), (&json!("owner/name"), &json!("abc")));
}

#[test]
fn rounded_weights_are_compared_twice() {
    let place = tempfile::tempdir().unwrap();
    for (dtype, name) in [(WeightType::F16, "F16"), (WeightType::Bf16, "BF16")] {
        for format in [ExportFormat::St, ExportFormat::Safetensors] {
            let to = place.path().join(format!("{name}-{format}"));
            let exported = out(&tiny("tiny-bert"), &ExportConfig { dtype, format, ..Default::default() }, &to).unwrap();
            let rounded = exported.parity.rounded.unwrap();
            eprintln!("{name} {format}: {:?}", exported.parity);
            assert!(exported.parity.cosine >= 0.99999 && (0.999..1.0).contains(&rounded), "{exported:?}");
            let bytes = fs::read(to.join("model.safetensors")).unwrap();
            let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
            assert!(file.iter().all(|(_, view)| format!("{:?}", view.dtype()) == name));
        }
    }
    assert_eq!(read_json::<Value>(&place.path().join("BF16-st/config.json"))["torch_dtype"], "bfloat16");
}

#[test]
fn two_lengths_become_one_and_that_is_said() {
    let place = tempfile::tempdir().unwrap();
    let mut source = tiny("tiny-bert");
    source.max_tokens = MaxTokens { query: 10, document: 20 };
    let exported = out(&source, &ExportConfig::default(), &place.path().join("st")).unwrap();
    assert!(
        exported.notes[0].contains("20 tokens here; wb cut queries at 10 and documents at 20"),
        "{:?}",
        exported.notes
    );
    assert_eq!(Folder::read(&place.path().join("st")).unwrap().max_tokens, MaxTokens::both(20));
    let own = ExportConfig { format: ExportFormat::Safetensors, ..Default::default() };
    out(&source, &own, &place.path().join("own")).unwrap();
    assert_eq!(Folder::read(&place.path().join("own")).unwrap().max_tokens, source.max_tokens);
}

fn bag(weighted: bool, positions: usize, special_tokens: bool) -> Folder {
    let config = TokenizerConfig { vocab_size: 300, special_tokens, ..TokenizerConfig::default() };
    let texts: Vec<&str> = TEXTS.into_iter().cycle().take(60).collect();
    let tokenizer = config.train(&texts, Path::new("tokenizer.json")).unwrap();
    let shape = StaticConfig { vocab_size: tokenizer.vocab_size(), dim: 8, weighted, positions };
    let mut folder =
        Folder::fresh("bag", Architecture::StaticEmbedding(shape), tokenizer, MaxTokens::both(12), Seed(3)).unwrap();
    for p in folder.model.parameters.iter_mut().filter(|p| p.name.ends_with("_weights")) {
        p.values.floats_mut().iter_mut().enumerate().for_each(|(i, v)| *v = (i as f32 * 0.9).sin());
    }
    folder
}

#[test]
fn bags_of_token_vectors_become_static_embeddings_where_that_is_possible() {
    let place = tempfile::tempdir().unwrap();
    for (number, (weighted, format)) in
        [(false, ExportFormat::St), (true, ExportFormat::St), (true, ExportFormat::St6)].into_iter().enumerate()
    {
        let source = bag(weighted, 0, false);
        let to = place.path().join(number.to_string());
        let exported = out(&source, &ExportConfig { format, ..Default::default() }, &to).unwrap();
        let folded = exported.notes.iter().any(|note| note.contains("multiplied into their vectors"));
        assert_eq!(folded, weighted, "{:?}", exported.notes);
        let back = Folder::read(&to).unwrap();
        assert_eq!(back.max_tokens, MaxTokens::both(12));
        same(&source, &back);
    }
    assert!(place.path().join("0/0_StaticEmbedding/model.safetensors").is_file());
    assert!(place.path().join("2/model.safetensors").is_file());
    let own = ExportConfig { format: ExportFormat::Safetensors, ..Default::default() };
    out(&bag(true, 9, true), &own, &place.path().join("own")).unwrap();
    same(&bag(true, 9, true), &Folder::read(&place.path().join("own")).unwrap());
}

#[test]
fn a_bag_that_static_embedding_cannot_hold_brings_its_own_module() {
    let place = tempfile::tempdir().unwrap();
    let mut unnormalized = bag(true, 0, false);
    unnormalized.normalize = false;
    let cases = [
        (bag(true, 9, false), "bag weighs tokens by their place in a text, which", [true, false]),
        (bag(false, 9, false), "bag weighs tokens by their place in a text, which", [false, false]),
        (bag(false, 0, true), "bag reads special tokens around every text, which", [false, true]),
        (unnormalized, "bag has weights of tokens, and its embeddings are not of length 1, which", [true, false]),
    ];
    for (number, (source, why, [weighted, special])) in cases.into_iter().enumerate() {
        for format in [ExportFormat::St, ExportFormat::St6] {
            let to = place.path().join(format!("{format}-{number}"));
            let exported = out(&source, &ExportConfig { format, ..Default::default() }, &to).unwrap();
            assert!(exported.has_own_module && exported.notes[0].starts_with(why), "{:?}", exported.notes);
            assert!(exported.notes[0].ends_with("is opened with trust_remote_code=True"), "{:?}", exported.notes);
            assert!(to.join("weighted_static_embedding.py").is_file());
            let read = |name: &str| fs::read_to_string(to.join(name)).unwrap();
            assert!(read("modules.json").contains("\"weighted_static_embedding.WeightedStaticEmbedding\""));
            let config: serde_json::Value =
                serde_json::from_str(&read("0_WeightedStaticEmbedding/config.json")).unwrap();
            assert_eq!(config["weighted"], weighted);
            assert_eq!(config["add_special_tokens"], special);
            let back = Folder::read(&to).unwrap();
            assert_eq!(back.max_tokens, MaxTokens::both(12));
            same(&source, &back);
        }
    }
}

#[test]
fn what_cannot_be_written_leaves_nothing_behind() {
    let place = tempfile::tempdir().unwrap();
    let to = place.path().join("out");
    let refused = |source: &Folder, config: ExportConfig, expected: &str| {
        let error = out(source, &config, &to).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0, "nothing may be left");
        assert!(error.hint().is_some());
    };
    let adapters = adapted(tiny("tiny-bert"), r#"{"rank": 2}"#);
    let peft = |base: Option<&str>| ExportConfig {
        format: ExportFormat::Peft,
        base: base.map(str::to_owned),
        ..ExportConfig::default()
    };
    refused(&tiny("tiny-bert"), peft(Some("x")), "--format peft: tiny-bert has no adapters");
    refused(&adapters, peft(None), "it is not known which model the adapters of tiny-bert belong to");
    refused(&adapters, ExportConfig { merge: true, ..peft(Some("x")) }, "--merge: merged adapters are none any more");
    let mut large = tiny("tiny-bert");
    large.model.parameters.iter_mut().next().unwrap().values.floats_mut()[5] = 1e5;
    refused(
        &large,
        ExportConfig { dtype: WeightType::F16, ..Default::default() },
        "has 100000 at position 5, which is beyond the range of f16",
    );
    // A folder that would be read as another encoder: an embedding table that is not finite when it is read back.
    let mut bad = tiny("tiny-bert");
    bad.model.parameters.iter_mut().next().unwrap().values.floats_mut()[0] = f32::INFINITY;
    let error = out(&bad, &ExportConfig::default(), &to).unwrap_err();
    assert!(error.to_string().contains("expected finite numbers"), "{error}");
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);

    out(&tiny("tiny-bert"), &ExportConfig::default(), &to).unwrap();
    let before = fs::read(to.join("README.md")).unwrap();
    let error = out(&tiny("tiny-bert"), &ExportConfig::default(), &to).unwrap_err();
    assert!(error.to_string().contains("is there already, and nothing is written over"), "{error}");
    assert_eq!(fs::read(to.join("README.md")).unwrap(), before);
    assert!(lora::is_adapter("x.lora_A.weight"));
}

#[test]
fn the_lint_names_what_is_missing() {
    let place = tempfile::tempdir().unwrap();
    let to = place.path().join("st");
    out(&tiny("tiny-roberta"), &ExportConfig::default(), &to).unwrap();
    let found = |edit: &dyn Fn()| {
        edit();
        lint(&to).unwrap()
    };
    assert!(found(&|| ()).is_empty());
    let write = |name: &str, value: Value| fs::write(to.join(name), value.to_string()).unwrap();
    let long = found(&|| write("sentence_bert_config.json", json!({"max_seq_length": 43})));
    assert_eq!(long, ["max_seq_length is more than there are positions"]);
    let none = found(&|| write("sentence_bert_config.json", json!({})));
    assert_eq!(none, ["sentence_bert_config.json has no `max_seq_length`"]);
    fs::remove_file(to.join("1_Pooling/config.json")).unwrap();
    assert_eq!(lint(&to).unwrap().len(), 3);
    // A plain folder that is no model at all.
    assert!(lint(place.path()).unwrap().len() > 8);
}
