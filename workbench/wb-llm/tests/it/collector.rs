//! Questions that are collected in place of being asked.

use wb_core::Seed;
use wb_llm::{Ask, Collector, EngineInfo, Ledger, LlmQuestion, Reply, Unanswered, Usage};

use crate::support::{ONE, answered, open, opened, place, questions, replay};

#[test]
fn what_a_ledger_does_not_know_is_collected_once_and_ends_its_stage() {
    let (_folder, ledger) = place();
    let info = EngineInfo { engine: "http".into(), model_hash: "h".into(), ..EngineInfo::default() };
    let all = questions(6);
    let to = Ledger::open(&ledger).unwrap();
    to.append(&opened(&info, 7)).unwrap();
    for question in &all[..4] {
        to.append(&answered(&info, question, ONE.into(), Usage::default())).unwrap();
    }
    to.sync().unwrap();
    drop(to);
    let client = open(&replay(), &ledger).unwrap();
    let collected = |known: Option<&_>, stages: &[&[LlmQuestion]]| {
        let mut taken: Vec<LlmQuestion> = Vec::new();
        let mut take = |question: &LlmQuestion| {
            taken.push(question.clone());
            Ok(())
        };
        let collector = Collector::new(known, Seed(7), &mut take);
        let mut ended = Vec::new();
        for stage in stages {
            let mut told = 0;
            let replies = collector.ask_all(stage, &mut |_, _| told += 1).unwrap();
            assert_eq!((replies.len(), told), (stage.len(), stage.len()));
            let known = replies.iter().filter(|reply| matches!(reply, Reply::Answered(_))).count();
            ended.push((known, collector.settle().map_err(|error| error.kind::<Unanswered>().is_some())));
        }
        drop(collector);
        (taken, ended)
    };
    assert_eq!(collected(Some(&client), &[&all[..4]]), (vec![], vec![(4, Ok(()))]));
    let twice = [&all[1..], &all[5..]].concat();
    assert_eq!(collected(Some(&client), &[&twice]), (all[4..].to_vec(), vec![(3, Err(true))]));
    assert_eq!(collected(None, &[&all[..2], &all[2..4]]), (all[..4].to_vec(), vec![(0, Err(true)), (0, Err(true))]));
}

#[test]
fn a_question_that_goes_through_json_keeps_its_name() {
    let info = EngineInfo::default();
    for question in questions(3) {
        let json = serde_json::to_string(&question).unwrap();
        let again: LlmQuestion = serde_json::from_str(&json).unwrap();
        let key = |question: &LlmQuestion| wb_llm::keys::key(question, &info, Seed(7));
        assert!(again == question && key(&again) == key(&question));
    }
}
