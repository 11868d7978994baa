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
    /// Is taken out.
    Gone,
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
        let mut parts = Self::default();
        for part in IndexPart::ALL {
            let path = match sums.0[part as usize] {
                PartSum::Of(sum) => part.file(file, &sum),
                PartSum::Gone => PathBuf::new(),
                PartSum::None => beside(file, &format!(".{}", part.name())),
            };
            let is_one = matches!(sums.0[part as usize], PartSum::Of(_)) || is_from_before(&path);
            let opened = is_one.then(|| OpenFile::open(&path).ok()).flatten();
            let sum = opened.as_ref().and_then(|part| checksum(part.bytes()));
            parts.sums.0[part as usize] = sum.map_or(sums.0[part as usize].without(), PartSum::Of);
            parts.open[part as usize] = opened.filter(|_| sum.is_some()).map(Arc::new);
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
        let mut sums = PartSums::default();
        // Other units than those that these parts were made for are newer ones, and stay.
        let units_stay = matches!(changes[IndexPart::Units as usize], PartChange::Kept);
        let named =
            PartSums::named(file).filter(|named| units_stay && *named != self.sums && *named != PartSums::default());
        for (part, change) in IndexPart::ALL.into_iter().zip(changes) {
            let kept = named.unwrap_or(self.sums).0[part as usize];
            sums.0[part as usize] = match (change, kept) {
                (PartChange::Gone, _) => PartSum::Gone,
                (PartChange::Kept, kept) => kept,
                (PartChange::Made(bytes), _) => {
                    let sum = checksum(&bytes).ok_or_else(damaged)?;
                    atomic::write(&part.file(file, &sum), &bytes)?;
                    PartSum::Of(sum)
                }
            };
            // One that is kept may have been replaced meanwhile, or have had another name.
            if let (PartSum::Of(sum), Some(open)) = (sums.0[part as usize], self.get(part))
                && self.sums.0[part as usize] == PartSum::Of(sum)
                && !part.file(file, &sum).is_file()
            {
                atomic::write(&part.file(file, &sum), open.bytes())?;
            }
        }
        atomic::write(file, sums.sealed().bytes())?;
        Ok(sums)
    }
}

impl PartSum {
    /// A part that cannot be opened.
    fn without(self) -> Self {
        if self == Self::Gone { Self::Gone } else { Self::None }
    }
}

impl PartSums {
    fn read(file: &Path) -> Result<Self> {
        let read = || {
            let sealed = Sealed::<1>::open(&MAGIC, &OpenFile::open(file)?)?;
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
        let is_other = |path: &PathBuf| {
            let part = IndexPart::named(file, path);
            let named = |part: IndexPart| match &self.0[part as usize] {
                PartSum::Of(sum) => Some(in_short(sum)),
                PartSum::None | PartSum::Gone => None,
            };
            part.is_some_and(|(part, sum)| sum.is_none() || sum != named(part))
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
