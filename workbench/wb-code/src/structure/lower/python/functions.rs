//! Functions, classes and their decorators.

use tree_sitter::Node;

use super::{Lowering, Place, VALUE, field};
use crate::structure::{
    builder::{NewBinding, children, span},
    file::{
        Argument, BindingKind, ClassValue, FunctionParameter, FunctionValue, ParameterKind, ScopeKind, Value, ValueId,
    },
};

impl Lowering<'_, '_> {
    pub(super) fn function<'t>(
        &mut self,
        node: Node<'t>,
        place: Place,
        decorators: &[&str],
    ) -> (ValueId, Option<Node<'t>>) {
        let name = field(node, "name");
        let text = name.map_or("", |name| self.builder.text(name));
        let value = self.builder.opaque();
        let scope = self.builder.scope(ScopeKind::Function, Some(place.scope), Some(value));
        let is_lambda = node.kind() == "lambda";
        let is_static = decorators.contains(&"staticmethod");
        let mut function = FunctionValue {
            scope: Some(scope),
            class: place.class.filter(|_| !is_lambda),
            is_static,
            takes_receiver: true,
            is_of_class: decorators.contains(&"classmethod") || text == "__new__",
            is_property: decorators.iter().any(|it| matches!(*it, "property" | "cached_property")),
            is_async: node.child(0).is_some_and(|child| child.kind() == "async"),
            is_constructor: text == "__init__",
            ..FunctionValue::default()
        };
        let inner = Place { scope, class: None };
        let around = std::mem::replace(&mut self.block, span(node));
        if let Some(parameters) = field(node, "parameters") {
            for (at, parameter) in children(parameters).into_iter().enumerate() {
                let is_receiver = at == 0 && function.class.is_some() && !is_static;
                if let Some(parameter) = self.parameter(parameter, place, inner, is_receiver) {
                    match is_receiver && parameter.kind == ParameterKind::One {
                        true => function.receiver = Some(parameter.binding),
                        false => function.parameters.push(parameter),
                    }
                }
            }
        }
        if let Some(declared) = field(node, "return_type") {
            let of = self.expression(declared, place);
            function.declared = Some(self.builder.value(Value::Instance(of)));
        }
        self.returns.push((Vec::new(), false));
        if let Some(body) = field(node, "body") {
            match is_lambda {
                true => {
                    let value = self.expression(body, inner);
                    self.returns.last_mut().into_iter().for_each(|(returns, _)| returns.push(value));
                }
                false => self.statements(body, inner),
            }
        }
        self.block = around;
        (function.returns, function.is_generator) = self.returns.pop().unwrap_or_default();
        self.builder.structure.values[value.0 as usize] = Value::Function(function.into());
        (value, name)
    }

    pub(super) fn parameter(
        &mut self,
        node: Node<'_>,
        outer: Place,
        inner: Place,
        is_receiver: bool,
    ) -> Option<FunctionParameter> {
        let (name, kind) = match node.kind() {
            "identifier" => (Some(node), ParameterKind::One),
            "default_parameter" | "typed_default_parameter" => (field(node, "name"), ParameterKind::One),
            "typed_parameter" => {
                let first = node.named_child(0)?;
                match first.kind() {
                    "list_splat_pattern" => (first.named_child(0), ParameterKind::Rest),
                    "dictionary_splat_pattern" => (first.named_child(0), ParameterKind::RestNamed),
                    _ => (Some(first), ParameterKind::One),
                }
            }
            "list_splat_pattern" => (node.named_child(0), ParameterKind::Rest),
            "dictionary_splat_pattern" => (node.named_child(0), ParameterKind::RestNamed),
            _ => return None,
        };
        let name = name?;
        let default = field(node, "value").map(|value| self.expression(value, outer));
        let declared = field(node, "type").filter(|_| !is_receiver).map(|declared| {
            let of = self.expression(declared, outer);
            self.builder.value(Value::Instance(of))
        });
        let new = NewBinding::new(BindingKind::Parameter).in_space(VALUE).typed(declared);
        let text = self.builder.text(name);
        let binding = self.bind(inner.scope, text, name, new);
        Some(FunctionParameter { binding, kind, default })
    }

    pub(super) fn class(&mut self, node: Node<'_>, place: Place, bound: Option<ValueId>) -> ValueId {
        let value = self.builder.opaque();
        let scope = self.builder.scope(ScopeKind::Class, Some(place.scope), Some(value));
        let mut bases = Vec::new();
        if let Some(arguments) = field(node, "superclasses") {
            for base in children(arguments) {
                match base.kind() {
                    "keyword_argument" => _ = field(base, "value").map(|value| self.expression(value, place)),
                    _ => bases.push(self.expression(base, place)),
                }
            }
        }
        self.builder.structure.values[value.0 as usize] =
            Value::Class(Box::new(ClassValue { scope: Some(scope), parameters: Vec::new(), bases }));
        self.define(field(node, "name"), place, BindingKind::Class, bound.unwrap_or(value));
        if let Some(body) = field(node, "body") {
            self.statements(body, Place { scope, class: Some(value) });
        }
        value
    }

    pub(super) fn decorated(&mut self, node: Node<'_>, place: Place) {
        let Some(definition) = field(node, "definition") else { return };
        let decorators: Vec<Node<'_>> = children(node).into_iter().filter(|it| it.kind() == "decorator").collect();
        let text = |node: &Node<'_>| self.builder.text(*node).trim_start_matches('@').trim();
        let names: Vec<&str> = decorators.iter().map(text).collect();
        let mut by = Vec::new();
        for decorator in decorators.iter().filter_map(|it| it.named_child(0)) {
            by.push((decorator, self.expression(decorator, place)));
        }
        let is_special = |name: &str| {
            matches!(name, "staticmethod" | "classmethod" | "property" | "cached_property") || name.ends_with(".setter")
        };
        let (mut value, name, kind) = match definition.kind() {
            "class_definition" => {
                let value = self.class(definition, place, None);
                (value, None, BindingKind::Class)
            }
            _ => {
                let (value, name) = self.function(definition, place, &names);
                (value, name, BindingKind::Function)
            }
        };
        // The nearest decorator is called first.
        for ((at, decorator), text) in by.iter().zip(&names).rev() {
            if !is_special(text) {
                let argument = Argument { value, is_spread: false };
                let call = self.builder.call(*at, place.scope, *decorator, vec![argument], Vec::new(), false);
                value = self.builder.value(Value::Decorated { call, function: value });
            }
        }
        self.define(name, place, kind, value);
    }

    /// The class whose method this is.
    pub(super) fn class_around(&mut self, place: Place) -> Option<ValueId> {
        let scope = self.builder.nearest(place.scope, &[ScopeKind::Class]);
        self.builder
            .structure
            .scope(scope)
            .owner
            .filter(|_| matches!(self.builder.structure.scope(scope).kind, ScopeKind::Class))
    }
}
