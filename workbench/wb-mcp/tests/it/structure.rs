//! Answers of `symbol`, `outline`, `impact` and `related`.

use std::process::Command;

use serde_json::{Value, json};

use crate::{Made, StreamClient, VERSIONS, places};

/// Places of an answer with one of their fields.
fn with<'a>(answer: &'a Value, field: &str) -> Vec<(&'a str, &'a str)> {
    let all = answer["answers"].as_array().unwrap().iter();
    all.map(|one| (one["at"].as_str().unwrap(), one[field].as_str().unwrap_or_default())).collect()
}

#[test]
fn a_symbol_has_definitions_usages_callers_calls_and_tests() {
    let made = Made::usual();
    let mut client = StreamClient::of(made.live(), VERSIONS[1]);
    let mut ask =
        |symbol: &str, relation: &str| client.answer("symbol", json!({"symbol": symbol, "relation": relation}));
    let defined = ask("Server.listen", "definitions");
    assert_eq!(with(&defined, "kind"), [("app/server.py:2", "function")]);
    assert_eq!(defined["answers"][0]["text"], "def listen(self, port):");
    let used = ask("Server", "usages");
    assert_eq!(used["of"], json!(["app/server.py:1"]));
    assert!(with(&used, "edge").contains(&("tests/test_server.py:5", "import_resolved")), "{used}");
    let callers = ask("Server.accept", "callers");
    assert_eq!((with(&callers, "name"), &callers["total"]), (vec![("app/server.py:2", "Server.listen")], &json!(1)));
    assert_eq!(callers["answers"][0]["lines"], json!([4]));
    assert_eq!(with(&ask("Server.listen", "calls"), "name"), [("app/server.py:6", "accept")]);
    assert_eq!(places(&ask("Server.listen", "tests")), ["tests/test_server.py:4"]);
    // A place that uses it, as it is typed here or in full.
    let full = made.root().join("app/server.py:4:21");
    for at in ["app/server.py:4:21", "./app/server.py:4:21", full.to_str().unwrap()] {
        assert_eq!(places(&ask(at, "definitions")), ["app/server.py:6"], "{at}");
    }
    let unknown = ask("Server.listne", "definitions");
    assert!(unknown["empty"].as_str().unwrap().contains("`listen` is"), "{unknown}");
    client.end();
}

#[test]
fn changed_files_are_read_as_they_are() {
    let made = Made::usual();
    let mut client = StreamClient::of(made.live(), VERSIONS[0]);
    assert_eq!(places(&client.answer("symbol", json!({"symbol": "accept"}))), ["app/server.py:6"]);
    made.write("app/server.py", &format!("# A line more.\n{}", crate::SERVER));
    assert_eq!(places(&client.answer("symbol", json!({"symbol": "accept"}))), ["app/server.py:7"]);
    client.end();
}

#[test]
fn outlines_have_paths_of_the_project() {
    let made = Made::usual();
    let mut client = StreamClient::of(made.live(), VERSIONS[1]);
    let file = client.answer("outline", json!({"path": "app/server.py"}));
    let expected = [("app/server.py:1-7", "Server"), ("app/server.py:2-4", "listen"), ("app/server.py:6-7", "accept")];
    assert_eq!(with(&file, "name"), expected);
    assert_eq!(file["answers"][1]["depth"], 1);
    assert_eq!(client.answer("outline", json!({"path": "app/"}))["answers"], file["answers"]);
    let map = client.answer("outline", json!({}));
    assert!(with(&map, "name").contains(&("app/server.py:1-7", "Server")), "{map}");
    for path in ["..", "/etc", "app/../..", "no.py"] {
        let failure = client.failure("outline", json!({"path": path}));
        assert!(failure.contains("not among the files"), "{path}: {failure}");
    }
    client.end();
}

#[test]
fn impact_tells_tests_first_of_a_symbol_a_diff_and_what_is_not_committed() {
    let made = Made::usual();
    let git = |arguments: &[&str]| {
        let who = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "init.defaultBranch=main"];
        let out = Command::new("git").args(who).args(arguments).current_dir(made.root()).output().unwrap();
        assert!(out.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&out.stderr));
    };
    git(&["init", "-q"]);
    git(&["add", "-A"]);
    git(&["commit", "-q", "-m", "one"]);
    let mut client = StreamClient::of(made.live(), VERSIONS[1]);
    let affected = [("tests/test_server.py:4", "test"), ("app/server.py:2", "")];
    let of_symbol = client.answer("impact", json!({"symbol": "Server.accept"}));
    assert_eq!(with(&of_symbol, "kind"), affected, "{of_symbol}");
    assert_eq!(client.answer("impact", json!({}))["empty"], "nothing is changed");
    let diff = "--- a/app/server.py\n+++ b/app/server.py\n@@ -6,2 +6,2 @@ class Server:\n     def accept(self, port):\n-        \
                return port\n+        return port + 1\n";
    let of_diff = client.answer("impact", json!({"diff": diff}));
    assert_eq!(with(&of_diff, "kind"), affected, "{of_diff}");
    made.write("app/server.py", &crate::SERVER.replace("return port", "return port + 1"));
    let of_files = client.answer("impact", json!({}));
    assert_eq!(with(&of_files, "kind"), affected, "{of_files}");
    let failure = client.failure("impact", json!({"diff": "no diff at all"}));
    assert!(failure.contains("diff"), "{failure}");
    client.end();
}

#[test]
fn related_definitions_say_why() {
    let made = Made::usual();
    let mut client = StreamClient::of(made.live(), VERSIONS[1]);
    let related = client.answer("related", json!({"symbol": "Server.listen"}));
    let kinds = with(&related, "kind");
    let of = |at: &str| kinds.iter().find(|(place, _)| *place == at).map(|(_, kind)| *kind);
    assert!(of("app/server.py:6").is_some_and(|kind| kind.contains("used") && kind.contains("sibling")), "{related}");
    assert!(of("tests/test_server.py:4").is_some_and(|kind| kind.contains("test")), "{related}");
    assert_eq!(client.answer("related", json!({"symbol": "app/server.py:3"}))["answers"], related["answers"]);
    client.end();
}

#[test]
fn answers_of_the_graph_are_paged_within_their_budget() {
    let users: String = (0..200).map(|n| format!("def user_of_target_{n}():\n    target()\n\n")).collect();
    let made = Made::of(&[("lib.py", &format!("def target():\n    pass\n\n{users}"))]);
    let mut client = StreamClient::of(made.live(), VERSIONS[1]);
    let all: [(&str, Value); 4] = [
        ("symbol", json!({"symbol": "target", "relation": "usages"})),
        ("symbol", json!({"symbol": "target", "relation": "callers"})),
        ("impact", json!({"symbol": "target"})),
        ("outline", json!({"path": "lib.py"})),
    ];
    for (tool, mut arguments) in all {
        let (mut skip, mut seen) = (0, 0);
        loop {
            (arguments["skip"], arguments["budget"]) = (json!(skip), json!(400));
            let answer = client.answer(tool, arguments.clone());
            assert!(answer.to_string().len() <= 400 * 4);
            seen += places(&answer).len();
            match answer.get("next").and_then(Value::as_u64) {
                Some(next) => skip = next,
                None => break assert_eq!(answer["total"], seen, "{tool}"),
            }
        }
        assert!(seen >= 200, "{tool} {arguments}: {seen}");
    }
    client.end();
}
