//! Choices on the disk beside those in memory, with crowds and without.

use super::{
    records::{BandRecord, ShortSignature},
    *,
};
use crate::{dedupe::near_duplicates, minhash::MinHash};

/// Numbers in a row without end.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = wb_core::seed::split_mix64(self.0);
        (self.0 >> 11) as usize % end
    }
}

/// Texts in families: each member is another one of its family with a few words changed, so that families are chains.
fn made(families: usize, members: usize, words: usize, seed: u64) -> Vec<String> {
    let mut numbers = Numbers(seed);
    let mut texts: Vec<Vec<String>> = Vec::new();
    for family in 0..families {
        let begin = texts.len();
        texts.push((0..words).map(|_| format!("w{}", numbers.below(5000))).collect());
        for _ in 1..members {
            let mut text = texts[begin + numbers.below(texts.len() - begin)].clone();
            for _ in 0..numbers.below(4) {
                let at = numbers.below(words);
                text[at] = format!("f{family}x{}", numbers.below(9999));
            }
            texts.push(text);
        }
    }
    for at in (1..texts.len()).rev() {
        texts.swap(at, numbers.below(at + 1));
    }
    texts.into_iter().map(|text| text.join(" ")).collect()
}

fn on_disk(texts: &[&str], threshold: f64) -> Vec<usize> {
    let folder = tempfile::tempdir().unwrap();
    let mut near = NearTexts::create(&folder.path().join("near"), threshold).unwrap();
    texts.chunks(1000).for_each(|some| near.push(some).unwrap());
    let first = near.finish(&mut wb_core::progress::silent).unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "files are left");
    first.into_iter().map(|text| text as usize).collect()
}

#[test]
fn the_choice_is_that_of_memory() {
    // Families below and far above what is compared all with all.
    for (families, members, words) in [(300, 5, 60), (12, 120, 80), (2, 900, 120), (3, 400, 40)] {
        let texts = made(families, members, words, members as u64);
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        for threshold in [0.6, 0.85, 0.95] {
            let expected = near_duplicates(&texts, threshold);
            let kept = expected.iter().enumerate().filter(|(at, first)| at == *first).count();
            assert!(kept > families && kept < texts.len(), "{kept} of {}", texts.len());
            assert_eq!(on_disk(&texts, threshold), expected, "{families} × {members} at {threshold}");
        }
    }
}

#[test]
fn empty_and_equal_texts_are_near() {
    let texts = vec!["", "a b", "", "a b", "a b c d e f g h"];
    assert_eq!(on_disk(&texts, 0.85), [0, 1, 0, 1, 4]);
    assert!(on_disk(&[], 0.85).is_empty());
}

#[test]
fn short_signatures_agree_at_least_as_often_as_whole_ones() {
    let texts = made(20, 10, 60, 5);
    let minhash = MinHash::new();
    let sketches: Vec<_> = texts.iter().map(|text| minhash.sketch(text)).collect();
    for a in &sketches {
        for b in &sketches {
            let (short, whole) = (ShortSignature::of(a).agreement(&ShortSignature::of(b)), a.estimate(b));
            assert!(short >= whole && short <= whole + 0.25, "{short} {whole}");
            let equal = a.signature().iter().zip(b.signature()).filter(|(a, b)| *a & 15 == *b & 15).count();
            assert_eq!(short, equal as f64 / 128.0);
        }
    }
    let record =
        BandRecord { key: 0x0123_4567_89ab_cdef, text: u32::MAX - 1, signature: ShortSignature::of(&sketches[3]) };
    assert_eq!(BandRecord::of(&record.bytes()), record);
}
