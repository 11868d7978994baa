//! Tables of a project's files and packages, made when somebody looks into them, for all who ask.

use std::{collections::HashMap, sync::OnceLock};

use compact_str::CompactString;
use rustc_hash::FxHashMap;

use super::{
    file::{BindingId, BindingKind, FieldKey, FileStructure, ScopeId, Value, ValueId},
    project::Project,
};
use crate::Language;

/// Names of a scope from which on they are looked up in a table.
const LARGE: usize = 32;

/// Role of a parameter in its function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owned {
    Receiver,
    Parameter(usize),
    /// A type parameter of a function.
    Type(usize),
}

/// Tables of a project, each made once, whoever asks first.
#[derive(Debug, Default)]
pub(super) struct ProjectTables {
    files: Vec<OnceLock<FileTables>>,
    packages: Vec<OnceLock<PackageTables>>,
    /// Files of Rust by the names of the classes that they extend.
    extending: OnceLock<HashMap<String, Vec<usize>>>,
}

impl ProjectTables {
    /// Tables of so many files and packages.
    pub fn new(files: usize, packages: usize) -> Self {
        let empty = |n: usize| (0..n).map(|_| OnceLock::new()).collect();
        let packages = (0..packages).map(|_| OnceLock::new()).collect();
        Self { files: empty(files), packages, extending: OnceLock::new() }
    }

    /// Tables of a file.
    pub fn of_file(&self, project: &Project, file: usize) -> &FileTables {
        self.files[file].get_or_init(|| FileTables::of(&project.at(file).structure))
    }

    /// Tables of a package.
    pub fn of_package(&self, project: &Project, package: u32) -> &PackageTables {
        self.packages[package as usize].get_or_init(|| PackageTables::of(project, package))
    }

    /// Files of Rust, where a type may be extended in any file that sees it, with extensions of classes of a name.
    pub fn extending(&self, project: &Project, name: &str) -> &[usize] {
        let by_name = self.extending.get_or_init(|| {
            let mut files: HashMap<String, Vec<usize>> = HashMap::new();
            let all = project.with_standard().iter().enumerate();
            for (at, file) in all.filter(|(_, file)| file.language == Language::Rust) {
                for name in &file.head.extended {
                    files.entry(name.clone()).or_default().push(at);
                }
            }
            files
        });
        by_name.get(name).map_or(&[], Vec::as_slice)
    }
}

/// Tables that the solver looks up in a file again and again.
#[derive(Debug)]
pub(super) struct FileTables {
    /// Owners of parameters: the function, the position.
    pub parameters: FxHashMap<BindingId, (ValueId, Owned)>,
    /// Writes of fields by their names; those whose key is a value are under the empty name.
    pub writes: HashMap<CompactString, Vec<usize>>,
    /// Bindings of scopes with many names.
    pub names: FxHashMap<ScopeId, HashMap<CompactString, Vec<BindingId>>>,
    /// Names of classes.
    pub classes: FxHashMap<ValueId, CompactString>,
    /// Extensions by the names of what they extend.
    pub extensions: HashMap<String, Vec<usize>>,
}

/// Tables that the solver looks up in the files of a package again and again.
#[derive(Debug, Default)]
pub(super) struct PackageTables {
    /// Files that show a name.
    pub names: HashMap<CompactString, Vec<usize>>,
    /// Files that show what they include.
    pub including: Vec<usize>,
    /// Extensions with a member of a name: file and position.
    pub extensions: HashMap<CompactString, Vec<(usize, usize)>>,
}

fn parameters(structure: &FileStructure) -> FxHashMap<BindingId, (ValueId, Owned)> {
    let mut owners = FxHashMap::default();
    for (value, at) in structure.values.iter().zip(0..) {
        let owner = ValueId(at);
        let (receiver, parameters, types) = match value {
            Value::Function(it) => (it.receiver, it.parameters.as_slice(), it.type_parameters.as_slice()),
            Value::Class(class) => (None, class.parameters.as_slice(), [].as_slice()),
            Value::TypeAlias { parameters, .. } => (None, parameters.as_slice(), [].as_slice()),
            _ => continue,
        };
        owners.extend(receiver.map(|receiver| (receiver, (owner, Owned::Receiver))));
        let with_place = parameters.iter().enumerate();
        owners.extend(with_place.map(|(place, it)| (it.binding, (owner, Owned::Parameter(place)))));
        owners.extend(types.iter().enumerate().map(|(place, it)| (it.binding, (owner, Owned::Type(place)))));
    }
    owners
}

fn names(structure: &FileStructure) -> FxHashMap<ScopeId, HashMap<CompactString, Vec<BindingId>>> {
    let mut scopes = FxHashMap::default();
    for (scope, at) in structure.scopes.iter().zip(0..).filter(|(scope, _)| scope.names.len() >= LARGE) {
        let mut by_name: HashMap<CompactString, Vec<BindingId>> = HashMap::new();
        for (name, binding) in &scope.names {
            by_name.entry(name.clone()).or_default().push(*binding);
        }
        scopes.insert(ScopeId(at), by_name);
    }
    scopes
}

impl FileTables {
    /// The tables of a structure.
    fn of(structure: &FileStructure) -> Self {
        Self {
            parameters: parameters(structure),
            writes: writes(structure),
            names: names(structure),
            classes: classes(structure),
            extensions: extensions(structure),
        }
    }
}

fn classes(structure: &FileStructure) -> FxHashMap<ValueId, CompactString> {
    let classes = structure.bindings.iter().filter(|binding| binding.kind == BindingKind::Class);
    classes.filter_map(|binding| Some((binding.value?, binding.name.clone()))).collect()
}

fn extensions(structure: &FileStructure) -> HashMap<String, Vec<usize>> {
    let mut by_name: HashMap<String, Vec<usize>> = HashMap::new();
    for (at, extension) in structure.extensions.iter().enumerate() {
        for name in structure.extended(extension) {
            by_name.entry(name).or_default().push(at);
        }
    }
    by_name
}

impl PackageTables {
    /// The tables of a package.
    fn of(project: &Project, package: u32) -> Self {
        let mut tables = PackageTables::default();
        for file in &project.package_at(package).files {
            let structure: &FileStructure = &project.files()[*file].structure;
            let shown = structure.scope(structure.exported());
            for (name, _) in &shown.names {
                tables.names.entry(name.clone()).or_default().push(*file);
            }
            if !shown.includes.is_empty() {
                tables.including.push(*file);
            }
            for (at, extension) in structure.extensions.iter().enumerate() {
                for (name, _) in &structure.scope(extension.scope).names {
                    tables.extensions.entry(name.clone()).or_default().push((*file, at));
                }
            }
        }
        tables
    }
}

fn writes(structure: &FileStructure) -> HashMap<CompactString, Vec<usize>> {
    let mut by_name: HashMap<CompactString, Vec<usize>> = HashMap::new();
    for (at, write) in structure.writes.iter().enumerate() {
        let name = match &write.key {
            FieldKey::Name(name) => name.clone(),
            _ => CompactString::default(),
        };
        by_name.entry(name).or_default().push(at);
    }
    by_name
}
