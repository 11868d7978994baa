//! `kill -9` with eight requests in flight: nothing that was answered is asked again, nothing is lost.

use std::{
    collections::HashMap,
    process::{Command, Stdio},
    time::Duration,
};

use wb_llm::{LlmConfig, ask::Ask, ledger::Ledger};

use crate::{
    server::{Act, FaultServer},
    support::{answers, config, made_up, open, questions},
};

const N: usize = 1200;
const KILLS: usize = 30;

fn client_config(url: &str) -> LlmConfig {
    LlmConfig { parallel: 8, ..config(url) }
}

/// Not a test of its own: the process that is killed.
#[test]
#[ignore = "the child of the test below"]
fn child() {
    let (Ok(url), Ok(ledger)) = (std::env::var("WB_TEST_URL"), std::env::var("WB_TEST_LEDGER")) else { return };
    let client = open(&client_config(&url), ledger.as_ref()).unwrap();
    client.ask_all(&questions(N), &mut |_, _| {}).unwrap();
}

#[test]
fn a_run_killed_thirty_times_asks_nothing_twice_that_was_answered_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let server = FaultServer::start(|asked| {
        std::thread::sleep(Duration::from_millis(4));
        Act::Say(made_up(&asked.body))
    });
    let ledger = folder.path().join("killed.jsonl");
    let mut kills = 0;
    for kill in 1.. {
        // Nobody writes now: what stands here is never asked again.
        let known: Vec<String> = match ledger.exists() {
            true => answers(&ledger).iter().map(|line| format!("item {}", &line[..4])).collect(),
            false => Vec::new(),
        };
        let before = server.answered().len();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "killed::child", "--ignored"])
            .envs([("WB_TEST_URL", server.url()), ("WB_TEST_LEDGER", ledger.display().to_string())])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        // Killed somewhere else each time: after 3 to 40 more answers, plus a moment.
        let more = 3 + (kill * 17) % 38;
        let ended = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break Some(status);
            }
            if kills < KILLS && server.answered().len() >= before + more {
                std::thread::sleep(Duration::from_micros((kill as u64 * 677) % 5000));
                child.kill().unwrap();
                child.wait().unwrap();
                kills += 1;
                break None;
            }
            std::thread::sleep(Duration::from_micros(300));
        };
        for prompt in &server.answered()[before..] {
            assert!(!known.contains(prompt), "{prompt} was in the ledger and was asked again");
        }
        if let Some(status) = ended {
            assert!(status.success(), "{status}");
            break;
        }
    }
    assert_eq!(kills, KILLS);
    assert_eq!(Ledger::open(&ledger).unwrap().len(), N);

    // At most the requests in flight were repeated, 8 for each kill; and the answers are those of a quiet run.
    let mut times: HashMap<String, usize> = HashMap::new();
    server.answered().into_iter().for_each(|prompt| *times.entry(prompt).or_default() += 1);
    let calm = folder.path().join("calm.jsonl");
    let quiet = FaultServer::start(|asked| Act::Say(made_up(&asked.body)));
    open(&client_config(&quiet.url()), &calm).unwrap().ask_all(&questions(N), &mut |_, _| {}).unwrap();
    let repeated = server.answered().len() - quiet.answered().len();
    assert!(repeated <= 8 * KILLS * 3, "{repeated}");
    assert_eq!((times.len(), answers(&ledger)), (N, answers(&calm)));
}
