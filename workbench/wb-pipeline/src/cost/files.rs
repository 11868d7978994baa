//! Sizes of sources and benchmarks, from those of their files: nothing is parsed, and little is read.

use std::{
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
};

use anyhow::Result;
use wb_core::remote;

use crate::config::SourceChoice;

/// Bytes of code for each documented function, where sources are a tree.
const TREE_BYTES: f64 = 4000.0;
/// Bytes of a record in a file that is no list of lines: its columns are compressed.
const PACKED_RECORD_BYTES: f64 = 500.0;
/// Bytes of a line in a compressed file of lines.
const PACKED_LINE_BYTES: f64 = 300.0;
/// Bytes of a file that are read to see how long its lines are.
const HEAD: u64 = 1 << 18;
/// Files that are looked for in a folder.
const LINES: [&str; 3] = [".jsonl", ".json", ".csv"];

/// Bytes of a record that nobody has seen yet.
const RECORD_BYTES: f64 = 2000.0;

/// Records, and the bytes that they stand in.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct FoundRecords {
    /// Records, by the assumptions of this file.
    pub records: f64,
    /// Bytes on the disk.
    pub bytes: f64,
}

/// Pairs that a source is assumed to have; nothing of sources whose files say little about that.
pub fn of_source(source: &SourceChoice) -> Result<Option<FoundRecords>> {
    let files = match source {
        SourceChoice::Code(tree) if !is_here(Path::new(tree.path.as_deref().unwrap_or_default()))? => return Ok(None),
        SourceChoice::Code(tree) => {
            let sizes = wb_code::tree_files(tree)?.files;
            let bytes: u64 = sizes.iter().filter_map(|file| fs::metadata(&file.absolute).ok()).map(|m| m.len()).sum();
            return Ok(Some(FoundRecords { records: bytes as f64 / TREE_BYTES, bytes: bytes as f64 }));
        }
        SourceChoice::Jsonl(files) | SourceChoice::Parquet(files) | SourceChoice::Csv(files) => files,
        SourceChoice::ParallelLines(_)
        | SourceChoice::Joined(_)
        | SourceChoice::CodeMap(_)
        | SourceChoice::Hub(_)
        | SourceChoice::TextToSql(_) => return Ok(None),
    };
    if !is_here(&files.path)? {
        return Ok(None);
    }
    let path = remote::local(&files.path)?;
    if !path.exists() {
        return Ok(of_catalog(&path));
    }
    Ok(Some(of_files(&path, &below(&path), |_| true)))
}

/// False for what is in object storage and not copied yet: an estimate fetches nothing.
pub fn is_here(path: &Path) -> wb_core::Result<bool> {
    Ok(!remote::is_remote(path) || remote::missing(path)? == Some(0))
}

/// Records of data that is yet to be fetched, as its publishers count them.
pub fn of_catalog(path: &Path) -> Option<FoundRecords> {
    let place = path.strip_prefix("datasets/external").ok()?;
    let records = wb_data::external::records_at(&place.to_string_lossy().replace('\\', "/"))? as f64;
    Some(FoundRecords { records, bytes: records * RECORD_BYTES })
}

/// Records of the files below a folder whose path from there, in lower case, is wanted.
pub fn of_files(root: &Path, files: &[PathBuf], wanted: impl Fn(&str) -> bool) -> FoundRecords {
    let inside = |path: &Path| path.strip_prefix(root).unwrap_or(path).to_string_lossy().to_lowercase();
    let wanted = files.iter().filter(|path| wanted(&inside(path)));
    let both = |sum: FoundRecords, found: FoundRecords| FoundRecords {
        records: sum.records + found.records,
        bytes: sum.bytes + found.bytes,
    };
    wanted.filter_map(|path| of_file(path)).fold(FoundRecords::default(), both)
}

/// Records of one file; nothing of one that cannot be read or holds none.
fn of_file(path: &Path) -> Option<FoundRecords> {
    let bytes = fs::metadata(path).ok()?.len() as f64;
    let name = path.file_name()?.to_string_lossy().to_lowercase();
    let is_lines = |name: &str| LINES.iter().any(|ending| name.ends_with(ending));
    let a_record = match name.strip_suffix(".gz") {
        Some(name) if is_lines(name) => PACKED_LINE_BYTES,
        None if is_lines(&name) => line_bytes(path)?,
        None if name.ends_with(".parquet") => PACKED_RECORD_BYTES,
        _ => return None,
    };
    Some(FoundRecords { records: bytes / a_record, bytes })
}

/// Mean length of the lines at the beginning of a file, with their ends; nothing of an empty one.
fn line_bytes(path: &Path) -> Option<f64> {
    let mut head = Vec::new();
    File::open(path).ok()?.take(HEAD).read_to_end(&mut head).ok()?;
    let whole = (head.len() as u64) < HEAD;
    let ends = head.iter().filter(|byte| **byte == b'\n').count();
    // A last line need not have an end.
    let open = usize::from(whole && head.last().is_some_and(|byte| *byte != b'\n'));
    let until =
        if whole { head.len() } else { head.iter().rposition(|byte| *byte == b'\n').map_or(head.len(), |at| at + 1) };
    (until > 0).then(|| until as f64 / (ends + open).max(1) as f64)
}

/// A file, or all files below a folder, in the order of their paths; hidden ones are left out, links not followed.
pub fn below(path: &Path) -> Vec<PathBuf> {
    if !path.is_dir() {
        return vec![path.to_owned()];
    }
    let Ok(entries) = fs::read_dir(path) else { return Vec::new() };
    let mut entries: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    entries.retain(|entry| !entry.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.')));
    entries.sort();
    let is_link = |entry: &PathBuf| entry.is_symlink() && entry.is_dir();
    entries.into_iter().filter(|entry| !is_link(entry)).flat_map(|entry| below(&entry)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(named: &[(&str, &str)]) -> (tempfile::TempDir, Vec<PathBuf>) {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in named {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let found = below(folder.path());
        (folder, found)
    }

    #[test]
    fn short_files_of_lines_are_counted() {
        let (folder, found) =
            files(&[("a.jsonl", "{}\n{}\n{}"), ("b/c.csv", "query,pos\nx,y\n"), (".d.jsonl", "{}\n")]);
        assert_eq!(found.len(), 2);
        assert_eq!(of_files(folder.path(), &found, |_| true), FoundRecords { records: 5.0, bytes: 22.0 });
        assert_eq!(of_files(folder.path(), &found, |path| path.ends_with(".csv")).records, 2.0);
    }

    #[test]
    fn long_files_go_by_their_beginning() {
        // 99 bytes and an end of line, 10,000 times: the beginning ends within a line.
        let text = format!("{}\n", "x".repeat(99)).repeat(10_000);
        let (folder, found) = files(&[("long.jsonl", &text)]);
        assert_eq!(of_files(folder.path(), &found, |_| true), FoundRecords { records: 10_000.0, bytes: 1e6 });
    }

    #[test]
    fn packed_files_go_by_their_size_and_others_by_nothing() {
        let (folder, found) =
            files(&[("a.jsonl.gz", &"x".repeat(600)), ("b.parquet", &"x".repeat(1000)), ("c.txt", "x")]);
        assert_eq!(of_files(folder.path(), &found, |_| true), FoundRecords { records: 4.0, bytes: 1600.0 });
        assert_eq!(of_files(folder.path(), &[], |_| true), FoundRecords::default());
        assert_eq!(of_files(folder.path(), &[PathBuf::from("nowhere.jsonl")], |_| true), FoundRecords::default());
    }
}
