//! A plan counts, a probe scales up, and our side is not the bottleneck.

use std::time::Instant;

use wb_core::Seed;
use wb_llm::Reply;
use wb_synth::{AskedModel, Spent, SynthConfig, dry_run, plan};

use crate::support::{Scripted, info, make, snippets};

/// Content of a ledger of all that was asked. A question that was given up has cost as much as two answers.
fn spent(ask: &Scripted) -> Spent {
    let memory = ask.memory.lock().unwrap();
    let mut spent = Spent { questions: memory.len() as u64, prompt: Some(0), completion: Some(0), bytes: 0 };
    for reply in memory.values() {
        let (prompt, completion, bytes) = match reply {
            Reply::Answered(answer) => {
                (answer.usage.prompt.unwrap(), answer.usage.completion.unwrap(), answer.text.len() as u64)
            }
            Reply::Rejected(_) => (1_500, 60, 100),
        };
        spent.prompt = spent.prompt.map(|sum| sum + prompt);
        spent.completion = spent.completion.map(|sum| sum + completion);
        spent.bytes += bytes;
    }
    spent
}

#[test]
fn a_probe_foretells_a_run() {
    let config = SynthConfig { candidates: 2, snippet_chars: [40, 12_000], ..SynthConfig::default() };
    let snippets = snippets(400);
    let planned = plan(&config, &snippets, Seed(17)).unwrap();
    assert_eq!(planned.items, planned.tasks.iter().map(|(_, items)| items).sum::<u64>());
    let ask = Scripted::new(9);
    let info = info();
    let model = AskedModel { ask: &ask, info: &info };
    let spent = || spent(&ask);
    let estimate = dry_run(&config, &snippets, &model, Seed(17), &spent, &mut |_| {}).unwrap();
    assert_eq!(estimate.probed, 20);
    assert!(estimate.seconds.is_some());
    assert!(estimate.questions <= planned.questions);
    let again = dry_run(&config, &snippets, &model, Seed(17), &spent, &mut |_| {}).unwrap();
    assert_eq!(again.seconds, None, "answers that are remembered take no time");
    make(&config, &snippets, &ask).unwrap();
    let total = spent();
    for (name, told, real) in [
        ("questions", estimate.questions, total.questions),
        ("prompt tokens", estimate.prompt_tokens.unwrap(), total.prompt.unwrap()),
        ("answer tokens", estimate.completion_tokens.unwrap(), total.completion.unwrap()),
        ("ledger bytes", estimate.ledger_bytes, total.bytes),
    ] {
        let ratio = told as f64 / real as f64;
        assert!((0.6..1.7).contains(&ratio), "{name}: told {told}, was {real}");
    }
}

/// A measurement: run it alone, on an idle machine, with `--ignored --nocapture`.
#[test]
#[ignore = "measures time"]
fn pairs_per_second() {
    let config = SynthConfig { snippet_chars: [40, 12_000], ..SynthConfig::default() };
    let snippets = snippets(8_000);
    let ask = Scripted::new(9);
    let start = Instant::now();
    let made = make(&config, &snippets, &ask).unwrap();
    let first = start.elapsed();
    let start = Instant::now();
    let again = make(&config, &snippets, &ask).unwrap();
    let replay = start.elapsed();
    assert_eq!(again.pairs.len(), made.pairs.len());
    println!(
        "{} items, {} questions, {} pairs: first {first:.1?}, again {replay:.1?} = {:.0} items/s",
        made.counts.items,
        made.account.total().questions,
        made.pairs.len(),
        made.counts.items as f64 / replay.as_secs_f64()
    );
}
