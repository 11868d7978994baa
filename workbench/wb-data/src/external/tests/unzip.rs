//! Archives, good and hostile.

use std::io::{Cursor, Write};

use tempfile::TempDir;
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

use super::{
    super::conversions::{Conversion, Unzip},
    conversion, convert, told,
};

/// An archive with these files; names that end in a slash are folders.
fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    for (name, bytes) in files {
        match name.ends_with('/') {
            true => writer.add_directory(*name, options).unwrap(),
            false => {
                writer.start_file(*name, options).unwrap();
                writer.write_all(bytes).unwrap();
            }
        }
    }
    writer.finish().unwrap().into_inner()
}

const SPIDER: [(&str, &[u8]); 9] = [
    ("spider/", b""),
    ("spider/dev.json", b"[]"),
    ("spider/tables.json", b"[]"),
    ("spider/train_spider.json", b"[]"),
    ("spider/database/", b""),
    ("spider/database/wta_1/wta_1.sqlite", b"SQLite format 3\0"),
    ("spider/.DS_Store", b"x"),
    ("__MACOSX/spider/._dev.json", b"x"),
    ("elsewhere/readme.txt", b"x"),
];

fn unpacked(bytes: Vec<u8>) -> (TempDir, crate::Result<super::ConversionCounts>) {
    let external = TempDir::new().unwrap();
    let counts = convert(&conversion("spider"), &external, &[("spider.zip", bytes)]);
    (external, counts)
}

fn refused(bytes: Vec<u8>) -> String {
    let (external, result) = unpacked(bytes);
    let above: Vec<_> = std::fs::read_dir(external.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(above.len(), 2, "something was written beside the folder: {above:?}");
    told(&result.unwrap_err())
}

#[test]
fn spider_lies_where_its_readers_look() {
    let (external, counts) = unpacked(archive(&SPIDER));
    let counts = counts.unwrap();
    assert_eq!((counts["files"], counts["files of the archive that nobody reads, left out"]), (4, 1));
    let out = external.path().join("out");
    assert!(out.join("dev.json").is_file() && out.join("database/wta_1/wta_1.sqlite").is_file());
    assert!(!out.join("__MACOSX").exists() && !out.join("readme.txt").exists() && !out.join(".DS_Store").exists());
}

#[test]
fn bird_keeps_its_databases_and_takes_its_questions_from_the_hub() {
    let zip = archive(&[
        ("minidev/MINIDEV/mini_dev_sqlite.json", b"[1]"),
        ("minidev/MINIDEV/dev_databases/a/a.sqlite", b"SQLite format 3\0"),
        ("minidev/MINIDEV/dev_databases/a/database_description/t.csv", b"x"),
        ("minidev/MINIDEV_mysql/BIRD_dev.sql", b"CREATE"),
    ]);
    let external = TempDir::new().unwrap();
    let files = [("mini_dev_sqlite.json", b"[2]".to_vec()), ("minidev.zip", zip)];
    convert(&conversion("bird"), &external, &files).unwrap();
    let out = external.path().join("out");
    assert_eq!(std::fs::read(out.join("mini_dev_sqlite.json")).unwrap(), b"[2]");
    assert!(out.join("dev_databases/a/a.sqlite").is_file() && !out.join("BIRD_dev.sql").exists());
}

#[test]
fn names_that_lead_out_are_refused_whole() {
    for name in ["../evil", "spider/../../evil", "/etc/evil", "spider//a", "C:/evil", "a\\..\\evil", "./evil"] {
        let message = refused(archive(&[("spider/tables.json", b"[]"), (name, b"x")]));
        assert!(message.contains("is no path inside a folder"), "{name}: {message}");
    }
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    writer.add_symlink("spider/dev.json", "/etc/passwd", SimpleFileOptions::default()).unwrap();
    let message = refused(writer.finish().unwrap().into_inner());
    assert!(message.contains("`spider/dev.json` in it is a link"), "{message}");
}

#[test]
fn more_than_is_listed_or_allowed_is_refused() {
    let small = Conversion::Unzip(Unzip { archive: "a.zip", root: "a", keep: vec![], needs: vec![], most: 1000 });
    let external = TempDir::new().unwrap();
    let bomb = archive(&[("a", &[0; 100_000])]);
    assert!(bomb.len() < 1000, "it is small until it is unpacked");
    let error = convert(&small, &external, &[("a.zip", bomb.clone())]).unwrap_err();
    assert!(told(&error).contains("it says that it holds 1 files of 100000 bytes, expected at most"), "{error}");
    // The same with a lie about its size, in both of the places where it is listed.
    let mut lies = bomb;
    let size = 100_000u32.to_le_bytes();
    let places: Vec<usize> = (0..lies.len() - 4).filter(|at| lies[*at..at + 4] == size).collect();
    assert!(!places.is_empty());
    for at in places {
        lies[at..at + 4].copy_from_slice(&10u32.to_le_bytes());
    }
    let error = convert(&small, &external, &[("a.zip", lies)]).unwrap_err();
    assert!(told(&error).contains("`a` in it is broken: File is larger than its declared"), "{}", told(&error));
    assert!(!external.path().join("out/a").exists());
}

#[test]
fn what_is_not_whole_is_told() {
    let whole = archive(&SPIDER);
    assert!(refused(whole[..whole.len() / 2].to_vec()).contains("not a whole archive"));
    assert!(refused(b"<html>not here any more</html>".to_vec()).contains("not a whole archive"));
    let message = refused(archive(&[("spider/tables.json", b"[]"), ("spider/dev.json", b"[]")]));
    assert!(message.contains("it has no `train_spider.json`"), "{message}");
    assert!(refused(archive(&[("other/a", b"")])).contains("there is no `tables.json` in it"));
    // A changed byte of a content.
    let text: Vec<u8> = (0..2000u32).map(|n| (n * n / 7) as u8).collect();
    let mut broken = archive(&[("spider/tables.json", &text)]);
    broken[500] ^= 0x55;
    let message = refused(broken);
    assert!(message.contains("in it is broken") || message.contains("bytes than the"), "{message}");
}
