//! Weights in fewer bits: what they cost is measured beside the encoder's own, and `wb encode` uses them.

use serde_json::{Value, json};

use crate::sandbox::Sandbox;

/// A project with `bert/`, of random weights, and `held.jsonl`, pairs to measure on.
fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.golden_encoder("tiny-bert", "bert");
    let nouns = ["apples", "pears", "files", "lists", "users", "rows", "names", "pages"];
    let pair = |(at, noun): (usize, &&str)| {
        let anchor = format!("sort the {noun} by their number");
        let positive = format!("func {noun}(number int) {{ sort({noun}) }}");
        format!("{}\n", json!({ "id": at.to_string(), "anchor": anchor, "positive": positive, "language": "go" }))
    };
    sandbox.write("held.jsonl", nouns.iter().enumerate().map(pair).collect::<String>());
    sandbox
}

#[test]
fn what_fewer_bits_cost_is_measured_beside_the_encoder_itself() {
    let sandbox = project();
    let bench = ["bench", "pairs", "--dataset", "held.jsonl", "--encoder", "bert", "--json", "all.json"];
    let types = ["f32", "bf16", "int8", "bf16-products"];
    let (out, _) = sandbox.succeeds(&[&bench[..], &["--compare-dtype", &types.join(",")]].concat());
    let lines = out.lines().skip_while(|line| !line.contains("weights in other types"));
    let rows = lines.map(|line| line.split_whitespace().collect::<Vec<&str>>());
    let rows: Vec<_> = rows.filter(|words| words.first().is_some_and(|word| types.contains(word))).collect();
    let number = |row: usize, column: usize| rows[row][column].parse::<f64>().unwrap();
    assert_eq!(rows.len(), 4, "{out}");
    assert_eq!((number(0, 3), number(0, 4)), (1.0, 1.0), "the same weights: {out}");
    for row in [1, 2, 3] {
        let (mean, least) = (number(row, 3), number(row, 4));
        assert!(least <= mean && mean < 1.0 && least > 0.99, "{out}");
    }
    let all: Vec<Value> = serde_json::from_value(sandbox.json("all.json")).unwrap();
    let names: Vec<&str> = all.iter().map(|one| one["contestant"].as_str().unwrap()).collect();
    assert_eq!(names, ["bert", "bert in f32", "bert in bf16", "bert in int8", "bert in bf16-products"]);
    let scores = |at: usize| all[at]["protocols"].as_array().unwrap().iter().map(|one| one["value"].clone());
    assert!(scores(0).eq(scores(1)));
    assert!(all[3].to_string().contains("weights in memory"));

    sandbox.says(&[&bench[..6], &["--compare-dtype", "f32", "--require", "mrr=0.01"]].concat(), &["bert in f32"]);
    sandbox.fails_with(
        &[&bench[..6], &["--compare-dtype", "int4"]].concat(),
        &["f32, f16, bf16, int8, bf16-products or f16-products"],
    );
}

#[test]
fn vectors_are_made_with_fewer_bits() {
    let sandbox = project();
    sandbox.write("texts.txt", "sort a list\nread a file line by line");
    let encode = |more: &[&str], out: &str| {
        sandbox.succeeds(&[&["encode", "--encoder", "bert", "--in", "texts.txt", "--out", out], more].concat());
        let lines = sandbox.lines(out);
        lines.iter().flat_map(|line| line["embedding"].as_array().unwrap().clone()).collect::<Vec<Value>>()
    };
    let (own, bytes) = (encode(&[], "own.jsonl"), encode(&["--dtype", "int8"], "int8.jsonl"));
    assert_eq!(own, encode(&["--dtype", "f32"], "f32.jsonl"));
    assert_ne!(encode(&["--dtype", "bf16-products"], "products.jsonl"), encode(&["--dtype", "bf16"], "bf16.jsonl"));
    let apart = |(a, b): (&Value, &Value)| (a.as_f64().unwrap() - b.as_f64().unwrap()).abs();
    let worst = own.iter().zip(&bytes).map(apart).fold(0.0, f64::max);
    assert!(worst > 0.0 && worst < 0.05, "{worst}");

    sandbox.succeeds(&["train", "tiny.yaml", "name=bag"]);
    let words = ["has no linear layers, expected some to keep in int8", "f16 and bf16 fit any encoder"];
    let encode = "encode --encoder bag --in texts.txt --out bag.npy --dtype int8".split(' ').collect::<Vec<_>>();
    sandbox.refuses_with(&encode, &words);
    // Before anything is read that it would be measured on.
    sandbox.refuses_with(&["bench", "pairs", "--dataset", "no", "--encoder", "bag", "--compare-dtype", "int8"], &words);
}

/// A device has its weights as floats, or computes in 16 bits; the processor has products of brain floats.
#[test]
fn types_in_memory_are_those_of_the_device() {
    let sandbox = project();
    let encode = ["encode", "--encoder", "bert", "--in", "held.jsonl", "--out", "out.jsonl", "--device", "cuda"];
    let bench = ["bench", "pairs", "--dataset", "held.jsonl", "--encoder", "bert", "--device", "cuda"];
    for (command, option) in [(&encode[..], "--dtype"), (&bench[..], "--compare-dtype")] {
        let hint = format!("hint: {option} bf16-products, or --device cpu");
        sandbox.refuses_with(&[command, &[option, "int8"]].concat(), &["got int8, which is for the processor", &hint]);
    }
    sandbox.refuses_with(&[&encode[..7], &["--dtype", "f16-products"]].concat(), &["which the processor has not"]);
}
