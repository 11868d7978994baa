//! Classes, interfaces, enums.

use tree_sitter::Node;

use super::{Script, field, functions::Owner, unquoted};
use crate::structure::{
    builder::{NewBinding, children},
    file::{BindingId, BindingKind, ClassValue, FunctionValue, NameSpace, ScopeId, ScopeKind, Value, ValueId},
};

impl<'t> Script<'_, '_, 't> {
    /// A class, with or without a name.
    pub(super) fn class(&mut self, node: Node<'t>, scope: ScopeId) -> ValueId {
        let value = self.builder.opaque();
        for decorator in children(node).into_iter().filter(|it| it.kind() == "decorator") {
            self.expression(decorator, scope);
        }
        let (mut outer, parameters) = self.type_parameters(node, scope);
        if node.kind() == "class"
            && let Some(name) = field(node, "name")
        {
            outer = self.builder.scope(ScopeKind::Block, Some(outer), None);
            let text = self.builder.text(name);
            self.builder.bind(outer, text, name, NewBinding::of(BindingKind::Class, value));
        }
        let mut bases = Vec::new();
        for heritage in children(node).into_iter().filter(|it| it.kind() == "class_heritage") {
            for part in children(heritage) {
                match part.kind() {
                    "extends_clause" => {
                        let mut base = field(part, "value").map(|it| self.expression(it, outer));
                        if let (Some(of), Some(arguments)) = (base, field(part, "type_arguments")) {
                            let arguments =
                                children(arguments).into_iter().map(|it| self.type_value(it, outer)).collect();
                            base = Some(self.builder.value(Value::Applied { of, arguments }));
                        }
                        bases.extend(base);
                    }
                    "implements_clause" => {
                        bases.extend(
                            children(part).into_iter().map(|it| self.type_value(it, outer)).collect::<Vec<_>>(),
                        );
                    }
                    _ => bases.push(self.expression(part, outer)),
                }
            }
        }
        let own = self.builder.scope(ScopeKind::Class, Some(outer), Some(value));
        let class = ClassValue { scope: Some(own), parameters, bases };
        self.builder.structure.values[value.0 as usize] = Value::Class(Box::new(class));
        for member in field(node, "body").map(children).unwrap_or_default() {
            self.class_member(member, own, value);
        }
        value
    }

    fn class_member(&mut self, node: Node<'t>, scope: ScopeId, class: ValueId) {
        let is_static = {
            let mut cursor = node.walk();
            node.children(&mut cursor).any(|child| child.kind() == "static")
        };
        let owner = Owner { value: class, is_static };
        let name = field(node, "name").or_else(|| field(node, "property"));
        match node.kind() {
            "method_definition" | "method_signature" | "abstract_method_signature" => {
                self.decorators(node, scope);
                let value = self.function(node, scope, Some(owner));
                if let Some(name) = name {
                    let new = NewBinding { of_instance: !is_static, ..NewBinding::of(BindingKind::Function, value) };
                    self.bind_key(name, scope, new);
                }
            }
            "field_definition" | "public_field_definition" => {
                self.decorators(node, scope);
                let declared = field(node, "type").map(|it| self.declared_type(it, scope));
                let value = field(node, "value").map(|value| {
                    let inner = self.initializer(scope, owner, node);
                    self.expression(value, inner)
                });
                if let Some(name) = name {
                    let new =
                        NewBinding { of_instance: !is_static, value, declared, ..NewBinding::new(BindingKind::Field) };
                    let new = self.aliased(new);
                    self.bind_key(name, scope, new);
                }
            }
            "class_static_block" => {
                let inner = self.initializer(scope, Owner { value: class, is_static: true }, node);
                if let Some(body) = field(node, "body") {
                    self.statements(body, inner);
                }
            }
            "decorator" => _ = self.expression(node, scope),
            "index_signature" => _ = self.type_value(node, scope),
            _ => {}
        }
    }

    fn decorators(&mut self, node: Node<'t>, scope: ScopeId) {
        for decorator in children(node).into_iter().filter(|it| it.kind() == "decorator") {
            self.expression(decorator, scope);
        }
    }

    /// A scope in which `this` is the object or the class.
    fn initializer(&mut self, scope: ScopeId, owner: Owner, node: Node<'t>) -> ScopeId {
        let value = self.builder.opaque();
        let own = self.builder.scope(ScopeKind::Function, Some(scope), Some(value));
        let receiver = self.builder.bind(own, "this", node, NewBinding::new(BindingKind::Parameter));
        let function = FunctionValue {
            scope: Some(own),
            receiver: Some(receiver),
            class: Some(owner.value),
            is_of_class: owner.is_static,
            ..FunctionValue::default()
        };
        self.builder.structure.values[value.0 as usize] = Value::Function(function.into());
        own
    }

    /// A member by its key.
    pub(super) fn bind_key(&mut self, key: Node<'t>, scope: ScopeId, new: NewBinding) -> Option<BindingId> {
        match key.kind() {
            "computed_property_name" => {
                let inner = key.named_child(0)?;
                self.expression(inner, scope);
                let name = (inner.kind() == "string").then(|| unquoted(self.builder.text(inner)).to_owned())?;
                Some(self.builder.bind(scope, &name, key, new))
            }
            _ => {
                let name = unquoted(self.builder.text(key)).to_owned();
                Some(self.builder.bind(scope, &name, key, new))
            }
        }
    }

    /// An interface.
    pub(super) fn interface(&mut self, node: Node<'t>, scope: ScopeId) -> Option<BindingId> {
        let value = self.builder.opaque();
        let (outer, parameters) = self.type_parameters(node, scope);
        let mut bases = Vec::new();
        for clause in children(node).into_iter().filter(|it| it.kind() == "extends_type_clause") {
            bases.extend(children(clause).into_iter().map(|it| self.type_value(it, outer)).collect::<Vec<_>>());
        }
        let own = self.builder.scope(ScopeKind::Class, Some(outer), Some(value));
        let class = ClassValue { scope: Some(own), parameters, bases };
        self.builder.structure.values[value.0 as usize] = Value::Class(Box::new(class));
        for member in field(node, "body").map(children).unwrap_or_default() {
            self.type_member(member, own, value);
        }
        let name = field(node, "name")?;
        let text = self.builder.text(name);
        let new = NewBinding::of(BindingKind::Class, value).in_space(NameSpace::TYPE);
        Some(self.builder.bind(scope, text, name, new))
    }

    /// A member of an interface in the scope of that.
    fn type_member(&mut self, node: Node<'t>, scope: ScopeId, class: ValueId) {
        let owner = Owner { value: class, is_static: false };
        match node.kind() {
            "method_signature" => {
                let value = self.function(node, scope, Some(owner));
                if let Some(name) = field(node, "name") {
                    self.bind_key(name, scope, NewBinding::of(BindingKind::Function, value));
                }
            }
            "property_signature" => {
                let declared = field(node, "type").map(|it| self.declared_type(it, scope));
                if let Some(name) = field(node, "name") {
                    self.bind_key(name, scope, NewBinding::new(BindingKind::Field).typed(declared));
                }
            }
            "call_signature" | "construct_signature" => {
                let name = if node.kind() == "call_signature" { "()" } else { "new()" };
                let value = self.function(node, scope, None);
                self.builder.bind(scope, name, node, NewBinding::of(BindingKind::Function, value));
            }
            _ => _ = self.type_value(node, scope),
        }
    }

    /// An enum: its members are members of its name.
    pub(super) fn enumeration(&mut self, node: Node<'t>, scope: ScopeId) -> Option<BindingId> {
        let own = self.builder.scope(ScopeKind::Block, Some(scope), None);
        let value = self.builder.value(Value::Namespace(own));
        for member in field(node, "body").map(children).unwrap_or_default() {
            let (name, given) = match member.kind() {
                "enum_assignment" => (field(member, "name"), field(member, "value")),
                _ => (Some(member), None),
            };
            let given = given.map(|it| self.expression(it, own));
            let constant = given.unwrap_or_else(|| self.builder.opaque());
            if let Some(name) = name {
                self.bind_key(name, own, NewBinding::of(BindingKind::Field, constant));
            }
        }
        let name = field(node, "name")?;
        let text = self.builder.text(name);
        Some(self.builder.bind(scope, text, name, NewBinding::of(BindingKind::Class, value)))
    }
}
