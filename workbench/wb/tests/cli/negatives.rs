//! Hard negatives from the command line: a real small encoder, words, given vectors and scores; what is refused.

use std::{
    collections::{BTreeMap, HashSet},
    fs,
    process::Stdio,
};

use serde_json::Value;

use crate::sandbox::{Sandbox, has};

/// A project with `bert/`, a transformer of random weights whose embeddings the reference implementation checks.
fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.golden_encoder("tiny-bert", "bert");
    // Without prompts.
    fs::remove_file(sandbox.path("bert/config_sentence_transformers.json")).unwrap();
    sandbox
}

fn score(value: &Value) -> f64 {
    value["score"].as_f64().unwrap()
}

/// The cosines of random weights are close together, and so is the margin.
const MINE: [&str; 5] = ["mine-negatives", "tiny.yaml", "--encoder", "bert", "negatives.relative_margin=0.01"];

/// Mines, with more options.
fn mine(sandbox: &Sandbox, more: &[&str]) -> (String, String) {
    sandbox.succeeds(&[&MINE[..], more].concat())
}

#[test]
fn negatives_of_a_real_encoder_keep_their_distance() {
    let sandbox = project();
    let (out, _) = mine(&sandbox, &["--out", "mined.jsonl"]);
    has(&out, &["ranked by bert", "relative margin 0.01", "thrown: positive of the query"]);
    has(&out, &["signs of false negatives", "through a tie", "BM25 puts it above"]);
    let page = out.lines().last().unwrap();
    assert!(page.starts_with("reports/negatives-tiny-") && page.ends_with(".html"), "{page}");
    let html = sandbox.text(page);
    assert!(html.contains("Positive, score") && !html.contains("<script") && !html.contains("http://"), "the page");

    let (pairs, scores) = (sandbox.lines("mined.jsonl"), sandbox.lines("mined.scores.jsonl"));
    assert_eq!((pairs.len(), scores.len()), (195, 195));
    let mut negatives = 0;
    for (pair, scored) in pairs.iter().zip(&scores) {
        let texts: Vec<&str> =
            pair["negatives"].as_array().into_iter().flatten().map(|text| text.as_str().unwrap()).collect();
        let of_scores = scored["negatives"].as_array().unwrap();
        assert_eq!((texts.len(), &pair["id"]), (of_scores.len(), &scored["pair"]));
        assert!(texts.len() <= 4 && !texts.contains(&pair["positive"].as_str().unwrap()));
        let positive = score(&scored["positive"]);
        let threshold = positive - positive.abs() * 0.01;
        assert!(of_scores.iter().all(|negative| score(negative) <= threshold + 1e-7), "{scored}");
        assert!(of_scores.is_sorted_by(|a, b| score(a) >= score(b) && a["rank"].as_u64() < b["rank"].as_u64()));
        negatives += texts.len();
    }
    assert!(negatives > 195, "{negatives}");
    let mut folders = sandbox.names("datasets/prepared");
    folders.retain(|name| name.starts_with("mined-"));
    assert_eq!(folders.len(), 1, "{folders:?}");
    let card = sandbox.json(&format!("datasets/prepared/{}/negatives.json", folders[0]));
    assert_eq!(card["chosen"], negatives);
    let thrown: u64 = card["thrown"].as_array().unwrap().iter().map(|rule| rule[1].as_u64().unwrap()).sum();
    assert_eq!(card["candidates"].as_u64().unwrap(), thrown + card["left"].as_u64().unwrap());
}

#[test]
fn what_was_mined_is_not_mined_again() {
    let sandbox = project();
    let (first, _) = sandbox.succeeds(&MINE);
    let vectors = || {
        let files = fs::read_dir(sandbox.path("datasets/prepared/vectors")).unwrap();
        files.map(|entry| entry.unwrap().metadata().unwrap().modified().unwrap()).collect::<Vec<_>>()
    };
    let before = vectors();
    assert_eq!(before.len(), 2);
    let (second, err) = sandbox.succeeds(&MINE);
    assert!(err.contains("negatives: unchanged"), "{err}");
    assert_eq!(first, second);
    // Other rules: other negatives, out of the same vectors.
    let (third, _) = mine(&sandbox, &["negatives.per_pair=2"]);
    assert_ne!(third, first);
    assert_eq!(vectors(), before);
}

#[test]
fn what_was_mined_is_trained_on_by_its_ids() {
    let sandbox = project();
    mine(&sandbox, &[]);
    let folder = sandbox.names("datasets/prepared").into_iter().find(|name| name.starts_with("mined-")).unwrap();
    assert_eq!(sandbox.names(&format!("datasets/prepared/{folder}")), ["negatives.json", "negatives.parquet"]);
    let by_id = |more: &str| format!("negatives={{mined: datasets/prepared/{folder}/negatives.parquet{more}}}");
    let weights = |negatives: &str, runs: &str| {
        sandbox.succeeds(&["train", "tiny.yaml", negatives, "--runs", runs]);
        let run = sandbox.names(runs).into_iter().find(|name| name.contains("-tiny-")).unwrap();
        fs::read(sandbox.path(&format!("{runs}/{run}/encoder/model.safetensors"))).unwrap()
    };
    let ranked = weights("negatives={encoder: bert, relative_margin: 0.01}", "one");
    assert!(weights(&by_id(""), "two") == ranked && weights("negatives=null", "three") != ranked);
    sandbox.fails_with(&["train", "tiny.yaml", &by_id(", per_pair: 1")], &["hint: negatives.per_pair=4"]);
    sandbox.fails_with(&["mine-negatives", "tiny.yaml", &by_id("")], &["hint: negatives.mined=null"]);
}

#[test]
fn several_that_mine_the_same_at_once_all_end_well() {
    let sandbox = project();
    let start = |at: usize| {
        let out = format!("of{at}.jsonl");
        let mut command = sandbox.command(&[&MINE[..], &["--out", &out]].concat());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    for child in [0, 1, 2].map(start) {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let mined = |at: usize| fs::read(sandbox.path(&format!("of{at}.jsonl"))).unwrap();
    assert!(mined(0) == mined(1) && mined(0) == mined(2));
    let kinds: Vec<String> = sandbox.names("datasets/prepared").iter().map(|name| name[..5].to_owned()).collect();
    assert_eq!(kinds, ["mined", "pairs", "vecto"]);
    let vectors = sandbox.names("datasets/prepared/vectors");
    assert!(vectors.len() == 2 && vectors.iter().all(|name| name.ends_with(".npy")), "{vectors:?}");
}

#[test]
fn neither_threads_nor_memory_change_the_result() {
    let sandbox = project();
    let mut results = Vec::new();
    for (threads, ram) in [("1", "2GB"), ("3", "64MB")] {
        let (out, ram) = (format!("of{threads}.jsonl"), format!("negatives.ram={ram}"));
        let more = ["--out", &out, &ram, "negatives.sampling=random", "--datasets", threads];
        sandbox.succeeds_on(threads, &[&MINE[..], &more].concat());
        results.push((sandbox.text(&out), sandbox.text(&format!("of{threads}.scores.jsonl"))));
    }
    assert!(results[0] == results[1]);
}

#[test]
fn rows_for_other_trainers() {
    let sandbox = project();
    let rows = |format: &str, more: &[&str]| {
        let out = format!("{format}.jsonl");
        mine(&sandbox, &[&["--out", &out, "--format", format, "negatives.per_pair=2"], more].concat());
        sandbox.lines(&out)
    };
    let keys = |row: &Value| row.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ");
    assert_eq!(keys(&rows("triplet", &[])[0]), "anchor positive negative");
    assert_eq!(keys(&rows("n-tuple", &["--scores"])[0]), "anchor positive negative_1 negative_2 scores");
    assert_eq!(keys(&rows("labeled-pair", &[])[0]), "anchor positive label");
    let lists = rows("labeled-list", &[]);
    assert_eq!(lists[0]["labels"][0], 1);
    assert_eq!(lists[0]["labels"].as_array().unwrap().len(), lists[0]["positive"].as_array().unwrap().len());
}

#[test]
fn scores_of_another_model_decide_where_they_are_given() {
    let sandbox = project();
    mine(&sandbox, &["--candidates", "candidates.jsonl"]);
    let candidates = sandbox.lines("candidates.jsonl");
    let mut of_query: BTreeMap<&str, HashSet<&str>> = BTreeMap::new();
    for line in &candidates {
        assert!(line["query_text"].is_string() && line["document_text"].is_string());
        of_query.entry(line["query"].as_str().unwrap()).or_default().insert(line["document"].as_str().unwrap());
    }
    assert_eq!(of_query.len(), 195);
    assert!(of_query.iter().all(|(query, documents)| documents.contains(query)), "every positive is among them");
    // Another taste: the shorter, the better; the positive is above all.
    let scored: String = candidates
        .iter()
        .map(|line| {
            let own = line["query"] == line["document"];
            let score = if own { 1.0 } else { 1.0 / line["document_text"].as_str().unwrap().len() as f64 };
            format!("{{\"query\":{},\"document\":{},\"score\":{score}}}\n", line["query"], line["document"])
        })
        .collect();
    sandbox.write("scores.jsonl", &scored);
    let (_, err) = mine(&sandbox, &["--rescore", "scores.jsonl", "--out", "mined.jsonl"]);
    assert!(!err.contains("other queries or documents"), "{err}");
    for pair in sandbox.lines("mined.jsonl") {
        let lengths: Vec<usize> =
            pair["negatives"].as_array().unwrap().iter().map(|text| text.as_str().unwrap().len()).collect();
        assert!(lengths.len() == 4 && lengths.is_sorted(), "{lengths:?}");
    }
    // Without the positives' scores there is nothing to measure margins from.
    let without: String =
        scored.lines().filter(|line| !line.ends_with(":1}")).map(|line| format!("{line}\n")).collect();
    sandbox.write("scores.jsonl", without);
    let rescored = [&MINE[..], &["--rescore", "scores.jsonl"]].concat();
    sandbox.fails_with(&rescored, &["no score for the positive", "hint: score each"]);
}

#[test]
fn vectors_of_another_program_are_found_by_their_ids() {
    let sandbox = project();
    sandbox.succeeds(&["mine-negatives", "tiny.yaml", "--retriever", "bm25", "--out", "words.jsonl"]);
    let pairs = sandbox.lines("words.jsonl");
    let n = pairs.len();
    let npy = |rows: Vec<[f32; 2]>| {
        let mut header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, 2), }}", rows.len());
        header += &" ".repeat(117 - header.len());
        header.push('\n');
        let mut bytes = b"\x93NUMPY\x01\x00v\x00".to_vec();
        bytes.extend(header.as_bytes());
        bytes.extend(rows.iter().flatten().flat_map(|number| number.to_le_bytes()));
        bytes
    };
    // On a circle: pair i stands at angle i, its positive a little beside it.
    let at = |angle: f64| [angle.cos() as f32, angle.sin() as f32];
    let angle = |row: usize| row as f64 / n as f64;
    sandbox.write("q.npy", npy((0..n).map(|row| at(angle(row))).collect()));
    // Documents stand in another order than the pairs.
    sandbox.write("d.npy", npy((0..n).rev().map(|row| at(angle(row) + 1e-3)).collect()));
    let ids: Vec<&str> = pairs.iter().map(|pair| pair["id"].as_str().unwrap()).collect();
    sandbox.write("q.txt", ids.join("\n"));
    sandbox.write("d.txt", ids.iter().rev().copied().collect::<Vec<_>>().join("\n"));
    let vectors = "negatives.vectors={queries: q.npy, query_ids: q.txt, documents: d.npy, document_ids: d.txt}";
    let arguments = ["mine-negatives", "tiny.yaml", vectors];
    let more = ["negatives.mode=sentence_transformers", "negatives.per_pair=1", "--out", "mined.jsonl"];
    sandbox.succeeds(&[&arguments[..], &more].concat());
    let positions: BTreeMap<&str, usize> = ids.iter().enumerate().map(|(at, id)| (*id, at)).collect();
    for (row, line) in sandbox.lines("mined.scores.jsonl").iter().enumerate() {
        let nearest = positions[line["negatives"][0]["id"].as_str().unwrap()];
        assert!(nearest.abs_diff(row) == 1, "{row} {nearest}");
    }
    sandbox.write("d.txt", ids[1..].join("\n"));
    insta::assert_snapshot!(sandbox.wb(&arguments), @r"
    exit 2
    err: data: unchanged, datasets/prepared/pairs-[hash]
    err: error: d.txt: 194 ids for the 195 vectors of d.npy
    ");
}

#[test]
fn a_run_trains_with_what_it_mined() {
    let sandbox = project();
    let section = "negatives={retriever: bm25, per_pair: 2, sample: 0}";
    sandbox.notes(&["train", "tiny.yaml", section], &["negatives: 390 for 195 pairs, 0 of them short"]);
    sandbox.notes(&["train", "tiny.yaml", section], &["negatives: unchanged", "training: unchanged"]);
    let weights = sandbox.weights("runs");
    sandbox.succeeds(&["train", "tiny.yaml", "--runs", "plain"]);
    assert!(sandbox.weights("plain") != weights, "negatives change what is learned");
    let manifest = sandbox.text(&sandbox.only_run("runs").join("manifest.json"));
    assert!(manifest.contains("\"negatives\""), "{manifest}");
    let (_, err) = sandbox.succeeds(&["train", "tiny.yaml", "--runs", "plain", "negatives=null"]);
    assert!(err.contains("training: unchanged"), "null is no mining: {err}");
}

#[test]
fn a_separate_corpus_is_searched_too() {
    let sandbox = project();
    let document = |at: usize| {
        format!(
            "{{\"_id\": \"extra-{at}\", \"title\": \"\", \"text\": \"count merge parse render every empty nested ledger packet matrix number {at}\"}}\n"
        )
    };
    sandbox.write("corpus.jsonl", (0..50).map(document).collect::<String>());
    let arguments =
        ["mine-negatives", "tiny.yaml", "--retriever", "bm25", "negatives.corpus=corpus.jsonl", "--out", "mined.jsonl"];
    sandbox.says(&arguments, &["245 documents"]);
    let scores = sandbox.text("mined.scores.jsonl");
    assert!(scores.contains("\"extra-"), "documents of the corpus are among the negatives");
}

#[test]
fn impossible_negatives_are_refused() {
    let sandbox = project();
    let mining = |more: &[&'static str]| [&MINE[..], more].concat();
    let told = sandbox.refusals(&[
        &mining(&["negatives.ranks=[100, 10]"]),
        &mining(&["negatives.per_pair=0"]),
        &mining(&["negatives.mode=naive"]),
        &mining(&["negatives.ram=1MB"]),
        &mining(&["negatives.ram=much"]),
        &["mine-negatives", "tiny.yaml", "--retriever", "bm52"],
        &mining(&["--out", "mined.csv"]),
        &mining(&["--out", "mined.jsonl", "--format", "triples"]),
        &mining(&["negatives.include_positives=true"]),
        &["run", "tiny.yaml", "negatives={}"],
        &["run", "tiny.yaml", "negatives={retriever: bm25, corpus: absent.jsonl}"],
        &mining(&["--rescore", "absent.jsonl"]),
    ]);
    insta::assert_snapshot!(told, @r"
    err: error: cannot load tiny.yaml
    err:   cause: override `negatives.ranks=[100, 10]`: negatives.ranks: got [100, 10], expected the lower first
    err:   hint: negatives.ranks='[10, 100]'
    err: error: cannot load tiny.yaml
    err:   cause: override `negatives.per_pair=0`: negatives.per_pair: got 0, expected at least 1
    err: error: cannot load tiny.yaml
    err:   cause: override `negatives.relative_margin=0.01`: negatives.relative_margin: got 0.01, but the mode `naive` filters nothing: it is there for comparison
    err:   hint: negatives.mode=sentence_transformers takes the best documents too, with any filter
    err: error: cannot load tiny.yaml
    err:   cause: override `negatives.ram=1MB`: negatives.ram: got 1MB, expected at least 16MB
    err: error: cannot load tiny.yaml
    err:   cause: override `negatives.ram=much`: negatives.ram: `much` is no amount of memory, expected one such as 512MB or 2GB
    err: error: no retriever `bm52`
    err:   hint: did you mean `bm25`?
    err: error: --out mined.csv: expected a name that ends in .parquet or .jsonl
    err:   hint: --out mined.parquet
    err: error: --format triples: expected pairs, triplet, n-tuple, labeled-pair, labeled-list
    err: error: negatives.include_positives makes rankings with positives in them, which are no negatives to train on
    err:   hint: --out mined.jsonl --format n-tuple
    err: error: cannot load tiny.yaml
    err:   cause: override `negatives={}`: negatives.encoder: is missing: the encoder of this file begins from scratch and has nothing to mine with
    err:   hint: name a folder or a run (negatives.encoder=latest), or mine by words: negatives.retriever=bm25
    err: error: cannot read negatives.corpus
    err:   cause: no file `absent.jsonl`
    err:   hint: paths are relative to the folder in which wb is started
    err: error: cannot read negatives.rescore.file
    err:   cause: no file `absent.jsonl`
    err:   hint: paths are relative to the folder in which wb is started
    ");
}

#[test]
fn memory_that_holds_no_block_is_refused_with_what_would() {
    let sandbox = project();
    sandbox.succeeds(&["data", "tiny.yaml"]);
    let small = "negatives.ram: got 20MB, too small: texts take 1MB, one block of 101 candidates";
    sandbox.refuses_with(&[&MINE[..], &["negatives.ram=20MB"]].concat(), &[small, "hint: negatives.ram="]);
}

#[test]
fn help_of_mining_shows_its_ways() {
    let (out, _) = Sandbox::new().succeeds(&["mine-negatives", "--help"]);
    has(&out, &["--encoder <DIR|ID|RUN>", "--rescore", "--cross-encoder <DIR|ID>", "--candidates"]);
    has(&out, &["negatives.mode=naive", "wb ls --defaults"]);
}

#[test]
fn a_check_tells_how_negatives_will_be_mined_and_what_is_risky() {
    let sandbox = project();
    let (out, _) =
        sandbox.succeeds(&["check", "tiny.yaml", "negatives={retriever: bm25, mode: naive}", "train.negatives=7"]);
    has(&out, &["negatives 15 a pair, ranked by BM25, within 2GB"]);
    has(&out, &["lint: negatives: without a margin", "training uses 7"]);
    let (out, _) = sandbox.succeeds(&["check", "tiny.yaml", "negatives={encoder: bert}"]);
    assert!(out.contains("negatives 4 a pair, ranked by bert") && !out.contains("lint: negatives"), "{out}");
    // What the pairs would show is not passed over in silence.
    let later = "lints about the pairs come after `wb data tiny.yaml`";
    assert!(out.contains(later), "{out}");
    // Stages count, and not the number that stands for those that have none of their own.
    let stages = "train.curriculum=[{name: a, until: {share: 0.5}, negatives: 1}, {name: b, negatives: 3}]";
    let check = ["check", "tiny.yaml", "negatives={encoder: bert, per_pair: 9}", "train.negatives=9"];
    let (out, _) = sandbox.succeeds(&[&check[..], &[stages]].concat());
    has(&out, &["lint: negatives: 9 a pair are mined, and no stage of the curriculum uses more than 3"]);
    assert!(!sandbox.succeeds(&check).0.contains("lint: negatives"));
    // What will be mined is not missed, now that the pairs can be looked at.
    sandbox.succeeds(&["data", "tiny.yaml"]);
    assert!(!sandbox.succeeds(&["check", "tiny.yaml"]).0.contains(later));
    let missed = "no pair brings more than 0";
    sandbox.says(&["check", "tiny.yaml", "train.negatives=2"], &[missed]);
    let (out, _) = sandbox.succeeds(&["check", "tiny.yaml", "negatives={encoder: bert}", "train.negatives=2"]);
    assert!(!out.contains(missed) && !out.contains("mine some"), "{out}");
}
