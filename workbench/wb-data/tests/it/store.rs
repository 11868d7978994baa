//! Parquet round trips.

use std::{collections::BTreeMap, fs};

use proptest::prelude::*;
use wb_core::{Origin, Pair, PairSet, Task, publish::Published, records::data::DataCard};
use wb_data::{PreparedPairs, store};

fn odd() -> Vec<Pair> {
    let texts = ["", "\0", "a\0b", "ünï\u{1F980}", "\r\n\t", "\u{feff}x", "'\"\\"];
    let tasks = [Task::Text2code, Task::Code2text, Task::Code2code, Task::Hybrid];
    texts
        .iter()
        .enumerate()
        .map(|(at, text)| Pair {
            id: format!("{at}{text}"),
            task: tasks[at % 4],
            language: (*text).into(),
            anchor: (*text).into(),
            positive: text.repeat(3),
            negatives: texts[..at].iter().map(|text| (*text).into()).collect(),
            scores: (0..=at).map(|score| score as f32 / 3.0 - 1.0).take(if at % 2 == 0 { at + 1 } else { 0 }).collect(),
            origin: Origin {
                group: (*text).into(),
                path: (*text).into(),
                lines: [at as u32, u32::MAX],
                license: (*text).into(),
                dataset: (*text).into(),
            },
        })
        .collect()
}

#[test]
fn everything_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.parquet");
    for pairs in [odd(), Vec::new(), (0..20_000).map(|at| Pair { id: at.to_string(), ..Pair::default() }).collect()] {
        store::write_pairs(&path, &pairs).unwrap();
        assert_eq!(store::read_pairs(&path).unwrap(), pairs);
        // One by one they are the same file.
        let bytes = fs::read(&path).unwrap();
        store::write_pairs(&path, pairs).unwrap();
        assert!(fs::read(&path).unwrap() == bytes);
    }
}

#[test]
fn a_folder_comes_back_and_is_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("prepared");
    let card = DataCard { licenses: BTreeMap::from([("MIT".into(), 7)]), ..DataCard::default() };
    let prepared = PreparedPairs {
        train: PairSet::new(odd()).unwrap(),
        validation: PairSet::default(),
        test: PairSet::new(odd()[..2].to_vec()).unwrap(),
        card,
    };
    store::write(&prepared, &path).unwrap();
    let loaded = store::load(&path).unwrap();
    assert_eq!(loaded.train.pairs(), prepared.train.pairs());
    assert_eq!((loaded.validation.len(), loaded.test.pairs()), (0, prepared.test.pairs()));
    assert_eq!(loaded.card, prepared.card);
    // Whoever was first has named it.
    let bytes = fs::read(path.join("train.parquet")).unwrap();
    let later = PreparedPairs { train: PairSet::default(), ..prepared };
    assert_eq!(store::write(&later, &path).unwrap(), Published::Theirs);
    assert!(fs::read(path.join("train.parquet")).unwrap() == bytes);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    fs::write(path.join("data.json"), "{\"sources\": 3").unwrap();
    assert!(store::load(&path).unwrap_err().to_string().ends_with("data.json: not a data card"));
    fs::copy(path.join("README.md"), path.join("test.parquet")).unwrap();
    assert!(
        store::read_pairs(&path.join("test.parquet"))
            .unwrap_err()
            .to_string()
            .ends_with("test.parquet: not a whole Parquet file")
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn any_text_comes_back(texts in proptest::collection::vec((any::<String>(), any::<String>(), proptest::collection::vec(any::<String>(), 0..3)), 0..20)) {
        let pairs: Vec<Pair> = texts.into_iter().enumerate().map(|(at, (anchor, positive, negatives))| Pair { id: at.to_string(), anchor, positive, negatives: negatives.into_iter().map(Into::into).collect(), ..Pair::default() }).collect();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.parquet");
        store::write_pairs(&path, &pairs).unwrap();
        prop_assert_eq!(store::read_pairs(&path).unwrap(), pairs);
    }
}
