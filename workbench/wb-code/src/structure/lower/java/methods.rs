//! Methods, constructors and their parameters.

use tree_sitter::Node;

use super::{
    Lowering, children,
    declarations::{Body, CONSTRUCTOR, heirs},
    field, is_annotation, tokens,
};
use crate::structure::{
    builder::NewBinding,
    file::{
        BindingId, BindingKind, FunctionParameter, FunctionValue, NameSpace, ParameterKind, ScopeId, ScopeKind, Value,
        ValueId,
    },
};

impl Lowering<'_, '_> {
    /// A method or a constructor.
    pub(super) fn method(&mut self, node: Node<'_>, body: Body<'_>) {
        let Some(name) = field(node, "name") else { return };
        let scope = body.scope;
        let is_constructor = node.kind().contains("constructor");
        let value = self.builder.opaque();
        self.annotations(node, scope);
        let (mut header, mut type_parameters) = (scope, Vec::new());
        if field(node, "type_parameters").is_some() {
            header = self.builder.scope(ScopeKind::Block, Some(scope), Some(value));
            type_parameters = self.type_parameters(node, header);
        }
        let own = self.builder.scope(ScopeKind::Function, Some(header), Some(value));
        let modifiers = children(node).into_iter().find(|child| child.kind() == "modifiers");
        let is_static = modifiers.is_some_and(|it| tokens(it).any(|token| token.kind() == "static"));
        let list = field(node, "parameters");
        let returned_in = match list.filter(|_| !type_parameters.is_empty()) {
            Some(list) => self.told_by_parameters(&type_parameters, list, header, own),
            None => header,
        };
        let declared = self.instance_of(field(node, "type"), field(node, "dimensions"), returned_in);
        let receiver =
            (!is_static).then(|| self.builder.bind(own, "this", body.name, NewBinding::new(BindingKind::Parameter)));
        let mut function = FunctionValue {
            scope: Some(own),
            class: Some(body.class),
            receiver,
            declared,
            is_static,
            is_constructor,
            ..FunctionValue::default()
        };
        function.parameters = list.map(|list| self.formal_parameters(list, own)).unwrap_or_default();
        for throws in children(node).into_iter().filter(|child| child.kind() == "throws") {
            self.types_in(throws, header);
        }
        // What an element of an annotation is without being told.
        if let Some(default) = field(node, "value") {
            self.expression(default, header);
        }
        self.returns.push(Vec::new());
        if let Some(inner) = field(node, "body") {
            self.block(inner, own);
        }
        function.returns = self.returns.pop().unwrap_or_default();
        self.builder.structure.values[value.0 as usize] = Value::Function(function.into());
        let new = NewBinding::of(BindingKind::Function, value).in_space(NameSpace::METHOD);
        let text = self.builder.text(name);
        let binding = self.builder.loose(text, name, new);
        self.builder.binding_mut(binding).heirs = heirs(node, body);
        self.builder.export(scope, if is_constructor { CONSTRUCTOR } else { text }, binding);
    }

    /// Parameters of a method or a lambda.
    pub(super) fn formal_parameters(&mut self, list: Node<'_>, scope: ScopeId) -> Vec<FunctionParameter> {
        let mut parameters = Vec::new();
        for node in children(list) {
            if let Some((name, declared, kind)) = self.declared_parameter(node, scope) {
                let new = NewBinding::new(BindingKind::Parameter).typed(declared);
                let text = self.builder.text(name);
                parameters.push(FunctionParameter {
                    binding: self.builder.bind(scope, text, name, new),
                    kind,
                    default: None,
                });
            }
        }
        parameters
    }

    /// A scope around a method in which type parameters are what its parameters are given, where these tell it. What is
    /// returned is looked up in it.
    fn told_by_parameters(
        &mut self,
        type_parameters: &[(Node<'_>, FunctionParameter)],
        list: Node<'_>,
        header: ScopeId,
        own: ScopeId,
    ) -> ScopeId {
        let mut told: Vec<(BindingId, ValueId)> = Vec::new();
        for node in children(list) {
            let (Some(written), Some(name)) = (declared_type(node), declared_name(node)) else { continue };
            let (space, at) = (NameSpace::VALUE, name.start_byte() as u32);
            let name = self.builder.text(name).to_owned();
            let mut given = self.builder.value(Value::Name { name: name.into(), scope: own, space, at });
            if node.kind() == "spread_parameter" {
                given = self.builder.value(Value::Element(given));
            }
            self.tell(written, given, type_parameters, &mut told);
        }
        let owner = self.builder.structure.scope(header).owner;
        let inner = self.builder.scope(ScopeKind::Block, Some(header), owner);
        for (node, parameter) in type_parameters {
            let of = told.iter().filter(|(of, _)| *of == parameter.binding);
            let values: Vec<ValueId> = of.map(|(_, value)| *value).collect();
            if !values.is_empty() {
                let new = NewBinding::of(BindingKind::Class, self.any_of(values)).in_space(NameSpace::TYPE);
                let text = self.builder.text(*node);
                self.builder.bind(inner, text, *node, new);
            }
        }
        inner
    }

    /// Name, value of the declared type and kind of a parameter or of a component.
    pub(super) fn declared_parameter<'t>(
        &mut self,
        node: Node<'t>,
        scope: ScopeId,
    ) -> Option<(Node<'t>, Option<ValueId>, ParameterKind)> {
        match node.kind() {
            "formal_parameter" => {
                self.annotations(node, scope);
                let declared = self.instance_of(field(node, "type"), field(node, "dimensions"), scope);
                Some((declared_name(node)?, declared, ParameterKind::One))
            }
            "spread_parameter" => {
                self.annotations(node, scope);
                let written = declared_type(node)?;
                let of = self.type_of(written, scope).unwrap_or(self.nothing);
                let of = self.array(of, written);
                let declared = self.builder.value(Value::Instance(of));
                Some((declared_name(node)?, Some(declared), ParameterKind::Rest))
            }
            _ => {
                // `Outer.Inner this` only says types.
                for part in children(node).into_iter().filter(|part| part.kind() != "this") {
                    match is_annotation(&part) {
                        true => self.annotation(part, scope),
                        false => _ = self.type_of(part, scope),
                    }
                }
                None
            }
        }
    }
}

/// The type of a parameter as it is written.
fn declared_type(node: Node<'_>) -> Option<Node<'_>> {
    let is_type =
        |child: &Node<'_>| !matches!(child.kind(), "modifiers" | "variable_declarator") && !is_annotation(child);
    field(node, "type").or_else(|| children(node).into_iter().find(is_type))
}

/// The name of a parameter.
fn declared_name(node: Node<'_>) -> Option<Node<'_>> {
    let declarator = children(node).into_iter().find(|child| child.kind() == "variable_declarator");
    field(declarator.unwrap_or(node), "name")
}
