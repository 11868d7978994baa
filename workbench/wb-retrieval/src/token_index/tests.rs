//! The whole index: against exact search, grown in parts, damaged, interrupted.

use ndarray::Array2;
use rand::RngExt;
use tempfile::TempDir;
use wb_core::{faults, progress::silent};

use super::*;
use crate::top_k::top_k;

/// Unit vectors around `around` random directions.
pub(super) fn clustered(seed: u64, n: usize, dim: usize, around: usize) -> Array2<f32> {
    let mut rng = Seed(seed).stream("clustered");
    let centers = Array2::from_shape_fn((around, dim), |_| rng.random_range(-1.0f32..1.0));
    let mut vectors = Array2::zeros((n, dim));
    for mut row in vectors.rows_mut() {
        let center = centers.row(rng.random_range(0..around));
        row.iter_mut().zip(center).for_each(|(x, c)| *x = c + rng.random_range(-0.4f32..0.4));
        let norm = row.dot(&row).sqrt();
        row.mapv_inplace(|x| x / norm);
    }
    vectors
}

/// Documents of 1 to 40 tokens, and queries that are tokens of some of them, moved a little.
struct Made {
    documents: Embeddings,
    queries: Embeddings,
}

impl Made {
    fn new(documents: usize, dim: usize) -> Self {
        let mut rng = Seed(9).stream("documents");
        let mut offsets = vec![0];
        for _ in 0..documents {
            offsets.push(offsets[offsets.len() - 1] + rng.random_range(1..=40));
        }
        let vectors = clustered(1, offsets[documents], dim, 300);
        let (mut rows, mut query_offsets) = (Vec::new(), vec![0]);
        for _ in 0..50 {
            let document = rng.random_range(0..documents);
            let tokens: Vec<usize> = (offsets[document]..offsets[document + 1]).take(8).collect();
            for token in &tokens {
                let mut row = vectors.row(*token).to_owned();
                row.mapv_inplace(|x| x + rng.random_range(-0.08f32..0.08));
                let norm = row.dot(&row).sqrt();
                rows.extend(row.mapv(|x| x / norm));
            }
            query_offsets.push(query_offsets[query_offsets.len() - 1] + tokens.len());
        }
        let queries = Array2::from_shape_vec((query_offsets[50], dim), rows).unwrap();
        let queries = Embeddings::ragged(queries, query_offsets).unwrap();
        Self { documents: Embeddings::ragged(vectors, offsets).unwrap(), queries }
    }

    fn plan(&self, bits: u8) -> TokenIndexPlan {
        TokenIndexPlan {
            config: TokenIndexConfig { bits, ..TokenIndexConfig::default() },
            tokens: self.documents.view().nrows(),
            made_with: [("encoder".to_owned(), "a".to_owned())].into(),
            seed: Seed(4),
        }
    }

    fn build(&self, folder: &Path, bits: u8, blocks: &[usize]) -> TokenIndexBuilder {
        let mut builder = TokenIndexBuilder::create(folder, &self.documents, self.plan(bits), &mut silent).unwrap();
        let mut first = 0;
        for block in blocks {
            self.add(&mut builder, first, first + block).unwrap();
            first += block;
        }
        builder
    }

    /// Adds the documents `from..to`.
    fn add(&self, builder: &mut TokenIndexBuilder, from: usize, to: usize) -> Result<()> {
        builder.add(&self.documents.part(from..to), &mut silent)
    }

    /// The definition: every document's MaxSim.
    fn exact(&self, k: usize) -> Vec<Ranking> {
        let rank = |query: usize| {
            let tokens = self.queries.of(query);
            let score = |document: usize| {
                let products = tokens.dot(&self.documents.of(document).t());
                let best = products.rows().into_iter().map(|row| row.iter().copied().fold(f32::MIN, f32::max));
                best.sum::<f32>()
            };
            let scores: Vec<f32> = (0..self.documents.texts()).map(score).collect();
            Ranking { query, hits: top_k(&scores, k) }
        };
        (0..self.queries.texts()).map(rank).collect()
    }
}

fn search(index: &TokenIndex, made: &Made, how: &TokenIndexSearch) -> Vec<Ranking> {
    index.search(&made.queries, 10, how, &mut silent).unwrap()
}

#[test]
fn more_bits_find_more_of_the_exact_ranking() {
    let made = Made::new(1500, 32);
    let exact = made.exact(10);
    let plaid = TokenIndexSearch::Plaid(PlaidSearch { probes: 16, candidates: 256 });
    let xtr = TokenIndexSearch::Xtr(XtrSearch { tokens: 2000, probes: 64 });
    let mut last = 0.0;
    for bits in [1, 2, 4, 8] {
        let folder = TempDir::new().unwrap();
        made.build(folder.path(), bits, &[1500]);
        let index = TokenIndex::open(folder.path()).unwrap();
        assert_eq!((index.len(), index.tokens(), index.dim()), (1500, made.documents.view().nrows(), 32));
        let found = recall(&search(&index, &made, &plaid), &exact, 10);
        assert!(found > last - 0.02, "{bits} bits: {found}, fewer: {last}");
        last = found;
        // The document that a query was made of stands first.
        let first = search(&index, &made, &xtr)
            .iter()
            .zip(&exact)
            .filter(|(a, b)| a.hits[0].document == b.hits[0].document)
            .count();
        assert!(first >= if bits == 1 { 40 } else { 48 }, "{bits} bits, xtr: {first} of 50");
        if bits == 8 {
            // Every number of a vector is nearly what it was.
            let decompressed = index.decompressed(777);
            let original = made.documents.of(777);
            let worst = (&decompressed - &original).iter().fold(0f32, |worst, x| worst.max(x.abs()));
            assert!(worst < 0.05, "{worst}");
        }
    }
    assert!(last > 0.97, "8 bits: {last}");
}

#[test]
fn xtr_with_all_tokens_is_max_sim() {
    let made = Made::new(300, 32);
    let folder = TempDir::new().unwrap();
    made.build(folder.path(), 8, &[300]);
    let index = TokenIndex::open(folder.path()).unwrap();
    let all = TokenIndexSearch::Xtr(XtrSearch { tokens: usize::MAX / 4, probes: usize::MAX });
    let plaid = TokenIndexSearch::Plaid(PlaidSearch { probes: usize::MAX, candidates: usize::MAX });
    for (xtr, plaid) in search(&index, &made, &all).iter().zip(search(&index, &made, &plaid)) {
        let tokens = made.queries.of(xtr.query).nrows() as f32;
        for (a, b) in xtr.hits.iter().zip(&plaid.hits) {
            assert!((a.score - b.score / tokens).abs() < 1e-5, "{a:?} {b:?}");
        }
        assert_eq!(xtr.hits[0].document, plaid.hits[0].document);
    }
}

/// XTR's definition on decompressed vectors: each query token fetches its k′ best tokens of all, and counts the k′-th
/// score for documents that it did not fetch a token of.
#[test]
fn xtr_with_few_tokens_imputes_the_last_score() {
    let made = Made::new(200, 32);
    let folder = TempDir::new().unwrap();
    made.build(folder.path(), 8, &[200]);
    let index = TokenIndex::open(folder.path()).unwrap();
    let tokens: Vec<(usize, Vec<f32>)> = (0..200)
        .flat_map(|document| {
            index.decompressed(document).rows().into_iter().map(|r| (document, r.to_vec())).collect::<Vec<_>>()
        })
        .collect();
    let k = 25;
    let how = TokenIndexSearch::Xtr(XtrSearch { tokens: k, probes: usize::MAX });
    let mut unseen = 0;
    for ranking in search(&index, &made, &how) {
        let query = made.queries.of(ranking.query);
        let fetched: Vec<Vec<(usize, f32)>> = query
            .rows()
            .into_iter()
            .map(|row| {
                let product = |(document, token): &(usize, Vec<f32>)| {
                    (*document, row.iter().zip(token).map(|(a, b)| a * b).sum::<f32>())
                };
                let mut all: Vec<(usize, f32)> = tokens.iter().map(product).collect();
                all.sort_by(|a, b| b.1.total_cmp(&a.1));
                all.truncate(k);
                all
            })
            .collect();
        let score = |document: usize| {
            let of_token = |hits: &Vec<(usize, f32)>| {
                let own = hits.iter().filter(|hit| hit.0 == document).map(|hit| hit.1).reduce(f32::max);
                own.unwrap_or(hits[k - 1].1)
            };
            fetched.iter().map(of_token).sum::<f32>() / fetched.len() as f32
        };
        for hit in &ranking.hits {
            assert!((hit.score - score(hit.document)).abs() < 1e-5, "{hit:?} is not {}", score(hit.document));
            unseen += fetched.iter().filter(|hits| hits.iter().all(|other| other.0 != hit.document)).count();
        }
        let mut documents: Vec<usize> = fetched.iter().flatten().map(|hit| hit.0).collect();
        documents.sort_unstable();
        documents.dedup();
        let best = documents.into_iter().map(score).reduce(f32::max).unwrap();
        assert!((ranking.hits[0].score - best).abs() < 1e-5);
    }
    assert!(unseen > 100, "only {unseen} scores were filled in");
}

#[test]
fn an_index_grown_in_parts_finds_the_same() {
    let made = Made::new(400, 16);
    let (whole, parts) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    made.build(whole.path(), 2, &[400]);
    made.build(parts.path(), 2, &[1, 250]);
    let mut builder = TokenIndexBuilder::open(parts.path(), &made.plan(2).made_with).unwrap();
    assert_eq!(builder.documents(), 251);
    made.add(&mut builder, 251, 400).unwrap();
    let (whole, parts) = (TokenIndex::open(whole.path()).unwrap(), TokenIndex::open(parts.path()).unwrap());
    assert_eq!((whole.len(), whole.tokens()), (parts.len(), parts.tokens()));
    for how in [TokenIndexSearch::default(), TokenIndexSearch::Xtr(XtrSearch::default())] {
        assert_eq!(search(&whole, &made, &how), search(&parts, &made, &how));
    }
    assert_eq!(whole.decompressed(300), parts.decompressed(300));
}

#[test]
fn the_result_does_not_depend_on_threads() {
    let made = Made::new(200, 16);
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let folder = TempDir::new().unwrap();
            made.build(folder.path(), 2, &[200]);
            let index = TokenIndex::open(folder.path()).unwrap();
            let files: Vec<Vec<u8>> = [CENTROIDS, "segment-000000.bin", layout::INDEX]
                .map(|name| std::fs::read(folder.path().join(name)).unwrap())
                .into();
            (files, search(&index, &made, &TokenIndexSearch::default()))
        })
    };
    assert!(run(1) == run(3));
}

#[test]
fn vectors_of_other_things_are_refused() {
    let made = Made::new(20, 16);
    let folder = TempDir::new().unwrap();
    let mut builder = made.build(folder.path(), 2, &[20]);
    let refused = TokenIndexBuilder::open(folder.path(), &[("encoder".to_owned(), "b".to_owned())].into());
    let error = refused.err().unwrap().to_string();
    assert!(error.ends_with("its vectors were made with other things: encoder"), "{error}");
    let again = TokenIndexBuilder::create(folder.path(), &made.documents, made.plan(2), &mut silent);
    assert!(again.err().unwrap().to_string().ends_with("there is an index already"));
    let one = |dim: usize, number: f32| Embeddings::ragged(Array2::from_elem((1, dim), number), vec![0, 1]).unwrap();
    let error = builder.add(&one(17, 0.1), &mut silent).unwrap_err().to_string();
    assert!(error.contains("17 and 16 given"), "{error}");
    let error = builder.add(&one(16, f32::NAN), &mut silent).unwrap_err().to_string();
    assert!(error.contains("not finite"), "{error}");
}

#[test]
fn every_damaged_byte_is_told() {
    let made = Made::new(10, 16);
    let folder = TempDir::new().unwrap();
    made.build(folder.path(), 2, &[10]);
    for name in [CENTROIDS, "segment-000000.bin"] {
        let path = folder.path().join(name);
        let good = std::fs::read(&path).unwrap();
        for at in (0..good.len()).step_by(97) {
            let mut bad = good.clone();
            bad[at] ^= 1;
            std::fs::write(&path, &bad).unwrap();
            let error = TokenIndex::open(folder.path()).err().unwrap().to_string();
            assert!(error.contains(name) && error.contains("its hash is"), "{error}");
        }
        std::fs::write(&path, &good[1..]).unwrap();
        let error = TokenIndex::open(folder.path()).err().unwrap().to_string();
        assert!(error.contains(&format!("{} bytes, expected {}", good.len() - 1, good.len())), "{error}");
        std::fs::write(&path, &good).unwrap();
    }
    // A list that was changed by hand.
    let path = folder.path().join(layout::INDEX);
    let text = std::fs::read_to_string(&path).unwrap();
    for (from, to) in
        [("\"version\": 1", "\"version\": 2"), ("\"dim\": 16", "\"dim\": 8"), ("\"bits\": 2", "\"bits\": 4")]
    {
        assert!(text.contains(from));
        std::fs::write(&path, text.replace(from, to)).unwrap();
        let error = TokenIndex::open(folder.path()).err().unwrap().to_string();
        assert!(error.contains("index.json"), "{error}");
    }
}

#[test]
fn a_write_that_fails_leaves_the_index_as_it_was() {
    let made = Made::new(30, 16);
    for n in 1.. {
        let folder = TempDir::new().unwrap();
        let mut builder = made.build(folder.path(), 2, &[20]);
        faults::fail_at(n, true);
        let result = made.add(&mut builder, 20, 30);
        let fired = faults::clear();
        let found = TokenIndex::open(folder.path()).unwrap().len();
        if !fired {
            assert!(result.is_ok() && found == 30 && n > 6, "{n}");
            break;
        }
        assert!(result.is_err());
        // Whole, with what was added or without; and the same call can be made again where it is without.
        assert!(found == 20 || found == 30, "{found}");
        if found == 20 {
            made.add(&mut builder, 20, 30).unwrap();
            assert_eq!(TokenIndex::open(folder.path()).unwrap().len(), 30);
        }
    }
}

#[test]
fn empty_queries_and_documents_are_no_trouble() {
    let made = Made::new(20, 16);
    let folder = TempDir::new().unwrap();
    let mut builder = made.build(folder.path(), 2, &[]);
    let index = TokenIndex::open(folder.path()).unwrap();
    assert!(index.is_empty());
    assert!(search(&index, &made, &TokenIndexSearch::default()).iter().all(|ranking| ranking.hits.is_empty()));
    // A document without tokens is never found, and moves no other.
    let rows = made.documents.view().slice(ndarray::s![..2, ..]).to_owned();
    let two = Embeddings::ragged(rows, vec![0, 0, 2]).unwrap();
    builder.add(&two, &mut silent).unwrap();
    builder.add(&Embeddings::ragged(Array2::zeros((0, 16)), vec![0]).unwrap(), &mut silent).unwrap();
    let index = TokenIndex::open(folder.path()).unwrap();
    for how in [TokenIndexSearch::default(), TokenIndexSearch::Xtr(XtrSearch::default())] {
        let found = index.search(&two, 10, &how, &mut silent).unwrap();
        assert!(found[0].hits.is_empty());
        assert_eq!(found[1].hits.iter().map(|hit| hit.document).collect::<Vec<_>>(), [1]);
    }
}
