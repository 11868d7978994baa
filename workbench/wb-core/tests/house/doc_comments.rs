//! Openings of doc comments: one that begins with a noun or a verb can be read alone, one that answers a question
//! cannot.

use crate::sources::sources;

/// Openings that are neither a noun nor a verb.
const CONTINUATIONS: [&str; 33] = [
    "What", "Whether", "Who", "Which", "How", "Why", "When", "Where", "The same", "As ", "Of ", "Those", "That",
    "This", "These", "It ", "They", "So ", "If ", "For ", "To ", "By ", "In ", "On ", "At ", "With", "And ", "Or ",
    "But ", "Not ", "No ", "All that", "Same",
];

#[test]
fn doc_comments_begin_with_a_noun_or_a_verb() {
    let all = sources();
    let of_crates: Vec<_> = all.iter().filter(|(path, _)| path.contains("/src/")).collect();
    assert!(of_crates.len() > 500, "{} files", of_crates.len());
    let found: Vec<String> = of_crates
        .into_iter()
        .flat_map(|(path, text)| {
            continuations(text).into_iter().map(move |(line, opening)| format!("{path}:{line}: {opening}"))
        })
        .collect();
    assert!(found.is_empty(), "doc comments that begin with a question or a continuation: {found:#?}");
}

/// First lines of doc comments that begin with one of [`CONTINUATIONS`], with their numbers.
fn continuations(text: &str) -> Vec<(usize, &str)> {
    let comment = |line: &'_ str| -> Option<usize> {
        let text = line.trim_start();
        let rest = text.strip_prefix("///").or_else(|| text.strip_prefix("//!"))?;
        Some(line.len() - rest.strip_prefix(' ').unwrap_or(rest).len())
    };
    let mut before = None;
    let mut found = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        let now = comment(line);
        if let (None, Some(at)) = (before, now)
            && CONTINUATIONS.iter().any(|word| line[at..].starts_with(word))
        {
            found.push((number, &line[at..]));
        }
        before = now;
    }
    found
}

#[test]
fn openings_are_told_from_lines_that_go_on() {
    let text = "//! What it is.\n\n/// A thing.\n/// What goes on.\nfn a() {}\n    /// How many.\n// What is no doc comment.\n";
    assert_eq!(continuations(text), [(1, "What it is."), (6, "How many.")]);
}
