//! Products of vectors on the device that `WB_TEST_DEVICE` names, as exact search asks for them.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use ndarray::{Array2, ArrayView2, s};
use wb_core::{Document, Embeddings, Error, GroupMaxima, Pair, Result, Seed, group_maxima::GROUP, progress::silent};
use wb_encoder::DeviceMaxima;
use wb_retrieval::{
    Flat,
    mining::{Blocks, MiningConfig, MiningSetup, MiningTexts, Mode, VectorSearch, mine_from},
};

use crate::{precision::has_time, test_device};

/// Vectors of length 1; every third has most of its length in one dimension, where rounding is coarsest.
fn vectors(rows: usize, dim: usize, seed: u64) -> Array2<f32> {
    let mut made = Array2::from_shape_fn((rows, dim), |(row, at)| {
        let draw = Seed(seed).number_at("vectors", (row * dim + at) as u64);
        let spike = if row % 3 == 0 && at == row % dim { 20.0 } else { 1.0 };
        spike * (draw as f64 / u64::MAX as f64 - 0.5) as f32
    });
    for mut row in made.rows_mut() {
        let length = row.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt() as f32;
        row.mapv_inplace(|x| x / length);
    }
    made
}

fn check(mut device: DeviceMaxima, dim: usize, limit: f32) {
    let queries = vectors(40, dim, 1);
    for documents in [GROUP, 5 * GROUP - 1, 3 * GROUP + 1, 1] {
        let documents = vectors(documents, dim, 2);
        device.take(documents.view()).unwrap();
        let (found, error) = (device.maxima(queries.view()).unwrap(), device.error());
        assert!(error > 0.0 && error <= limit, "an error of {error:.1e}, expected at most {limit:.1e}");
        let exact = queries.mapv(f64::from).dot(&documents.mapv(f64::from).t());
        assert_eq!(found.dim(), (40, documents.nrows().div_ceil(GROUP)));
        let mut worst = 0f64;
        for ((query, group), greatest) in found.indexed_iter() {
            let own = exact.slice(s![query, group * GROUP..((group + 1) * GROUP).min(documents.nrows())]);
            let expected = own.fold(f64::NEG_INFINITY, |greatest, x| greatest.max(*x));
            worst = worst.max((f64::from(*greatest) - expected).abs());
        }
        let device = test_device().description;
        eprintln!("{device}: {} documents of {dim} numbers: {worst:.1e}, at most {error:.1e}", documents.nrows());
        assert!(worst <= f64::from(error), "{worst:.1e} apart, at most {error:.1e} was promised");
    }
}

#[test]
fn products_are_as_exact_as_they_are_said_to_be() {
    for dim in [64, 385] {
        check(DeviceMaxima::in_32_bits(test_device().burn(), "test device"), dim, 1e-4);
    }
}

/// A device that counts how often it is asked.
struct Counted(DeviceMaxima, Arc<AtomicUsize>);

impl GroupMaxima for Counted {
    fn take(&mut self, documents: ArrayView2<'_, f32>) -> Result<()> {
        self.0.take(documents)
    }

    fn maxima(&mut self, queries: ArrayView2<'_, f32>) -> Result<Array2<f32>> {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.maxima(queries)
    }

    fn was_too_much(&self, error: &Error) -> bool {
        self.0.was_too_much(error)
    }

    fn error(&self) -> f32 {
        self.0.error()
    }
}

/// Two blocks of documents and two of queries, as they are dealt to a device.
#[test]
fn rankings_with_the_device_are_the_processors() {
    let (documents, queries) = (vectors(33_000, 64, 3), vectors(2_100, 64, 4));
    let (flat, queries) = (Flat::new(Embeddings::dense(documents)).unwrap(), Embeddings::dense(queries));
    let asked = Arc::new(AtomicUsize::new(0));
    let device = Counted(DeviceMaxima::in_32_bits(test_device().burn(), "test device"), asked.clone());
    let found = flat.search_with(Some(Box::new(device)), &queries, 100).unwrap();
    // More often where a device holds no buffer of all products of two blocks.
    assert!(asked.load(Ordering::Relaxed) >= 4);
    assert!(found == flat.search(&queries, 100).unwrap(), "rankings differ");
}

/// Hard negatives in several blocks of documents, with most of the search on the device.
#[test]
fn negatives_mined_with_the_device_are_the_processors() {
    let pairs: Vec<Pair> = (0..2_100)
        .map(|at| Pair {
            id: format!("p{at}"),
            anchor: format!("query {at}"),
            positive: format!("positive {at}"),
            ..Pair::default()
        })
        .collect();
    let document = |at| Document { id: format!("c{at}"), text: format!("document {at}"), title: String::new() };
    let corpus: Vec<Document> = (0..31_000).map(document).collect();
    let texts = MiningTexts::new(&pairs, &corpus).unwrap();
    let of = |rows, seed| Embeddings::dense(vectors(rows, 64, seed));
    let (queries, documents) = (of(texts.queries().len(), 5), of(texts.documents().len(), 6));
    let rules = MiningConfig { mode: Mode::SentenceTransformers, ..MiningConfig::default() }.rules();
    let mined = |device: Option<Box<dyn GroupMaxima>>| {
        let blocks = Blocks { queries: 3_000, documents: 15_000 };
        let mut search = VectorSearch::new(&texts, &queries, &documents, blocks).unwrap().with(device);
        mine_from(&texts, &mut search, &MiningSetup::new(&rules, Seed(7)), None, &mut silent).unwrap()
    };
    let asked = Arc::new(AtomicUsize::new(0));
    let device = Counted(DeviceMaxima::in_32_bits(test_device().burn(), "test device"), asked.clone());
    let (found, expected) = (mined(Some(Box::new(device))), mined(None));
    assert!(asked.load(Ordering::Relaxed) >= 3);
    assert!(expected.pairs.iter().all(|pair| !pair.negatives.is_empty()));
    assert!(found == expected, "negatives differ");
}

/// In 16 bits where the device has them.
#[test]
fn products_in_16_bits_are_as_exact_as_they_are_said_to_be() {
    if has_time("products_in_16_bits_are_as_exact_as_they_are_said_to_be") {
        check(DeviceMaxima::new(test_device().burn(), "test device"), 384, 8e-3);
    }
}
