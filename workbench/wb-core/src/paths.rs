//! Paths as people type them.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Deserializer};

use crate::{Error, Result};

/// A path with a leading `~` taken for the home folder.
pub fn expand_home(path: &Path) -> PathBuf {
    match (path.strip_prefix("~"), env::home_dir()) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => path.to_owned(),
    }
}

/// Gives every file of a folder and of those below to `take`, in no order; hidden ones aside, and links to folders are
/// not followed.
///
/// # Errors
///
/// If a folder cannot be read.
pub fn walk(folder: &Path, take: &mut dyn FnMut(PathBuf)) -> Result<()> {
    for entry in fs::read_dir(folder).map_err(Error::io("read", folder))? {
        let entry = entry.map_err(Error::io("read", folder))?;
        let path = entry.path();
        if entry.file_name().to_string_lossy().starts_with('.') {
            continue;
        }
        // Links to folders are not followed: they may lead in a circle.
        match entry.file_type().map_err(Error::io("read", &path))?.is_dir() {
            true => walk(&path, take)?,
            false => take(path),
        }
    }
    Ok(())
}

/// The folder of caches: the one that the environment says, else `.cache` in the home folder.
///
/// # Errors
///
/// If the environment says neither.
pub fn caches() -> Result<PathBuf> {
    let given = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let lost = || {
        let what = "no folder for caches: neither XDG_CACHE_HOME nor HOME is set";
        Error::failed(what).with_hint("export XDG_CACHE_HOME=$PWD/.cache")
    };
    given("XDG_CACHE_HOME").or_else(|| given("HOME").map(|home| home.join(".cache"))).ok_or_else(lost)
}

/// Reads a path of a YAML with [`expand_home`]: what `#[serde(deserialize_with)]` names on every field that holds one.
///
/// # Errors
///
/// If there is no path.
pub fn typed<'de, D: Deserializer<'de>, P: TypedPath + Deserialize<'de>>(
    deserializer: D,
) -> std::result::Result<P, D::Error> {
    P::deserialize(deserializer).map(P::expanded)
}

/// A field of a YAML that holds a path: one, perhaps one, or several.
pub trait TypedPath {
    /// Takes a leading `~` for the home folder.
    #[must_use]
    fn expanded(self) -> Self;
}

impl TypedPath for PathBuf {
    fn expanded(self) -> Self {
        expand_home(&self)
    }
}

impl TypedPath for String {
    fn expanded(self) -> Self {
        expand_home(Path::new(&self)).to_str().map_or_else(|| self.clone(), str::to_owned)
    }
}

impl<P: TypedPath> TypedPath for Option<P> {
    fn expanded(self) -> Self {
        self.map(P::expanded)
    }
}

impl<P: TypedPath> TypedPath for Vec<P> {
    fn expanded(self) -> Self {
        self.into_iter().map(P::expanded).collect()
    }
}
