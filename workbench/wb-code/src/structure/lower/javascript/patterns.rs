//! Patterns: names that are given parts of a value.

use tree_sitter::Node;

use super::{Script, field, unquoted};
use crate::structure::{
    builder::{NewBinding, children},
    file::{BindingId, BindingKind, FieldKey, NameSpace, ScopeId, Value, ValueId},
};

impl<'t> Script<'_, '_, 't> {
    /// Declares a name, or the names of a pattern; without a value it is whatever it is.
    pub(super) fn bind_declared(
        &mut self,
        node: Node<'t>,
        value: Option<ValueId>,
        scope: ScopeId,
        kind: BindingKind,
        declared: Option<ValueId>,
    ) -> Vec<BindingId> {
        match (node.kind(), value) {
            ("identifier", None) => {
                let name = self.builder.text(node);
                vec![self.builder.bind(scope, name, node, NewBinding::new(kind).typed(declared))]
            }
            _ => {
                let value = value.or(declared).unwrap_or_else(|| self.builder.opaque());
                self.bind_pattern(node, value, scope, kind, declared)
            }
        }
    }

    /// Declares the names of a pattern with the parts of a value.
    pub(super) fn bind_pattern(
        &mut self,
        node: Node<'t>,
        value: ValueId,
        scope: ScopeId,
        kind: BindingKind,
        declared: Option<ValueId>,
    ) -> Vec<BindingId> {
        match node.kind() {
            "identifier" | "shorthand_property_identifier_pattern" | "undefined" => {
                let name = self.builder.text(node);
                let new = NewBinding::of(kind, value).typed(declared);
                let new = self.aliased(new);
                vec![self.builder.bind(scope, name, node, new)]
            }
            _ => {
                let value = declared.unwrap_or(value);
                let parts = self.parts(node, value, scope);
                parts.into_iter().flat_map(|(part, value)| self.bind_pattern(part, value, scope, kind, None)).collect()
            }
        }
    }

    /// Gives names, members and elements that are there their values.
    pub(super) fn assign(&mut self, node: Node<'t>, value: ValueId, scope: ScopeId) {
        match node.kind() {
            "identifier" | "shorthand_property_identifier_pattern" | "undefined" => {
                if self.typed || node.kind() == "identifier" {
                    self.builder.name(node, scope, NameSpace::VALUE);
                }
                if !self.typed {
                    self.assigned.push((scope, node, value));
                }
            }
            "member_expression" => {
                let target = self.expression(node, scope);
                self.write_member(node, target, value, scope);
            }
            "subscript_expression" => {
                let target = self.expression(node, scope);
                let index = field(node, "index");
                let new = NewBinding::of(BindingKind::Field, value);
                let new = self.aliased(new);
                let Some(index) = index else { return };
                let name = unquoted(self.builder.text(index)).to_owned();
                match self.builder.structure.value(target) {
                    Value::Member { of, .. } => {
                        let of = *of;
                        let binding = self.builder.loose(&name, index, new);
                        self.builder.write(of, FieldKey::Name(name.into()), binding);
                    }
                    Value::Item { of, key } => {
                        let (of, key) = (*of, *key);
                        let binding = self.builder.loose(&name, index, new);
                        self.builder.write(of, FieldKey::Value(key), binding);
                    }
                    _ => {}
                }
            }
            "array_pattern"
            | "object_pattern"
            | "assignment_pattern"
            | "rest_pattern"
            | "object_assignment_pattern"
            | "array"
            | "object"
            | "parenthesized_expression"
            | "pair_pattern"
            | "assignment_expression"
            | "non_null_expression"
            | "spread_element" => {
                for (part, value) in self.parts(node, value, scope) {
                    self.assign(part, value, scope);
                }
            }
            _ => _ = self.expression(node, scope),
        }
    }

    fn write_member(&mut self, node: Node<'t>, target: ValueId, value: ValueId, scope: ScopeId) {
        let Some(property) = field(node, "property") else { return };
        let name = self.builder.text(property).to_owned();
        if self.export_by_assignment(node, &name, property, value, scope) {
            return;
        }
        let Value::Member { of, .. } = self.builder.structure.value(target) else { return };
        let of = *of;
        // `this` in a function that becomes a member is the object.
        if let Value::Function(function) = &mut self.builder.structure.values[value.0 as usize]
            && function.receiver.is_some()
        {
            function.class.get_or_insert(of);
        }
        let new = NewBinding::of(BindingKind::Field, value);
        let new = self.aliased(new);
        let binding = self.builder.loose(&name, property, new);
        self.builder.write(of, FieldKey::Name(name.into()), binding);
    }

    /// The patterns inside of a pattern, with the parts of its value.
    fn parts(&mut self, node: Node<'t>, value: ValueId, scope: ScopeId) -> Vec<(Node<'t>, ValueId)> {
        match node.kind() {
            "array_pattern" | "array" => {
                let mut cursor = node.walk();
                let mut place = 0;
                let mut parts = Vec::new();
                for child in node.children(&mut cursor) {
                    match child.kind() {
                        "," => place += 1,
                        "rest_pattern" | "spread_element" => parts.push((child, value)),
                        _ if child.is_named() => {
                            let name = place.to_string();
                            parts.push((child, self.part(value, name)));
                        }
                        _ => {}
                    }
                }
                parts
            }
            "object_pattern" | "object" => {
                let mut parts = Vec::new();
                for child in children(node) {
                    match child.kind() {
                        "pair_pattern" | "pair" => {
                            let (Some(key), Some(inner)) = (field(child, "key"), field(child, "value")) else {
                                continue;
                            };
                            let part = self.key_part(value, key, scope);
                            parts.push((inner, part));
                        }
                        "shorthand_property_identifier_pattern" | "shorthand_property_identifier" => {
                            let name = self.builder.text(child).to_owned();
                            let part = self.part(value, name);
                            self.builder.refer(child, scope, part);
                            parts.push((child, part));
                        }
                        "object_assignment_pattern" => {
                            let (Some(left), Some(right)) = (field(child, "left"), field(child, "right")) else {
                                continue;
                            };
                            let name = self.builder.text(left).to_owned();
                            let part = self.part(value, name);
                            let default = self.expression(right, scope);
                            parts.push((left, self.builder.value(Value::AnyOf(vec![part, default]))));
                        }
                        _ => parts.push((child, value)),
                    }
                }
                parts
            }
            "assignment_pattern" | "assignment_expression" => {
                let (Some(left), Some(right)) = (field(node, "left"), field(node, "right")) else { return Vec::new() };
                let default = self.expression(right, scope);
                vec![(left, self.builder.value(Value::AnyOf(vec![value, default])))]
            }
            _ => children(node).into_iter().map(|child| (child, value)).collect(),
        }
    }

    fn part(&mut self, of: ValueId, name: String) -> ValueId {
        self.builder.value(Value::Member { of, name: name.into(), space: NameSpace::VALUE })
    }

    /// The part of a value that a key names.
    fn key_part(&mut self, of: ValueId, key: Node<'t>, scope: ScopeId) -> ValueId {
        match key.kind() {
            "computed_property_name" => {
                let key = key.named_child(0).map(|inner| self.expression(inner, scope));
                match key {
                    Some(key) => self.builder.value(Value::Item { of, key }),
                    None => of,
                }
            }
            _ => {
                let name = unquoted(self.builder.text(key)).to_owned();
                let part = self.part(of, name);
                self.builder.refer(key, scope, part);
                part
            }
        }
    }
}
