//! Usages of definitions, and the calls between functions.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use rayon::prelude::*;
use serde::Serialize;
use wb_code::structure::{
    EdgeClass, FileSymbols, Solver, StructuredFile,
    file::{BindingId, BindingKind, Value, ValueId},
};

use super::graph::{ProjectGraph, SymbolPlace};
use crate::Result;

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
    #[serde(skip)]
    file: usize,
    #[serde(skip)]
    function: Option<BindingId>,
}

/// A function that calls another, with the lines at which it does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Caller {
    /// The function; the file itself, where the call stands in none.
    pub symbol: SymbolPlace,
    /// The surest of its calls.
    pub edge: EdgeClass,
    /// Lines, from 1.
    pub lines: Vec<u32>,
    /// Calls on the way from what was asked for, from 1.
    pub depth: usize,
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
        let names: BTreeSet<&str> = symbols.iter().filter_map(|place| place.name.rsplit('.').next()).collect();
        let mut all = Vec::new();
        for name in names {
            let files = self.files_with(name)?;
            let of_file = |solver: &mut Solver<'_>, file: usize| self.usages_in(solver, file, name, &wanted);
            let found: Vec<Vec<SymbolUsage>> =
                files.into_par_iter().map_init(|| Solver::new(&self.project), of_file).collect();
            all.extend(found.into_iter().flatten());
        }
        all.sort();
        all.dedup();
        self.whole(all)
    }

    fn usages_in(
        &self,
        solver: &mut Solver<'_>,
        file: usize,
        name: &str,
        wanted: &HashSet<(usize, BindingId)>,
    ) -> Vec<SymbolUsage> {
        let structured = &self.project.files()[file];
        let structure = &structured.structure;
        let symbols = FileSymbols::of(structure);
        let named = |value: ValueId| match structure.value(value) {
            Value::Name { name, .. } | Value::Member { name, .. } => Some(name.as_str()),
            _ => None,
        };
        // Names that the file itself gives to what it imports.
        let mut names = vec![name];
        for binding in structure.bindings.iter().filter(|it| it.kind == BindingKind::Import && it.name != name) {
            if binding.value.and_then(named) == Some(name) {
                names.push(&binding.name);
            }
        }
        let callees: HashSet<ValueId> = structure
            .calls
            .iter()
            .filter_map(|call| match structure.value(call.value) {
                Value::Call { callee, .. } => Some(*callee),
                _ => None,
            })
            .collect();
        let mut found = Vec::new();
        for reference in &structure.references {
            if !named(reference.value).is_some_and(|name| names.contains(&name)) {
                continue;
            }
            let definitions = solver.definitions(file, reference.value);
            let edge = match definitions.iter().find(|it| wanted.contains(&(it.file, it.binding))) {
                Some(definition) => definition.edge,
                None if definitions.is_empty() && named(reference.value) == Some(name) => EdgeClass::NameOnly,
                None => continue,
            };
            found.push(SymbolUsage {
                edge,
                path: structured.path.clone(),
                line: reference.line,
                within: symbols.path_of(reference.scope).join("."),
                is_call: callees.contains(&reference.value),
                file,
                function: symbols.function_around(reference.scope).and_then(|value| symbols.of_value(value)),
            });
        }
        found
    }

    /// Functions that call definitions, and those that call these, up to `depth` calls away; the surest first at each depth.
    pub fn callers(&self, symbols: &[SymbolPlace], depth: usize) -> Result<Vec<Caller>> {
        let mut all: Vec<Caller> = Vec::new();
        let mut seen: HashSet<SymbolPlace> = symbols.iter().cloned().collect();
        let mut now = symbols.to_vec();
        for depth in 1..=depth {
            let mut callers: BTreeMap<(usize, Option<BindingId>), (EdgeClass, BTreeSet<u32>)> = BTreeMap::new();
            for usage in self.usages(&now)?.into_iter().filter(|usage| usage.is_call) {
                let of_function = callers.entry((usage.file, usage.function));
                let (edge, lines) = of_function.or_insert((usage.edge, BTreeSet::new()));
                *edge = (*edge).min(usage.edge);
                lines.insert(usage.line);
            }
            let mut found: Vec<Caller> = callers
                .into_iter()
                .map(|((file, function), found)| (self.function_at(file, function), found))
                .filter(|(symbol, _)| seen.insert(symbol.clone()))
                .map(|(symbol, (edge, lines))| Caller { symbol, edge, lines: lines.into_iter().collect(), depth })
                .collect();
            found.sort_by(|one, other| (one.edge, &one.symbol).cmp(&(other.edge, &other.symbol)));
            // What is found by its name alone leads further from name to name, and to nowhere.
            let is_known = |caller: &&Caller| caller.edge < EdgeClass::NameOnly && !caller.symbol.name.is_empty();
            now = found.iter().filter(is_known).map(|caller| caller.symbol.clone()).collect();
            all.extend(found);
            if now.is_empty() {
                break;
            }
        }
        Ok(all)
    }

    /// The definition of a function; the file, where there is none.
    fn function_at(&self, file: usize, function: Option<BindingId>) -> SymbolPlace {
        if let Some(binding) = function {
            return self.place(file, binding);
        }
        let StructuredFile { path, structure, .. } = &self.project.files()[file];
        let (path, binding) = (path.clone(), structure.module.unwrap_or(BindingId(0)));
        SymbolPlace { path, line: 1, name: String::new(), kind: BindingKind::Module, file, binding }
    }

    /// Functions that a function calls, in the order of its lines.
    pub fn calls(&self, symbol: &SymbolPlace) -> Result<Vec<CalledSymbol>> {
        let file = symbol.file;
        let structure = &self.project.files()[file].structure;
        let symbols = FileSymbols::of(structure);
        let mut solver = Solver::new(&self.project);
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
            let name = match structure.value(*callee) {
                Value::Name { name, .. } | Value::Member { name, .. } => name.clone(),
                _ => continue,
            };
            if is_within {
                let definitions = solver.definitions(file, *callee).into_iter();
                let definitions = definitions.map(|it| (it.edge, self.place(it.file, it.binding))).collect();
                found.push(CalledSymbol { name, line: call.line, definitions });
            }
        }
        self.whole(found)
    }
}
