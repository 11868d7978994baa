//! `wb synth`: pairs from a model that listens on the loopback, and from rules.

use std::{
    collections::{BTreeSet, HashMap},
    fs,
    io::Write,
    sync::atomic::Ordering,
    thread,
    time::Duration,
};

use serde_json::{Value, json};
use wb_fake_llm::FakeLlm;

use crate::sandbox::{Sandbox, has};

const SNIPPETS: &str = "\
name: made
seed: 3
snippets:
  sources:
    - tree: { files: { path: code } }
  filters: { min_chars: 20 }
";

const SYNTH: &str = "\
llm:
  engine: { http: { dialect: generic } }
  model: made-up
  parallel: 8
  canaries: false
synth:
  items: 24
  candidates: 2
  snippet_chars: [20, 12000]
  select: { parses: false, near: 0 }
";

fn files(sandbox: &Sandbox, folder: &str) -> Vec<(String, Vec<u8>)> {
    // The order of answers, and the command as typed.
    let differs = |name: &str| ["ledger.jsonl", "synthesis.json", "config.yaml"].contains(&name);
    let path = |name: &str| sandbox.path(folder).join(name);
    let names = sandbox.names(folder).into_iter().filter(|name| !differs(name) && path(name).is_file());
    names.map(|name| (name.clone(), fs::read(path(&name)).unwrap())).collect()
}

fn pairs(sandbox: &Sandbox, folder: &str) -> Vec<Value> {
    sandbox.lines(&format!("{folder}/pairs.jsonl"))
}

/// A project whose `made.yaml` asks a model, and the model.
fn asking(delay: Duration) -> (Sandbox, FakeLlm) {
    let (sandbox, server) = (Sandbox::new(), FakeLlm::start(delay).unwrap());
    sandbox.write("made.yaml", format!("{SNIPPETS}{SYNTH}"));
    (sandbox, server)
}

#[test]
fn a_model_writes_pairs_of_four_kinds_that_a_replay_gives_again() {
    let (sandbox, server) = asking(Duration::ZERO);
    let url = server.url.clone();
    let (out, _) = sandbox.succeeds(&["synth", "made.yaml", &url]);
    assert!(out.contains("datasets/synthetic/made/pairs.jsonl"), "{out}");
    let made = pairs(&sandbox, "datasets/synthetic/made");
    let kinds: BTreeSet<&str> = made.iter().map(|pair| pair["task"].as_str().unwrap()).collect();
    assert_eq!(Vec::from_iter(kinds), ["code2code", "code2text", "hybrid", "text2code"], "{out}");
    assert!(made.len() >= 8, "{out}");
    let asked = server.answered.lock().unwrap().len();
    // What is known of the model's control tokens is said, here nothing.
    let known = sandbox.json("datasets/synthetic/made/synthesis.json")["engine"]["controls"].take();
    assert_eq!((known["source"].as_str(), known["count"].as_u64()), (Some("unknown"), Some(0)), "{known}");

    // Again: nothing is asked twice. Replayed from the ledger: the same bytes without a server.
    let (again, _) = sandbox.succeeds(&["synth", "made.yaml", &url]);
    assert!(!again.contains(" 0 of this run's questions"), "{again}");
    assert_eq!(server.answered.lock().unwrap().len(), asked);
    assert!(server.answered.lock().unwrap().values().all(|times| *times == 1));
    drop(server);
    let ledger = "datasets/synthetic/made/ledger.jsonl";
    sandbox.succeeds(&["synth", "made.yaml", &url, "--replay", ledger, "--out", "again"]);
    assert_eq!(files(&sandbox, "again"), files(&sandbox, "datasets/synthetic/made"));

    // What was made is a source like any other.
    let source = "data.sources=[{jsonl: {path: datasets/synthetic/made/pairs.jsonl}}]";
    sandbox.succeeds(&["data", "tiny.yaml", source, "data.split.by=pair", "data.filter.min_positive_chars=5"]);
}

#[test]
fn a_synthesis_in_any_number_of_shards_is_that_of_one_process() {
    let (sandbox, server) = asking(Duration::ZERO);
    let url = &server.url;
    let more = ["synth.judge={}", "synth.negatives={}", "annotate={keywords: 3, queries: 1}", "rules={min_chars: 20}"];
    let of = |head: &[&str], tail: &[&str]| sandbox.wb(&[head, &["made.yaml", url], &more, tail].concat());
    has(&of(&["synth"], &["--out", "here"]), &["exit 0"]);
    let asked = || server.asked.lock().unwrap().len();
    let once = asked();
    for shards in ["1", "4", "7"] {
        let block = of(&["shards", "plan"], &["--stage", "synth", "--work", "work", "--shards", shards]);
        let last = |told: &str| told.lines().last().unwrap().trim_start_matches("out: ").to_owned();
        let (mut plan, mut passes) = (last(&block), 1);
        let merged = loop {
            let scratch = ["--scratch", "scratch"];
            for shard in sandbox.succeeds(&["shards", "missing", &plan]).0.lines().rev() {
                sandbox.succeeds(&[&["shards", "run", &plan, "--shard", shard], &scratch[..]].concat());
            }
            let (merged, _) = sandbox.succeeds(&[&["shards", "merge", &plan, "--out", shards], &scratch[..]].concat());
            if !merged.contains("further pass") {
                break merged;
            }
            (plan, passes) = (last(&merged), passes + 1);
        };
        has(&merged, &["pairs.jsonl: ", "provenance.jsonl: "]);
        assert!(
            passes >= 3 && files(&sandbox, shards) == files(&sandbox, "here"),
            "{passes} passes of {shards} shards"
        );
    }
    // Every question once for each number of shards: the plans have other names, and know nothing of each other.
    assert_eq!(asked(), 4 * once);
    let there = ["work=elsewhere", "run_on={local: {processes: 2, shards: 3}}", "--out", "there"];
    has(&of(&["synth"], &there), &["exit 0", "synth in 3 shards: "]);
    assert!(asked() == 5 * once && files(&sandbox, "there") == files(&sandbox, "here"));
    // What is in the folder's ledger is known.
    has(&of(&["synth"], &[&there[..], &["synth.items=30"]].concat()), &["exit 0", "synth in 3 shards: "]);
    has(&of(&["synth"], &["--out", "more", "synth.items=30"]), &["exit 0"]);
    assert!(asked() < 7 * once && files(&sandbox, "there") == files(&sandbox, "more"));

    has(
        &of(&["shards", "plan"], &["--stage", "annotate", "--work", "work"]),
        &["annotate of ", " questions in 1 shard "],
    );
    let plan = ["--stage", "synth", "--work", "work"];
    has(&of(&["shards", "plan"], &[&plan[..], &["llm.engine=replay"]].concat()), &["llm.engine: got replay"]);
    has(
        &of(&["shards", "plan"], &[&plan[..], &["synth=null", "annotate=null"]].concat()),
        &["asks a language model nothing"],
    );
}

#[test]
fn a_server_that_fails_at_some_questions_ends_the_run_aloud_and_its_data_set_is_whole_once_it_is_mended() {
    let (sandbox, server) = asking(Duration::ZERO);
    let quick = ["synth", "made.yaml", &server.url, "llm.retries.tries=2", "llm.retries.first_wait_s=0.01"];
    let run = |more: &[&str]| sandbox.wb(&[&quick[..], more].concat());
    assert!(run(&["--out", "calm"]).starts_with("exit 0"));
    // Some of the questions of the first stage, whatever is asked of the later ones.
    server.fails.store(9, Ordering::SeqCst);
    for _ in 0..2 {
        let block = run(&["--out", "rough"]);
        assert!(block.starts_with("exit 2"), "{block}");
        let told = ["the server failed at ", "out of memory", "the same command asks these again", "leave_out=true"];
        has(&block, &told);
        // Nothing that could be taken for a data set.
        let written: Vec<String> = files(&sandbox, "rough").into_iter().map(|(name, _)| name).collect();
        assert!(
            !sandbox.path("rough/synthesis.json").exists() && !written.contains(&"pairs.jsonl".to_owned()),
            "{written:?}"
        );
    }
    // Without them, where that is asked for, and said so.
    let block = run(&["--out", "rough", "llm.retries.leave_out=true"]);
    assert!(block.starts_with("exit 0"), "{block}");
    assert!(pairs(&sandbox, "rough").len() <= pairs(&sandbox, "calm").len());
    let counts = sandbox.text("rough/counts.json");
    assert!(counts.contains("given up"), "{counts}");
    // Mended: the pairs of a run without faults, and a replay gives the same.
    server.fails.store(0, Ordering::SeqCst);
    let before = server.asked.lock().unwrap().len();
    assert!(run(&["--out", "rough"]).starts_with("exit 0"));
    assert!(server.asked.lock().unwrap().len() > before);
    assert_eq!(sandbox.text("rough/pairs.jsonl"), sandbox.text("calm/pairs.jsonl"));
    assert!(run(&["--replay", "rough/ledger.jsonl", "--out", "again"]).starts_with("exit 0"));
    assert_eq!(files(&sandbox, "again"), files(&sandbox, "rough"));
}

#[test]
fn a_dry_run_measures_and_makes_nothing() {
    let (sandbox, server) = asking(Duration::ZERO);
    let (out, _) = sandbox.succeeds(&["synth", "made.yaml", &server.url, "--dry-run"]);
    for word in ["questions", "tokens", "time", "disk", "pairs"] {
        assert!(out.lines().any(|line| line.starts_with(word)), "{word}: {out}");
    }
    assert!(!sandbox.path("datasets/synthetic/made/pairs.jsonl").exists());
}

#[test]
fn rules_make_pairs_without_a_model_and_the_same_ones_again() {
    let sandbox = Sandbox::new();
    sandbox.write("made.yaml", format!("{SNIPPETS}rules: {{ min_chars: 20, negatives: 1 }}\n"));
    let (out, _) = sandbox.succeeds(&["synth", "made.yaml"]);
    let made = pairs(&sandbox, "datasets/synthetic/made");
    assert!(made.iter().any(|pair| pair["task"] == "code2code"), "{out}");
    assert!(made.iter().any(|pair| pair["task"] == "text2code"), "{out}");
    assert!(made.iter().all(|pair| pair["anchor"] != pair["positive"]));
    sandbox.succeeds(&["synth", "made.yaml", "--out", "again"]);
    assert_eq!(files(&sandbox, "again"), files(&sandbox, "datasets/synthetic/made"));
    sandbox.succeeds(&["synth", "made.yaml", "seed=4", "--out", "other"]);
    assert_ne!(pairs(&sandbox, "other"), made);
}

#[test]
fn a_data_set_of_the_hub_gives_snippets_from_its_cache() {
    const REVISION: &str = "0123456789012345678901234567890123456789";
    let sandbox = Sandbox::new();
    let code = "def total(numbers):\n    result = 0\n    for number in numbers:\n        result += number\n    return result\n";
    let record = json!({"code": code, "lang": "python", "repo": "someone/sums"});
    let cache = format!(".cache/huggingface/hub/datasets--owner--code/snapshots/{REVISION}/data/train.jsonl");
    sandbox.write(&cache, format!("{record}\n"));
    let hub = |file: &str| {
        format!(
            "snippets={{sources: [{{records: {{hub: {{repo: owner/code, revision: {REVISION}, files: [{file}]}}, \
             fields: {{text: code, language: lang, group: repo}}}}}}], filters: {{min_chars: 20}}}}"
        )
    };
    sandbox.write("made.yaml", format!("{SNIPPETS}rules: {{ min_chars: 20 }}\n"));
    sandbox.says(&["synth", "made.yaml", &hub("data/train.jsonl")], &["1 snippets of 1 groups"]);
    let made = pairs(&sandbox, "datasets/synthetic/made");
    assert!(!made.is_empty() && made.iter().all(|pair| pair["origin"]["group"] == "someone/sums"), "{made:?}");
    let told = ["does not have data/test.jsonl, and WB_OFFLINE forbids"];
    sandbox.fails_with(&["synth", "made.yaml", &hub("data/test.jsonl")], &told);
}

#[test]
fn mistakes_are_told_with_what_to_do() {
    let sandbox = Sandbox::new();
    sandbox.write("none.yaml", SNIPPETS);
    sandbox.write("made.yaml", format!("{SNIPPETS}{SYNTH}"));
    sandbox.fails_with(&["synth", "none.yaml"], &["rules: {}"]);
    let training = "data: { sources: [{ jsonl: { path: datasets/synthetic/made/pairs.jsonl } }] }\n\
                    encoder: { model: { static_embedding: {} } }\n";
    sandbox.write("whole.yaml", format!("{SNIPPETS}rules: {{}}\n{training}"));
    for command in ["run", "train"] {
        sandbox.fails_with(&[command, "whole.yaml"], &["hint: wb synth whole.yaml"]);
    }
    let llm = "llm={model: models/none.gguf}";
    let told = [
        "whole.yaml: 2 of 3 things that it needs are missing",
        "to be made first: wb synth whole.yaml",
        "models/none.gguf  missing: no such file",
        "gold.jsonl        missing: no such file",
    ];
    sandbox.refuses_with(&["check", "whole.yaml", llm, "synth={judge: {gold: gold.jsonl}}"], &told);
    for (value, told) in [
        ("llm=null", "hint: llm: {"),
        ("llm.base_url=http://203.0.113.7:80", "loopback"),
        ("synth.candidate=2", "did you mean `candidates`?"),
    ] {
        sandbox.fails_with(&["synth", "made.yaml", value], &[told]);
    }
    let block = sandbox.wb(&["synth", "made.yaml", "llm.base_url=http://127.0.0.1:9", "llm.retries.deadline_s=1"]);
    assert!(block.starts_with("exit 2") && !block.contains("panicked"), "{block}");
}

/// Keys of the questions whose record is whole in a ledger, in its order.
fn keys(sandbox: &Sandbox, ledger: &str) -> Vec<String> {
    let text = fs::read_to_string(sandbox.path(ledger)).unwrap_or_default();
    // A kill may leave the beginning of a last line.
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    let record = |line: &str| serde_json::from_str::<Value>(line).unwrap()["record"].take();
    let key = |record: Value| Some(record.as_object()?.values().next()?["key"].as_str()?.to_owned());
    whole.lines().map(record).filter_map(key).collect()
}

#[cfg(unix)]
#[test]
#[ignore = "takes a minute; the slow step of scripts/ci.sh runs it"]
fn a_synthesis_killed_thirty_times_asks_nothing_twice_and_ends_in_the_same_bytes() {
    const KILLS: u64 = 30;
    const PARALLEL: usize = 8;
    let (sandbox, server) = asking(Duration::from_millis(15));
    let run = |server: &FakeLlm, out: &str, parallel: usize| {
        let parallel = format!("llm.parallel={parallel}");
        sandbox.command(&["synth", "made.yaml", &server.url, &parallel, "synth.items=120", "--out", out])
    };
    // One question after the other: the n-th that came is the n-th in the ledger, which says each question's key.
    let quick = FakeLlm::start(Duration::ZERO).unwrap();
    assert!(run(&quick, "one-by-one", 1).output().unwrap().status.success());
    let of_body: HashMap<String, String> =
        quick.asked.lock().unwrap().drain(..).zip(keys(&sandbox, "one-by-one/ledger.jsonl")).collect();
    let n_questions = quick.answered.lock().unwrap().len();
    assert!(n_questions > 300 && of_body.len() == n_questions, "{n_questions}");
    drop(quick);
    let started = std::time::Instant::now();
    assert!(run(&server, "reference", PARALLEL).output().unwrap().status.success());
    let whole = started.elapsed();
    assert_eq!(files(&sandbox, "reference"), files(&sandbox, "one-by-one"));
    server.rests();
    server.asked.lock().unwrap().clear();
    server.answered.lock().unwrap().clear();

    let (mut kills, mut ends, mut on_their_way) = (0, 0, 0);
    let mut known: BTreeSet<String> = BTreeSet::new();
    loop {
        let mut command = run(&server, "killed", PARALLEL);
        let mut child =
            command.stderr(std::process::Stdio::null()).stdout(std::process::Stdio::null()).spawn().unwrap();
        let is_last = kills == KILLS;
        // The longer it goes on, the further it gets: later kills fall into later stages.
        let ended = match is_last {
            true => Some(child.wait().unwrap()),
            false => {
                thread::sleep(whole.mul_f64(0.1 + 0.05 * (kills % 7) as f64));
                child.try_wait().unwrap()
            }
        };
        if ended.is_none() {
            child.kill().unwrap();
            child.wait().unwrap();
            kills += 1;
        }
        // All that the dead one sent has come by now, and is counted to it.
        server.rests();
        let asked: BTreeSet<String> =
            server.asked.lock().unwrap().drain(..).map(|body| of_body[&body].clone()).collect();
        let now: BTreeSet<String> = keys(&sandbox, "killed/ledger.jsonl").into_iter().collect();
        let again: Vec<&String> = asked.intersection(&known).collect();
        assert!(again.is_empty(), "after kill {kills}: {again:?} were in the ledger and were asked again");
        assert!(known.is_subset(&now), "kill {kills}: {:?} are lost", Vec::from_iter(known.difference(&now)));
        let open = asked.difference(&now).count();
        assert!(open <= if ended.is_some() { 0 } else { PARALLEL }, "kill {kills}: {open} were on their way");
        on_their_way += open as u64;
        known = now;
        match ended {
            Some(status) if is_last => {
                assert!(status.success(), "{status}");
                break;
            }
            Some(_) => {
                ends += 1;
                fs::remove_dir_all(sandbox.path("killed")).unwrap();
                server.answered.lock().unwrap().clear();
                (known, on_their_way) = (BTreeSet::new(), 0);
                assert!(ends < 200, "no kill ever hits");
            }
            None => {}
        }
    }
    assert_eq!(files(&sandbox, "killed"), files(&sandbox, "reference"));
    let counts = server.answered.lock().unwrap();
    assert_eq!((counts.len(), known.len()), (n_questions, n_questions));
    let twice: u64 = counts.values().map(|times| u64::from(*times) - 1).sum();
    assert!(twice <= on_their_way, "{twice} of {on_their_way}");
    let mut err = std::io::stderr();
    let _ = writeln!(
        err,
        "{kills} kills, {ends} runs that ended before; of {n_questions} questions none that was answered was asked again, \
         {on_their_way} were on their way at a kill, {twice} of them answered twice"
    );
}
