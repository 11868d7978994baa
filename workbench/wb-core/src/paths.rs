//! Paths as people type them.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer};

/// A path with a leading `~` taken for the home folder.
pub fn expand_home(path: &Path) -> PathBuf {
    match (path.strip_prefix("~"), std::env::home_dir()) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => path.to_owned(),
    }
}

/// Reads a path of a YAML with [`expand_home`]: what `#[serde(deserialize_with)]` names on every field that holds one.
///
/// # Errors
///
/// If there is no path.
pub fn typed<'de, D: Deserializer<'de>, P: TypedPath + Deserialize<'de>>(deserializer: D) -> Result<P, D::Error> {
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
