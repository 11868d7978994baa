//! Usages that an indexer has written down.

use std::collections::{HashMap, HashSet};

use rayon::prelude::*;
use wb_code::structure::{
    EdgeClass, FileSymbols,
    file::{BindingId, BindingKind, Reference, Value, ValueId},
};

use super::{graph::ProjectGraph, usages::SymbolUsage};

impl ProjectGraph {
    /// Usages of definitions that an indexer knows, in all files that are as it saw them.
    pub(super) fn exact_usages(&self, wanted: &HashSet<(usize, BindingId)>) -> Vec<SymbolUsage> {
        let exact = self.project.exact();
        let mut symbols: HashMap<u32, (usize, BindingId)> = HashMap::new();
        for (file, binding) in wanted {
            let structured = &self.project.files()[*file];
            let span = match structured.structure.module == Some(*binding) {
                true => 0..0,
                false => structured.structure.binding(*binding).span.clone(),
            };
            // Of several places of a symbol the first is the one that is told.
            for symbol in exact.at(&structured.path, &span) {
                let of = symbols.entry(symbol).or_insert((*file, *binding));
                *of = (*of).min((*file, *binding));
            }
        }
        if symbols.is_empty() {
            return Vec::new();
        }
        let of_file = |path: &str| -> Vec<SymbolUsage> {
            let used = exact.of_file(path).iter().filter(|it| !it.is_definition);
            let used: HashMap<(u32, u32), (usize, BindingId)> =
                used.filter_map(|it| Some(((it.span.start, it.span.end), *symbols.get(&it.symbol)?))).collect();
            let file = self.project.file_at(path).filter(|_| !used.is_empty());
            file.map(|file| self.exact_usages_in(file, &used)).unwrap_or_default()
        };
        exact.paths().into_par_iter().flat_map_iter(of_file).collect()
    }

    fn exact_usages_in(&self, file: usize, used: &HashMap<(u32, u32), (usize, BindingId)>) -> Vec<SymbolUsage> {
        let structured = &self.project.files()[file];
        let structure = &structured.structure;
        let (symbols, callees) = (FileSymbols::of(structure), self.callees(file));
        let bindings = structure.bindings.iter();
        let imported: HashSet<ValueId> =
            bindings.filter(|it| it.kind == BindingKind::Import).filter_map(|it| it.value).collect();
        let usage = |reference: &Reference| {
            let of = *used.get(&(reference.span.start, reference.span.end))?;
            let name = match structure.value(reference.value) {
                Value::Name { name, .. } | Value::Member { name, .. } => name,
                _ => &self.project.files()[of.0].structure.binding(of.1).name,
            };
            Some(SymbolUsage {
                edge: EdgeClass::Exact,
                path: structured.path.clone(),
                line: reference.line,
                within: symbols.path_of(reference.scope).join("."),
                is_call: callees.contains(&reference.value),
                name: name.clone(),
                is_import: imported.contains(&reference.value),
                file,
                around: symbols.around(reference.scope),
                of: Some(of),
            })
        };
        structure.references.iter().filter_map(usage).collect()
    }

    /// The values that are called in a file.
    pub(super) fn callees(&self, file: usize) -> HashSet<ValueId> {
        let structure = &self.project.files()[file].structure;
        let callee = |value| match structure.value(value) {
            Value::Call { callee, .. } => Some(*callee),
            _ => None,
        };
        structure.calls.iter().filter_map(|call| callee(call.value)).collect()
    }
}
