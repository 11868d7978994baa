//! Members that are written beside their class, and those that every class has which fits.

use super::{Context, Found, Solver, Thing, ThingId};
use crate::{
    Language,
    structure::file::{BindingId, Extension, NameSpace},
};

impl<'p> Solver<'p> {
    /// Members of a class that are written beside it: its own, or else those that it has by its bases.
    pub(super) fn beside(&mut self, class: ThingId, object: ThingId, name: &str, space: NameSpace) -> Vec<Found> {
        let (mut own, mut by_base) = (Vec::new(), Vec::new());
        for (home, extension) in self.extensions_of(class) {
            let bindings = self.named_beside(home, extension, name, space);
            if bindings.is_empty() || !self.extends(home, extension, class) {
                continue;
            }
            let context = self.context_beside(home, extension, class);
            let found = bindings.into_iter();
            let found = found.map(|binding| Found { file: home, binding, context, receiver: Some(object) });
            match extension.bases.is_empty() {
                true => own.extend(found),
                false => by_base.extend(found),
            }
        }
        if own.is_empty() { by_base } else { own }
    }

    /// Bases that a class has by what is written beside it.
    pub(super) fn bases_beside(&mut self, class: ThingId) -> Vec<ThingId> {
        let mut all = Vec::new();
        for (home, extension) in self.extensions_of(class) {
            if extension.bases.is_empty() || !self.extends(home, extension, class) {
                continue;
            }
            let context = self.context_beside(home, extension, class);
            for base in &extension.bases {
                all.extend(self.things(context, home, *base));
            }
        }
        all
    }

    /// Members that each class has which fits the bounds of a type parameter.
    pub(super) fn in_blankets(
        &mut self,
        asking: usize,
        class: ThingId,
        object: ThingId,
        name: &str,
        space: NameSpace,
    ) -> Vec<Found> {
        let mut all = Vec::new();
        let is_rust = |file: usize| self.project.at(file).language == Language::Rust;
        if !self.value_of(class).is_some_and(|(file, ..)| is_rust(file)) {
            return all;
        }
        for (home, extension) in self.extensions_named("") {
            let own = self.named_beside(home, extension, name, space);
            let mut found = Vec::new();
            if own.is_empty() {
                for base in &extension.bases {
                    for base in self.things(0, home, *base) {
                        found.extend(self.in_class(asking, base, object, None, name, space));
                    }
                }
            } else {
                let context = match self.structure(home).scope(extension.scope).owner {
                    Some(owner) => self.push_applied((home, owner), 0, vec![Some(class)]),
                    None => 0,
                };
                let places = own.into_iter();
                found.extend(places.map(|binding| Found { file: home, binding, context, receiver: Some(object) }));
            }
            if !found.is_empty() && self.fits_bounds(home, extension, class) {
                all.extend(found);
            }
        }
        all
    }

    /// Extensions that are of a class by its name, with their files.
    fn extensions_of(&mut self, class: ThingId) -> Vec<(usize, &'p Extension)> {
        let Some((file, value, ..)) = self.value_of(class) else { return Vec::new() };
        if self.project.at(file).language != Language::Rust {
            return Vec::new();
        }
        match self.tables(file).classes.get(&value) {
            Some(name) => self.extensions_named(name),
            None => Vec::new(),
        }
    }

    fn extensions_named(&mut self, name: &str) -> Vec<(usize, &'p Extension)> {
        let mut all = Vec::new();
        for file in self.project.tables().extending(self.project, name).iter().copied() {
            let structure = self.structure(file);
            let places = self.tables(file).extensions.get(name).cloned().unwrap_or_default();
            all.extend(places.into_iter().filter_map(|at| Some((file, structure.extensions.get(at)?))));
        }
        all
    }

    /// True where a class has each of those bounds of a type parameter that are known.
    fn fits_bounds(&mut self, home: usize, extension: &Extension, class: ThingId) -> bool {
        let lineage = self.lineage(class);
        let mut bounds = Vec::new();
        for parameter in self.things(0, home, extension.of) {
            bounds.extend(self.lineage(parameter).into_iter().skip(1));
        }
        // Types that a language has built in are not declared with each of their bounds.
        let own = self.project.files().len();
        bounds.retain(|bound| self.value_of(*bound).is_some_and(|(file, ..)| file < own));
        bounds.into_iter().all(|bound| lineage.iter().any(|own| self.is_same(*own, bound)))
    }

    fn named_beside(&mut self, home: usize, extension: &Extension, name: &str, space: NameSpace) -> Vec<BindingId> {
        let mut named = self.named(home, extension.scope, name);
        named.retain(|binding| self.structure(home).binding(*binding).space.meets(space));
        named
    }

    /// True where an extension is one of a class, whatever that is applied to.
    fn extends(&mut self, home: usize, extension: &Extension, class: ThingId) -> bool {
        let types = self.things(0, home, extension.of);
        let instances: Vec<ThingId> = types.into_iter().flat_map(|one| self.instances(one)).collect();
        let own = self.thing(Thing::Instance { class, made: None });
        instances.into_iter().any(|one| self.is_same(one, own))
    }

    /// The context in which an extension's parameters are what a class is applied to.
    fn context_beside(&mut self, home: usize, extension: &Extension, class: ThingId) -> Context {
        let owner = self.structure(home).scope(extension.scope).owner;
        let Some((owner, (file, value, context, _))) = owner.zip(self.value_of(class)) else { return 0 };
        match self.frame_of(context, file, value, true) {
            Some(frame) if !frame.arguments.is_empty() => self.push_applied((home, owner), 0, frame.arguments),
            _ => 0,
        }
    }
}
