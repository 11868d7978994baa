//! The trait of conversions, and the files that they are given.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use wb_core::Progress;

use crate::{Error, Result};

/// Numbers of what was written and of what was left out, by a few words each.
pub type ConversionCounts = BTreeMap<String, u64>;

/// A fetched file under the name that its conversion asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct Input {
    pub(in super::super) name: String,
    pub(in super::super) path: PathBuf,
}

/// The fetched files of a part.
pub(in super::super) struct Inputs<'a> {
    /// The files in the order in which they are wanted; several shards share a name.
    pub(in super::super) files: &'a [Input],
    /// The folder of all data sets of others.
    pub(in super::super) external: &'a Path,
}

impl<'a> Inputs<'a> {
    /// The files of a name, in their order.
    pub(super) fn named(&self, name: &str) -> Result<Vec<&'a Path>> {
        let found: Vec<&Path> = self.files.iter().filter(|file| file.name == name).map(|file| &*file.path).collect();
        match found.is_empty() {
            true => Err(Error::file(self.external, format!("no file for `{name}` was fetched"))),
            false => Ok(found),
        }
    }

    /// The only file of a name.
    pub(super) fn one(&self, name: &str) -> Result<&'a Path> {
        match self.named(name)?[..] {
            [path] => Ok(path),
            ref paths => Err(Error::file(paths[0], format!("one of {} files for `{name}`, expected one", paths.len()))),
        }
    }
}

/// A way from fetched files to a folder.
pub(in super::super) trait Convert {
    /// Writes the folder's files into `to`; gives what was written and, by its reason, what was left out.
    fn convert(&self, inputs: &Inputs<'_>, to: &Path, progress: &mut dyn FnMut(Progress)) -> Result<ConversionCounts>;

    /// Refuses to begin where something is missing on this disk that has to be fetched by another name.
    fn ready(&self, _external: &Path) -> Result<()> {
        Ok(())
    }

    /// Lists what else on this disk goes into the folder.
    fn beside(&self, _external: &Path) -> Result<Vec<String>> {
        Ok(Vec::new())
    }
}

/// Adds to a count.
pub(super) fn count(counts: &mut ConversionCounts, what: &str, n: u64) {
    *counts.entry(what.to_owned()).or_default() += n;
}
