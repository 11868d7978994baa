//! The places that a name stands for, first its own, then those of the names that it stands for itself.

use serde::Serialize;

use super::{Context, Found, Owned, Question, Reach, Solver, Thing};
use crate::{
    Language,
    structure::file::{BindingId, BindingKind, Value, ValueId},
};

/// A place where a name is defined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    /// Position of the file in its project.
    pub file: usize,
    /// The place.
    pub binding: BindingId,
    /// The reason to believe it.
    pub edge: EdgeClass,
    /// The step that it is from the name.
    pub step: DefinitionStep,
}

/// Steps from a name to a place that it stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DefinitionStep {
    /// The name itself is defined there.
    Own,
    /// An import brings the name in there, from elsewhere.
    Import,
    /// Another name of what the name stands for is defined there: `b` of `a = b`.
    Further,
}

/// Reason to believe that a name stands for a place, surest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EdgeClass {
    /// The rules of the language leave nothing else.
    Exact,
    /// Found by way of imports.
    ImportResolved,
    /// Found by following values in the same file.
    SameFile,
    /// An equal name, and nothing else is known.
    NameOnly,
}

impl Solver<'_> {
    /// The places that a value of a file stands for, nearest first.
    pub fn definitions(&mut self, file: usize, value: ValueId) -> Vec<Definition> {
        self.settled(Question::Value(0, file, value));
        let places = self.settled(Question::Places(0, file, value));
        let own = self.settled(Question::Own(0, file, value));
        let is_import = |solver: &Self, place: u32| solver.is_import(&solver.places[place as usize]);
        let leads = own.iter().any(|place| !is_import(self, *place));
        let is_name = matches!(self.structure(file).value(value), Value::Name { .. });
        let mut all: Vec<Definition> = Vec::new();
        for place in self.meant(file, value, places) {
            let Found { file: home, binding, .. } = self.places[place as usize];
            let edge = match (home == file, is_name && all.is_empty()) {
                _ if self.structure(file).is_by_name => EdgeClass::NameOnly,
                (false, _) => EdgeClass::ImportResolved,
                (true, true) => EdgeClass::Exact,
                (true, false) => EdgeClass::SameFile,
            };
            let step = match own.contains(&place) {
                true if self.structure(home).binding(binding).kind == BindingKind::Import => DefinitionStep::Import,
                true if leads && is_import(self, place) => DefinitionStep::Import,
                true => DefinitionStep::Own,
                false => DefinitionStep::Further,
            };
            if !all.iter().any(|known| (known.file, known.binding) == (home, binding)) {
                all.push(Definition { file: home, binding, edge, step });
            }
        }
        all
    }

    /// Leaves places that somebody may look at, and that are of the kind of name which is asked for.
    fn meant(&self, file: usize, value: ValueId, mut places: Vec<u32>) -> Vec<u32> {
        // What a language has built in is no place of the project.
        let own = self.project.files().len();
        places.retain(|place| self.places[*place as usize].file < own);
        let (Value::Name { space, .. } | Value::Member { space, .. }) = self.structure(file).value(value) else {
            return places;
        };
        if self.project.at(file).language != Language::Rust {
            return places;
        }
        let binding = |place: &u32| {
            let Found { file, binding, .. } = self.places[*place as usize];
            self.structure(file).binding(binding)
        };
        // Parts of a tuple have no name.
        places.retain(|place| !binding(place).name.is_empty() || binding(place).kind != BindingKind::Field);
        // An import brings in a module with a function of its name.
        let is_import = |place: &u32| binding(place).kind == BindingKind::Import;
        let fits = |place: &u32| binding(place).space.meets(*space);
        if places.iter().any(|place| !is_import(place) && fits(place)) {
            places.retain(|place| is_import(place) || fits(place));
        }
        places
    }

    /// Numbers of the places that a value stands for.
    pub(super) fn places_of(&mut self, context: Context, file: usize, value: ValueId, reach: Reach) -> Vec<u32> {
        match self.structure(file).value(value) {
            Value::Name { name, scope, space, at } => {
                let found = self.lookup(context, file, *scope, name, *space, Some(*at));
                if found.is_empty() {
                    let outside = self.builtin(file, name, *space);
                    return outside.and_then(|outside| self.place_outside(outside)).into_iter().collect();
                }
                self.followed(found, reach)
            }
            Value::Member { of, .. } | Value::Item { of, .. } => {
                let mut all = Vec::new();
                for object in self.things(context, file, *of) {
                    let found = self.member_of(context, file, value, object);
                    if found.is_empty()
                        && let Some(outside) = self.member_without_place(file, value, object, true)
                    {
                        all.extend(self.place_outside(outside));
                    }
                    all.extend(self.followed(found, reach));
                }
                all
            }
            Value::Call { callee, .. } => {
                let mut all = Vec::new();
                for callee in self.things(context, file, *callee) {
                    let (function, receiver) = match self.thing_at(callee) {
                        Thing::Bound { function, receiver } => (function, Some(receiver)),
                        _ => (callee, None),
                    };
                    if let Some((home, own, outer, Value::Function(function))) = self.value_of(function) {
                        let inner = self.push((home, own), outer, Some((file, value, context)), receiver);
                        for value in &function.returns {
                            all.extend(self.get(reach.places(inner, home, *value)));
                        }
                    }
                }
                all
            }
            Value::AnyOf(values) => values.iter().flat_map(|one| self.get(reach.places(context, file, *one))).collect(),
            Value::FirstOf(values) => {
                for one in values {
                    let places = self.get(reach.places(context, file, *one));
                    let things = self.things(context, file, *one);
                    if !places.is_empty() || self.is_any_known(&things) {
                        return places;
                    }
                }
                Vec::new()
            }
            // A package of Go or Java is no file.
            Value::Import(_) if self.imports_files(file) => {
                let things = self.things(context, file, value);
                things.into_iter().filter_map(|thing| self.place_outside(thing)).collect()
            }
            Value::Awaited(of) => self.get(reach.places(context, file, *of)),
            _ => Vec::new(),
        }
    }

    /// The place whose import a path goes through; of a module, its file.
    fn place_outside(&mut self, outside: u32) -> Option<u32> {
        match self.thing_at(outside) {
            Thing::Package(package) => {
                let file = *self.project.package_at(package).files.first()?;
                let binding = self.structure(file).module?;
                Some(self.number(Found { file, binding, context: 0, receiver: None }))
            }
            Thing::Outside { file, binding: Some(binding), path, depth } if depth <= path.split('.').count() => {
                // Names behind those that were imported have no place here.
                let is_imported = self.is_imported(file, binding, depth);
                is_imported.then(|| self.number(Found { file, binding, context: 0, receiver: None }))
            }
            _ => None,
        }
    }

    fn is_imported(&self, file: usize, binding: BindingId, depth: usize) -> bool {
        let value = self.structure(file).binding(binding).value;
        match value.map(|value| self.structure(file).value(value)) {
            Some(Value::Import(import)) => depth <= import.path.split('.').count(),
            _ => false,
        }
    }

    fn imports_files(&self, file: usize) -> bool {
        matches!(self.project.at(file).language, Language::JavaScript | Language::Python | Language::TypeScript)
    }

    /// True for a place that brings in a name from elsewhere: an import, a variable of what `require` gives, an export of
    /// a name.
    fn is_import(&self, place: &Found) -> bool {
        let structure = self.structure(place.file);
        let binding = structure.binding(place.binding);
        let is_export = matches!(binding.name.as_str(), "default" | "module.exports");
        let of_import = || binding.value.is_some_and(|value| self.is_of_import(place.file, value));
        binding.kind == BindingKind::Import || binding.is_alias && (is_export || of_import())
    }

    fn is_of_import(&self, file: usize, value: ValueId) -> bool {
        match self.structure(file).value(value) {
            Value::Import(_) => true,
            Value::Member { of, .. } => *of < value && self.is_of_import(file, *of),
            Value::AnyOf(values) => values.iter().any(|one| *one < value && self.is_of_import(file, *one)),
            _ => false,
        }
    }

    /// Numbers of places, each with those that it is another name of.
    fn followed(&mut self, found: Vec<Found>, reach: Reach) -> Vec<u32> {
        let mut all: Vec<u32> = Vec::new();
        let has_name = |place: &&Found| self.structure(place.file).binding(place.binding).kind != BindingKind::Element;
        for place in found.iter().filter(has_name).cloned().collect::<Vec<_>>() {
            all.push(self.number(place));
        }
        for place in found {
            let leads = reach == Reach::All || self.is_import(&place);
            let Found { file, binding: id, context, .. } = place;
            let binding = self.structure(file).binding(id);
            if !leads && binding.kind != BindingKind::Element {
                continue;
            }
            if let Some((owner, Owned::Parameter(place))) = self.owner_of(file, id) {
                all.extend(self.given_places(context, file, owner, place));
            } else if let (true, Some(value)) =
                (binding.is_alias || binding.kind == BindingKind::Element, binding.value)
            {
                all.extend(self.get(reach.places(context, file, value)));
            }
        }
        all
    }

    /// The places that a call at hand, or the default, gives a parameter.
    fn given_places(&mut self, context: Context, file: usize, owner: ValueId, place: usize) -> Vec<u32> {
        let Value::Function(function) = self.structure(file).value(owner) else { return Vec::new() };
        let parameter = function.parameters[place];
        let mut all = Vec::new();
        if let Some(frame) = self.frame_of(context, file, owner, false)
            && let Some((from, call, outer)) = frame.call
            && let Value::Call { arguments, named, .. } = self.structure(from).value(call)
        {
            let name = &self.structure(file).binding(parameter.binding).name;
            let takes_receiver = function.receiver.is_some() && function.takes_receiver;
            let shift = usize::from(takes_receiver && frame.receiver.is_none());
            let by_name = named.iter().find(|(given, _)| given == name).map(|(_, value)| *value);
            let by_place = arguments.get(place + shift).filter(|argument| !argument.is_spread);
            if let Some(value) = by_name.or_else(|| by_place.map(|argument| argument.value)) {
                all.extend(self.get(Question::Places(outer, from, value)));
            }
        }
        if all.is_empty()
            && let Some(value) = parameter.default
        {
            all.extend(self.get(Question::Places(context, file, value)));
        }
        all
    }
}
