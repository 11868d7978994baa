//! Adapters that PEFT saved: the same embeddings, with the adapters beside the weights and merged into them.

use std::{collections::BTreeMap, fs, path::Path};

use ndarray::Array2;
use serde::Deserialize;
use wb_core::{Embeddings, Seed, Side, progress::silent};
use wb_encoder::{
    BurnBackbone, ExportConfig, ExportFormat, Folder, Gradients, LoraConfig, TokenBatch, Upstream, export, lora,
};

use crate::common::{self, both, compare, cpu, edit, golden, golden_json, matrix, read_json, same, test_device, tiny};

#[derive(Deserialize)]
struct Expected {
    texts: Vec<String>,
    embeddings: BTreeMap<String, Vec<Vec<f32>>>,
}

fn expected() -> Expected {
    golden_json("peft/expected.json")
}

fn read(case: &str) -> Folder {
    let mut folder = tiny(&format!("peft/{case}"));
    // The golden embeddings are those without a prompt.
    folder.prompts = Default::default();
    folder
}

fn embed(folder: Folder, texts: &[String]) -> Embeddings {
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    cpu(folder).embed(&texts, Side::Document, &mut silent).unwrap()
}

fn embed_with_burn(folder: &Folder, texts: &[String]) -> Embeddings {
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let ids = folder.tokenizer.encode_all("", &texts, folder.max_tokens.document).unwrap();
    let batch = TokenBatch::new(ids.iter().map(Vec::as_slice));
    let burn = BurnBackbone::new(folder.model.clone(), test_device().burn(), "test device").unwrap();
    let found = Embeddings::dense(wb_encoder::Backbone::embed(&burn, &batch).unwrap());
    if folder.normalize { found.normalized() } else { found }
}

#[test]
fn embeddings_are_those_of_peft() {
    let Expected { texts, embeddings } = expected();
    assert_eq!(embeddings.len(), 6);
    for (case, expected) in &embeddings {
        let folder = read(case);
        let before = Folder { prompts: Default::default(), ..tiny(base(case)) };
        let expected = matrix(expected);
        let largest = expected.iter().fold(0f32, |most, x| most.max(x.abs()));
        let most = 1e-5 * f64::from(largest).max(1.0);
        let found = embed(folder.clone(), &texts);
        let (cosine, difference) = compare(found.view(), expected.view());
        eprintln!(
            "{case}: least cosine {cosine:.8}, largest difference {difference:.1e} of {largest:.2}; {:?}",
            folder.notes
        );
        assert!(cosine >= 0.99999 && difference <= most, "{case}: {cosine} {difference}");
        let (cosine, _) = compare(embed_with_burn(&folder, &texts).view(), expected.view());
        assert!(cosine >= 0.99999, "burn, {case}: {cosine}");
        let (cosine, _) = compare(embed(before, &texts).view(), expected.view());
        assert!(cosine < 0.999, "{case}: the adapters do something: {cosine}");

        let mut merged = folder.clone();
        merged.merge().unwrap();
        assert!(merged.lora.is_none() && merged.model.adapter.is_none());
        same(embed(merged, &texts).view(), found.view(), most, case);
    }
}

#[derive(Deserialize)]
struct Gradient {
    ids: Vec<Vec<u32>>,
    states: Vec<Vec<f32>>,
    gradients: BTreeMap<String, Vec<f32>>,
}

/// States and the gradients of A, B and the magnitudes, of the sum of state[i, j] · sin((13 i + 5 j) · 0.41).
#[test]
fn gradients_of_dora_are_those_of_peft() {
    let golden: Gradient = golden_json("peft-dora-gradients.json");
    let batch = TokenBatch::new(golden.ids.iter().map(Vec::as_slice));
    let model = read("dora").model;
    let worst = |found: &[f32], expected: &[f32]| {
        assert_eq!(found.len(), expected.len());
        let largest = expected.iter().fold(0f32, |most, x| most.max(x.abs()));
        found.iter().zip(expected).fold(0f32, |most, (a, b)| most.max((a - b).abs())) / largest
    };
    assert_eq!(golden.gradients.len(), model.parameters.iter().filter(|p| p.trainable).count());
    for (path, backbone) in both(&model) {
        let (_, states, tape) = backbone.embed_tokens_tracked(&batch, None).unwrap();
        let error = worst(states.as_slice().unwrap(), &golden.states.concat());
        eprintln!("{path}: states within {error:.1e}");
        assert!(error < 1e-4, "{path}: states differ by {error}");
        let at = Array2::from_shape_fn(states.dim(), |(i, j)| (((13 * i + 5 * j) as f64) * 0.41).sin() as f32);
        let mut found = Gradients::zeros(backbone.parameters());
        backbone.backward_tokens(tape, Upstream::states(at.view()), &mut found).unwrap();
        for (name, expected) in &golden.gradients {
            let place = backbone.parameters().position(name).unwrap();
            let error = worst(found.at(place), expected);
            eprintln!("{path}: {name} within {error:.1e}");
            assert!(error < 1e-4, "{path}: the gradient of {name} differs by {error}");
        }
    }
}

/// Magnitudes come back from a folder of our own and from PEFT's layout, older columns of them too.
#[test]
fn magnitudes_are_written_and_read() {
    let folder = tiny("peft/dora");
    let place = tempfile::tempdir().unwrap();
    let to = |name: &str| place.path().join(name);
    folder.write(&to("own")).unwrap();
    assert_eq!(Folder::read(&to("own")).unwrap().model, folder.model);

    let base = golden().join("tiny-bert").display().to_string();
    let config = ExportConfig { format: ExportFormat::Peft, base: Some(base), ..ExportConfig::default() };
    export(&folder, &config, &|_| String::new(), &to("peft")).unwrap();
    assert_eq!(read_json::<serde_json::Value>(&to("peft/adapter_config.json"))["use_dora"], serde_json::json!(true));
    let names = |file: &Path| -> Vec<String> {
        wb_encoder::weights::read_all(file).unwrap().into_iter().map(|p| p.name).collect()
    };
    let written = to("peft/adapter_model.safetensors");
    assert_eq!(names(&written), names(&golden().join("peft/dora/adapter_model.safetensors")));
    let back = Folder::read(&to("peft")).unwrap();
    assert_eq!(back.lora, folder.lora);
    let magnitudes = |folder: &Folder| -> Vec<Vec<f32>> {
        let ours = folder.model.parameters.iter().filter(|p| p.name.ends_with("lora_magnitude_vector"));
        ours.map(|p| p.values.floats().into_owned()).collect()
    };
    assert_eq!(magnitudes(&back), magnitudes(&folder));
    assert_eq!(magnitudes(&back).len(), 6);

    let mut tensors = wb_encoder::weights::read_all(&written).unwrap();
    for tensor in tensors.iter_mut().filter(|p| p.name.ends_with("lora_magnitude_vector")) {
        tensor.shape.push(1);
    }
    wb_encoder::weights::write_as(&written, tensors.iter().map(|p| (p.name.clone(), p)), None).unwrap();
    assert_eq!(magnitudes(&Folder::read(&to("peft")).unwrap()), magnitudes(&folder));
}

fn base(case: &str) -> &'static str {
    if ["patterns", "some-layers"].contains(&case) { "tiny-roberta" } else { "tiny-bert" }
}

#[test]
fn the_config_becomes_ours() {
    let lora = |case: &str| read(case).lora.unwrap();
    let json = |text: &str| serde_json::from_str::<LoraConfig>(text).unwrap();
    assert_eq!(lora("names"), json(r#"{"rank": 4, "alpha": 8, "dropout": 0.1, "targets": ["query", "value"]}"#));
    assert_eq!(
        lora("patterns"),
        json(
            r#"{"rank": 4, "alpha": 8, "dropout": 0, "targets": ".*\\.(key|dense)", "use_rslora": true,
                "rank_pattern": {"layer\\.0\\..*": 2}, "alpha_pattern": {"attention.output.dense": 3}}"#
        )
    );
    let all = lora("all-linear");
    assert_eq!(all.modules_to_save, ["1.output.dense", "embeddings.LayerNorm"]);
    let some = lora("some-layers");
    let layers = ["attention.self.query", "attention.output.dense", "output.dense"];
    assert_eq!(some.targets, layers.map(|layer| format!("encoder.layer.1.{layer}")).to_vec().into());
    let dora = lora("dora");
    assert!(dora.use_dora && !lora("names").use_dora);
}

#[test]
fn nothing_that_is_not_used_is_silent() {
    let notes = |case: &str| read(case).notes.join("\n");
    assert!(notes("patterns").contains("2 adapter tensors not used: base_model.model.pooler.dense.lora_A.weight"));
    assert!(notes("patterns").contains("1 patterns of ranks and alphas that fit no layer: pooler.dense"));
    assert!(
        notes("all-linear").contains("2 adapter tensors not used: base_model.model.pooler.dense.bias"),
        "{}",
        notes("all-linear")
    );
    assert!(
        notes("all-linear").contains("2 names of adapted modules that are not in an encoder: pooler, pooler.dense")
    );
    assert!(notes("some-layers").contains("that are not in an encoder: q_proj"));
    assert_eq!(read("dora").notes, tiny("tiny-bert").notes);
}

/// What was read can be trained further, written as our own and read back.
#[test]
fn read_adapters_are_the_only_weights_that_train() {
    let folder = read("all-linear");
    for p in folder.model.parameters.iter() {
        let saved = p.name.starts_with("embeddings.LayerNorm.") || p.name.starts_with("encoder.layer.1.output.dense.");
        assert_eq!(p.trainable, lora::is_adapter(&p.name) || saved, "{}", p.name);
    }
    let place = tempfile::tempdir().unwrap();
    folder.write(&place.path().join("own")).unwrap();
    let back = Folder::read(&place.path().join("own")).unwrap();
    assert_eq!(back.model, folder.model);
    assert_eq!(back.lora, folder.lora);
    let error = read("names").add_peft(&golden().join("peft/names")).unwrap_err();
    assert!(error.to_string().contains("has adapters already"), "{error}");
    let error = read("names").attach(&LoraConfig::default(), Seed(1)).unwrap_err();
    assert!(error.to_string().contains("has adapters already"), "{error}");
}

/// A copy of a golden adapter beside its base, to be damaged.
fn copy(case: &str) -> (tempfile::TempDir, Folder) {
    (common::copy(&format!("peft/{case}")), tiny(base(case)))
}

#[track_caller]
fn refused(case: &str, edit: impl Fn(&mut serde_json::Value), expected: &str) {
    let (place, mut folder) = copy(case);
    let file = place.path().join("adapter_config.json");
    let mut config = read_json(&file);
    edit(&mut config);
    fs::write(&file, config.to_string()).unwrap();
    let error = folder.add_peft(place.path()).unwrap_err().to_string();
    assert!(error.contains(expected), "{error}");
}

#[test]
fn what_is_not_read_is_refused_by_its_name() {
    use serde_json::json;
    let set =
        |key: &'static str, value: serde_json::Value| move |config: &mut serde_json::Value| config[key] = value.clone();
    refused("names", set("peft_type", json!("IA3")), "has peft_type `IA3`, expected LORA");
    refused("names", set("bias", json!("lora_only")), "has bias \"lora_only\", expected \"none\"");
    refused("names", set("lora_bias", json!(true)), "has `lora_bias` true, which is not read");
    refused("names", set("layer_replication", json!([[0, 2]])), "has `layer_replication` [[0,2]], which is not read");
    refused("names", set("use_something_new", json!(true)), "has `use_something_new` true");
    refused("names", set("init_lora_weights", json!("pissa")), "has init_lora_weights \"pissa\", which changes");
    refused("names", set("target_modules", json!(3)), "has `target_modules` 3");
    refused(
        "names",
        set("target_modules", json!(["query"])),
        "is not expected: target_modules does not name its layer",
    );
    refused("names", set("target_modules", json!(["query", "value", "key"])), "key.lora_A.weight`: is missing");
    refused("names", set("r", json!(8)), "has shape [4, 32], expected [8, 32] by adapter_config.json");
    refused("names", set("rank_pattern", json!({"1.*query": 2})), "has shape [4, 32], expected [2, 32]");
    refused("dora", set("use_dora", json!(false)), "is a magnitude vector, and use_dora is false");
    refused("names", set("use_dora", json!(true)), "lora_magnitude_vector`: is missing, expected shape [32]");
    refused(
        "all-linear",
        set("modules_to_save", json!(["embeddings.LayerNorm"])),
        "1.output.dense.lora_A.weight`: is missing",
    );
    refused(
        "names",
        set("modules_to_save", json!(["embeddings.LayerNorm"])),
        "embeddings.LayerNorm.weight`: is missing, expected shape [32]",
    );
    // fan_in_fan_out means nothing here: PEFT says so and goes on, and so do we.
    let (place, mut folder) = copy("names");
    let file = place.path().join("adapter_config.json");
    edit(&file, "\"fan_in_fan_out\": false", "\"fan_in_fan_out\": true");
    folder.add_peft(place.path()).unwrap();
    assert!(folder.notes.iter().any(|note| note.contains("fan_in_fan_out")), "{:?}", folder.notes);
}

#[test]
fn a_base_model_that_is_not_here_is_named() {
    let (place, _) = copy("names");
    let error = Folder::read(place.path()).unwrap_err();
    assert!(error.to_string().contains("belongs to `../../tiny-bert`, which is no folder here"), "{error}");
    assert!(error.hint().unwrap().starts_with("name both: encoder.model={pretrained: {id: ../../tiny-bert, adapter: "));
    // Adapters of another model.
    let (place, _) = copy("some-layers");
    let mut other = tiny("tiny-bert");
    let error = other.add_peft(place.path()).unwrap_err().to_string();
    assert!(error.contains("has shape [3, 48], expected [3, 64]"), "{error}");
    fs::remove_file(place.path().join("adapter_model.safetensors")).unwrap();
    let error = other_without(place.path()).to_string();
    assert!(error.contains("has no adapter_model.safetensors"), "{error}");
}

fn other_without(place: &Path) -> wb_encoder::Error {
    tiny("tiny-roberta").add_peft(place).unwrap_err()
}
