//! Byte-pair merges out of word counts: the most frequent pair first, ties by the lower token ids.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap, HashMap, HashSet},
};

type Pair = (u32, u32);

/// The byte-level alphabet of GPT-2 in order of character: each of the 256 bytes as a visible character.
/// Printable bytes stand for themselves, the others for U+0100 and on.
pub(super) fn alphabet() -> Vec<char> {
    let printable = |byte: u32| matches!(byte, 0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff);
    let moved = (0..256u32).filter(|byte| !printable(*byte)).count() as u32;
    let characters = (0..256u32).filter(|byte| printable(*byte)).chain(0x100..0x100 + moved);
    characters.filter_map(char::from_u32).collect()
}

/// Learns merges until there are `vocab_size` tokens: `special` ones, the alphabet, and one for each merge.
pub(super) fn learn(
    counts: &HashMap<String, u64>,
    special: usize,
    vocab_size: usize,
    min_frequency: u64,
) -> Vec<(String, String)> {
    let alphabet = alphabet();
    let ids: HashMap<char, u32> = alphabet.iter().enumerate().map(|(i, c)| (*c, (special + i) as u32)).collect();
    // Token texts by id; special tokens are never merged, their texts do not matter.
    let mut tokens: Vec<String> = vec![String::new(); special];
    tokens.extend(alphabet.into_iter().map(String::from));
    let mut known: HashMap<String, u32> =
        tokens.iter().enumerate().map(|(id, text)| (text.clone(), id as u32)).collect();

    let sorted: BTreeMap<&str, u64> = counts.iter().map(|(word, count)| (word.as_str(), *count)).collect();
    let mut words: Vec<(Vec<u32>, u64)> = sorted
        .into_iter()
        .map(|(word, count)| (word.chars().filter_map(|c| ids.get(&c).copied()).collect(), count))
        .collect();
    let mut frequency: HashMap<Pair, u64> = HashMap::new();
    let mut places: HashMap<Pair, Vec<u32>> = HashMap::new();
    for (at, (symbols, count)) in words.iter().enumerate() {
        for pair in pairs(symbols) {
            *frequency.entry(pair).or_default() += count;
            places.entry(pair).or_default().push(at as u32);
        }
    }
    let mut queue: BinaryHeap<(u64, Reverse<Pair>)> =
        frequency.iter().map(|(pair, count)| (*count, Reverse(*pair))).collect();

    let mut merges = Vec::new();
    while tokens.len() < vocab_size {
        let Some((count, Reverse(pair))) = queue.pop() else { break };
        let now = frequency.get(&pair).copied().unwrap_or(0);
        if now != count {
            // The pair lost places to other merges since it was queued.
            if now > 0 {
                queue.push((now, Reverse(pair)));
            }
            continue;
        }
        if count < min_frequency.max(1) {
            break;
        }
        let (left, right) = (&tokens[pair.0 as usize], &tokens[pair.1 as usize]);
        let text = format!("{left}{right}");
        merges.push((left.clone(), right.clone()));
        // There may be two ways to the same text (a + bc, ab + c): both lead to one token.
        let merged = *known.entry(text.clone()).or_insert(tokens.len() as u32);
        if merged as usize == tokens.len() {
            tokens.push(text);
        }
        let mut changed: HashSet<Pair> = HashSet::new();
        let mut last = None;
        for at in places.remove(&pair).unwrap_or_default() {
            // A word that holds the pair twice is listed twice, one after the other.
            if last.replace(at) == Some(at) {
                continue;
            }
            let (symbols, count) = &mut words[at as usize];
            for old in pairs(symbols) {
                if let Some(frequency) = frequency.get_mut(&old) {
                    *frequency = frequency.saturating_sub(*count);
                }
            }
            merge(symbols, pair, merged);
            for new in pairs(symbols) {
                *frequency.entry(new).or_default() += *count;
                if new.0 == merged || new.1 == merged {
                    places.entry(new).or_default().push(at);
                    changed.insert(new);
                }
            }
        }
        queue.extend(changed.into_iter().map(|pair| (frequency[&pair], Reverse(pair))));
    }
    merges
}

fn pairs(symbols: &[u32]) -> impl Iterator<Item = Pair> {
    symbols.windows(2).map(|w| (w[0], w[1]))
}

/// Replaces every occurrence of the pair, from the left.
fn merge(symbols: &mut Vec<u32>, pair: Pair, merged: u32) {
    let mut write = 0;
    let mut read = 0;
    while read < symbols.len() {
        let hit = read + 1 < symbols.len() && (symbols[read], symbols[read + 1]) == pair;
        symbols[write] = if hit { merged } else { symbols[read] };
        write += 1;
        read += if hit { 2 } else { 1 };
    }
    symbols.truncate(write);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn learned(words: &[(&str, u64)], vocab_size: usize) -> Vec<String> {
        let counts = words.iter().map(|(word, count)| ((*word).to_owned(), *count)).collect();
        learn(&counts, 0, vocab_size, 2).into_iter().map(|(a, b)| format!("{a}+{b}")).collect()
    }

    #[test]
    fn the_most_frequent_pair_comes_first() {
        // e+s and s+t stand 9 times (6 + 3), w+e 8, l+o and o+w 7. The tie goes to the lower ids: e+s.
        let words = [("low", 5), ("lower", 2), ("newest", 6), ("widest", 3)];
        assert_eq!(learned(&words, 261), ["e+s", "es+t", "l+o", "lo+w", "e+w"]);
    }

    #[test]
    fn overlapping_pairs_merge_from_the_left() {
        assert_eq!(learned(&[("aaa", 3)], 258), ["a+a", "aa+a"]);
        assert_eq!(learned(&[("aaaa", 3)], 258), ["a+a", "aa+aa"]);
        assert_eq!(learned(&[("ab", 1)], 258), [""; 0]);
    }

    #[test]
    fn the_alphabet_has_all_bytes_once() {
        let alphabet = alphabet();
        assert_eq!(alphabet.len(), 256);
        assert!(alphabet.is_sorted());
        assert_eq!((alphabet[0], alphabet[255]), ('!', '\u{143}'));
    }
}
