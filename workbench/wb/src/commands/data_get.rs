//! `wb data get`: data sets of others, listed or fetched.

use std::path::Path;

use anyhow::Result;
use wb_core::quantities;
use wb_data::external::{
    self, ConversionCounts, Entry, FetchRequest, FolderOutcome, FolderState, ToCome, bytes_of, state,
};

use super::End;
use crate::{
    args,
    output::{self, Bars},
};

/// Without a name the list, else what is named.
pub fn get(arguments: &args::DataGet) -> Result<End> {
    if arguments.names.is_empty() {
        list(&arguments.external)?;
        return Ok(End::Done);
    }
    let entries = external::find(&arguments.names, &arguments.languages)?;
    if let (Some(revision), true) = (&arguments.revision, entries.len() > 1) {
        let message = format!("got `{revision}` for {} data sets, expected one", entries.len());
        return Err(wb_core::Error::value("--revision", message).into());
    }
    let request = FetchRequest {
        revision: arguments.revision.clone(),
        force: arguments.force,
        ..FetchRequest::new(&arguments.external)
    };
    for entry in &entries {
        fetch(entry, &request, &|line| output::line(line))?;
    }
    Ok(End::Done)
}

/// Fetches data sets that something else needs; none is no work.
pub fn bring(names: &[String], external: &Path) -> Result<()> {
    for entry in external::find(names, &[])? {
        // It is no result of what needs it.
        fetch(&entry, &FetchRequest::new(external), &|line| output::note(line))?;
    }
    Ok(())
}

/// One data set, told before and after.
fn fetch(entry: &Entry, request: &FetchRequest<'_>, say: &dyn Fn(String)) -> Result<()> {
    let to_come = external::to_come(entry, request)?;
    if to_come.folders > 0 {
        output::note(format!("{}: {}", entry.name, entry.title));
        output::note(format!("  license  {}", entry.license));
        output::note(format!("  to come  {}", size(to_come)));
        if !entry.note.is_empty() {
            output::note(format!("  note     {}", entry.note));
        }
    }
    let mut bars = Bars::new();
    let done = external::get(entry, request, &mut |progress| bars.report(progress));
    bars.finish();
    for part in done? {
        let place = part.place.display();
        match part.outcome {
            FolderOutcome::Made(counts) => say(format!("{place}: {}", counted(&counts))),
            FolderOutcome::There => say(format!("{place}: there already")),
            FolderOutcome::Other => say(format!(
                "{place}: there already, made of other files than would be taken now; --force makes it again"
            )),
            FolderOutcome::ByHand(path) if path == part.place => {
                say(format!("{place}: put there by hand, and left as it is; --force replaces it"));
            }
            FolderOutcome::ByHand(path) => say(format!(
                "{place}: not fetched, because {} was put there by hand and is read first; move it away to fetch",
                path.display()
            )),
        }
    }
    Ok(())
}

/// `12.3 MB`, `12.3 MB and 2 files of unknown size`, `nothing: all of it is in the cache`
fn size(ToCome { bytes, unknown, .. }: ToCome) -> String {
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

/// Every data set with what of it is there.
fn list(external: &Path) -> Result<()> {
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
