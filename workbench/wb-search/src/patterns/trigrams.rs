//! Three bytes in a row, by which files that cannot match a regular expression are passed over.
//!
//! Source: Russ Cox, Regular Expression Matching with a Trigram Index (2012). Letters count in lower case, so that one list
//! of files serves patterns that tell cases apart and those that do not.

use regex_syntax::hir::{Class, Hir, HirKind};

/// Three bytes, the first of them highest.
pub(crate) type Trigram = u32;

/// Parts of an alternation, beyond which it says nothing.
const MOST_PARTS: usize = 64;

/// The trigrams that a file must have for a pattern to match one of its lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Needed {
    /// Any file may match.
    Nothing,
    /// Files with this one.
    One(Trigram),
    /// Files with all of these.
    All(Vec<Needed>),
    /// Files with one of these.
    Any(Vec<Needed>),
}

impl Needed {
    /// Trigrams of a pattern.
    pub(crate) fn by(pattern: &Hir) -> Self {
        let mut all = Vec::new();
        let mut run = Vec::new();
        collect(pattern, &mut run, &mut all);
        end(&mut run, &mut all);
        together(all)
    }

    /// Files that may match, ascending; `files` has those of a trigram. Nothing where any file may.
    pub(crate) fn files<E>(&self, files: &impl Fn(Trigram) -> Result<Vec<u32>, E>) -> Result<Option<Vec<u32>>, E> {
        Ok(match self {
            Self::Nothing => None,
            Self::One(trigram) => Some(files(*trigram)?),
            Self::All(parts) => {
                let mut left: Option<Vec<u32>> = None;
                for part in parts {
                    let Some(found) = part.files(files)? else { continue };
                    left = Some(match left {
                        Some(left) => left.into_iter().filter(|file| found.binary_search(file).is_ok()).collect(),
                        None => found,
                    });
                }
                left
            }
            Self::Any(parts) => {
                let mut all = Vec::new();
                for part in parts {
                    let Some(found) = part.files(files)? else { return Ok(None) };
                    all.extend(found);
                }
                all.sort_unstable();
                all.dedup();
                Some(all)
            }
        })
    }
}

/// Adds what a part of a pattern needs; `run` are the bytes that stand directly before what follows.
fn collect(pattern: &Hir, run: &mut Vec<u8>, all: &mut Vec<Needed>) {
    match pattern.kind() {
        HirKind::Literal(literal) => run.extend_from_slice(&literal.0),
        HirKind::Concat(parts) => parts.iter().for_each(|part| collect(part, run, all)),
        HirKind::Capture(capture) => collect(&capture.sub, run, all),
        // Takes no bytes: what is before it stands directly before what is behind it.
        HirKind::Look(_) | HirKind::Empty => {}
        HirKind::Class(class) => match one_letter(class) {
            Some(letter) => run.push(letter),
            None => end(run, all),
        },
        HirKind::Repetition(repetition) => {
            end(run, all);
            if repetition.min > 0 {
                all.push(Needed::by(&repetition.sub));
            }
        }
        HirKind::Alternation(parts) => {
            end(run, all);
            let parts: Vec<Needed> = parts.iter().take(MOST_PARTS + 1).map(Needed::by).collect();
            if parts.len() <= MOST_PARTS && !parts.contains(&Needed::Nothing) {
                all.push(Needed::Any(parts));
            }
        }
    }
}

/// Ends a run of bytes: its trigrams are needed.
fn end(run: &mut Vec<u8>, all: &mut Vec<Needed>) {
    run.make_ascii_lowercase();
    all.extend(run.windows(3).map(|three| Needed::One(trigram([three[0], three[1], three[2]]))));
    run.clear();
}

fn together(mut all: Vec<Needed>) -> Needed {
    all.retain(|part| *part != Needed::Nothing);
    match all.len() {
        0 => Needed::Nothing,
        1 => all.remove(0),
        _ => Needed::All(all),
    }
}

/// The letter in lower case, where a class is one letter of ASCII in both cases: that is how a pattern looks that does not
/// tell them apart.
fn one_letter(class: &Class) -> Option<u8> {
    let mut letters = Vec::new();
    match class {
        Class::Unicode(class) => {
            for range in class.ranges() {
                let (from, to) = (u8::try_from(range.start()).ok()?, u8::try_from(range.end()).ok()?);
                letters.push((from, to));
            }
        }
        Class::Bytes(class) => letters.extend(class.ranges().iter().map(|range| (range.start(), range.end()))),
    }
    match letters[..] {
        [(a, b), (c, d)] if a == b && c == d && a.is_ascii() && a.to_ascii_lowercase() == c => Some(c),
        _ => None,
    }
}

fn trigram([a, b, c]: [u8; 3]) -> Trigram {
    u32::from(a) << 16 | u32::from(b) << 8 | u32::from(c)
}

/// The trigrams of a text, as often as they stand there; none that goes over the end of a line.
pub(crate) fn trigrams(text: &str) -> impl Iterator<Item = Trigram> {
    let lines = text.as_bytes().split(|byte| *byte == b'\n');
    lines
        .flat_map(|line| line.windows(3))
        .map(|three| trigram([three[0], three[1], three[2]].map(|byte| byte.to_ascii_lowercase())))
}

/// Trigrams of texts, with the memory that it takes to find each once.
pub(crate) struct TrigramFinder {
    seen: Vec<u64>,
}

impl TrigramFinder {
    pub(crate) fn new() -> Self {
        Self { seen: vec![0; 1 << 18] }
    }

    /// The trigrams of a text, each once; none that goes over the end of a line.
    pub(crate) fn of(&mut self, text: &str) -> Vec<Trigram> {
        let mut found = Vec::new();
        for at in trigrams(text) {
            let (word, bit) = (&mut self.seen[at as usize / 64], 1 << (at % 64));
            if *word & bit == 0 {
                *word |= bit;
                found.push(at);
            }
        }
        found.iter().for_each(|at| self.seen[*at as usize / 64] = 0);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needed(pattern: &str) -> String {
        fn told(needed: &Needed) -> String {
            let parts = |parts: &[Needed], by: &str| parts.iter().map(told).collect::<Vec<_>>().join(by);
            match needed {
                Needed::Nothing => "-".into(),
                Needed::One(at) => [16, 8, 0].map(|shift| char::from((at >> shift) as u8)).iter().collect(),
                Needed::All(all) => format!("({})", parts(all, " ")),
                Needed::Any(any) => format!("({})", parts(any, "|")),
            }
        }
        told(&Needed::by(&regex_syntax::parse(pattern).unwrap()))
    }

    #[test]
    fn needed_trigrams_are_those_of_every_match() {
        for (pattern, expected) in [
            ("Cache", "(cac ach che)"),
            ("ab", "-"),
            (r"fn \w+_cache\(", "(fn  _ca cac ach che he()"),
            ("(?i)abc", "abc"),
            // The long s and the Kelvin sign are s and k in another case.
            ("(?i)ask_abc", "(_ab abc)"),
            (r"\babc\b", "abc"),
            ("a(b)c", "abc"),
            ("(abc)?def", "def"),
            ("(abc)+def", "(abc def)"),
            ("abc|def", "(abc|def)"),
            ("abc|d", "-"),
            ("x(abc|def)y", "(abc|def)"),
            (".*", "-"),
            ("[ab]cde", "cde"),
        ] {
            assert_eq!(needed(pattern), expected, "{pattern}");
        }
    }

    #[test]
    fn files_are_joined_and_met() {
        let files = |at: Trigram| Ok::<_, ()>(if at == trigram(*b"abc") { vec![1, 3, 5] } else { vec![2, 3] });
        let of = |pattern: &str| Needed::by(&regex_syntax::parse(pattern).unwrap()).files(&files).unwrap();
        assert_eq!(of("abc.*def"), Some(vec![3]));
        assert_eq!(of("abc|def"), Some(vec![1, 2, 3, 5]));
        assert_eq!(of("x"), None);
        assert_eq!(TrigramFinder::new().of("aBcabc\nx\nyz"), [b"abc", b"bca", b"cab"].map(|three| trigram(*three)));
    }
}
