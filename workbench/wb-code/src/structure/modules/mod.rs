//! The files that an import means.

mod go;
mod java;
mod javascript;
mod python;
mod rust;

use std::collections::{BTreeMap, HashMap};

use super::project::{Project, StructuredFile};
use crate::Language;

pub(super) use rust::is_own_module;

/// Files that are one thing to whoever imports it: a module, a package, a folder of modules.
#[derive(Debug, Clone, Default)]
pub(super) struct Package {
    /// Positions of the files.
    pub files: Vec<usize>,
    /// Packages that are members of it, by their names.
    pub children: HashMap<String, u32>,
}

/// The packages of a project.
#[derive(Debug, Default)]
pub(super) struct Modules {
    packages: Vec<Package>,
    /// Packages by the names of their languages: a folder of Python, a package of Java.
    by_name: HashMap<(Language, String), u32>,
    go: go::Settings,
    javascript: javascript::Settings,
    rust: rust::Crates,
}

impl Modules {
    pub fn new(
        files: &[StructuredFile],
        by_path: &HashMap<String, usize>,
        settings: &BTreeMap<String, String>,
    ) -> Self {
        // Each file is a package with its own number.
        let packages = (0..files.len()).map(|file| Package { files: vec![file], ..Package::default() }).collect();
        let (go, javascript) = (go::Settings::new(settings), javascript::Settings::new(settings));
        let rust = rust::Crates::new(files, by_path, settings);
        let mut modules = Self { packages, go, javascript, rust, ..Self::default() };
        for (outer, name, at) in modules.rust.unnamed(files) {
            modules.packages[outer].children.insert(name.to_owned(), at as u32);
        }
        for (at, file) in files.iter().enumerate() {
            match file.language {
                Language::Python => python::register(&mut modules, at, &file.path),
                Language::Go => go::register(&mut modules, at, file),
                Language::Java => java::register(&mut modules, at, file),
                _ => {}
            }
        }
        modules
    }

    pub fn n_packages(&self) -> usize {
        self.packages.len()
    }

    pub fn at(&self, package: u32) -> &Package {
        &self.packages[package as usize]
    }

    pub fn below(&self, package: u32, name: &str) -> Option<u32> {
        self.at(package).children.get(name).copied()
    }

    pub fn named(&self, project: &Project, from: usize, module: &str) -> Option<u32> {
        let file = project.at(from);
        match file.language {
            Language::Python => python::named(self, project, &file.path, module),
            Language::Go => go::named(self, &file.path, module),
            Language::Java => self.by_name.get(&(Language::Java, module.to_owned())).copied(),
            Language::JavaScript | Language::TypeScript => javascript::named(self, project, &file.path, module),
            Language::Rust => self.rust.named(project, from, module),
            _ => None,
        }
    }

    /// The package that a file is part of and whose names it sees.
    pub fn own(&self, project: &Project, file: usize) -> Option<u32> {
        let StructuredFile { language, head, path, .. } = project.at(file);
        match language {
            Language::Go => self.by_name.get(&(Language::Go, go::key(path, head))).copied(),
            Language::Java => self.by_name.get(&(Language::Java, head.package.clone().unwrap_or_default())).copied(),
            Language::Rust => Some(self.rust.root(file) as u32),
            _ => None,
        }
    }

    /// The package of a name, made where it is not there.
    fn of_name(&mut self, language: Language, name: &str) -> u32 {
        let key = (language, name.to_owned());
        if let Some(known) = self.by_name.get(&key) {
            return *known;
        }
        let number = self.packages.len() as u32;
        self.packages.push(Package::default());
        self.by_name.insert(key, number);
        number
    }
}

/// A path without its last part; empty at the root.
fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// A path below a folder, with `.` and `..` followed; none where it leaves the root.
fn joined(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => _ = parts.pop()?,
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// A folder and those around it, nearest first, the root last.
fn ancestors(folder: &str) -> impl Iterator<Item = &str> {
    let mut next = Some(folder);
    std::iter::from_fn(move || {
        let now = next?;
        next = (!now.is_empty()).then(|| self::folder(now));
        Some(now)
    })
}
