//! The parts of an index, each a file of its own, and the small file that names those which belong together: with another in
//! its place, all of them are replaced at once.
//!
//! A part is named by its kind and by what is in it, and never changes. Whoever has opened them keeps them, also when they are
//! replaced. One process at a time changes a set, from reading it to putting another in its place; what one that was killed
//! has left is taken out by the next.

use std::{
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
    sync::Arc,
};

use wb_core::{atomic, lock::FileLock};
use wb_retrieval::MappedBytes;

use crate::{
    Error, Result,
    bytes::{Checksum, Magic, OpenFile, Reader, Sealed, Writer, checksum, damaged, unusable},
};

const MAGIC: Magic = *b"wbcode\x00\x09";

/// A part of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IndexPart {
    /// Files, units and words.
    Units,
    /// Vectors of the units.
    Vectors,
    /// Structures of the files.
    Structures,
    /// Names that an indexer has given.
    Scip,
}

/// A part's fate.
#[derive(Debug, Clone, Default)]
pub(crate) enum PartChange {
    /// Stays.
    #[default]
    Kept,
    /// Is taken out, and does not come again by itself.
    Gone,
    /// Is lost, being damaged.
    Lost,
    /// Is this one now.
    Made(MappedBytes),
}

/// One change a part.
pub(crate) type PartChanges = [PartChange; IndexPart::ALL.len()];

/// Parts that belong together, open.
#[derive(Debug, Clone, Default)]
pub(crate) struct IndexParts {
    open: [Option<Arc<OpenFile>>; IndexPart::ALL.len()],
    sums: PartSums,
}

/// A part by its checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum PartSum {
    /// Never made.
    #[default]
    None,
    /// Taken out.
    Gone,
    /// Made, with this checksum.
    Of(Checksum),
}

/// The parts that belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct PartSums([PartSum; IndexPart::ALL.len()]);

impl IndexPart {
    pub const ALL: [Self; 4] = [Self::Units, Self::Vectors, Self::Structures, Self::Scip];

    fn name(self) -> &'static str {
        ["units", "vectors", "structures", "scip"][self as usize]
    }

    /// The file of a part, beside the one that names it.
    fn file(self, file: &Path, sum: &Checksum) -> PathBuf {
        atomic::beside(file, "", &format!(".{}-{}", self.name(), in_short(sum)))
    }

    /// The part, and the checksum as far as it is told, that the name of a file beside `file` has, where it is a part by its
    /// first bytes, too: a file of such a name may be somebody's. Before parts were named by what is in them, those beside the
    /// units had no checksum there.
    fn named(file: &Path, path: &Path) -> Option<(Self, Option<String>)> {
        let name = |path: &Path| path.file_name().map(|name| name.as_encoded_bytes().to_vec());
        let (own, path_name) = (name(file)?, name(path)?);
        let ending = std::str::from_utf8(path_name.strip_prefix(own.as_slice())?.strip_prefix(b".")?).ok()?;
        let (kind, sum) = ending.split_once('-').map_or((ending, None), |(kind, sum)| (kind, Some(sum)));
        let part = Self::ALL.into_iter().find(|part| part.name() == kind)?;
        let is_sum = |sum: &str| sum.len() == 16 && sum.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_one = sum.is_none_or(is_sum) && begins_with(path, &[b"wbunit", b"wbvecs", b"wbstru", b"wbscip"]);
        is_one.then(|| (part, sum.map(str::to_owned)))
    }
}

impl IndexParts {
    /// The parts that a file names; `None` where it is not there, or of another version.
    pub fn open(file: &Path) -> Result<Option<Self>> {
        let mut before = None;
        loop {
            if !file.is_file() || Sealed::<1>::is_of_another_version(&MAGIC, file) {
                return Ok(None);
            }
            let sums = PartSums::read(file)?;
            match sums.open(file) {
                // Another process may have put others in their place meanwhile.
                Err(_) if before != Some(sums) => before = Some(sums),
                opened => return opened.map(Some),
            }
        }
    }

    /// The parts that a file names, as far as they can be opened. Of a file that does not say it, being damaged or of another
    /// version, the last ones of each kind.
    pub fn salvaged(file: &Path) -> Self {
        let mut parts = Self::default();
        let named = PartSums::named(file);
        let beside = if named.is_some() { Vec::new() } else { files_beside(file) };
        for part in IndexPart::ALL {
            let of_kind = |path: &&PathBuf| IndexPart::named(file, path).is_some_and(|(kind, _)| kind == part);
            let changed = |path: &&PathBuf| path.metadata().and_then(|about| about.modified()).ok();
            let path = match named.map(|named| named.0[part as usize]) {
                Some(PartSum::Of(sum)) => Some(part.file(file, &sum)),
                Some(PartSum::Gone) => {
                    parts.sums.0[part as usize] = PartSum::Gone;
                    None
                }
                Some(PartSum::None) => None,
                None => beside.iter().filter(of_kind).max_by_key(changed).cloned(),
            };
            let opened = path.and_then(|path| OpenFile::open(&path).ok());
            if let Some((open, sum)) = opened.and_then(|open| checksum(open.bytes()).map(|sum| (open, sum))) {
                parts.sums.0[part as usize] = PartSum::Of(sum);
                parts.open[part as usize] = Some(Arc::new(open));
            }
        }
        parts
    }

    /// True for a file that names parts, or an index of a version before that, damaged or not.
    pub fn are_named_by(file: &Path) -> bool {
        Sealed::<1>::is_of_any_version(&MAGIC, file)
    }

    /// A part, where it is there.
    pub fn get(&self, part: IndexPart) -> Option<&OpenFile> {
        self.open[part as usize].as_deref()
    }

    /// True for a part that was taken out, and is not to come again by itself.
    pub fn is_gone(&self, part: IndexPart) -> bool {
        self.sums.0[part as usize] == PartSum::Gone
    }

    /// Takes the lock of those who change the parts that a file names; an error where another process has it. With
    /// `waiting`, which is told who that is, waits for it.
    pub fn lock(file: &Path, waiting: Option<&mut dyn FnMut(&str)>) -> Result<FileLock> {
        let lock = atomic::beside(file, "", ".wb-lock");
        let is_ours = match lock.symlink_metadata() {
            Ok(about) => about.is_file() && (about.len() == 0 || begins_with(&lock, &[b"pid "])),
            Err(_) => true,
        };
        if !is_ours {
            let what = format!("{} is there and is no lock of this program", lock.display());
            return Err(Error::failed(what).with_hint("--index another/file"));
        }
        match waiting {
            Some(waiting) => FileLock::wait(&lock, waiting),
            None => FileLock::take(&lock, file),
        }
    }

    /// True where these are the parts that a file names now; of none, where it names none.
    pub fn are_named_now(&self, file: &Path) -> bool {
        PartSums::named(file) == Some(self.sums)
    }

    /// Changes these parts, and puts them all at once in the place of those that a file names: theirs who has the lock. Where
    /// they cannot be written, they are in memory, and the error is beside them.
    pub fn replace(self, file: &Path, changes: PartChanges) -> (Self, Result<()>) {
        atomic::remove_abandoned(&atomic::parent(file));
        let changed = self.changed(file, changes);
        let written = changed.write(file);
        // Where that has failed, those of before are what is named.
        if let Some(named) = if written.is_ok() { Some(changed.sums) } else { PartSums::named(file) } {
            named.remove_others(file);
        }
        match written.and_then(|()| changed.sums.open(file)) {
            Ok(opened) => (opened, Ok(())),
            Err(error) => (changed, Err(error)),
        }
    }

    /// Changes these parts in memory alone.
    pub fn changed(mut self, file: &Path, changes: PartChanges) -> Self {
        for (part, change) in IndexPart::ALL.into_iter().zip(changes) {
            let (open, sum) = match change {
                PartChange::Kept => continue,
                PartChange::Gone => (None, PartSum::Gone),
                PartChange::Lost => (None, PartSum::None),
                PartChange::Made(bytes) => {
                    let sum = checksum(&bytes).unwrap_or_default();
                    (Some(Arc::new(OpenFile::of_bytes(&part.file(file, &sum), bytes))), PartSum::Of(sum))
                }
            };
            (self.open[part as usize], self.sums.0[part as usize]) = (open, sum);
        }
        self
    }

    /// Writes parts that are in memory, and the file that names all.
    fn write(&self, file: &Path) -> Result<()> {
        for part in IndexPart::ALL {
            let (PartSum::Of(sum), Some(open)) = (self.sums.0[part as usize], self.get(part)) else { continue };
            let path = part.file(file, &sum);
            // One of another version, which is kept, had another name.
            if open.is_in_memory() || !path.is_file() {
                atomic::write(&path, open.bytes())?;
            }
        }
        atomic::write(file, self.sums.sealed().bytes())
    }
}

impl PartSums {
    fn read(file: &Path) -> Result<Self> {
        let read = || {
            // Read at once: it is small, and may be replaced at any moment.
            let bytes = MappedBytes::new(fs::read(file).map_err(Error::io("read", file))?);
            let sealed = Sealed::<1>::open(&MAGIC, &OpenFile::of_bytes(file, bytes))?;
            let (mut from, mut sums) = (Reader(sealed.section(0)), Self::default());
            for sum in &mut sums.0 {
                *sum = match from.below(3)? {
                    0 => PartSum::None,
                    1 => PartSum::Gone,
                    _ => PartSum::Of(checksum(from.bytes(size_of::<Checksum>())?).ok_or_else(damaged)?),
                };
            }
            if from.0.is_empty() { Ok(sums) } else { Err(damaged()) }
        };
        read().map_err(|error: Error| error.within(format!("cannot use {}", file.display())))
    }

    fn sealed(&self) -> Sealed<1> {
        let mut to = Writer::default();
        for sum in self.0 {
            match sum {
                PartSum::None => to.number(0),
                PartSum::Gone => to.number(1),
                PartSum::Of(sum) => {
                    to.number(2);
                    to.0.extend_from_slice(&sum);
                }
            }
        }
        Sealed::of(&MAGIC, &[&to.0])
    }

    /// The parts that a file names, none where there is no such file; nothing where that cannot be known.
    fn named(file: &Path) -> Option<Self> {
        if file.exists() { Self::read(file).ok() } else { Some(Self::default()) }
    }

    fn open(&self, file: &Path) -> Result<IndexParts> {
        let mut parts = IndexParts { sums: *self, ..IndexParts::default() };
        for part in IndexPart::ALL {
            let PartSum::Of(sum) = &self.0[part as usize] else { continue };
            let path = part.file(file, sum);
            let told =
                |error: Error| error.within(format!("cannot use {}, which {} names", path.display(), file.display()));
            let opened = OpenFile::open(&path).map_err(|error| {
                let hint = "an index is all files with its name: copy them together, or `wb index --anew`";
                told(error).with_hint(hint)
            })?;
            if checksum(opened.bytes()).as_ref() != Some(sum) {
                return Err(told(unusable("is damaged: it is another one")));
            }
            parts.open[part as usize] = Some(Arc::new(opened));
        }
        Ok(parts)
    }

    /// Takes out all parts beside a file but these. What cannot be removed does no harm but for its size, and the next time
    /// tries again.
    fn remove_others(&self, file: &Path) {
        let named = |part: IndexPart| match &self.0[part as usize] {
            PartSum::Of(sum) => Some(in_short(sum)),
            PartSum::None | PartSum::Gone => None,
        };
        let is_other = |path: &PathBuf| {
            let part = IndexPart::named(file, path);
            part.is_some_and(|(part, sum)| sum.is_none() || sum != named(part))
        };
        files_beside(file).into_iter().filter(is_other).for_each(|path| _ = fs::remove_file(path));
    }
}

/// True for a plain file that begins with one of some bytes.
fn begins_with<const N: usize>(path: &Path, all: &[&[u8; N]]) -> bool {
    let mut first = [0; N];
    let read = path.is_file() && File::open(path).and_then(|mut file| file.read_exact(&mut first)).is_ok();
    read && all.contains(&&first)
}

/// The files of the folder of a file.
fn files_beside(file: &Path) -> Vec<PathBuf> {
    fs::read_dir(atomic::parent(file)).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())).collect()
}

/// Part of a checksum that the name of a file has.
fn in_short(sum: &Checksum) -> String {
    sum[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}
