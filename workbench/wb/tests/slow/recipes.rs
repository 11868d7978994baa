//! The recipes for the encoders of today at the widths of their models, some layers deep, with random weights of 16 bits.

use std::{fs, path::Path};

use serde_json::{Value, json};
use wb_core::Seed;
use wb_encoder::{Architecture, ExportConfig, Folder, WeightType, export};

use crate::{data, minilm, root, say, wb};

/// A model of these sizes as its repository has it, with the tokenizer of a golden folder.
fn made(golden: &str, sizes: &Value, to: &Path) {
    let mut folder = Folder::read(&root().join("workbench/wb-encoder/tests/golden").join(golden)).unwrap();
    let config = to.with_extension("json");
    fs::write(&config, sizes.to_string()).unwrap();
    let architecture = Architecture::from_hub(&config).unwrap();
    folder.model.parameters = architecture.fresh(Seed(7));
    folder.model.architecture = architecture;
    let config = ExportConfig { dtype: WeightType::Bf16, ..ExportConfig::default() };
    export(&folder, &config, &|_| String::new(), to).unwrap();
}

/// Twenty steps of a recipe, of which only data and amounts are smaller; prints the seconds.
fn check(recipe: &str, golden: &str, sizes: Value, more: &[&str]) {
    let test = format!("{recipe} at its width");
    let (Some(data), Some(minilm)) = (data(&test), minilm(&test)) else { return };
    let place = tempfile::tempdir().unwrap();
    made(golden, &sizes, &place.path().join("model"));
    // Four files of pairs, of every fourth function each.
    let functions = fs::read_to_string(data.join("codesearchnet/ruby/valid.jsonl")).unwrap();
    for part in 0..4 {
        let lines: Vec<&str> = functions.lines().skip(part).step_by(4).take(80).collect();
        fs::write(place.path().join(format!("part{part}.jsonl")), lines.join("\n")).unwrap();
    }
    let named = ["text", "docstrings", "questions", "synthetic"].iter().enumerate().map(|(part, name)| {
        let fields = "{anchor: docstring, positive: code}";
        format!("{{jsonl: {{dataset: {name}, path: part{part}.jsonl, fields: {fields}, language: ruby}}}}")
    });
    let sources = format!("data.sources=[{}]", named.collect::<Vec<_>>().join(", "));
    let config = root().join(format!("configs/{recipe}.yaml"));
    let common = [
        config.to_str().unwrap(),
        "device=cpu",
        "encoder.model={pretrained: model}",
        sources.as_str(),
        "data.split={validation: 0.05, test: 0.05}",
        "encoder.max_tokens={query: 16, document: 24}",
        "train.batch.pairs=2",
        "train.max_steps=20",
        "bench={contestants: [trained], benchmarks: [{benchmark: {pairs: {}}}]}",
    ];
    let more: Vec<String> = more.iter().map(|set| set.replace("MINILM", &minilm)).collect();
    let arguments = |command: &'static str, last: &'static [&'static str]| -> Vec<String> {
        let all = [&[command], &common[..]].concat().into_iter().map(str::to_owned);
        all.chain(more.clone()).chain(last.iter().map(|one| (*one).to_owned())).collect()
    };
    let run = |arguments: Vec<String>| {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let (output, seconds) = wb(place.path(), &arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        (String::from_utf8_lossy(&output.stdout).into_owned(), seconds)
    };
    let (out, _) = run(arguments("check", &["--no-probe"]));
    assert!(out.contains(": fine") && !out.contains("lint: encoder"), "{out}");
    let (_, seconds) = run(arguments("run", &[]));
    say(&format!("{recipe}: 20 steps and all before and after in {seconds:.1} s"));
    let runs = fs::read_dir(place.path().join("runs")).unwrap().map(|entry| entry.unwrap().path());
    let metrics = runs.map(|run| run.join("metrics.jsonl")).find(|file| file.is_file()).unwrap();
    let steps: Vec<Value> =
        fs::read_to_string(metrics).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(steps.len(), 20);
    assert!(steps.iter().all(|step| step["loss"].as_f64().is_some_and(f64::is_finite)), "{steps:#?}");
}

#[test]
#[ignore = "slow: half a minute"]
fn qwen3_embedding_lora_at_its_width() {
    let sizes = json!({
        "model_type": "qwen3", "vocab_size": 151_669, "hidden_size": 1024, "num_hidden_layers": 1,
        "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 3072,
        "max_position_embeddings": 32_768, "rope_theta": 1_000_000, "rms_norm_eps": 1e-6,
    });
    check("qwen3-embedding-lora", "tiny-qwen3", sizes, &[]);
}

#[test]
#[ignore = "slow: half a minute"]
fn coderank_lora_at_its_width() {
    let sizes = json!({
        "model_type": "nomic_bert", "vocab_size": 30_528, "hidden_size": 768, "num_hidden_layers": 2,
        "num_attention_heads": 12, "intermediate_size": 3072, "max_position_embeddings": 2048,
    });
    check("coderank-lora", "tiny-nomic", sizes, &[]);
}

#[test]
#[ignore = "slow: half a minute"]
fn modernbert_xtr_at_its_width() {
    let sizes = json!({
        "model_type": "modernbert", "vocab_size": 50_368, "hidden_size": 768, "num_hidden_layers": 2,
        "num_attention_heads": 12, "intermediate_size": 1152, "max_position_embeddings": 8192,
        "global_attn_every_n_layers": 3, "local_attention": 128,
    });
    check("modernbert-xtr", "tiny-modernbert", sizes, &["negatives.encoder=MINILM"]);
}

#[test]
#[ignore = "slow: half a minute"]
fn bge_code_annealing_at_its_width() {
    let sizes = json!({
        "model_type": "qwen2", "vocab_size": 151_936, "hidden_size": 1536, "num_hidden_layers": 1,
        "num_attention_heads": 12, "num_key_value_heads": 2, "intermediate_size": 8960,
        "max_position_embeddings": 32_768, "rope_theta": 1_000_000, "rms_norm_eps": 1e-6,
    });
    let difficulty =
        "data.difficulty={by: MINILM, min_rank: 4, datasets: [docstrings, questions, synthetic], easy_dataset: easy}";
    check("bge-code-annealing", "tiny-qwen2", sizes, &["negatives.encoder=MINILM", "negatives.per_pair=3", difficulty]);
}
