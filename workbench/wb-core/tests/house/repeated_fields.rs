//! Fields that are listed once: two structs of a YAML, a record or a command line that share four fields by name and type
//! are one thing written twice.

use std::collections::BTreeSet;

use crate::sources::sources;

/// Fields that two structs may have in common by chance.
const BY_CHANCE: usize = 3;

/// Pairs that are known, by crate and name. `#[serde(flatten)]` would take their positions and their refusal of unknown
/// keys away; the list only gets shorter.
const KNOWN: [(&str, &str); 12] = [
    ("wb-core Origin", "wb-data Fields"),
    ("wb-core Pair", "wb-core Triple"),
    ("wb-core PairedTest", "wb-core ProtocolScore"),
    ("wb-core StageRecord", "wb-encoder StageConfig"),
    ("wb-data Fields", "wb-data TextFields"),
    ("wb-data Fields", "wb-synth Columns"),
    ("wb-data PrepareConfig", "wb-pipeline DataConfig"),
    ("wb-data TextFields", "wb-synth Columns"),
    ("wb-synth FileSnippets", "wb-synth HtmlSnippets"),
    ("wb-synth FileSnippets", "wb-synth MarkdownSnippets"),
    ("wb-synth HtmlSnippets", "wb-synth MarkdownSnippets"),
    ("wb-synth Idea", "wb-synth TaskType"),
];

#[test]
fn no_two_structs_list_the_same_fields() {
    let mut structs = Vec::new();
    for (name, text) in sources() {
        let is_test = name.contains("/tests/") || name.ends_with("tests.rs");
        let of_crate = name.split('/').nth(1).unwrap();
        let before_tests = text.split("#[cfg(test)]").next().unwrap();
        if !is_test {
            structs
                .extend(read_structs(before_tests).into_iter().map(|(name, all)| (format!("{of_crate} {name}"), all)));
        }
    }
    assert!(structs.len() > 200, "{} structs", structs.len());
    let found = alike(&structs);
    let known: BTreeSet<(String, String)> = KNOWN.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
    let new: Vec<_> = found.difference(&known).collect();
    assert!(
        new.is_empty(),
        "more than {BY_CHANCE} fields stand in both, put them into a struct of their own: {new:#?}"
    );
    let gone: Vec<_> = known.difference(&found).collect();
    assert!(gone.is_empty(), "no longer alike, take them from KNOWN: {gone:#?}");
}

/// Pairs of structs with more fields in common than there are by chance, each pair and all of them in order.
fn alike(structs: &[(String, BTreeSet<String>)]) -> BTreeSet<(String, String)> {
    let mut found = BTreeSet::new();
    for (at, (name, fields)) in structs.iter().enumerate() {
        for (other, theirs) in &structs[at + 1..] {
            if fields.intersection(theirs).count() > BY_CHANCE {
                found.insert((name.min(other).clone(), name.max(other).clone()));
            }
        }
    }
    found
}

/// Structs at the left margin that are read from files or command lines, with their fields as `name: type`.
fn read_structs(text: &str) -> Vec<(String, BTreeSet<String>)> {
    let mut found = Vec::new();
    for (at, keyword) in text.match_indices("struct ") {
        let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
        let visibility = &text[line..at];
        let is_item = visibility.is_empty() || visibility.starts_with("pub");
        let Some((head, body)) = text[at + keyword.len()..].split_once(" {\n") else { continue };
        let above = text[..line].rsplit("\n\n").next().unwrap();
        let derives = above.split("#[derive(").nth(1).and_then(|rest| rest.split(")]").next()).unwrap_or_default();
        let is_read = derives.contains("Deserialize") || derives.contains("Args");
        if !is_item || !is_read || head.contains(['\n', ';', '(']) {
            continue;
        }
        let fields = body.split("\n}").next().unwrap().lines().filter_map(field).collect();
        found.push((head.split('<').next().unwrap().to_owned(), fields));
    }
    found
}

/// `name: type` of a line, without its visibility.
fn field(line: &str) -> Option<String> {
    let line = line.trim();
    if line.starts_with("//") || line.starts_with('#') {
        return None;
    }
    let without = ["pub ", "pub(crate) ", "pub(super) "].iter().find_map(|visibility| line.strip_prefix(visibility));
    let field = without.unwrap_or(line).strip_suffix(',')?;
    field.contains(": ").then(|| field.to_owned())
}

#[test]
fn two_roots_of_one_yaml_are_found() {
    let fields = "    /// Names it.\n    pub name: String,\n    pub seed: Seed,\n    #[serde(default)]\n    pub llm: Option<Llm>,\n";
    let root = |name: &str, derive: &str, data: &str| {
        format!("/// A root.\n#[derive(Debug, {derive})]\npub struct {name} {{\n{fields}    pub data: {data},\n}}\n\n")
    };
    let found = |text: &str| alike(&read_structs(text)).len();
    let first = root("First", "Deserialize", "Data");
    assert_eq!(found(&[first.clone(), root("Second", "Args", "Data")].concat()), 1);
    assert_eq!(found(&[first.clone(), root("Second", "Deserialize", "Option<Data>")].concat()), 0, "three by chance");
    assert_eq!(found(&[first, root("Second", "Clone", "Data")].concat()), 0, "nobody writes the second");
}
