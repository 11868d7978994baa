//! `wb index` and `wb search`: a project is indexed, searched, changed, and searched again.

use crate::sandbox::Sandbox;

const QUEUE: &str = "/// Puts a job back after it failed.\npub fn retry(job: Job) {\n    push(job)\n}\n";

fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("project/src/queue.rs", QUEUE);
    sandbox.write("project/src/mail.py", "# Sends a letter.\ndef send(address):\n    return post(address)\n");
    sandbox
}

#[test]
fn a_project_is_searched_and_says_what_has_changed() {
    let sandbox = project();
    let wb = |arguments: &[&str]| sandbox.wb(&[arguments, &["--index", "index"]].concat());
    let search = |more: &[&str]| wb(&[&["search", "failed jobs", "--project", "project"], more].concat());
    assert!(wb(&["index", "project", "--status"]).ends_with("project: not indexed; `wb index` does it"));
    let first = search(&[]);
    assert!(first.starts_with("exit 0\nout: src/queue.rs:1-4  retry\nout:     /// Puts a job back"), "{first}");
    let asked = search(&["--current-file", "src/mail.py", "--hops", "2", "--task", "send letters", "--explain"]);
    assert!(asked.contains("out: src/mail.py:1-3") && asked.contains(", context 1.30\n"), "{asked}");
    sandbox.write("project/src/queue.rs", QUEUE.replace("retry", "again") + "\n");
    sandbox.write("project/src/new.go", "package a\n\n// Fails jobs.\nfunc fail() {}\n");
    let stale = search(&["-n", "1"]);
    assert!(stale.contains("(has changed since it was indexed;") && stale.contains("\nerr: 2 files have"), "{stale}");
    let fresh = search(&["--fresh", "--lang", "rust"]);
    assert!(fresh.contains("out: src/queue.rs:1-4  again") && !fresh.contains("has changed"), "{fresh}");
    sandbox.write("trace.txt", "Traceback:\n  File \"/srv/src/mail.py\", line 3, in send\nOSError: boom\n");
    assert!(
        wb(&["search", "--issue", "trace.txt", "--project", "project"]).starts_with("exit 0\nout: src/mail.py:1-3")
    );
    assert_eq!(
        wb(&["search", "-e", "^fn|post", "--project", "project"]),
        "exit 0\nout: src/mail.py:3:    return post(address)"
    );
    let (json, _) = sandbox.succeeds(&["search", "letter", "--project", "project", "--index", "index", "--json"]);
    let answer: serde_json::Value = serde_json::from_str(&json).unwrap();
    let best = &answer["answers"][0];
    assert_eq!((&best["path"], &best["lines"], &answer["files"]), (&"src/mail.py".into(), &[1, 3].into(), &3.into()));
}

#[cfg(unix)]
#[test]
fn a_watched_project_is_brought_up_to_date_when_it_changes() {
    use std::io::{BufRead, BufReader};

    let sandbox = project();
    sandbox.write("lib/zoo.rs", "fn zebra() {}\n");
    sandbox.write("project/index.scip", "half");
    let mut command = sandbox.command(&["index", "project", "lib", "--index", "index", "--watch"]);
    let mut child = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let mut told = BufReader::new(child.stdout.take().unwrap()).lines();
    let first = told.next().unwrap().unwrap();
    assert!(first.contains("/lib: 3 files, 3 units"), "{first}");
    let mut notes = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(notes.any(|note| note.unwrap().contains("index.scip is left out for now: ")));
    assert!(notes.any(|note| note.unwrap().contains("Ctrl-C ends it")));
    sandbox.write("lib/zoo.rs", "fn giraffe() {}\n");
    assert!(told.next().unwrap().unwrap().starts_with("1 changed, 0 gone in "));
    let found = sandbox.wb(&["search", "giraffe", "--project", "project", "--index", "index"]);
    assert!(found.contains("lib/zoo.rs:1-1  giraffe"), "{found}");
    crate::sandbox::send("-INT", &child);
    assert!(!child.wait().unwrap().success());
}

#[test]
fn vectors_of_an_encoder_are_made_once_and_asked_until_they_are_forgotten() {
    let sandbox = project();
    sandbox.golden_encoder("tiny-bert", "bert");
    let wb = |arguments: &[&str]| sandbox.wb(&[arguments, &["--index", "index"]].concat());
    let (cached, _) = sandbox.succeeds(&["index", "project", "--index", "index"]);
    assert!(cached.contains("2 files, 2 units"), "{cached}");
    let made = wb(&["index", "project", "--encoder", "bert"]);
    assert!(made.contains("2 texts embedded now, by ") && made.contains("/bert (2 vectors of 32 numbers)"), "{made}");
    assert!(wb(&["index", "project"]).contains("err: 0 texts embedded now"));
    let asked = |more: &[&str]| wb(&[&["search", "job", "--project", "project", "--explain"], more].concat());
    assert!(asked(&[]).contains(", meaning 1.00, of the file 1.00, role"), "{}", asked(&[]));
    assert!(!asked(&["--words"]).contains("meaning"));
    sandbox.write("project/src/new.go", "package a\n\n// Fails jobs.\nfunc fail() {}\n");
    assert!(asked(&["--fresh"]).contains("src/new.go"));
    assert!(wb(&["index", "project", "--status"]).contains("/bert; 0 units have none"));
    let whole = wb(&["index", "project", "--verify"]);
    assert!(
        whole.contains("3 files, 3 units") && whole.contains("out: 3 vectors by ") && whole.contains("whole"),
        "{whole}"
    );
    assert!(wb(&["index", "project", "--compact"]).contains(": 2 files before, 1 now"));
    // Another encoder at the same place, then none.
    sandbox.write("bert/config_sentence_transformers.json", r#"{"prompts": {"query": "other: "}}"#);
    assert!(asked(&[]).contains("/bert has changed since it made this index's vectors; `wb index` asks it again"));
    assert!(wb(&["index", "project"]).contains("err: 3 texts embedded now"));
    std::fs::remove_dir_all(sandbox.path("bert")).unwrap();
    assert!(asked(&[]).contains("hint: `wb index --words` does without, `--encoder` takes another one"));
    wb(&["index", "project", "--words"]);
    assert!(asked(&[]).contains("out: src/queue.rs:1-4  retry"));
}

#[test]
fn indexes_have_the_encoder_of_this_machine_where_none_is_named_and_words_alone_are_not_asked_for() {
    let sandbox = project();
    let index = |more: &[&str]| sandbox.wb(&[&["index", "project"], more].concat());
    assert!(index(&[]).contains("to be found by meaning, too: `wb index --encoder bag`"));
    sandbox.golden_encoder("tiny-bert", ".cache/wb/bag/encoder");
    assert!(index(&[]).contains("2 texts embedded now, by "), "{}", index(&[]));
    assert!(!index(&["--words"]).contains("by meaning"));
    assert!(!index(&[]).contains("texts embedded") && index(&["--encoder", "bag"]).contains("0 texts embedded now"));
    sandbox.succeeds(&["index", "project", "--index", "other", "--words"]);
    let asked = |index: &str| sandbox.wb(&["search", "job", "--project", "project", "--explain", "--index", index]);
    assert!(asked("new").contains(", meaning ") && !asked("other").contains(", meaning "));
}

#[test]
fn what_cannot_be_searched_says_what_to_do() {
    let sandbox = project();
    let wb = |arguments: &[&str]| sandbox.wb(&[arguments, &["--project", "project", "--index", "index"]].concat());
    assert!(wb(&["search", "zebra"]).starts_with("exit 1\nout: nothing found: none of the files has `zebra`"));
    assert!(wb(&["search", "x", "y", "--kind", "tests"]).contains("expected code, source, test, example, decl"));
    sandbox.write("index", "not an index");
    let damaged = wb(&["search", "letter"]);
    assert!(
        damaged.contains("cannot use index") && damaged.contains("hint: make it again: wb index --anew"),
        "{damaged}"
    );
    assert!(
        sandbox.wb(&["search", "x", "--project", "nowhere"]).starts_with("exit 2\nerr: error: cannot read nowhere")
    );
    sandbox.write("outside.rs", "");
    let told = sandbox.wb(&["search", "letter", "--project", "project", "--current-file", "../outside.rs"]);
    assert!(told.starts_with("exit 0") && told.contains("/outside.rs is none of the files of this index"), "{told}");
    let told =
        "wb bench search --set SET --dataset DIR: a set of semble, swe-qa, cqs, contextbench, no-answer, intents, own";
    assert!(sandbox.wb(&["bench", "search", "--dataset", "project"]).contains(told));
}

/// A test that has the question's word twice, and code that has it once: the weight of tests decides.
#[test]
fn weights_are_fitted_to_a_set_and_asked_with() {
    let sandbox = Sandbox::new();
    sandbox.write("set/repos.json", r#"[{"name": "alpha", "language": "rust"}]"#);
    sandbox.write("set/annotations/alpha.json", r#"[{"query": "tune", "relevant": ["tests/b.rs"]}]"#);
    sandbox.write("set/corpora/alpha/a.rs", "fn other() { tune() }\n");
    sandbox.write("set/corpora/alpha/tests/b.rs", "fn plays() { tune(); tune() }\n");
    let (told, _) = sandbox.succeeds(&["search", "tune", "semble=set", "--out", "weights.yaml"]);
    assert!(told.contains("semble  as it is") && told.contains("semble  fitted to all  1.0000"), "{told}");
    let asked = |more: &[&str]| {
        let question = ["search", "--project", "set/corpora/alpha", "--index", "index", "-n", "1"];
        sandbox.wb(&[&question, more, &["--", "tune"]].concat())
    };
    assert!(asked(&[]).contains("out: a.rs:1-1  other"), "{}", asked(&[]));
    let by_fitted = asked(&["--weights", "weights.yaml"]);
    assert!(by_fitted.contains("out: tests/b.rs:1-1  plays"), "{by_fitted}");
    let measured = ["bench", "search", "--set", "semble", "--dataset", "set", "--weights", "weights.yaml"];
    assert!(sandbox.wb(&measured).contains("\nout: p@1 "));
    // The fitted weights against the shipped ones, by a run file and by what was measured.
    let own = ["bench", "search", "--set", "semble", "--dataset", "set"];
    sandbox.succeeds(&[&own[..], &["--json", "own.json", "--trec", "own.trec"]].concat());
    for other in ["own.json", "own.trec"] {
        let told = sandbox.wb(&[&measured[..], &["--against", other]].concat());
        assert!(told.contains(&format!("minus {}", if other == "own.json" { "wb search, no model" } else { other })));
        let line = told.lines().rfind(|line| line.starts_with("out: p@1")).unwrap();
        let cells: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(cells[2..], ["1.000", "0.000", "+1.000", "[+1.000,", "+1.000]", "1.000", "1/0/0"], "{told}");
    }
    assert!(sandbox.wb(&[&own[..], &["--require", "p@1=0.5"]].concat()).starts_with("exit 1\n"));
    assert!(
        sandbox.wb(&[&own[..], &["--require", "mrr=0.5"]].concat()).contains("semble has no metric `mrr`, but ndcg@10")
    );
    let refused = sandbox.wb(&[&own[..], &["--languages", "go"]].concat());
    assert!(refused.contains("--languages is for other benchmarks, not for search"), "{refused}");
    assert!(sandbox.wb(&["search", "tune"]).contains("hint: to search for the word: wb search -- tune"));
    sandbox.write("weights.yaml", "prose: {}");
    assert!(asked(&["--weights", "weights.yaml"]).contains("weights.yaml:1:"));
}
