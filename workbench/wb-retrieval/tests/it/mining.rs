//! Mining as a whole: the same for any blocks and threads, complete where a plain sort is, and exact on rare inputs.

use ndarray::Array2;
use proptest::prelude::*;
use rand::RngExt;
use wb_core::{Document, Embeddings, Pair, Seed, progress::silent};
use wb_retrieval::{
    Result,
    mining::{
        Batch, Blocks, CandidateSource, MinedNegatives, MiningConfig, MiningRules, MiningSetup, MiningTexts, Mode,
        RankedQuery, Sampling, Seen, Softmax, VectorSearch, mine_from,
    },
};

/// Pairs with a few anchors twice, and a corpus.
fn inputs(n_pairs: usize, n_corpus: usize) -> (Vec<Pair>, Vec<Document>) {
    let pairs = (0..n_pairs).map(|at| Pair {
        id: format!("p{at}"),
        anchor: format!("query {}", at - usize::from(at % 5 == 4)),
        positive: format!("positive {at}"),
        ..Pair::default()
    });
    let corpus =
        (0..n_corpus).map(|at| Document { id: format!("c{at}"), text: format!("document {at}"), title: String::new() });
    (pairs.collect(), corpus.collect())
}

/// Vectors of small whole numbers: many scores are equal.
fn vectors(seed: u64, rows: usize, dim: usize) -> Embeddings {
    let mut rng = Seed(seed).stream("vectors");
    Embeddings::dense(Array2::from_shape_fn((rows, dim), |_| rng.random_range(-2..=2) as f32))
}

fn mined(texts: &MiningTexts<'_>, config: &MiningConfig, seed: u64, blocks: Blocks) -> MinedNegatives {
    let queries = vectors(seed, texts.queries().len(), 5);
    let documents = vectors(seed ^ 1, texts.documents().len(), 5);
    let mut search = VectorSearch::new(texts, &queries, &documents, blocks).unwrap();
    mine_from(texts, &mut search, &MiningSetup::new(&config.rules(), Seed(seed)), None, &mut silent).unwrap()
}

/// Rankings that are there already.
struct Given(Vec<RankedQuery>);

impl CandidateSource for Given {
    fn at_once(&self) -> usize {
        self.0.len()
    }

    fn rank(&mut self, _: Batch<'_, '_>, _: Seen<'_>) -> Result<Vec<RankedQuery>> {
        Ok(std::mem::take(&mut self.0))
    }
}

fn modes() -> impl Strategy<Value = MiningConfig> {
    let sampling = prop_oneof![
        Just(None),
        Just(Some(Sampling::Random)),
        Just(Some(Sampling::Softmax(Softmax { temperature: 0.2 }))),
    ];
    let mode = prop_oneof![
        Just(Mode::NvRetriever),
        Just(Mode::SentenceTransformers),
        Just(Mode::FlagEmbedding),
        Just(Mode::Naive)
    ];
    (mode, sampling, 1usize..6).prop_map(|(mode, sampling, per_pair)| MiningConfig {
        mode,
        sampling,
        per_pair: Some(per_pair),
        ranks: (mode == Mode::FlagEmbedding).then_some((2, Some(20))),
        ..MiningConfig::default()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn blocks_and_threads_change_nothing(
        config in modes(),
        n_pairs in 1usize..40,
        n_corpus in 0usize..120,
        queries in 1usize..50,
        documents in 1usize..90,
        seed: u64,
    ) {
        let (pairs, corpus) = inputs(n_pairs, n_corpus);
        let texts = MiningTexts::new(&pairs, &corpus).unwrap();
        let whole = Blocks { queries: 1000, documents: 1000 };
        let expected = mined(&texts, &config, seed, whole);
        prop_assert_eq!(&mined(&texts, &config, seed, Blocks { queries, documents }), &expected);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        let in_three = pool.install(|| mined(&texts, &config, seed, Blocks { queries, documents }));
        prop_assert_eq!(&in_three, &expected);
    }

    /// A pair's draw does not move when other pairs come or go.
    #[test]
    fn a_draw_is_the_pairs_own(n_corpus in 20u32..120, softmax: bool, seed: u64) {
        let (pairs, corpus) = inputs(7, n_corpus as usize);
        let sampling = if softmax { Sampling::Softmax(Softmax { temperature: 0.3 }) } else { Sampling::Random };
        let config = MiningConfig {
            mode: Mode::SentenceTransformers,
            sampling: Some(sampling),
            ranks: Some((0, Some(20))),
            ..MiningConfig::default()
        };
        let of = |pairs: &[Pair]| {
            let texts = MiningTexts::new(pairs, &corpus).unwrap();
            let ranked = (0..texts.queries().len()).map(|query| {
                let mut rng = Seed(seed).stream_at("scores", query as u64);
                let scores: Vec<f32> = (0..n_corpus).map(|_| rng.random_range(-1.0..1.0)).collect();
                RankedQuery::from_scores((0..n_corpus).zip(scores), vec![1.0; texts.positives(query).len()])
            });
            let (rules, mut given) = (config.rules(), Given(ranked.collect()));
            mine_from(&texts, &mut given, &MiningSetup::new(&rules, Seed(seed)), None, &mut silent).unwrap().pairs
        };
        let (all, few) = (of(&pairs), of(&pairs[..2]));
        prop_assert_eq!(&all[..2], &few[..]);
        prop_assert!(all.iter().all(|pair| pair.negatives.len() == 3));
        prop_assert_ne!(&all[0].negatives, &all[1].negatives);
    }
}

#[test]
fn filling_gives_every_pair_its_number() {
    let (pairs, corpus) = inputs(20, 30);
    let texts = MiningTexts::new(&pairs, &corpus).unwrap();
    let config = MiningConfig { mode: Mode::FlagEmbedding, ..MiningConfig::default() };
    let mined = mined(&texts, &config, 4, Blocks { queries: 7, documents: 11 });
    let account = mined.account;
    assert_eq!((account.short, account.without, account.chosen + account.filled), (0, 0, 20 * 15));
    for (at, pair) in mined.pairs.iter().enumerate() {
        let mut documents: Vec<u32> = pair.negatives.iter().map(|negative| negative.document).collect();
        documents.sort_unstable();
        documents.dedup();
        assert_eq!(documents.len(), 15);
        let never = texts.never(texts.query_of(at));
        assert!(documents.iter().all(|document| never.binary_search(document).is_err()));
    }
    let narrow = MiningConfig { ranks: Some((10, Some(12))), per_pair: Some(2), ..config };
    let mined = self::mined(&texts, &narrow, 4, Blocks { queries: 7, documents: 11 });
    assert!(mined.account.filled > 0 || mined.account.chosen == 40);
    let filled = mined.pairs.iter().flat_map(|pair| &pair.negatives).filter(|negative| negative.rank.is_none());
    assert_eq!(filled.count() as u64, mined.account.filled);
}

#[test]
fn nothing_to_search_is_no_error() {
    let config = MiningConfig::default();
    let texts = MiningTexts::new(&[], &[]).unwrap();
    let empty = Embeddings::dense(Array2::zeros((0, 5)));
    let mut search = VectorSearch::new(&texts, &empty, &empty, Blocks { queries: 9, documents: 9 }).unwrap();
    let none = mine_from(&texts, &mut search, &MiningSetup::new(&config.rules(), Seed(1)), None, &mut silent).unwrap();
    assert!(none.pairs.is_empty());
    // One pair alone: its positive is all that there is.
    let (pairs, _) = inputs(1, 0);
    let texts = MiningTexts::new(&pairs, &[]).unwrap();
    let alone = mined(&texts, &config, 3, Blocks { queries: 9, documents: 9 });
    assert_eq!((alone.account.without, alone.account.candidates), (1, 1));
}

#[test]
fn vectors_and_texts_must_be_as_many() {
    let (pairs, corpus) = inputs(4, 3);
    let texts = MiningTexts::new(&pairs, &corpus).unwrap();
    let blocks = Blocks { queries: 9, documents: 9 };
    let (queries, few) = (vectors(1, 4, 5), vectors(1, 6, 5));
    let error = VectorSearch::new(&texts, &queries, &few, blocks).err().unwrap();
    assert_eq!(error.to_string(), "document vectors and documents: 6 and 7 given, expected the same");
}

/// The ranking's own end is the cut where the rules throw so much away that the places are not filled.
#[test]
fn ties_at_the_end_of_a_ranking_are_counted() {
    let (pairs, _) = inputs(3, 0);
    let texts = MiningTexts::new(&pairs, &[]).unwrap();
    let config = MiningConfig { mode: Mode::FlagEmbedding, ranks: Some((0, Some(2))), ..MiningConfig::default() };
    let rules = MiningRules { per_pair: 1, ..config.rules() };
    let ranked = |scores: [f32; 3]| RankedQuery::from_scores((0..3).zip(scores), vec![0.9]);
    let of = |scores| {
        let ranked = vec![ranked(scores), ranked([0.9, 0.5, 0.1]), ranked([0.9, 0.5, 0.1])];
        let account = mine_from(&texts, &mut Given(ranked), &MiningSetup::new(&rules, Seed(1)), None, &mut silent)
            .unwrap()
            .account;
        (account.at_places.cuts, account.at_places.tied, account.at_places.candidates)
    };
    assert_eq!(of([0.9, 0.5, 0.1]), (3, 0, 0));
    assert_eq!(of([0.9, 0.5, 0.5]), (3, 1, 2));
    assert_eq!(of([0.9, 0.5, 0.499_999_9]), (3, 1, 2));
    assert_eq!(of([0.9, 0.9, 0.9]), (3, 1, 3));
}
