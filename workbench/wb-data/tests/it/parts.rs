//! Preparation in parts: the bytes of one process, however it is cut.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::json;
use wb_core::{Seed, progress::silent, range_reader::FileRanges, records::data::SourceCount};
use wb_data::{
    PrepareConfig, Result, dedupe,
    parts::{
        NearFiles, PartCount, PartFile, PartMatcher, PartShingles, PartWriter, RANGES, SketchedFiles, SketchedPart,
        Slice, merge_parts, slices, verified,
    },
    sources::PartBytes,
    store,
    streaming::prepare_streaming,
};

use crate::{
    streaming::{readers, write},
    support::{SourceConfig, source},
};

/// Numbers from 0 in so many runs.
fn runs(end: usize, runs: usize) -> Vec<std::ops::Range<usize>> {
    let of = end.div_ceil(runs).max(1);
    (0..end.div_ceil(of)).map(|at| at * of..((at + 1) * of).min(end)).collect()
}

fn bytes_of(file: &Path, all: &[Slice], which: std::ops::Range<usize>) -> Result<Vec<Vec<u8>>> {
    slices(all, which, "slices", |range| Ok(fs::read(file).unwrap()[range.start as usize..range.end as usize].to_vec()))
}

/// Prepares in so many parts, ranges of keys and ranges of texts, with files in a folder; into `out`.
fn in_parts(sources: &[SourceConfig], config: &PrepareConfig, n: [usize; 3], folder: &Path, out: &Path) -> Result<()> {
    let mut all = Vec::new();
    let mut counts = Vec::new();
    for (at, source) in sources.iter().enumerate() {
        let (parts, others) = source.parts(100, &mut silent)?;
        assert_eq!(others, 0);
        counts.push(SourceCount { name: source.name(), ..SourceCount::default() });
        all.extend(parts.into_iter().map(|part| (at, part)));
    }
    let mut sketched: Vec<(SketchedPart, PathBuf)> = Vec::new();
    for run in runs(all.len(), n[0]) {
        let place = folder.join(format!("part{}", sketched.len()));
        fs::create_dir_all(&place).unwrap();
        let mut writer = PartWriter::create(config, &place)?;
        for (source, part) in &all[run] {
            let mut pairs = 0;
            let bytes = match part.rows {
                Some(_) => PartBytes::Ranges(Arc::new(FileRanges::open(&part.file)?)),
                None => PartBytes::File(part.file.clone()),
            };
            let mut take = |pair| {
                pairs += 1;
                writer.push(pair)
            };
            let skipped = sources[*source].read_part(*source, part, bytes, &mut take, &mut silent)?;
            writer.end(PartCount { source: *source, pairs, skipped });
        }
        let (account, files) = writer.finish()?;
        assert!(files.iter().all(|file| place.join(file.as_str()).is_file()));
        sketched.push((account, place));
    }
    let texts: u64 = sketched.iter().map(|(account, _)| account.texts).sum();
    let near = config.dedupe.near;
    let shingles = || -> Result<Vec<PartShingles>> {
        let of = |(_, place): &(SketchedPart, PathBuf)| {
            let lengths = fs::read(place.join(PartFile::Lengths.as_str())).unwrap();
            let lengths = lengths.as_chunks::<4>().0.iter().map(|four| u32::from_le_bytes(*four)).collect();
            Ok((Arc::new(FileRanges::open(&place.join(PartFile::Shingles.as_str()))?) as Arc<_>, lengths))
        };
        sketched.iter().map(of).collect()
    };
    let mut matched: Vec<(Vec<Slice>, PathBuf, PathBuf)> = Vec::new();
    let mut found = Vec::new();
    if near > 0.0 {
        for run in runs(RANGES, n[1]) {
            let place = folder.join(format!("matched{}", matched.len()));
            fs::create_dir_all(&place).unwrap();
            let mut matcher = PartMatcher::create(&place, texts, near)?;
            let mut records: BTreeMap<usize, Vec<(u32, Vec<u8>)>> = BTreeMap::new();
            let mut base = 0;
            for (account, place) in &sketched {
                let read = bytes_of(&place.join(PartFile::Keys.as_str()), &account.keys, run.clone())?;
                read.into_iter().zip(0..).for_each(|(bytes, at)| records.entry(at).or_default().push((base, bytes)));
                base += account.texts as u32;
            }
            matcher.push(&records.into_values().collect::<Vec<_>>())?;
            let (candidates, crowds) = matcher.finish()?;
            matched.push((candidates.slices, candidates.path, crowds));
        }
        for run in runs(RANGES, n[2]) {
            let mut ranges = vec![Vec::new(); run.len()];
            for (slices, file, _) in &matched {
                let read = bytes_of(file, slices, run.clone())?;
                ranges.iter_mut().zip(read).for_each(|(range, bytes)| range.extend(bytes));
            }
            let path = folder.join(format!("near{}", found.len()));
            fs::write(&path, verified(ranges, shingles()?, near)?).unwrap();
            found.push(path);
        }
    }
    let crowds = folder.join("crowds");
    fs::write(&crowds, matched.iter().flat_map(|(.., crowds)| fs::read(crowds).unwrap()).collect::<Vec<_>>()).unwrap();
    let files = match near > 0.0 {
        true => Some(NearFiles { near: found, crowds, shingles: shingles()? }),
        false => None,
    };
    let mut parts = sketched.iter().map(|(account, place)| {
        let file = |file: PartFile| place.join(file.as_str());
        Ok(SketchedFiles { account: account.clone(), ids: file(PartFile::Ids), pairs: file(PartFile::Pairs) })
    });
    merge_parts(counts, &mut parts, files, (config, Seed(3)), out, &mut silent)?;
    Ok(())
}

#[test]
fn parts_come_to_the_bytes_of_one_process() {
    let folder = tempfile::tempdir().unwrap();
    let [one, two, table] = ["one.jsonl", "two.jsonl", "two.parquet"].map(|name| folder.path().join(name));
    write(&one, 1, 2000);
    write(&two, 2, 900);
    // A crowd: functions that are nearly one another, more than are compared all with all.
    let crowd: String = (0..150)
        .map(|at| {
            let code = (0..60).map(|word| format!("same{word} ")).collect::<String>();
            let text = format!("fn same{at}() {{ {code} tail{} end{} }}", at % 7, at % 31);
            json!({"anchor": format!("does the same as the others do, number {at}"), "positive": text}).to_string()
                + "\n"
        })
        .collect();
    fs::write(&one, fs::read_to_string(&one).unwrap() + &crowd).unwrap();
    let pairs = source(json!({"jsonl": {"path": two}})).read(0, wb_data::OnBad::Stop, &mut silent).unwrap().pairs;
    store::write_pairs(&table, &pairs).unwrap();
    let sources = [source(json!({"jsonl": {"path": one}})), source(json!({"parquet": {"path": table}}))];
    let changes: [fn(&mut PrepareConfig); 3] = [
        |c| c.dedupe.near = 0.0,
        |_| {},
        |c| (c.dedupe.near, c.dedupe.exact, c.split.max_test) = (0.6, dedupe::Exact::Off, 7),
    ];
    for (at, change) in changes.into_iter().enumerate() {
        let mut config = PrepareConfig::default();
        change(&mut config);
        let plain = folder.path().join(format!("plain{at}"));
        prepare_streaming(readers(&sources), &config, Seed(3), &plain, &mut silent).unwrap();
        for n in [[1, 1, 1], [4, 7, 3], [7, 16, 5]] {
            let place = folder.path().join(format!("files{at}-{n:?}"));
            let out = folder.path().join(format!("out{at}-{n:?}"));
            in_parts(&sources, &config, n, &place, &out).unwrap();
            for file in ["train.parquet", "validation.parquet", "test.parquet", "data.json", "README.md"] {
                assert!(fs::read(out.join(file)).unwrap() == fs::read(plain.join(file)).unwrap(), "{file} {n:?}");
            }
            assert_eq!(fs::read_dir(&out).unwrap().count(), 5);
        }
    }
}

#[test]
fn an_id_that_stands_twice_and_a_flipped_bit_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let files = folder.path().join("pairs");
    fs::create_dir(&files).unwrap();
    // Each file by itself has unique ids.
    write(&files.join("a.jsonl"), 1, 30);
    write(&files.join("b.jsonl"), 2, 30);
    let sources = [source(json!({"jsonl": {"path": files}}))];
    let place = folder.path().join("files");
    let error =
        in_parts(&sources, &PrepareConfig::default(), [2, 1, 1], &place, &folder.path().join("out")).unwrap_err();
    assert!(error.to_string().contains("the id `x:0` stands twice in it"), "{error}");
    assert!(!folder.path().join("out").exists());

    let keys = place.join("part0/keys");
    let account =
        |bytes: &[u8]| vec![Slice { end: bytes.len() as u64, blake3: blake3::hash(bytes).to_hex()[..16].into() }];
    let mut bytes = fs::read(&keys).unwrap();
    let slices = account(&bytes);
    assert_eq!(bytes_of(&keys, &slices, 0..1).unwrap(), [bytes.clone()]);
    bytes[100] ^= 1;
    fs::write(&keys, bytes).unwrap();
    assert!(bytes_of(&keys, &slices, 0..1).unwrap_err().to_string().contains("slice 0 is not what was written"));
}
