//! Gates that ask an encoder or an index, from the command line: each drops what it is for, and nothing else.

use serde_json::json;

use crate::sandbox::{Sandbox, TRANSFORMER, has};

const NOUNS: [&str; 10] =
    ["ledger", "packet", "matrix", "sentence", "voucher", "planet", "recipe", "socket", "triangle", "invoice"];

fn record(id: &str, anchor: &str, positive: &str) -> String {
    json!({"id": id, "anchor": anchor, "positive": positive}).to_string() + "\n"
}

/// A pair whose anchor and positive share a word that is nobody else's.
fn plain(noun: &str) -> String {
    let positive = format!("def {noun}(): take {noun} out of storage, then give {noun} back");
    record(noun, &format!("please find one {noun} inside"), &positive)
}

/// Ten plain pairs, of two languages; two whose positives are others' in another order of words; two whose sides have
/// nothing in common; and two for whose anchors another positive is better.
fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    let mut python: String = NOUNS[..8].iter().map(|noun| plain(noun)).collect();
    for noun in &NOUNS[..2] {
        let positive = format!("def {noun}(): give {noun} out of storage, then take {noun} back");
        python += &record(&format!("again-{noun}"), &format!("where did that {noun} go"), &positive);
    }
    let apart = [
        ("how come lanterns", "def nothing(): this says something else altogether, whatever"),
        ("why should orchards glow", "def void(): these words answer no question at all, ever"),
    ];
    let second = [
        "def other(): among very many different words in this long line stands matrix, just once",
        "class Holder: keeps a value, a key and a sentence beside lots of unrelated things for nobody",
    ];
    for (at, (anchor, positive)) in apart.iter().enumerate() {
        python += &record(&format!("apart-{at}"), anchor, positive);
    }
    for (noun, positive) in NOUNS[2..4].iter().zip(second) {
        python += &record(&format!("second-{noun}"), &format!("show me every {noun} quickly"), positive);
    }
    sandbox.write("python.jsonl", python);
    sandbox.write("rust.jsonl", NOUNS[8..].iter().map(|noun| plain(noun)).collect::<String>());
    let data = "\
name: gated
data:
  sources:
    - jsonl: { path: python.jsonl, language: python }
    - jsonl: { path: rust.jsonl, language: rust }
  filter: { min_anchor_chars: 0, min_positive_chars: 0 }
  dedupe: { near: 0 }
  split: { validation: 0, test: 0 }
  semantic: { encoder: judge, cosine: 0.999 }
  consistency: { top: 2 }
  difficulty: { min_rank: 1, max_rank: 1 }
  balance: { max_per_language: 5 }
encoder:
  model: { static_embedding: { dim: 16 } }
train: { keep: last }
";
    sandbox.write("gated.yaml", data);
    sandbox
}

/// Trains a small encoder and puts it into `judge/`.
fn train_judge(sandbox: &Sandbox, arguments: &[&str]) {
    sandbox.succeeds(&[&["train", "tiny.yaml", "train.epochs=1", "name=judge"], arguments].concat());
    sandbox.succeeds(&["export", "judge", "--out", "judge", "--format", "safetensors"]);
}

#[test]
fn each_gate_drops_what_it_is_for() {
    let sandbox = project();
    train_judge(&sandbox, &[]);
    let (out, _) = sandbox.succeeds(&["data", "gated.yaml"]);
    has(&out, &["14 pairs  jsonl python.jsonl", "14 left   after semantic duplicates", "12 left   after consistency"]);
    has(&out, &["10 left   after difficulty", "7 left   after balance", "7 pairs  train"]);
    let card = sandbox.json(&format!("{}/data.json", out.lines().last().unwrap().strip_prefix("in ").unwrap()));
    let of = |name: &str| {
        let gates = card["gates"].as_array().unwrap();
        gates.iter().find(|gate| gate["name"] == name).unwrap_or_else(|| panic!("no {name} in {gates:#?}"))["dropped"]
            .clone()
    };
    assert_eq!(of("semantic duplicates"), json!({"a cosine of 0.999 or more": 2}));
    assert_eq!(of("consistency"), json!({"its positive ranks beyond 2": 2}));
    assert_eq!(of("difficulty"), json!({"its positive ranks beyond 1": 2}));
    assert_eq!(of("balance"), json!({"over 5 of python": 3}));
    // By an encoder in place of words: the pairs whose sides have nothing in common are not among the first.
    let by = "data.consistency={by: judge, top: 3}";
    let (out, _) = sandbox.succeeds(&["data", "gated.yaml", by, "data.difficulty=null", "data.balance={}"]);
    let left = out.lines().find_map(|line| line.trim().strip_suffix("left   after consistency")).unwrap();
    let left: usize = left.trim().parse().unwrap();
    assert!((1..14).contains(&left), "{out}");
}

/// A cosine of two texts is asked for, and late interaction has none.
#[test]
fn a_judge_with_one_vector_a_token_is_refused_before_anything_is_done() {
    let sandbox = project();
    train_judge(&sandbox, &[TRANSFORMER, "encoder.late_interaction={dim: 8}", "train.similarity=maxsim"]);
    for command in ["check", "data", "run"] {
        let told = "data.semantic.encoder: what judges pairs has to give one vector a text, and judge gives";
        sandbox.refuses_with(&[command, "gated.yaml"], &[told, "hint: name an encoder with one vector a text"]);
    }
    for gate in ["consistency", "difficulty"] {
        let by = format!("data.{gate}={{by: judge}}");
        let told = format!("data.{gate}.by: what judges pairs");
        sandbox.refuses_with(&["data", "gated.yaml", "data.semantic=null", &by], &[&told]);
    }
    // One that is not there is told by its key.
    let told = ["error: cannot read data.semantic.encoder\n", "cause: no folder or run `nobody`"];
    sandbox.refuses_with(&["data", "gated.yaml", "data.semantic.encoder=nobody"], &told);
    for loss in ["{gist: {guide: judge}}", "{matryoshka: {dims: [8], loss: {gist: {guide: judge}}}}"] {
        let told = "train.loss.guide: the guide has to give one vector a text";
        sandbox.refuses_with(&["check", "tiny.yaml", &format!("train.loss={loss}")], &[told]);
    }
}
