//! Mining with an encoder, as training asks for it again and again.

use wb_core::{Document, Pair, Seed, progress::silent};

use super::*;
use crate::dense::tests::Letters;

fn pairs() -> Vec<Pair> {
    let pair = |id: &str, anchor: &str, positive: &str| Pair {
        id: id.into(),
        anchor: anchor.into(),
        positive: positive.into(),
        negatives: vec!["an old one".into()],
        ..Pair::default()
    };
    vec![
        pair("a", "aab", "aaab = a + a + a + b;"),
        pair("b", "ccd", "cccd = c + c + c + d;"),
        pair("c", "eef", "eeef = e + e + e + f;"),
    ]
}

fn corpus() -> Vec<Document> {
    let texts = [
        "aaab = a + a + a + b ;",
        "aab = a + a + b;",
        "abbb",
        "cddd",
        "efff",
        "aabz",
        "ccdz",
        "eefz",
        "aaab = a + a + a + b; # aaab",
    ];
    texts
        .iter()
        .enumerate()
        .map(|(at, text)| Document { id: format!("k{at}"), text: (*text).into(), title: String::new() })
        .collect()
}

fn mined(config: &MiningConfig, seed: u64, round: u64) -> Vec<Pair> {
    mine(&pairs(), &corpus(), &Letters, config, (Seed(seed), round), None, &mut silent).unwrap().pairs
}

#[test]
fn pairs_come_back_with_negatives_in_place_of_those_that_they_had() {
    let config = MiningConfig { mode: Mode::SentenceTransformers, per_pair: Some(2), ..MiningConfig::default() };
    let found = mined(&config, 1, 0);
    assert_eq!(found.len(), 3);
    for (pair, before) in found.iter().zip(pairs()) {
        assert_eq!((&pair.id, &pair.anchor, &pair.positive), (&before.id, &before.anchor, &before.positive));
        assert_eq!(pair.negatives.len(), 2);
        assert!(!pair.negatives.contains(&"an old one".to_owned()) && !pair.negatives.contains(&pair.positive));
    }
    // The nearest by letters, but for the positive: with other spaces it is another text, and white space is folded
    // between words only.
    assert_eq!(found[0].negatives[0], "aab = a + a + b;");
}

#[test]
fn copies_of_a_positive_are_left_out_where_they_are_looked_for() {
    let config = MiningConfig { mode: Mode::SentenceTransformers, per_pair: Some(3), ..MiningConfig::default() };
    let with_copies = mined(&config, 1, 0);
    let copy = "aaab = a + a + a + b ;".to_owned();
    assert!(with_copies[0].negatives.contains(&copy));
    let without = mined(&MiningConfig { near_duplicates: 0.8, ..config }, 1, 0);
    assert!(!without[0].negatives.contains(&copy), "{:?}", without[0].negatives);
}

#[test]
fn another_round_is_another_draw_and_the_same_round_the_same() {
    let config = MiningConfig {
        mode: Mode::SentenceTransformers,
        per_pair: Some(2),
        ranks: Some((0, Some(9))),
        sampling: Some(Sampling::Random),
        ..MiningConfig::default()
    };
    assert_eq!(mined(&config, 1, 3), mined(&config, 1, 3));
    let rounds: Vec<Vec<Pair>> = (0..6).map(|round| mined(&config, 1, round)).collect();
    assert!(rounds.windows(2).any(|two| two[0] != two[1]));
    assert_ne!(mined(&config, 1, 0), mined(&config, 2, 0));
}

#[test]
fn what_cannot_be_mined_with_again_is_refused() {
    let file = std::path::PathBuf::from("v.npy");
    let vectors = VectorsConfig {
        queries: file.clone(),
        query_ids: file.clone(),
        documents: file.clone(),
        document_ids: file.clone(),
    };
    let config = MiningConfig { vectors: Some(vectors), ..MiningConfig::default() };
    let error = mine(&pairs(), &[], &Letters, &config, (Seed(1), 0), None, &mut silent).unwrap_err();
    assert!(error.to_string().starts_with("negatives.vectors: are those of other weights"), "{error}");
    let config = MiningConfig { rescore: Some(RescoreConfig::File(file)), ..MiningConfig::default() };
    assert!(mine(&pairs(), &[], &Letters, &config, (Seed(1), 0), None, &mut silent).is_err());
    let cross = CrossEncoderConfig { id: "cross".into(), ..CrossEncoderConfig::default() };
    let config = MiningConfig { rescore: Some(RescoreConfig::CrossEncoder(cross)), ..MiningConfig::default() };
    let error = mine(&pairs(), &[], &Letters, &config, (Seed(1), 0), None, &mut silent).unwrap_err();
    assert!(error.to_string().starts_with("negatives.rescore.cross_encoder: is named, and none"), "{error}");
}
