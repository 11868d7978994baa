//! Members of things: of instances by their classes, of records, of packages, and what is written into any of them.

use std::collections::VecDeque;

use super::{Context, Found, MOST, Question, Solver, Thing, ThingId, lookup::obscured, records::FieldAccess};
use crate::{
    Language,
    structure::file::{Extension, FieldKey, NameSpace, ScopeId, Value, ValueId},
};

impl Solver<'_> {
    /// Places of the member that a [`Value::Member`] or a [`Value::Item`] names, of one object.
    pub(super) fn member_of(&mut self, context: Context, file: usize, value: ValueId, object: ThingId) -> Vec<Found> {
        match self.structure(file).value(value) {
            Value::Member { name, space, .. } => self.members(file, object, name, *space),
            Value::Item { key, .. } => {
                let mut found = Vec::new();
                let keys = self.constants(context, file, *key);
                for key in &keys {
                    found.extend(self.items(file, object, Some(key)));
                }
                if keys.is_empty() {
                    found.extend(self.items(file, object, None));
                }
                found
            }
            _ => Vec::new(),
        }
    }

    /// A member that has no place: a module of a package, something that is not in the project.
    pub(super) fn member_without_place(
        &mut self,
        file: usize,
        value: ValueId,
        object: ThingId,
        is_nothing_else: bool,
    ) -> Option<ThingId> {
        let name = match (self.structure(file).value(value), self.thing_at(object)) {
            (Value::Member { name, .. }, _) => name,
            // Of some of a kind, each may be at a place.
            (Value::Item { .. }, Thing::Many(inner)) => return Some(inner),
            _ => return None,
        };
        match (self.thing_at(object), self.value_of(object)) {
            // A package may have imported its own module by its name.
            (Thing::Package(package), _) => {
                let inner = self.project.below(package, name)?;
                Some(self.thing(Thing::Package(inner)))
            }
            _ if !is_nothing_else => None,
            // Members of `F.prototype` are those of what `new F` makes.
            (_, Some((_, _, _, Value::Function(_) | Value::Class(_)))) if name == "prototype" => {
                Some(self.thing(Thing::Instance { class: object, made: None }))
            }
            (Thing::Outside { file, binding, path, depth }, _) => {
                let mut parts = path.split('.').skip(depth);
                let path = match parts.next() {
                    Some(part) if part == name => path,
                    Some(_) => return None,
                    None => format!("{path}.{name}"),
                };
                Some(self.thing(Thing::Outside { file, binding, path, depth: depth.saturating_add(1) }))
            }
            // A base that is not in the project may have it.
            (Thing::Instance { class, .. }, _) => {
                let bases = self.lineage(class);
                let outside = bases.into_iter().find_map(|base| match self.thing_at(base) {
                    Thing::Outside { path, .. } => Some(path),
                    _ => None,
                });
                let path = format!("{}.{name}", outside.filter(|_| !name.starts_with("__"))?);
                Some(self.thing(Thing::Outside { file, binding: None, path, depth: usize::MAX }))
            }
            (_, Some((_, _, _, own @ (Value::Constant { .. } | Value::Record(_))))) if !name.starts_with("__") => {
                let type_name = own.type_name().name()?;
                let path = format!("<**{type_name}**>.{name}");
                Some(self.thing(Thing::Outside { file, binding: None, path, depth: usize::MAX }))
            }
            _ => None,
        }
    }

    /// Places of a member by its name.
    pub(super) fn members(&mut self, asking: usize, object: ThingId, name: &str, space: NameSpace) -> Vec<Found> {
        let name = self.name(name);
        let places = self.get(Question::Members(asking, object, name, space));
        self.found(places)
    }

    pub(super) fn members_of(&mut self, asking: usize, object: ThingId, name: &str, space: NameSpace) -> Vec<Found> {
        if let Some(kinds) = obscured(self.project.at(asking).language, space) {
            let mut all = kinds.into_iter().map(|kind| self.members(asking, object, name, kind));
            return all.find(|found| !found.is_empty()).unwrap_or_default();
        }
        match self.thing_at(object) {
            Thing::Instance { class, made } => {
                let found = self.in_lineage(asking, (class, 0), (object, made), name, space);
                if found.is_empty() { self.in_blankets(asking, class, object, name, space) } else { found }
            }
            Thing::Super { class } => {
                let instance = self.thing(Thing::Instance { class, made: None });
                self.in_lineage(asking, (class, 1), (instance, None), name, space)
            }
            Thing::Package(package) => self.in_package(asking, package, object, name, space),
            Thing::Unknown { file, context, .. } => {
                self.written(asking, file, object, context, Some(name), FieldAccess::Member)
            }
            Thing::Site { file, value, context } => match self.structure(file).value(value) {
                Value::Class(_) => {
                    let found = self.in_lineage(asking, (object, 0), (object, None), name, space);
                    if found.is_empty() { self.in_blankets(asking, object, object, name, space) } else { found }
                }
                Value::Record(_) if self.project.at(file).language == Language::Python => {
                    self.written(asking, file, object, context, Some(name), FieldAccess::Member)
                }
                Value::Record(record) => {
                    let mut found = self.in_record(asking, (file, record, context), object, Some(name));
                    // Elements have no names.
                    found.retain(|it| !record.fields.contains(&(FieldKey::Any, it.binding)));
                    found
                }
                Value::Namespace(scope) => self.in_scope(context, file, *scope, name, space),
                Value::TypeAlias { of, .. } => {
                    let things = self.things(context, file, *of);
                    things.into_iter().flat_map(|inner| self.members(asking, inner, name, space)).collect()
                }
                _ => self.written(asking, file, object, context, Some(name), FieldAccess::Member),
            },
            Thing::Bound { .. } | Thing::Outside { .. } | Thing::Many(_) | Thing::Later(_) => Vec::new(),
        }
    }

    /// A class and its bases in the order in which members are looked for.
    pub(super) fn lineage(&mut self, class: ThingId) -> Vec<ThingId> {
        self.get(Question::Lineage(class))
    }

    pub(super) fn lineage_of(&mut self, class: ThingId) -> Vec<ThingId> {
        let home = self.value_of(class).map(|(file, ..)| self.project.at(file).language);
        if home == Some(Language::Go) {
            return self.nearest_first(class);
        }
        let (file, context, bases) = match self.value_of(class) {
            Some((file, _, context, Value::Class(own))) => (file, context, own.bases.as_slice()),
            Some((file, _, context, Value::TypeAlias { of, .. })) => (file, context, std::slice::from_ref(of)),
            _ => return vec![class],
        };
        let mut all = vec![class];
        for base in bases {
            for base in self.things(context, file, *base) {
                if base != class {
                    all.extend(self.lineage(base));
                }
            }
        }
        for base in self.bases_beside(class) {
            if !all.contains(&base) {
                all.extend(self.lineage(base));
            }
        }
        // A base of several counts where it comes last.
        let mut ordered: Vec<ThingId> = Vec::new();
        for one in all.into_iter().rev() {
            if !ordered.contains(&one) {
                ordered.push(one);
            }
        }
        ordered.reverse();
        ordered
    }

    /// A class and its bases, those first that fewer others lie between.
    fn nearest_first(&mut self, class: ThingId) -> Vec<ThingId> {
        let mut all: Vec<ThingId> = Vec::new();
        let mut open = VecDeque::from([class]);
        while let Some(one) = open.pop_front() {
            if all.contains(&one) || all.len() >= MOST {
                continue;
            }
            all.push(one);
            match self.value_of(one) {
                Some((file, _, context, Value::Class(own))) => {
                    for base in &own.bases {
                        open.extend(self.things(context, file, *base));
                    }
                }
                // Another name is no step further.
                Some((file, _, context, Value::TypeAlias { of, .. })) => {
                    for base in self.things(context, file, *of).into_iter().rev() {
                        open.push_front(base);
                    }
                }
                _ => {}
            }
        }
        all
    }

    /// Members of one class alone, and what its methods write into the object.
    pub(super) fn in_class(
        &mut self,
        asking: usize,
        class: ThingId,
        object: ThingId,
        made: Option<(usize, ValueId, Context)>,
        name: &str,
        space: NameSpace,
    ) -> Vec<Found> {
        let Some((file, value, context, what)) = self.value_of(class) else { return Vec::new() };
        let mut found = Vec::new();
        match what {
            Value::Class(own) => {
                if let Some(scope) = own.scope {
                    found = self.in_body(file, scope, context, object, name, space);
                }
                if found.is_empty() {
                    found = self.in_extensions(class, object, name, space);
                }
                // In Python, what is written into an object comes before what its class has.
                if found.is_empty() || self.project.at(file).language == Language::Python {
                    let instance = self.thing(Thing::Instance { class, made: None });
                    let inner = self.within_constructor(class, object, made).unwrap_or(context);
                    found.extend(self.written(asking, file, instance, inner, Some(name), FieldAccess::Member));
                    found.extend(self.written(asking, file, class, context, Some(name), FieldAccess::Member));
                }
            }
            Value::Record(record) => return self.in_record(asking, (file, record, context), object, Some(name)),
            // A function that `new` is called on.
            Value::Function(_) => {
                let instance = self.thing(Thing::Instance { class, made: None });
                let inner = self.push((file, value), context, made, Some(object));
                found.extend(self.written(asking, file, instance, inner, Some(name), FieldAccess::Member));
                found.iter_mut().for_each(|found| found.receiver = Some(object));
            }
            _ => {}
        }
        found
    }

    /// Members that are written in the body of a class, or of what extends one.
    fn in_body(
        &mut self,
        file: usize,
        scope: ScopeId,
        context: Context,
        object: ThingId,
        name: &str,
        space: NameSpace,
    ) -> Vec<Found> {
        let mut own = self.named(file, scope, name);
        own.retain(|binding| self.structure(file).binding(*binding).space.meets(space));
        own.into_iter().map(|binding| Found { file, binding, context, receiver: Some(object) }).collect()
    }

    /// Members that the package of a class gives it beside its body.
    fn in_extensions(&mut self, class: ThingId, object: ThingId, name: &str, space: NameSpace) -> Vec<Found> {
        let Some((home, _, context, _)) = self.value_of(class) else { return Vec::new() };
        if self.project.at(home).language == Language::Rust {
            return self.beside(class, object, name, space);
        }
        let package = self.project.own_package(home).unwrap_or(home as u32);
        let tables = self.package_tables(package);
        let mut found = Vec::new();
        for (file, at) in tables.extensions.get(name).into_iter().flatten().copied() {
            let Extension { of, scope, .. } = &self.structure(file).extensions[at];
            let types = self.things(0, file, *of);
            let instances: Vec<ThingId> = types.into_iter().flat_map(|one| self.instances(one)).collect();
            let own = self.thing(Thing::Instance { class, made: None });
            if instances.into_iter().any(|one| self.is_same(one, own)) {
                found.extend(self.in_body(file, *scope, context, object, name, space));
            }
        }
        found
    }

    /// The context within the constructor that made an object.
    fn within_constructor(
        &mut self,
        class: ThingId,
        object: ThingId,
        made: Option<(usize, ValueId, Context)>,
    ) -> Option<Context> {
        let made = made?;
        let (file, function, context) = self.constructor_of(class)?;
        Some(self.push((file, function), context, Some(made), Some(object)))
    }

    /// The constructor that a class itself has.
    fn constructor_of(&mut self, class: ThingId) -> Option<(usize, ValueId, Context)> {
        let (file, _, context, Value::Class(own)) = self.value_of(class)? else { return None };
        let structure = self.structure(file);
        let names = &structure.scope(own.scope?).names;
        let values = names.iter().filter_map(|(_, binding)| structure.binding(*binding).value);
        let mut constructors = values.filter(|value| match structure.value(*value) {
            Value::Function(function) => function.is_constructor,
            _ => false,
        });
        Some((file, constructors.next()?, context))
    }

    /// The constructor that a call of a class calls: its own, or the nearest of its bases.
    pub(super) fn constructor(&mut self, class: ThingId) -> Option<(usize, ValueId, Context)> {
        self.lineage(class).into_iter().find_map(|class| self.constructor_of(class))
    }

    fn in_package(&mut self, asking: usize, package: u32, object: ThingId, name: &str, space: NameSpace) -> Vec<Found> {
        let mut found = Vec::new();
        let mut files = self.project.package_at(package).files.clone();
        let is_go = |file: &usize| self.project.at(*file).language == Language::Go;
        if files.first().is_some_and(is_go) {
            // Others see names with capitals alone, and write none.
            let is_seen = name.starts_with(char::is_uppercase);
            files = if is_seen { self.files_with(package, name) } else { Vec::new() };
        }
        for file in files {
            let exported = self.structure(file).exported();
            found.extend(self.in_scope(0, file, exported, name, space));
            if found.is_empty() {
                found.extend(self.written(asking, file, object, 0, Some(name), FieldAccess::Member));
            }
            // Macros that a crate of Rust exports are members of its root.
            if found.is_empty() && self.project.own_package(file) == Some(package) {
                found.extend(self.macros(file, name, space));
            }
        }
        found
    }
}
