//! A structure that is read when somebody looks at it: a question needs few of a project's files.

use std::{
    fmt,
    ops::Deref,
    sync::{Arc, OnceLock},
};

use compact_str::CompactString;

use super::{
    file::{BindingId, FileStructure, Value},
    modules::is_own_module,
};

/// The structures of files, by their numbers.
pub trait StructureSource: Send + Sync {
    /// The structure of a file; an empty one where it cannot be read, which the source remembers.
    fn structure(&self, number: usize) -> FileStructure;
}

/// A structure that is there, or is read once.
#[derive(Clone)]
pub struct LazyStructure {
    made: OnceLock<FileStructure>,
    from: Option<(Arc<dyn StructureSource>, usize)>,
}

impl LazyStructure {
    /// A structure that a source has by a number.
    pub fn from_source(source: Arc<dyn StructureSource>, number: usize) -> Self {
        Self { made: OnceLock::new(), from: Some((source, number)) }
    }

    /// True where it is there.
    pub fn is_made(&self) -> bool {
        self.made.get().is_some()
    }

    /// Sets what its source would give, from whoever has it at hand.
    pub fn set(&self, structure: FileStructure) {
        // Where another was faster, it has the same.
        _ = self.made.set(structure);
    }
}

impl From<FileStructure> for LazyStructure {
    fn from(made: FileStructure) -> Self {
        Self { made: OnceLock::from(made), from: None }
    }
}

impl Deref for LazyStructure {
    type Target = FileStructure;

    fn deref(&self) -> &FileStructure {
        self.made.get_or_init(|| match &self.from {
            Some((source, number)) => source.structure(*number),
            None => FileStructure::default(),
        })
    }
}

impl fmt::Debug for LazyStructure {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("LazyStructure").field("made", &self.made.get().is_some()).finish()
    }
}

/// Head of a structure: that which others have to know of a file before they look into it.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct StructureHead {
    /// The package that it says it is part of.
    pub package: Option<String>,
    /// Names that every file knows.
    pub globals: Vec<(CompactString, BindingId)>,
    /// Files that it says are its modules, as it names them.
    pub modules: Vec<CompactString>,
    /// Names of the classes that it extends; an empty one where it extends every class that fits.
    pub extended: Vec<String>,
}

impl StructureHead {
    /// Head of a structure that is there.
    pub fn of(structure: &FileStructure) -> Self {
        let names = |scope| structure.scope(scope).names.iter().cloned();
        let mut globals: Vec<(CompactString, BindingId)> = structure.globals.into_iter().flat_map(names).collect();
        // `declare module "m"` may stand in a file that is a module itself.
        let quoted = structure.scopes.first().into_iter().flat_map(|scope| &scope.names);
        let quoted = quoted.filter(|(name, _)| name.starts_with(['"', '\'']));
        globals.extend(quoted.map(|(name, binding)| (name.trim_matches(['"', '\'']).into(), *binding)));
        let mut modules: Vec<CompactString> = Vec::new();
        for value in &structure.values {
            match value {
                Value::Import(import) if is_own_module(&import.module) => modules.push(import.module.clone()),
                _ => {}
            }
        }
        let mut extended: Vec<String> =
            structure.extensions.iter().flat_map(|extension| structure.extended(extension)).collect();
        extended.sort();
        extended.dedup();
        Self { package: structure.package.clone(), globals, modules, extended }
    }
}
