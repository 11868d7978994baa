//! Every way a server can fail ends in its class, in bounded time.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::json;
use wb_core::Seed;
use wb_llm::{
    Ask, Client, Error, Failure, LlmConfig, LlmEngine, Reply,
    engines::http::{HttpConfig, HttpEngine},
    ledger::Ledger,
};

use crate::{
    server::{Act, FaultServer},
    support::{
        ONE, answers, ask, config, fresh, made_up, open, place, question, questions, replay, request, stop_after, text,
        timed,
    },
};

fn engine(config: &LlmConfig, stream: bool) -> HttpEngine {
    HttpEngine::open(config, &HttpConfig { stream, ..HttpConfig::default() }).unwrap()
}

/// As llama-server says it when it cannot read what a model wrote.
const UNUSABLE: &str = r#"{"error":{"code":500,"message":"The model produced output that does not match the expected peg-native format","type":"server_error"}}"#;

/// `request_s` is 2 and `idle_s` 1: no attempt may take longer than that and a little.
#[test]
fn each_fault_ends_in_its_class_in_bounded_time() {
    let status = |code, headers, body: &str| Act::Status(code, headers, body.to_owned());
    let too_long = r#"{"error":{"message":"too long","type":"exceed_context_size_error","n_ctx":512}}"#;
    let cases = [
        (status(429, "Retry-After: 3\r\n", "{}"), "retry after 3s: /v1/chat/completions answered 429"),
        (status(500, "", "oops"), "retry: /v1/chat/completions answered 500: oops"),
        (status(500, "", UNUSABLE), "unusable: /v1/chat/completions answered 500"),
        (status(502, "", ""), "retry: /v1/chat/completions answered 502: an empty body"),
        (status(503, "", r#"{"error":{"message":"Loading model"}}"#), "retry: /v1/chat/completions answered 503"),
        (Act::Garbage, "retry: /v1/chat/completions answered what is not the JSON expected"),
        (Act::Html, "retry: /v1/chat/completions answered what is not the JSON expected"),
        (Act::HalfBody, "retry: http://"),
        (Act::Close, "retry: http://"),
        (Act::Drip(Duration::from_millis(20)), "retry: http://"),
        (Act::Hang, "retry: http://"),
        (Act::Big, "retry: /v1/chat/completions answered more than 8388608 bytes"),
        (Act::Body(json!({"choices": []})), "retry: an answer without a choice in it"),
        (Act::Body(json!({})), "retry: an answer without a choice in it"),
        (Act::Body(json!({"choices": "x"})), "retry: an answer of an unknown shape"),
        (status(400, "", too_long), "reject: /v1/chat/completions answered 400"),
        (status(413, "", "{}"), "reject: /v1/chat/completions answered 413"),
        (status(400, "", r#"{"error":{"message":"bad grammar"}}"#), "stop: /v1/chat/completions answered 400"),
        (status(401, "", "{}"), "stop: /v1/chat/completions answered 401"),
        (status(404, "", "{}"), "stop: /v1/chat/completions answered 404"),
        (status(302, "Location: http://203.0.113.1/\r\n", ""), "stop: /v1/chat/completions answered 302"),
    ];
    for (act, expected) in cases {
        let shown = format!("{act:?}").chars().take(60).collect::<String>();
        let server = FaultServer::start(move |_| act.clone());
        let (result, time) = timed(|| engine(&config(&server.url()), false).chat(&request()));
        let found = match result.unwrap_err() {
            Failure::Retry { what, after: None } => format!("retry: {what}"),
            Failure::Retry { what, after: Some(after) } => format!("retry after {after:?}: {what}"),
            Failure::Reject(what) => format!("reject: {what}"),
            Failure::Unusable(what) => format!("unusable: {what}"),
            Failure::Stop(what) => format!("stop: {what}"),
        };
        assert!(found.starts_with(expected), "{shown}: {found}");
        assert!(time < Duration::from_secs(4), "{shown}: {time:?}");
        assert_eq!(server.asked(), 1, "{shown}");
    }
}

/// A stream is given up when it rests longer than `idle_s`, though the request might last longer.
#[test]
fn a_stream_that_rests_is_given_up_early() {
    for act in [Act::Hang, Act::Drip(Duration::from_secs(5))] {
        let server = FaultServer::start(move |_| act.clone());
        let mut config = config(&server.url());
        (config.timeouts.idle_s, config.timeouts.request_s) = (0.3, 60.0);
        let (result, time) = timed(|| engine(&config, true).chat(&request()));
        assert!(matches!(result, Err(Failure::Retry { .. })), "{result:?}");
        assert!(time < Duration::from_secs(3), "{time:?}");
    }
}

#[test]
fn a_server_that_only_fails_ends_the_run_and_nothing_is_given_up_for_it() {
    for act in [Act::Close, Act::Garbage, Act::Status(500, "", String::new()), Act::HalfBody, Act::Hang] {
        let shown = format!("{act:?}");
        let server = FaultServer::start(move |_| act.clone());
        let mut config = config(&server.url());
        config.timeouts.request_s = 0.3;
        let (_folder, client) = fresh(&config);
        let (result, time) = timed(|| ask(&client, &questions(20)));
        let error = result.unwrap_err();
        assert!(matches!(error, Error::Failed { .. }), "{shown}: {error}");
        assert!(time < Duration::from_secs(12), "{shown}: {time:?}");
        assert!(client.ledger().is_empty(), "{shown}");
    }
}

/// A server that cannot answer one question until it is mended, and never says what fits to another.
fn broken_until(mended: &Arc<AtomicBool>) -> FaultServer {
    let mended = mended.clone();
    FaultServer::start(move |asked| match asked.prompt().as_str() {
        "item 0003" if !mended.load(Ordering::Relaxed) => Act::Status(500, "", "the grammar crashed".into()),
        "item 0005" => Act::Say("I would rather not".into()),
        _ => Act::Say(ONE.into()),
    })
}

#[test]
fn one_question_that_a_server_fails_at_ends_the_run_after_the_others_and_is_asked_again_by_the_next() {
    let mended = Arc::new(AtomicBool::new(false));
    let server = broken_until(&mended);
    let folder = tempfile::tempdir().unwrap();
    let (ledger, calm) = (folder.path().join("ledger.jsonl"), folder.path().join("calm.jsonl"));
    let run = |ledger: &std::path::Path| {
        let client = open(&config(&server.url()), ledger).unwrap();
        let replies = ask(&client, &questions(8));
        (replies, client.account().total())
    };
    let replay = |ledger: &std::path::Path| ask(&open(&replay(), ledger).unwrap(), &questions(8));
    // Twice: what failed is asked again, and nothing else.
    for round in 1..=2u64 {
        let before = server.prompts().len();
        let (result, account) = run(&ledger);
        let error = result.unwrap_err().to_string();
        for told in
            ["failed at 1 of the last ", "ask of 0003, sample 0", "the grammar crashed", "same command", "leave_out"]
        {
            assert!(error.contains(told), "{told}: {error}");
        }
        assert_eq!((account.answered, account.rejected, account.retries), (6, 2, 5 * round));
        assert_eq!((account.reasons["server"], account.reasons["not_json"]), (1, 1));
        assert!(
            round == 1
                || server.prompts()[before..].iter().all(|asked| ["item 0003", "Say yes."].contains(&asked.as_str()))
        );
        assert_eq!(Ledger::open_read_only(&ledger).unwrap().account().total(), account);
        let error = replay(&ledger).unwrap_err().to_string();
        assert!(error.contains("no answer to 1 of 8 questions, the first is made-up@1/ask of 0003"), "{error}");
    }
    mended.store(true, Ordering::Relaxed);
    let before = server.prompts().len();
    let (replies, account) = run(&ledger);
    let replies = replies.unwrap();
    assert_eq!(server.prompts()[before..], ["item 0003"]);
    for (i, reply) in replies.iter().enumerate() {
        assert_eq!(matches!(reply, Reply::Rejected(_)), i == 5, "{i}: {reply:?}");
    }
    assert_eq!((account.answered, account.rejected, account.retries), (7, 1, 10));
    assert_eq!(account.reasons.get("server"), None);
    assert_eq!(Ledger::open_read_only(&ledger).unwrap().account().total(), account);
    // The same as a run in which nothing failed; and nothing is asked any more, also not what the model's own fault was.
    assert_eq!(timeless(run(&calm).0.unwrap()), timeless(replies.clone()));
    assert_eq!(replay(&ledger).unwrap(), replies);
    let before = server.prompts().len();
    assert_eq!((run(&ledger).0.unwrap(), server.prompts().len()), (replies, before));
}

/// Replies without the time that the server took, which is another in another run.
fn timeless(mut replies: Vec<Reply>) -> Vec<Reply> {
    for reply in &mut replies {
        if let Reply::Answered(answer) = reply {
            answer.milliseconds = None;
        }
    }
    replies
}

#[test]
fn one_question_that_a_server_cannot_answer_is_left_out_where_that_is_asked_for() {
    let mended = Arc::new(AtomicBool::new(false));
    let server = broken_until(&mended);
    let mut config = config(&server.url());
    config.retries.leave_out = true;
    let (_folder, ledger) = place();
    let client = open(&config, &ledger).unwrap();
    let questions: Vec<_> = questions(8).into_iter().filter(|question| question.item != "0005").collect();
    let replies = ask(&client, &questions).unwrap();
    for (i, reply) in replies.iter().enumerate() {
        assert_eq!(matches!(reply, Reply::Rejected(_)), i == 3, "{i}");
    }
    assert!(text(&replies[3]).contains("no answer in 6 tries") && text(&replies[3]).contains("the grammar crashed"));
    let account = client.account().total();
    assert_eq!((account.answered, account.rejected, account.retries), (6, 1, 5));
    assert_eq!(account.reasons["server"], 1);
    // It stays out, also where the server could answer by now, and in a replay that leaves out, too.
    drop(client);
    mended.store(true, Ordering::Relaxed);
    let replay = LlmConfig { retries: config.retries.clone(), ..replay() };
    for config in [&config, &replay] {
        assert_eq!(ask(&open(config, &ledger).unwrap(), &questions).unwrap(), replies);
    }
}

/// Most answers cannot be read by the server itself: other draws are taken, and the breaker is not touched.
#[test]
fn answers_that_the_server_cannot_read_are_drawn_again_and_are_no_fault_of_the_server() {
    let server = FaultServer::start(|asked| match asked.number % 3 {
        0 => Act::Say(ONE.into()),
        _ => Act::Status(500, "", UNUSABLE.into()),
    });
    let (_folder, client) = fresh(&config(&server.url()));
    let replies = ask(&client, &questions(120)).unwrap();
    let account = client.account().total();
    assert_eq!(replies.len() as u64, account.answered + account.rejected);
    assert!(account.answered > 60 && account.retries == 0, "{account:?}");
    assert_eq!(account.rejected, account.reasons.get("unusable").copied().unwrap_or(0));
    let rejected = replies.iter().find(|reply| matches!(reply, Reply::Rejected(_)));
    assert!(rejected.is_none_or(|reply| text(reply).contains("peg-native")));
}

#[test]
fn what_no_retry_mends_stops_the_run_with_the_body() {
    let server = FaultServer::start(|_| Act::Status(400, "", r#"{"error":{"message":"unknown field `seed`"}}"#.into()));
    let (_folder, client) = fresh(&config(&server.url()));
    let error = ask(&client, &questions(50)).unwrap_err().to_string();
    assert!(error.contains("unknown field `seed`"), "{error}");
    assert!(server.asked() <= 4, "{}", server.asked());
}

#[test]
fn the_breaker_stops_a_run_whose_requests_mostly_fail() {
    let server = FaultServer::start(|asked| match asked.number % 5 {
        0 | 1 => Act::Say(ONE.into()),
        _ => Act::Status(503, "", String::new()),
    });
    let mut config = config(&server.url());
    config.retries.tries = 100;
    let (_folder, client) = fresh(&config);
    let error = ask(&client, &questions(500)).unwrap_err().to_string();
    assert!(error.contains("more than half of the last 50 requests failed"), "{error}");
    assert!((50..80).contains(&server.asked()), "{}", server.asked());
}

#[test]
fn a_server_is_waited_for_as_long_as_it_asks() {
    let server = FaultServer::start(|asked| match asked.number {
        0 => Act::Status(429, "Retry-After: 1\r\n", "{}".into()),
        _ => Act::Say(ONE.into()),
    });
    let (_folder, client) = fresh(&config(&server.url()));
    let (replies, time) = timed(|| ask(&client, &[question("a")]).unwrap());
    assert_eq!(text(&replies[0]), "{\"n\": 1}");
    assert!((1.0..3.0).contains(&time.as_secs_f64()), "{time:?}");
}

/// A fault in one of five requests, of all kinds that answer at once.
fn faulty(number: usize) -> Option<Act> {
    let hash = blake3::hash(&number.to_le_bytes());
    if hash.as_bytes()[0] >= 51 {
        return None;
    }
    Some(match hash.as_bytes()[1] % 8 {
        0 => Act::Status(429, "Retry-After: 0.01\r\n", "{}".into()),
        1 => Act::Status(500, "", "{}".into()),
        2 => Act::Status(503, "", "{}".into()),
        3 => Act::Garbage,
        4 => Act::HalfBody,
        5 => Act::Close,
        6 => Act::Html,
        _ => Act::Body(json!({"choices": []})),
    })
}

#[test]
fn a_thousand_questions_with_a_fifth_of_faults_give_the_answers_of_a_run_without() {
    let folder = tempfile::tempdir().unwrap();
    let run = |name: &str, faults: bool| {
        let server = FaultServer::start(move |asked| {
            let fault = faults.then(|| faulty(asked.number)).flatten();
            fault.unwrap_or_else(|| Act::Say(made_up(&asked.body)))
        });
        let ledger = folder.path().join(name);
        let mut config = config(&server.url());
        (config.parallel, config.retries.tries) = (8, 20);
        let client = open(&config, &ledger).unwrap();
        let mut seen = vec![0; 1000];
        let mut replies = client.ask_all(&questions(1000), &mut |place, _| seen[place] += 1).unwrap();
        // How long an answer took is told, and is no part of it.
        for reply in &mut replies {
            let Reply::Answered(answer) = reply else { continue };
            assert!(answer.milliseconds.take().is_some());
        }
        assert!(seen.iter().all(|n| *n == 1));
        let account = client.account();
        drop(client);
        assert_eq!(Ledger::open_read_only(&ledger).unwrap().account(), account);
        (answers(&ledger), replies, account.total(), server.asked() as u64)
    };
    let (calm, calm_replies, _, _) = run("calm.jsonl", false);
    let (rough, rough_replies, account, asked) = run("rough.jsonl", true);
    assert_eq!(calm.len(), 1000);
    assert_eq!(calm, rough);
    assert_eq!(calm_replies, rough_replies);
    // Each request is in the account: the answers that count, those that do not, and those that failed.
    assert_eq!(account.answered + account.wasted_answers + account.retries, asked);
    assert!(account.retries > 150 && account.wasted_answers > 50, "{account:?}");
    assert_eq!(account.tokens.prompt, 10 * account.answered);
    assert_eq!(account.wasted.completion, 5 * account.wasted_answers);
}

#[test]
fn a_server_that_dies_ends_the_run_and_the_next_goes_on() {
    let (_folder, ledger) = place();
    let server = Arc::new(FaultServer::start(|asked| {
        std::thread::sleep(Duration::from_millis(1));
        Act::Say(made_up(&asked.body))
    }));
    let (port, url) = (server.address.port(), server.url());
    let client = open(&config(&url), &ledger).unwrap();
    let dying = server.clone();
    let killer = std::thread::spawn(move || {
        while dying.answered().len() < 120 {
            std::thread::sleep(Duration::from_millis(1));
        }
        dying.die();
    });
    let (result, time) = timed(|| ask(&client, &questions(400)));
    killer.join().unwrap();
    assert!(matches!(result, Err(Error::Failed { .. })), "{result:?}");
    assert!(time < Duration::from_secs(15), "{time:?}");
    drop(client);
    let before = answers(&ledger);
    assert!((100..400).contains(&before.len()), "{}", before.len());
    drop(server);
    let server = FaultServer::start_at(port, |asked| Act::Say(made_up(&asked.body)));
    let client = open(&config(&url), &ledger).unwrap();
    let replies = ask(&client, &questions(400)).unwrap();
    assert_eq!((replies.len(), client.reused() as usize), (400, before.len()));
    let asked_before: Vec<String> = before.iter().map(|line| format!("item {}", &line[..4])).collect();
    assert!(server.answered().iter().all(|prompt| !asked_before.contains(prompt)));
}

#[test]
fn a_request_to_stop_is_heard_while_a_server_hangs() {
    let server = FaultServer::start(|asked| match asked.number {
        0..=9 => Act::Say(ONE.into()),
        _ => Act::Hang,
    });
    let (_folder, ledger) = place();
    let mut config = config(&server.url());
    config.timeouts.request_s = 600.0;
    let interrupt = Arc::default();
    let client = Client::open(&config, Seed(7), &ledger, Arc::clone(&interrupt)).unwrap();
    stop_after(500, &interrupt);
    let mut told = 0;
    let (result, time) = timed(|| client.ask_all(&questions(100), &mut |_, _| told += 1));
    assert!(matches!(result, Err(Error::Stopped)), "{result:?}");
    assert!(time < Duration::from_secs(8), "{time:?}");
    assert_eq!((told, client.ledger().len()), (10, 10));
}

/// A kind of server is known by what it says of itself, and asked in its own words.
#[test]
fn dialects_are_probed() {
    use wb_llm::engines::http::Dialect;
    let models = |owner: &str| json!({"data": [{"id": "m", "owned_by": owner, "max_model_len": 8192}]});
    let chat = crate::server::say("hello");
    let ollama = json!({"message": {"content": "hello"}, "done": true, "done_reason": "stop",
        "prompt_eval_count": 10, "eval_count": 5});
    let vllm = vec![
        ("/v1/models", models("vllm")),
        ("/version", json!({"version": "0.33.0"})),
        ("/tokenize", json!({"tokens": [1, 2, 3]})),
        ("/v1/chat/completions", chat.clone()),
    ];
    let tags = json!({"models": [{"name": "m", "digest": "abc"}]});
    let own = vec![
        ("/v1/models", models("library")),
        ("/api/version", json!({"version": "0.12.0"})),
        ("/api/tags", tags),
        ("/api/chat", ollama),
    ];
    let info = json!({"model_id": "m", "model_sha": "e985a63", "max_input_tokens": 7168, "max_total_tokens": 8192,
        "max_concurrent_requests": 128, "version": "3.3.6", "router": "text-generation-router"});
    let tgi = vec![
        ("/v1/models", json!({"data": [{"id": "m", "owned_by": "m"}]})),
        ("/info", info),
        ("/v1/chat/completions", chat.clone()),
    ];
    let studio = vec![("/v1/models", models("organization_owner")), ("/v1/chat/completions", chat)];
    for (routes, dialect, context, build) in [
        (vllm, Dialect::Vllm, Some(8192), "0.33.0"),
        (own, Dialect::Ollama, Some(4096), "0.12.0"),
        (tgi, Dialect::Tgi, Some(8192), "3.3.6"),
        (studio, Dialect::Generic, Some(8192), ""),
    ] {
        let server = FaultServer::start_with_routes(routes);
        let real = engine(&config(&server.url()), false);
        assert_eq!((real.dialect(), real.info().context, real.info().build.as_str()), (dialect, context, build));
        let completion = real.chat(&request()).unwrap();
        assert_eq!((completion.text.as_str(), completion.usage.prompt), ("hello", Some(10)), "{dialect:?}");
        // It says that it read 10 tokens of some thousands.
        let mut long = request();
        long.messages[0].content = "let value = other + 1;\n".repeat(400);
        let failure = real.chat(&long).unwrap_err();
        assert!(matches!(&failure, Failure::Reject(what) if what.contains("cut the prompt")), "{dialect:?}: {failure}");
    }
}

#[test]
fn a_server_that_loads_is_waited_for() {
    let loading = r#"{"error":{"message":"Loading model","type":"unavailable_error","code":503}}"#;
    let begin = Instant::now();
    let server = FaultServer::start_with_models(move || {
        let ready = begin.elapsed() > Duration::from_millis(700);
        (!ready).then(|| Act::Status(503, "", loading.into()))
    });
    let (opened, time) = timed(|| HttpEngine::open(&config(&server.url()), &HttpConfig::default()));
    assert_eq!(opened.err().map(|error| error.to_string()), None);
    assert!((0.6..4.0).contains(&time.as_secs_f64()), "{time:?}");
    let server = FaultServer::start_with_models(move || Some(Act::Status(503, "", loading.into())));
    let mut config = config(&server.url());
    config.timeouts.start_s = 1.0;
    let (opened, time) = timed(|| HttpEngine::open(&config, &HttpConfig::default()));
    assert!(opened.err().unwrap().to_string().contains("Loading model"));
    assert!(time < Duration::from_secs(3), "{time:?}");
}
