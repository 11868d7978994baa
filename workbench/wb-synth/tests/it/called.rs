//! `select.runs`: what a model calls the same is called, and pairs that differ are dropped.

use std::io::Write;

use serde_json::json;
use wb_core::Origin;
use wb_llm::{Answer, Ask, LlmQuestion, Reply, Usage};
use wb_synth::{Snippet, SynthConfig, config::TaskChoice, review::Reviews, rules::Interpreter};

use crate::support::{gathered, make};

/// Rewrites one function rightly, the other one wrongly.
struct Rewriter;

impl Ask for Rewriter {
    fn ask_all(&self, questions: &[LlmQuestion], each: &mut dyn FnMut(usize, &Reply)) -> wb_llm::Result<Vec<Reply>> {
        let replies: Vec<Reply> = questions.iter().map(reply).collect();
        replies.iter().enumerate().for_each(|(at, reply)| each(at, reply));
        Ok(replies)
    }
}

fn reply(question: &LlmQuestion) -> Reply {
    let content = &question.messages.last().unwrap().content;
    let document = match content.contains("def doubled") {
        true => {
            "def twice(values):\n    result = []\n    for value in values:\n        result.append(value + value)\n    return result\n"
        }
        // The last one is lost.
        false => {
            "def added(values):\n    total = 0\n    for value in values[:-1]:\n        total = total + value\n    return total\n"
        }
    };
    let value = json!({ "document": document });
    let usage = Usage { prompt: Some(1), cached: Some(0), completion: Some(1) };
    let (key, text) = (question.item.clone(), value.to_string());
    Reply::Answered(Answer { key, text, value: Some(value), seed: 1, usage, ..Answer::default() })
}

fn snippet(id: &str, text: &str) -> Snippet {
    let origin = Origin { group: id.into(), ..Origin::default() };
    Snippet { id: id.into(), language: "python".into(), text: text.into(), origin, ..Snippet::default() }
}

#[test]
fn sides_that_differ_are_dropped_and_the_rest_is_counted() {
    if !Interpreter::find_all().iter().any(|one| one.language.name() == "python") {
        let test = "sides_that_differ_are_dropped_and_the_rest_is_counted";
        // Past the capture of test output, so that skipped tests are seen and counted.
        let _ = writeln!(std::io::stderr(), "SKIPPED {test}: no Python on this machine");
        return;
    }
    let snippets = [
        snippet("right", "def doubled(xs):\n    return [x * 2 for x in xs]\n"),
        snippet("wrong", "def total(xs):\n    result = 0\n    for x in xs:\n        result += x\n    return result\n"),
    ];
    let mut config = SynthConfig {
        tasks: TaskChoice::Only(vec!["code2code/similar_code".into()]),
        snippet_chars: [10, 1000],
        judge: None,
        ..SynthConfig::default()
    };
    config.select.near = 0.0;
    let without = make(&config, &snippets, &Rewriter).unwrap();
    assert_eq!((without.pairs.len(), without.counts.called.len()), (2, 0));
    config.select.runs = true;
    let made = make(&config, &snippets, &Rewriter).unwrap();
    let ids: Vec<&str> = made.pairs.pairs().iter().map(|pair| pair.origin.group.as_str()).collect();
    assert_eq!(ids, ["right"]);
    assert_eq!(
        made.counts.called.iter().map(|(name, count)| (name.as_str(), *count)).collect::<Vec<_>>(),
        [("differs", 1), ("equal", 1)]
    );
    let gate = made.counts.gates.iter().find(|gate| gate.name == "runs").unwrap();
    assert_eq!(gate.dropped["sides that give different results"], 1);
    let card = gathered(&config, &made, &Reviews::default()).card;
    assert!(card.contains("Both sides called with the same values: differs 1, equal 1"), "{card}");
}
