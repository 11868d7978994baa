//! Usages of definitions, and what a function calls.

use std::{
    cell::OnceCell,
    collections::{BTreeSet, HashMap, HashSet},
};

use rayon::prelude::*;
use rustc_hash::FxHashSet;
use serde::Serialize;
use wb_code::structure::{
    Definition, DefinitionStep, EdgeClass, FileSymbols, Solver, StructuredFile,
    file::{BindingId, BindingKind, Reference, Value, ValueId},
};

use super::graph::{ProjectGraph, SymbolPlace};
use crate::Result;

/// Files that are asked by one solver.
const TOGETHER: usize = 16;

/// A place that uses a definition.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct SymbolUsage {
    /// Class of the reason to believe it, surest first.
    pub edge: EdgeClass,
    /// Path of its file.
    pub path: String,
    /// Line, from 1.
    pub line: u32,
    /// The function or the class around it; empty at the top of a file.
    pub within: String,
    /// True where it is called there.
    pub is_call: bool,
    /// The name, as it is written there.
    #[serde(skip)]
    pub(super) name: String,
    /// True where it is only imported there.
    #[serde(skip)]
    pub(super) is_import: bool,
    #[serde(skip)]
    pub(super) file: usize,
    /// The function or the class around it.
    #[serde(skip)]
    pub(super) around: Option<BindingId>,
    /// The definition that it uses; none where its name alone is the same.
    #[serde(skip)]
    pub(super) of: Option<(usize, BindingId)>,
}

/// A file whose names are told as usages.
pub(super) struct FileUses<'g> {
    structured: &'g StructuredFile,
    file: usize,
    symbols: FileSymbols<'g>,
    /// Values that are called.
    called: FxHashSet<ValueId>,
    /// Values of imports.
    imported: FxHashSet<ValueId>,
}

impl<'g> FileUses<'g> {
    /// A file of the graph by its position.
    pub fn of(structured: &'g StructuredFile, file: usize) -> Self {
        let structure = &structured.structure;
        let callee = |value| match structure.value(value) {
            Value::Call { callee, .. } => Some(*callee),
            _ => None,
        };
        let called = structure.calls.iter().filter_map(|call| callee(call.value)).collect();
        let imports = structure.bindings.iter().filter(|it| it.kind == BindingKind::Import);
        let imported = imports.filter_map(|it| it.value).collect();
        Self { structured, file, symbols: FileSymbols::of(structure), called, imported }
    }

    /// True where the name is called.
    pub fn is_call(&self, reference: &Reference) -> bool {
        self.called.contains(&reference.value)
    }

    /// The usage that a name is, of a definition where that is known.
    pub fn usage(
        &self,
        reference: &Reference,
        name: &str,
        edge: EdgeClass,
        of: Option<(usize, BindingId)>,
    ) -> SymbolUsage {
        SymbolUsage {
            edge,
            path: self.structured.path.clone(),
            line: reference.line,
            within: self.symbols.path_of(reference.scope).join("."),
            is_call: self.is_call(reference),
            name: name.to_owned(),
            is_import: self.imported.contains(&reference.value),
            file: self.file,
            around: self.symbols.around(reference.scope),
            of,
        }
    }
}

/// A function that a function calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CalledSymbol {
    /// Name, as it is written at the call.
    pub name: String,
    /// Line of the call, from 1.
    pub line: u32,
    /// Definitions, nearest first; none where none is known.
    pub definitions: Vec<(EdgeClass, SymbolPlace)>,
}

impl ProjectGraph {
    /// Places that use definitions, surest first, then in the order of the files. A usage by its name alone is told where
    /// nothing says that it is another's.
    pub fn usages(&self, symbols: &[SymbolPlace]) -> Result<Vec<SymbolUsage>> {
        let wanted: HashSet<(usize, BindingId)> = symbols.iter().map(|place| (place.file, place.binding)).collect();
        let names: BTreeSet<&str> = symbols.iter().map(SymbolPlace::own_name).collect();
        self.usages_of(&names, &wanted)
    }

    /// Places that use names, of definitions that are wanted, or of none that is known.
    pub(super) fn usages_of(
        &self,
        names: &BTreeSet<&str>,
        wanted: &HashSet<(usize, BindingId)>,
    ) -> Result<Vec<SymbolUsage>> {
        let files = self.files_with(names)?;
        // Where a search gives up depends on what its solver knows: each has the same files, whatever the number of threads.
        let of_files = |files: &[usize]| -> Vec<SymbolUsage> {
            let mut solver = Solver::new(&self.project);
            files.iter().flat_map(|file| self.usages_in(&mut solver, *file, names, wanted)).collect()
        };
        let mut all = self.exact_usages(wanted);
        all.par_extend(files.par_chunks(TOGETHER).flat_map_iter(of_files));
        // Files are in the order of their paths, and numbers are compared sooner than paths.
        all.sort_by(|one, other| (one.edge, one.file).cmp(&(other.edge, other.file)).then_with(|| one.cmp(other)));
        all.dedup();
        self.whole(all)
    }

    fn usages_in(
        &self,
        solver: &mut Solver<'_>,
        file: usize,
        names: &BTreeSet<&str>,
        wanted: &HashSet<(usize, BindingId)>,
    ) -> Vec<SymbolUsage> {
        let structured = &self.project.files()[file];
        let structure = &structured.structure;
        let file_uses = OnceCell::new();
        // Names that the file itself gives to what it imports.
        let mut renamed: BTreeSet<&str> = BTreeSet::new();
        for binding in structure.bindings.iter().filter(|it| it.kind == BindingKind::Import) {
            if binding.value.and_then(|value| structure.name(value)).is_some_and(|name| names.contains(name)) {
                renamed.insert(&binding.name);
            }
        }
        let exact = self.project.exact();
        let mut found = Vec::new();
        for reference in &structure.references {
            let Some(name) = structure.name(reference.value) else { continue };
            let is_named = names.contains(name);
            if !is_named && !renamed.contains(name) {
                continue;
            }
            // What an indexer knows is found by its symbol.
            if !exact.at(&structured.path, &reference.span).is_empty() {
                continue;
            }
            let file_uses = file_uses.get_or_init(|| FileUses::of(structured, file));
            let definitions = solver.definitions(file, reference.value);
            // What a variable was made of may be called by its name, but is another thing than the variable.
            let is_call = file_uses.is_call(reference);
            let is_wanted = |it: &&Definition| {
                wanted.contains(&(it.file, it.binding)) && (is_call || it.step != DefinitionStep::Further)
            };
            let (edge, of) = match definitions.iter().find(is_wanted) {
                Some(definition) => (definition.edge, Some((definition.file, definition.binding))),
                None if definitions.is_empty() && is_named => (EdgeClass::NameOnly, None),
                None => continue,
            };
            found.push(file_uses.usage(reference, name, edge, of));
        }
        found
    }

    /// Functions that a function calls, in the order of its lines.
    pub fn calls(&self, symbol: &SymbolPlace) -> Result<Vec<CalledSymbol>> {
        let file = symbol.file;
        let structure = &self.project.files()[file].structure;
        let symbols = FileSymbols::of(structure);
        let mut solver = Solver::new(&self.project);
        let references: HashMap<ValueId, &Reference> = structure.references.iter().map(|it| (it.value, it)).collect();
        let mut found = Vec::new();
        for call in &structure.calls {
            let mut around = symbols.function_around(call.scope);
            // A function inside of it is a part of it.
            let mut is_within = false;
            while let Some(value) = around {
                is_within |= symbols.of_value(value) == Some(symbol.binding);
                let scope = match structure.value(value) {
                    Value::Function(function) => function.scope.and_then(|scope| structure.scope(scope).parent),
                    _ => None,
                };
                around = scope.and_then(|scope| symbols.function_around(scope));
            }
            let Value::Call { callee, .. } = structure.value(call.value) else { continue };
            let Some(name) = structure.name(*callee).map(str::to_owned) else { continue };
            if is_within {
                let definitions = match references.get(callee) {
                    Some(reference) => solver.definitions_of(file, reference),
                    None => solver.definitions(file, *callee),
                };
                let definitions = definitions.into_iter();
                let definitions = definitions.map(|it| (it.edge, self.place(it.file, it.binding))).collect();
                found.push(CalledSymbol { name, line: call.line, definitions });
            }
        }
        self.whole(found)
    }
}
