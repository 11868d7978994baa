//! Text-to-SQL with retrieved examples on Spider: real encoders with the real faiss, and a real language model.

use std::{fs, path::Path, process::Command};

use serde_json::Value;

use crate::{data, engines, minilm, project, python_with, root, say, wb, works};

/// What is at hand of the training split, with which the figures were measured.
const TRAINING: &str = "rag.training={questions: [train/spider_syn_train.json], gold: train/train_gold.sql}";

fn record(folder: &Path, out: &str) -> Value {
    serde_json::from_slice(&fs::read(folder.join(out).join("rag.json")).unwrap()).unwrap()
}

fn arm<'a>(record: &'a Value, name: &str) -> &'a Value {
    record["arms"].as_array().unwrap().iter().find(|arm| arm["name"] == name).unwrap()
}

/// The recipe's arms that need no training, with its figures; under two minutes.
#[test]
#[ignore = "slow: about a minute"]
fn the_recipe_without_its_run_gives_the_figures_of_its_head_and_an_index_that_faiss_reads() {
    let test = "the_recipe_without_its_run_gives_the_figures_of_its_head_and_an_index_that_faiss_reads";
    let (Some(data), Some(minilm)) = (data(test), minilm(test)) else { return };
    let folder = project(&data);
    let config = root().join("configs/spider-rag.yaml");
    let run = |retrievers: &str, more: &[&str]| {
        let generate = ["text2sql", config.to_str().unwrap(), TRAINING, retrievers];
        wb(folder.path(), &[&generate[..], more].concat())
    };
    let of_minilm = format!("{{encoder: {{model: {minilm}, max_tokens: 64, name: minilm}}}}");
    let (output, seconds) = run(&format!("rag.retrievers=[{{bm25: {{}}}}, {of_minilm}]"), &["--out", "out"]);
    assert!(output.status.success() && seconds < 120.0, "{seconds} s");
    let first = record(folder.path(), "out");
    for (name, em, ex) in [("without", 99, 110), ("bm25", 214, 260), ("minilm", 170, 226)] {
        let right = |metric: &str| arm(&first, name)[metric]["right"].as_u64().unwrap();
        // Near-ties of the vectors may round the other way on another processor.
        let near = |found: u64, expected: u64| found.abs_diff(expected) <= if name == "minilm" { 3 } else { 0 };
        assert!(near(right("em"), em) && near(right("ex"), ex), "{name}: {} {}", right("em"), right("ex"));
    }
    let Some(python) = python_with("faiss", test) else { return };
    let checked = Command::new(python)
        .arg(root().join("scripts/check-faiss.py"))
        .args(["out/index-minilm", "faiss"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    say(&String::from_utf8_lossy(&checked.stdout));
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
    // Vectors that faiss wrote, in another order, find the same examples.
    let with = |index: &str| {
        let named = of_minilm.replace("name: minilm", &format!("name: minilm, index: {index}"));
        run(&format!("rag.retrievers=[{{bm25: {{}}}}, {named}]"), &["--out", "theirs"]).0
    };
    for index in ["faiss/same", "faiss/array"] {
        assert!(with(index).status.success());
        assert_eq!(record(folder.path(), "theirs"), first, "{index}");
    }
    let refused = with("faiss/l2");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("the file is no IndexFlatIP"));
}

/// Both arms by a language model of random weights, in this process and behind a real server: scores near 0 are what such
/// a model has, and every step has run.
#[test]
#[ignore = "slow"]
fn a_real_language_model_is_asked_with_and_without_examples_and_a_replay_says_the_same() {
    let test = "a_real_language_model_is_asked_with_and_without_examples_and_a_replay_says_the_same";
    let Some(data) = data(test) else { return };
    let model = data.join("../models/wb-tiny-random-qwen2-v4096.gguf").canonicalize().unwrap();
    let folder = project(&data);
    // A byte is nearly a token here, and the schemas of three databases would not fit.
    let template =
        "You write SQL.\n{% for example in example_list %}{{ example.sql }}\n{% endfor %}{{ question }}\nSQL:";
    fs::write(folder.path().join("short.txt"), template).unwrap();
    for (at, (engine, server)) in engines(test, folder.path()).into_iter().enumerate() {
        let text = format!(
            "name: asked\nllm: {{engine: {engine}, model: {}, context: 2048}}\n\
             rag:\n  dataset: datasets/external/spider\n  sample: 6\n  retrievers: [{{bm25: {{}}}}]\n  \
             documents: {{context: false, question: true, sql: false}}\n  generator:\n    model: {{prompt: short.txt, \
             json: true, max_tokens: 64, temperature: 0.8, samples: 2, repair: 1}}\n",
            model.display()
        );
        fs::write(folder.path().join("asked.yaml"), text).unwrap();
        let out = format!("out-{at}");
        let run = |more: &[&str]| {
            let asked = ["text2sql", "asked.yaml", TRAINING];
            works(folder.path(), &[&asked[..], more].concat(), server.as_deref())
        };
        run(&["--out", &out]);
        let made = record(folder.path(), &out);
        for name in ["without", "bm25"] {
            let cost = &arm(&made, name)["cost"];
            let number = |key: &str| cost[key].as_u64().unwrap();
            // Two queries a question; those that do not run are asked for once more.
            assert_eq!(number("asked"), 12 + number("repairs"), "{engine}, {name}");
            assert!(number("rejected") < 12 && number("repairs") > 0 && number("completion_tokens") > 0, "{cost}");
            assert!(cost["latency_median_ms"].as_f64() > Some(0.0), "{cost}");
        }
        let answers = made["questions"].as_array().unwrap().iter().flat_map(|one| one["arms"].as_array().unwrap());
        assert!(answers.filter(|answer| answer["sql"] != "").count() > 0, "{engine}: no query at all");
        let (ledger, again) = (format!("{out}/ledger.jsonl"), format!("{out}-again"));
        run(&["--replay", &ledger, "--out", &again]);
        assert_eq!(record(folder.path(), &again), made, "{engine}");
    }
}
