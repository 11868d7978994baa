//! How fast our side is: a replay alone, and a real server beside a plain client. The figures are printed.
//!
//! `cargo test --release -p wb-llm --test slow -- --ignored --nocapture --test-threads=1`
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should say where")]

#[allow(dead_code, reason = "the fast tests use the rest of it")]
#[path = "../it/support.rs"]
mod support;

use std::{io::Write, path::Path, process::Command, time::Instant};

use serde::Deserialize;
use serde_json::json;
use wb_core::Seed;
use wb_llm::{EngineInfo, LlmConfig, LlmQuestion, Message, Role, SamplingConfig, Usage, keys, ledger::Ledger};

use crate::support::{KEY, RealServer, answered, ask, number_schema, open, opened, place, replay, root};

fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Questions of about 2 kB, as those about a snippet are.
fn long_questions(n: usize) -> Vec<LlmQuestion> {
    (0..n)
        .map(|i| LlmQuestion {
            recipe: "replay@1/ask".into(),
            item: format!("{i:06}"),
            messages: vec![
                Message { role: Role::System, content: "You write queries for code. ".repeat(8) },
                Message { role: Role::User, content: format!("fn f{i}() {{}}\n{}", "let x = y + 1;\n".repeat(120)) },
            ],
            schema: Some(number_schema()),
            ..LlmQuestion::default()
        })
        .collect()
}

#[test]
#[ignore = "figures"]
fn a_replay_answers_more_than_two_thousand_questions_a_second() {
    const N: usize = 20_000;
    let (_folder, path) = place();
    let info = EngineInfo { engine: "http".into(), model_hash: "h".into(), ..EngineInfo::default() };
    let questions = long_questions(N);
    let ledger = Ledger::open(&path).unwrap();
    ledger.append(&opened(&info, 7)).unwrap();
    let begin = Instant::now();
    for (i, question) in questions.iter().enumerate() {
        ledger.append(&answered(&info, question, format!("{{\"n\": {i}}}"), Usage::default())).unwrap();
        if i % 64 == 63 {
            ledger.sync().unwrap();
        }
    }
    drop(ledger);
    let written = N as f64 / begin.elapsed().as_secs_f64();
    let begin = Instant::now();
    let client = open(&replay(), &path).unwrap();
    let opened = begin.elapsed().as_secs_f64();
    let begin = Instant::now();
    let replies = ask(&client, &questions).unwrap();
    let rate = N as f64 / begin.elapsed().as_secs_f64();
    assert_eq!(replies.len(), N);
    say(&format!(
        "ledger: {written:.0} records/s written and synced by 64, opened in {opened:.3} s for {N}; replay: {rate:.0} questions/s"
    ));
    assert!(rate > 2000.0);
}

#[derive(Deserialize)]
struct Rate {
    seconds: f64,
    tokens: u64,
}

impl Rate {
    fn rate(&self) -> f64 {
        self.tokens as f64 / self.seconds
    }
}

/// The same requests to the same server, by us and by a plain client, one after the other, four times.
#[test]
#[ignore = "figures"]
fn our_side_keeps_the_servers_own_rate() {
    let test = "slow::our_side_keeps_the_servers_own_rate";
    let Some(python) = support::python(test) else { return };
    let Some(server) = RealServer::start(test, "stories260K.gguf", 512) else { return };
    let folder = tempfile::tempdir().unwrap();
    let config = LlmConfig { parallel: 4, ..server.config() };
    let things = ["dog", "cat", "girl", "boy", "ball", "tree", "car", "fish", "bird", "frog"];
    // A text of a known length, so that hardly an answer is cut and asked for twice; those tokens are counted.
    let schema = json!({"type": "string", "minLength": 150, "maxLength": 150});
    let questions = |round: usize| -> Vec<LlmQuestion> {
        (0..60)
            .map(|i| LlmQuestion {
                recipe: format!("stories@{round}"),
                item: format!("{i:04}"),
                sample: 0,
                messages: vec![Message {
                    role: Role::User,
                    content: format!(
                        "Once upon a time there was a {} and a {}. They",
                        things[i % 10],
                        things[i / 10 % 10]
                    ),
                }],
                sampling: SamplingConfig { temperature: 1.0, top_p: 1.0, max_tokens: 400 },
                schema: Some(schema.clone()),
            })
            .collect()
    };
    let mut shares = Vec::new();
    for round in 0..=MOST_ROUNDS {
        let asked = questions(round);
        // The plain client sends the same requests, with the same seeds.
        let bodies: Vec<_> = asked
            .iter()
            .map(|question| {
                json!({"messages": question.messages, "max_tokens": 400, "temperature": 1.0, "top_p": 1.0, "top_k": 0,
                    "min_p": 0.0, "repeat_penalty": 1.0, "cache_prompt": true, "stream": false,
                    "response_format": {"type": "json_schema",
                        "json_schema": {"name": "answer", "strict": true, "schema": schema}},
                    "seed": keys::attempt_seed(Seed(7), &question.item, 0, 0)})
            })
            .collect();
        let job = folder.path().join("job.json");
        std::fs::write(&job, json!({"parallel": 4, "bodies": bodies}).to_string()).unwrap();
        let ours = || {
            let client = open(&config, &folder.path().join(format!("{round}.jsonl"))).unwrap();
            let begin = Instant::now();
            ask(&client, &asked).unwrap();
            let seconds = begin.elapsed().as_secs_f64();
            let total = client.account().total();
            assert_eq!((total.answered, total.retries), (asked.len() as u64, 0));
            Rate { seconds, tokens: total.tokens.completion + total.wasted.completion }
        };
        let theirs = || plain_client(&python, &server.url, &job);
        // Who goes first changes: the second finds prompts in the server's cache.
        let (ours, theirs) = if round % 2 == 0 {
            let ours = ours();
            (ours, theirs())
        } else {
            let theirs = theirs();
            (ours(), theirs)
        };
        let share = ours.rate() / theirs.rate();
        say(&format!(
            "round {round}: ours {:.0} tokens/s ({:.2} s), plain client {:.0} tokens/s ({:.2} s), share {share:.3}",
            ours.rate(),
            ours.seconds,
            theirs.rate(),
            theirs.seconds
        ));
        // The first round warms the server.
        if round > 0 {
            shares.push(share);
        }
        // A machine with other work moves single rounds by a quarter; nine are enough where it has none.
        if shares.len() >= 9 && (median_between(&mut shares)[1] >= WANTED || median_between(&mut shares)[2] < WANTED) {
            break;
        }
    }
    let [low, median, high] = median_between(&mut shares);
    say(&format!(
        "the server's own rate: our share of a plain client's tokens/s, median of {}: {median:.3}, {low:.3} to {high:.3}",
        shares.len()
    ));
    assert!(high >= WANTED, "slower for sure: {shares:?}");
}

/// Our share of a plain client's rate.
const WANTED: f64 = 0.95;
/// Rounds after which it stays open whether the share is there.
const MOST_ROUNDS: usize = 31;

/// The median with its 95 % interval, from the order of the numbers: ranks n/2 ± .98·√n, by the normal approximation of
/// the binomial distribution.
fn median_between(numbers: &mut [f64]) -> [f64; 3] {
    numbers.sort_by(f64::total_cmp);
    let n = numbers.len();
    let outside = ((n as f64 - 1.96 * (n as f64).sqrt()) / 2.0).max(0.0) as usize;
    [numbers[outside], numbers[n / 2], numbers[n - 1 - outside]]
}

fn plain_client(python: &Path, url: &str, job: &Path) -> Rate {
    let script = root().join("scripts/peers/peer_llm.py");
    let output = Command::new(python).arg(script).args([url, KEY]).arg(job).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}
