//! Calls, closures, and what is written with braces behind a type.

use tree_sitter::Node;

use super::{FIELD, Lowering, Place, TYPE, VALUE, field, placed};
use crate::structure::{
    builder::{children, line},
    file::{Argument, CallSite, FunctionValue, NameSpace, ScopeKind, Value, ValueId},
};

/// Values put into an empty collection that are looked at.
const FILLED: usize = 3;

/// The collection of the standard library that an expression makes, with nothing in it.
pub(super) fn empty_collection(text: &str) -> Option<&'static str> {
    const NAMES: [(&str, &str); 7] = [
        ("Vec", "Vec"),
        ("VecDeque", "VecDeque"),
        ("BinaryHeap", "BinaryHeap"),
        ("HashMap", "HashMap"),
        ("BTreeMap", "HashMap"),
        ("HashSet", "HashSet"),
        ("BTreeSet", "HashSet"),
    ];
    if matches!(text, "vec![]" | "Vec::default()") {
        return Some("Vec");
    }
    let (path, call) = text.split_once('(')?;
    let (of, function) = path.rsplit_once("::")?;
    let name = of.rsplit("::").next()?;
    let is_empty = call.starts_with(')') || function == "with_capacity";
    let (_, collection) = NAMES.iter().find(|(known, _)| *known == name)?;
    (is_empty && matches!(function, "new" | "default" | "with_capacity")).then_some(*collection)
}

/// The closure that an argument is, by reference too.
fn closure_in(mut node: Node<'_>) -> Option<Node<'_>> {
    loop {
        node = match node.kind() {
            "closure_expression" => return Some(node),
            // `|x| _ = f(x)` is read as an assignment to a closure.
            "assignment_expression" => field(node, "left").filter(|left| is_bodiless(*left))?,
            "reference_expression" => field(node, "value")?,
            "parenthesized_expression" => node.named_child(0)?,
            _ => return None,
        };
    }
}

/// True for a closure whose body is `_`.
pub(super) fn is_bodiless(node: Node<'_>) -> bool {
    node.kind() == "closure_expression" && field(node, "body").is_some_and(|body| body.kind() == "_")
}

impl Lowering<'_, '_> {
    pub(super) fn call(&mut self, node: Node<'_>, place: Place) -> ValueId {
        let callee = match field(node, "function") {
            // A method, and not a field of that name.
            Some(function) if function.kind() == "field_expression" => self.field_expression(function, place, VALUE),
            Some(function) => self.expression(function, place),
            None => self.nothing,
        };
        let value = self.builder.opaque();
        let mut arguments = Vec::new();
        let list = field(node, "arguments").map(children).unwrap_or_default();
        for argument in list {
            let value = match argument.kind() {
                "attribute_item" => {
                    self.attribute(argument, place);
                    continue;
                }
                _ => match closure_in(argument) {
                    Some(closure) => self.closure(closure, place, Some((value, arguments.len()))),
                    None => self.expression(argument, place),
                },
            };
            arguments.push(Argument { value, is_spread: false });
        }
        if let Some(function) = field(node, "function") {
            self.filled(function, &arguments, place);
        }
        self.builder
            .set(value, Value::Call { callee, arguments: arguments.into(), named: Box::default(), creates: false });
        self.builder.structure.calls.push(CallSite { value, scope: place.scope, line: line(node) });
        value
    }

    /// `a.b`, where `b` is a field or a method.
    pub(super) fn field_expression(&mut self, node: Node<'_>, place: Place, space: NameSpace) -> ValueId {
        let of = match field(node, "value") {
            Some(value) => self.expression(value, place),
            None => self.nothing,
        };
        match field(node, "field") {
            Some(name) => self.builder.member(of, name, place.scope, space),
            None => of,
        }
    }

    /// A closure; as an argument of a call its parameters are what the function that is called hands to it.
    pub(super) fn closure(&mut self, node: Node<'_>, place: Place, given: Option<(ValueId, usize)>) -> ValueId {
        let value = self.builder.opaque();
        let scope = self.builder.scope(ScopeKind::Function, Some(place.scope), Some(value));
        let inner = Place { scope, class: None, ..place };
        let mut function = FunctionValue { scope: Some(scope), ..FunctionValue::default() };
        if let Some(list) = field(node, "parameters") {
            let list = placed(list);
            let count = list.iter().map(|(at, _)| at + 1).max().unwrap_or_default();
            for place_of in 0..count {
                let expected = given
                    .map(|(call, argument)| self.builder.value(Value::Handed { call, argument, parameter: place_of }));
                let parameter = match list.iter().find(|(at, _)| *at == place_of) {
                    Some((_, parameter)) => self.parameter(*parameter, place, inner, expected).0,
                    None => self.parameter(node, place, inner, expected).0,
                };
                function.parameters.push(parameter);
            }
        }
        function.declared = field(node, "return_type").map(|ty| self.instance(ty, place));
        self.returns.push(Vec::new());
        let assigned = node.parent().filter(|_| is_bodiless(node)).and_then(|assignment| field(assignment, "right"));
        let body = assigned.or(field(node, "body"));
        let last = body.map(|body| self.expression(body, inner)).unwrap_or(self.nothing);
        function.returns = self.returns.pop().unwrap_or_default();
        function.returns.push(last);
        self.builder.set(value, Value::Function(function.into()));
        value
    }

    /// A collection that was made empty holds what is put into it.
    fn filled(&mut self, function: Node<'_>, arguments: &[Argument], place: Place) {
        let object = field(function, "value").filter(|object| object.kind() == "identifier");
        let (Some(object), Some(name)) = (object, field(function, "field")) else { return };
        let Some(binding) = self.local(self.builder.text(object), place) else { return };
        // What is put in first says the type; the rest is the same.
        let Some((collection, count)) = self.empty.get(&binding).copied().filter(|(_, count)| *count < FILLED) else {
            return;
        };
        let held: Vec<ValueId> = match (self.builder.text(name), arguments) {
            ("push" | "push_back" | "push_front", [value]) => vec![value.value],
            ("insert", [value]) => vec![value.value],
            ("insert", [_, value]) if matches!(collection, "Vec" | "VecDeque") => vec![value.value],
            ("insert", [key, value]) => vec![key.value, value.value],
            ("extend", [values]) => {
                let element = self.associated(values.value, "Item");
                match collection {
                    "HashMap" => ["0", "1"].map(|part| self.part(element, part)).to_vec(),
                    _ => vec![element],
                }
            }
            _ => return,
        };
        self.empty.insert(binding, (collection, count + 1));
        let arguments = held.into_iter().map(|value| self.builder.value(Value::ClassOf(value))).collect();
        let of = self.standard(collection);
        let applied = self.builder.value(Value::Applied { of, arguments });
        let filled = self.builder.value(Value::Instance(applied));
        let known = self.builder.binding_mut(binding).value;
        let value = self.builder.value(Value::AnyOf(known.into_iter().chain([filled]).collect()));
        self.builder.binding_mut(binding).value = Some(value);
    }

    fn part(&mut self, of: ValueId, name: &str) -> ValueId {
        self.builder.value(Value::Member { of, name: name.into(), space: FIELD })
    }

    /// `Name { field: value }`: its keys are names of fields.
    pub(super) fn struct_expression(&mut self, node: Node<'_>, place: Place) -> ValueId {
        let callee = field(node, "name").map(|name| self.path(name, place, TYPE)).unwrap_or(self.nothing);
        // The instance is what a call of the type gives, with its fields by their names.
        let value = self.builder.opaque();
        let mut named = Vec::new();
        for part in field(node, "body").map(children).unwrap_or_default() {
            for attribute in children(part).into_iter().filter(|child| child.kind() == "attribute_item") {
                self.attribute(attribute, place);
            }
            match part.kind() {
                "shorthand_field_initializer" => {
                    if let Some(name) = super::child(part, "identifier") {
                        self.builder.member(value, name, place.scope, FIELD);
                        let given = self.builder.name(name, place.scope, VALUE);
                        named.push((self.builder.text(name).into(), given));
                    }
                }
                "field_initializer" => {
                    let name = field(part, "field");
                    if let Some(name) = name {
                        self.builder.member(value, name, place.scope, FIELD);
                    }
                    let given = field(part, "value").map(|given| self.expression(given, place));
                    named.extend(name.map(|name| self.builder.text(name).into()).zip(given));
                }
                _ => {
                    for child in children(part) {
                        self.expression(child, place);
                    }
                }
            }
        }
        self.builder.set(value, Value::Call { callee, arguments: Box::default(), named: named.into(), creates: true });
        value
    }
}
