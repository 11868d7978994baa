//! The files of a tree in a fixed order, with what of them is left aside and why.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::UNIX_EPOCH,
};

use ignore::{DirEntry, WalkBuilder, WalkState};
use wb_core::fingerprint::Fingerprint;

use super::TreeConfig;
use crate::{Error, Language, Result};

/// Grows when the same sources give other pairs, so that outputs kept from before are not taken for today's.
const EXTRACTION: u64 = 2;

const TEST_FOLDERS: [&str; 10] =
    ["tests", "test", "benches", "benchmarks", "examples", "example", "__tests__", "spec", "testdata", "fuzz"];
/// Names of folders that hold the code of others.
pub const VENDORED_FOLDERS: [&str; 6] =
    ["node_modules", "vendor", "vendored", "third_party", "thirdparty", "bower_components"];

/// A file to read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SourceFile {
    /// Path below the root, with `/`.
    pub relative: String,
    pub size: u64,
    modified_nanos: u128,
}

/// The files of a tree.
pub(super) struct Listing {
    pub root: PathBuf,
    pub languages: Vec<Language>,
    /// Sorted by path.
    pub files: Vec<SourceFile>,
    /// `Cargo.toml` files, sorted by path.
    pub manifests: Vec<SourceFile>,
    /// Files of the languages in question that are left aside, by reason.
    pub skipped: BTreeMap<String, u64>,
}

/// The fate of one entry of the walk.
enum Entry {
    Source(SourceFile),
    Manifest(SourceFile),
    Skipped(&'static str),
    BuildOutput(String),
}

impl Listing {
    pub(super) fn of(config: &TreeConfig) -> Result<Self> {
        let languages = config.languages();
        let root = match config.root() {
            // A server that does not answer says nothing about the folder.
            Err(_) if config.optional && !config.is_there()? => return Ok(Self::absent(config, languages)),
            root => root?,
        };
        let extensions = extensions(&languages);
        let entries = Mutex::new(Vec::new());
        let root_error = Mutex::new(None);
        walker(config, &root).run(|| {
            Box::new(|found| {
                match found {
                    Ok(entry) => {
                        if let Some(entry) = classify(&entry, &root, &extensions, config) {
                            entries.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
                        }
                    }
                    Err(error) if error.depth() == Some(0) => {
                        *root_error.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                    }
                    Err(_) => {
                        entries
                            .lock()
                            .unwrap_or_else(PoisonError::into_inner)
                            .push(Entry::Skipped("folder that cannot be listed"));
                    }
                }
                WalkState::Continue
            })
        });
        if let Some(source) = root_error.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(Error::failed(format!("cannot list {}", root.display())).with_cause(source));
        }
        let mut listing = Self { root, languages, files: Vec::new(), manifests: Vec::new(), skipped: BTreeMap::new() };
        let mut build_outputs = Vec::new();
        for entry in entries.into_inner().unwrap_or_else(PoisonError::into_inner) {
            match entry {
                Entry::Source(file) => listing.files.push(file),
                Entry::Manifest(file) => listing.manifests.push(file),
                Entry::Skipped(reason) => listing.skip(reason, 1),
                Entry::BuildOutput(folder) => build_outputs.push(folder),
            }
        }
        listing.drop_build_outputs(&build_outputs);
        listing.files.sort_unstable();
        listing.manifests.sort_unstable();
        Ok(listing)
    }

    /// A tree that is not there.
    fn absent(config: &TreeConfig, languages: Vec<Language>) -> Self {
        let root = PathBuf::from(config.path.as_deref().unwrap_or_default());
        let skipped = BTreeMap::from([("no such folder".to_owned(), 1)]);
        Self { root, languages, files: Vec::new(), manifests: Vec::new(), skipped }
    }

    pub(super) fn skip(&mut self, reason: &str, files: u64) {
        if files > 0 {
            *self.skipped.entry(reason.to_owned()).or_default() += files;
        }
    }

    fn drop_build_outputs(&mut self, folders: &[String]) {
        let inside = |file: &SourceFile| folders.iter().any(|folder| file.relative.starts_with(folder.as_str()));
        let before = self.files.len();
        self.files.retain(|file| !inside(file));
        self.manifests.retain(|file| !inside(file));
        self.skip("build output", (before - self.files.len()) as u64);
    }

    /// Over everything that decides which pairs come out: the files as listed and the config.
    pub(super) fn fingerprint(&self, config: &TreeConfig) -> Fingerprint {
        let mut fingerprint = Fingerprint::builder();
        fingerprint.number(EXTRACTION);
        let config = TreeConfig { path: None, languages: self.languages.clone(), ..config.clone() };
        fingerprint.text(Fingerprint::of_json(&config).as_str());
        for files in [&self.files, &self.manifests] {
            fingerprint.number(files.len() as u64);
            for file in files {
                fingerprint.text(&file.relative).number(file.size).bytes(&file.modified_nanos.to_le_bytes());
            }
        }
        fingerprint.finish()
    }
}

/// Hidden files are never read; what `.gitignore` files in the tree ignore is not read either, except in the registry,
/// where they came with the crate and mean nothing.
fn walker(config: &TreeConfig, root: &Path) -> ignore::WalkParallel {
    let heed = config.path.is_some();
    WalkBuilder::new(root)
        .hidden(true)
        .parents(false)
        .ignore(heed)
        .git_ignore(heed)
        .git_global(false)
        .git_exclude(false)
        .require_git(false)
        .follow_links(false)
        .build_parallel()
}

fn extensions(languages: &[Language]) -> BTreeSet<&'static str> {
    let mut extensions: BTreeSet<&str> = languages.iter().flat_map(|language| language.extensions()).copied().collect();
    if languages.contains(&Language::Cpp) {
        extensions.insert("h");
    }
    extensions
}

fn classify(entry: &DirEntry, root: &Path, extensions: &BTreeSet<&'static str>, config: &TreeConfig) -> Option<Entry> {
    if !entry.file_type().is_some_and(|kind| kind.is_file()) {
        return None;
    }
    let name = entry.file_name().to_string_lossy();
    if name == "CACHEDIR.TAG" {
        let folder = relative(entry.path().parent()?, root)?;
        return Some(Entry::BuildOutput(format!("{folder}/")));
    }
    let is_manifest = name == "Cargo.toml";
    let extension = name.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
    if !is_manifest && !extension.is_some_and(|extension| extensions.contains(extension.as_str())) {
        return None;
    }
    let Some(relative) = relative(entry.path(), root) else { return Some(Entry::Skipped("path that is not utf-8")) };
    let Ok(metadata) = entry.metadata() else { return Some(Entry::Skipped("cannot be read")) };
    let modified = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let file =
        SourceFile { relative, size: metadata.len(), modified_nanos: modified.map_or(0, |time| time.as_nanos()) };
    if is_manifest {
        return Some(Entry::Manifest(file));
    }
    let (folders, name) = file.relative.rsplit_once('/').unwrap_or(("", &file.relative));
    if !config.include_tests && is_test(folders, name) {
        return Some(Entry::Skipped("tests, benchmarks, examples"));
    }
    // A module below `src` may be called `vendor`.
    if folders.split('/').take_while(|folder| *folder != "src").any(|folder| VENDORED_FOLDERS.contains(&folder)) {
        return Some(Entry::Skipped("vendored"));
    }
    if name.ends_with(".min.js") {
        return Some(Entry::Skipped("minified"));
    }
    if file.size > config.max_file_bytes {
        return Some(Entry::Skipped("too large"));
    }
    Some(Entry::Source(file))
}

fn relative(path: &Path, root: &Path) -> Option<String> {
    let parts: Option<Vec<&str>> = path.strip_prefix(root).ok()?.iter().map(|part| part.to_str()).collect();
    parts.map(|parts| parts.join("/"))
}

fn is_test(folders: &str, name: &str) -> bool {
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    folders.split('/').any(|folder| TEST_FOLDERS.contains(&folder))
        || stem.ends_with("_test")
        || stem.ends_with("_tests")
        || stem.ends_with(".test")
        || stem.ends_with("_spec")
        || stem.ends_with(".spec")
        || name.starts_with("test_") && name.ends_with(".py")
        || matches!(name, "tests.rs" | "test.rs" | "conftest.py")
}
