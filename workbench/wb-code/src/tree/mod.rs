//! A tree of sources, or Cargo's registry, to pairs of prose and code.

mod config;
mod files;
mod groups;
mod listing;
mod manifest;
mod read;
mod version;

use std::collections::BTreeMap;

use wb_core::{Pair, Progress, fingerprint::Fingerprint};

pub use config::{GroupBy, TreeConfig};
pub use files::{TreeFile, TreeFiles, tree_files};
pub use listing::VENDORED_FOLDERS;

use crate::{Error, Result};
use groups::Groups;
use listing::Listing;

/// Everything that a tree gave.
#[derive(Debug, Clone)]
pub struct TreeRead {
    /// The pairs in the order of paths and lines, ids unique.
    pub pairs: Vec<Pair>,
    /// Number of files that were read.
    pub files: u64,
    /// Number of groups (crates, folders, files) that they belong to.
    pub groups: u64,
    /// Files of the languages asked for that were not used, by reason.
    pub skipped: BTreeMap<String, u64>,
    /// Documented functions that gave no pair, by reason.
    pub rejected: BTreeMap<String, u64>,
    /// The fingerprint of the files read by their paths, sizes and times; equal to [`tree_fingerprint`].
    pub fingerprint: Fingerprint,
}

/// Reads a tree: lists it, groups it, finds the documented functions of every file.
///
/// The answer does not depend on the number of threads nor on the order in which the file system lists folders.
pub fn read_tree(config: &TreeConfig, progress: &mut dyn FnMut(Progress)) -> Result<TreeRead> {
    config.validate("tree")?;
    progress(Progress::new("listing sources", 0, 0));
    let (listing, groups, fingerprint) = listed(config)?;
    Ok(read::read(config, &listing, &groups, fingerprint, progress))
}

/// The files of a tree, the group of each, and the fingerprint of all that are listed.
fn listed(config: &TreeConfig) -> Result<(Listing, Groups, Fingerprint)> {
    let mut listing = not_empty(config)?;
    let fingerprint = listing.fingerprint(config);
    let groups = Groups::of(&mut listing, config);
    Ok((listing, groups, fingerprint))
}

/// The files of a tree.
///
/// # Errors
/// A folder that is not there or cannot be listed; one without a source file, unless it is optional.
fn not_empty(config: &TreeConfig) -> Result<Listing> {
    let listing = Listing::of(config)?;
    if listing.files.is_empty() && listing.skipped.is_empty() && !config.optional {
        let languages: Vec<&str> = listing.languages.iter().map(|language| language.name()).collect();
        let what = format!("{} has no source file in {}", listing.root.display(), languages.join(", "));
        return Err(Error::failed(what).with_hint("name a folder of sources, or set `languages:` to those of the tree"));
    }
    Ok(listing)
}

/// Changes whenever a file of the tree in question is added, removed, resized or touched; reads no file.
///
/// # Errors
/// Those of [`read_tree`], so that a tree without a source file is told before anything is read.
pub fn tree_fingerprint(config: &TreeConfig) -> Result<Fingerprint> {
    config.validate("tree")?;
    Ok(not_empty(config)?.fingerprint(config))
}
