//! The things that values and bindings may be.

use compact_str::CompactString;

use super::{Context, Found, Owned, Question, Solver, Thing, ThingId};
use crate::{
    Language,
    structure::file::{Argument, BindingId, FunctionParameter, ImportValue, NameSpace, ParameterKind, Value, ValueId},
};

/// Methods of JavaScript's collections that hand each element to a function.
const GOES_THROUGH: [&str; 9] = ["forEach", "map", "filter", "find", "findIndex", "some", "every", "flatMap", "sort"];

impl Solver<'_> {
    /// The things that a value may be.
    pub(super) fn things_of(&mut self, context: Context, file: usize, value: ValueId) -> Vec<ThingId> {
        match self.structure(file).value(value) {
            Value::Name { name, scope, space, at } => {
                let found = self.lookup(context, file, *scope, name, *space, Some(*at));
                let is_unknown = found.is_empty();
                let mut things = self.of_places(found);
                // `use name::name` imports from the crate of that name.
                let is_rust = self.project.at(file).language == Language::Rust;
                if is_unknown || is_rust && things.is_empty() {
                    things.extend(self.builtin(file, name, *space));
                }
                things
            }
            Value::Member { of, .. } | Value::Item { of, .. } => {
                let mut things = Vec::new();
                for object in self.things(context, file, *of) {
                    let found = self.member_of(context, file, value, object);
                    things.extend(self.member_without_place(file, value, object, found.is_empty()));
                    things.extend(self.item_without_place(context, file, value, object));
                    things.extend(self.of_places(found));
                }
                things
            }
            Value::Element(of) => {
                let objects = self.things(context, file, *of);
                objects.into_iter().flat_map(|object| self.elements(object)).collect()
            }
            Value::Constant { .. }
            | Value::Function(_)
            | Value::Class(_)
            | Value::Record(_)
            | Value::TypeAlias { .. }
            | Value::Namespace(_)
            | Value::Opaque => vec![self.site(file, value, context)],
            Value::Call { callee, creates, .. } => {
                let callees = self.things(context, file, *callee);
                callees.into_iter().flat_map(|callee| self.result(callee, (file, value, context), *creates)).collect()
            }
            Value::Instance(of) => {
                let types = self.things(context, file, *of);
                types.into_iter().flat_map(|one| self.instances(one)).collect()
            }
            Value::Applied { of, arguments } if self.project.at(file).language == Language::Rust => {
                let mut types = self.things(context, file, *of);
                if types.is_empty() {
                    types.extend(self.named_as_standard(file, *of));
                }
                let arguments = self.combinations(context, file, arguments);
                types.into_iter().flat_map(|one| self.applied_to(one, &arguments)).collect()
            }
            Value::ClassOf(of) => {
                let objects = self.things(context, file, *of);
                objects.into_iter().filter_map(|object| self.class_of(object)).collect()
            }
            Value::Handed { call, argument, parameter } => {
                self.declared_by_call((file, *call, context), *argument, *parameter)
            }
            Value::Applied { of, .. } => {
                let types = self.things(context, file, *of);
                types.into_iter().map(|one| self.applied(one, (file, value, context))).collect()
            }
            Value::Decorated { call, function } => {
                let things = self.things(context, file, *call);
                let is_known =
                    |thing: &ThingId| !matches!(self.thing_at(*thing), Thing::Outside { .. } | Thing::Unknown { .. });
                match things.iter().any(is_known) {
                    true => things,
                    false => self.things(context, file, *function),
                }
            }
            Value::Import(import) => {
                let ImportValue { module, path, binding } = import.as_ref();
                match self.project.package(file, module) {
                    Some(package) => vec![self.thing(Thing::Package(package))],
                    None if self.project.globals(file, module).next().is_some() => {
                        let known = self.project.globals(file, module);
                        let found =
                            known.map(|(file, binding)| Found { file, binding, context: 0, receiver: None }).collect();
                        self.of_places(found)
                    }
                    None => {
                        let depth = module.split('.').count();
                        let path = path.to_string();
                        vec![self.thing(Thing::Outside { file, binding: *binding, path, depth })]
                    }
                }
            }
            Value::Super { class } => {
                let classes = self.things(context, file, *class);
                classes.into_iter().map(|class| self.thing(Thing::Super { class })).collect()
            }
            Value::Later(of) => {
                let things = self.things(context, file, *of);
                things.into_iter().map(|thing| self.thing(Thing::Later(thing))).collect()
            }
            Value::Awaited(of) => {
                let things = self.things(context, file, *of);
                let unwrapped = |thing| match self.thing_at(thing) {
                    Thing::Later(inner) => inner,
                    _ => thing,
                };
                things.into_iter().map(unwrapped).collect()
            }
            Value::AnyOf(values) => values.iter().flat_map(|one| self.things(context, file, *one)).collect(),
            Value::FirstOf(values) => {
                for one in values {
                    let things = self.things(context, file, *one);
                    if self.is_any_known(&things) {
                        return things;
                    }
                }
                Vec::new()
            }
        }
    }

    /// Instances of what is a type.
    pub(super) fn instances(&mut self, one: ThingId) -> Vec<ThingId> {
        self.get(Question::Instances(one))
    }

    pub(super) fn instances_of(&mut self, one: ThingId) -> Vec<ThingId> {
        match (self.thing_at(one), self.value_of(one)) {
            (Thing::Site { .. }, Some((_, _, _, Value::Class(_)))) => {
                vec![self.thing(Thing::Instance { class: one, made: None })]
            }
            (Thing::Site { .. }, Some((file, _, context, Value::TypeAlias { of, .. }))) => {
                let things = self.things(context, file, *of);
                let is_other = |inner: &ThingId| *inner != one;
                things.into_iter().filter(is_other).flat_map(|inner| self.instances(inner)).collect()
            }
            (Thing::Unknown { .. }, _) => Vec::new(),
            _ => vec![one],
        }
    }

    /// True where one of several things is more than something that is given.
    pub(super) fn is_any_known(&self, things: &[ThingId]) -> bool {
        things.iter().any(|thing| !matches!(self.things[*thing as usize], Thing::Unknown { .. }))
    }

    /// Something that only looks like an element: a type or a function with a type argument.
    fn item_without_place(
        &mut self,
        context: Context,
        file: usize,
        value: ValueId,
        object: ThingId,
    ) -> Option<ThingId> {
        let Value::Item { .. } = self.structure(file).value(value) else { return None };
        match self.value_of(object)? {
            (.., Value::Class(_) | Value::TypeAlias { .. } | Value::Function(_)) => {
                Some(self.applied(object, (file, value, context)))
            }
            _ => None,
        }
    }

    /// The things of places together, methods with their objects.
    pub(super) fn of_places(&mut self, found: Vec<Found>) -> Vec<ThingId> {
        let mut all = Vec::new();
        for place in found {
            let things = self.get(Question::Bound(place.context, place.file, place.binding));
            for thing in things {
                all.extend(self.as_member(thing, place.receiver));
            }
        }
        all
    }

    /// A thing as it is read from an object: a method has it as its receiver, a property is called.
    fn as_member(&mut self, thing: ThingId, receiver: Option<ThingId>) -> Vec<ThingId> {
        let Some(receiver) = receiver else { return vec![thing] };
        match self.value_of(thing) {
            Some((file, value, context, Value::Function(function))) if function.receiver.is_some() => {
                let of_class = matches!(self.value_of(receiver), Some((.., Value::Class(_))));
                if function.is_property && !of_class {
                    let context = self.push((file, value), context, None, Some(receiver));
                    return self.returned(file, value, context);
                }
                match of_class && function.class.is_some() && !function.is_of_class {
                    true => vec![thing],
                    false => vec![self.thing(Thing::Bound { function: thing, receiver })],
                }
            }
            _ => vec![thing],
        }
    }

    /// The things that a binding may have.
    pub(super) fn things_bound(&mut self, context: Context, file: usize, id: BindingId) -> Vec<ThingId> {
        let binding = self.structure(file).binding(id);
        let mut things = Vec::new();
        if let Some((owner, place)) = self.owner_of(file, id) {
            things = match place {
                Owned::Receiver => self.received(context, file, owner),
                Owned::Parameter(place) => self.given(context, file, owner, place, false),
                Owned::Type(place) => self.given(context, file, owner, place, true),
            };
        }
        // A type says more than an argument of which nothing is known.
        if let Some(declared) = binding.declared.filter(|_| things.iter().all(|thing| self.is_vague(*thing))) {
            let typed = self.things(context, file, declared);
            things = if typed.is_empty() { things } else { typed };
        }
        if let (true, Some(value)) = (things.is_empty(), binding.value) {
            things = self.things(context, file, value);
        }
        if things.is_empty() && binding.value.is_none() {
            things.push(self.thing(Thing::Unknown { file, binding: id, context }));
        }
        things
    }

    /// True for a thing that has no members here.
    fn is_vague(&self, thing: ThingId) -> bool {
        match &self.things[thing as usize] {
            Thing::Unknown { .. } | Thing::Outside { .. } => true,
            Thing::Site { file, value, .. } => {
                matches!(self.structure(*file).value(*value), Value::Opaque | Value::Constant { .. })
            }
            _ => false,
        }
    }

    /// The object that a method is called on.
    fn received(&mut self, context: Context, file: usize, owner: ValueId) -> Vec<ThingId> {
        let frame = self.frame_of(context, file, owner, false);
        if let Some(receiver) = frame.as_ref().and_then(|frame| frame.receiver) {
            return vec![receiver];
        }
        let Value::Function(function) = self.structure(file).value(owner) else { return Vec::new() };
        let outer = frame.map_or(context, |frame| frame.outer);
        let mut things = Vec::new();
        match function.class {
            Some(class) => {
                for class in self.things(outer, file, class) {
                    let is_object = matches!(self.thing_at(class), Thing::Instance { .. })
                        || matches!(self.value_of(class), Some((.., Value::Function(_))));
                    things.push(match function.is_of_class || is_object {
                        true => class,
                        false => self.thing(Thing::Instance { class, made: None }),
                    });
                }
            }
            None => {
                let class = self.site(file, owner, outer);
                things.push(self.thing(Thing::Instance { class, made: None }));
            }
        }
        if self.with_callers {
            for call in self.get(Question::Callers(file, owner)) {
                things.extend(self.sites[call as usize].3);
            }
        }
        things
    }

    /// Arguments that calls give a parameter.
    fn given(&mut self, context: Context, file: usize, owner: ValueId, place: usize, of_type: bool) -> Vec<ThingId> {
        let (takes_receiver, parameters) = match self.structure(file).value(owner) {
            Value::Function(function) if of_type => (false, function.type_parameters.as_slice()),
            Value::Function(it) => (it.receiver.is_some() && it.takes_receiver, it.parameters.as_slice()),
            Value::Class(class) => (false, class.parameters.as_slice()),
            Value::TypeAlias { parameters, .. } => (false, parameters.as_slice()),
            _ => return Vec::new(),
        };
        let of_type = of_type || !matches!(self.structure(file).value(owner), Value::Function(_));
        let parameter = parameters[place];
        if let Some(frame) = self.frame_of(context, file, owner, of_type) {
            // A method that is called by its class gets its object as the first argument.
            let shift = usize::from(takes_receiver && frame.receiver.is_none());
            let mut things: Vec<ThingId> = frame.arguments.get(place).copied().flatten().into_iter().collect();
            if let Some(call) = frame.call {
                things = self.argument(file, call, parameters, place, shift).unwrap_or_default();
            }
            if things.is_empty()
                && let Some(value) = parameter.default
            {
                things = self.things(frame.outer, file, value);
            }
            return things;
        }
        let mut things = if of_type { Vec::new() } else { self.handed(context, file, owner, place) };
        things.extend(parameter.default.into_iter().flat_map(|value| self.things(context, file, value)));
        if self.with_callers && !of_type {
            for call in self.get(Question::Callers(file, owner)) {
                let (from, value, context, received) = self.sites[call as usize];
                let shift = usize::from(takes_receiver && received.is_none());
                let given = self.argument(file, (from, value, context), parameters, place, shift);
                things.extend(given.unwrap_or_default());
            }
        }
        things
    }

    /// Types that a function which this one is handed to declares of its parameters.
    fn handed(&mut self, context: Context, file: usize, owner: ValueId, place: usize) -> Vec<ThingId> {
        let Value::Function(function) = self.structure(file).value(owner) else { return Vec::new() };
        let Some((callee, at)) = function.given_to else { return Vec::new() };
        let mut things = Vec::new();
        if let (Value::Member { of, name, .. }, true) = (self.structure(file).value(callee), at == 0)
            && GOES_THROUGH.contains(&name.as_str())
        {
            for object in self.things(context, file, *of) {
                if self.members(file, object, name, NameSpace::VALUE).is_empty() {
                    things.extend(self.elements(object));
                }
            }
        }
        for callee in self.things(context, file, callee) {
            let taker = match self.thing_at(callee) {
                Thing::Bound { function, .. } => function,
                _ => callee,
            };
            let Some((home, _, outer, Value::Function(taker))) = self.value_of(taker) else { continue };
            let Some(parameter) = taker.parameters.get(at) else { continue };
            let Some(declared) = self.structure(home).binding(parameter.binding).declared else { continue };
            for wanted in self.things(outer, home, declared) {
                if let Some((home, _, outer, Value::Function(wanted))) = self.value_of(wanted)
                    && let Some(parameter) = wanted.parameters.get(place)
                {
                    things.extend(self.get(Question::Bound(outer, home, parameter.binding)));
                }
            }
        }
        things
    }

    /// The argument of a call for a parameter of a function in the file `of`; none where it gives none.
    pub(super) fn argument(
        &mut self,
        of: usize,
        (file, call, context): (usize, ValueId, Context),
        parameters: &[FunctionParameter],
        place: usize,
        shift: usize,
    ) -> Option<Vec<ThingId>> {
        let (arguments, named): (Vec<Argument>, &[(CompactString, ValueId)]) = match self.structure(file).value(call) {
            Value::Call { arguments, named, .. } => (arguments.to_vec(), named),
            Value::Applied { arguments, .. } => {
                (arguments.iter().map(|value| Argument { value: *value, is_spread: false }).collect(), &[])
            }
            Value::Item { key, .. } => (vec![Argument { value: *key, is_spread: false }], &[]),
            _ => return None,
        };
        let parameter = parameters[place];
        let name = &self.structure(of).binding(parameter.binding).name;
        if let Some((_, value)) = named.iter().find(|(given, _)| given == name) {
            return Some(self.things(context, file, *value));
        }
        match parameter.kind {
            ParameterKind::One => {
                let mut things = Vec::new();
                let direct = arguments.iter().take(place + shift + 1).position(|it| it.is_spread);
                match (direct, arguments.get(place + shift)) {
                    (None, Some(argument)) => return Some(self.things(context, file, argument.value)),
                    (Some(spread), _) => {
                        for object in self.things(context, file, arguments[spread].value) {
                            things.extend(self.element_at(object, place + shift - spread));
                        }
                    }
                    (None, None) => {}
                }
                // `**kwargs` may have it by its name.
                (!things.is_empty()).then_some(things)
            }
            ParameterKind::Rest | ParameterKind::RestNamed => {
                let rest: Vec<ThingId> = match parameter.kind {
                    ParameterKind::Rest => {
                        let further = arguments.iter().skip(place + shift);
                        further.flat_map(|argument| self.things(context, file, argument.value)).collect()
                    }
                    _ => named.iter().flat_map(|(_, value)| self.things(context, file, *value)).collect(),
                };
                Some(rest.into_iter().map(|thing| self.thing(Thing::Many(thing))).collect())
            }
        }
    }
}
