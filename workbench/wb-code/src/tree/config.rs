//! Configuration of the tree: which of its files are read.

use std::{
    env,
    path::{Path, PathBuf},
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wb_core::remote;

use crate::{Error, Language, Result, prose::MAX_ANCHOR_CHARS};

/// Helps where there is no tree.
const ELSEWHERE: &str = "give `path:` a folder of sources, or run `cargo fetch` in a Rust project first";

/// Sources to read, and their groups.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TreeConfig {
    /// A folder of sources. Without it, the crates in Cargo's registry sources (`$CARGO_HOME/registry/src`, else
    /// `~/.cargo/registry/src`), of each crate the newest version.
    #[serde(deserialize_with = "wb_core::paths::typed")]
    pub path: Option<String>,
    /// A folder that is not there, or has no source file, gives no pairs and is told as such; without it, that is an error.
    pub optional: bool,
    /// The data set that its pairs belong to; without it, the source's kind and position.
    pub dataset: String,
    /// Languages to read: `rust`, `python`, `java`, `javascript`, `typescript`, `go`, `ruby`, `php`, `c`, `cpp`,
    /// `csharp`, `kotlin`, `scala`, `swift`, `lua`, `shell`, `haskell`, `elixir`, `zig`. Empty for all nineteen; for the
    /// registry, for Rust alone.
    pub languages: Vec<Language>,
    /// Unit that must not stand on both sides of a split. `crate`: the nearest `Cargo.toml` names it. `top_folder`: the
    /// first folder of the path. `file`: every file by itself. `one`: the whole tree. `auto`: the crate where there is
    /// a `Cargo.toml`, else the top folder where there are several, else the file.
    pub group: GroupBy,
    /// Larger files are skipped and counted; most are generated.
    pub max_file_bytes: u64,
    /// The most groups, chosen by a hash of their names, for a quick try; `null` for all.
    pub max_groups: Option<usize>,
    /// The most files, chosen by a hash of their paths, for a quick try; `null` for all.
    pub max_files: Option<usize>,
    /// Reads tests, benchmarks and examples too.
    pub include_tests: bool,
    /// Longer descriptions are cut at a sentence or a word; at least 20.
    pub max_anchor_chars: usize,
}

impl Default for TreeConfig {
    fn default() -> Self {
        Self {
            path: None,
            optional: false,
            dataset: String::new(),
            languages: Vec::new(),
            group: GroupBy::Auto,
            max_file_bytes: 1 << 20,
            max_groups: None,
            max_files: None,
            include_tests: false,
            max_anchor_chars: MAX_ANCHOR_CHARS,
        }
    }
}

/// The group of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, Default)]
#[serde(rename_all = "snake_case")]
pub enum GroupBy {
    /// The crate where the tree has a `Cargo.toml`, else the top folder where there are several, else the file.
    #[default]
    Auto,
    /// The crate: a registry folder `name-1.2.3` is `name`, else the nearest `Cargo.toml` with a package names it;
    /// files outside of any crate go by their top folder.
    Crate,
    /// The first folder of the path.
    TopFolder,
    /// Every file by itself.
    File,
    /// The whole tree.
    One,
}

impl TreeConfig {
    /// Refuses values that make no sense; `key` is where this config stands.
    pub fn validate(&self, key: &str) -> wb_core::Result<()> {
        let positive = |name: &str, value: Option<u64>| match value {
            Some(0) => Err(Error::value(format!("{key}.{name}"), "got 0, expected 1 or more")),
            _ => Ok(()),
        };
        positive("max_file_bytes", Some(self.max_file_bytes))?;
        positive("max_groups", self.max_groups.map(|value| value as u64))?;
        positive("max_files", self.max_files.map(|value| value as u64))?;
        if self.max_anchor_chars < 20 {
            let message = format!("got {}, expected 20 or more", self.max_anchor_chars);
            return Err(Error::value(format!("{key}.max_anchor_chars"), message));
        }
        for (index, language) in self.languages.iter().enumerate() {
            if self.languages[..index].contains(language) {
                return Err(Error::value(format!("{key}.languages"), format!("`{language}` stands there twice")));
            }
        }
        Ok(())
    }

    /// The languages to read, in their own order.
    pub fn languages(&self) -> Vec<Language> {
        let mut languages = match (&self.path, self.languages.is_empty()) {
            (None, true) => vec![Language::Rust],
            (Some(_), true) => Language::ALL.to_vec(),
            _ => self.languages.clone(),
        };
        languages.sort_unstable();
        languages
    }

    /// True where something is at its path, and for the registry.
    pub(super) fn is_there(&self) -> Result<bool> {
        match &self.path {
            Some(path) if remote::is_remote(Path::new(path)) => remote::exists(Path::new(path)),
            Some(path) => Ok(Path::new(path).is_dir()),
            None => Ok(false),
        }
    }

    /// The folder to read.
    pub fn root(&self) -> Result<PathBuf> {
        let root = match &self.path {
            Some(path) => remote::local(Path::new(path))?,
            None => {
                let lost = "cannot find Cargo's registry sources: neither CARGO_HOME nor HOME is set";
                cargo_home().ok_or_else(|| Error::failed(lost).with_hint(ELSEWHERE))?.join("registry").join("src")
            }
        };
        if root.is_dir() {
            return Ok(root);
        }
        let what = format!("{} is not a folder, expected a tree of source files", root.display());
        Err(Error::failed(what).with_hint(ELSEWHERE))
    }
}

fn cargo_home() -> Option<PathBuf> {
    let given = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    given("CARGO_HOME").or_else(|| given("HOME").or_else(|| given("USERPROFILE")).map(|home| home.join(".cargo")))
}
