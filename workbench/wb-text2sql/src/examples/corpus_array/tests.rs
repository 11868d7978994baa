//! Arrays of texts against NumPy's, files that mean harm, and damaged ones.

use std::{collections::BTreeMap, path::PathBuf};

use proptest::prelude::*;

use super::*;

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/corpus-map").join(name)
}

fn strings(texts: Vec<Rc<str>>) -> Vec<String> {
    texts.iter().map(|text| (**text).to_owned()).collect()
}

/// The file that [`write_texts`] leaves.
fn written(texts: &[&str]) -> Vec<u8> {
    let mut bytes = NpyHeader::new("|O", &[texts.len()]).encode();
    encode(texts.iter().copied(), &mut bytes).unwrap();
    bytes
}

/// A file of some objects with a pickle of one's own.
fn file(shape: &[usize], program: &[u8]) -> Vec<u8> {
    [&NpyHeader::new("|O", shape).encode()[..], program].concat()
}

#[track_caller]
fn refused(bytes: &[u8], vectors: usize, expected: &str) {
    let error = parse(bytes, vectors).unwrap_err();
    assert!(error.contains(expected), "{error}, expected {expected}");
}

#[test]
fn every_form_of_numpy_has_its_texts() {
    let all: BTreeMap<String, Vec<String>> = serde_json::from_slice(&fs::read(golden("texts.json")).unwrap()).unwrap();
    assert_eq!(all.len(), 12);
    for (name, texts) in all {
        let path = golden(&format!("{name}.npy"));
        assert_eq!(strings(read_texts(&path, texts.len()).unwrap()), texts, "{name}");
        let error = read_texts(&path, texts.len() + 1).unwrap_err().to_string();
        assert!(error.contains(&format!("the index has {} vectors", texts.len() + 1)), "{name}: {error}");
    }
}

/// NumPy 1.26 and 2.4 load these bytes as `array(['a', 'é'], dtype=object)`.
#[test]
fn what_is_written_is_what_numpy_loads() {
    let expected = b"\x80\x04cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\0\x85C\x01b\x87R(K\x01\
        \x8a\x08\x02\0\0\0\0\0\0\0\x85cnumpy\ndtype\n\x8c\x02O8\x89\x88\x87R(K\x03\x8c\x01|NNN\
        J\xff\xff\xff\xffJ\xff\xff\xff\xffK?tb\x89](X\x01\0\0\0aX\x02\0\0\0\xc3\xa9etb.";
    let bytes = written(&["a", "é"]);
    assert_eq!(bytes[..128], NpyHeader::new("|O", &[2]).encode());
    assert_eq!(bytes[128..], expected[..]);
}

#[test]
fn what_makes_no_texts_is_refused_by_its_name() {
    let bytes = |name: &str| fs::read(golden(name)).unwrap();
    refused(&bytes("system.npy"), 3, "names `posix.system`, which is nothing that makes texts");
    refused(&bytes("scalar.npy"), 3, "names `numpy._core.multiarray.scalar`, which is nothing that makes texts");
    refused(&bytes("numbers.npy"), 3, "holds '<i8', expected texts: '|O', '<U…' or '|S…'");
    refused(&bytes("columns.npy"), 2, "has the shape (2, 3), expected (2,): the index has 2 vectors");
    refused(&file(&[1], b"\x80\x04cbuiltins\neval\n"), 1, "names `builtins.eval`");
    refused(&file(&[1], b"\x80\x04cnumpy\nload\n"), 1, "names `numpy.load`");
    // INST, OBJ, NEWOBJ, PERSID, EXT1, and a buffer that is elsewhere.
    for step in [b'i', b'o', 0x81, b'P', 0x82, 0x97] {
        refused(&file(&[1], &[0x80, 4, step]), 1, &format!("has step 0x{step:02x}, which no array of texts needs"));
    }
    refused(&file(&[1], b"\x80\x02N."), 1, "is a pickle of version 2, expected 3 to 5");
    refused(b"PK\x03\x04 and so on", 1, "does not begin as a .npy file does");
}

#[test]
fn rows_without_a_text_say_what_they_are() {
    // An array of one entry around the steps that make it.
    let one = |entry: &[u8]| {
        let whole = written(&[""]);
        let (before, after) = (whole.len() - 9, whole.len() - 4);
        [&whole[..before], entry, &whole[after..]].concat()
    };
    assert_eq!(strings(parse(&one(b"X\x01\0\0\0a"), 1).unwrap()), ["a"]);
    assert_eq!(strings(parse(&one(b"\x8d\x01\0\0\0\0\0\0\0a"), 1).unwrap()), ["a"]);
    refused(&one(b"K\x07"), 1, "row 0: a number, expected text, or a dictionary or tuple with text");
    refused(&one(b"K\x07K\x08\x86"), 1, "row 0: a tuple without text");
    let dictionary = b"}\x8c\x03keyN\x73";
    refused(&one(dictionary), 1, "row 0: a dictionary without text, expected one of the keys text, document, content");
    refused(&one(b"}\x8c\x04textNs"), 1, "row 0: None, true, false or a float under `text`, expected text");
    // The first of the keys is taken, and of a key that comes twice the last value, as Python does.
    let twice = b"}(\x8c\x03sql\x8c\x01a\x8c\x04text\x8c\x01b\x8c\x04text\x8c\x01cu";
    assert_eq!(strings(parse(&one(twice), 1).unwrap()), ["c"]);
    // A list in itself.
    refused(&one(b"]\x94h\0a"), 1, "row 0: a list without text");
    refused(&one(b"X\x02\0\0\0\xff\xfe"), 1, "has text that is no UTF-8");
    refused(&one(b""), 1, "0 texts, but the index has 1 vectors");
}

#[test]
fn positions_stand_for_rows_when_none_is_missing() {
    let single = |dictionary: &[u8]| {
        let program = [
            &b"\x80\x04cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\0\x85C\x01b\x87R(K\x01)"[..],
            b"cnumpy\ndtype\n\x8c\x02O8\x89\x88\x87R\x89]",
            dictionary,
            b"atb.",
        ];
        file(&[], &program.concat())
    };
    assert_eq!(strings(parse(&single(b"}(K\x01\x8c\x01bK\0\x8c\x01au"), 2).unwrap()), ["a", "b"]);
    for wrong in [&b"}(K\x01\x8c\x01bK\x02\x8c\x01au"[..], b"}(K\0\x8c\x01bK\0\x8c\x01au", b"}(N\x8c\x01bK\0\x8c\x01au"]
    {
        refused(&single(wrong), 2, "holds a dictionary, expected its keys to be 0 to 1, each once");
    }
    refused(&single(b"\x8c\x01a"), 1, "holds text, expected a text for each vector");
    refused(&single(b"}"), 1, "0 texts, but the index has 1 vectors");
}

#[test]
fn absurd_lengths_take_no_memory() {
    for steps in
        [&b"X\xff\xff\xff\xff"[..], b"\x8d\xff\xff\xff\xff\xff\xff\xff\xff", b"\x8c\xff", b"C\xff", b"\x8a\xff"]
    {
        refused(&file(&[1], &[&b"\x80\x04"[..], steps].concat()), 1, "in the middle of a step");
    }
    let many = 1 << 40;
    refused(&file(&[many], b"\x80\x04"), 1, "has the shape (1099511627776,), expected (1,)");
    let wide = NpyHeader::new("<U18446744073709551615", &[2]).encode();
    refused(&wide, 2, "has 0 bytes after its header, expected 2 texts of 18446744073709551615 × 4 bytes");
    // Steps without an end, each of a byte.
    let steps = [&b"\x80\x04"[..], &[b'('; 5000]].concat();
    refused(&file(&[1], &steps), 1, "takes more than 1400 steps, more than so many rows need");
    // A pickle that says another shape than the header, and bytes behind it.
    let mut other = written(&["a"]);
    other[..128].copy_from_slice(&NpyHeader::new("|O", &[2]).encode());
    refused(&other, 2, "has the shape [2] in its header and [1] in its pickle");
    refused(&[&written(&["a"])[..], b"."].concat(), 1, "has 1 bytes behind its end");
    let surrogate = [&NpyHeader::new("<U1", &[1]).encode()[..], &0xd800_u32.to_le_bytes()].concat();
    refused(&surrogate, 1, "row 0: has a number that is no character");
}

#[test]
fn a_file_that_is_cut_anywhere_is_refused() {
    let folder = golden("");
    for name in ["objects", "dictionaries", "tuples", "positions", "numpy-1", "unicode", "ascii"] {
        let bytes = fs::read(folder.join(format!("{name}.npy"))).unwrap();
        assert!(parse(&bytes, 3).is_ok());
        for end in 0..bytes.len() {
            assert!(parse(&bytes[..end], 3).is_err(), "{name} cut after {end} bytes");
        }
    }
}

proptest! {
    #[test]
    fn texts_come_back(texts in prop::collection::vec(any::<String>(), 0..20)) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("texts.npy");
        write_texts(&path, texts.iter().map(String::as_str)).unwrap();
        prop_assert_eq!(strings(read_texts(&path, texts.len()).unwrap()), texts);
    }

    #[test]
    fn damaged_bytes_are_no_panic(at in 128_usize..352, byte in any::<u8>()) {
        let mut bytes = fs::read(golden("objects.npy")).unwrap();
        bytes[at] = byte;
        let _ = parse(&bytes, 3);
    }
}
