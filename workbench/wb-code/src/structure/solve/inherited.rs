//! Members that a class has of its own or by extending others.

use super::{Context, Found, Solver, ThingId};
use crate::structure::file::{FunctionParameter, Heirs, NameSpace, Value, ValueId};

impl Solver<'_> {
    /// Members of the nearest class that has some of the name, from a place in its lineage on.
    pub(super) fn in_lineage(
        &mut self,
        asking: usize,
        (class, first): (ThingId, usize),
        (object, made): (ThingId, Option<(usize, ValueId, Context)>),
        name: &str,
        space: NameSpace,
    ) -> Vec<Found> {
        let mut all: Vec<Found> = Vec::new();
        for (one, place) in self.lineage(class).into_iter().zip(0..).skip(first) {
            let mut found = self.in_class(asking, one, object, made, name, space);
            found.retain(|it| object != class || !self.structure(it.file).binding(it.binding).of_instance);
            // What is not inherited still hides what is further up.
            let is_last = !found.is_empty() && space != NameSpace::METHOD;
            found.retain(|it| {
                let is_overridden = all.iter().any(|near| self.parameters_of(near) == self.parameters_of(it));
                !is_overridden && (place == 0 || self.inherits(class, it))
            });
            all.extend(found);
            // Methods that take something else are not replaced by those of their name.
            if is_last {
                break;
            }
        }
        all
    }

    /// True where a class has a member by extending another class.
    fn inherits(&self, class: ThingId, member: &Found) -> bool {
        match self.structure(member.file).binding(member.binding).heirs {
            Heirs::All => true,
            Heirs::Package => self.value_of(class).is_none_or(|(file, ..)| {
                file == member.file || self.project.own_package(file) == self.project.own_package(member.file)
            }),
            Heirs::None => false,
        }
    }

    /// True for each parameter of a method that takes an object: where this differs, no method overrides the other.
    fn parameters_of(&self, method: &Found) -> Option<Vec<bool>> {
        let structure = self.structure(method.file);
        let Value::Function(function) = structure.value(structure.binding(method.binding).value?) else { return None };
        let takes_object = |parameter: &FunctionParameter| match structure.binding(parameter.binding).declared {
            Some(declared) => match structure.value(declared) {
                Value::Instance(of) => !matches!(structure.value(*of), Value::Opaque),
                _ => true,
            },
            None => true,
        };
        Some(function.parameters.iter().map(takes_object).collect())
    }
}
