//! Names of public types, each of which stands for one thing in the whole project: who reads it anywhere knows what
//! it is.

use std::collections::BTreeMap;

use crate::sources::sources;

/// Names that the judge of SQL has for itself beside those of all crates, as its worker processes send no hints.
const OF_THE_JUDGE: [&str; 2] = ["Error", "Result"];

#[test]
fn a_public_type_has_a_name_of_its_own() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (path, text) in sources() {
        if path.contains("/src/") && !path.ends_with("/tests.rs") && !path.contains("/tests/") {
            for (line, name) in public_types(&text) {
                places.entry(name).or_default().push(format!("{path}:{line}"));
            }
        }
    }
    assert!(places.len() > 800, "{} names", places.len());
    places.retain(|name, all| all.len() > 1 && !OF_THE_JUDGE.contains(&name.as_str()));
    assert!(places.is_empty(), "rename all but one of each to the thing that it is: {places:#?}");
}

/// Types that are `pub`, at any indentation, with their lines; those of test modules are left out.
fn public_types(text: &str) -> Vec<(usize, String)> {
    let (mut found, mut lines) = (Vec::new(), text.lines().zip(1..).peekable());
    while let Some((line, number)) = lines.next() {
        let indentation = line.len() - line.trim_start().len();
        if line.trim() == "#[cfg(test)]" && lines.peek().is_some_and(|(next, _)| next.ends_with('{')) {
            let end = format!("{}}}", " ".repeat(indentation));
            lines.find(|(line, _)| *line == end);
        }
        let kinds = ["struct ", "enum ", "trait ", "type ", "union "];
        let item = line.trim_start().strip_prefix("pub ").map(|item| item.strip_prefix("unsafe ").unwrap_or(item));
        let Some(rest) = item.and_then(|item| kinds.iter().find_map(|kind| item.strip_prefix(kind))) else { continue };
        let name = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
        found.push((number, name.to_owned()));
    }
    found
}

#[test]
fn types_of_tests_and_of_one_crate_are_left_out() {
    let text = "pub struct A<T> {}\npub(crate) enum B {}\nmod inner {\n    pub type C = A;\n    #[cfg(test)]\n    mod tests {\n        \
                pub struct D;\n    }\n    pub trait E: F {}\n}\n#[cfg(test)]\nmod tests;\npub enum G {}\n";
    let found: Vec<(usize, String)> = public_types(text);
    let found: Vec<(usize, &str)> = found.iter().map(|(line, name)| (*line, name.as_str())).collect();
    assert_eq!(found, [(1, "A"), (4, "C"), (9, "E"), (13, "G")]);
}
