//! The files of a listing, read and taken apart in parallel, put together in their order.

use std::{collections::BTreeMap, fs, path::Path, sync::mpsc, thread};

use rayon::prelude::*;
use wb_core::{Origin, Pair, Progress, Task, fingerprint::Fingerprint};

use super::{
    TreeConfig, TreeRead,
    groups::{Groups, Place},
    listing::{Listing, SourceFile},
};
use crate::{
    Language, anchor_prose,
    documented::{self, PARSE_FAILED},
};

const STAGE: &str = "reading sources";

/// The pairs of one file.
#[derive(Default)]
struct FileRead {
    pairs: Vec<Pair>,
    skipped: Option<&'static str>,
    rejected: BTreeMap<&'static str, u64>,
}

pub(super) fn read(
    config: &TreeConfig,
    listing: &Listing,
    groups: &Groups,
    fingerprint: Fingerprint,
    progress: &mut dyn FnMut(Progress),
) -> TreeRead {
    let files: Vec<(&SourceFile, &Place)> = listing.files.iter().zip(&groups.places).collect();
    let read = thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        let worker = scope.spawn(|| read_all(config, listing, &files, sender));
        let mut done = 0;
        progress(Progress::new(STAGE, 0, files.len()));
        for () in receiver {
            done += 1;
            if done % 64 == 0 || done == files.len() {
                progress(Progress::new(STAGE, done, files.len()));
            }
        }
        match worker.join() {
            Ok(read) => read,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    });
    let mut tree = TreeRead {
        pairs: Vec::new(),
        files: 0,
        groups: groups.count,
        skipped: listing.skipped.clone(),
        rejected: BTreeMap::new(),
        fingerprint,
    };
    for file in read {
        match file.skipped {
            Some(reason) => *tree.skipped.entry(reason.to_owned()).or_default() += 1,
            None => tree.files += 1,
        }
        for (reason, count) in file.rejected {
            *tree.rejected.entry(reason.to_owned()).or_default() += count;
        }
        tree.pairs.extend(file.pairs);
    }
    tree
}

fn read_all(
    config: &TreeConfig,
    listing: &Listing,
    files: &[(&SourceFile, &Place)],
    sender: mpsc::Sender<()>,
) -> Vec<FileRead> {
    files
        .par_iter()
        .map_with(sender, |sender, (file, place)| {
            let read = read_file(config, listing, file, place);
            // The receiver lives until the last sender is gone; a report that is not heard changes nothing.
            let _ = sender.send(());
            read
        })
        .collect()
}

fn read_file(config: &TreeConfig, listing: &Listing, file: &SourceFile, place: &Place) -> FileRead {
    let skipped = |reason| FileRead { skipped: Some(reason), ..FileRead::default() };
    let (language, source) = match source_text(&listing.root.join(&file.relative), &listing.languages) {
        Ok(read) => read,
        Err(reason) => return skipped(reason),
    };
    let source = source.as_str();
    let extraction = documented::extract(source, language, config.include_tests);
    if extraction.rejected.contains_key(PARSE_FAILED) {
        return skipped(PARSE_FAILED);
    }
    let mut read = FileRead { rejected: extraction.rejected, ..FileRead::default() };
    let mut on_line: BTreeMap<u32, u32> = BTreeMap::new();
    for function in extraction.functions {
        let anchor = anchor_prose(&function.doc, language, config.max_anchor_chars);
        if anchor.is_empty() {
            *read.rejected.entry("no prose in the doc comment").or_default() += 1;
            continue;
        }
        if same_word(&anchor, &function.name) {
            *read.rejected.entry("doc comment that only names the function").or_default() += 1;
            continue;
        }
        let first = function.lines[0];
        let before = on_line.entry(first).or_default();
        *before += 1;
        // Two functions on one line are told apart by their order.
        let suffix = if *before > 1 { format!(".{before}") } else { String::new() };
        read.pairs.push(Pair {
            id: format!("{language}:{}#L{first}{suffix}", place.id),
            task: Task::Text2code,
            language: language.name().to_owned(),
            anchor,
            positive: function.code,
            negatives: Vec::new(),
            scores: Vec::new(),
            origin: Origin {
                group: place.group.clone(),
                path: place.path.clone(),
                lines: function.lines,
                license: place.license.clone(),
                dataset: String::new(),
            },
        });
    }
    read
}

/// The text of a source file without its byte-order mark, and its language; or why it is left aside.
pub(super) fn source_text(path: &Path, languages: &[Language]) -> Result<(Language, String), &'static str> {
    let bytes = fs::read(path).map_err(|_| "cannot be read")?;
    let mut source = String::from_utf8(bytes).map_err(|_| "not utf-8")?;
    if source.starts_with('\u{feff}') {
        source.drain(..'\u{feff}'.len_utf8());
    }
    let language = Language::of_file(path, &source).ok_or("not a source file")?;
    match languages.contains(&language) {
        true => Ok((language, source)),
        false => Err("header of another language"),
    }
}

/// True where a text is a name and nothing more than punctuation around it.
fn same_word(text: &str, name: &str) -> bool {
    let last = |text: &str| -> String {
        let bare = text.trim_matches(|c: char| !c.is_alphanumeric() && c != '_');
        bare.rsplit([':', '.', '#']).next().unwrap_or_default().to_lowercase()
    };
    !text.trim_end_matches(|c: char| !c.is_alphanumeric()).contains(' ') && last(text) == last(name)
}

#[cfg(test)]
mod tests {
    use super::same_word;

    #[test]
    fn names_are_no_descriptions() {
        for (text, name, expected) in [
            ("parse():", "parse", true),
            ("Parse ...", "parse", true),
            ("Stack::push", "push", true),
            ("Parse it.", "parse", false),
            ("Parses.", "parse", false),
        ] {
            assert_eq!(same_word(text, name), expected, "{text}");
        }
    }
}
