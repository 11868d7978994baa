//! The whole way on a made-up tree: data, training, benchmark, report; and what is not done a second time.

use std::{fs, time::SystemTime};

use crate::sandbox::{Sandbox, TRANSFORMER, has};

fn written(path: &std::path::Path) -> SystemTime {
    path.metadata().unwrap().modified().unwrap()
}

#[test]
fn data_train_bench_report() {
    let sandbox = Sandbox::new();
    insta::assert_snapshot!(sandbox.wb(&["data", "tiny.yaml"]), @r"
    exit 0
    out:       300 pairs  code code
    out:        90 pairs  test, 6 groups
    out:       195 pairs  train, 13 groups
    out:        15 pairs  validation, 1 group
    out: in datasets/prepared/pairs-[hash]
    ");
    sandbox.says(&["check", "tiny.yaml"], &["prepared already"]);

    let (out, err) = sandbox.succeeds(&["train", "tiny.yaml"]);
    assert!(out.contains("trained encoder: runs/"), "{out}");
    assert!(err.contains("data: unchanged"), "{err}");

    let (out, err) = sandbox.succeeds(&["run", "tiny.yaml"]);
    assert!(err.contains("training: unchanged"), "{err}");
    let last = out.lines().last().unwrap();
    assert!(last.starts_with("VERDICT: ") && last.contains(" report: reports/"), "{last}");
    for contestant in ["bm25", "untrained", "trained", "bm25+trained"] {
        assert!(out.lines().any(|line| line.starts_with(contestant) && line.contains("pairs-full")), "{out}");
    }
    let page = last.rsplit(": ").next().unwrap();
    let html = sandbox.text(page);
    assert!(html.contains("wb train tiny.yaml"), "the page holds the command that trained");
    for outside in ["src=\"http", "href=\"http", "@import", "url(http"] {
        assert!(!html.contains(outside), "the page opens offline, and has {outside}");
    }
    let pictures = sandbox.path(page.trim_end_matches(".html"));
    assert!(fs::read_dir(pictures).unwrap().count() >= 4, "PNGs lie beside the page");
}

#[test]
fn a_second_run_does_nothing_again() {
    let sandbox = Sandbox::new();
    let (first, _) = sandbox.succeeds(&["run", "tiny.yaml"]);
    let run = sandbox.only_run("runs");
    let files =
        [run.join("encoder/model.safetensors"), run.join("bench/pairs-trained.json"), run.join("metrics.jsonl")];
    let before = files.each_ref().map(|file| written(file));
    let (second, err) = sandbox.succeeds(&["run", "tiny.yaml"]);
    assert_eq!(first, second);
    has(&err, &["data: unchanged", "training: unchanged", "benchmarks: 1 unchanged"]);
    assert_eq!(files.each_ref().map(|file| written(file)), before);
}

#[test]
fn another_benchmark_is_measured_without_training_again() {
    let sandbox = Sandbox::new();
    sandbox.succeeds(&["run", "tiny.yaml"]);
    let weights = sandbox.only_run("runs").join("encoder/model.safetensors");
    let before = written(&weights);
    let (out, err) = sandbox.succeeds(&["run", "tiny.yaml", "bench.contestants=[trained, bm25]"]);
    assert!(err.contains("training: unchanged") && !err.contains("benchmarks: 1 unchanged"), "{err}");
    assert_eq!(written(&weights), before);
    assert!(!out.contains("untrained "), "{out}");
    let (_, err) = sandbox.succeeds(&["run", "tiny.yaml", "train.epochs=3"]);
    assert!(err.contains("data: unchanged") && !err.contains("training: unchanged"), "{err}");
    let runs = sandbox.names("runs");
    assert_eq!(runs.iter().filter(|name| sandbox.path("runs").join(name).is_dir()).count(), 2, "{runs:?}");
}

#[test]
fn a_transformer_goes_the_same_way() {
    let sandbox = Sandbox::new();
    let (out, _) = sandbox.succeeds(&["run", "tiny.yaml", TRANSFORMER, "encoder.max_tokens={query: 32, document: 64}"]);
    assert!(out.lines().last().unwrap().starts_with("VERDICT: "), "{out}");
}

#[test]
fn weights_do_not_depend_on_the_number_of_threads() {
    let sandbox = Sandbox::new();
    for threads in ["1", "3"] {
        sandbox.succeeds_on(threads, &["train", "tiny.yaml", "--runs", threads]);
    }
    assert!(sandbox.weights("1") == sandbox.weights("3"));
}

#[test]
fn a_sweep_is_a_run_for_every_combination_and_a_page_that_compares_them() {
    let sandbox = Sandbox::new();
    let sweep = ["run", "tiny.yaml", "sweep={seed: [1, 2], train.epochs: [1, 2]}"];
    let (out, err) = sandbox.succeeds(&sweep);
    has(&err, &["run 1 of 4: seed=1 train.epochs=1", "run 4 of 4: seed=2 train.epochs=2"]);
    has(&out, &["unlike the best", "sweep of 4 runs: reports/sweep-tiny.html"]);
    // Each seed has pairs of its own: two boards of two trained encoders each.
    assert!(out.matches("train.epochs=").count() >= 2, "{out}");
    assert_eq!(sandbox.names("runs").iter().filter(|name| name.contains("-tiny-")).count(), 4);
    // The page has these runs alone, and what is done is not done again.
    sandbox.succeeds(&["run", "tiny.yaml", "name=other"]);
    let (again, err) = sandbox.succeeds(&sweep);
    assert_eq!(again, out);
    assert_eq!(err.matches("training: unchanged").count(), 4, "{err}");
    // On other machines: the same weights, the same boards.
    let there = ["work=work", "run_on={local: {processes: 2}}", "--runs", "there", "--reports", "pages"];
    let (boards, err) = sandbox.succeeds(&[&sweep[..], &there].concat());
    has(&err, &["sweep in 4 shards: "]);
    for run in sandbox.names("runs").into_iter().filter(|name| name.contains("-tiny-")) {
        let weights = |runs: &str| fs::read(sandbox.path(&format!("{runs}/{run}/encoder/model.safetensors"))).unwrap();
        assert!(weights("there") == weights("runs"), "{run}");
    }
    let rows =
        |told: &str| told.lines().filter(|line| line.contains("  trained ")).map(str::to_owned).collect::<Vec<_>>();
    assert!(out.ends_with("sweep-tiny.html\n") && sandbox.path("pages/sweep-tiny.html").is_file());
    assert!(rows(&boards).iter().all(|row| out.contains(row.as_str())) && rows(&boards).len() == 8, "{boards}");
    let (_, err) = sandbox.succeeds(&["run", "tiny.yaml", "seed=2", "train.epochs=2", "--runs", "there"]);
    has(&err, &["training: unchanged", "benchmarks: 1 unchanged"]);
    let page = sandbox.text("reports/sweep-tiny.html");
    assert!(page.contains("Sweep tiny") && page.contains("train.epochs=") && !page.contains("-other-"));
    sandbox
        .notes(&["check", "tiny.yaml", sweep[2]], &["sweep: 4 runs by wb run; wb check takes the file's own values"]);
    for (value, told) in [
        ("sweep={seed: []}", "`seed` has no values"),
        ("sweep={train.epoch: [1]}", "override `train.epoch=1`"),
        ("sweep={name: [a]}", "`name` cannot be swept"),
        ("run_on=slurms", "unknown variant `slurms`, expected one of `local`, `slurm`, `ray`"),
        ("run_on=slurm", "work: is missing"),
    ] {
        sandbox.fails_with(&["run", "tiny.yaml", value], &[told]);
    }
    sandbox.fails_with(&[&sweep[..], &["--resume", "latest"]].concat(), &["--resume latest names one run"]);
}
