//! Results of calls, and the functions that they call.

use super::{Context, Question, Solver, Thing, ThingId};
use crate::{
    Language,
    structure::file::{NameSpace, Value, ValueId},
};

impl Solver<'_> {
    /// Results of a call of a thing.
    pub(super) fn result(&mut self, callee: ThingId, call: (usize, ValueId, Context), creates: bool) -> Vec<ThingId> {
        self.get(Question::Result(callee, call, creates))
    }

    pub(super) fn result_of_thing(
        &mut self,
        callee: ThingId,
        call: (usize, ValueId, Context),
        creates: bool,
    ) -> Vec<ThingId> {
        match self.thing_at(callee) {
            Thing::Bound { function, receiver } => match self.value_of(function) {
                Some((file, value, context, Value::Function(_))) => {
                    self.called((file, value), context, Some(call), Some(receiver))
                }
                _ => Vec::new(),
            },
            Thing::Site { file, value, context } => match self.structure(file).value(value) {
                Value::Function(_) if creates => {
                    let instance = self.thing(Thing::Instance { class: callee, made: Some(call) });
                    self.note((file, value), call, Some(instance));
                    vec![instance]
                }
                Value::Function(_) => self.called((file, value), context, Some(call), None),
                Value::Class(_) if self.project.at(file).language == Language::Rust => self.constructed(callee, call),
                Value::Class(_) => {
                    let instance = self.thing(Thing::Instance { class: callee, made: Some(call) });
                    if let Some((file, value, _)) = self.constructor(callee) {
                        self.note((file, value), call, Some(instance));
                    }
                    vec![instance]
                }
                Value::TypeAlias { of, .. } => {
                    let things = self.things(context, file, *of);
                    things.into_iter().flat_map(|inner| self.result(inner, call, creates)).collect()
                }
                Value::Record(_) => {
                    let name = if creates { "new()" } else { "()" };
                    self.result_of_member(callee, name, call)
                }
                _ => Vec::new(),
            },
            Thing::Instance { .. } => {
                let found = self.result_of_member(callee, "__call__", call);
                let found = if found.is_empty() { self.result_of_member(callee, "()", call) } else { found };
                if !found.is_empty() {
                    return found;
                }
                // Where a function itself is what the object is known by.
                let functions = self.functions_of(callee).into_iter().filter(|function| *function != callee);
                functions.flat_map(|function| self.result(function, call, false)).collect()
            }
            Thing::Outside { path, .. } => self.result_of_builtin(&path, call),
            _ => Vec::new(),
        }
    }

    /// Functions that a thing may be called as: itself, or those that its class is known by.
    fn functions_of(&mut self, thing: ThingId) -> Vec<ThingId> {
        let mut all = match self.thing_at(thing) {
            Thing::Instance { class, .. } => self.lineage(class),
            _ => vec![thing],
        };
        all.retain(|one| matches!(self.value_of(*one), Some((.., Value::Function(_)))));
        all
    }

    /// Things that a call hands to a parameter of a function that is one of its arguments, as its callee declares them.
    pub(super) fn declared_by_call(
        &mut self,
        call: (usize, ValueId, Context),
        argument: usize,
        parameter: usize,
    ) -> Vec<ThingId> {
        let (file, value, context) = call;
        let Value::Call { callee, .. } = self.structure(file).value(value) else { return Vec::new() };
        let mut all = Vec::new();
        for callee in self.things(context, file, *callee) {
            let (function, receiver) = match self.thing_at(callee) {
                Thing::Bound { function, receiver } => (function, Some(receiver)),
                _ => (callee, None),
            };
            let Some((home, own, outer, Value::Function(function))) = self.value_of(function) else { continue };
            let takes_receiver = function.receiver.is_some() && function.takes_receiver;
            let shift = usize::from(takes_receiver && receiver.is_none());
            let taken = argument.checked_sub(shift).and_then(|place| function.parameters.get(place));
            let Some(declared) = taken.and_then(|taken| self.structure(home).binding(taken.binding).declared) else {
                continue;
            };
            let inner = self.push((home, own), outer, Some(call), receiver);
            for one in self.things(inner, home, declared) {
                for callback in self.functions_of(one) {
                    if let Some((file, _, context, Value::Function(callback))) = self.value_of(callback)
                        && let Some(parameter) = callback.parameters.get(parameter)
                    {
                        all.extend(self.get(Question::Bound(context, file, parameter.binding)));
                    }
                }
            }
        }
        all
    }

    fn result_of_member(&mut self, object: ThingId, name: &str, call: (usize, ValueId, Context)) -> Vec<ThingId> {
        let found = self.members(call.0, object, name, NameSpace::ANY);
        let methods = self.of_places(found);
        methods.into_iter().flat_map(|method| self.result(method, call, false)).collect()
    }

    /// Results of a call without arguments, of which nothing else is known.
    pub(super) fn result_of(&mut self, callee: ThingId) -> Vec<ThingId> {
        let (function, receiver) = match self.thing_at(callee) {
            Thing::Bound { function, receiver } => (function, Some(receiver)),
            _ => (callee, None),
        };
        match self.value_of(function) {
            Some((file, value, context, Value::Function(_))) => self.called((file, value), context, None, receiver),
            _ => Vec::new(),
        }
    }

    fn called(
        &mut self,
        (file, value): (usize, ValueId),
        context: Context,
        call: Option<(usize, ValueId, Context)>,
        receiver: Option<ThingId>,
    ) -> Vec<ThingId> {
        if let Some(call) = call {
            self.note((file, value), call, receiver);
        }
        let context = self.push((file, value), context, call, receiver);
        self.returned(file, value, context)
    }

    /// Results of a function in a context with its frame.
    pub(super) fn returned(&mut self, file: usize, value: ValueId, context: Context) -> Vec<ThingId> {
        let Value::Function(function) = self.structure(file).value(value) else { return Vec::new() };
        let mut things = Vec::new();
        if let Some(declared) = function.declared {
            things = self.things(context, file, declared);
        }
        if !things.is_empty() {
            return things;
        }
        for value in &function.returns {
            things.extend(self.things(context, file, *value));
        }
        things.sort_unstable();
        things.dedup();
        match (function.is_generator, function.is_async) {
            (true, _) => things.into_iter().map(|thing| self.thing(Thing::Many(thing))).collect(),
            (false, true) => things.into_iter().map(|thing| self.thing(Thing::Later(thing))).collect(),
            (false, false) => things,
        }
    }

    /// Results of some functions of Python itself.
    fn result_of_builtin(&mut self, path: &str, (file, call, context): (usize, ValueId, Context)) -> Vec<ThingId> {
        let Value::Call { arguments, .. } = self.structure(file).value(call) else { return Vec::new() };
        let Some(first) = arguments.first() else { return Vec::new() };
        match path {
            "<builtin>.map" | "<builtin>.filter" => {
                let mut given = Vec::new();
                for argument in arguments {
                    for function in self.things(context, file, argument.value) {
                        given.extend(self.result_of(function));
                    }
                }
                given.into_iter().map(|thing| self.thing(Thing::Many(thing))).collect()
            }
            "<builtin>.iter" | "<builtin>.list" | "<builtin>.tuple" | "<builtin>.set" | "<builtin>.sorted"
            | "<builtin>.reversed" => {
                let objects = self.things(context, file, first.value);
                let elements: Vec<ThingId> = objects.into_iter().flat_map(|object| self.elements(object)).collect();
                elements.into_iter().map(|thing| self.thing(Thing::Many(thing))).collect()
            }
            "<builtin>.next" => {
                let objects = self.things(context, file, first.value);
                objects.into_iter().flat_map(|object| self.elements(object)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Keeps a call of a function for those who ask what its parameters are given.
    fn note(&mut self, (file, value): (usize, ValueId), call: (usize, ValueId, Context), receiver: Option<ThingId>) {
        if self.with_callers {
            let site = self.sites.insert_full((call.0, call.1, call.2, receiver)).0 as u32;
            self.add(Question::Callers(file, value), vec![site]);
        }
    }
}
