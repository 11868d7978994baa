//! torch's files against torch, files that mean harm, and damaged ones.

use std::{collections::BTreeMap, fs, path::Path};

use proptest::prelude::*;
use serde::Deserialize;

use super::*;
use crate::{
    models::{WeightInit, WeightSpec},
    weights::{as_named, read},
};

#[derive(Deserialize)]
struct Expected {
    shape: Vec<usize>,
    values: Vec<f32>,
}

fn golden(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/torch").join(name)
}

fn bytes(name: &str) -> Vec<u8> {
    fs::read(golden(name)).unwrap()
}

fn open(bytes: &[u8]) -> Result<()> {
    let path = Path::new("file.bin");
    TorchFile::open(path, bytes)?.views(path).map(|_| ())
}

#[track_caller]
fn refused(bytes: &[u8], expected: &str) {
    let error = open(bytes).unwrap_err().to_string();
    assert!(error.contains(expected), "{error}");
}

#[test]
fn numbers_are_those_of_torch() {
    let all: BTreeMap<String, BTreeMap<String, Expected>> = serde_json::from_slice(&bytes("expected.json")).unwrap();
    for (file, expected) in all {
        let spec = |(name, e): (&String, &Expected)| WeightSpec {
            name: name.clone(),
            shape: e.shape.clone(),
            init: WeightInit::Zeros,
        };
        let specs: Vec<WeightSpec> = expected.iter().map(spec).collect();
        // What is no weight of an encoder may have any type.
        let rename = |name: &str| vec![if name == "ids" { "pooler.ids" } else { name }.to_owned()];
        let loaded = read(&[golden(&format!("{file}.bin"))], &specs, &rename).unwrap();
        assert_eq!(loaded.parameters.len(), expected.len());
        for (name, expected) in &expected {
            assert_eq!(loaded.parameters.get(name).unwrap().values.floats(), expected.values, "{name}");
        }
        assert_eq!(loaded.ignored.len(), usize::from(file == "plain"));
    }
    let specs = [WeightSpec { name: "ids".into(), shape: vec![4], init: WeightInit::Zeros }];
    let error = read(&[golden("plain.bin")], &specs, &as_named).unwrap_err().to_string();
    assert!(error.contains("`ids`: has type I64, expected F32, F16 or BF16"), "{error}");
}

#[test]
fn what_makes_no_tensors_is_refused_by_its_name() {
    refused(&bytes("system.bin"), "names `posix.system`, which is nothing that makes tensors");
    refused(&bytes("whole.bin"), "names `torch.nn.modules.linear.Linear`");
    refused(&bytes("nested.bin"), "has a dictionary under \"state_dict\", expected a tensor");
    let error = open(&bytes("old.bin")).unwrap_err();
    assert!(error.to_string().contains("is no whole zip archive: it has no directory at its end"), "{error}");
    assert_eq!(error.hint(), Some("save it again with a torch of version 1.6 or later"));
    refused(b"", "it has no directory at its end");
    refused(b"version https://git-lfs.github.com/spec/v1\noid", "it has no directory");
}

/// An archive of stored entries, as torch lays it out.
fn archive(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let (mut file, mut directory) = (Vec::new(), Vec::new());
    for (name, data) in entries {
        let place = file.len() as u32;
        let (length, name_length) = ((data.len() as u32).to_le_bytes(), (name.len() as u16).to_le_bytes());
        file.extend(b"PK\x03\x04\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
        file.extend([length, length].concat());
        file.extend([name_length, [0, 0]].concat());
        file.extend(name.as_bytes());
        file.extend(*data);
        directory.extend(b"PK\x01\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
        directory.extend([length, length].concat());
        directory.extend(name_length);
        directory.extend([0; 12]);
        directory.extend(place.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let place = file.len() as u32;
    let count = (entries.len() as u16).to_le_bytes();
    file.extend(&directory);
    file.extend(b"PK\x05\x06\0\0\0\0");
    file.extend([count, count].concat());
    file.extend((directory.len() as u32).to_le_bytes());
    file.extend(place.to_le_bytes());
    file.extend([0, 0]);
    file
}

/// A program that makes one tensor `w` over a storage of `count` numbers; sizes as LONG1, so that they may be large or negative.
fn program(count: i64, offset: i64, shape: &[i64], strides: &[i64]) -> Vec<u8> {
    let number = |n: i64| [&[0x8a, 8][..], &n.to_le_bytes()].concat();
    let text = |t: &str| [&b"X"[..], &(t.len() as u32).to_le_bytes(), t.as_bytes()].concat();
    let tuple =
        |numbers: &[i64]| [&b"("[..], &numbers.iter().flat_map(|n| number(*n)).collect::<Vec<u8>>(), b"t"].concat();
    [
        b"\x80\x02}".to_vec(),
        text("w"),
        b"ctorch._utils\n_rebuild_tensor_v2\n((".to_vec(),
        text("storage"),
        b"ctorch\nFloatStorage\n".to_vec(),
        text("0"),
        text("cpu"),
        number(count),
        b"tQ".to_vec(),
        number(offset),
        tuple(shape),
        tuple(strides),
        b"\x89NtRs.".to_vec(),
    ]
    .concat()
}

fn with(program: &[u8], storage: &[u8]) -> Vec<u8> {
    archive(&[("m/data.pkl", program), ("m/byteorder", b"little"), ("m/data/0", storage)])
}

#[test]
fn sizes_are_compared_with_the_bytes_that_are_there() {
    let storage: Vec<u8> = (0..6).flat_map(|n| (n as f32).to_le_bytes()).collect();
    let check =
        |count, offset, shape: &[i64], strides: &[i64]| open(&with(&program(count, offset, shape, strides), &storage));
    assert!(check(6, 0, &[2, 3], &[3, 1]).is_ok());
    assert!(check(6, 1, &[2, 2], &[1, 3]).is_ok());
    /// Numbers of the storage, offset, shape, strides, and the refusal.
    type Case<'a> = (i64, i64, &'a [i64], &'a [i64], &'a str);
    let cases: [Case<'_>; 10] = [
        (7, 0, &[2, 3], &[3, 1], "its storage has 24 bytes, expected 7 numbers of 4"),
        (i64::MAX, 0, &[2, 3], &[3, 1], "its storage has 24 bytes, expected"),
        (6, 1, &[2, 3], &[3, 1], "beyond the 6 numbers of its storage"),
        (6, i64::MAX, &[2, 3], &[3, 1], "beyond the 6 numbers of its storage"),
        (6, 0, &[2, 3], &[3, i64::MAX], "beyond the 6 numbers of its storage"),
        (6, 0, &[i64::MAX, i64::MAX], &[0, 0], "which is beyond its file"),
        (6, 0, &[1 << 40], &[0], "which is beyond its file"),
        (6, -1, &[2, 3], &[3, 1], "has -1 as a tensor's offset, expected 0 or more"),
        (6, 0, &[2, 3], &[3], "has shape [2, 3] and strides [3]"),
        (6, 0, &[1; 9], &[1; 9], "has 9 numbers as a tensor's shape"),
    ];
    for (count, offset, shape, strides, expected) in cases {
        let error = check(count, offset, shape, strides).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let good = program(6, 0, &[2, 3], &[3, 1]);
    refused(&archive(&[("m/data.pkl", &good)]), "its numbers, m/data/0, are missing");
    refused(&archive(&[("m/data.pkl", &good), ("m/byteorder", b"big")]), "big-endian");
    refused(&archive(&[("x", b"")]), "has no data.pkl");
    refused(&archive(&[("a/data.pkl", b""), ("b/data.pkl", b"")]), "has several data.pkl");
    refused(&archive(&[("x", b""), ("x", b"")]), "it has two entries \"x\"");
    // Many names for the same numbers: more than tied weights need.
    let one = &good[3..good.len() - 1];
    let many: Vec<u8> =
        (0..2000).flat_map(|n: u32| [&b"X\x04\0\0\0"[..], format!("{n:04}").as_bytes(), &one[6..]].concat()).collect();
    let large: Vec<u8> = storage.iter().copied().cycle().take(40_000).collect();
    let whole = [b"\x80\x02}".to_vec(), many, b".".to_vec()].concat();
    assert!(open(&with(&whole, &storage)).is_ok());
    let whole: Vec<u8> = replace(&whole, &6i64.to_le_bytes(), &10_000i64.to_le_bytes());
    let whole = replace(&whole, &2i64.to_le_bytes(), &3_000i64.to_le_bytes());
    refused(&with(&whole, &large), "which is beyond its file");
}

fn replace(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let (mut out, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        if bytes[at..].starts_with(from) {
            out.extend(to);
            at += from.len();
        } else {
            out.push(bytes[at]);
            at += 1;
        }
    }
    out
}

#[test]
fn programs_that_go_wrong_say_where() {
    let run = |program: &[u8]| pickle::run(program).map(|_| ()).unwrap_err();
    assert_eq!(run(b""), "at byte 0: ends after 0 bytes, in the middle of a step");
    assert_eq!(run(b"\x80\x02."), "at byte 2: takes a value where there is none");
    assert_eq!(run(b"\x80\x01}."), "at byte 0: is a pickle of version 1, expected 2 to 5");
    assert_eq!(run(b"\x80\x02}}."), "at byte 4: ends with values that nothing used");
    assert_eq!(run(b"K\x01."), "makes a number, expected a dictionary of tensors");
    assert_eq!(run(b"}K\x01K\x02s."), "has a number as a name, expected text");
    assert_eq!(run(b"h\x00"), "at byte 0: recalls 0, which was never remembered");
    assert_eq!(run(b"}(K\x01u."), "at byte 4: has a name without a value");
    assert_eq!(run(b"}(s"), "at byte 2: takes a value where there is none");
    assert_eq!(run(b"cos\nsystem\n"), "at byte 0: names `os.system`, which is nothing that makes tensors");
    assert_eq!(
        run(b"\x8c\x02os\x8c\x06system\x93"),
        "at byte 12: names `os.system`, which is nothing that makes tensors"
    );
    assert_eq!(
        run(b"cbuiltins\n\x1b[31m\n"),
        "at byte 0: names `builtins.\\u{1b}[31m`, which is nothing that makes tensors"
    );
    assert_eq!(run(b"i"), "at byte 0: has step 0x69, which no dictionary of tensors needs");
    assert_eq!(run(b"K\x01)R"), "at byte 3: calls a number, expected a function");
    assert_eq!(run(b"ccollections\nOrderedDict\nK\x01\x85R"), "at byte 28: calls OrderedDict with 1 arguments");
    assert_eq!(run(b"X\xff\xff\xff\xff"), "at byte 0: ends after 5 bytes, in the middle of a step");
    assert_eq!(run(&vec![b'}'; (4 << 20) + 1]), "has 4194305 bytes, more than any dictionary of tensors needs");
    // A dictionary in itself, and one that is deep: nothing walks down.
    assert!(run(b"}q\x00X\x01\0\0\0ah\x00s.").contains("has a dictionary under \"a\""));
    let deep = [&vec![b'}'; 100_000][..], b"s"].concat();
    assert!(run(&deep).contains("ends after"));
}

#[test]
fn archives_that_are_cut_are_refused_at_every_place() {
    for name in ["plain.bin", "module.bin"] {
        let whole = bytes(name);
        assert!(open(&whole).is_ok());
        for length in 0..whole.len() {
            assert!(open(&whole[..length]).is_err(), "{name} cut at {length}");
        }
    }
}

/// An archive with its numbers in a 64-bit end and in 64-bit extras reads the same.
#[test]
fn archives_of_64_bits_are_read() {
    let mut file = Vec::new();
    let mut directory = Vec::new();
    let storage: Vec<u8> = (0..6).flat_map(|n| (n as f32).to_le_bytes()).collect();
    let program = program(6, 0, &[2, 3], &[3, 1]);
    for (name, data) in [("m/data.pkl", &program), ("m/data/0", &storage)] {
        let place = file.len() as u64;
        file.extend(b"PK\x03\x04\0\0\0\0\0\0\0\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff");
        file.extend([(name.len() as u16).to_le_bytes(), [0, 0]].concat());
        file.extend(name.as_bytes());
        file.extend(data);
        directory.extend(b"PK\x01\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff");
        directory.extend((name.len() as u16).to_le_bytes());
        directory.extend([32, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]);
        directory.extend(name.as_bytes());
        // An extra of another kind before that of the numbers.
        directory.extend([7, 0, 0, 0, 1, 0, 24, 0]);
        directory.extend([data.len() as u64, data.len() as u64, place].map(u64::to_le_bytes).concat());
    }
    let (place, length) = (file.len() as u64, directory.len() as u64);
    file.extend(&directory);
    let end = file.len() as u64;
    file.extend(b"PK\x06\x06\x2c\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
    file.extend([2, 2, length, place].map(u64::to_le_bytes).concat());
    file.extend(b"PK\x06\x07\0\0\0\0");
    file.extend(end.to_le_bytes());
    file.extend([1, 0, 0, 0]);
    file.extend(b"PK\x05\x06\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\0\0");
    open(&file).unwrap();
    // Compressed entries are named.
    let mut compressed = archive(&[("m/data.pkl", &program), ("m/data/0", &storage)]);
    let at = compressed.windows(4).position(|w| w == b"PK\x01\x02").unwrap();
    compressed[at + 10] = 8;
    refused(&compressed, "its entry \"m/data.pkl\" is compressed or encrypted");
}

/// Checks that any file gets an answer, without a panic, and with no more memory than a few times the file.
fn survives(bytes: &[u8]) {
    if let Ok(file) = TorchFile::open(Path::new("file.bin"), bytes) {
        let numbers: usize = file.tensors.iter().map(|t| t.data.len()).sum();
        assert!(numbers <= 4 * bytes.len());
        let _ = file.views(Path::new("file.bin"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn damaged_files_do_no_harm(
        name in prop::sample::select(vec!["plain.bin", "module.bin", "system.bin", "whole.bin"]),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut file = bytes(name);
        for (at, byte) in &changes {
            let at = at.index(file.len());
            file[at] = *byte;
        }
        if let Some(cut) = cut {
            file.truncate(cut.index(file.len()));
        }
        survives(&file);
    }

    #[test]
    fn programs_of_any_bytes_do_no_harm(
        steps in prop::collection::vec(prop::sample::select(vec![
            &b"\x80\x02"[..], b"}", b"]", b")", b"(", b"t", b"\x85", b"\x86", b"\x87", b"s", b"u", b"e", b"a", b"b", b"R", b"Q",
            b"N", b"\x88", b"K\x05", b"M\xff\xff", b"J\xff\xff\xff\xff", b"\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f", b"q\x00",
            b"h\x00", b"r\xff\xff\xff\xff", b"j\xff\xff\xff\xff", b"X\x01\0\0\x000", b"ctorch\nFloatStorage\n", b"\x94",
            b"ctorch._utils\n_rebuild_tensor_v2\n", b"ctorch._utils\n_rebuild_parameter\n", b"ccollections\nOrderedDict\n",
            b"((X\x01\0\0\0sctorch\nFloatStorage\nX\x01\0\0\x000NK\x06tQK\x00K\x06\x85K\x01\x85\x89NtR", b".",
        ]), 0..60),
    ) {
        let program = steps.concat();
        let _ = pickle::run(&program).map(|_| ());
        let (left, size) = pickle::left_behind(&program);
        prop_assert!(left <= 2 * program.len() + 4 && size <= 32, "{left} values of {size} bytes by {} steps", program.len());
        survives(&with(&program, &[0; 24]));
    }

    #[test]
    fn any_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = pickle::run(&bytes).map(|_| ());
        survives(&bytes);
        survives(&with(&bytes, b"abcd"));
    }
}
