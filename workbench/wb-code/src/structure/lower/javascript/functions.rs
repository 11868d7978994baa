//! Functions, their parameters and what they give.

use tree_sitter::Node;

use super::{Script, field};
use crate::structure::{
    builder::{NewBinding, children},
    file::{
        BindingKind, FunctionParameter, FunctionValue, NameSpace, ParameterKind, ScopeId, ScopeKind, Value, ValueId,
    },
};

/// Object or class that a function is a member of.
#[derive(Clone, Copy)]
pub(super) struct Owner {
    pub value: ValueId,
    pub is_static: bool,
}

impl<'t> Script<'_, '_, 't> {
    /// The scope around a function: an expression knows its own name, which its parameters and variables hide.
    fn named_expression(&mut self, node: Node<'t>, scope: ScopeId, value: ValueId) -> ScopeId {
        let is_expression = matches!(node.kind(), "function_expression" | "generator_function" | "function");
        let Some(name) = field(node, "name").filter(|_| is_expression) else { return scope };
        let around = self.builder.scope(ScopeKind::Block, Some(scope), None);
        let text = self.builder.text(name);
        self.builder.bind(around, text, name, NewBinding::of(BindingKind::Function, value));
        around
    }

    /// A function, an arrow function, a method, or its signature.
    pub(super) fn function(&mut self, node: Node<'t>, scope: ScopeId, owner: Option<Owner>) -> ValueId {
        let value = self.builder.opaque();
        let scope = self.named_expression(node, scope, value);
        let (scope, type_parameters) = self.type_parameters(node, scope);
        let own = self.builder.scope(ScopeKind::Function, Some(scope), Some(value));
        let is_arrow = node.kind() == "arrow_function";
        let text = |name: &str| field(node, name).map(|it| self.builder.text(it));
        let name = text("name").unwrap_or_default();
        let has = |word: &str| {
            let mut cursor = node.walk();
            node.children(&mut cursor).any(|child| child.kind() == word)
        };
        let mut function = FunctionValue {
            scope: Some(own),
            class: owner.map(|owner| owner.value).filter(|_| !is_arrow),
            is_of_class: owner.is_some_and(|owner| owner.is_static),
            is_property: node.kind() == "method_definition" && has("get"),
            is_async: has("async"),
            is_constructor: node.kind() == "method_definition" && name == "constructor",
            type_parameters,
            ..FunctionValue::default()
        };
        if !is_arrow {
            let new = NewBinding::new(BindingKind::Parameter);
            function.receiver = Some(self.builder.bind(own, "this", node, new));
        }
        if let Some(parameter) = field(node, "parameter") {
            let text = self.builder.text(parameter);
            let binding = self.builder.bind(own, text, parameter, NewBinding::new(BindingKind::Parameter));
            function.parameters.push(FunctionParameter { binding, kind: ParameterKind::One, default: None });
        }
        self.parameters(node, own, owner, &mut function);
        let declared =
            field(node, "return_type").or_else(|| field(node, "type").filter(|it| it.kind() == "type_annotation"));
        if let Some(declared) = declared {
            function.declared = Some(self.declared_type(declared, own));
        }
        self.returns.push(Vec::new());
        if let Some(body) = field(node, "body") {
            match body.kind() {
                "statement_block" => self.statements(body, own),
                _ => {
                    let value = self.expression(body, own);
                    self.returns.last_mut().into_iter().for_each(|returns| returns.push(value));
                }
            }
        }
        function.returns = self.returns.pop().unwrap_or_default();
        self.builder.structure.values[value.0 as usize] = Value::Function(function.into());
        value
    }

    /// Parameters in brackets.
    pub(super) fn parameters(
        &mut self,
        node: Node<'t>,
        scope: ScopeId,
        owner: Option<Owner>,
        function: &mut FunctionValue,
    ) {
        let Some(parameters) = field(node, "parameters") else { return };
        for (node, place) in children(parameters).into_iter().zip(0..) {
            let (pattern, declared, default) = match node.kind() {
                "required_parameter" | "optional_parameter" => {
                    let pattern = field(node, "pattern").or_else(|| field(node, "name"));
                    (pattern, field(node, "type"), field(node, "value"))
                }
                "assignment_pattern" => (field(node, "left"), None, field(node, "right")),
                _ => (Some(node), None, None),
            };
            let Some(mut pattern) = pattern else { continue };
            // `this: T` is no parameter.
            if pattern.kind() == "this" {
                declared.into_iter().for_each(|it| _ = self.declared_type(it, scope));
                continue;
            }
            let declared = declared.map(|it| self.declared_type(it, scope));
            let default = default.map(|it| self.expression(it, scope));
            let mut kind = ParameterKind::One;
            if pattern.kind() == "rest_pattern" {
                kind = ParameterKind::Rest;
                pattern = pattern.named_child(0).unwrap_or(pattern);
            }
            let is_name = matches!(pattern.kind(), "identifier" | "undefined");
            let name = if is_name { self.builder.text(pattern).to_owned() } else { format!("[{place}]") };
            let binding =
                self.builder.bind(scope, &name, pattern, NewBinding::new(BindingKind::Parameter).typed(declared));
            function.parameters.push(FunctionParameter { binding, kind, default });
            if !is_name {
                let value = Value::Name { name: name.into(), scope, space: NameSpace::VALUE, at: u32::MAX };
                let value = self.builder.value(value);
                self.bind_pattern(pattern, value, scope, BindingKind::Parameter, None);
            }
            // `constructor(private x: T)` is a field too.
            let is_field = children(node).iter().any(|it| matches!(it.kind(), "accessibility_modifier" | "readonly"));
            if let (true, Some(owner)) = (is_field && is_name, owner)
                && let Value::Class(class) = self.builder.structure.value(owner.value)
                && let Some(scope) = class.scope
            {
                let new = NewBinding { declared, of_instance: true, ..NewBinding::new(BindingKind::Field) };
                let text = self.builder.text(pattern);
                self.builder.bind(scope, text, pattern, new);
            }
        }
    }
}
