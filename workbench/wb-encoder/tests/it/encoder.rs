//! Folders written and read, and folders that are broken.

use std::{fs, path::Path};

use wb_core::{Encoder, Seed, Side, progress::silent};
use wb_encoder::{Architecture, Folder, LoraConfig, TokenizerConfig, folder::MaxTokens, models::StaticConfig};

use crate::common::{copy, cpu, edit, golden, read_json, refused, tiny};

#[test]
fn a_written_encoder_is_read_back_the_same() {
    let texts = ["sort a list", "", "def add(a, b): return a + b"];
    for adapters in [false, true] {
        let mut folder = tiny("tiny-bert");
        if adapters {
            folder.attach(&LoraConfig { rank: 2, ..LoraConfig::default() }, Seed(3)).unwrap();
            for p in folder.model.parameters.iter_mut().filter(|p| p.name.contains("lora_B")) {
                p.values.floats_mut().fill(0.1);
            }
            let error = folder.attach(&LoraConfig::default(), Seed(3)).unwrap_err();
            assert!(error.to_string().contains("has adapters already"), "{error}");
        }
        let one = cpu(folder);
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("weights");
        one.write(&path).unwrap();
        assert_eq!(path.join("adapter.safetensors").exists(), adapters);
        let two = cpu(Folder::read(&path).unwrap());
        assert_eq!(one.fingerprint(), two.fingerprint());
        for side in [Side::Query, Side::Document] {
            assert_eq!(one.embed(&texts, side, &mut silent).unwrap(), two.embed(&texts, side, &mut silent).unwrap());
        }
        // What decides the vectors decides the fingerprint.
        let mut other = Folder::read(&path).unwrap();
        other.prompts.query = "find: ".into();
        assert_ne!(cpu(other).fingerprint(), one.fingerprint());
        assert_ne!(
            one.embed(&texts, Side::Query, &mut silent).unwrap(),
            one.embed(&texts, Side::Document, &mut silent).unwrap()
        );
        // Nothing is written over.
        assert!(one.write(&path).is_err());
    }
}

#[test]
fn a_bag_of_vectors_from_nothing() {
    let texts = ["parse an HTTP response", "fn parse_http_response(text: &str)", "sort a list of numbers", ""];
    let config = TokenizerConfig { vocab_size: 300, min_frequency: 1, ..TokenizerConfig::default() };
    let tokenizer = config.train(&texts, Path::new("tokenizer.json")).unwrap();
    let architecture = Architecture::StaticEmbedding(StaticConfig {
        vocab_size: tokenizer.vocab_size(),
        dim: 16,
        weighted: true,
        positions: 0,
    });
    let folder =
        Folder::fresh("bag", architecture, tokenizer.clone(), MaxTokens { query: 8, document: 64 }, Seed(1)).unwrap();
    let encoder = cpu(folder);
    let found = encoder.embed(&texts, Side::Document, &mut silent).unwrap();
    assert!((found.row(0).dot(&found.row(0)) - 1.0).abs() < 1e-5);
    assert!(found.row(3).iter().all(|v| *v == 0.0));
    let place = tempfile::tempdir().unwrap();
    encoder.write(&place.path().join("w")).unwrap();
    let again = cpu(Folder::read(&place.path().join("w")).unwrap());
    assert_eq!(again.embed(&texts, Side::Document, &mut silent).unwrap(), found);
    // Too few vectors for the tokenizer.
    let small = Architecture::StaticEmbedding(StaticConfig { vocab_size: 260, dim: 16, weighted: true, positions: 0 });
    let error = Folder::fresh("bag", small, tokenizer, MaxTokens::both(8), Seed(1)).unwrap_err();
    assert!(error.to_string().contains("the weights have 260 token vectors"), "{error}");
}

#[test]
fn many_texts_keep_their_order_whatever_their_lengths() {
    let encoder = cpu(tiny("tiny-bert"));
    let texts: Vec<String> = (0..5000).map(|i| "sort ".repeat(i % 23) + &i.to_string()).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let mut last = (0, 0);
    let all = encoder.embed(&texts, Side::Query, &mut |p| last = (p.done, p.total)).unwrap();
    assert_eq!(last, (5000, 5000));
    for at in [0, 1, 22, 4095, 4096, 4999] {
        let one = encoder.embed(&[texts[at]], Side::Query, &mut silent).unwrap();
        let difference = one.row(0).iter().zip(all.row(at)).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(difference < 1e-5, "{at}: {difference}");
    }
}

#[test]
fn broken_folders_say_what_is_wrong_and_where() {
    let place = tempfile::tempdir().unwrap();
    refused(&place.path().join("none"), "does not exist, expected a folder");
    refused(place.path(), "has no config.json");

    let check = |file: &str, from: &str, to: &str, expected: &str| {
        let bert = copy("tiny-bert");
        edit(&bert.path().join(file), from, to);
        refused(bert.path(), expected);
    };
    check("config.json", "\"bert\"", "\"mpnet\"", "config.json: has model_type `mpnet`, expected one of bert, roberta");
    check(
        "config.json",
        "\"hidden_size\": 32",
        "\"hidden_size\": 28",
        "has shape [387, 32], expected [387, 28] by the config beside it",
    );
    check(
        "config.json",
        "\"num_hidden_layers\": 2",
        "\"num_hidden_layers\": 3",
        "encoder.layer.2.attention.self.query.weight`: is missing",
    );
    check(
        "config.json",
        "\"num_attention_heads\": 4",
        "\"num_attention_heads\": 5",
        "num_attention_heads: got 5, expected a divisor of hidden_size 32",
    );
    check("modules.json", "models.Normalize", "models.LSTM", "has `sentence_transformers.models.LSTM` in place 2");
    check(
        "1_Pooling/config.json",
        "\"pooling_mode_max_tokens\": false",
        "\"pooling_mode_max_tokens\": true",
        "pools by max and mean, expected one way",
    );

    let bert = copy("tiny-bert");
    fs::write(bert.path().join("modules.json"), "[\n {\"idx\": 0,\n").unwrap();
    refused(bert.path(), "modules.json:");

    let bert = copy("tiny-bert");
    fs::copy(golden().join("tiny-roberta/tokenizer.json"), bert.path().join("tokenizer.json")).unwrap();
    refused(bert.path(), "tokenizer.json: has token ids up to 419, but the weights have 387 token vectors");
    edit(&bert.path().join("tokenizer.json"), "\"model\": {", "\"model\" {");
    refused(bert.path(), "tokenizer.json: is not a tokenizer");
    fs::remove_file(bert.path().join("tokenizer.json")).unwrap();
    refused(bert.path(), "has no tokenizer");
    fs::remove_file(bert.path().join("model.safetensors")).unwrap();
    fs::write(bert.path().join("pytorch_model.bin"), "x").unwrap();
    fs::copy(golden().join("tiny-bert/tokenizer.json"), bert.path().join("tokenizer.json")).unwrap();
    refused(bert.path(), "pytorch_model.bin: is no whole zip archive");
    fs::rename(bert.path().join("pytorch_model.bin"), bert.path().join("pytorch_model.bin.index.json")).unwrap();
    refused(bert.path(), "has its weights in several files, expected one model.safetensors");
    fs::remove_file(bert.path().join("pytorch_model.bin.index.json")).unwrap();
    refused(bert.path(), "has no model.safetensors and no pytorch_model.bin");

    let bert = copy("tiny-bert");
    let weights = bert.path().join("model.safetensors");
    let whole = fs::read(&weights).unwrap();
    fs::write(&weights, &whole[..whole.len() / 2]).unwrap();
    refused(bert.path(), "model.safetensors: is not a whole safetensors file");
}

/// Weights that only torch's own file has are the same weights.
#[test]
fn weights_are_read_from_torchs_own_file() {
    for (name, file) in [("tiny-bert", "bert.bin"), ("tiny-t5", "t5.bin")] {
        let (expected, place) = (tiny(name), copy(name));
        fs::remove_file(place.path().join("model.safetensors")).unwrap();
        fs::copy(golden().join("torch").join(file), place.path().join("pytorch_model.bin")).unwrap();
        let found = Folder::read(place.path()).unwrap();
        assert!(found.model == expected.model, "{name}");
        assert!(found.notes.iter().any(|note| note.contains("tensors not used: ")), "{name}: {:?}", found.notes);
        // Where both are there, the safetensors are read.
        fs::write(place.path().join("pytorch_model.bin"), "x").unwrap();
        fs::copy(golden().join(name).join("model.safetensors"), place.path().join("model.safetensors")).unwrap();
        assert!(Folder::read(place.path()).unwrap().model == expected.model, "{name}");
    }
}

#[test]
fn a_folder_without_modules_pools_by_the_mean() {
    let bert = copy("tiny-bert");
    fs::remove_file(bert.path().join("modules.json")).unwrap();
    let folder = Folder::read(bert.path()).unwrap();
    assert!(!folder.normalize);
    assert!(folder.notes.iter().any(|note| note.contains("mean pooling")), "{:?}", folder.notes);
}

#[test]
fn lower_casing_follows_the_folder() {
    // Ids by transformers 5.23: the words have no upper-case pieces, so they are unknown (1) with their case kept.
    let (lower, kept) = ([2, 185, 31, 157, 3], [2, 1, 1, 1, 3]);
    let ids = |folder: &Path| Folder::read(folder).unwrap().tokenizer.encode("", "Sort A List", 24).unwrap();
    let bert = copy("tiny-bert");
    assert_eq!(ids(bert.path()), lower);
    edit(&bert.path().join("tokenizer_config.json"), "\"do_lower_case\": true", "\"do_lower_case\": false");
    assert_eq!(ids(bert.path()), kept);
    assert!(Folder::read(bert.path()).unwrap().notes.iter().any(|note| note.contains("with their case kept")));
    // sentence-transformers' own switch comes first.
    edit(&bert.path().join("sentence_bert_config.json"), "\"do_lower_case\": false", "\"do_lower_case\": true");
    assert_eq!(ids(bert.path()), lower);
}

#[test]
fn older_vocabularies_give_the_same_ids() {
    // What transformers writes beside or instead of tokenizer.json.
    let json = |folder: &Path| -> serde_json::Value { read_json(&folder.join("tokenizer.json")) };
    // In lower case, since tiny-roberta's lower-casing stands in its tokenizer.json.
    let texts = ["sort a list.", "naïve café 文字", "", "def add(a, b):\n    return a + b", "<mask> [MASK]"];
    let ids = |folder: &Path| -> Vec<Vec<u32>> {
        let folder = Folder::read(folder).unwrap();
        texts.iter().map(|text| folder.tokenizer.encode("", text, 24).unwrap()).collect()
    };

    let bert = copy("tiny-bert");
    let expected = ids(bert.path());
    let vocab = json(bert.path())["model"]["vocab"].as_object().unwrap().clone();
    let mut lines: Vec<(u64, String)> = vocab.into_iter().map(|(token, id)| (id.as_u64().unwrap(), token)).collect();
    lines.sort();
    let lines: Vec<String> = lines.into_iter().map(|(_, token)| token).collect();
    fs::write(bert.path().join("vocab.txt"), lines.join("\n") + "\n").unwrap();
    fs::remove_file(bert.path().join("tokenizer.json")).unwrap();
    assert_eq!(ids(bert.path()), expected);

    let roberta = copy("tiny-roberta");
    let expected = ids(roberta.path());
    let model = json(roberta.path())["model"].clone();
    fs::write(roberta.path().join("vocab.json"), model["vocab"].to_string()).unwrap();
    let merges: Vec<String> = model["merges"]
        .as_array()
        .unwrap()
        .iter()
        .map(|m| format!("{} {}", m[0].as_str().unwrap(), m[1].as_str().unwrap()))
        .collect();
    fs::write(roberta.path().join("merges.txt"), format!("#version: 0.2\n{}\n", merges.join("\n"))).unwrap();
    fs::remove_file(roberta.path().join("tokenizer.json")).unwrap();
    assert_eq!(ids(roberta.path())[..4], expected[..4]);
}
