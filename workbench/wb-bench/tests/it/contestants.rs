//! What is measured: sums of retrievers, encoders that fail, encoders that learned nothing.

use std::collections::HashMap;

use ndarray::Array2;
use wb_bench::{BenchContestant, Benchmark, BenchmarkData, BenchmarkPlan, Options, audits, benchmarks::PairsConfig};
use wb_core::{
    Embeddings, Encoder, Pair, PairSet, Progress, Side, fingerprint::Fingerprint, records::outcome::ContestantRole,
};
use wb_retrieval::{Bm25Config, FusionConfig};

use crate::support::{Known, close, measure, score};

fn pairs(n: usize) -> PairSet {
    let pair = |index: usize| Pair {
        id: index.to_string(),
        language: "rust".into(),
        anchor: format!("reads record {index}"),
        positive: format!("fn read_record_{index}() {{}}"),
        ..Pair::default()
    };
    PairSet::new((0..n).map(pair).collect()).unwrap()
}

fn plan(n: usize) -> BenchmarkPlan {
    PairsConfig::default().plan(BenchmarkData::Pairs(&pairs(n))).unwrap()
}

/// Gives what it is told to.
struct Broken(fn(usize) -> Result<Array2<f32>, String>);

impl Encoder for Broken {
    fn name(&self) -> String {
        "broken".into()
    }

    fn dim(&self) -> usize {
        2
    }

    fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of_bytes(b"broken")
    }

    fn encode(
        &self,
        texts: &[&str],
        _side: Side,
        _progress: &mut dyn FnMut(Progress),
    ) -> Result<Embeddings, Box<dyn std::error::Error + Send + Sync>> {
        Ok(Embeddings::dense((self.0)(texts.len())?))
    }
}

#[test]
fn an_encoder_that_gives_one_vector_to_all_is_not_rewarded() {
    let plan = plan(50);
    let same = Broken(|n| Ok(Array2::ones((n, 2))));
    let outcome = measure(&plan, &BenchContestant::Encoder(&same));
    let mrr = score(&outcome, "pairs-full", "rust", "mrr");
    close(mrr.value, 0.02, 1e-12, "value");
    close(mrr.tie_worst, 0.02, 1e-12, "worst");
    assert_eq!(mrr.tie_best, 1.0);
    let harmonic: f64 = (1..=50).map(|rank| 1.0 / f64::from(rank)).sum();
    close(mrr.tie_expected, harmonic / 50.0, 1e-12, "expected");
    assert!(outcome.warnings.iter().any(|warning| warning.starts_with("pairs-full rust test mrr: equal scores")));
}

#[test]
fn broken_encoders_are_refused_with_the_text() {
    let plan = plan(3);
    for (broken, message) in [
        (Broken(|_| Err("out of memory".into())), "encoder broken failed on queries"),
        (Broken(|n| Ok(Array2::zeros((n - 1, 2)))), "encoder broken: 2 vectors for 3 queries, expected one each"),
        (Broken(|n| Ok(Array2::from_elem((n, 2), f32::NAN))), "holds a number that is not finite"),
    ] {
        let error = BenchContestant::Encoder(&broken).prepare(&plan.texts, &mut |_| ()).err().unwrap().to_string();
        assert!(error.contains(message), "{error}");
    }
    // Vectors of zeros are nobody's neighbour, and nothing panics.
    let zeros = Broken(|n| Ok(Array2::zeros((n, 2))));
    assert_eq!(score(&measure(&plan, &BenchContestant::Encoder(&zeros)), "pairs-full", "rust", "mrr").value, 1.0 / 3.0);
}

#[test]
fn words_join_vectors_without_embedding_again() {
    let set = pairs(40);
    let plan = PairsConfig::default().plan(BenchmarkData::Pairs(&set)).unwrap();
    // Vectors that know only whether the number is even.
    let mut vectors = HashMap::new();
    for (index, pair) in set.pairs().iter().enumerate() {
        let vector = if index % 2 == 0 { vec![1.0, 0.0] } else { vec![0.0, 1.0] };
        vectors.insert(pair.anchor.clone(), vector.clone());
        vectors.insert(pair.positive.clone(), vector);
    }
    let known = Known { dim: 2, vectors };
    let alone = BenchContestant::Encoder(&known).prepare(&plan.texts, &mut |_| ()).unwrap();
    let joined = alone.with_bm25(Bm25Config::default(), FusionConfig::default());
    assert_eq!(joined.name(), "bm25+known");
    assert_eq!((alone.role(), joined.role()), (ContestantRole::Other, ContestantRole::Fused));
    assert_ne!(joined.fingerprint(), alone.fingerprint());
    let run = |scorer| wb_bench::run(&plan, scorer, &[], Options::default(), &mut |_| ()).unwrap();
    let (alone, joined) = (run(&alone), run(&joined));
    let mrr = |outcome| score(outcome, "pairs-full", "rust", "mrr").value;
    close(mrr(&alone), 0.05, 1e-12, "vectors alone");
    assert!(mrr(&joined) > 0.95, "{}", mrr(&joined));
    let comparison = wb_bench::compare(&alone, &joined, plan.card.main, wb_core::Seed(1)).unwrap();
    assert_eq!(comparison.verdict.to_string(), "WIN");
}

#[test]
fn training_pairs_in_the_test_set_are_reported() {
    let plan = plan(10);
    let scorer = BenchContestant::Bm25(Bm25Config::default()).prepare(&plan.texts, &mut |_| ()).unwrap();
    let training = pairs(4).pairs().iter().collect();
    let options = Options { audits: &audits(&plan, Some(&training)), ..Options::default() };
    let outcome = wb_bench::run(&plan, &scorer, &[], options, &mut |_| ()).unwrap();
    let count =
        |what: &str| outcome.audit.iter().find(|line| line.what.starts_with(what)).map(|line| (line.count, line.of));
    assert_eq!(count("queries nearly equal to a training anchor"), Some((4, 10)));
    assert_eq!(count("documents nearly equal to a training positive"), Some((4, 10)));
}
