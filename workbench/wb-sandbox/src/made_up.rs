//! A made-up source tree: three hundred documented functions in twenty crates, the same on every machine.

use std::{fmt::Write, fs, path::Path};

const CRATES: [&str; 20] = [
    "alder", "birch", "cedar", "dogwood", "elm", "fir", "ginkgo", "hazel", "ivy", "juniper", "kapok", "larch", "maple",
    "nutmeg", "oak", "pine", "quince", "rowan", "spruce", "teak",
];
const VERBS: [&str; 15] = [
    "count", "merge", "parse", "render", "rotate", "compress", "validate", "shuffle", "encode", "resolve", "sample",
    "balance", "truncate", "hash", "align",
];
const NOUNS: [&str; 24] = [
    "ledger", "packet", "matrix", "sentence", "voucher", "planet", "recipe", "socket", "triangle", "invoice", "melody",
    "glacier", "cursor", "passport", "harvest", "signal", "orchard", "beacon", "quarry", "lantern", "tunnel", "anchor",
    "saddle", "mirror",
];
const ADJECTIVES: [&str; 12] = [
    "empty", "nested", "recent", "broken", "signed", "hidden", "sorted", "distant", "frozen", "rounded", "shared",
    "spare",
];

/// Words drawn by a linear congruence: enough for made-up prose.
struct Words(u64);

impl Words {
    fn pick<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len())]
    }

    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }
}

/// Writes the tree.
pub(crate) fn tree(root: &Path) {
    let mut words = Words(7);
    for name in CRATES {
        let folder = root.join(name);
        fs::create_dir_all(folder.join("src")).unwrap();
        fs::write(folder.join("Cargo.toml"), format!("[package]\nname = \"{name}\"\nversion = \"1.0.0\"\n")).unwrap();
        let functions: Vec<String> = VERBS.iter().map(|verb| function(verb, &mut words)).collect();
        fs::write(folder.join("src/lib.rs"), functions.join("\n")).unwrap();
    }
}

fn function(verb: &str, words: &mut Words) -> String {
    let (what, with) = (words.pick(&NOUNS), words.pick(&NOUNS));
    let (how, rest) = (words.pick(&ADJECTIVES), words.pick(&ADJECTIVES));
    let mut text = String::new();
    writeln!(text, "/// Tries to {verb} every {how} {what} of the {with}, and leaves each {rest} one as it was.")
        .unwrap();
    writeln!(text, "pub fn {verb}_{how}_{what}({with}s: &mut Vec<{}>, limit: usize) -> usize {{", capital(what))
        .unwrap();
    writeln!(text, "    let mut done = 0;").unwrap();
    for _ in 0..3 + words.below(4) {
        let (noun, adjective, number) = (words.pick(&NOUNS), words.pick(&ADJECTIVES), words.below(900));
        match words.below(5) {
            0 => writeln!(text, "    let {noun} = {with}s.iter().filter(|{what}| {what}.is_{adjective}()).count();"),
            1 => writeln!(text, "    if {with}s.len() > {number} {{ {with}s.truncate(limit.min({number})); }}"),
            2 => writeln!(text, "    for {noun} in {with}s.iter_mut() {{ {noun}.{verb}({number}); done += 1; }}"),
            3 => writeln!(text, "    {with}s.retain(|{noun}| !{noun}.{adjective} || {noun}.weight < {number});"),
            _ => writeln!(
                text,
                "    done += {with}s.drain(..limit % {}).map({}::{verb}).count();",
                number + 1,
                capital(noun)
            ),
        }
        .unwrap();
    }
    writeln!(text, "    done\n}}").unwrap();
    text
}

fn capital(word: &str) -> String {
    word[..1].to_uppercase() + &word[1..]
}
