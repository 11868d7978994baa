//! The whole chain: every pair is accounted for, and the same input gives the same output.

use std::collections::BTreeMap;

use wb_core::{Pair, Seed, fingerprint::Fingerprint, progress::silent};
use wb_data::{PrepareConfig, PreparedPairs, SourceRead, prepare, store};

use crate::support::{Made, pair};

fn read(name: &str, pairs: Vec<Pair>) -> SourceRead {
    SourceRead {
        name: name.into(),
        pairs,
        skipped: BTreeMap::new(),
        fingerprint: Fingerprint::of_bytes(name.as_bytes()),
    }
}

fn pairs(seed: u64, count: usize) -> Vec<Pair> {
    let mut made = Made(seed);
    (0..count)
        .map(|at| {
            let anchor = format!("describes the function that does {}", made.code(4).join(" "));
            let positive = format!("fn f{at}() {{ {} }}", made.code(40).join(" "));
            let mut pair = pair(&format!("x:{at}"), &format!("crate{}", made.below(60)), &anchor, &positive);
            pair.language = if at % 5 == 0 { "python".into() } else { "rust".into() };
            pair
        })
        .collect()
}

fn sources() -> Vec<SourceRead> {
    let mut first = pairs(1, 400);
    first.push(pair("short", "g", "short", "fn f() {}"));
    let copied = first[0].clone();
    let mut second = pairs(2, 200);
    second.push(Pair { id: "copy".into(), anchor: "quite another description of it".into(), ..copied });
    vec![read("one", first), read("two", second)]
}

#[test]
fn every_pair_is_accounted_for() {
    let prepared = prepare(sources(), &PrepareConfig::default(), Seed(1), &mut silent).unwrap();
    let card = &prepared.card;
    let read: u64 = card.sources.iter().map(|source| source.pairs).sum();
    let mut now = read;
    for gate in card.gates.iter().filter(|gate| gate.name != "leaks") {
        assert_eq!(gate.before, now, "{}", gate.name);
        assert_eq!(gate.before - gate.after, gate.dropped.values().sum::<u64>(), "{}", gate.name);
        now = gate.after;
    }
    let leaked: u64 = card.gates.iter().filter(|gate| gate.name == "leaks").map(|gate| gate.before - gate.after).sum();
    let left = prepared.train.len() + prepared.validation.len() + prepared.test.len();
    assert_eq!(left as u64, now - leaked);
    assert_eq!(card.splits.values().map(|split| split.pairs).sum::<u64>(), left as u64);
    assert_eq!(card.licenses.get("unknown"), Some(&(left as u64)));
    let names: Vec<&str> = card.gates.iter().map(|gate| gate.name.as_str()).collect();
    assert_eq!(names, ["filter", "exact duplicates", "same anchor", "near duplicates", "leaks"]);
    assert!(card.leaks.iter().all(|leak| leak.count == 0 && leak.of == prepared.test.len() as u64), "{:?}", card.leaks);
    // The second source's ids collide with the first's and are told apart.
    let all = [&prepared.train, &prepared.validation, &prepared.test];
    assert!(all.iter().flat_map(|set| set.pairs()).any(|pair| pair.id == "x:3#2"));
    assert!(all.iter().flat_map(|set| set.pairs()).all(|pair| pair.id != "copy" && pair.id != "short"));
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let once = |name: &str, threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let prepared: PreparedPairs =
            pool.install(|| prepare(sources(), &PrepareConfig::default(), Seed(9), &mut |_| ())).unwrap();
        let path = folder.path().join(name);
        store::write(&prepared, &path).unwrap();
        ["train.parquet", "validation.parquet", "test.parquet", "data.json", "README.md"]
            .map(|file| std::fs::read(path.join(file)).unwrap())
    };
    assert_eq!(once("a", 1), once("b", 4));
}

#[test]
fn nothing_left_is_told_with_the_gate_that_took_most() {
    let only = vec![read("one", vec![pair("a", "g", "short", "f")])];
    let error = prepare(only, &PrepareConfig::default(), Seed(1), &mut silent).unwrap_err().to_string();
    assert_eq!(error, "no training pairs are left: filter left 0 of 1, most for `anchor too short`: 1");
    let error = prepare(Vec::new(), &PrepareConfig::default(), Seed(1), &mut silent).unwrap_err().to_string();
    assert_eq!(error, "the sources gave no pairs: there are none");
}

#[test]
fn the_card_is_a_page() {
    let prepared = prepare(sources(), &PrepareConfig::default(), Seed(1), &mut silent).unwrap();
    let page = wb_data::card::render(&prepared.card);
    assert!(page.starts_with("# Data card\n\n| part | pairs | groups | languages |"));
    assert!(page.contains("| filter | 602 | 601 | anchor too short 1 |"), "{page}");
    assert!(page.contains("| filter | anchor too short | short | short |"), "{page}");
    assert!(page.contains("| near positive | 0 | "), "{page}");
}
