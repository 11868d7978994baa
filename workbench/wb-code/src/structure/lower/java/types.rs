//! Types, their parameters and arguments, and annotations.

use tree_sitter::Node;

use super::{DEEPEST, Lowering, children, declarations::type_argument, dotted, field, is_annotation, tokens};
use crate::structure::{
    builder::NewBinding,
    file::{
        BindingId, BindingKind, BuiltinType, FieldKey, FunctionParameter, NameSpace, ParameterKind, RecordValue,
        ScopeId, Value, ValueId,
    },
};

impl Lowering<'_, '_> {
    /// The value of a type; none for `void`, and for `var`, which takes what it is given.
    pub(super) fn type_of(&mut self, node: Node<'_>, scope: ScopeId) -> Option<ValueId> {
        if self.depth >= DEEPEST {
            return None;
        }
        self.depth += 1;
        let value = match node.kind() {
            "type_identifier" | "identifier" => {
                (self.builder.text(node) != "var").then(|| self.builder.name(node, scope, NameSpace::TYPE))
            }
            "scoped_type_identifier" => self.type_in_another(node, scope),
            "scoped_identifier" => self.dotted_type(node, scope),
            "generic_type" => self.generic_type(node, scope),
            "array_type" => {
                let element = field(node, "element").and_then(|element| self.type_of(element, scope));
                let dimensions = field(node, "dimensions");
                element.map(|element| self.array_of(element, dimensions, node, scope))
            }
            "annotated_type" | "wildcard" => {
                self.annotations(node, scope);
                let inner = children(node).into_iter().find(|child| !is_annotation(child) && child.kind() != "super");
                match inner {
                    Some(inner) => self.type_of(inner, scope),
                    // `?` alone is whatever the parameter that it stands for says.
                    None => Some(self.builder.value(Value::AnyOf(Vec::new()))),
                }
            }
            "catch_type" => {
                let types = children(node).into_iter().filter_map(|child| self.type_of(child, scope)).collect();
                Some(self.any_of(types))
            }
            "void_type" => None,
            "integral_type" | "floating_point_type" | "boolean_type" => Some(self.nothing),
            _ => Some(self.expression(node, scope)),
        };
        self.depth -= 1;
        value
    }

    /// A value of a type that is written somewhere, with the dimensions behind the name of the variable.
    pub(super) fn instance_of(
        &mut self,
        node: Option<Node<'_>>,
        dimensions: Option<Node<'_>>,
        scope: ScopeId,
    ) -> Option<ValueId> {
        let node = node?;
        let of = self.type_of(node, scope)?;
        let of = self.array_of(of, dimensions, node, scope);
        Some(self.builder.value(Value::Instance(of)))
    }

    /// `Outer.Inner`, or a type with its package.
    fn type_in_another(&mut self, node: Node<'_>, scope: ScopeId) -> Option<ValueId> {
        self.annotations(node, scope);
        let parts: Vec<Node<'_>> = children(node).into_iter().filter(|part| !is_annotation(part)).collect();
        let (name, outer) = parts.split_last()?;
        match outer.first() {
            Some(outer) => {
                let of = self.type_of(*outer, scope)?;
                Some(self.builder.member(of, *name, scope, NameSpace::TYPE))
            }
            None => Some(self.builder.name(*name, scope, NameSpace::TYPE)),
        }
    }

    fn dotted_type(&mut self, node: Node<'_>, scope: ScopeId) -> Option<ValueId> {
        let mut value = None;
        for part in dotted(node) {
            value = Some(match value {
                None => self.builder.name(part, scope, NameSpace::TYPE),
                Some(of) => self.builder.member(of, part, scope, NameSpace::TYPE),
            });
        }
        value
    }

    fn generic_type(&mut self, node: Node<'_>, scope: ScopeId) -> Option<ValueId> {
        let (mut of, mut arguments) = (None, Vec::new());
        for child in children(node) {
            match child.kind() {
                "type_arguments" => arguments = self.type_arguments(child, scope),
                _ => of = self.type_of(child, scope),
            }
        }
        let of = of?;
        // `<>` leaves the arguments to the compiler.
        match arguments.is_empty() {
            true => Some(of),
            false => Some(self.builder.value(Value::Applied { of, arguments })),
        }
    }

    pub(super) fn type_arguments(&mut self, node: Node<'_>, scope: ScopeId) -> Vec<ValueId> {
        children(node).into_iter().map(|child| self.type_of(child, scope).unwrap_or(self.nothing)).collect()
    }

    /// The type of arrays of elements, as often as there are dimensions.
    pub(super) fn array_of(
        &mut self,
        element: ValueId,
        dimensions: Option<Node<'_>>,
        node: Node<'_>,
        scope: ScopeId,
    ) -> ValueId {
        let Some(dimensions) = dimensions else { return element };
        self.annotations(dimensions, scope);
        let depth = tokens(dimensions).filter(|token| token.kind() == "[").count();
        (0..depth).fold(element, |element, _| self.array(element, node))
    }

    /// The type of arrays of elements, which are objects too.
    pub(super) fn array(&mut self, element: ValueId, node: Node<'_>) -> ValueId {
        let instance = self.builder.value(Value::Instance(element));
        let new = NewBinding::new(BindingKind::Field).typed(Some(instance));
        let binding = self.builder.loose("", node, new);
        let object = self.of_lang("Object");
        let object = self.builder.value(Value::Instance(object));
        let (fields, spreads) = (vec![(FieldKey::Any, binding)], vec![object]);
        self.builder.value(Value::Record(Box::new(RecordValue { fields, spreads, type_name: BuiltinType::None })))
    }

    /// Binds the parameters that a declaration has; without arguments, they are what bounds them.
    pub(super) fn type_parameters<'t>(&mut self, node: Node<'t>, scope: ScopeId) -> Vec<(Node<'t>, FunctionParameter)> {
        let Some(list) = field(node, "type_parameters") else { return Vec::new() };
        let parameters: Vec<(Node<'_>, Node<'_>, BindingId)> = (children(list).into_iter())
            .filter_map(|parameter| {
                let name = children(parameter).into_iter().find(|child| child.kind() == "type_identifier")?;
                let new = NewBinding::new(BindingKind::Class).in_space(NameSpace::TYPE);
                let text = self.builder.text(name);
                Some((parameter, name, self.builder.bind(scope, text, name, new)))
            })
            .collect();
        // A bound may name any of the parameters.
        let mut bound = Vec::new();
        for (parameter, name, binding) in parameters {
            self.annotations(parameter, scope);
            let mut bounds = Vec::new();
            for list in children(parameter).into_iter().filter(|child| child.kind() == "type_bound") {
                bounds.extend(children(list).into_iter().filter_map(|child| self.type_of(child, scope)));
            }
            let default = match bounds.is_empty() {
                true => self.of_lang("Object"),
                false => self.any_of(bounds),
            };
            self.builder.binding_mut(binding).value = Some(default);
            bound.push((name, FunctionParameter { binding, kind: ParameterKind::One, default: Some(default) }));
        }
        bound
    }

    /// Tells what the parameters are that a written type names, of a value of this type: the elements, of a `List<T>`.
    pub(super) fn tell(
        &mut self,
        written: Node<'_>,
        given: ValueId,
        parameters: &[(Node<'_>, FunctionParameter)],
        told: &mut Vec<(BindingId, ValueId)>,
    ) {
        if self.depth >= DEEPEST {
            return;
        }
        self.depth += 1;
        match written.kind() {
            "type_identifier" => {
                let text = self.builder.text(written);
                let named = parameters.iter().find(|(name, _)| self.builder.text(*name) == text);
                told.extend(named.map(|(_, parameter)| (parameter.binding, given)));
            }
            "array_type" => {
                if let Some(element) = field(written, "element") {
                    let given = self.builder.value(Value::Element(given));
                    self.tell(element, given, parameters, told);
                }
            }
            "generic_type" => {
                let lists = children(written).into_iter().filter(|child| child.kind() == "type_arguments");
                for (argument, place) in lists.flat_map(children).zip(0..) {
                    let (name, space) = (type_argument(place), NameSpace::TYPE);
                    let given = self.builder.value(Value::Member { of: given, name: name.into(), space });
                    self.tell(argument, given, parameters, told);
                }
            }
            "wildcard" | "annotated_type" => {
                for child in children(written) {
                    self.tell(child, given, parameters, told);
                }
            }
            _ => {}
        }
        self.depth -= 1;
    }

    /// Types in a list behind `extends`, `implements`, `permits`, `throws`.
    pub(super) fn types_in(&mut self, node: Node<'_>, scope: ScopeId) -> Vec<ValueId> {
        let mut types = Vec::new();
        for child in children(node) {
            match child.kind() {
                "type_list" => types.extend(self.types_in(child, scope)),
                _ => types.extend(self.type_of(child, scope)),
            }
        }
        types
    }

    /// Annotations that a node has, alone or among its modifiers.
    pub(super) fn annotations(&mut self, node: Node<'_>, scope: ScopeId) {
        for child in children(node) {
            match child.kind() {
                "modifiers" => {
                    for annotation in children(child) {
                        self.annotation(annotation, scope);
                    }
                }
                _ if is_annotation(&child) => self.annotation(child, scope),
                _ => {}
            }
        }
    }

    pub(super) fn annotation(&mut self, node: Node<'_>, scope: ScopeId) {
        let of = field(node, "name").and_then(|name| self.type_of(name, scope));
        let of = of.unwrap_or(self.nothing);
        for argument in field(node, "arguments").map(children).unwrap_or_default() {
            let value = match argument.kind() {
                "element_value_pair" => {
                    if let Some(key) = field(argument, "key") {
                        self.builder.member(of, key, scope, NameSpace::METHOD);
                    }
                    field(argument, "value")
                }
                _ => Some(argument),
            };
            if let Some(value) = value {
                self.expression(value, scope);
            }
        }
    }
}
