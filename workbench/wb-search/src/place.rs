//! The file in which the index of a project is kept, and the ways to bring it up to date.

use std::{
    env,
    path::{Path, PathBuf},
};

use wb_core::{Progress, fingerprint::Fingerprint};

use crate::{CodeIndex, Error, FolderFiles, Result, build, index::Changes};

/// A project's folder and the file of its index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexPlace {
    /// The folder, in full.
    pub root: PathBuf,
    /// The file.
    pub file: PathBuf,
}

impl IndexPlace {
    /// The place of a folder's index: the file that is named, else one of the cache folder, by the folder's path.
    pub fn of(folder: &Path, file: Option<PathBuf>) -> Result<Self> {
        let root = folder.canonicalize().map_err(Error::io("read", folder))?;
        let file = match file {
            Some(file) => file,
            None => {
                let name = root.file_name().map_or_else(|| "root".into(), |name| name.to_string_lossy().into_owned());
                let key = Fingerprint::builder().text("index").text(&root.to_string_lossy()).finish();
                let lost = || Error::failed("no folder for caches: neither XDG_CACHE_HOME nor HOME is set");
                let caches = caches().ok_or_else(|| lost().with_hint("name the file of the index: --index FILE"))?;
                caches.join("wb/indexes").join(format!("{name}-{}", key.short()))
            }
        };
        Ok(Self { root, file })
    }

    /// The index as it is kept; `None` where there is none yet.
    pub fn read(&self) -> Result<Option<CodeIndex>> {
        self.file.is_file().then(|| CodeIndex::read(&self.file, &self.root)).transpose()
    }

    /// Brings the index up to date and keeps it: from the one before, or `anew`. Gives the files too, with what was left
    /// aside.
    pub fn bring_up(
        &self,
        anew: bool,
        progress: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<(CodeIndex, FolderFiles)> {
        let found = FolderFiles::of(&self.root)?;
        let before = if anew { None } else { self.read()? };
        let (index, found) = match before {
            Some(before) if Changes::between(&before, &found).is_empty() => return Ok((before, found)),
            Some(before) => (before.update(&found, progress)?, found),
            None => build(found, progress)?,
        };
        index.write(&self.file)?;
        Ok((index, found))
    }
}

fn caches() -> Option<PathBuf> {
    let given = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    given("XDG_CACHE_HOME").or_else(|| given("HOME").map(|home| home.join(".cache")))
}
