//! Tables of files and packages, made when somebody looks into them.

use std::collections::HashMap;

use super::{LARGE, Owned};
use crate::structure::{
    file::{BindingId, BindingKind, FieldKey, FileStructure, ScopeId, Value, ValueId},
    project::Project,
};

/// Tables that the solver looks up in a file again and again.
#[derive(Debug)]
pub(super) struct FileTables {
    /// Owners of parameters: the function, the position.
    pub parameters: HashMap<BindingId, (ValueId, Owned)>,
    /// Writes of fields by their names; those whose key is a value are under the empty name.
    pub writes: HashMap<String, Vec<usize>>,
    /// Bindings of scopes with many names.
    pub names: HashMap<ScopeId, HashMap<String, Vec<BindingId>>>,
    /// Names of classes.
    pub classes: HashMap<ValueId, String>,
    /// Extensions by the names of what they extend.
    pub extensions: HashMap<String, Vec<usize>>,
}

/// Tables that the solver looks up in the files of a package again and again.
#[derive(Debug, Default)]
pub(super) struct PackageTables<'p> {
    /// Files that show a name.
    pub names: HashMap<&'p str, Vec<usize>>,
    /// Files that show what they include.
    pub including: Vec<usize>,
    /// Extensions with a member of a name: file and position.
    pub extensions: HashMap<&'p str, Vec<(usize, usize)>>,
}

fn parameters(structure: &FileStructure) -> HashMap<BindingId, (ValueId, Owned)> {
    let mut owners = HashMap::new();
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

fn names(structure: &FileStructure) -> HashMap<ScopeId, HashMap<String, Vec<BindingId>>> {
    let mut scopes = HashMap::new();
    for (scope, at) in structure.scopes.iter().zip(0..).filter(|(scope, _)| scope.names.len() >= LARGE) {
        let mut by_name: HashMap<String, Vec<BindingId>> = HashMap::new();
        for (name, binding) in &scope.names {
            by_name.entry(name.clone()).or_default().push(*binding);
        }
        scopes.insert(ScopeId(at), by_name);
    }
    scopes
}

impl FileTables {
    /// The tables of a structure.
    pub fn of(structure: &FileStructure) -> Self {
        Self {
            parameters: parameters(structure),
            writes: writes(structure),
            names: names(structure),
            classes: classes(structure),
            extensions: extensions(structure),
        }
    }
}

fn classes(structure: &FileStructure) -> HashMap<ValueId, String> {
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

impl<'p> PackageTables<'p> {
    /// The tables of a package.
    pub fn of(project: &'p Project, package: u32) -> Self {
        let mut tables = PackageTables::default();
        for file in &project.package_at(package).files {
            let structure: &FileStructure = &project.files()[*file].structure;
            let shown = structure.scope(structure.exported());
            for (name, _) in &shown.names {
                tables.names.entry(name).or_default().push(*file);
            }
            if !shown.includes.is_empty() {
                tables.including.push(*file);
            }
            for (at, extension) in structure.extensions.iter().enumerate() {
                for (name, _) in &structure.scope(extension.scope).names {
                    tables.extensions.entry(name).or_default().push((*file, at));
                }
            }
        }
        tables
    }
}

fn writes(structure: &FileStructure) -> HashMap<String, Vec<usize>> {
    let mut by_name: HashMap<String, Vec<usize>> = HashMap::new();
    for (at, write) in structure.writes.iter().enumerate() {
        let name = match &write.key {
            FieldKey::Name(name) => name.clone(),
            _ => String::new(),
        };
        by_name.entry(name).or_default().push(at);
    }
    by_name
}
