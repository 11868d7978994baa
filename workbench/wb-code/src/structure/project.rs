//! Files whose structures are asked together.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use compact_str::CompactString;

use super::{
    exact::ExactNames,
    file::{BindingId, FileStructure},
    lazy::{LazyStructure, StructureHead},
    lower::lower,
    modules::{Modules, Package},
    standard,
    tables::ProjectTables,
};
use crate::Language;

/// Names of the files that say what imports mean.
pub const SETTINGS: [&str; 5] = ["package.json", "tsconfig.json", "jsconfig.json", "go.mod", "Cargo.toml"];

/// A file of a project.
#[derive(Debug, Clone)]
pub struct StructuredFile {
    /// Path below the root, with `/`.
    pub path: String,
    /// Language.
    pub language: Language,
    /// Head: that which others have to know of it.
    pub head: StructureHead,
    /// Structure.
    pub structure: LazyStructure,
}

impl StructuredFile {
    /// A file with its structure.
    pub fn new(path: &str, language: Language, structure: FileStructure) -> Self {
        Self { path: path.to_owned(), language, head: StructureHead::of(&structure), structure: structure.into() }
    }

    /// A file of a text; none where it is no source.
    pub fn of_text(path: &str, language: Language, text: &str) -> Option<Self> {
        Some(Self::new(path, language, lower(language, text)?))
    }
}

/// The structures of a project's files.
#[derive(Debug, Default)]
pub struct Project {
    /// Its own files, and behind them those that declare what its languages have built in.
    files: Vec<StructuredFile>,
    own: usize,
    by_path: HashMap<String, usize>,
    modules: Modules,
    /// Names that every file knows.
    globals: HashMap<CompactString, Vec<(usize, BindingId)>>,
    /// Names whose meaning is known for sure.
    exact: Arc<ExactNames>,
    tables: ProjectTables,
}

impl Project {
    /// The structures of texts by their paths; those of other languages and of settings that imports follow count too.
    pub fn of_texts<'t>(texts: impl IntoIterator<Item = (&'t str, &'t str)>) -> Self {
        Self::of_texts_with(texts, ExactNames::default())
    }

    /// The structures of texts, with names whose meaning is known for sure.
    pub fn of_texts_with<'t>(texts: impl IntoIterator<Item = (&'t str, &'t str)>, exact: ExactNames) -> Self {
        let mut files = Vec::new();
        let mut settings = BTreeMap::new();
        for (path, text) in texts {
            let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
            match Language::from_extension(extension) {
                Some(language) => {
                    let structure = lower(language, text).map(|structure| exact.complete(path, structure));
                    files.extend(structure.map(|structure| StructuredFile::new(path, language, structure)));
                }
                None => _ = settings.insert(path.to_owned(), text.to_owned()),
            }
        }
        Self::new(files, &settings).with_exact(Arc::new(exact))
    }

    /// A project of files; `settings` are the texts of `package.json`, `tsconfig.json`, `go.mod`, `Cargo.toml` by their paths.
    pub fn new(mut files: Vec<StructuredFile>, settings: &BTreeMap<String, String>) -> Self {
        files.sort_by(|one, other| one.path.cmp(&other.path));
        let by_path: HashMap<String, usize> =
            files.iter().enumerate().map(|(at, file)| (file.path.clone(), at)).collect();
        let own = files.len();
        files.extend(standard::declarations(&files));
        let modules = Modules::new(&files, &by_path, settings);
        let mut globals: HashMap<CompactString, Vec<(usize, BindingId)>> = HashMap::new();
        for (at, file) in files.iter().enumerate() {
            for (name, binding) in &file.head.globals {
                globals.entry(name.clone()).or_default().push((at, *binding));
            }
        }
        let tables = ProjectTables::new(files.len(), modules.n_packages());
        Self { files, own, by_path, modules, globals, exact: Arc::default(), tables }
    }

    /// The project with names whose meaning is known for sure; its structures have to be complete with them.
    #[must_use]
    pub fn with_exact(self, exact: Arc<ExactNames>) -> Self {
        Self { exact, ..self }
    }

    /// Names whose meaning is known for sure.
    pub fn exact(&self) -> &ExactNames {
        &self.exact
    }

    /// Files in the order of their paths.
    pub fn files(&self) -> &[StructuredFile] {
        self.files.get(..self.own).unwrap_or_default()
    }

    /// A file by its position, be it one of those that declare what a language has built in.
    pub(super) fn at(&self, file: usize) -> &StructuredFile {
        &self.files[file]
    }

    /// Tables that are looked up again and again.
    pub(super) fn tables(&self) -> &ProjectTables {
        &self.tables
    }

    /// The files together with those that declare what a language has built in.
    pub(super) fn with_standard(&self) -> &[StructuredFile] {
        &self.files
    }

    /// The file that declares what a language has built in.
    pub(super) fn standard(&self, language: Language) -> Option<usize> {
        (self.own..self.files.len()).find(|at| self.files[*at].language == language)
    }

    /// Positions of the files by their paths.
    pub(super) fn by_path(&self) -> &HashMap<String, usize> {
        &self.by_path
    }

    /// Position of a file.
    pub fn file_at(&self, path: &str) -> Option<usize> {
        self.by_path.get(path).copied()
    }

    /// Places of a name that every file of its language knows.
    pub(super) fn globals(&self, from: usize, name: &str) -> impl Iterator<Item = (usize, BindingId)> {
        self.crate_globals(name).filter(move |(file, _)| *file != from && self.at(*file).language != Language::Rust)
    }

    /// Places of a name that every file of its crate knows.
    pub(super) fn crate_globals(&self, name: &str) -> impl Iterator<Item = (usize, BindingId)> {
        self.globals.get(name).map(Vec::as_slice).unwrap_or_default().iter().copied()
    }

    /// The package that a module's name means in a file.
    pub(super) fn package(&self, from: usize, module: &str) -> Option<u32> {
        self.modules.named(self, from, module)
    }

    /// The package below another one.
    pub(super) fn below(&self, package: u32, name: &str) -> Option<u32> {
        self.modules.below(package, name)
    }

    /// The package whose names a file sees without importing it.
    pub(super) fn own_package(&self, file: usize) -> Option<u32> {
        self.modules.own(self, file)
    }

    /// A package by its number.
    pub(super) fn package_at(&self, package: u32) -> &Package {
        self.modules.at(package)
    }
}
