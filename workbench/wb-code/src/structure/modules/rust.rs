//! Rust's crates: a root file, the modules that `mod` names from there on, and the names of crates in `Cargo.toml`.

use std::collections::{BTreeMap, HashMap};

use super::{folder, joined};
use crate::{
    Language,
    structure::project::{Project, StructuredFile},
};

/// Crates that come with the language.
const STANDARD: [&str; 3] = ["std", "core", "alloc"];

/// The crates of a project.
#[derive(Debug, Default)]
pub(super) struct Crates {
    /// The file around a file's module.
    parents: HashMap<usize, usize>,
    /// Files of modules that no `mod` names, behind those around them.
    by_place: Vec<(usize, usize)>,
    /// Root files of libraries by the names of their crates, with the folders of the crates.
    libraries: HashMap<String, Vec<(String, usize)>>,
    /// Names that a crate has given to others, by its folder.
    renamed: HashMap<(String, String), String>,
}

impl Crates {
    pub fn new(
        files: &[StructuredFile],
        by_path: &HashMap<String, usize>,
        settings: &BTreeMap<String, String>,
    ) -> Self {
        let mut crates = Self::default();
        let is_rust = |file: &StructuredFile| file.language == Language::Rust;
        for (at, file) in files.iter().enumerate().filter(|(_, file)| is_rust(file)) {
            for module in &file.head.modules {
                if let Some(inner) = declared(&file.path, module, by_path).filter(|inner| *inner != at) {
                    crates.parents.entry(inner).or_insert(at);
                }
            }
        }
        // A module that only a macro names is found by its path.
        for (at, file) in files.iter().enumerate().filter(|(_, file)| is_rust(file)) {
            if let Some(outer) = by_place(&file.path, by_path).filter(|outer| *outer != at) {
                crates.by_place.extend((!crates.parents.contains_key(&at)).then_some((outer, at)));
                crates.parents.entry(at).or_insert(outer);
            }
        }
        crates.read(settings, by_path);
        for (at, file) in files.iter().enumerate() {
            if let Some(root) = file.path.strip_suffix("/src/lib.rs")
                && !settings.contains_key(&format!("{root}/Cargo.toml"))
            {
                let name = root.rsplit('/').next().unwrap_or(root);
                crates.library(name, root, at);
            }
        }
        crates
    }

    fn read(&mut self, settings: &BTreeMap<String, String>, by_path: &HashMap<String, usize>) {
        for (path, text) in settings {
            let root = folder(path);
            if path[root.len()..].trim_start_matches('/') != "Cargo.toml" {
                continue;
            }
            let manifest = Manifest::new(text);
            let lib = manifest.lib_path.as_deref().unwrap_or("src/lib.rs");
            let file = joined(root, lib).and_then(|path| by_path.get(&path).copied());
            if let (Some(name), Some(file)) = (manifest.lib_name.or(manifest.name), file) {
                self.library(&name, root, file);
            }
            for (own, other) in manifest.renamed {
                self.renamed.insert((root.to_owned(), identifier(&own)), identifier(&other));
            }
        }
    }

    fn library(&mut self, name: &str, root: &str, file: usize) {
        self.libraries.entry(identifier(name)).or_default().push((root.to_owned(), file));
    }

    /// Modules that no `mod` names: the file around each, its name, and its file.
    pub fn unnamed<'f>(&self, files: &'f [StructuredFile]) -> Vec<(usize, &'f str, usize)> {
        let named = |(outer, at): &(usize, usize)| {
            let path = files.get(*at)?.path.trim_end_matches(".rs").trim_end_matches("/mod");
            Some((*outer, path.rsplit('/').next().unwrap_or(path), *at))
        };
        self.by_place.iter().filter_map(named).collect()
    }

    /// The root file of the crate that a file is part of.
    pub fn root(&self, file: usize) -> usize {
        let mut at = file;
        // As many steps as there are files, since `#[path]` may lead in a circle.
        for _ in 0..=self.parents.len() {
            match self.parents.get(&at) {
                Some(outer) => at = *outer,
                None => break,
            }
        }
        at
    }

    /// The file that `crate`, `super`, `mod name`, or a crate (`::name`) means in a file.
    pub fn named(&self, project: &Project, from: usize, module: &str) -> Option<u32> {
        if let Some(name) = module.strip_prefix("::") {
            return self.named_crate(project, from, name).map(|at| at as u32);
        }
        let found = match module {
            "crate" => Some(self.root(from)),
            _ if module.starts_with("super") => {
                module.split("::").try_fold(from, |at, _| self.parents.get(&at).copied())
            }
            _ => declared(&project.at(from).path, module, project.by_path()),
        };
        found.map(|at| at as u32)
    }

    fn named_crate(&self, project: &Project, from: usize, name: &str) -> Option<usize> {
        if STANDARD.contains(&name) {
            return project.standard(Language::Rust);
        }
        let path = &project.at(from).path;
        let within = |root: &str| root.is_empty() || path.strip_prefix(root).is_some_and(|rest| rest.starts_with('/'));
        let other = self.renamed.iter().find(|((root, own), _)| own == name && within(root));
        let known = self.libraries.get(other.map_or(name, |(_, other)| other.as_str()))?;
        // Of two of the same name, the one that lies nearer.
        let shared = |root: &str| root.split('/').zip(path.split('/')).take_while(|(one, other)| one == other).count();
        known.iter().max_by_key(|(root, _)| shared(root)).map(|(_, at)| *at)
    }
}

/// True for the name of a file that a file says is a module of it.
pub(in crate::structure) fn is_own_module(module: &str) -> bool {
    module.starts_with("mod ") || module.starts_with("path ")
}

/// The file that `mod a/b` or `path a/b.rs` names in a file: the module `b` within the module `a` that is written out.
fn declared(path: &str, module: &str, by_path: &HashMap<String, usize>) -> Option<usize> {
    if !is_own_module(module) {
        return None;
    }
    let within = folder(path);
    let at = |path: Option<String>| path.and_then(|path| by_path.get(&path).copied());
    let stem = path[within.len()..].trim_start_matches('/').trim_end_matches(".rs");
    let own = joined(within, stem)?;
    if let Some(path) = module.strip_prefix("path ") {
        // Within a module that is written out, the path starts at the folder of that module.
        let inner = path.strip_prefix("./");
        return match inner {
            Some(path) => at(joined(&own, path)).or_else(|| at(joined(within, path))),
            None => at(joined(within, path)),
        };
    }
    let name = module.strip_prefix("mod ")?;
    let below = |folder: &str| {
        at(joined(folder, &format!("{name}.rs"))).or_else(|| at(joined(folder, &format!("{name}/mod.rs"))))
    };
    // Roots of crates may have any name (`tests/it.rs`), so both folders are tried.
    match stem {
        "mod" | "lib" | "main" => below(within),
        _ => below(&own).or_else(|| below(within)),
    }
}

/// The file around a module that no `mod` names, by where it lies.
fn by_place(path: &str, by_path: &HashMap<String, usize>) -> Option<usize> {
    let within = folder(path);
    let stem = path[within.len()..].trim_start_matches('/').trim_end_matches(".rs");
    let around = if stem == "mod" { folder(within) } else { within };
    // Each file in these is a crate of its own.
    let name = around.rsplit('/').next().unwrap_or(around);
    if matches!(stem, "lib" | "main") || matches!(name, "bin" | "tests" | "examples" | "benches" | "") {
        return None;
    }
    let inside = ["mod.rs", "lib.rs", "main.rs"].iter().find_map(|name| by_path.get(&joined(around, name)?));
    inside.or_else(|| by_path.get(&format!("{around}.rs"))).copied()
}

fn identifier(name: &str) -> String {
    name.replace('-', "_")
}

/// The parts of a `Cargo.toml` that names depend on.
#[derive(Debug, Default)]
struct Manifest {
    name: Option<String>,
    lib_name: Option<String>,
    lib_path: Option<String>,
    /// `own = { package = "other" }`.
    renamed: Vec<(String, String)>,
}

impl Manifest {
    /// Reads lines `key = value` below their `[section]`.
    fn new(text: &str) -> Self {
        let mut manifest = Self::default();
        let mut section = String::new();
        for line in text.lines().map(str::trim) {
            if let Some(name) = line.strip_prefix('[') {
                section = name.split(']').next().unwrap_or_default().trim().to_owned();
                continue;
            }
            let Some((key, value)) = line.split_once('=') else { continue };
            let (key, value) = (key.trim(), value.trim());
            let in_dependency = section.rsplit_once("dependencies.").map(|(_, name)| name);
            match (section.as_str(), key) {
                ("package", "name") => manifest.name = text_of(value),
                ("lib", "name") => manifest.lib_name = text_of(value),
                ("lib", "path") => manifest.lib_path = text_of(value),
                (_, "package") if in_dependency.is_some() => {
                    manifest.renamed.extend(in_dependency.map(str::to_owned).zip(text_of(value)));
                }
                (section, _) if section.ends_with("dependencies") => {
                    let after = value.split_once("package").and_then(|(_, rest)| rest.trim_start().strip_prefix('='));
                    manifest.renamed.extend(after.and_then(text_of).map(|other| (key.to_owned(), other)));
                }
                _ => {}
            }
        }
        manifest
    }
}

/// The text of the quoted value that a text begins with.
fn text_of(value: &str) -> Option<String> {
    let value = value.trim_start();
    let quote = value.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    value.get(1..)?.split(quote).next().map(str::to_owned)
}
