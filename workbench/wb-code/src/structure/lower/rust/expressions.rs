//! Expressions. A reference is what it refers to.

use tree_sitter::Node;

use super::{Lowering, Place, VALUE, field};
use crate::structure::{
    builder::{NewBinding, children},
    file::{BindingId, BindingKind, FieldKey, NameSpace, RecordValue, ScopeKind, Value, ValueId},
};

impl Lowering<'_, '_> {
    pub(super) fn expression(&mut self, node: Node<'_>, place: Place) -> ValueId {
        self.within(|this| this.expression_within(node, place))
    }

    fn expression_within(&mut self, node: Node<'_>, place: Place) -> ValueId {
        match node.kind() {
            "self" => self.builder.name(node, place.scope, VALUE),
            "identifier" | "scoped_identifier" | "generic_function" => self.path(node, place, VALUE),
            "call_expression" => self.call(node, place),
            "field_expression" => self.field_expression(node, place, super::FIELD),
            "struct_expression" => self.struct_expression(node, place),
            "closure_expression" => self.closure(node, place, None),
            "macro_invocation" => self.macro_invocation(node, place),
            "string_literal" | "raw_string_literal" => self.standard_instance("str"),
            "reference_expression" => self.of_field(node, "value", place),
            "parenthesized_expression"
            | "unary_expression"
            | "try_block"
            | "gen_block"
            | "unsafe_block"
            | "async_block" => self.last(node, place),
            "try_expression" => {
                let value = self.last(node, place);
                self.associated(value, "TryOutput")
            }
            "await_expression" => {
                let value = self.last(node, place);
                let output = self.associated(value, "Output");
                // An `async` function gives its value here, and not something to wait for.
                self.builder.value(Value::AnyOf(vec![output, value]))
            }
            "index_expression" => {
                let (of, key) = (node.named_child(0), node.named_child(1));
                let value = of.map(|of| self.expression(of, place)).unwrap_or(self.nothing);
                let key = key.inspect(|key| _ = self.expression(*key, place));
                match key.is_some_and(|key| key.kind() == "range_expression") {
                    true => value,
                    false => self.associated(value, "Output"),
                }
            }
            "binary_expression" => {
                let left = self.of_field(node, "left", place);
                self.of_field(node, "right", place);
                let operator = field(node, "operator").map_or("", |operator| operator.kind());
                match operator {
                    "+" | "-" | "*" | "/" | "%" | "&" | "|" | "^" | "<<" | ">>" => self.associated(left, "Output"),
                    _ => self.standard_instance("bool"),
                }
            }
            "range_expression" => {
                self.each(node, place);
                self.standard_instance("Range")
            }
            "assignment_expression" => self.assignment(node, place),
            "compound_assignment_expr" => {
                self.each(node, place);
                self.nothing
            }
            "type_cast_expression" => {
                self.of_field(node, "value", place);
                match field(node, "type") {
                    Some(ty) => self.instance(ty, place),
                    None => self.nothing,
                }
            }
            "array_expression" => {
                let values: Vec<ValueId> = self.values(node, place);
                let element = self.builder.value(Value::AnyOf(values));
                self.standard_of("slice", element)
            }
            "tuple_expression" => self.tuple(node, place),
            "block" | "const_block" => self.block_expression(node, place),
            "if_expression" => self.if_expression(node, place),
            "match_expression" => {
                let subject = self.of_field(node, "value", place);
                let arms = field(node, "body").map(children).unwrap_or_default();
                let arms = arms.into_iter().filter(|arm| arm.kind() == "match_arm");
                let values = arms.map(|arm| self.arm(arm, subject, place)).collect();
                self.builder.value(Value::AnyOf(values))
            }
            "while_expression" | "loop_expression" | "for_expression" => self.repeated(node, place),
            "return_expression" => {
                let value = self.last(node, place);
                if let Some(returns) = self.returns.last_mut() {
                    returns.push(value);
                }
                self.nothing
            }
            "break_expression" | "continue_expression" => {
                for child in children(node) {
                    match child.kind() {
                        "label" => _ = self.builder.name(child, place.scope, NameSpace::LABEL),
                        _ => {
                            let value = self.expression(child, place);
                            self.breaks.last_mut().into_iter().for_each(|breaks| breaks.push(value));
                        }
                    }
                }
                self.nothing
            }
            "attribute_item" => {
                self.attribute(node, place);
                self.nothing
            }
            "token_tree" => {
                self.arguments_of(node, place, false);
                self.nothing
            }
            "let_condition" | "let_chain" => {
                self.condition(node, place);
                self.nothing
            }
            _ if !node.is_named() || node.named_child_count() == 0 => self.nothing,
            // A source with mistakes: whatever stands there.
            _ => {
                self.statements(node, self.inner_items(place));
                self.nothing
            }
        }
    }

    /// The place for items that stand where none may.
    fn inner_items(&self, place: Place) -> Place {
        Place { class: None, ..place }
    }

    fn of_field(&mut self, node: Node<'_>, name: &str, place: Place) -> ValueId {
        match field(node, name) {
            Some(inner) => self.expression(inner, place),
            None => self.nothing,
        }
    }

    fn each(&mut self, node: Node<'_>, place: Place) {
        for child in children(node) {
            self.expression(child, place);
        }
    }

    pub(super) fn values(&mut self, node: Node<'_>, place: Place) -> Vec<ValueId> {
        let parts = children(node).into_iter().filter(|child| child.kind() != "attribute_item");
        parts.map(|child| self.expression(child, place)).collect()
    }

    /// Goes through the parts, the last of which is its value.
    fn last(&mut self, node: Node<'_>, place: Place) -> ValueId {
        self.values(node, place).last().copied().unwrap_or(self.nothing)
    }

    /// A value of a type of the standard library without parameters.
    pub(super) fn standard_instance(&mut self, name: &'static str) -> ValueId {
        let of = self.standard(name);
        self.builder.value(Value::Instance(of))
    }

    fn tuple(&mut self, node: Node<'_>, place: Place) -> ValueId {
        let mut record = RecordValue::default();
        let parts = children(node).into_iter().filter(|child| child.kind() != "attribute_item");
        for (at, part) in parts.enumerate() {
            let value = self.expression(part, place);
            let binding = self.builder.loose("", part, NewBinding::of(BindingKind::Field, value));
            record.fields.push((FieldKey::Name(at.to_string().into()), binding));
        }
        self.builder.value(Value::Record(Box::new(record)))
    }

    fn block_expression(&mut self, node: Node<'_>, place: Place) -> ValueId {
        match (node.kind(), field(node, "body")) {
            ("const_block", Some(body)) => self.block(body, place),
            _ => {
                let place = self.labelled(node, place);
                self.block(node, place)
            }
        }
    }

    /// The place within the label of a loop or a block.
    fn labelled(&mut self, node: Node<'_>, place: Place) -> Place {
        let Some(label) = node.named_child(0).filter(|child| child.kind() == "label") else { return place };
        let inner = self.inner(place);
        let text = self.builder.text(label);
        self.builder.bind(inner.scope, text, label, NewBinding::new(BindingKind::Label));
        inner
    }

    fn if_expression(&mut self, node: Node<'_>, place: Place) -> ValueId {
        let inner = match field(node, "condition") {
            Some(condition) => self.condition(condition, place),
            None => place,
        };
        let then = self.of_field(node, "consequence", inner);
        match field(node, "alternative") {
            Some(otherwise) => {
                let value = self.last(otherwise, place);
                self.builder.value(Value::AnyOf(vec![then, value]))
            }
            None => self.nothing,
        }
    }

    fn repeated(&mut self, node: Node<'_>, place: Place) -> ValueId {
        let mut inner = self.labelled(node, place);
        if let Some(condition) = field(node, "condition") {
            inner = self.condition(condition, inner);
        }
        if let (Some(pattern), Some(value)) = (field(node, "pattern"), field(node, "value")) {
            let value = self.expression(value, inner);
            let element = self.associated(value, "Item");
            inner = self.inner(inner);
            self.pattern(pattern, element, inner);
        }
        self.breaks.push(Vec::new());
        self.of_field(node, "body", inner);
        let values = self.breaks.pop().unwrap_or_default();
        self.builder.value(Value::AnyOf(values))
    }

    fn assignment(&mut self, node: Node<'_>, place: Place) -> ValueId {
        let (Some(left), Some(right)) = (field(node, "left"), field(node, "right")) else { return self.nothing };
        if super::calls::is_bodiless(left) {
            return self.closure(left, place, None);
        }
        self.expression(left, place);
        let value = self.expression(right, place);
        if left.kind() == "identifier" {
            self.first_value(left, value, place);
        }
        self.nothing
    }

    /// Gives `let x;` the value that is assigned to it later.
    fn first_value(&mut self, name: Node<'_>, value: ValueId, place: Place) {
        if let Some(binding) = self.local(self.builder.text(name), place) {
            let known = self.builder.binding_mut(binding);
            if known.kind == BindingKind::Variable && known.value.is_none() && known.declared.is_none() {
                known.value = Some(value);
            }
        }
    }

    /// The variable of a name that is seen here.
    pub(super) fn local(&self, name: &str, place: Place) -> Option<BindingId> {
        let mut next = Some(place.scope);
        while let Some(at) = next {
            let scope = self.builder.structure.scope(at);
            if let Some((_, binding)) = scope.names.iter().find(|(own, _)| own == name) {
                return Some(*binding);
            }
            next = scope.parent.filter(|_| scope.kind != ScopeKind::Module);
        }
        None
    }
}
