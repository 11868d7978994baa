//! Definitions of names whose meaning is known for sure, before those that the rules find.

use super::{Definition, DefinitionStep, EdgeClass, Solver};
use crate::structure::file::{BindingId, Reference};

impl Solver<'_> {
    /// The places that the name at a reference stands for: those that an indexer has written down, else those of
    /// [`Solver::definitions`].
    pub fn definitions_of(&mut self, file: usize, reference: &Reference) -> Vec<Definition> {
        let exact = self.project.exact();
        let symbols = exact.at(&self.project.at(file).path, &reference.span);
        if symbols.is_empty() {
            return self.definitions(file, reference.value);
        }
        let mut all: Vec<Definition> = Vec::new();
        for (path, span) in symbols.into_iter().flat_map(|symbol| exact.definitions(symbol)) {
            let Some(home) = self.project.file_at(path) else { continue };
            let structure = self.structure(home);
            let found = match span.is_empty() {
                true => structure.module,
                false => {
                    structure.bindings.iter().zip(0..).find(|(it, _)| it.span == *span).map(|(_, at)| BindingId(at))
                }
            };
            if let Some(binding) = found
                && !all.iter().any(|known| (known.file, known.binding) == (home, binding))
            {
                all.push(Definition { file: home, binding, edge: EdgeClass::Exact, step: DefinitionStep::Own });
            }
        }
        if all.is_empty() {
            // It is another project's: an import is all that there is of it here.
            all = self.definitions(file, reference.value);
            all.retain(|definition| definition.step == DefinitionStep::Import && definition.file == file);
        }
        all
    }
}
