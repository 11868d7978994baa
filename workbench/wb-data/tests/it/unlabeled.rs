//! Texts without labels: read, filtered, deduplicated, and all of them for training.

use serde_json::json;
use wb_core::{Pair, Seed, progress::silent};
use wb_data::{
    OnBad, PrepareConfig, PreparedPairs, prepare, store,
    streaming::{ReadSource, prepare_streaming},
};

use crate::support::{SourceConfig, source};

/// A file of 30 pairs and one of texts, some of which repeat, are too short, or stand among the pairs.
fn sources(folder: &std::path::Path) -> Vec<SourceConfig> {
    let code =
        |at: usize| format!("fn f{at}(xs: &[u32]) -> u32 {{ xs.iter().map(|x| x * {at} + 1).sum::<u32>() / {at} }}");
    let about = |at: usize| format!("the sum over all of a slice, scaled by the number {at}");
    let pair = |at| json!({"id": format!("p{at}"), "anchor": about(at), "positive": code(at) + &" ".repeat(3) + &code(at + 1000)});
    let pairs: Vec<String> = (0..30).map(|at| pair(at).to_string()).collect();
    let of_pair = |at| json!({"text": code(at) + " " + &code(at + 1000)});
    let mut texts: Vec<String> = (100..140).map(|at| json!({"text": code(at)}).to_string()).collect();
    // One twice, one that is short, one that is a positive, and one with what a pair would have.
    texts.push(json!({"text": code(105) + "\n"}).to_string());
    texts.push(json!({"text": "sort it"}).to_string());
    texts.extend((0..30).map(|at| of_pair(at).to_string()));
    texts.push(json!({"text": code(150), "positive": "not read", "negatives": 7, "scores": "none"}).to_string());
    std::fs::write(folder.join("pairs.jsonl"), pairs.join("\n")).unwrap();
    std::fs::write(folder.join("texts.jsonl"), texts.join("\n")).unwrap();
    [("pairs.jsonl", json!({})), ("texts.jsonl", json!({"anchor": "text", "positive": null}))]
        .map(|(name, fields)| source(json!({"jsonl": {"path": folder.join(name), "fields": fields}})))
        .into()
}

fn config() -> PrepareConfig {
    let mut config = PrepareConfig::default();
    (config.split.validation, config.split.test, config.dedupe.near) = (0.1, 0.2, 0.0);
    config
}

fn in_memory(sources: &[SourceConfig]) -> PreparedPairs {
    let read = sources.iter().enumerate().map(|(at, source)| source.read(at, OnBad::Stop, &mut silent).unwrap());
    prepare(read.collect(), &config(), Seed(1), &mut silent).unwrap()
}

fn streamed(sources: &[SourceConfig], folder: &std::path::Path) -> (PreparedPairs, Vec<Pair>) {
    let reader = |(at, source)| -> ReadSource<'_> {
        let source: &SourceConfig = source;
        Box::new(move |take, progress| source.each(at, OnBad::Stop, take, progress))
    };
    let readers = sources.iter().enumerate().map(reader).collect();
    let prepared = prepare_streaming(readers, &config(), Seed(1), folder, &mut silent).unwrap();
    (prepared, store::load(folder).unwrap().train.pairs().to_vec())
}

#[test]
fn they_pass_the_gates_and_are_all_for_training() {
    let folder = tempfile::tempdir().unwrap();
    let sources = sources(folder.path());
    let prepared = in_memory(&sources);
    let (texts, pairs): (Vec<&Pair>, Vec<&Pair>) = prepared.train.pairs().iter().partition(|pair| pair.is_text());
    // Those that stand among the pairs repeat positives.
    assert_eq!(texts.len(), 41);
    assert!(
        texts.iter().all(|text| text.negatives.is_empty() && text.scores.is_empty() && text.document() == text.anchor)
    );
    assert!(texts.iter().any(|text| text.anchor.starts_with("fn f150(")));
    assert!(!prepared.validation.is_empty() && !prepared.test.is_empty());
    assert!(prepared.validation.pairs().iter().chain(prepared.test.pairs()).all(|pair| !pair.is_text()));
    let train = &prepared.card.splits["train"];
    assert_eq!((train.pairs, train.texts), ((texts.len() + pairs.len()) as u64, 41));
    let dropped = |name: &str| prepared.card.gates.iter().find(|gate| gate.name == name).unwrap().dropped.clone();
    assert_eq!(dropped("filter"), [("text too short".to_owned(), 1)].into());
    assert_eq!(dropped("exact duplicates").values().sum::<u64>(), 31);
    assert!(wb_data::card::render(&prepared.card).contains("\n41 of the training pairs are texts without a label.\n"));
    // From the disk they are the same.
    let (other, train) = streamed(&sources, &folder.path().join("streamed"));
    assert_eq!((&other.card, train.as_slice()), (&prepared.card, prepared.train.pairs()));
}

#[test]
fn alone_they_need_no_held_out_groups() {
    let folder = tempfile::tempdir().unwrap();
    let texts = &sources(folder.path())[1..];
    let prepared = in_memory(texts);
    assert_eq!((prepared.validation.len(), prepared.test.len()), (0, 0));
    assert_eq!(prepared.card.splits["train"].texts, prepared.train.len() as u64);
    let (other, train) = streamed(texts, &folder.path().join("streamed"));
    assert_eq!((&other.card, train.as_slice()), (&prepared.card, prepared.train.pairs()));
}

/// Where a positive is looked for and is empty, that is no text without a label.
#[test]
fn an_empty_positive_is_left_out_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("some.jsonl");
    std::fs::write(&file, "{\"anchor\": \"a\", \"positive\": \"\"}\n{\"anchor\": \"b\", \"positive\": \"p\"}\n")
        .unwrap();
    let read = source(json!({"jsonl": {"path": file}})).read(0, OnBad::Stop, &mut silent).unwrap();
    assert_eq!((read.pairs.len(), read.skipped), (1, [("empty positive".to_owned(), 1)].into()));
    let all = source(json!({"jsonl": {"path": file, "fields": {"positive": null}}}));
    assert_eq!(all.read(0, OnBad::Stop, &mut silent).unwrap().pairs.len(), 2);
    let blank: SourceConfig =
        serde_json::from_value(json!({"jsonl": {"path": file, "fields": {"positive": " "}}})).unwrap();
    let error = blank.validate("s").unwrap_err();
    assert!(error.to_string().starts_with("s.jsonl.fields.positive: got ` `"), "{error}");
}
