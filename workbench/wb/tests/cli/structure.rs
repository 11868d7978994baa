//! Commands that ask a project's structure, and `wb bench structure`.

use crate::sandbox::Sandbox;

fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write(
        "project/lib/queue.py",
        "class Queue:\n    def push(self, job):\n        self.check(job)\n\n    def check(self, job):\n        pass\n",
    );
    sandbox.write(
        "project/main.py",
        "from lib.queue import Queue\n\ndef run():\n    jobs = Queue()\n    jobs.push(1)\n    other.push(2)\n",
    );
    sandbox
}

#[test]
fn a_symbol_is_defined_used_and_called() {
    let sandbox = project();
    let wb = |arguments: &[&str]| sandbox.wb(&[arguments, &["--project", "project", "--index", "index"]].concat());
    assert_eq!(wb(&["def", "Queue.push"]), "exit 0\nout: lib/queue.py:2: def push(self, job):");
    assert_eq!(wb(&["def", "main.py:5:10"]), "exit 0\nout: lib/queue.py:2: def push(self, job):");
    insta::assert_snapshot!(wb(&["refs", "push"]), @"
    exit 0
    out: main.py:5: jobs.push(1)  [run]
    out: main.py:6: other.push(2)  [run]  (by its name alone)
    ");
    insta::assert_snapshot!(wb(&["refs", "push", "-n", "1"]), @"
    exit 0
    out: main.py:5: jobs.push(1)  [run]
    err: 1 of 2; the next: --skip 1
    ");
    insta::assert_snapshot!(wb(&["callers", "check", "--depth", "3"]), @"
    exit 0
    out: lib/queue.py:2: Queue.push, at 3
    out:   main.py:3: run, at 5, 6
    ");
    insta::assert_snapshot!(wb(&["calls", "run"]), @"
    exit 0
    out: 4: Queue -> main.py:1
    out: 5: push -> lib/queue.py:2
    out: 6: push -> not known here
    ");
    insta::assert_snapshot!(wb(&["def", "pusk"]), @"
    exit 1
    out: nothing found: `pusk` is defined nowhere here; `push` is
    ");
    insta::assert_snapshot!(wb(&["refs", "run"]), @"
    exit 1
    out: nothing found: it is defined here, and nothing that is known of the project's code leads to it
    ");
    insta::assert_snapshot!(wb(&["def", "nowhere.py:3"]), @"
    exit 2
    err: error: nowhere.py is no file of this index whose language is known
    ");
    // What has changed is read as it is.
    sandbox.write("project/main.py", "import lib.queue as q\nq.Queue().check(0)\n");
    assert_eq!(
        wb(&["refs", "Queue.check"]),
        "exit 0\nout: main.py:2: q.Queue().check(0)\nout: lib/queue.py:3: self.check(job)  [Queue.push]"
    );
    let (json, _) = sandbox.succeeds(&["refs", "check", "--project", "project", "--index", "index", "--json"]);
    let answer: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&answer["total"], &answer["changed"][0]), (&2.into(), &"main.py".into()));
    assert_eq!(
        (&answer["answers"][0]["edge"], &answer["answers"][0]["is_call"]),
        (&"import_resolved".into(), &true.into())
    );
    assert_eq!(&answer["definitions"][0]["name"], "Queue.check");
}

#[test]
fn a_change_has_an_impact_and_a_place_what_belongs_with_it() {
    let sandbox = project();
    sandbox.write("project/tests/test_main.py", "from main import run\n\ndef test_run():\n    run()\n");
    let wb = |arguments: &[&str]| sandbox.wb(&[arguments, &["--project", "project", "--index", "index"]].concat());
    insta::assert_snapshot!(wb(&["impact", "Queue.check"]), @"
    exit 0
    out: test  tests/test_main.py:3: test_run, at 4  (by run)
    out:       lib/queue.py:2: Queue.push, at 3
    out:       main.py:3: run, at 5, 6  (by Queue.push)
    err: changed: lib/queue.py:5: Queue.check
    ");
    let diff = "--- a/lib/queue.py\n+++ b/lib/queue.py\n@@ -6 +6 @@\n-        pass\n+        return 1\n";
    let asked = ["impact", "--diff", "-", "--depth", "1", "--json", "--project", "project", "--index", "index"];
    let (code, out, err) = sandbox.with_input(&asked, diff);
    let told: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &told["definitions"][0]["name"]), (Some(0), &"Queue.check".into()), "{out}{err}");
    assert_eq!((&told["answers"][0]["symbol"]["name"], &told["total"]), (&"Queue.push".into(), &1.into()), "{out}");
    let refused = wb(&["impact", "--diff", "nowhere"]);
    assert!(
        refused.starts_with("exit 2\n") && refused.contains("hint: git diff REV | wb impact --diff -"),
        "{refused}"
    );
    insta::assert_snapshot!(wb(&["tests-for", "main.py"]), @"
    exit 0
    out: tests/test_main.py:3: test_run, at 4  (named after it)
    ");
    let related = wb(&["related", "lib/queue.py:3"]);
    assert!(related.contains("out: lib/queue.py:5: Queue.check  (") && related.contains("sibling"), "{related}");
    insta::assert_snapshot!(wb(&["map", "--budget", "14", "--focus", "main.py"]), @"
    exit 0
    out: lib/queue.py
    out:     1  class Queue:
    err: 1 of 5 definitions in 9 tokens
    ");
    let aimed = wb(&["search", "who calls check?", "--json"]);
    assert!(aimed.contains("\"aim\": \"usage\"") && aimed.contains("lib/queue.py"), "{aimed}");
    let none = wb(&["search", "quantum chromodynamics", "--abstain", "0.5"]);
    assert!(none.starts_with("exit 1\n") && none.contains("nothing here seems to answer this"), "{none}");
}

#[test]
fn a_folder_is_outlined() {
    let sandbox = project();
    insta::assert_snapshot!(sandbox.wb(&["outline", "project"]), @"
    exit 0
    out: lib/queue.py
    out:     1  class Queue:
    out:     2    def push(self, job):
    out:     5    def check(self, job):
    out: main.py
    out:     3  def run():
    ");
    assert!(sandbox.wb(&["outline", "project/main.py", "--json"]).contains("\"signature\": \"def run():\""));
}

#[test]
fn escape_sequences_of_a_project_reach_no_terminal() {
    let sandbox = Sandbox::new();
    sandbox.write("project/a\u{1b}[31m.py", "def run(): pass  # \u{1b}]0;title\u{7}\nrun()  # \u{1b}[2J\n");
    for command in [&["def", "run"][..], &["refs", "run"], &["callers", "run"]] {
        let told = sandbox.wb(&[command, &["--project", "project", "--index", "index"]].concat());
        assert!(told.contains("a\u{fffd}[31m.py:") && !told.contains(['\u{1b}', '\u{7}']), "{told}");
    }
    let told = sandbox.wb(&["outline", "project"]);
    assert!(
        told.contains("def run(): pass  # \u{fffd}]0;title\u{fffd}") && !told.contains(['\u{1b}', '\u{7}']),
        "{told}"
    );
}

#[test]
fn structure_is_measured_on_assertions_and_call_graphs() {
    let sandbox = project();
    sandbox.write("sets/a.py", "x = 1\nf(x)\n# ^ defined: 1\nf(x)\n# ^ defined: 3\n");
    sandbox.write("sets/one/main.py", "def f(): pass\nf()\n");
    sandbox.write("sets/one/callgraph.json", r#"{"main": ["main.f", "main.g"], "main.f": []}"#);
    let bench = |set: &str, more: &[&str]| {
        sandbox.wb(&[&["bench", "structure", "--set", set, "--dataset", "sets"], more].concat())
    };
    let first = bench("stack-graphs", &["--json", "out.json", "--require", "assertions=0.9"]);
    assert!(first.starts_with("exit 1\n") && first.contains("assertions is 0.5000, required is 0.9"), "{first}");
    assert!(first.contains("sets: ") || first.contains("a.py: a.py:4:3: {1} in place of {3}"), "{first}");
    let written: serde_json::Value = serde_json::from_str(&sandbox.text("out.json")).unwrap();
    assert_eq!((&written["set"], &written["metrics"]["exact_wrong"]["value"]), (&"stack-graphs".into(), &1.0.into()));
    let calls = bench("pycg", &["--require", "precision=1"]);
    assert!(calls.starts_with("exit 0\n") && calls.contains("missing: main -> main.g"), "{calls}");
    assert!(bench("cqs", &[]).contains("that set is one of search"));
    assert!(bench("pycgg", &[]).contains("did you mean `pycg`"), "{}", bench("pycgg", &[]));
    assert!(bench("pycg", &["--encoder", "x"]).contains("--encoder is for other benchmarks, not for structure"));
    let empty = sandbox.wb(&["bench", "structure", "--set", "pycg", "--dataset", "project"]);
    assert!(empty.contains("has no questions of pycg") && empty.contains("hint: unpack the archive"), "{empty}");
}
