//! What becomes of answers: taken, asked for again, given up, remembered.

use std::{fmt::Write, path::Path, sync::Arc, time::Duration};

use serde_json::json;
use wb_core::Seed;
use wb_llm::{
    Determinism, EngineConfig, Error, LlmConfig, Reply,
    engines::http::HttpConfig,
    keys,
    ledger::{LedgerRecord, records},
};

use crate::{
    server::{Act, FaultServer, say},
    support::{ONE, answers, ask, config, fresh, made_up, open, place, question, questions, replay, text, timed},
};

fn asked_once(
    plan: impl Fn(&crate::server::Asked) -> Act + Send + Sync + 'static,
) -> (Reply, usize, Vec<LedgerRecord>) {
    let server = FaultServer::start(plan);
    let (_folder, ledger) = place();
    let client = open(&config(&server.url()), &ledger).unwrap();
    let replies = ask(&client, &[question("a")]).unwrap();
    drop(client);
    (replies[0].clone(), server.asked(), records(&ledger).unwrap())
}

#[test]
fn an_answer_that_does_not_fit_is_asked_for_with_other_seeds_and_then_given_up() {
    let (reply, asked, records) = asked_once(|asked| match asked.number {
        0 => Act::Say("no JSON".into()),
        1 => Act::Say("{\"n\": \"one\"}".into()),
        _ => Act::Say(ONE.into()),
    });
    let Reply::Answered(answer) = reply else { panic!("{reply:?}") };
    assert_eq!((asked, answer.attempt), (3, 2));
    assert_eq!(answer.seed, keys::attempt_seed(Seed(7), "a", 0, 2));
    assert_eq!(answer.value, Some(json!({"n": 1})));
    let LedgerRecord::Answered(record) = &records[1] else { panic!() };
    assert_eq!((record.cost.wasted_answers, record.cost.wasted.prompt), (2, 20));

    let (reply, asked, _) = asked_once(|_| Act::Say("{\"n\": 1, \"m\": 2}".into()));
    assert_eq!(asked, 3);
    assert_eq!(text(&reply), "$: `m` is not expected (the last of 3 attempts)");
}

#[test]
fn a_cut_answer_is_asked_for_once_more_with_twice_the_tokens() {
    let cut = || {
        let mut body = say("   ");
        body["choices"][0]["finish_reason"] = json!("length");
        Act::Body(body)
    };
    let (reply, asked, _) = asked_once(move |asked| match asked.body["max_tokens"].as_u64() {
        Some(512) => cut(),
        Some(1024) => Act::Say(ONE.into()),
        other => panic!("{other:?}"),
    });
    assert!(matches!(reply, Reply::Answered(answer) if answer.attempt == 0) && asked == 2);
    let (reply, asked, _) = asked_once(move |_| cut());
    assert_eq!((asked, text(&reply)), (2, "cut at the number of tokens allowed"));
}

#[test]
fn other_ends_empty_answers_and_cut_prompts_are_not_taken() {
    let mut filtered = say(ONE);
    filtered["choices"][0]["finish_reason"] = json!("content_filter");
    let mut truncated = say(ONE);
    truncated["truncated"] = json!(true);
    for (body, reason) in [
        (filtered, "ended for the reason `content_filter`"),
        (truncated, "the server cut the prompt of unknown tokens, of which the server read 10"),
        (say(" "), "an empty answer"),
    ] {
        let (reply, _, _) = asked_once(move |_| Act::Body(body.clone()));
        assert!(text(&reply).starts_with(reason), "{reply:?}");
    }
    // A server that says that it read 10 tokens of a prompt of some hundreds has cut it.
    let server = FaultServer::start(|_| Act::Say(ONE.into()));
    let (_folder, client) = fresh(&config(&server.url()));
    let mut long = question("a");
    (0..300).for_each(|i| writeln!(long.messages[0].content, "let value_{i} = {i};").unwrap());
    let replies = ask(&client, &[long]).unwrap();
    assert!(text(&replies[0]).contains("the server cut the prompt of at least"), "{replies:?}");
}

#[test]
fn what_was_answered_is_not_asked_again_and_a_replay_needs_no_server() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = folder.path().join("runs/ledger.jsonl");
    let server = FaultServer::start(|asked| Act::Say(made_up(&asked.body)));
    let config = config(&server.url());
    let first = ask(&open(&config, &ledger).unwrap(), &questions(200)).unwrap();
    let asked = server.asked();
    let client = open(&config, &ledger).unwrap();
    // Twice the same question in one batch is one question.
    let mut twice = questions(200);
    twice.extend(questions(200));
    let again = ask(&client, &twice).unwrap();
    assert_eq!((&again[..200], &again[200..]), (&first[..], &first[..]));
    assert_eq!((server.asked(), client.reused()), (asked, 200));
    let locked = open(&config, &ledger).err().unwrap().to_string();
    assert!(locked.contains("in use by another process"), "{locked}");
    drop((client, server));

    let bytes = std::fs::read(&ledger).unwrap();
    let client = open(&replay(), &ledger).unwrap();
    assert_eq!(ask(&client, &questions(200)).unwrap(), first);
    let error = ask(&client, &questions(203)).unwrap_err().to_string();
    assert!(
        error.contains("has no answer to 3 of 203 questions, the first is made-up@1/ask of 0200, sample 0"),
        "{error}"
    );
    assert_eq!(std::fs::read(&ledger).unwrap(), bytes);
    let other = wb_llm::Client::open(&replay(), Seed(8), &ledger, Arc::default()).err().unwrap().to_string();
    assert!(other.contains("recorded with seed 7, asked with 8"), "{other}");
}

#[test]
fn as_many_requests_are_in_flight_as_asked_for_and_one_if_strict() {
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    for (parallel, determinism, expected) in [(8, Determinism::Recorded, 8), (0, Determinism::Strict, 1)] {
        let counts = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
        let seen = counts.clone();
        let server = FaultServer::start(move |_| {
            let now = seen.0.fetch_add(1, SeqCst) + 1;
            seen.1.fetch_max(now, SeqCst);
            std::thread::sleep(Duration::from_millis(30));
            seen.0.fetch_sub(1, SeqCst);
            Act::Say(ONE.into())
        });
        let config = LlmConfig { parallel, determinism, ..config(&server.url()) };
        let (_folder, client) = fresh(&config);
        ask(&client, &questions(24)).unwrap();
        assert_eq!(counts.1.load(SeqCst), expected);
    }
}

#[test]
fn a_schema_that_servers_do_not_enforce_alike_is_refused_before_anything_is_asked() {
    let server = FaultServer::start(|_| Act::Say("{}".into()));
    let (_folder, client) = fresh(&config(&server.url()));
    let mut question = question("a");
    question.schema = Some(json!({"type": "string", "pattern": "^a"}));
    let error = ask(&client, &[question]).unwrap_err();
    assert!(matches!(&error, Error::Value { key, .. } if key == "made-up@1/ask"), "{error}");
    assert_eq!(server.asked(), 0);
}

/// The key goes into one header and nowhere else.
#[test]
fn a_key_is_in_no_file_no_error_and_no_debug() {
    const KEY: &str = "sk-a-key-that-nobody-may-see";
    let server = FaultServer::start(|asked| match asked.number {
        0..=3 => Act::Say(ONE.into()),
        4 => Act::Status(500, "", format!("your key {KEY} is slow")),
        _ => Act::Status(401, "", format!("{{\"error\":{{\"message\":\"wrong key {KEY}\"}}}}")),
    });
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("the-key");
    std::fs::write(&file, KEY).unwrap();
    let ledger = folder.path().join("run/ledger.jsonl");
    let key = wb_llm::config::KeyConfig { file, ..Default::default() };
    let engine = EngineConfig::Http(HttpConfig { key, ..HttpConfig::default() });
    let config = LlmConfig { engine, ..config(&server.url()) };
    let client = open(&config, &ledger).unwrap();
    let error = ask(&client, &questions(40)).unwrap_err();
    let mut seen = format!("{error} {error:?} {config:?} {:?} {:?}", client.info(), client.account());
    seen += &wb_core::config::to_text(&config).unwrap();
    seen += &serde_json::to_string(&client.account()).unwrap();
    for entry in std::fs::read_dir(folder.path().join("run")).unwrap() {
        seen += &std::fs::read_to_string(entry.unwrap().path()).unwrap();
    }
    assert!(seen.contains("[key]") && !seen.contains(KEY) && !seen.contains("nobody-may-see"), "{seen}");
    drop(client);
    assert!(server.heads().iter().all(|head| head.contains(&format!("Bearer {KEY}"))));
    assert_eq!(answers(&ledger).len(), 4);
}

#[test]
fn a_server_that_is_absent_or_has_another_model_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = |name: &str| folder.path().join(name);
    let server = FaultServer::start(|_| Act::Hang);
    let named = LlmConfig { model: "qwen".into(), ..config(&server.url()) };
    let error = open(&named, &ledger("a")).err().unwrap().to_string();
    assert!(error.contains("no model `qwen`, expected one of the 1 that") && error.contains("made-up"), "{error}");
    let url = server.url();
    drop(server);
    let (error, time) = timed(|| open(&config(&url), &ledger("b")).err().unwrap().to_string());
    assert!(error.contains("no language model at http://127.0.0.1:"), "{error}");
    assert!(time < Duration::from_secs(8), "{time:?}");
    assert!(Path::new(&ledger("b")).exists());
}
