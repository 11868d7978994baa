//! `wb ab` and `wb bench --embed`: what a model said of code, searched in place of the code or beside it.

use std::{fs, time::Duration};

use serde_json::{Value, json};
use wb_fake_llm::FakeLlm;

use crate::sandbox::Sandbox;

const FILE: &str = "\
name: said
seed: 3
llm:
  engine: { http: { dialect: generic } }
  base_url: http://127.0.0.1:9
  model: made-up
  canaries: false
snippets:
  sources:
    - records: { path: code.jsonl, fields: { id: id, text: text, language: language } }
  filters: { min_chars: 10 }
annotate: { keywords: 3, queries: 1 }
ab: { queries: queries.jsonl, encoder: bm25 }
";

/// Words of techniques, which the code holds backwards.
const WORDS: [&str; 4] = ["oversample", "stack", "impute", "augment"];

fn lines(values: impl IntoIterator<Item = Value>) -> String {
    values.into_iter().map(|value| format!("{value}\n")).collect()
}

fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    let code = |(at, word): (usize, &&str)| {
        let backwards: String = word.chars().rev().collect();
        json!({"id": format!("d{at}"), "language": "python", "text": format!("def f{at}(rows):\n    return zq_{backwards}(rows, fraud)\n")})
    };
    sandbox.write("code.jsonl", lines(WORDS.iter().enumerate().map(code)));
    let query = |(at, word): (usize, &&str)| json!({"id": format!("q{at}"), "text": format!("{word} fraud"), "theme": ["fraud"], "technique": [word]});
    sandbox.write("queries.jsonl", lines(WORDS.iter().enumerate().map(query)));
    sandbox.write("said.yaml", FILE);
    sandbox
}

/// What a person would do: every open line graded.
fn judge(sandbox: &Sandbox) {
    let open = sandbox.lines("datasets/synthetic/said/to-judge.jsonl");
    let judged = open.into_iter().map(|mut judgement| {
        assert!(judgement["grade"].is_null());
        // `q0` and `records:d0` go together.
        let same = judgement["query"].as_str().unwrap().chars().last()
            == judgement["document"].as_str().unwrap().chars().last();
        judgement["grade"] = json!(u8::from(same));
        judgement
    });
    sandbox.write("judged.jsonl", lines(judged));
}

#[test]
fn an_experiment_is_judged_by_a_person_and_measured_without_asking_again() {
    let (sandbox, server) = (project(), FakeLlm::start(Duration::ZERO).unwrap());
    let url = server.url.clone();
    let unjudged = ["nobody judged a document for query `q0`", "to-judge.jsonl", "ab.judgements=datasets"];
    sandbox.fails_with(&["ab", "said.yaml", &url], &unjudged);
    judge(&sandbox);
    let (out, _) = sandbox.succeeds(&["ab", "said.yaml", &url, "ab.judgements=judged.jsonl", "--no-worse"]);
    let asked = server.answered.lock().unwrap().len();
    assert_eq!(asked, WORDS.len(), "one question a snippet, and none twice");
    assert!(out.contains("4 annotations") && out.contains("theme without technique"), "{out}");
    let ab = sandbox.json("datasets/synthetic/said/ab.json");
    // Code: all four share `fraud` and tie, the first three by position are found. Annotations: the technique alone.
    let p3 = &ab["metrics"][0];
    assert_eq!(p3["name"], "precision@3");
    let means: Vec<f64> = serde_json::from_value(p3["means"].clone()).unwrap();
    assert!((means[0] - 0.25).abs() < 1e-9 && (means[1] - 1.0 / 3.0).abs() < 1e-9, "{means:?}");
    let classes: Vec<u64> =
        ab["errors"].as_array().unwrap().iter().map(|row| row["results"][0].as_u64().unwrap()).collect();
    assert_eq!(classes, [9, 0, 0, 0], "the theme without the technique, each time");
    assert_eq!(ab["unjudged"], json!([0, 0]));
    let page = sandbox.text("datasets/synthetic/said/ab.html");
    assert!(page.contains("oversample fraud") && !page.contains("<script"), "the page shows the queries");
    assert!(fs::read(sandbox.path("datasets/synthetic/said/ab.png")).unwrap().starts_with(b"\x89PNG"));

    // Grades in the file itself are never lost: not while they are not named, and not when they are.
    let own = "datasets/synthetic/said/to-judge.jsonl";
    sandbox.write(own, sandbox.text("judged.jsonl"));
    let graded = || sandbox.text(own).lines().filter(|line| !line.contains("\"grade\":null")).count();
    let all = graded();
    assert!(all > 10, "{all}");
    let unnamed = sandbox.wb(&["ab", "said.yaml", &url]);
    assert!(unnamed.contains("are not among the judgements: name it as ab.judgements"), "{unnamed}");
    assert_eq!(graded(), all);
    sandbox.succeeds(&["ab", "said.yaml", &url, &format!("ab.judgements={own}")]);
    assert_eq!(graded(), all);

    // Other arms of the same answers, without a server.
    drop(server);
    let ledger = "datasets/synthetic/said/ledger.jsonl";
    for (arms, index) in [("[code, both]", false), ("[code, concat]", false), ("[code, annotation]", true)] {
        let (arms, index) = (format!("ab.arms={arms}"), format!("ab.index={index}"));
        let more = ["ab.judgements=judged.jsonl", &index, "--replay", ledger, "--out", "other"];
        sandbox.succeeds(&[&["ab", "said.yaml", &url, &arms], &more[..]].concat());
        let ab = sandbox.json("other/ab.json");
        assert_eq!(ab["metrics"][2]["means"][1], json!(1.0), "{arms}: the technique is found first");
    }
    // The candidate that is surely worse is refused where that was asked for.
    let worse = ["ab", "said.yaml", "ab.arms=[annotation, code]", "ab.judgements=judged.jsonl", "--replay", ledger];
    let found = sandbox.run(&[&worse[..], &["--out", "worse", "--no-worse", "seed=3"]].concat());
    let code = found.status.code();
    let ab = sandbox.json("worse/ab.json");
    let is_surely_worse = ab["metrics"][0]["high"].as_f64().unwrap() < 0.0;
    assert_eq!(code, Some(i32::from(is_surely_worse)), "{}", String::from_utf8_lossy(&found.stderr));
}

#[test]
fn annotations_are_made_estimated_and_pairs_too() {
    let (sandbox, server) = (project(), FakeLlm::start(Duration::ZERO).unwrap());
    let url = &server.url;
    sandbox.says(&["synth", "said.yaml", url, "--dry-run"], &["annotations: 4 snippets", "time"]);
    assert!(!sandbox.path("datasets/synthetic/said/pairs.jsonl").exists());
    sandbox.says(&["synth", "said.yaml", url], &["annotations.jsonl"]);
    let pairs = sandbox.lines("datasets/synthetic/said/pairs.jsonl");
    assert_eq!((pairs.len(), pairs[0]["anchor"].as_str().unwrap()), (4, "how do I oversample it"));
    assert_eq!(pairs[0]["origin"]["dataset"], "annotations");
    let said = &sandbox.lines("datasets/synthetic/said/annotations.jsonl")[0];
    assert_eq!(said["annotation"]["keywords"], json!(["oversample"]));
    assert_eq!((said["id"].as_str(), said["asked"]["stage"].as_str()), (Some("records:d0"), Some("annotate")));
    sandbox.succeeds(&["synth", "said.yaml", url, "annotate.pairs=false", "--out", "silent"]);
    assert_eq!(sandbox.text("silent/pairs.jsonl"), "");
}

#[test]
fn a_benchmark_embeds_what_was_said_of_its_documents() {
    let (sandbox, server) = (project(), FakeLlm::start(Duration::ZERO).unwrap());
    sandbox.succeeds(&["synth", "said.yaml", &server.url]);
    sandbox.succeeds(&["train", "tiny.yaml"]);
    // Each query is word for word what the model said of one document.
    let pair = |record: Value| {
        let word = record["text"].as_str().unwrap().split("zq_").nth(1).unwrap();
        let word: String =
            word.chars().take_while(char::is_ascii_lowercase).collect::<Vec<_>>().into_iter().rev().collect();
        let said = format!("This code shows how to {word} something.\nKeywords: {word}\nhow do I {word} it");
        json!({"id": record["id"], "anchor": said, "positive": record["text"], "language": "python"})
    };
    sandbox.write("held.jsonl", lines(sandbox.lines("code.jsonl").into_iter().map(pair)));
    let said = "datasets/synthetic/said/annotations.jsonl";
    let mrr = |more: &[&str], out: &str| -> (f64, Value) {
        let bench = ["bench", "pairs", "--dataset", "held.jsonl", "--encoder", "latest", "--json", out];
        sandbox.succeeds(&[&bench[..], more].concat());
        let json = sandbox.json(out);
        let score = json["protocols"].as_array().unwrap().iter().find(|score| score["metric"] == "mrr").unwrap();
        (score["value"].as_f64().unwrap(), json["contestant"].clone())
    };
    let (annotation, name) = mrr(&["--embed", "annotation", "--annotations", said], "annotation.json");
    assert_eq!(annotation, 1.0, "a text is nearest to itself");
    assert!(name.as_str().unwrap().ends_with(" (annotation)"), "{name}");
    assert_eq!(mrr(&["--embed", "both", "--annotations", said], "both.json").0, 1.0);
    let code = mrr(&[], "code.json").0;
    assert_eq!(mrr(&["--embed", "code", "--annotations", said], "same.json").0, code);
    // The same switch in the YAML of a run.
    let documents = format!("bench.documents={{embed: annotation, annotations: {said}}}");
    let (sources, split) = (
        "bench.benchmarks=[{benchmark: {pairs: {split: held}}, sources: [{jsonl: {path: held.jsonl}}]}]",
        "train.epochs=1",
    );
    let (out, _) = sandbox.succeeds(&["run", "tiny.yaml", "name=said", sources, &documents, split]);
    let row = out.lines().find(|line| line.starts_with("trained") && line.contains(" mrr ")).unwrap_or(&out);
    assert!(row.contains("1.0000"), "{row}");

    let bench = |what| ["bench", "pairs", "--encoder", "latest", "--embed", what, "--annotations", said];
    sandbox.fails_with(&bench("both"), &["none of its 4 annotations"]);
    sandbox.refuses_with(&bench("all"), &["expected code, annotation, both or concat"]);
}

#[test]
fn mistakes_are_told_before_a_model_is_asked() {
    let sandbox = project();
    sandbox.write("judged.jsonl", "{\"query\": \"q01\", \"document\": \"d1\", \"grade\": 1}\n");
    sandbox.write("twice.jsonl", "{\"id\": \"q\", \"text\": \"a\"}\n\n{\"id\": \"q\", \"text\": \"b\"}\n");
    sandbox.write("nameless.jsonl", "{\"text\": \"a\"}\n");
    sandbox.write("bare.yaml", FILE.replace("ab: {", "bench: {}\n# {"));
    let ab = |more: &[&str], said: &[&str]| sandbox.refuses_with(&[&["ab"], more].concat(), said);
    ab(&["said.yaml", "ab.judgements=judged.jsonl"], &["judged.jsonl:1: no query is called `q01`", "did you mean `q"]);
    ab(&["said.yaml", "ab.queries=twice.jsonl"], &["twice.jsonl:3: query `q` stands there twice"]);
    ab(&["said.yaml", "ab.queries=nameless.jsonl"], &["nameless.jsonl:1: `id` is missing or empty"]);
    ab(&["said.yaml", "ab.arms=[both, both]"], &["`both` stands there twice"]);
    ab(&["said.yaml", "annotate=null"], &["an arm of `ab` embeds annotations", "annotate: {}"]);
    ab(&["said.yaml", "llm=null"], &["`annotate` asks a language model", "llm: {"]);
    ab(&["bare.yaml"], &["wb ab: needs `ab:`, which bare.yaml does not have", "ab: { queries:"]);
    ab(&["said.yaml", "--encoder", "no-such-run"], &["no folder or run `no-such-run`"]);
}
