//! The calls of a whole project, as edges between functions by their names.

use std::collections::BTreeSet;

use super::{Question, Solver, Thing, ThingId};
use crate::structure::file::{BindingKind, Extension, NameSpace, ScopeId, ScopeKind, Value, ValueId};

/// Functions of Python that call those they are given.
const CALLERS: [&str; 3] = ["<builtin>.map", "<builtin>.filter", "<builtin>.sorted"];

impl Solver<'_> {
    /// Edges from the function that calls to that which is called, by their names with dots (`main.Class.method`), as
    /// PyCG writes them.
    pub fn call_edges(&mut self) -> BTreeSet<(String, String)> {
        let all: Vec<(usize, ValueId)> = (self.project.files().iter().enumerate())
            .flat_map(|(at, file)| file.structure.calls.iter().map(move |call| (at, call.value)))
            .collect();
        // What a call gives may tell another call what it calls.
        for (file, call) in &all {
            self.get(Question::Value(0, *file, *call));
        }
        self.settle();
        let mut edges = BTreeSet::new();
        for (file, at) in (self.project.files().iter().enumerate()).map(|(file, it)| (file, &it.structure)) {
            for call in &at.calls {
                let from = self.name_of_scope(file, call.scope);
                for to in self.callees(file, call.value) {
                    edges.insert((from.clone(), to));
                }
            }
        }
        edges
    }

    /// Names of what a call calls.
    fn callees(&mut self, file: usize, call: ValueId) -> Vec<String> {
        let Value::Call { callee, arguments, .. } = self.structure(file).value(call) else { return Vec::new() };
        let things = self.settled(Question::Value(0, file, *callee));
        let mut names: Vec<String> = things.iter().filter_map(|thing| self.name_of_callee(*thing)).collect();
        let is_caller = |thing: &ThingId| match &self.things[*thing as usize] {
            Thing::Outside { path, .. } => CALLERS.contains(&path.as_str()),
            _ => false,
        };
        if things.iter().any(is_caller) {
            for argument in arguments {
                let functions = self.settled(Question::Value(0, file, argument.value));
                names.extend(functions.into_iter().filter_map(|thing| self.name_of_callee(thing)));
            }
        }
        names
    }

    fn name_of_callee(&mut self, callee: ThingId) -> Option<String> {
        let function = match self.thing_at(callee) {
            Thing::Bound { function, .. } => function,
            Thing::Outside { path, .. } => return Some(path),
            Thing::Instance { .. } => {
                let found = self.members(0, callee, "__call__", NameSpace::ANY);
                let method = self.of_places(found).into_iter().next()?;
                return self.name_of_callee(method);
            }
            _ => callee,
        };
        match self.value_of(function)? {
            (file, _, _, Value::Function(own)) => own.scope.map(|scope| self.name_of_scope(file, scope)),
            (.., Value::Class(_)) => {
                let (file, value, _) = self.constructor(function)?;
                match self.structure(file).value(value) {
                    Value::Function(own) => own.scope.map(|scope| self.name_of_scope(file, scope)),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// The name of the function or the class of a scope, from its file on.
    fn name_of_scope(&self, file: usize, scope: ScopeId) -> String {
        let structure = self.structure(file);
        let mut parts = Vec::new();
        let mut next = Some(scope);
        while let Some(at) = next {
            let scope = structure.scope(at);
            if let (ScopeKind::Function | ScopeKind::Class, Some(owner)) = (scope.kind, scope.owner) {
                parts.push(self.name_of_owner(file, owner));
            }
            next = scope.parent;
        }
        let path = &self.project.at(file).path;
        let module = path.rsplit_once('.').map_or(path.as_str(), |(stem, _)| stem).trim_end_matches("/__init__");
        parts.push(module.replace('/', "."));
        parts.reverse();
        parts.join(".")
    }

    fn name_of_owner(&self, file: usize, owner: ValueId) -> String {
        let structure = self.structure(file);
        let is_extension = |it: &&Extension| structure.scope(it.scope).owner == Some(owner);
        if let Some(extension) = structure.extensions.iter().find(is_extension) {
            return structure.last_name(extension.of).unwrap_or_default().to_owned();
        }
        let is_owner = |value: Option<ValueId>| value.is_some_and(|value| structure.undecorated(value) == owner);
        let defines = |kind| matches!(kind, BindingKind::Function | BindingKind::Class);
        let named = structure.bindings.iter().find(|binding| defines(binding.kind) && is_owner(binding.value));
        if let Some(binding) = named {
            return binding.name.to_string();
        }
        // Functions without a name are numbered within the scope around them.
        let scope_of = |value: ValueId| match structure.value(value) {
            Value::Function(function) => function.scope.and_then(|scope| structure.scope(scope).parent),
            _ => None,
        };
        let around = scope_of(owner);
        let before = (0..=owner.0).map(ValueId).filter(|value| {
            let is_named = structure.bindings.iter().any(|it| defines(it.kind) && it.value == Some(*value));
            !is_named && scope_of(*value).is_some() && scope_of(*value) == around
        });
        format!("<lambda{}>", before.count())
    }
}
