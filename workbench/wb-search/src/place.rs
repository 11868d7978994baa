//! The file by which the index of a project is kept, and the ways to bring it up to date.

use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
    sync::Arc,
};

use wb_core::{Progress, fingerprint::Fingerprint, paths::caches};

use crate::{
    AnnotationFile, CodeIndex, Error, FileContext, FolderFiles, IndexUpdate, ProjectAnnotations, Result, VectorEncoder,
    VectorStore, build, files::slashed, index::Changes, parts::IndexParts, update::WritersLock,
};

/// A project's folder and the file of its index, beside which the index's parts are: units, vectors, structures. The file says
/// which of them belong together, and is replaced last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexPlace {
    /// The folder, in full.
    pub root: PathBuf,
    /// The file.
    pub file: PathBuf,
    /// Further folders that the index is to have, in full, beside those that it has.
    pub further: Vec<PathBuf>,
    /// True where it is to have no others.
    pub alone: bool,
    /// A file of annotations that the index is to have, or none; the one that it has, where nothing is said.
    pub annotations: Option<Option<PathBuf>>,
    /// An `index.scip` that is read in place of the one at the folder's root.
    pub scip: Option<PathBuf>,
}

impl IndexPlace {
    /// The place of a folder's index: the file that is named, else one of the cache folder, by the folder's path.
    pub fn of(folder: &Path, file: Option<PathBuf>) -> Result<Self> {
        let unread = |error| {
            let hint = match folder.to_str() {
                Some(word @ ("status" | "verify" | "compact" | "watch")) => format!("wb index --{word}"),
                _ => "expected the folder of a project: wb index path/to/project".to_owned(),
            };
            Error::failed(format!("cannot read {}", folder.display())).with_hint(hint).with_cause(error)
        };
        let root = folder.canonicalize().map_err(unread)?;
        let file = match file {
            Some(file) => outside(&root, file)?,
            None => {
                let name = root.file_name().map_or_else(|| "root".into(), |name| name.to_string_lossy().into_owned());
                let key = Fingerprint::builder().text("index").text(&root.to_string_lossy()).finish();
                caches()?.join("wb/indexes").join(format!("{name}-{}", key.short()))
            }
        };
        Ok(Self { root, file, further: Vec::new(), alone: false, annotations: None, scip: None })
    }

    /// The file that is open and those that were seen, as they are typed.
    pub fn context(&self, current: Option<&Path>, recent: &[PathBuf]) -> Result<FileContext> {
        let current = current.map(|path| self.path_of(path)).transpose()?;
        Ok(FileContext { current, recent: recent.iter().map(|path| self.path_of(path)).collect::<Result<_>>()? })
    }

    /// The path of a file in the index, as it is typed: from the project's folder, or in full; that of a further folder's file
    /// is in full. One that is not there may have been moved, or not been saved yet.
    fn path_of(&self, typed: &Path) -> Result<String> {
        let full = self.root.join(typed);
        let full = full.canonicalize().or_else(|_| std::path::absolute(&full)).unwrap_or(full);
        as_indexed(full.strip_prefix(&self.root).unwrap_or(&full))
    }

    /// A folder or a file that answers are to be below, as it is typed: its path in the project, and in full, as a further
    /// folder has it. Nothing for the project's own folder, or one above it.
    pub fn below(&self, typed: &str) -> Result<Vec<String>> {
        if typed.is_empty() {
            return Ok(Vec::new());
        }
        let full = self.root.join(typed);
        let is_gone = |error| {
            let what = format!("cannot look below {typed} of {}", self.root.display());
            Error::failed(what).with_hint("paths are taken from the project's folder: src/parser").with_cause(error)
        };
        let full = full.canonicalize().map_err(is_gone)?;
        // Below a folder above the project is all of it.
        if self.root.starts_with(&full) {
            return Ok(Vec::new());
        }
        let forms = full.strip_prefix(&self.root).ok().into_iter().chain([full.as_path()]);
        forms.map(as_indexed).collect()
    }

    /// The index as it is kept; `None` where there is none yet, or one of another version. What it has beside its units is of
    /// the same moment, whatever is put in its place meanwhile.
    pub fn read(&self) -> Result<Option<CodeIndex>> {
        match IndexParts::open(&self.file)? {
            Some(parts) => CodeIndex::of_parts(&parts, &self.root),
            None => Ok(None),
        }
    }

    /// Brings the units of the index up to date and keeps it, see [`IndexPlace::update`].
    pub fn bring_up(
        &self,
        anew: bool,
        progress: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<(CodeIndex, FolderFiles)> {
        let (update, found) = self.update(anew, progress)?;
        Ok((update.keep()?, found))
    }

    /// Brings the units of the index up to date, from those before or `anew`; with the further folders, or those that it has.
    /// Gives the files too, with what was left aside. Where another process is at that, waits for it first.
    pub fn update(
        &self,
        anew: bool,
        progress: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<(IndexUpdate<'_>, FolderFiles)> {
        self.is_free()?;
        let waiting: &mut dyn FnMut(&str) =
            &mut |holder| progress(Progress::new("waiting", 0, 0).note(format!("for {holder}")));
        let lock = IndexParts::lock(&self.file, Some(waiting))?;
        self.updated(anew, WritersLock::Held(lock), progress)
    }

    /// [`IndexPlace::update`] of who wants an answer now: where another process is at it, or nothing can be written there, what
    /// is made is for the answer alone.
    pub fn update_unless_busy(&self, progress: &mut (dyn FnMut(Progress) + Send)) -> Result<IndexUpdate<'_>> {
        self.is_free()?;
        let lock = self.lock_unless_busy()?;
        Ok(self.updated(false, lock, progress)?.0.for_answer())
    }

    /// An update of an index that is open, and up to date itself; for the answer alone, where another process is at it or was
    /// since it was read.
    pub fn update_of(&self, index: CodeIndex) -> Result<IndexUpdate<'_>> {
        let lock = match self.lock_unless_busy()? {
            WritersLock::Held(_) if !index.parts().are_named_now(&self.file) => WritersLock::Busy,
            lock => lock,
        };
        Ok(IndexUpdate::of(self, index, lock).for_answer())
    }

    /// The lock of the index's writers, where it can be had now.
    fn lock_unless_busy(&self) -> Result<WritersLock> {
        match IndexParts::lock(&self.file, None) {
            Ok(lock) => Ok(WritersLock::Held(lock)),
            Err(Error::Locked { .. }) => Ok(WritersLock::Busy),
            Err(error) if is_closed(&error) || is_full(&error) => Ok(WritersLock::Closed(error)),
            Err(error) => Err(error),
        }
    }

    fn updated(
        &self,
        anew: bool,
        lock: WritersLock,
        progress: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<(IndexUpdate<'_>, FolderFiles)> {
        // What is damaged has nothing to keep to.
        let parts = match IndexParts::open(&self.file) {
            Err(error) if !anew => return Err(error),
            Ok(Some(parts)) => parts,
            _ => IndexParts::salvaged(&self.file),
        };
        let before = match CodeIndex::of_parts(&parts, &self.root) {
            Err(error) if !anew => return Err(error),
            before => before.unwrap_or_default(),
        };
        let kept = before.as_ref().filter(|_| !self.alone).map(CodeIndex::further).unwrap_or_default();
        let is_new = |folder: &&PathBuf| !kept.contains(folder);
        let further: Vec<PathBuf> = kept.iter().chain(self.further.iter().filter(is_new)).cloned().collect();
        let mut found = FolderFiles::of_several(&self.root, &further)?;
        let annotated = match &self.annotations {
            Some(named) => named.clone(),
            None => before.as_ref().and_then(CodeIndex::annotations).map(|file| file.path.clone()),
        };
        let annotated = annotated.map(|path| AnnotationFile::of(&path)).transpose()?;
        // What is said of units is part of them: with other annotations they are all made anew.
        let before = before.filter(|before| !anew && before.annotations() == annotated.as_ref());
        let is_current = |before: &CodeIndex, found: &FolderFiles| {
            before.commit() == found.commit.as_deref()
                && before.further() == found.further
                && Changes::between(before, found).is_empty()
        };
        let (mut index, found) = match before {
            Some(before) if is_current(&before, &found) => return Ok((IndexUpdate::of(self, before, lock), found)),
            before => {
                found.annotations = annotated.map(ProjectAnnotations::load).transpose()?.map(Arc::new);
                match before {
                    Some(before) => (before.update(&found, progress)?, found),
                    None => build(found, progress)?,
                }
            }
        };
        index.set_parts(parts);
        let mut update = IndexUpdate::of(self, index, lock);
        update.units_are_new();
        Ok((update, found))
    }

    /// An error where the file is there and is no index, damaged or not: it is somebody's. In the cache folder nothing is.
    fn is_free(&self) -> Result<()> {
        let is_taken = match self.file.symlink_metadata() {
            Ok(metadata) => !metadata.is_file() || metadata.len() > 0 && !IndexParts::are_named_by(&self.file),
            Err(_) => false,
        };
        if is_taken && !self.file.starts_with(caches()?.join("wb/indexes")) {
            let is = if self.file.is_symlink() { "a link, and not an index itself" } else { "there and is no index" };
            let what = format!("{} is {is}, expected one or a name that is free", self.file.display());
            return Err(Error::failed(what).with_hint("--index another/file"));
        }
        Ok(())
    }
}

/// A path as an index has it.
fn as_indexed(path: &Path) -> Result<String> {
    slashed(path).ok_or_else(|| Error::failed(format!("{} is not UTF-8, as paths of an index are", path.display())))
}

/// True for the error of a folder that cannot be written in.
pub(crate) fn is_closed(error: &Error) -> bool {
    let is_closed = |kind: ErrorKind| matches!(kind, ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem);
    matches!(error, Error::Io { source, .. } if is_closed(source.kind()))
}

/// True for the error of a disk without room.
pub(crate) fn is_full(error: &Error) -> bool {
    use ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    match error {
        Error::DiskFull { .. } => true,
        Error::Io { source, .. } => matches!(source.kind(), StorageFull | QuotaExceeded | FileTooLarge),
        _ => false,
    }
}

/// A file that is not among the files of a project: elsewhere, or hidden.
fn outside(root: &Path, file: PathBuf) -> Result<PathBuf> {
    let full = std::path::absolute(&file).map_err(Error::io("find", &file))?;
    let folder = full.parent().map(|folder| folder.canonicalize().unwrap_or_else(|_| folder.to_owned()));
    let full = folder.unwrap_or_default().join(full.file_name().unwrap_or_default());
    let is_hidden = |below: &Path| below.iter().any(|part| part.to_string_lossy().starts_with('.'));
    match full.strip_prefix(root) {
        Ok(below) if !is_hidden(below) => {
            let what = format!("{} would be one of the files that it indexes", file.display());
            Err(Error::failed(what).with_hint("a hidden place: --index .wb/index"))
        }
        _ => Ok(file),
    }
}

/// The store of an encoder's vectors in the folder of caches.
pub fn vector_store(encoder: VectorEncoder) -> Result<VectorStore> {
    Ok(VectorStore::below(&caches()?.join("wb/vectors"), encoder))
}
