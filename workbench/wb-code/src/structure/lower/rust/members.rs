//! Functions with their parameters, and fields.

use tree_sitter::Node;

use super::{Class, FIELD, Lowering, Own, Place, TYPE, VALUE, field};
use crate::structure::{
    builder::{NewBinding, children},
    file::{
        BindingId, BindingKind, FunctionParameter, FunctionValue, NameSpace, ParameterKind, ScopeKind, Value, ValueId,
    },
};

impl Lowering<'_, '_> {
    /// Fields of a struct or of a variant; those without names are called by their places.
    pub(super) fn fields(&mut self, body: Node<'_>, place: Place) {
        let mut at = 0;
        for child in children(body) {
            let (name, text, ty) = match child.kind() {
                "attribute_item" => {
                    self.attribute(child, place);
                    continue;
                }
                "visibility_modifier" => continue,
                "field_declaration" => {
                    let (Some(name), Some(ty)) = (field(child, "name"), field(child, "type")) else { continue };
                    (name, self.builder.text(name).to_owned(), ty)
                }
                _ => {
                    at += 1;
                    (child, (at - 1).to_string(), child)
                }
            };
            let declared = self.instance(ty, place);
            let new = NewBinding::new(BindingKind::Field).in_space(FIELD).typed(Some(declared));
            let binding = self.builder.bind(place.items, &text, name, new);
            self.builder.binding_mut(binding).of_instance = true;
        }
    }

    /// Parameters of a class by the places of the arguments that it is written with: in `impl<A, B> Pair<B, A>`, `B` is first.
    pub(super) fn arguments_as_parameters(
        &mut self,
        ty: Node<'_>,
        declared: &[FunctionParameter],
    ) -> Vec<FunctionParameter> {
        let mut inner = ty;
        while let ("reference_type", Some(next)) = (inner.kind(), field(inner, "type")) {
            inner = next;
        }
        let arguments = match inner.kind() {
            "generic_type" => field(inner, "type_arguments").map(children).unwrap_or_default(),
            "array_type" => field(inner, "element").into_iter().collect(),
            // `impl<T> Trait for T`.
            "type_identifier" => vec![inner],
            _ => Vec::new(),
        };
        let arguments = arguments.into_iter().filter(|it| !matches!(it.kind(), "lifetime" | "type_binding"));
        let is_alone = inner.kind() == "type_identifier";
        let mut parameters = Vec::new();
        for argument in arguments {
            let text = self.builder.text(argument);
            let known = declared.iter().find(|it| self.builder.structure.binding(it.binding).name == text);
            match known {
                Some(parameter) => parameters.push(*parameter),
                None if is_alone => {}
                None => {
                    let binding = self.builder.loose("_", argument, NewBinding::new(BindingKind::Parameter));
                    parameters.push(FunctionParameter { binding, kind: ParameterKind::One, default: None });
                }
            }
        }
        parameters
    }

    pub(super) fn function_item(&mut self, node: Node<'_>, place: Place) {
        let Some(name) = field(node, "name") else { return };
        let value = self.builder.opaque();
        let new = NewBinding::of(BindingKind::Function, value).in_space(VALUE);
        let text = self.builder.text(name);
        self.builder.bind(place.items, text, name, new);
        let scope = self.builder.scope(ScopeKind::Function, Some(place.scope), Some(value));
        let mut inner = Place { scope, items: scope, class: None, ..place };
        let mut function = FunctionValue {
            scope: Some(scope),
            class: place.class.map(|class| class.value),
            ..FunctionValue::default()
        };
        let list = field(node, "parameters").map(children).unwrap_or_default();
        let is_receiver = |it: &Node<'_>| {
            it.kind() == "self_parameter" || field(*it, "pattern").is_some_and(|pattern| pattern.kind() == "self")
        };
        let receiver = list.iter().copied().find(is_receiver).filter(|_| place.class.is_some());
        if let Some(class) = place.class {
            function.receiver = self.receiver(receiver, name, class, &mut inner);
            function.is_of_class = class.is_trait && receiver.is_none();
        }
        let first = self.generics.len();
        let types = self.generics(node, inner);
        function.takes_receiver = true;
        function.type_parameters = types;
        let mut typed = Vec::new();
        for parameter in &list {
            match parameter.kind() {
                "attribute_item" => _ = self.attribute(*parameter, inner),
                _ if Some(*parameter) == receiver => {
                    // `self: Box<Self>`.
                    if let Some(ty) = field(*parameter, "type") {
                        self.ty(ty, inner);
                    }
                }
                "parameter" => {
                    let (parameter, named) = self.parameter(*parameter, inner, inner, None);
                    function.parameters.push(parameter);
                    typed.extend(named);
                }
                "self_parameter" | "variadic_parameter" => {}
                // Parameters of traits may have no name in old editions.
                _ => {
                    let declared = self.instance(*parameter, inner);
                    let new = NewBinding::new(BindingKind::Parameter).typed(Some(declared));
                    let binding = self.builder.loose("_", *parameter, new);
                    function.parameters.push(FunctionParameter { binding, kind: ParameterKind::One, default: None });
                }
            }
        }
        self.inferred(first, &typed);
        if place.class.is_some_and(|class| !class.is_trait) && receiver.is_none() {
            self.own_by_arguments(&typed, &mut inner);
        }
        function.declared = field(node, "return_type").map(|ty| self.instance(ty, inner));
        if let Some(body) = field(node, "body") {
            self.returns.push(Vec::new());
            let last = self.block(body, inner);
            let mut returns = self.returns.pop().unwrap_or_default();
            returns.push(last);
            // A function that does not say what it returns returns nothing.
            if function.declared.is_some() {
                function.returns = returns;
            }
        }
        self.generics.truncate(first);
        self.builder.set(value, Value::Function(function.into()));
    }

    /// The receiver, and what `Self` is: in a trait it is the class of the object that a method is called on.
    fn receiver(
        &mut self,
        receiver: Option<Node<'_>>,
        name: Node<'_>,
        class: Class,
        inner: &mut Place,
    ) -> Option<BindingId> {
        let scope = inner.scope;
        let (text, node, space) = match receiver {
            Some(receiver) => {
                let node = super::child(receiver, "self").or_else(|| field(receiver, "pattern")).unwrap_or(receiver);
                ("self", node, VALUE)
            }
            // Without an object it is the class that the function is called on.
            None if class.is_trait => ("Self", name, TYPE),
            None => return None,
        };
        let new = NewBinding::new(BindingKind::Parameter).in_space(space);
        let binding = self.builder.bind(scope, text, node, new);
        if let (true, Some(own)) = (class.is_trait, inner.own) {
            let object = self.name_of(text, *inner, space);
            let value = match receiver {
                Some(_) => self.builder.value(Value::ClassOf(object)),
                None => object,
            };
            inner.own = Some(Own { value, ..own });
        }
        Some(binding)
    }

    /// Makes `Self`, in a function without an object, the type with what the arguments say of its parameters: in
    /// `fn new(one: T) -> Self`, `T` is the class of `one`.
    fn own_by_arguments(&mut self, typed: &[(Node<'_>, ValueId)], inner: &mut Place) {
        let Some(own) = inner.own else { return };
        let Value::Applied { of, arguments } = self.builder.structure.value(own.value) else { return };
        let (of, mut arguments) = (*of, arguments.clone());
        let mut is_known = false;
        for argument in &mut arguments {
            let Value::Name { name, .. } = self.builder.structure.value(*argument) else { continue };
            let same = typed.iter().find(|(ty, _)| self.builder.text(super::generics::referred(*ty)) == name);
            if let (Some((ty, value)), true) = (same, self.generics.iter().any(|generic| generic.name == *name)) {
                let text = format!("#{name}");
                let class = self.builder.value(Value::ClassOf(*value));
                let new = NewBinding::of(BindingKind::Parameter, *argument).in_space(TYPE).typed(Some(class));
                self.builder.bind(inner.scope, &text, *ty, new);
                *argument = self.name_of(&text, *inner, TYPE);
                is_known = true;
            }
        }
        if is_known {
            let value = self.builder.value(Value::Applied { of, arguments });
            inner.own = Some(Own { value, ..own });
        }
    }

    /// A name that is looked up, and is no reference of its own.
    pub(super) fn name_of(&mut self, name: &str, place: Place, space: NameSpace) -> ValueId {
        self.builder.value(Value::Name { name: name.into(), scope: place.scope, space, at: u32::MAX })
    }

    /// A parameter, and its type with its value. Its type is looked up in `outer`, its names are bound in `inner`; where it
    /// declares no type, it has the one that is expected.
    pub(super) fn parameter<'t>(
        &mut self,
        node: Node<'t>,
        outer: Place,
        inner: Place,
        expected: Option<ValueId>,
    ) -> (FunctionParameter, Option<(Node<'t>, ValueId)>) {
        let (pattern, ty) = match node.kind() {
            "parameter" => (field(node, "pattern"), field(node, "type")),
            _ => (Some(node), None),
        };
        let mut declared = expected;
        if let Some(ty) = ty {
            let instance = self.instance(ty, outer);
            let is_open = super::paths::is_left_open(self.builder.text(ty));
            if !is_open || expected.is_none() {
                declared = Some(match self.callable_type(ty) {
                    Some(callable) => self.builder.value(Value::Instance(callable)),
                    None => instance,
                });
            }
        }
        let mut name = pattern;
        while let Some(part) =
            name.filter(|part| matches!(part.kind(), "mut_pattern" | "ref_pattern" | "reference_pattern"))
        {
            name = children(part).into_iter().find(|child| child.kind() != "mutable_specifier");
        }
        let new = NewBinding::new(BindingKind::Parameter).typed(declared);
        let binding = match name.filter(|name| name.kind() == "identifier") {
            Some(name) => {
                let text = self.builder.text(name);
                self.builder.bind(inner.scope, text, name, new)
            }
            None => {
                // The parts of a pattern are parts of a parameter without a name.
                let text = format!("#{}", node.start_byte());
                self.builder.bind(inner.scope, &text, node, new)
            }
        };
        let text = self.builder.structure.binding(binding).name.clone();
        let value = self.name_of(&text, inner, VALUE);
        if let Some(pattern) = pattern.filter(|_| text.starts_with('#')) {
            self.pattern(pattern, value, inner);
        }
        (FunctionParameter { binding, kind: ParameterKind::One, default: None }, ty.map(|ty| (ty, value)))
    }
}
