//! Archives: a part of their files, without the folders above, and nothing that leads out of the folder or never ends.

use std::{
    collections::BTreeSet,
    fs::File,
    io::{self, Read},
    path::Path,
};

use serde::Serialize;
use wb_core::{Progress, atomic};
use zip::ZipArchive;

use super::{
    as_it_is::copy,
    conversion::{ConversionCounts, Convert, Inputs, count},
};
use crate::{Error, Result};

/// An archive's files; other files that were fetched stand beside them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unzip {
    /// The name by which the archive is wanted.
    pub archive: &'static str,
    /// A file or (with a slash at the end) a folder of the archive: the folder that holds it is the data's, and what
    /// stands above or elsewhere is left out.
    pub root: &'static str,
    /// The files, and the folders with a slash at the end, that are kept of the data; empty keeps all.
    pub keep: Vec<&'static str>,
    /// Files and folders that have to be there when all is done.
    pub needs: Vec<&'static str>,
    /// More bytes than these are no archive of this data.
    pub most: u64,
}

/// More files than these are no archive of any data here.
const MOST_FILES: usize = 100_000;

impl Convert for Unzip {
    fn convert(&self, inputs: &Inputs<'_>, to: &Path, progress: &mut dyn FnMut(Progress)) -> Result<ConversionCounts> {
        let mut counts = ConversionCounts::new();
        self.unzip(inputs.one(self.archive)?, to, &mut counts, progress)?;
        for file in inputs.files.iter().filter(|file| file.name != self.archive) {
            copy(&file.path, &to.join(&file.name))?;
            count(&mut counts, "files", 1);
        }
        match self.needs.iter().find(|name| !to.join(name).exists()) {
            Some(missing) => {
                let message = format!("it has no `{missing}`, expected {}", self.needs.join(", "));
                Err(Error::file(inputs.one(self.archive)?, message))
            }
            None => Ok(counts),
        }
    }
}

impl Unzip {
    fn unzip(
        &self,
        path: &Path,
        into: &Path,
        counts: &mut ConversionCounts,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<()> {
        let broken = |error: zip::result::ZipError| {
            Error::file(path, "not a whole archive").with_cause(error).with_hint("give the same command again")
        };
        let file = File::open(path).map_err(Error::io("read", path))?;
        let mut archive = ZipArchive::new(io::BufReader::new(file)).map_err(broken)?;
        let entries = listed(path, &mut archive)?;
        let declared: u64 = entries.iter().map(|entry| entry.bytes).fold(0, u64::saturating_add);
        if entries.len() > MOST_FILES || declared > self.most {
            let message = format!("it says that it holds {} files of {declared} bytes", entries.len());
            let limits = format!("expected at most {MOST_FILES} of {}", self.most);
            return Err(Error::file(path, format!("{message}, {limits}")));
        }
        let root = self.root_of(&entries).ok_or_else(|| {
            Error::file(path, format!("there is no `{}` in it", self.root))
                .with_hint("the data set was published anew in another form")
        })?;
        let mut written = BTreeSet::new();
        for (done, entry) in entries.iter().enumerate() {
            let Some(inside) = entry.name.strip_prefix(&root).filter(|inside| self.keeps(inside)) else {
                count(counts, "files of the archive that nobody reads, left out", 1);
                continue;
            };
            progress(Progress::new("unpacking", done, entries.len()).note(inside.to_owned()));
            // Names that differ in case only are one file on some disks.
            if !written.insert(inside.to_lowercase()) {
                return Err(Error::file(path, format!("`{}` is in it twice", entry.name)));
            }
            let packed = archive.by_index(entry.index).map_err(broken)?;
            unpack(path, entry, packed, &into.join(inside))?;
            count(counts, "files", 1);
        }
        Ok(())
    }

    /// The folder of the data with a slash behind, empty for the archive's top; the shortest, where there are several.
    fn root_of(&self, entries: &[Listed]) -> Option<String> {
        let is_folder = self.root.ends_with('/');
        let before = |name: &str| {
            let at = if is_folder {
                name.find(self.root)
            } else {
                name.ends_with(self.root).then(|| name.len() - self.root.len())
            };
            at.filter(|at| *at == 0 || name[..*at].ends_with('/')).map(|at| name[..at].to_owned())
        };
        entries.iter().filter_map(|entry| before(&entry.name)).min_by_key(String::len)
    }

    fn keeps(&self, inside: &str) -> bool {
        let kept = |keep: &str| if keep.ends_with('/') { inside.starts_with(keep) } else { inside == keep };
        self.keep.is_empty() || self.keep.iter().any(|keep| kept(keep))
    }
}

/// A file of an archive as the archive lists it.
struct Listed {
    index: usize,
    name: String,
    bytes: u64,
}

/// The files of an archive that are not of a desktop's own; hostile names are refused, whoever would read them.
fn listed(path: &Path, archive: &mut ZipArchive<io::BufReader<File>>) -> Result<Vec<Listed>> {
    let refused = |message: String| Error::file(path, message).with_hint("it is not unpacked; tell who published it");
    if archive.has_duplicate_names() {
        return Err(refused("two files in it have one name".to_owned()));
    }
    let mut entries = Vec::new();
    for index in 0..archive.len() {
        let entry =
            archive.by_index_data(index).map_err(|error| Error::file(path, "not a whole archive").with_cause(error))?;
        let Ok(name) = entry.name().map(|name| name.into_owned()) else {
            return Err(refused(format!("file {} of it has a name that is no text", index + 1)));
        };
        let leads_out = name.starts_with('/')
            || name.contains(['\\', ':', '\0'])
            || name.trim_end_matches('/').split('/').any(|part| part.is_empty() || part == "." || part == "..");
        if leads_out {
            return Err(refused(format!("`{}` in it is no path inside a folder", name.escape_default())));
        }
        if entry.is_symlink() {
            return Err(refused(format!("`{name}` in it is a link")));
        }
        let file = name.rsplit('/').next().unwrap_or(&name);
        let of_desktop =
            name.split('/').any(|part| part == "__MACOSX") || file == ".DS_Store" || file.starts_with("._");
        if !entry.is_dir() && !of_desktop {
            let bytes = entry.size();
            entries.push(Listed { index, name, bytes });
        }
    }
    Ok(entries)
}

/// Unpacks a file; more or fewer bytes than the archive lists are an error, and so is another checksum.
fn unpack(path: &Path, entry: &Listed, packed: impl Read, to: &Path) -> Result<()> {
    let mut limited = packed.take(entry.bytes.saturating_add(1));
    let mut got = 0;
    let mut reading = None;
    let written = atomic::write_with(to, |file| {
        let copied = io::copy(&mut limited, file);
        match copied {
            Ok(count) => got = count,
            Err(error) if error.kind() == io::ErrorKind::StorageFull => return Err(error),
            Err(error) => reading = Some(error),
        }
        match (&reading, got == entry.bytes) {
            (None, true) => Ok(()),
            // The reason is told below.
            _ => Err(io::Error::other("not the listed content")),
        }
    });
    if let Some(error) = reading {
        return Err(Error::file(path, format!("`{}` in it is broken", entry.name)).with_cause(error));
    }
    if got != entry.bytes && written.is_err() {
        let more = if got > entry.bytes { "more" } else { "fewer" };
        let message = format!("`{}` in it has {more} bytes than the {} that are listed", entry.name, entry.bytes);
        return Err(Error::file(path, message).with_hint("it is not unpacked; tell who published it"));
    }
    written
}
