//! Types with arguments: what they are applied to, by what is written, or by what a value is made of.

use super::{Context, Solver, Thing, ThingId, frames::Frame};
use crate::{
    Language,
    structure::file::{BindingKind, NameSpace, ScopeId, Value, ValueId},
};

/// Lists of arguments that a type is applied to at most.
const COMBINATIONS: usize = 8;
/// Types within each other that are compared.
const NESTED: usize = 4;

impl Solver<'_> {
    /// A type with arguments: its parameters are those.
    pub(super) fn applied(&mut self, one: ThingId, at: (usize, ValueId, Context)) -> ThingId {
        let Some((file, value, context, what)) = self.value_of(one) else { return one };
        let parameters = match what {
            Value::Class(class) => &class.parameters,
            Value::TypeAlias { parameters, .. } => parameters,
            Value::Function(function) => &function.type_parameters,
            _ => return one,
        };
        // Within itself a type may be given what it has been given.
        if let Some(known) = self.context_of(at.2, file, value, true)
            && let Some(Frame { call: Some(given), .. }) = self.frame(known).cloned()
        {
            let mut is_same = true;
            for place in 0..parameters.len() {
                is_same &=
                    self.argument(file, at, parameters, place, 0) == self.argument(file, given, parameters, place, 0);
            }
            if is_same {
                return self.site(file, value, known);
            }
        }
        let context = self.push((file, value), context, Some(at), None);
        self.site(file, value, context)
    }

    /// A type, or a function, with each of these lists of arguments: its parameters are those.
    pub(super) fn applied_to(&mut self, one: ThingId, arguments: &[Vec<Option<ThingId>>]) -> Vec<ThingId> {
        match self.value_of(one) {
            Some((file, value, outer, Value::Class(_) | Value::TypeAlias { .. } | Value::Function(_))) => {
                let mut all = Vec::new();
                for list in arguments {
                    let context = self.push_applied((file, value), outer, list.clone());
                    all.push(self.site(file, value, context));
                }
                all
            }
            _ => match self.thing_at(one) {
                Thing::Bound { function, receiver } => {
                    let functions = self.applied_to(function, arguments);
                    functions.into_iter().map(|function| self.thing(Thing::Bound { function, receiver })).collect()
                }
                _ => vec![one],
            },
        }
    }

    /// The type of the standard library that a type from outside is another name of: most crates that have a `Result` of
    /// their own make it of that one.
    pub(super) fn named_as_standard(&mut self, file: usize, of: ValueId) -> Vec<ThingId> {
        let name = match self.structure(file).value(of) {
            Value::Name { name, .. } | Value::Member { name, .. } if name == "Result" => name,
            _ => return Vec::new(),
        };
        match self.project.standard(Language::Rust).filter(|_| self.project.at(file).language == Language::Rust) {
            Some(standard) => {
                let found = self.in_scope(0, standard, ScopeId(0), name, NameSpace::TYPE);
                self.of_places(found)
            }
            None => Vec::new(),
        }
    }

    /// Lists of one thing for each of some values, a few of them where values may be several things.
    pub(super) fn combinations(
        &mut self,
        context: Context,
        file: usize,
        values: &[ValueId],
    ) -> Vec<Vec<Option<ThingId>>> {
        let mut lists: Vec<Vec<Option<ThingId>>> = vec![Vec::new()];
        for value in values {
            let mut things: Vec<Option<ThingId>> = self.things(context, file, *value).into_iter().map(Some).collect();
            things.truncate((COMBINATIONS / lists.len()).max(1));
            if things.is_empty() {
                things.push(None);
            }
            let with = |list: &Vec<Option<ThingId>>, thing| list.iter().copied().chain([thing]).collect();
            lists = lists.iter().flat_map(|list| things.iter().map(move |thing| with(list, *thing))).collect();
        }
        lists
    }

    /// The class of an object; itself where it has none.
    pub(super) fn class_of(&self, object: ThingId) -> Option<ThingId> {
        match self.things[object as usize] {
            Thing::Instance { class, .. } => Some(class),
            Thing::Unknown { .. } => None,
            _ => Some(object),
        }
    }

    /// An instance that is written with its fields, `Pair(one, two)`: its type is applied to what they are.
    pub(super) fn constructed(&mut self, class: ThingId, call: (usize, ValueId, Context)) -> Vec<ThingId> {
        let made = self.applied_by(class, call).unwrap_or(class);
        vec![self.thing(Thing::Instance { class: made, made: None })]
    }

    fn applied_by(&mut self, class: ThingId, (from, call, within): (usize, ValueId, Context)) -> Option<ThingId> {
        let (file, value, context, Value::Class(own)) = self.value_of(class)? else { return None };
        let structure = self.structure(file);
        // Parameters of a variant are those of its enum.
        let around = own.bases.first().map(|base| (*base, structure.value(*base)));
        let (owner, parameters) = match around {
            _ if !own.parameters.is_empty() => (value, &own.parameters),
            Some((base, Value::Class(around))) => (base, &around.parameters),
            _ => return None,
        };
        let is_applied = self.frame_of(context, file, owner, true).is_some_and(|frame| !frame.arguments.is_empty());
        let Value::Call { arguments, named, .. } = self.structure(from).value(call) else { return None };
        if parameters.is_empty() || is_applied {
            return None;
        }
        let mut applied: Vec<Option<ThingId>> = vec![None; parameters.len()];
        for (name, binding) in &structure.scope(own.scope?).names {
            let field = structure.binding(*binding);
            let Some(Value::Instance(ty)) = field.declared.map(|declared| structure.value(declared)) else { continue };
            let by_name = named.iter().find(|(own, _)| own == name).map(|(_, value)| *value);
            let by_place = name.parse().ok().and_then(|place: usize| arguments.get(place)).map(|it| it.value);
            let Some(given) = by_name.or(by_place).filter(|_| field.kind == BindingKind::Field) else { continue };
            for (place, parameter) in parameters.iter().enumerate() {
                let name = &structure.binding(parameter.binding).name;
                if applied[place].is_none() {
                    let things = self.things(within, from, given);
                    let classes: Vec<ThingId> = things.into_iter().filter_map(|thing| self.class_of(thing)).collect();
                    applied[place] =
                        classes.into_iter().find_map(|class| self.part_named(file, *ty, name, class, NESTED));
                }
            }
        }
        let context =
            applied.iter().any(Option::is_some).then(|| self.push_applied((file, owner), context, applied))?;
        Some(self.site(file, value, context))
    }

    /// The part of a class that stands where a type, as it is written, has a name.
    fn part_named(&self, file: usize, ty: ValueId, name: &str, class: ThingId, deep: usize) -> Option<ThingId> {
        match self.structure(file).value(ty) {
            Value::Name { name: own, .. } => (own == name).then_some(class),
            Value::Applied { arguments, .. } if deep > 0 => {
                let (home, value, context, _) = self.value_of(class)?;
                let frame = self.frame_of(context, home, value, true)?;
                let parts = arguments.iter().zip(frame.arguments);
                parts.filter_map(|(ty, part)| self.part_named(file, *ty, name, part?, deep - 1)).next()
            }
            _ => None,
        }
    }
}
