//! Openings of doc comments: one that begins with a noun or a verb can be read alone, one that answers a question
//! cannot.

use crate::tidy::sources;

/// Openings that are neither a noun nor a verb.
const CONTINUATIONS: [&str; 33] = [
    "What", "Whether", "Who", "Which", "How", "Why", "When", "Where", "The same", "As ", "Of ", "Those", "That",
    "This", "These", "It ", "They", "So ", "If ", "For ", "To ", "By ", "In ", "On ", "At ", "With", "And ", "Or ",
    "But ", "Not ", "No ", "All that", "Same",
];

/// Such openings that each crate still has. The numbers only fall.
const ALLOWED: [(&str, usize); 15] = [
    ("wb", 27),
    ("wb-bench", 93),
    ("wb-code", 109),
    ("wb-core", 109),
    ("wb-data", 133),
    ("wb-encoder", 72),
    ("wb-fake-hub", 6),
    ("wb-hub", 39),
    ("wb-llm", 26),
    ("wb-pipeline", 16),
    ("wb-report", 6),
    ("wb-retrieval", 174),
    ("wb-sql", 215),
    ("wb-synth", 286),
    ("wb-text2sql", 147),
];

#[test]
fn doc_comments_begin_with_a_noun_or_a_verb() {
    let all = sources();
    for (name, allowed) in ALLOWED {
        let of_crate = format!("workbench/{name}/src/");
        let found: Vec<String> = all
            .iter()
            .filter(|(path, _)| path.starts_with(&of_crate))
            .flat_map(|(path, text)| {
                continuations(text).into_iter().map(move |(line, opening)| format!("{path}:{line}: {opening}"))
            })
            .collect();
        let count = found.len();
        assert!(
            count <= allowed,
            "{name}: {count} doc comments begin with a question or a continuation, {allowed} are allowed: {found:#?}"
        );
        assert!(
            count == allowed,
            "{name}: only {count} such doc comments are left, lower ALLOWED from {allowed} to {count}"
        );
    }
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
