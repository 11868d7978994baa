//! Cuts code in two, at the beginning of a line where there is one in range.

use rand::{Rng, RngExt};
use wb_data::minhash::tokens;

/// Fewer tokens than this are not cut.
const LEAST: usize = 10;

/// The position of a cut, in bytes: `range[0]` to `range[1]` of the tokens stand before it.
///
/// Tokens are words and marks as in [`tokens`]; CodeR cuts at 40 to 70 % of a tokenizer's tokens, anywhere in a line.
/// `None` for texts of fewer than ten tokens, and where no boundary lies in the range.
pub fn cut(text: &str, range: [f64; 2], rng: &mut impl Rng) -> Option<usize> {
    // Byte offsets of the beginnings of tokens.
    let base = text.as_ptr() as usize;
    let starts: Vec<usize> = tokens(text).map(|token| token.as_ptr() as usize - base).collect();
    if starts.len() < LEAST {
        return None;
    }
    let fits = |before: usize| {
        let share = before as f64 / starts.len() as f64;
        share >= range[0] && share <= range[1]
    };
    let line_of = |place: usize| text[..place].rfind('\n').map_or(0, |at| at + 1);
    let opens_line = |place: usize| text[line_of(place)..place].trim().is_empty();
    let places: Vec<usize> = (1..starts.len()).filter(|before| fits(*before)).map(|before| starts[before]).collect();
    let lines: Vec<usize> = places.iter().copied().filter(|place| opens_line(*place)).collect();
    let among = if lines.is_empty() { &places } else { &lines };
    if among.is_empty() {
        return None;
    }
    let place = among[rng.random_range(0..among.len())];
    // Indentation belongs to the line that it indents.
    Some(if line_of(place) > 0 && opens_line(place) { line_of(place) } else { place })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use wb_core::Seed;

    use super::*;

    #[test]
    fn code_is_cut_at_a_line() {
        let code = "fn add(a: u8, b: u8) -> u8 {\n    let sum = a + b;\n    let twice = sum + sum;\n    twice\n}\n";
        for at in 0..50 {
            let cut = cut(code, [0.4, 0.7], &mut Seed(at).stream("cut")).unwrap();
            assert!(code[..cut].ends_with('\n'), "{:?}", &code[..cut]);
        }
        assert_eq!(cut("a b c", [0.4, 0.7], &mut Seed(0).stream("cut")), None);
    }

    proptest! {
        #[test]
        fn both_parts_make_the_text_and_shares_are_in_range(
            text in "([a-zé]{1,6}|[(){};=]|\n|    | ){0,80}", from in 0.1..0.5_f64, more in 0.05..0.4_f64, seed: u64
        ) {
            let range = [from, from + more];
            let all = tokens(&text).count();
            if let Some(at) = cut(&text, range, &mut Seed(seed).stream("cut")) {
                let (before, after) = text.split_at(at);
                prop_assert_eq!(tokens(before).count() + tokens(after).count(), all);
                let share = tokens(before).count() as f64 / all as f64;
                prop_assert!(share >= range[0] && share <= range[1], "{} of {:?}", share, range);
                prop_assert!(!before.trim().is_empty() && !after.trim().is_empty());
            } else {
                let share = |n: usize| n as f64 / all as f64;
                prop_assert!(all < LEAST || !(1..all).any(|n| share(n) >= range[0] && share(n) <= range[1]));
            }
        }
    }
}
