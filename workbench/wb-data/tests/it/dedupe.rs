//! Near duplicates against brute force.

use wb_data::{
    dedupe::near_duplicates,
    minhash::{sketches, tokens},
};

use crate::support::Made;
use std::{collections::HashSet, time::Instant};

/// Texts in families: each member has a few tokens changed against its family's first.
fn made(families: usize, members: usize) -> Vec<String> {
    let mut made = Made(7);
    let mut texts = Vec::new();
    for _ in 0..families {
        let length = 30 + made.below(200);
        let base = made.code(length);
        for member in 0..members {
            let mut text = base.clone();
            for _ in 0..made.below(1 + member * 2) {
                let at = made.below(text.len());
                text[at] = format!("z{}", made.below(9999));
            }
            texts.push(text.join(" "));
        }
    }
    // Mixed, so that families are not in a row.
    let mut order: Vec<usize> = (0..texts.len()).collect();
    for at in (1..order.len()).rev() {
        order.swap(at, made.below(at + 1));
    }
    order.into_iter().map(|at| texts[at].clone()).collect()
}

/// Shingles as strings.
fn shingles(text: &str) -> HashSet<String> {
    let tokens: Vec<&str> = tokens(text).collect();
    tokens.windows(5).map(|five| five.join(" ")).collect()
}

/// The true similarity.
fn jaccard(a: &HashSet<String>, b: &HashSet<String>) -> f64 {
    let both = a.intersection(b).count();
    both as f64 / (a.len() + b.len() - both) as f64
}

#[test]
fn near_duplicates_equal_brute_force() {
    let texts = made(60, 8);
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let sets: Vec<HashSet<String>> = texts.iter().map(|text| shingles(text)).collect();
    let sketches = sketches(&texts);
    let similar: Vec<Vec<f64>> =
        (0..sets.len()).map(|a| (0..a).map(|b| jaccard(&sets[a], &sets[b])).collect()).collect();
    for (a, row) in similar.iter().enumerate() {
        for (b, similar) in row.iter().enumerate() {
            assert!((sketches[a].jaccard(&sketches[b]) - similar).abs() < 1e-12);
        }
    }
    for threshold in [0.5, 0.7, 0.85, 0.95] {
        let mut kept: Vec<usize> = Vec::new();
        let mut expected: Vec<usize> = Vec::new();
        for (at, row) in similar.iter().enumerate() {
            match kept.iter().find(|kept| row[**kept] >= threshold) {
                Some(first) => expected.push(*first),
                None => {
                    kept.push(at);
                    expected.push(at);
                }
            }
        }
        let dropped = texts.len() - kept.len();
        assert!(dropped > 20, "{threshold}: {dropped}");
        assert_eq!(near_duplicates(&texts, threshold), expected, "{threshold}");
    }
}

#[test]
fn one_thread_and_many_agree() {
    let texts = made(100, 5);
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| near_duplicates(&texts, 0.85))
    };
    assert_eq!(with(1), with(4));
}

#[test]
#[ignore = "a measurement: run by hand"]
fn eighty_thousand_texts() {
    let mut made = Made(3);
    let texts: Vec<String> = (0..80_000)
        .map(|_| {
            let n = 30 + made.below(400);
            made.code(n).join(" ")
        })
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let start = Instant::now();
    let sketched = sketches(&texts);
    eprintln!("sketches {:?}", start.elapsed());
    drop(sketched);
    let start = Instant::now();
    let first = near_duplicates(&texts, 0.85);
    eprintln!(
        "near duplicates {:?}, kept {}",
        start.elapsed(),
        first.iter().enumerate().filter(|(at, first)| at == *first).count()
    );
}
