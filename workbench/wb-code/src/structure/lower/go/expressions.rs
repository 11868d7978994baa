//! Expressions: names, members, calls, literals of types.

use tree_sitter::Node;

use super::{ANY, Block, ELEMENT, KEY, Lowering, field, is_constant};
use crate::structure::{
    builder::{children, deep},
    file::{Argument, ScopeId, Value, ValueId},
};

/// The things that may stand before a colon in a literal.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keys {
    /// Names of fields.
    Fields,
    /// Indices of elements.
    Indices,
    /// Fields, unless the type has none of this name.
    Unknown,
    /// A literal of a type of another package, whose fields have capitals.
    Foreign,
}

impl Lowering<'_, '_> {
    pub(super) fn expression(&mut self, node: Node<'_>, scope: ScopeId) -> ValueId {
        deep(|| self.expression_within(node, scope))
    }

    fn expression_within(&mut self, node: Node<'_>, scope: ScopeId) -> ValueId {
        match node.kind() {
            "identifier" if self.builder.text(node) == "_" => self.builder.opaque(),
            "identifier" | "package_identifier" => self.builder.name(node, scope, ANY),
            "true" | "false" | "nil" | "iota" if self.hidden.contains(self.builder.text(node)) => {
                self.builder.name(node, scope, ANY)
            }
            "selector_expression" => {
                let of = self.part(node, "operand", scope);
                match field(node, "field") {
                    Some(name) => self.builder.member(of, name, scope, ANY),
                    None => of,
                }
            }
            "call_expression" => self.call(node, scope),
            "index_expression" => {
                let of = self.part(node, "operand", scope);
                let index = self.part(node, "index", scope);
                self.indexed(of, index)
            }
            "slice_expression" => {
                let of = self.part(node, "operand", scope);
                for index in ["start", "end", "capacity"] {
                    self.part(node, index, scope);
                }
                of
            }
            "type_assertion_expression" => {
                self.part(node, "operand", scope);
                self.typed(node, scope)
            }
            "type_conversion_expression" => match field(node, "type").filter(|of| of.kind() == "generic_type") {
                Some(callee) => {
                    let callee = self.instantiated(callee, scope);
                    let value = self.part(node, "operand", scope);
                    let arguments = vec![Argument { value, is_spread: false }];
                    self.builder.call(node, scope, callee, arguments, Vec::new(), false)
                }
                None => {
                    let value = self.typed(node, scope);
                    self.part(node, "operand", scope);
                    value
                }
            },
            "type_instantiation_expression" => self.instantiated(node, scope),
            "composite_literal" => self.composite(node, scope),
            "func_literal" => self.function(node, scope, None),
            "unary_expression" => {
                let value = self.part(node, "operand", scope);
                match field(node, "operator").is_some_and(|operator| operator.kind() == "<-") {
                    true => self.item(value, ELEMENT),
                    false => value,
                }
            }
            "binary_expression" => self.binary(node, scope),
            "parenthesized_expression" | "variadic_argument" | "literal_element" => match children(node).first() {
                Some(inner) => self.expression(*inner, scope),
                None => self.builder.opaque(),
            },
            "interpreted_string_literal"
            | "raw_string_literal"
            | "int_literal"
            | "float_literal"
            | "rune_literal"
            | "imaginary_literal" => {
                let text = self.builder.text(node);
                self.constant(text)
            }
            "type_identifier"
            | "qualified_type"
            | "pointer_type"
            | "parenthesized_type"
            | "negated_type"
            | "type_elem"
            | "type_constraint"
            | "slice_type"
            | "array_type"
            | "implicit_length_array_type"
            | "map_type"
            | "channel_type"
            | "generic_type"
            | "function_type"
            | "struct_type"
            | "interface_type" => self.type_of(node, scope),
            // Something that is not whole, or stands where it does not belong.
            _ => {
                let mut block = Block::within(scope);
                for child in children(node) {
                    self.statement(child, &mut block);
                }
                self.builder.opaque()
            }
        }
    }

    fn part(&mut self, node: Node<'_>, name: &str, scope: ScopeId) -> ValueId {
        match field(node, name) {
            Some(part) => self.expression(part, scope),
            None => self.builder.opaque(),
        }
    }

    /// An instance of the type that a node names.
    fn typed(&mut self, node: Node<'_>, scope: ScopeId) -> ValueId {
        let of = match field(node, "type") {
            Some(of) => self.type_of(of, scope),
            None => self.builder.opaque(),
        };
        self.instance(of)
    }

    /// Something before brackets with what stands in them, where the grammar takes it for a type.
    fn instantiated(&mut self, node: Node<'_>, scope: ScopeId) -> ValueId {
        let mut parts = Vec::new();
        for part in children(node) {
            match part.kind() {
                "type_arguments" => {
                    for argument in children(part) {
                        parts.push(self.type_of(argument, scope));
                    }
                }
                "generic_type" => parts.push(self.instantiated(part, scope)),
                _ => parts.push(self.type_of(part, scope)),
            }
        }
        match parts.split_first() {
            Some((of, types)) => self.applied(*of, types.to_vec()),
            None => self.builder.opaque(),
        }
    }

    fn applied(&mut self, of: ValueId, types: Vec<ValueId>) -> ValueId {
        match types.as_slice() {
            [] => of,
            [one] => self.indexed(of, *one),
            _ => self.builder.value(Value::Applied { of, arguments: types }),
        }
    }

    /// An element, or the type or the function with an argument, which look alike.
    fn indexed(&mut self, of: ValueId, index: ValueId) -> ValueId {
        let element = self.constant(ELEMENT);
        let key = self.builder.value(Value::AnyOf(vec![element, index]));
        self.builder.value(Value::Item { of, key })
    }

    /// Operators, of which there may be thousands in a row.
    fn binary(&mut self, node: Node<'_>, scope: ScopeId) -> ValueId {
        let mut right = Vec::new();
        let mut first = node;
        let mut is_same = true;
        while first.kind() == "binary_expression" {
            let operator = field(first, "operator").map_or("", |operator| operator.kind());
            is_same &= !matches!(operator, "==" | "!=" | "<" | "<=" | ">" | ">=" | "&&" | "||");
            right.extend(field(first, "right"));
            match field(first, "left") {
                Some(left) => first = left,
                None => break,
            }
        }
        let mut values = Vec::new();
        if first.kind() != "binary_expression" {
            values.push(self.expression(first, scope));
        }
        for part in right.into_iter().rev() {
            values.push(self.expression(part, scope));
        }
        match is_same {
            true => self.builder.value(Value::AnyOf(values)),
            false => self.builder.opaque(),
        }
    }

    fn call(&mut self, node: Node<'_>, scope: ScopeId) -> ValueId {
        let Some(function) = field(node, "function") else { return self.builder.opaque() };
        let mut callee = self.expression(function, scope);
        let mut types = Vec::new();
        for argument in field(node, "type_arguments").map(children).unwrap_or_default() {
            types.push(self.type_of(argument, scope));
        }
        callee = self.applied(callee, types);
        let mut arguments = Vec::new();
        for argument in field(node, "arguments").map(children).unwrap_or_default() {
            let is_spread = argument.kind() == "variadic_argument";
            arguments.push(Argument { value: self.expression(argument, scope), is_spread });
        }
        let given: Vec<ValueId> = arguments.iter().map(|argument| argument.value).collect();
        let call = self.builder.call(node, scope, callee, arguments, Vec::new(), false);
        // A function of the project may have the name of one of the language.
        let name = if function.kind() == "identifier" { self.builder.text(function) } else { "" };
        let own = match (name, given.first()) {
            ("make" | "new", Some(of)) => self.instance(*of),
            ("append", Some(first)) => *first,
            ("min" | "max", Some(_)) => self.builder.value(Value::AnyOf(given)),
            _ => return call,
        };
        self.builder.value(Value::FirstOf(vec![call, own]))
    }

    fn composite(&mut self, node: Node<'_>, scope: ScopeId) -> ValueId {
        let keys = match field(node, "type").map_or("", |of| of.kind()) {
            "struct_type" => Keys::Fields,
            "map_type" | "slice_type" | "array_type" | "implicit_length_array_type" => Keys::Indices,
            "qualified_type" => Keys::Foreign,
            _ => Keys::Unknown,
        };
        let value = self.typed(node, scope);
        if let Some(body) = field(node, "body") {
            self.literal(body, value, keys, scope);
        }
        value
    }

    /// The elements of a literal whose value is known.
    fn literal(&mut self, node: Node<'_>, value: ValueId, keys: Keys, scope: ScopeId) {
        for part in children(node) {
            match (field(part, "key"), field(part, "value")) {
                (Some(key), Some(element)) => {
                    self.key(key, value, keys, scope);
                    self.element(element, value, ELEMENT, scope);
                }
                _ => self.element(part, value, ELEMENT, scope),
            }
        }
    }

    /// An element or a key; where it is a literal itself, what holds it says its type.
    fn element(&mut self, node: Node<'_>, value: ValueId, name: &str, scope: ScopeId) {
        match children(node).first() {
            Some(inner) if inner.kind() == "literal_value" => {
                let element = self.item(value, name);
                deep(|| self.literal(*inner, element, Keys::Unknown, scope));
            }
            _ => _ = self.expression(node, scope),
        }
    }

    fn key(&mut self, node: Node<'_>, value: ValueId, keys: Keys, scope: ScopeId) {
        let inner = children(node).first().copied().unwrap_or(node);
        let text = self.builder.text(inner);
        let is_capital = text.starts_with(char::is_uppercase);
        let is_name = (inner.kind() == "identifier" && text != "_") || is_constant(inner.kind());
        if !is_name || keys == Keys::Indices || (keys == Keys::Foreign && !is_capital) {
            return self.element(node, value, KEY, scope);
        }
        let at = inner.start_byte() as u32;
        let mut named = self.builder.value(Value::Member { of: value, name: text.into(), space: ANY });
        if keys != Keys::Fields {
            let name = self.builder.value(Value::Name { name: text.into(), scope, space: ANY, at });
            named = self.builder.value(Value::FirstOf(vec![named, name]));
        }
        self.builder.refer(inner, scope, named);
    }
}
