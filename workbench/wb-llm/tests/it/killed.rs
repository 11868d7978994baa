//! `kill -9` with eight requests in flight: nothing that was answered is asked again, nothing is lost.

use std::{
    collections::{BTreeSet, HashMap},
    io::Write,
    path::Path,
    time::Duration,
};

use wb_llm::{LlmConfig, ledger::Ledger};

use crate::{
    server::{Act, FaultServer},
    support::{self, answers, ask, config, made_up, open, questions},
};

const N: usize = 1200;
const KILLS: usize = 30;
const PARALLEL: usize = 8;

fn client_config(url: &str) -> LlmConfig {
    LlmConfig { parallel: PARALLEL, ..config(url) }
}

/// Not a test of its own: the process that is killed.
#[test]
#[ignore = "the child of the test below"]
fn child() {
    let (Ok(url), Ok(ledger)) = (std::env::var("WB_TEST_URL"), std::env::var("WB_TEST_LEDGER")) else { return };
    let client = open(&client_config(&url), ledger.as_ref()).unwrap();
    ask(&client, &questions(N)).unwrap();
}

/// Prompts whose record is in a ledger that nobody writes.
fn known(ledger: &Path) -> BTreeSet<String> {
    match ledger.exists() {
        true => answers(ledger).iter().map(|line| format!("item {}", &line[..4])).collect(),
        false => BTreeSet::new(),
    }
}

#[test]
fn a_run_killed_thirty_times_asks_nothing_twice_that_was_answered_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let server = FaultServer::start(|asked| {
        std::thread::sleep(Duration::from_millis(4));
        Act::Say(made_up(&asked.body))
    });
    let ledger = folder.path().join("killed.jsonl");
    let (mut kills, mut in_flight) = (0, Vec::new());
    for kill in 1.. {
        // Nobody writes now: what stands here is never asked again.
        let known_before = known(&ledger);
        let (before, asked_before) = (server.answered().len(), server.prompts().len());
        let url = server.url();
        let environment = [("WB_TEST_URL", url.as_str()), ("WB_TEST_LEDGER", ledger.to_str().unwrap())];
        let mut child = support::child("killed::child", &environment);
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
        // All that the dead one sent has come by now, and is counted to it.
        server.rests();
        let asked: BTreeSet<String> = server.prompts().drain(asked_before..).collect();
        let known_after = known(&ledger);
        let again: Vec<&String> = asked.intersection(&known_before).collect();
        assert!(again.is_empty(), "{again:?} were in the ledger and were asked again");
        assert!(
            known_before.is_subset(&known_after),
            "kill {kill}: {:?} are lost",
            known_before.difference(&known_after)
        );
        // One question for each that asks was on its way.
        let open: Vec<&String> = asked.difference(&known_after).collect();
        assert!(open.len() <= if ended.is_some() { 0 } else { PARALLEL }, "kill {kill}: {open:?}");
        in_flight.push(open.len());
        if let Some(status) = ended {
            assert!(status.success(), "{status}");
            break;
        }
    }
    assert_eq!(kills, KILLS);
    assert_eq!(Ledger::open(&ledger).unwrap().len(), N);

    // The answers are those of a quiet run, and what was asked more often than there is what was on its way.
    let counted = |server: &FaultServer| {
        let mut times: HashMap<String, usize> = HashMap::new();
        server.answered().into_iter().for_each(|prompt| *times.entry(prompt).or_default() += 1);
        times
    };
    let times = counted(&server);
    let calm = folder.path().join("calm.jsonl");
    let quiet = FaultServer::start(|asked| Act::Say(made_up(&asked.body)));
    ask(&open(&client_config(&quiet.url()), &calm).unwrap(), &questions(N)).unwrap();
    let calm_times = counted(&quiet);
    let repeated = times.iter().filter(|(prompt, n)| **n > calm_times[*prompt]).count();
    let on_their_way: usize = in_flight.iter().sum();
    assert!(repeated <= on_their_way, "{repeated} of {on_their_way}");
    assert_eq!((times.len(), answers(&ledger)), (N, answers(&calm)));
    let _ = writeln!(
        std::io::stderr(),
        "{KILLS} kills: 0 answered questions asked again, {on_their_way} on their way, {repeated} of them answered twice"
    );
}
