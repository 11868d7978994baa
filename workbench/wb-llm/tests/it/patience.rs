//! How long is waited, for whom, and what is said when the waiting ends.

use std::{
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use jiff::{Timestamp, fmt::rfc2822::DateTimePrinter};
use serde_json::Value;
use wb_core::Seed;
use wb_llm::{Client, EngineConfig, Error, Ledger, LlmConfig, Reply, engines::http::HttpConfig};

use crate::{
    server::{Act, FaultServer, say},
    support::{ONE, answers, ask, config, fresh, made_up, open, place, question, questions, stop_after, text, timed},
};

fn unfinished(word: Option<Value>) -> Value {
    let mut body = say(ONE);
    match word {
        Some(word) => body["choices"][0]["finish_reason"] = word,
        None => drop(body["choices"][0].as_object_mut().unwrap().remove("finish_reason")),
    }
    body
}

#[test]
fn an_answer_without_a_reason_for_its_end_is_asked_for_again_and_ends_a_run_that_has_no_other() {
    for word in [None, Some(Value::Null)] {
        let first = unfinished(word.clone());
        let server = FaultServer::start(move |asked| match asked.number {
            0 => Act::Body(first.clone()),
            _ => Act::Say(ONE.into()),
        });
        let (_folder, client) = fresh(&config(&server.url()));
        let replies = ask(&client, &[question("a")]).unwrap();
        assert!(matches!(&replies[0], Reply::Answered(answer) if answer.attempt == 0), "{replies:?}");
        assert_eq!((server.asked(), client.account().total().retries), (2, 1));

        let server = FaultServer::start(move |_| Act::Body(unfinished(word.clone())));
        let (_folder, client) = fresh(&config(&server.url()));
        let error = ask(&client, &questions(2)).unwrap_err().to_string();
        assert!(error.contains("no `finish_reason` came with it") && error.contains(&server.url()), "{error}");
        assert!(client.ledger().is_empty());
    }
    // The same of a stream that ends early; one that is cut at its length is asked for with twice the tokens.
    let stream =
        |end: &str| format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{{\\\"n\\\": 1}}\"}}{end}}}]}}\n\n");
    let server = FaultServer::start(move |asked| {
        Act::Status(
            200,
            "",
            match (asked.number, asked.body["max_tokens"].as_u64()) {
                (0, _) => stream(""),
                (_, Some(512)) => stream(",\"finish_reason\":\"length\"") + "data: [DONE]\n\n",
                _ => stream(",\"finish_reason\":\"stop\"") + "data: [DONE]\n\n",
            },
        )
    });
    let engine = EngineConfig::Http(HttpConfig { stream: true, ..HttpConfig::default() });
    let (_folder, client) = fresh(&LlmConfig { engine, ..config(&server.url()) });
    let replies = ask(&client, &[question("a")]).unwrap();
    assert!(matches!(&replies[0], Reply::Answered(answer) if answer.attempt == 0), "{replies:?}");
    let total = client.account().total();
    assert_eq!((server.asked(), total.retries, total.wasted_answers), (3, 1, 1));
}

/// A question to a server that refuses once, with this header.
fn asked_with(header: String) -> (wb_llm::Result<Vec<Reply>>, Duration, usize) {
    let header: &'static str = Box::leak(format!("Retry-After: {header}\r\n").into_boxed_str());
    let server = FaultServer::start(move |asked| match asked.number {
        0 => Act::Status(429, header, "{}".into()),
        _ => Act::Say(ONE.into()),
    });
    let (_folder, client) = fresh(&config(&server.url()));
    let (result, time) = timed(|| ask(&client, &[question("a")]));
    (result, time, server.asked())
}

#[test]
fn a_wait_that_a_server_asks_for_is_bounded_in_whatever_way_it_is_written() {
    let date = |ahead: i64| {
        let at = Timestamp::try_from(SystemTime::now()).unwrap() + jiff::SignedDuration::from_secs(ahead);
        DateTimePrinter::new().timestamp_to_rfc9110_string(&at).unwrap()
    };
    // A date has whole seconds, and some time passes until it is read.
    for (header, least, most) in [
        ("1".to_owned(), 1.0, 3.0),
        (date(3), 0.9, 5.0),
        (date(-3600), 0.0, 1.0),
        ("soon".into(), 0.0, 1.0),
        ("-5".into(), 0.0, 1.0),
        (String::new(), 0.0, 1.0),
    ] {
        let (result, time, asked) = asked_with(header.clone());
        assert_eq!(text(&result.unwrap()[0]), "{\"n\": 1}", "{header}");
        assert_eq!(asked, 2);
        assert!((least..most).contains(&time.as_secs_f64()), "{header}: {time:?}");
    }
    // Longer than all attempts together may take (20 s here): the run ends at once, and why is said.
    for header in ["99999999999999999999".to_owned(), "21".into(), date(400_000)] {
        let (result, time, _) = asked_with(header.clone());
        let reason = result.unwrap_err().to_string();
        assert!(reason.contains("it asks to wait"), "{header}: {reason}");
        assert!(reason.contains("llm.retries.deadline_s is 20"), "{reason}");
        assert!(time < Duration::from_secs(2), "{header}: {time:?}");
    }
}

/// Fewer questions than the circuit breaker looks at.
#[test]
fn few_questions_to_a_dead_server_end_soon_with_its_address_and_what_to_do() {
    for n in [1, 3] {
        let server = FaultServer::start(|_| Act::Say(ONE.into()));
        let (_folder, client) = fresh(&config(&server.url()));
        server.die();
        let (result, time) = timed(|| ask(&client, &questions(n)));
        let error = result.unwrap_err();
        assert!(matches!(error, Error::Failed { .. }), "{error}");
        let error = error.to_string();
        assert!(error.contains(&format!("asked: {}", server.url())), "{error}");
        assert!(error.contains("no answer in 6 tries") && error.contains("the same command"), "{error}");
        assert!(time < Duration::from_secs(3), "{time:?}");
        assert!(client.ledger().is_empty());
    }
    // One that refuses says no address by itself.
    let server = FaultServer::start(|_| Act::Status(401, "", "{}".into()));
    let (_folder, client) = fresh(&config(&server.url()));
    let error = ask(&client, &[question("a")]).unwrap_err().to_string();
    assert!(error.contains("answered 401") && error.contains(&server.url()), "{error}");
}

#[test]
fn a_server_that_comes_back_soon_ends_nothing() {
    let plan = |asked: &crate::server::Asked| {
        std::thread::sleep(Duration::from_millis(2));
        Act::Say(made_up(&asked.body))
    };
    let server = Arc::new(FaultServer::start(plan));
    let (port, url) = (server.address.port(), server.url());
    let (folder, ledger) = place();
    let mut config = config(&url);
    (config.retries.tries, config.retries.first_wait_s, config.retries.max_wait_s) = (20, 0.1, 0.3);
    let client = open(&config, &ledger).unwrap();
    let first = server.clone();
    let nurse = std::thread::spawn(move || {
        while first.answered().len() < 60 {
            std::thread::sleep(Duration::from_millis(1));
        }
        first.die();
        std::thread::sleep(Duration::from_millis(400));
        FaultServer::start_at(port, plan)
    });
    let replies = ask(&client, &questions(200)).unwrap();
    let second = nurse.join().unwrap();
    assert!(client.account().total().retries > 0 && second.asked() > 100);
    drop(client);
    let calm = FaultServer::start(plan);
    let quiet = folder.path().join("quiet.jsonl");
    let other = open(&crate::support::config(&calm.url()), &quiet).unwrap();
    assert_eq!(replies.len(), ask(&other, &questions(200)).unwrap().len());
    drop(other);
    assert_eq!(answers(&ledger), answers(&quiet));
}

/// Opens, and asks to stop meanwhile.
fn opened_and_stopped(config: &LlmConfig, ledger: &std::path::Path) -> (String, Duration) {
    let interrupt = Arc::default();
    stop_after(200, &interrupt);
    let (opened, time) = timed(|| Client::open(config, Seed(7), ledger, interrupt));
    (opened.err().unwrap().to_string(), time)
}

#[test]
fn a_request_to_stop_is_heard_while_a_server_hangs_at_its_first_questions() {
    let (_folder, ledger) = place();
    let hangs = FaultServer::start(|_| Act::Hang);
    let mut canaries = LlmConfig { canaries: true, ..config(&hangs.url()) };
    canaries.timeouts.request_s = 600.0;
    let mute = FaultServer::start_with_models(|| Some(Act::Hang));
    let loads = FaultServer::start_with_models(|| Some(Act::Status(503, "", "{}".into())));
    let mut waits = config(&loads.url());
    waits.timeouts.start_s = 600.0;
    for config in [canaries, config(&mute.url()), waits] {
        let (error, time) = opened_and_stopped(&config, &ledger);
        assert!(error.starts_with("stopped"), "{error}");
        assert!(time < Duration::from_secs(7), "{time:?}");
        // And nobody holds the ledger.
        Ledger::open(&ledger).unwrap();
    }
}

#[test]
fn threads_that_are_left_with_a_hung_server_hold_no_ledger_and_write_nothing_more() {
    let begin = Instant::now();
    let server = FaultServer::start(move |asked| match asked.number {
        0..=9 => Act::Say(ONE.into()),
        _ => {
            // Until long after the client is gone.
            std::thread::sleep(Duration::from_secs(9).saturating_sub(begin.elapsed()));
            Act::Say("{\"n\": 2}".into())
        }
    });
    let (_folder, ledger) = place();
    let mut config = config(&server.url());
    config.timeouts.request_s = 600.0;
    let interrupt = Arc::default();
    let client = Client::open(&config, Seed(7), &ledger, Arc::clone(&interrupt)).unwrap();
    stop_after(300, &interrupt);
    let (result, time) = timed(|| ask(&client, &questions(40)));
    assert!(matches!(result, Err(Error::Stopped)) && time < Duration::from_secs(8), "{result:?} {time:?}");
    drop(client);
    let bytes = std::fs::read(&ledger).unwrap();
    let next = open(&config, &ledger).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(next.ledger().len(), 10);
    drop(next);
    while begin.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(std::fs::read(&ledger).unwrap(), bytes);
}
