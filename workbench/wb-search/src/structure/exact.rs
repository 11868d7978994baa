//! Usages that an indexer has written down.

use std::collections::{HashMap, HashSet};

use rayon::prelude::*;
use wb_code::structure::{
    EdgeClass,
    file::{BindingId, Reference},
};

use super::{
    graph::ProjectGraph,
    usages::{FileUses, SymbolUsage},
};

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
        let file_uses = FileUses::of(structured, file);
        let usage = |reference: &Reference| {
            let of = *used.get(&(reference.span.start, reference.span.end))?;
            let own_name = || self.project.files()[of.0].structure.binding(of.1).name.as_str();
            let name = structure.name(reference.value).unwrap_or_else(own_name);
            Some(file_uses.usage(reference, name, EdgeClass::Exact, Some(of)))
        };
        structure.references.iter().filter_map(usage).collect()
    }
}
