//! Answers of `search`.

use serde_json::{Value, json};
use wb_core::records::annotation::AnnotationsByText;

use crate::{Made, StreamClient, VERSIONS, places};

#[test]
fn questions_names_patterns_and_errors_find_their_places() {
    let made = Made::usual();
    let mut client = StreamClient::of(made.live(), VERSIONS[1]);
    for (arguments, first) in [
        (json!({"question": "how is a configuration file read?"}), "src/config.rs:1-9"),
        (json!({"question": "Server.listen"}), "app/server.py:1-7"),
        (json!({"question": "listen", "kinds": ["test"]}), "tests/test_server.py:1-5"),
        (json!({"question": "listen", "below": "app"}), "app/server.py:1-7"),
        (json!({"question": "listen", "below": made.root().join("app")}), "app/server.py:1-7"),
        (json!({"question": "parse", "languages": ["rs"]}), "src/config.rs:1-9"),
        (json!({"pattern": "fn \\w+_config"}), "src/config.rs:2"),
        (
            json!({"question": "it fails\nTraceback:\n  File \"app/server.py\", line 4, in listen\nOSError: in use"}),
            "app/server.py:1-7",
        ),
    ] {
        let answer = client.answer("search", arguments.clone());
        assert_eq!(places(&answer).first(), Some(&first), "{arguments}: {answer}");
    }
    client.end();
}

#[test]
fn a_model_s_words_on_a_function_come_with_it() {
    let made = Made::usual();
    let code = "pub fn parse(path: &Path) -> Config {\n    todo!()\n}";
    let annotation =
        json!({"summary": "Understands\u{202e} settings.", "keywords": ["toml"], "queries": ["which keys"]});
    let record = json!({"id": "x", "text": AnnotationsByText::key(code), "annotation": annotation});
    let outside = tempfile::tempdir().unwrap();
    let file = outside.path().join("annotations.jsonl");
    std::fs::write(&file, format!("{record}\n")).unwrap();
    let mut place = made.place();
    place.annotations = Some(Some(file));
    place.bring_up(false, &mut |_| {}).unwrap();
    let mut client = StreamClient::of(made.live(), VERSIONS[1]);
    let answer = client.answer("search", json!({"question": "understands settings"}));
    assert_eq!(answer["answers"][0]["summary"], "Understands\u{fffd} settings.", "{answer}");
    let other = client.answer("search", json!({"question": "Server.listen"}));
    assert_eq!(other["answers"][0].get("summary"), None);
    client.end();
}

#[test]
fn an_empty_answer_says_why() {
    let made = Made::usual();
    let mut client = StreamClient::of(made.live(), VERSIONS[0]);
    let none = client.answer("search", json!({"question": "zebra quagga"}));
    assert_eq!(none["empty"], "none of the files has `zebra`, `quagga`");
    assert_eq!(places(&none).len(), 0);
    assert_eq!(client.answer("search", json!({"pattern": "no such line"}))["empty"], "no line matches the pattern");
    let beyond = client.answer("search", json!({"question": "listen", "skip": 50}));
    assert_eq!(beyond["empty"], "there are no more answers");
    client.end();
}

#[test]
fn pages_follow_each_other_within_the_budget() {
    let files: Vec<(String, String)> = (0..40)
        .map(|n| {
            (format!("src/part_{n}.rs"), format!("/// Counts retries.\nfn retries_{n}() {{\n    count({n})\n}}\n"))
        })
        .collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let made = Made::of(&files);
    let mut client = StreamClient::of(made.live(), VERSIONS[1]);
    for arguments in [json!({"question": "retries", "n": 15}), json!({"pattern": "count\\("})] {
        let (mut skip, mut seen) = (0, Vec::new());
        loop {
            let mut arguments = arguments.clone();
            (arguments["skip"], arguments["budget"]) = (json!(skip), json!(300));
            let answer = client.answer("search", arguments);
            assert!(answer.to_string().len() <= 300 * 4);
            seen.extend(places(&answer).into_iter().map(str::to_owned));
            match answer.get("next").and_then(Value::as_u64) {
                Some(next) => skip = next,
                None => break,
            }
        }
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 40, "{arguments}: {seen:?}");
    }
    client.end();
}
