//! The parts of an index, each a file of its own, and the small file that names those which belong together: with another in
//! its place, all of them are replaced at once.
//!
//! A part is named by its kind and by what is in it, and never changes. Whoever has opened them keeps them, also when they are
//! replaced; what was made and never named is taken out with the next that is.

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
    /// Is there no longer.
    Gone,
    /// Is this one now.
    Made(MappedBytes),
}

/// One change a part.
pub(crate) type PartChanges = [PartChange; IndexPart::ALL.len()];

/// Parts that belong together, open.
#[derive(Debug, Clone, Default)]
pub(crate) struct IndexParts([Option<Arc<OpenFile>>; IndexPart::ALL.len()]);

/// The checksums of parts that belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct PartSums([Option<Checksum>; IndexPart::ALL.len()]);

impl IndexPart {
    pub const ALL: [Self; 4] = [Self::Units, Self::Vectors, Self::Structures, Self::Scip];

    fn name(self) -> &'static str {
        ["units", "vectors", "structures", "scip"][self as usize]
    }

    /// The file of a part, beside the one that names it.
    fn file(self, file: &Path, sum: &Checksum) -> PathBuf {
        beside(file, &format!(".{}-{}", self.name(), in_short(sum)))
    }

    /// The part and the checksum, as far as it is told, that the name of a file beside `file` has. Before parts were named by
    /// what is in them, those beside the units had no checksum there.
    fn named(file: &Path, path: &Path) -> Option<(Self, Option<String>)> {
        let name = |path: &Path| path.file_name().and_then(|name| name.to_str()).map(str::to_owned);
        let ending = name(path)?.strip_prefix(&name(file)?)?.strip_prefix('.')?.to_owned();
        let (kind, sum) = ending.split_once('-').map_or((ending.as_str(), None), |(kind, sum)| (kind, Some(sum)));
        let part = Self::ALL.into_iter().find(|part| part.name() == kind)?;
        let is_one = match sum {
            Some(sum) => sum.len() == 16 && sum.bytes().all(|byte| byte.is_ascii_hexdigit()),
            // A file of such a name may be somebody's.
            None => is_from_before(path),
        };
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

    /// The parts that a file names, as far as they can be opened; those of the version before it, too, which named none.
    pub fn salvaged(file: &Path) -> Self {
        let sums = PartSums::read(file).unwrap_or_default();
        let open = |part: IndexPart| {
            let before = || Some(beside(file, &format!(".{}", part.name()))).filter(|path| is_from_before(path));
            let path = sums.0[part as usize].map(|sum| part.file(file, &sum)).or_else(before)?;
            OpenFile::open(&path).ok().filter(|part| checksum(part.bytes()).is_some()).map(Arc::new)
        };
        Self(IndexPart::ALL.map(open))
    }

    /// True for a file that names parts, or an index of a version before that, damaged or not.
    pub fn are_named_by(file: &Path) -> bool {
        Sealed::<1>::is_of_any_version(&MAGIC, file)
    }

    /// A part, where it is there.
    pub fn get(&self, part: IndexPart) -> Option<&OpenFile> {
        self.0[part as usize].as_deref()
    }

    fn sums(&self) -> PartSums {
        PartSums(self.0.each_ref().map(|part| part.as_ref().and_then(|part| checksum(part.bytes()))))
    }

    /// Changes these parts, and puts them all at once in the place of those that a file names now.
    pub fn replace(self, file: &Path, changes: PartChanges) -> Result<Self> {
        if changes.iter().all(|change| matches!(change, PartChange::Kept)) {
            return Ok(self);
        }
        // One at a time: the parts that nobody has named yet are those of this one.
        let _lock = FileLock::wait(&beside(file, ".lock"), |_| {})?;
        atomic::remove_abandoned(folder_of(file));
        let sums = self.write(file, changes);
        // Where that has failed, those of before are what is named.
        if let Some(named) = sums.as_ref().ok().copied().or_else(|| PartSums::named(file)) {
            named.remove_others(file);
        }
        sums?.open(file)
    }

    /// Writes parts that have changed, and the file that names all.
    fn write(&self, file: &Path, changes: PartChanges) -> Result<PartSums> {
        let (mut sums, before) = (PartSums::default(), self.sums());
        // Other units than those that these parts were made for are newer ones, and stay.
        let units_stay = matches!(changes[IndexPart::Units as usize], PartChange::Kept);
        let named =
            PartSums::named(file).filter(|named| units_stay && *named != before && *named != PartSums::default());
        for (part, change) in IndexPart::ALL.into_iter().zip(changes) {
            let (bytes, is_made) = match (change, self.get(part)) {
                (PartChange::Made(bytes), _) => (bytes, true),
                (PartChange::Kept, _) if named.is_some() => {
                    sums.0[part as usize] = named.and_then(|named| named.0[part as usize]);
                    continue;
                }
                (PartChange::Kept, Some(kept)) => (kept.bytes().clone(), false),
                _ => continue,
            };
            let sum = checksum(&bytes).ok_or_else(damaged)?;
            let path = part.file(file, &sum);
            // One that is kept may have been replaced meanwhile.
            if is_made || !path.is_file() {
                atomic::write(&path, &bytes)?;
            }
            sums.0[part as usize] = Some(sum);
        }
        atomic::write(file, sums.sealed().bytes())?;
        Ok(sums)
    }
}

impl PartSums {
    fn read(file: &Path) -> Result<Self> {
        let read = || {
            let sealed = Sealed::<1>::open(&MAGIC, &OpenFile::open(file)?)?;
            let (mut from, mut sums) = (Reader(sealed.section(0)), Self::default());
            for sum in &mut sums.0 {
                let is_there = from.below(2)? == 1;
                let bytes = from.bytes(size_of::<Checksum>())?;
                *sum = is_there.then(|| checksum(bytes)).flatten();
            }
            if from.0.is_empty() { Ok(sums) } else { Err(damaged()) }
        };
        read().map_err(|error: Error| error.within(format!("cannot use {}", file.display())))
    }

    fn sealed(&self) -> Sealed<1> {
        let mut to = Writer::default();
        for sum in self.0 {
            to.number(u64::from(sum.is_some()));
            to.0.extend_from_slice(&sum.unwrap_or_default());
        }
        Sealed::of(&MAGIC, &[&to.0])
    }

    /// The parts that a file names, none where there is no such file; nothing where that cannot be known.
    fn named(file: &Path) -> Option<Self> {
        if file.exists() { Self::read(file).ok() } else { Some(Self::default()) }
    }

    fn open(&self, file: &Path) -> Result<IndexParts> {
        let mut parts = IndexParts::default();
        for part in IndexPart::ALL {
            let Some(sum) = &self.0[part as usize] else { continue };
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
            parts.0[part as usize] = Some(Arc::new(opened));
        }
        Ok(parts)
    }

    /// Takes out all parts beside a file but these. What cannot be removed does no harm but for its size, and the next time
    /// tries again.
    fn remove_others(&self, file: &Path) {
        let is_other = |path: &PathBuf| {
            let part = IndexPart::named(file, path);
            part.is_some_and(|(part, sum)| sum.is_none() || sum != self.0[part as usize].as_ref().map(in_short))
        };
        let beside = fs::read_dir(folder_of(file)).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
        beside.filter(is_other).for_each(|path| _ = fs::remove_file(path));
    }
}

/// True for a part of the version that named none.
fn is_from_before(path: &Path) -> bool {
    let mut kind = [0; 6];
    let read = path.is_file() && File::open(path).and_then(|mut file| file.read_exact(&mut kind)).is_ok();
    read && [b"wbvecs", b"wbstru", b"wbscip"].contains(&&kind)
}

/// Part of a checksum that the name of a file has.
fn in_short(sum: &Checksum) -> String {
    sum[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A path with an ending behind its name.
fn beside(file: &Path, ending: &str) -> PathBuf {
    let mut name = file.to_owned().into_os_string();
    name.push(ending);
    name.into()
}

fn folder_of(file: &Path) -> &Path {
    file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
