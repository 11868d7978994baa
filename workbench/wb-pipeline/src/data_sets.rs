//! Data sets of others in lines: all that can be fetched, what is to come of one, and what came.

use std::path::Path;

use anyhow::Result;
use wb_core::quantities;
use wb_data::external::{self, ConversionCounts, Done, Entry, FolderOutcome, FolderState, ToCome, bytes_of, state};

use crate::output;

/// Tells what is about to be fetched of a data set, if anything is.
pub fn announce(entry: &Entry, to_come: &ToCome) {
    if to_come.folders > 0 {
        output::note(format!("{}: {}", entry.name, entry.title));
        output::note(format!("  license  {}", entry.license));
        output::note(format!("  to come  {}", size(to_come)));
        if !entry.note.is_empty() {
            output::note(format!("  note     {}", entry.note));
        }
    }
}

/// A folder that was asked for, in one line: made, there already, or put there by hand.
pub fn line(part: &Done) -> String {
    let place = part.place.display();
    match &part.outcome {
        FolderOutcome::Made(counts) => format!("{place}: {}", counted(counts)),
        FolderOutcome::There => format!("{place}: there already"),
        FolderOutcome::Other => {
            format!("{place}: there already, made of other files than would be taken now; --force makes it again")
        }
        FolderOutcome::ByHand(path) if *path == part.place => {
            format!("{place}: put there by hand, and left as it is; --force replaces it")
        }
        FolderOutcome::ByHand(path) => format!(
            "{place}: not fetched, because {} was put there by hand and is read first; move it away to fetch",
            path.display()
        ),
    }
}

/// `12.3 MB`, `12.3 MB and 2 files of unknown size`, `nothing: all of it is in the cache`
fn size(to_come: &ToCome) -> String {
    let ToCome { bytes, unknown, .. } = *to_come;
    match (bytes, unknown) {
        (0, 0) => "nothing: all of it is in the cache".to_owned(),
        (_, 0) => quantities::bytes(bytes),
        (0, _) => format!("{unknown} files of unknown size"),
        _ => format!("{} and {unknown} files of unknown size", quantities::bytes(bytes)),
    }
}

fn counted(counts: &ConversionCounts) -> String {
    counts.iter().map(|(what, count)| format!("{count} {what}")).collect::<Vec<_>>().join("; ")
}

/// Prints every data set with what of it is there.
pub fn list(external: &Path) -> Result<()> {
    let mut rows = Vec::new();
    for entry in external::catalog() {
        let size = entry.about.map_or_else(|| "?".to_owned(), |bytes| format!("~{}", quantities::bytes(bytes)));
        let here = here(&entry, external)?;
        rows.push(vec![entry.name, here, size, entry.license.to_owned(), entry.used_by.to_owned()]);
    }
    output::table(&["name", "here", "fetched", "license", "used by"], &rows);
    output::line("");
    output::line(format!(
        "fetch some to {}: wb data get NAME ...; `coir` is all of its tasks, --languages ruby,go a part of what has some",
        external.display()
    ));
    output::line("a size that is `?` is asked of the hub, and told before anything is fetched");
    Ok(())
}

/// `missing`, `there (12.3 MB)`, `2 of 12 (1.2 MB)`, `by hand (12.3 MB)`
fn here(entry: &Entry, external: &Path) -> Result<String> {
    let (mut there, mut by_hand, mut other, mut bytes) = (0, 0, 0, 0);
    for part in &entry.parts {
        let place = external.join(&part.place);
        let path = match state(entry, part, external, None)? {
            FolderState::Missing => continue,
            FolderState::There => place,
            FolderState::Other => {
                other += 1;
                place
            }
            FolderState::ByHand(path) => {
                by_hand += 1;
                path
            }
        };
        there += 1;
        bytes += if path.is_dir() { bytes_of(&path)? } else { path.metadata().map_or(0, |meta| meta.len()) };
    }
    let bytes = quantities::bytes(bytes);
    Ok(match there {
        0 => "missing".to_owned(),
        n if n < entry.parts.len() => format!("partly, {n} of {} folders ({bytes})", entry.parts.len()),
        _ if by_hand > 0 => format!("by hand ({bytes})"),
        _ if other > 0 => format!("there, of other files ({bytes})"),
        _ => format!("there ({bytes})"),
    })
}
