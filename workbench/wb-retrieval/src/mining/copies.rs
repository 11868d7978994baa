//! Documents that are nearly the same text, or the same code under other names.
//!
//! A text is the set of its runs of five tokens; a token is a run of letters, digits and `_`, or any other visible
//! character by itself. Two texts are compared by the Jaccard similarity of their sets, exactly: the pairs to compare
//! are few, so nothing has to be estimated.

use std::{
    collections::{HashMap, HashSet},
    hash::{DefaultHasher, Hash, Hasher},
    sync::OnceLock,
};

use super::MiningTexts;

/// Tokens in a run; a shorter text is one run.
const RUN: usize = 5;

/// Compares documents of [`MiningTexts`]; their sets are made when they are asked for, and kept.
pub struct Copies<'a> {
    texts: &'a MiningTexts<'a>,
    threshold: f64,
    sets: Vec<OnceLock<Vec<u64>>>,
}

impl<'a> Copies<'a> {
    /// Compares at a Jaccard similarity, 0 for off.
    pub fn new(texts: &'a MiningTexts<'a>, threshold: f64) -> Self {
        let n = if threshold > 0.0 { texts.documents().len() } else { 0 };
        Self { texts, threshold, sets: (0..n).map(|_| OnceLock::new()).collect() }
    }

    /// True where the similarity of two documents reaches the threshold.
    pub fn are(&self, a: u32, b: u32) -> bool {
        match (self.set(a), self.set(b)) {
            (Some(a), Some(b)) => {
                let (less, more) = (a.len().min(b.len()) as f64, a.len().max(b.len()) as f64);
                // The smaller set divided by the larger bounds the similarity from above.
                less >= self.threshold * more && jaccard(a, b) >= self.threshold
            }
            _ => false,
        }
    }

    fn set(&self, document: u32) -> Option<&[u64]> {
        let slot = self.sets.get(document as usize)?;
        Some(slot.get_or_init(|| runs(self.texts.documents()[document as usize])))
    }
}

/// Hashes of the different runs, ascending.
fn runs(text: &str) -> Vec<u64> {
    let tokens: Vec<&str> = tokens(text).collect();
    let hash = |run: &[&str]| {
        let mut hasher = DefaultHasher::new();
        run.hash(&mut hasher);
        hasher.finish()
    };
    let mut runs: Vec<u64> = match tokens.len() {
        0 => Vec::new(),
        1..RUN => vec![hash(&tokens)],
        _ => tokens.windows(RUN).map(hash).collect(),
    };
    runs.sort_unstable();
    runs.dedup();
    runs
}

/// |A ∩ B| / |A ∪ B| of ascending sets; two empty ones are equal.
fn jaccard(a: &[u64], b: &[u64]) -> f64 {
    if a.is_empty() && b.is_empty() {
        return 1.0;
    }
    let both = a.iter().filter(|run| b.binary_search(run).is_ok()).count();
    both as f64 / (a.len() + b.len() - both) as f64
}

/// True where two codes differ in names only: token by token, the same marks, and words that stand for one another
/// throughout. A word that both have stands for itself, so keywords and common names must agree. Prose (fewer than a
/// quarter of marks) and code of fewer than ten tokens is nobody's copy.
pub fn is_renamed(a: &str, b: &str) -> bool {
    let (a, b): (Vec<&str>, Vec<&str>) = (tokens(a).collect(), tokens(b).collect());
    let marks = a.iter().filter(|token| !is_word(token)).count();
    if a.len() != b.len() || a.len() < 10 || marks * 4 < a.len() {
        return false;
    }
    let words = |tokens: &[&'_ str]| -> HashSet<String> {
        tokens.iter().filter(|token| is_word(token)).map(|token| (*token).to_owned()).collect()
    };
    let (of_a, of_b) = (words(&a), words(&b));
    let (mut forth, mut back) = (HashMap::new(), HashMap::new());
    a.iter().zip(&b).all(|(a, b)| match (is_word(a), is_word(b)) {
        (true, true) if of_b.contains(*a) || of_a.contains(*b) => a == b,
        (true, true) => *forth.entry(*a).or_insert(*b) == *b && *back.entry(*b).or_insert(*a) == *a,
        (false, false) => a == b,
        _ => false,
    })
}

fn is_word(token: &str) -> bool {
    token.starts_with(is_word_char)
}

fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn tokens(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start();
        let first = rest.chars().next()?;
        let word = || rest.find(|c| !is_word_char(c)).unwrap_or(rest.len());
        let end = if is_word_char(first) { word() } else { first.len_utf8() };
        let (token, after) = rest.split_at(end);
        rest = after;
        Some(token)
    })
}

#[cfg(test)]
mod tests {
    use wb_core::Pair;

    use super::*;

    #[test]
    fn similarity_by_hand() {
        // Seven tokens are three runs; the other text shares the first two of its own three: 2 / 4.
        let text = |at: usize| ["a b c d e f g", "a b c d e f h", " ", "x", "x y", "(a) b c d e f g"][at].to_owned();
        let pairs: Vec<Pair> = (0..6)
            .map(|at| Pair { id: at.to_string(), anchor: at.to_string(), positive: text(at), ..Pair::default() })
            .collect();
        let texts = MiningTexts::new(&pairs, &[]).unwrap();
        let at = |threshold| {
            let copies = Copies::new(&texts, threshold);
            move |a, b| copies.are(a, b)
        };
        let half = at(0.5);
        assert!(half(0, 1) && half(1, 0) && half(0, 0) && half(2, 2) && half(3, 3));
        assert!(!half(3, 4) && !half(2, 3));
        assert!(!at(0.51)(0, 1));
        assert!(!at(0.0)(0, 0), "off");
        // ( a ) b c d e f g: five runs, one of them b c d e f, one c d e f g; 2 / 6.
        assert!(at(0.33)(0, 5) && !at(0.34)(0, 5));
    }

    #[test]
    fn other_names_are_seen_through_and_other_code_is_not() {
        let code = "def add(a, b): return a + b * (a - 1)";
        assert!(is_renamed(code, "def plus(x, y): return x + y * (x - 1)"));
        assert!(is_renamed(code, code));
        // Another use of a name, another mark, a name in another's place.
        assert!(!is_renamed(code, "def plus(x, y): return x + y * (y - 1)"));
        assert!(!is_renamed(code, "def plus(x, y): return x + y / (x - 1)"));
        assert!(!is_renamed(code, "def a(add, b): return add + b * (add - 1)"));
        assert!(!is_renamed("f(a)", "g(b)"), "too short to tell");
        let prose = "the first of the words in a long sentence about nothing at all";
        assert!(!is_renamed(prose, "one second or one letter by one short paragraph under something by none"));
    }
}
