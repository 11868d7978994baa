//! Mining with an encoder, as training asks for it again and again.

use wb_core::{Document, Pair, Seed, progress::silent};

use super::*;
use crate::{
    dense::tests::LETTERS,
    mining::texts::tests::{document, pair},
};

fn pairs() -> Vec<Pair> {
    let pairs = [
        pair("a", "aab", "aaab = a + a + a + b;"),
        pair("b", "ccd", "cccd = c + c + c + d;"),
        pair("c", "eef", "eeef = e + e + e + f;"),
    ];
    pairs.map(|pair| Pair { negatives: vec!["an old one".into()], ..pair }).into()
}

fn documents(texts: &[&str]) -> Vec<Document> {
    texts.iter().enumerate().map(|(at, text)| document(&format!("k{at}"), text)).collect()
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
    documents(&texts)
}

/// The best documents, so many a pair.
fn config(per_pair: usize) -> MiningConfig {
    MiningConfig { mode: Mode::SentenceTransformers, per_pair: Some(per_pair), ..MiningConfig::default() }
}

fn mined(config: &MiningConfig, seed: u64, round: u64) -> Vec<Pair> {
    mine(&pairs(), &corpus(), &LETTERS, config, (Seed(seed), round), None, &mut silent).unwrap().pairs
}

#[test]
fn pairs_come_back_with_negatives_in_place_of_those_that_they_had() {
    let found = mined(&config(2), 1, 0);
    assert_eq!(found.len(), 3);
    for (pair, before) in found.iter().zip(pairs()) {
        assert_eq!((&pair.id, &pair.anchor, &pair.positive), (&before.id, &before.anchor, &before.positive));
        assert_eq!(pair.negatives.len(), 2);
        assert!(pair.negatives.iter().all(|text| **text != *"an old one" && **text != *pair.positive));
    }
    // The nearest by letters, but for the positive: with other spaces it is another text, and white space is folded
    // between words only.
    assert_eq!(&*found[0].negatives[0], "aab = a + a + b;");
}

#[test]
fn copies_of_a_positive_are_left_out_where_they_are_looked_for() {
    let with_copies = mined(&config(3), 1, 0);
    let copy = "aaab = a + a + a + b ;".to_owned();
    let has_copy = |pair: &Pair| pair.negatives.iter().any(|text| **text == *copy);
    assert!(has_copy(&with_copies[0]));
    let without = mined(&MiningConfig { near_duplicates: 0.8, ..config(3) }, 1, 0);
    assert!(!has_copy(&without[0]), "{:?}", without[0].negatives);
}

#[test]
fn another_round_is_another_draw_and_the_same_round_the_same() {
    let config = MiningConfig { ranks: Some((0, Some(9))), sampling: Some(Sampling::Random), ..config(2) };
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
    let error = mine(&pairs(), &[], &LETTERS, &config, (Seed(1), 0), None, &mut silent).unwrap_err();
    assert!(error.to_string().starts_with("negatives.vectors: are those of other weights"), "{error}");
    let config = MiningConfig { rescore: Some(RescoreConfig::File(file)), ..MiningConfig::default() };
    assert!(mine(&pairs(), &[], &LETTERS, &config, (Seed(1), 0), None, &mut silent).is_err());
    let cross = CrossEncoderConfig { model: "cross".into(), ..CrossEncoderConfig::default() };
    let config = MiningConfig { rescore: Some(RescoreConfig::CrossEncoder(cross)), ..MiningConfig::default() };
    let error = mine(&pairs(), &[], &LETTERS, &config, (Seed(1), 0), None, &mut silent).unwrap_err();
    assert!(error.to_string().starts_with("negatives.rescore.cross_encoder: is named, and none"), "{error}");
}

/// Documents of the same letters in another order: their scores are equal to the last bit.
#[test]
fn ties_at_the_cuts_are_counted() {
    let pairs = [pair("a", "aab", "aab;"), pair("b", "aab", "baa"), pair("c", "xyz", "xyyz")];
    let corpus = documents(&["ab", "ba", "a b", "aac", "xyz;", "zz"]);
    let account = |per_pair, ranks, sampling| {
        let config = MiningConfig { ranks: Some(ranks), sampling: Some(sampling), ..config(per_pair) };
        mine(&pairs, &corpus, &LETTERS, &config, (Seed(1), 0), None, &mut silent).unwrap().mined.account
    };
    // Of "aab", best first: ab, ba and "a b" alike, then aac, then what shares no letter. Of "xyz": "xyz;", zz, the rest.
    // To take one or two of the three that are alike is a tie, for each of the two pairs of "aab".
    let ties = |ties: CutTies| (ties.cuts, ties.tied, ties.candidates);
    let top = |per_pair| account(per_pair, (0, Some(6)), Sampling::Top);
    assert_eq!(ties(top(1).at_taken), (3, 2, 6));
    assert_eq!(ties(top(2).at_taken), (3, 2, 6));
    // All three of them are no tie; and of "xyz" the third is one of the four that are looked at and share nothing.
    assert_eq!(ties(top(3).at_taken), (3, 1, 4));
    // Who draws has no such cut, and a range that ends in the tie has one: once a query, not once a pair.
    let drawn = account(1, (0, Some(1)), Sampling::Random);
    assert_eq!(ties(drawn.at_taken), (0, 0, 0));
    assert_eq!(ties(drawn.at_places), (2, 1, 2), "{drawn:?}");
    let behind = account(1, (1, Some(3)), Sampling::Random);
    assert_eq!(behind.at_places.tied, 2, "{behind:?}");
}

#[test]
fn mining_is_broken_off_between_blocks() {
    let (config, stop) = (config(2), AtomicBool::new(false));
    let mut stop_at_search = |progress: wb_core::Progress| {
        stop.store(progress.stage == "searching negatives", Ordering::Relaxed);
    };
    let round = Round { seed: Seed(1), number: 0, stop: Some(&stop) };
    let found = mine(&pairs(), &corpus(), &LETTERS, &config, round, None, &mut stop_at_search);
    assert!(matches!(found, Err(Error::Stopped)));
    stop.store(false, Ordering::Relaxed);
    let found = mine(&pairs(), &corpus(), &LETTERS, &config, round, None, &mut silent).unwrap();
    assert_eq!(found.pairs, mined(&config, 1, 0));
}
