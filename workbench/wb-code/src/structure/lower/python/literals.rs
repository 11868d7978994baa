//! Lists, tuples, dictionaries and comprehensions.

use tree_sitter::Node;

use super::{Lowering, Place, field};
use crate::structure::{
    builder::{NewBinding, children},
    file::{BindingId, BindingKind, BuiltinType, FieldKey, RecordValue, ScopeKind, Value, ValueId},
};

impl Lowering<'_, '_> {
    pub(super) fn sequence(&mut self, node: Node<'_>, type_name: BuiltinType, place: Place) -> ValueId {
        let mut record = RecordValue { type_name, ..RecordValue::default() };
        for (at, part) in children(node).into_iter().enumerate() {
            let value = self.expression(part, place);
            if part.kind() == "list_splat" {
                record.spreads.push(value);
                continue;
            }
            let binding = self.builder.loose("", part, NewBinding::of(BindingKind::Element, value));
            record.fields.push((FieldKey::Name(at.to_string().into()), binding));
        }
        self.builder.value(Value::Record(Box::new(record)))
    }

    pub(super) fn field_of(&mut self, node: Node<'_>, name: &str, value: ValueId) -> BindingId {
        self.builder.loose(name, node, NewBinding::of(BindingKind::Field, value).alias())
    }

    pub(super) fn dictionary(&mut self, node: Node<'_>, place: Place) -> ValueId {
        let mut record = RecordValue { type_name: BuiltinType::Dict, ..RecordValue::default() };
        for pair in children(node) {
            let (Some(key), Some(value)) = (field(pair, "key"), field(pair, "value")) else {
                let spread = self.expression(pair, place);
                record.spreads.push(spread);
                continue;
            };
            let (key_value, value) = (self.expression(key, place), self.expression(value, place));
            let text = self.builder.text(key).to_owned();
            let binding = self.field_of(key, &text, value);
            record.fields.push((FieldKey::Value(key_value), binding));
        }
        self.builder.value(Value::Record(Box::new(record)))
    }

    /// A comprehension has a scope of its own.
    pub(super) fn comprehension(&mut self, node: Node<'_>, place: Place) -> ValueId {
        let scope = self.builder.scope(ScopeKind::Block, Some(place.scope), None);
        let inner = Place { scope, ..place };
        let parts = children(node);
        for part in parts.iter().filter(|part| part.kind() == "for_in_clause") {
            let right = field(*part, "right").map(|right| self.expression(right, inner));
            if let (Some(left), Some(right)) = (field(*part, "left"), right) {
                let element = self.each_of(right, *part, inner);
                self.assign(left, element, inner);
            }
        }
        let mut given = None;
        for part in parts.iter().filter(|part| part.kind() != "for_in_clause") {
            let value = match part.kind() {
                "pair" => self.last(*part, inner),
                _ => self.expression(*part, inner),
            };
            given = given.or((part.kind() != "if_clause").then_some(value));
        }
        let mut record = RecordValue { type_name: BuiltinType::List, ..RecordValue::default() };
        if let (Some(value), Some(first)) = (given, parts.first()) {
            let binding = self.builder.loose("", *first, NewBinding::of(BindingKind::Element, value));
            record.fields.push((FieldKey::Any, binding));
        }
        self.builder.value(Value::Record(Box::new(record)))
    }

    pub(super) fn interpolations(&mut self, node: Node<'_>, place: Place) {
        for child in children(node) {
            match child.kind() {
                "interpolation" => self.each(child, place),
                _ => self.interpolations(child, place),
            }
        }
    }
}
