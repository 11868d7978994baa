//! Names that are given values, and the patterns of `match`.

use tree_sitter::Node;

use super::{Lowering, Place, VALUE, field};
use crate::structure::{
    builder::{NewBinding, children, span},
    file::{BindingKind, BuiltinType, FieldKey, ScopeKind, Value, ValueId},
};

impl Lowering<'_, '_> {
    /// Gives the names of a pattern their values.
    pub(super) fn assign(&mut self, target: Node<'_>, value: ValueId, place: Place) {
        match target.kind() {
            "identifier" => {
                let name = self.builder.text(target);
                let scope = self.scope_of(name, place);
                let kind = match self.builder.structure.scope(scope).kind {
                    ScopeKind::Class => BindingKind::Field,
                    _ => BindingKind::Variable,
                };
                let new = NewBinding::of(kind, value).in_space(VALUE).alias();
                self.bind(scope, name, target, new);
            }
            "attribute" => {
                let (Some(object), Some(name)) = (field(target, "object"), field(target, "attribute")) else { return };
                let of = self.expression(object, place);
                let text = self.builder.text(name).to_owned();
                let new = NewBinding::of(BindingKind::Field, value).in_space(VALUE).alias();
                let binding = self.builder.loose(&text, name, new);
                self.builder.write(of, FieldKey::Name(text.into()), binding);
            }
            "subscript" => {
                let Some(object) = field(target, "value") else { return };
                let of = self.expression(object, place);
                if let Some(key) = field(target, "subscript") {
                    let key_value = self.expression(key, place);
                    let text = self.builder.text(key).to_owned();
                    let new = NewBinding::of(BindingKind::Field, value).in_space(VALUE).alias();
                    let binding = self.builder.loose(&text, key, new);
                    self.builder.write(of, FieldKey::Value(key_value), binding);
                }
            }
            "pattern_list" | "tuple_pattern" | "list_pattern" | "tuple" | "list" | "expression_list" => {
                for (at, part) in children(target).into_iter().enumerate() {
                    let key = self
                        .builder
                        .value(Value::Constant { text: at.to_string().into(), type_name: BuiltinType::Number });
                    let item = match part.kind() {
                        "list_splat_pattern" | "list_splat" => self.builder.opaque(),
                        _ => self.builder.value(Value::Item { of: value, key }),
                    };
                    self.assign(part, item, place);
                }
            }
            "list_splat_pattern" | "list_splat" | "parenthesized_expression" | "as_pattern_target" => {
                for part in children(target) {
                    self.assign(part, value, place);
                }
            }
            _ => _ = self.expression(target, place),
        }
    }

    /// A case of `match`: names in its patterns are bound.
    pub(super) fn case(&mut self, node: Node<'_>, subject: ValueId, place: Place) {
        let around = std::mem::replace(&mut self.block, span(node));
        for child in children(node) {
            match child.kind() {
                "case_pattern" => self.pattern(child, subject, place),
                _ => self.statement(child, place),
            }
        }
        self.block = around;
    }

    pub(super) fn pattern(&mut self, node: Node<'_>, subject: ValueId, place: Place) {
        match node.kind() {
            "dotted_name" if node.named_child_count() == 1 => {
                if let Some(name) = node.named_child(0) {
                    self.assign(name, subject, place);
                }
            }
            "dotted_name" => _ = self.dotted(node, place),
            "identifier" => self.assign(node, subject, place),
            "class_pattern" => {
                for (at, child) in children(node).into_iter().enumerate() {
                    match (at, child.kind()) {
                        (0, "dotted_name") => _ = self.dotted(child, place),
                        _ => {
                            let opaque = self.builder.opaque();
                            self.pattern(child, opaque, place);
                        }
                    }
                }
            }
            "keyword_pattern" => {
                for child in children(node).into_iter().skip(1) {
                    let opaque = self.builder.opaque();
                    self.pattern(child, opaque, place);
                }
            }
            "case_pattern" | "as_pattern" | "union_pattern" => {
                for child in children(node) {
                    self.pattern(child, subject, place);
                }
            }
            _ => {
                for child in children(node) {
                    let opaque = self.builder.opaque();
                    self.pattern(child, opaque, place);
                }
            }
        }
    }
}
