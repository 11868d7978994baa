//! How long things take, printed; run by hand.

use std::{path::Path, time::Instant};

use wb_encoder::TokenizerConfig;

/// Pieces of the Rust sources that Cargo keeps, about 60 MB.
fn sources() -> Vec<String> {
    let home = std::env::var("CARGO_HOME").unwrap_or_else(|_| std::env::var("HOME").unwrap() + "/.cargo");
    let mut folders = vec![Path::new(&home).join("registry/src")];
    let mut texts = Vec::new();
    let mut bytes = 0;
    while let Some(folder) = folders.pop() {
        let mut entries: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
        entries.sort();
        for path in entries {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") && bytes < 60_000_000 {
                let text = std::fs::read_to_string(path).unwrap_or_default();
                bytes += text.len();
                texts.extend(text.split("\n\n").map(str::to_owned));
            }
        }
    }
    texts
}

#[test]
#[ignore = "slow: half a minute, prints times"]
fn tokenizer_training() {
    let texts = sources();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let bytes: usize = texts.iter().map(|t| t.len()).sum();
    eprintln!("{} texts, {} MB", texts.len(), bytes / 1_000_000);
    for split_identifiers in [true, false] {
        let config = TokenizerConfig { split_identifiers, ..TokenizerConfig::default() };
        let begin = Instant::now();
        let tokenizer = config.train(&texts, Path::new("tokenizer.json")).unwrap();
        eprintln!("split {split_identifiers}: {} tokens learned in {:.1?}", tokenizer.vocab_size(), begin.elapsed());
        let begin = Instant::now();
        let ids = tokenizer.encode_all("", &texts, 100_000).unwrap();
        let count: usize = ids.iter().map(Vec::len).sum();
        eprintln!("  {count} tokens out of {bytes} bytes encoded in {:.1?}", begin.elapsed());
    }
}

#[test]
#[ignore = "slow: ten seconds, prints times"]
fn minilm_tokens() {
    let Some(minilm) = crate::common::minilm("minilm_tokens") else { return };
    let tokenizer = wb_encoder::Tokenizer::read(&minilm.join("tokenizer.json")).unwrap();
    let texts = sources();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let begin = Instant::now();
    let ids = tokenizer.encode_all("", &texts, 100_000).unwrap();
    let count: usize = ids.iter().map(Vec::len).sum();
    eprintln!("{count} tokens in {:.1?}", begin.elapsed());
}

#[test]
#[ignore = "slow: seconds, prints times"]
fn late_interaction_scores() {
    use wb_core::Embeddings;
    use wb_encoder::similarities::{TokenSimilarity, TokenTexts, XtrConfig};
    let texts = |n: usize, tokens: usize| {
        let numbers = (0..n * tokens * 128).map(|at| ((at * 7919 % 1009) as f32 - 504.0) / 504.0);
        let vectors = ndarray::Array2::from_shape_vec((n * tokens, 128), numbers.collect()).unwrap();
        let vectors = Embeddings::dense(vectors).normalized().into_inner();
        Embeddings::ragged(vectors, (0..=n).map(|text| text * tokens).collect()).unwrap()
    };
    let (queries, documents) = (texts(64, 32), texts(64, 160));
    let (left, right) = (TokenTexts::new(&queries).unwrap(), TokenTexts::new(&documents).unwrap());
    for similarity in [TokenSimilarity::Maxsim, TokenSimilarity::Xtr(XtrConfig::default())] {
        for _ in 0..3 {
            let begin = Instant::now();
            let (scores, matches) = similarity.scores(left, right);
            let forward = begin.elapsed();
            TokenSimilarity::backward(left, right, &matches, &scores);
            eprintln!(
                "{similarity:?}: 64 × 64 texts of 32 × 160 tokens forward {forward:.1?}, both {:.1?}",
                begin.elapsed()
            );
        }
    }
}
