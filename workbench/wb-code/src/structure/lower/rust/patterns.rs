//! Patterns: what they bind, each to its part of what they are matched with.

use tree_sitter::Node;

use super::{BOTH, FIELD, Lowering, Place, TYPE, VALUE, calls, field, placed};
use crate::structure::{
    builder::{NewBinding, children},
    file::{BindingKind, NameSpace, Value, ValueId},
};

impl Lowering<'_, '_> {
    /// Binds the names of a pattern in the scope of a place.
    pub(super) fn pattern(&mut self, node: Node<'_>, subject: ValueId, place: Place) {
        self.within(|this| {
            this.pattern_within(node, subject, place);
            this.nothing
        });
    }

    fn pattern_within(&mut self, node: Node<'_>, subject: ValueId, place: Place) {
        match node.kind() {
            // A name that begins with a capital is that of a constant or of a variant.
            "identifier" if self.builder.text(node).starts_with(char::is_uppercase) => {
                self.path(node, place, VALUE);
            }
            "identifier" => self.variable(node, Some(subject), None, place),
            "scoped_identifier" => _ = self.path(node, place, VALUE),
            "generic_pattern" => {
                for child in children(node) {
                    match child.kind() {
                        "type_arguments" => _ = self.with_arguments(subject, child, place),
                        _ => _ = self.path(child, place, VALUE),
                    }
                }
            }
            "tuple_pattern" => self.parts(node, None, subject, place),
            "tuple_struct_pattern" => {
                let of = field(node, "type").map(|of| self.narrowed(of, subject, BOTH, place)).unwrap_or(subject);
                self.parts(node, field(node, "type"), of, place);
            }
            "struct_pattern" => {
                let of = field(node, "type").map(|of| self.narrowed(of, subject, TYPE, place)).unwrap_or(subject);
                for child in children(node).into_iter().filter(|child| child.kind() == "field_pattern") {
                    let Some(name) = field(child, "name") else { continue };
                    let value = self.builder.member(of, name, place.scope, FIELD);
                    match field(child, "pattern") {
                        Some(pattern) => self.pattern(pattern, value, place),
                        None => self.variable(name, Some(value), None, place),
                    }
                }
            }
            "slice_pattern" => {
                for child in children(node) {
                    let is_rest = child.kind() == "captured_pattern"
                        && child.named_child(1).is_some_and(|inner| inner.kind() == "remaining_field_pattern");
                    let part = if is_rest { subject } else { self.associated(subject, "Output") };
                    self.pattern(child, part, place);
                }
            }
            "captured_pattern" => {
                for (at, child) in children(node).into_iter().enumerate() {
                    match at {
                        0 => self.variable(child, Some(subject), None, place),
                        _ => self.pattern(child, subject, place),
                    }
                }
            }
            "ref_pattern" | "reference_pattern" | "mut_pattern" | "or_pattern" => {
                for child in children(node) {
                    self.pattern(child, subject, place);
                }
            }
            "range_pattern" => {
                for end in children(node) {
                    self.expression(end, place);
                }
            }
            "const_block" | "macro_invocation" => _ = self.expression(node, place),
            _ => {}
        }
    }

    /// A variable with what it is given, and its declared type.
    pub(super) fn variable(&mut self, node: Node<'_>, value: Option<ValueId>, declared: Option<ValueId>, place: Place) {
        let text = self.builder.text(node);
        // A pattern has a name twice only where it has alternatives: it is one variable.
        let names = &self.builder.structure.scope(place.scope).names;
        if let Some((_, binding)) = names.iter().find(|(own, _)| own == text) {
            let binding = *binding;
            let values = self.builder.structure.binding(binding).value.into_iter().chain(value).collect();
            let merged = self.builder.value(Value::AnyOf(values));
            self.builder.binding_mut(binding).value = Some(merged);
            self.builder.name(node, place.scope, VALUE);
            return;
        }
        let new = NewBinding { value, ..NewBinding::new(BindingKind::Variable) };
        self.builder.bind(place.scope, text, node, new.typed(declared));
    }

    /// Parts of a pattern by their places.
    fn parts(&mut self, node: Node<'_>, without: Option<Node<'_>>, of: ValueId, place: Place) {
        let mut is_behind_rest = false;
        for (at, part) in placed(node).into_iter().filter(|(_, part)| Some(*part) != without) {
            if part.kind() == "remaining_field_pattern" {
                is_behind_rest = true;
                continue;
            }
            // How many places `..` takes is not known here.
            let value = match is_behind_rest {
                true => self.nothing,
                false => self.builder.value(Value::Member { of, name: at.to_string().into(), space: FIELD }),
            };
            self.pattern(part, value, place);
        }
    }

    /// A matched value, as the struct or the variant of a path sees it.
    fn narrowed(&mut self, path: Node<'_>, subject: ValueId, space: NameSpace, place: Place) -> ValueId {
        let of = self.path(path, place, space);
        let name = field(path, "name").or_else(|| field(path, "type")).unwrap_or(path);
        let name = self.builder.text(name).to_owned();
        // By way of the type of what is matched, a variant knows what its enum is applied to.
        let class = self.builder.value(Value::ClassOf(subject));
        let variant = self.builder.value(Value::Member { of: class, name: name.into(), space });
        let parts = [variant, of].map(|class| self.builder.value(Value::Instance(class)));
        self.builder.value(Value::AnyOf(vec![parts[0], parts[1], subject]))
    }

    /// `let`: what comes after it sees its names.
    pub(super) fn declaration(&mut self, node: Node<'_>, place: Place) -> Place {
        let declared = field(node, "type").map(|ty| {
            let instance = self.instance(ty, place);
            (instance, super::paths::is_left_open(self.builder.text(ty)))
        });
        let value = field(node, "value").map(|value| self.expression(value, place));
        if let Some(otherwise) = field(node, "alternative") {
            self.block(otherwise, place);
        }
        // A type with `_` in it says less than the value.
        let declared = declared.filter(|(_, is_open)| !is_open || value.is_none()).map(|(instance, _)| instance);
        let after = self.inner(place);
        if let Some(pattern) = field(node, "pattern") {
            match pattern.kind() {
                "identifier" => {
                    self.variable(pattern, value, declared, after);
                    let made = field(node, "value").filter(|_| declared.is_none());
                    let made = made.and_then(|made| calls::empty_collection(self.builder.text(made)));
                    let names = &self.builder.structure.scope(after.scope).names;
                    if let (Some(made), Some((_, binding))) = (made, names.last()) {
                        self.empty.insert(*binding, (made, 0));
                    }
                }
                _ => {
                    let subject = declared.or(value).unwrap_or(self.nothing);
                    self.pattern(pattern, subject, after);
                }
            }
        }
        after
    }

    /// A condition; what it binds is seen at the place that is given back.
    pub(super) fn condition(&mut self, node: Node<'_>, place: Place) -> Place {
        match node.kind() {
            "let_condition" => {
                let value = field(node, "value").map(|value| self.expression(value, place)).unwrap_or(self.nothing);
                let after = self.inner(place);
                if let Some(pattern) = field(node, "pattern") {
                    self.pattern(pattern, value, after);
                }
                after
            }
            "let_chain" => children(node).into_iter().fold(place, |place, part| self.condition(part, place)),
            _ => {
                self.expression(node, place);
                place
            }
        }
    }

    /// An arm of `match`.
    pub(super) fn arm(&mut self, node: Node<'_>, subject: ValueId, place: Place) -> ValueId {
        for attribute in children(node).into_iter().filter(|child| child.kind() == "attribute_item") {
            self.attribute(attribute, place);
        }
        let mut inner = self.inner(place);
        if let Some(pattern) = field(node, "pattern") {
            let condition = field(pattern, "condition");
            for part in children(pattern).into_iter().filter(|part| Some(*part) != condition) {
                self.pattern(part, subject, inner);
            }
            if let Some(condition) = condition {
                inner = self.condition(condition, inner);
            }
        }
        match field(node, "value") {
            Some(value) => self.expression(value, inner),
            None => self.nothing,
        }
    }
}
