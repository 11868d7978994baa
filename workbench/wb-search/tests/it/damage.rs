//! Index files that are not what was written, by accident or on purpose.

use std::{fs, sync::LazyLock};

use wb_search::{
    CodeIndex, FolderFiles, IndexPlace, LinePattern, RankingWeights, SearchQuestion, UnitVectors, VectorEncoder,
};

use crate::{PARSER, SERVER, bytes, indexed, project};

static LINES: LazyLock<LinePattern> = LazyLock::new(|| LinePattern::new("listen|config").unwrap());

/// All that can be asked of the bytes of an index: an error, or answers.
fn tried(bytes: &[u8], root: &std::path::Path) -> Result<(), wb_search::Error> {
    let file = root.join("mutated");
    fs::write(&file, bytes).unwrap();
    let index = CodeIndex::read(&file, root)?;
    for question in ["read config file", "Server", "listen port", "x"] {
        index.search(&SearchQuestion::new(question), &RankingWeights::shipped().unwrap(), 10)?;
    }
    let found = FolderFiles { files: Vec::new(), ..FolderFiles::of(root).unwrap() };
    index.matching_lines(&found, &LINES, &SearchQuestion::new(""))?;
    Ok(())
}

/// Bytes whose checksum was made to hold again.
fn summed(mut bytes: Vec<u8>) -> Vec<u8> {
    let body = bytes.len().saturating_sub(32);
    let sum = *blake3::hash(&bytes[..body]).as_bytes();
    bytes.truncate(body);
    bytes.extend(sum);
    bytes
}

#[test]
fn a_damaged_index_is_refused_by_its_name() {
    let folder = project(&[("a.rs", PARSER), ("b.py", SERVER)]);
    let good = bytes(&indexed(folder.path()));
    tried(&good, folder.path()).unwrap();
    for (bytes, expected) in [
        (good[..good.len() / 2].to_vec(), "its checksum is another"),
        (Vec::new(), "is no index of this program"),
        (b"wbunit\x00\x09and more".to_vec(), "another version"),
        (b"wbunit\x00\x01short".to_vec(), "points out of it"),
    ] {
        let error = tried(&bytes, folder.path()).unwrap_err();
        let told = format!("{error}: {}", std::error::Error::source(&error).unwrap());
        assert!(told.contains("mutated") && told.contains(expected), "{told}");
        assert!(wb_core::error::hint(&error).unwrap().contains("wb index --anew"), "{told}");
    }
}

/// Ten thousand changes of single bytes, cuts and repeats, half of them with a checksum that holds; an error or an answer,
/// and never a crash. Gives the numbers of both.
fn mutated(good: &[u8], tried: impl Fn(&[u8]) -> Result<(), wb_search::Error>) -> (usize, usize) {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    let (mut refused, mut answered) = (0, 0);
    for round in 0..10_000 {
        let mut bytes = good.to_vec();
        for _ in 0..1 + next(3) {
            let at = next(bytes.len());
            match next(4) {
                0 => bytes[at] = next(256) as u8,
                1 => bytes[at] ^= 1 << next(8),
                2 => bytes.truncate(at.max(40)),
                _ => {
                    let to = (at + next(16)).min(bytes.len());
                    let part = bytes[at..to].to_vec();
                    bytes.splice(at..at, part);
                }
            }
        }
        let bytes = if round % 2 == 0 { summed(bytes) } else { bytes };
        match tried(&bytes) {
            Ok(()) => answered += 1,
            Err(_) => refused += 1,
        }
    }
    (refused, answered)
}

#[test]
fn hostile_indexes_do_not_crash() {
    let folder = project(&[("a.rs", PARSER), ("b.py", SERVER), ("c.md", "# A\n\nb c d\n")]);
    let (refused, answered) = mutated(&bytes(&indexed(folder.path())), |bytes| tried(bytes, folder.path()));
    assert!(refused > 5_000 && answered > 50, "{refused} refused, {answered} answered");
}

#[test]
fn hostile_names_of_parts_do_not_crash() {
    let folder = project(&[("a.rs", PARSER), ("b.py", SERVER)]);
    let kept = tempfile::tempdir().unwrap();
    let place = IndexPlace::of(folder.path(), Some(kept.path().join("index"))).unwrap();
    place.bring_up(false, &mut |_| {}).unwrap();
    let good = fs::read(&place.file).unwrap();
    let (refused, answered) = mutated(&good, |bytes| {
        fs::write(&place.file, bytes).unwrap();
        place.read().map(drop)
    });
    assert!(refused > 5_000 && answered > 0, "{refused} refused, {answered} answered");
    place.bring_up(true, &mut |_| {}).unwrap();
    assert_eq!(fs::read(&place.file).unwrap(), good);
}

#[test]
fn hostile_vectors_do_not_crash() {
    let folder = project(&[("a.rs", PARSER), ("b.py", SERVER)]);
    let mut index = indexed(folder.path());
    let fingerprint = wb_core::fingerprint::Fingerprint::of_bytes(b"an encoder");
    let mut vectors =
        UnitVectors::empty(VectorEncoder { opens: "an encoder".into(), fingerprint, dim: 3, stamp: String::new() });
    // One unit has two vectors, others one.
    let of_unit = |at: usize| if at == 1 { &[0.6, 0.0, -0.8, 0.0, 1.0, 0.0][..] } else { &[0.6, 0.0, -0.8] };
    (0..index.units().len()).for_each(|at| vectors.push(index.units()[at].key, of_unit(at)));
    let file = folder.path().join("mutated");
    vectors.write(&file).unwrap();
    let mut question = SearchQuestion::new("read config file");
    question.vector = vec![0.6, 0.0, -0.8];
    let good = fs::read(&file).unwrap();
    let mut tried = |bytes: &[u8]| {
        fs::write(&file, bytes).unwrap();
        index.set_vectors(UnitVectors::read(&file)?);
        index.search(&question, &RankingWeights::shipped().unwrap(), 10).map(drop)
    };
    tried(&good).unwrap();
    let tried = std::cell::RefCell::new(tried);
    let (refused, answered) = mutated(&good, |bytes| tried.borrow_mut()(bytes));
    assert!(refused > 5_000 && answered > 50, "{refused} refused, {answered} answered");
    let error = UnitVectors::read(folder.path().join("a.rs").as_path()).unwrap_err();
    assert!(wb_core::error::hint(&error).unwrap().contains("wb index --anew"));
}
