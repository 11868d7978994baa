//! Pairs that are prepared one by one: the same result as in memory, in little memory.

use std::{fs, io::Write, path::Path};

use serde_json::json;
use wb_core::{Pair, Seed, progress::silent};
use wb_data::{
    OnBad, PrepareConfig, SourceRead, prepare, store,
    streaming::{ReadSource, prepare_streaming},
};

use crate::support::{Made, SourceConfig, source};

/// Lines with duplicates, short texts, leaks, several groups and languages, and ids that two files share.
pub fn write(path: &Path, seed: u64, lines: usize) {
    let mut made = Made(seed);
    let mut file = std::io::BufWriter::new(fs::File::create(path).unwrap());
    let mut last = (String::new(), String::new());
    for at in 0..lines {
        let mut anchor = format!("describes the function that does {}", made.code(4).join(" "));
        let mut positive = format!("fn f{at}() {{ {} }}", made.code(40).join(" "));
        match at % 11 {
            1 => positive = format!("{} {}", last.1, made.code(2).join(" ")),
            3 => positive.clone_from(&last.1),
            5 => anchor.clone_from(&last.0),
            7 => anchor = "too short".into(),
            9 => positive = format!("/// {anchor}\n{positive}"),
            _ => {}
        }
        last = (anchor.clone(), positive.clone());
        let group = format!("crate{}", made.below(400));
        let language = ["rust", "python", "go"][at % 3];
        let record = json!({"id": format!("x:{at}"), "anchor": anchor, "positive": positive, "language": language,
            "group": group, "license": "MIT", "negatives": [format!("negative {at}")]});
        writeln!(file, "{record}").unwrap();
    }
}

fn config(change: impl FnOnce(&mut PrepareConfig)) -> PrepareConfig {
    let mut config = PrepareConfig::default();
    config.dedupe.near = 0.0;
    change(&mut config);
    config
}

pub fn readers(sources: &[SourceConfig]) -> Vec<ReadSource<'_>> {
    let reader = |source| -> ReadSource<'_> {
        let source: &SourceConfig = source;
        Box::new(move |take, progress| source.each(0, OnBad::Stop, take, progress))
    };
    sources.iter().map(reader).collect()
}

#[test]
fn pairs_come_in_the_order_and_with_the_counts_of_memory() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (folder.path().join("one.jsonl"), folder.path().join("two.jsonl"));
    write(&one, 1, 3000);
    write(&two, 2, 700);
    let as_parquet = folder.path().join("two.parquet");
    let pairs = source(json!({"jsonl": {"path": two}})).read(0, OnBad::Stop, &mut silent).unwrap().pairs;
    store::write_pairs(&as_parquet, &pairs).unwrap();
    let sources = [source(json!({"jsonl": {"path": one}})), source(json!({"parquet": {"path": as_parquet}}))];
    let changes: [fn(&mut PrepareConfig); 6] = [
        |_| {},
        |c| c.dedupe.near = 0.85,
        |c| (c.dedupe.near, c.dedupe.exact, c.split.max_test) = (0.6, wb_data::dedupe::Exact::Off, 7),
        |c| (c.split.max_test, c.split.max_validation) = (7, 5),
        |c| (c.dedupe.exact, c.leaks.drop_leaks) = (wb_data::dedupe::Exact::Pair, false),
        |c| (c.split.by, c.leaks.near) = (wb_data::split::SplitBy::Pair, 0.0),
    ];
    for (at, change) in changes.into_iter().enumerate() {
        let config = config(change);
        let read: Vec<SourceRead> =
            sources.iter().map(|source| source.read(0, OnBad::Stop, &mut silent).unwrap()).collect();
        let expected = prepare(read, &config, Seed(3), &mut silent).unwrap();
        let out = folder.path().join(format!("out{at}"));
        let streamed = prepare_streaming(readers(&sources), &config, Seed(3), &out, &mut silent).unwrap();
        assert!(streamed.train.is_empty());
        assert_eq!(streamed.validation.pairs(), expected.validation.pairs());
        assert_eq!(streamed.card, expected.card);
        let loaded = store::load(&out).unwrap();
        assert_eq!(loaded.train.pairs(), expected.train.pairs());
        assert_eq!((loaded.test.pairs(), &loaded.card), (expected.test.pairs(), &expected.card));
        let mut files: Vec<String> =
            fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        files.sort();
        assert_eq!(files, ["README.md", "data.json", "test.parquet", "train.parquet", "validation.parquet"]);
        assert!(expected.train.len() > 1500 && expected.card.gates.iter().any(|gate| gate.before > gate.after));
        let near = expected.card.gates.iter().find(|gate| gate.name == "near duplicates");
        assert_eq!(near.is_some_and(|gate| gate.after + 100 < gate.before), config.dedupe.near > 0.0);
    }
}

#[test]
fn a_folder_that_another_process_was_quicker_with_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    let (path, out) = (folder.path().join("one.jsonl"), folder.path().join("out"));
    write(&path, 1, 600);
    let sources = [source(json!({"jsonl": {"path": path}}))];
    let config = config(|_| {});
    let slow: ReadSource<'_> = Box::new(|take, progress| {
        let read = sources[0].each(0, OnBad::Stop, take, progress)?;
        // All of it is written by somebody else between this one's reading and its end.
        prepare_streaming(readers(&sources), &config, Seed(3), &out, &mut silent)?;
        Ok(read)
    });
    let ours = prepare_streaming(vec![slow], &config, Seed(3), &out, &mut silent).unwrap();
    let there = store::load(&out).unwrap();
    assert!(there.train.len() > 100 && ours.train.is_empty());
    assert_eq!((ours.validation.pairs(), ours.test.pairs()), (there.validation.pairs(), there.test.pairs()));
    assert_eq!(ours.card, there.card);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "the own work is gone");
}

#[test]
fn gates_that_need_all_pairs_are_refused() {
    let check = |change: fn(&mut PrepareConfig), expected: &str| {
        let error = wb_data::streaming::check(&config(change), "data", "in shards").unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    };
    wb_data::streaming::check(&PrepareConfig::default(), "data", "in shards").unwrap();
    check(|c| c.balance.max_per_language = 5, "data.balance: cannot be used in shards");
    check(|c| c.consistency = Some(Default::default()), "data.consistency: cannot be used in shards");
}

#[test]
fn a_bad_record_leaves_no_folder() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("one.jsonl");
    write(&path, 1, 50);
    let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
    writeln!(file, "{{\"anchor\": 1").unwrap();
    drop(file);
    let sources = [source(json!({"jsonl": {"path": path}}))];
    let out = folder.path().join("out");
    let error = prepare_streaming(readers(&sources), &config(|_| {}), Seed(3), &out, &mut silent).unwrap_err();
    assert!(error.to_string().contains("one.jsonl:51"), "{error}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// A file of 2 GB: `WB_STREAM_GB=2 cargo test ... -- --ignored streams_in_little_memory`; prints the peak of memory.
#[test]
#[ignore = "writes and reads gigabytes"]
fn streams_in_little_memory() {
    let gigabytes: f64 = std::env::var("WB_STREAM_GB").map_or(2.0, |text| text.parse().unwrap());
    let folder = tempfile::tempdir_in(std::env::var("WB_STREAM_DIR").unwrap_or_else(|_| "/tmp".into())).unwrap();
    let path = folder.path().join("big.jsonl");
    let mut made = Made(5);
    let mut file = std::io::BufWriter::new(fs::File::create(&path).unwrap());
    let (mut bytes, mut lines) = (0usize, 0);
    // Random words are slow to make: a pool of them is mixed anew for each line.
    let pool: Vec<String> = (0..4000).map(|_| made.code(20).join(" ")).collect();
    while (bytes as f64) < gigabytes * 1e9 {
        let mut words = |n: usize| (0..n).map(|_| pool[made.below(4000)].as_str()).collect::<Vec<_>>().join(" ");
        let line =
            json!({"anchor": words(1), "positive": words(16), "group": format!("crate{}", lines % 5000)}).to_string();
        bytes += line.len() + 1;
        lines += 1;
        writeln!(file, "{line}").unwrap();
    }
    file.flush().unwrap();
    let before = peak();
    let sources = [source(json!({"jsonl": {"path": path}}))];
    let config = config(|c| {
        (c.split.max_test, c.split.max_validation) = (1000, 1000);
        c.leaks.near = 0.0;
        (c.filter.max_positive_chars, c.filter.no_trivial_anchors) = (100_000, false);
    });
    let started = std::time::Instant::now();
    let out = folder.path().join("out");
    let streamed = prepare_streaming(readers(&sources), &config, Seed(3), &out, &mut silent).unwrap();
    eprintln!(
        "{lines} pairs, {bytes} bytes: {:.0} s, peak {} MB, before {} MB; {} training pairs",
        started.elapsed().as_secs_f64(),
        peak() / 1000,
        before / 1000,
        streamed.card.splits["train"].pairs
    );
    assert!(peak() < 1_500_000, "{} kB", peak());
    let mut count = 0u64;
    store::each_pair(&out.join("train.parquet"), &mut |_: Pair| {
        count += 1;
        Ok(())
    })
    .unwrap();
    assert_eq!(count, streamed.card.splits["train"].pairs);
}

/// A made-up function of about a hundred tokens; every fifth is an earlier one with a few names changed.
fn function(at: u64) -> String {
    let of = if at % 5 == 4 { Made(at).below(at as usize) as u64 } else { at };
    let mut made = Made(of.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let names = ["count", "index", "total", "value", "result", "item", "key", "node", "left", "right", "name", "size"];
    let calls = ["len", "push", "insert", "get", "split", "trim", "join", "find", "take", "next", "read", "write"];
    let mut lines: Vec<String> = (0..12)
        .map(|_| {
            let (a, b, c) = (names[made.below(12)], names[made.below(12)], calls[made.below(12)]);
            match made.below(4) {
                0 => format!("let {a}_{} = {b}.{c}({});", made.below(5000), made.below(300)),
                1 => format!("if {a} > {} {{ return {b}.{c}(); }}", made.below(5000)),
                2 => format!("{a}.{c}({b}_{}, {});", made.below(5000), made.below(300)),
                _ => format!("for {a} in {b}_{}.iter() {{ {a}.{c}(); }}", made.below(5000)),
            }
        })
        .collect();
    if of != at {
        lines.push(format!("log({at});"));
    }
    format!("fn {}_{of}() {{\n    {}\n}}", calls[made.below(12)], lines.join("\n    "))
}

/// Millions of functions: `WB_MILLIONS=5 cargo test ... -- --ignored near_duplicates_of_millions`; prints time and memory.
#[test]
#[ignore = "a measurement: writes gigabytes"]
fn near_duplicates_of_millions_in_little_memory() {
    let millions: f64 = std::env::var("WB_MILLIONS").map_or(1.0, |text| text.parse().unwrap());
    let count = (millions * 1e6) as u64;
    let folder = tempfile::tempdir_in(std::env::var("WB_STREAM_DIR").unwrap_or_else(|_| "/tmp".into())).unwrap();
    let config = config(|c| {
        c.dedupe.near = 0.85;
        (c.split.max_test, c.split.max_validation, c.leaks.near) = (1000, 1000, 0.0);
    });
    let source: ReadSource<'_> = Box::new(|take, _| {
        for at in 0..count {
            let pair = Pair {
                id: format!("f{at}"),
                anchor: format!("describes the function with the number {at} of many"),
                positive: function(at),
                ..Pair::default()
            };
            take(pair)?;
        }
        let fingerprint = wb_core::fingerprint::Fingerprint::of_bytes(b"made up");
        Ok(SourceRead { name: "made up".into(), pairs: Vec::new(), skipped: Default::default(), fingerprint })
    });
    let (started, mut last) = (std::time::Instant::now(), String::new());
    let mut told = |now: wb_core::Progress| {
        let stage = format!("{} {}", now.stage, now.note);
        if now.stage == "near duplicates" && last != stage {
            eprintln!("{:.0} s, {} MB: {stage}", started.elapsed().as_secs_f64(), peak() / 1000);
            last = stage;
        }
    };
    let out = folder.path().join("out");
    let streamed = prepare_streaming(vec![source], &config, Seed(3), &out, &mut told).unwrap();
    let near = streamed.card.gates.iter().find(|gate| gate.name == "near duplicates").unwrap();
    let seconds = started.elapsed().as_secs_f64();
    eprintln!("{count} functions: {seconds:.0} s, peak {} MB; near duplicates {near:?}", peak() / 1000);
    assert!(near.after < near.before && peak() < 2_000_000, "{} kB", peak());
}

/// The most memory that this process has held, in kB; 0 where the system does not tell.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse().ok()).unwrap_or(0)
}
