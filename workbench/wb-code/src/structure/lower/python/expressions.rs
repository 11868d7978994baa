//! Expressions.

use tree_sitter::Node;

use super::{Lowering, Place, VALUE, field, is_block};
use crate::structure::{
    builder::{NewBinding, children, deep},
    file::{Argument, BindingKind, BuiltinType, FieldKey, Value, ValueId},
};

impl Lowering<'_, '_> {
    /// A name with dots, each of them a reference.
    pub(super) fn dotted(&mut self, node: Node<'_>, place: Place) -> ValueId {
        let mut value = None;
        for part in children(node) {
            value = Some(match value {
                None => self.builder.name(part, place.scope, VALUE),
                Some(of) => self.builder.member(of, part, place.scope, VALUE),
            });
        }
        value.unwrap_or_else(|| self.builder.opaque())
    }

    pub(super) fn expression(&mut self, node: Node<'_>, place: Place) -> ValueId {
        deep(|| self.expression_of(node, place))
    }

    pub(super) fn expression_of(&mut self, node: Node<'_>, place: Place) -> ValueId {
        match node.kind() {
            "identifier" => self.builder.name(node, place.scope, VALUE),
            "dotted_name" => self.dotted(node, place),
            "attribute" => {
                let of = match field(node, "object") {
                    Some(object) => self.expression(object, place),
                    None => self.builder.opaque(),
                };
                match field(node, "attribute") {
                    Some(name) => self.builder.member(of, name, place.scope, VALUE),
                    None => of,
                }
            }
            "subscript" => {
                let of = match field(node, "value") {
                    Some(object) => self.expression(object, place),
                    None => self.builder.opaque(),
                };
                match field(node, "subscript") {
                    Some(key) if key.kind() == "slice" => {
                        self.each(key, place);
                        of
                    }
                    Some(key) => {
                        let key = self.expression(key, place);
                        self.builder.value(Value::Item { of, key })
                    }
                    None => of,
                }
            }
            "call" => self.call(node, place),
            "lambda" => {
                let (value, _) = self.function(node, place, &[]);
                value
            }
            "assignment" | "named_expression" => {
                let (left, right) = match node.kind() {
                    "assignment" => (field(node, "left"), field(node, "right")),
                    _ => (field(node, "name"), field(node, "value")),
                };
                let value = right.map(|right| self.expression(right, place));
                let declared = field(node, "type").map(|declared| self.expression(declared, place));
                let value = value.or_else(|| declared.map(|of| self.builder.value(Value::Instance(of))));
                let value = value.unwrap_or_else(|| self.builder.opaque());
                if let Some(left) = left {
                    self.assign(left, value, place);
                }
                value
            }
            "augmented_assignment" => {
                let right = field(node, "right").map(|right| self.expression(right, place));
                if let Some(left) = field(node, "left") {
                    self.expression(left, place);
                }
                right.unwrap_or_else(|| self.builder.opaque())
            }
            "string" | "concatenated_string" => {
                self.interpolations(node, place);
                let text = self.builder.text(node);
                let bare = text.trim_matches(['"', '\'']);
                self.builder.value(Value::Constant { text: format!("'{bare}'").into(), type_name: BuiltinType::Str })
            }
            "integer" | "float" => {
                let text = self.builder.text(node).to_owned();
                self.builder.value(Value::Constant { text: text.into(), type_name: BuiltinType::Number })
            }
            "list" | "tuple" | "expression_list" | "set" => {
                let type_name = match node.kind() {
                    "list" => BuiltinType::List,
                    "set" => BuiltinType::Set,
                    _ => BuiltinType::Tuple,
                };
                self.sequence(node, type_name, place)
            }
            "dictionary" => self.dictionary(node, place),
            "list_comprehension" | "set_comprehension" | "generator_expression" | "dictionary_comprehension" => {
                self.comprehension(node, place)
            }
            "parenthesized_expression" | "keyword_separator" => match node.named_child(0) {
                Some(inner) => self.expression(inner, place),
                None => self.builder.opaque(),
            },
            "conditional_expression" | "boolean_operator" => {
                let mut values: Vec<ValueId> =
                    children(node).into_iter().map(|it| self.expression(it, place)).collect();
                if node.kind() == "conditional_expression" && values.len() == 3 {
                    values.remove(1);
                }
                self.builder.value(Value::AnyOf(values))
            }
            "as_pattern" => {
                let parts = children(node);
                let value = match parts.first() {
                    Some(first) => self.expression(*first, place),
                    None => self.builder.opaque(),
                };
                if let Some(target) = field(node, "alias") {
                    self.assign(target, value, place);
                }
                value
            }
            "await" => {
                let value = self.last(node, place);
                self.builder.value(Value::Awaited(value))
            }
            "yield" => {
                let value = self.last(node, place);
                let is_from = node.child(1).is_some_and(|child| child.kind() == "from");
                let given = if is_from { self.builder.value(Value::Element(value)) } else { value };
                if let Some((returns, yields)) = self.returns.last_mut() {
                    returns.push(given);
                    *yields = true;
                }
                self.builder.opaque()
            }
            "type" | "list_splat" | "dictionary_splat" | "expression_statement" => self.last(node, place),
            kind if is_block(kind) => {
                self.statements(node, place);
                self.builder.opaque()
            }
            "function_definition" | "class_definition" | "decorated_definition" | "return_statement" => {
                self.statement(node, place);
                self.builder.opaque()
            }
            _ => {
                self.each(node, place);
                self.builder.opaque()
            }
        }
    }

    pub(super) fn each(&mut self, node: Node<'_>, place: Place) {
        for child in children(node) {
            self.expression(child, place);
        }
    }

    /// Goes through the parts, the last of which is its value.
    pub(super) fn last(&mut self, node: Node<'_>, place: Place) -> ValueId {
        let mut value = None;
        for child in children(node) {
            value = Some(self.expression(child, place));
        }
        value.unwrap_or_else(|| self.builder.opaque())
    }

    /// A call of a method that Python calls by itself.
    fn called(&mut self, of: ValueId, name: &str, node: Node<'_>, place: Place) -> ValueId {
        let callee = self.builder.value(Value::Member { of, name: name.into(), space: VALUE });
        self.builder.call(node, place.scope, callee, Vec::new(), Vec::new(), false)
    }

    /// Each element of what is gone through.
    pub(super) fn each_of(&mut self, of: ValueId, node: Node<'_>, place: Place) -> ValueId {
        let iterator = self.called(of, "__iter__", node, place);
        self.called(iterator, "__next__", node, place);
        self.builder.value(Value::Element(of))
    }

    /// Values behind `with`, and the name that is given to it.
    pub(super) fn opened(&mut self, node: Node<'_>, place: Place) {
        let Some(item) = field(node, "value") else { return };
        let (context, target) = match item.kind() {
            "as_pattern" => (item.named_child(0), field(item, "alias")),
            _ => (Some(item), None),
        };
        let Some(context) = context else { return };
        let value = self.expression(context, place);
        let entered = self.called(value, "__enter__", node, place);
        self.called(value, "__exit__", node, place);
        if let Some(target) = target {
            let given = self.builder.value(Value::FirstOf(vec![entered, value]));
            self.assign(target, given, place);
        }
    }

    pub(super) fn call(&mut self, node: Node<'_>, place: Place) -> ValueId {
        let Some(function) = field(node, "function") else { return self.builder.opaque() };
        let is_super = function.kind() == "identifier" && self.builder.text(function) == "super";
        let callee = self.expression(function, place);
        let (mut arguments, mut named) = (Vec::new(), Vec::new());
        if let Some(list) = field(node, "arguments") {
            if list.kind() == "generator_expression" {
                let value = self.expression(list, place);
                arguments.push(Argument { value, is_spread: false });
            } else {
                for argument in children(list) {
                    match argument.kind() {
                        "keyword_argument" => {
                            let value = field(argument, "value").map(|value| self.expression(value, place));
                            let name = field(argument, "name").map(|name| self.builder.text(name).into());
                            named.extend(name.zip(value));
                        }
                        "dictionary_splat" => _ = self.expression(argument, place),
                        kind => {
                            let value = self.expression(argument, place);
                            arguments.push(Argument { value, is_spread: kind == "list_splat" });
                        }
                    }
                }
            }
        }
        // `d.update({...})` writes what it is given.
        if let ("attribute", Some(first)) = (function.kind(), arguments.first())
            && field(function, "attribute").is_some_and(|name| self.builder.text(name) == "update")
            && let Value::Member { of, .. } = self.builder.structure.value(callee)
            && let Value::Record(record) = self.builder.structure.value(first.value)
        {
            let of = *of;
            for (key, binding) in record.fields.clone() {
                self.builder.write(of, key, binding);
            }
        }
        // `l.append(x)` puts `x` into it, at a place that nobody counts.
        if let Value::Member { of, name, .. } = self.builder.structure.value(callee)
            && ["append", "appendleft", "add", "insert"].contains(&name.as_str())
            && let Some(last) = arguments.last()
        {
            let (of, value) = (*of, last.value);
            let binding = self.builder.loose("", node, NewBinding::of(BindingKind::Element, value));
            self.builder.write(of, FieldKey::Any, binding);
        }
        let call = self.builder.call(node, place.scope, callee, arguments, named, false);
        match self.class_around(place).filter(|_| is_super) {
            Some(class) => self.builder.value(Value::Super { class }),
            None => call,
        }
    }
}
