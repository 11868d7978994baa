//! Expressions.

use tree_sitter::Node;

use super::{Script, field, functions::Owner, unquoted};
use crate::structure::{
    builder::{NewBinding, children, deep},
    file::{Argument, BindingKind, BuiltinType, FieldKey, NameSpace, RecordValue, ScopeId, ScopeKind, Value, ValueId},
};

impl<'t> Script<'_, '_, 't> {
    /// The value of an expression.
    pub(super) fn expression(&mut self, node: Node<'t>, scope: ScopeId) -> ValueId {
        deep(|| self.expression_of(node, scope))
    }

    fn expression_of(&mut self, node: Node<'t>, scope: ScopeId) -> ValueId {
        match node.kind() {
            "identifier" | "undefined" => self.builder.name(node, scope, NameSpace::VALUE),
            "this" => {
                let value = Value::Name { name: "this".into(), scope, space: NameSpace::VALUE, at: u32::MAX };
                self.builder.value(value)
            }
            "super" => {
                let class = self.builder.nearest(scope, &[ScopeKind::Class]);
                match self.builder.structure.scope(class).owner {
                    Some(class) => self.builder.value(Value::Super { class }),
                    None => self.builder.opaque(),
                }
            }
            "member_expression" => {
                let Some(object) = field(node, "object") else { return self.builder.opaque() };
                let of = self.expression(object, scope);
                match field(node, "property") {
                    Some(property) => self.builder.member(of, property, scope, NameSpace::VALUE),
                    None => of,
                }
            }
            "subscript_expression" => self.subscript(node, scope),
            "call_expression" => self.call(node, scope),
            "new_expression" => {
                let Some(constructor) = field(node, "constructor") else { return self.builder.opaque() };
                let mut callee = self.expression(constructor, scope);
                if let Some(arguments) = field(node, "type_arguments") {
                    let arguments = children(arguments).into_iter().map(|it| self.type_value(it, scope)).collect();
                    callee = self.builder.value(Value::Applied { of: callee, arguments });
                }
                let arguments = self.arguments(field(node, "arguments"), scope);
                self.builder.call(node, scope, callee, arguments, Vec::new(), true)
            }
            "function_expression" | "arrow_function" | "generator_function" | "function" | "function_signature" => {
                self.function(node, scope, None)
            }
            "class" => self.class(node, scope),
            "object" => self.object(node, scope),
            "array" => self.array(node, scope),
            "assignment_expression" => {
                let (Some(left), Some(right)) = (field(node, "left"), field(node, "right")) else {
                    return self.each(node, scope);
                };
                let value = self.expression(right, scope);
                self.assign(left, value, scope);
                value
            }
            "augmented_assignment_expression" => {
                let (Some(left), Some(right)) = (field(node, "left"), field(node, "right")) else {
                    return self.each(node, scope);
                };
                let value = self.expression(right, scope);
                self.assign(left, value, scope);
                value
            }
            "update_expression" => {
                let Some(argument) = field(node, "argument") else { return self.each(node, scope) };
                let value = self.builder.opaque();
                self.assign(argument, value, scope);
                value
            }
            "parenthesized_expression" | "sequence_expression" | "non_null_expression" | "expression_statement" => {
                self.last(node, scope)
            }
            "await_expression" => {
                let value = self.last(node, scope);
                self.builder.value(Value::Awaited(value))
            }
            "yield_expression" => {
                let value = self.last(node, scope);
                self.returns.last_mut().into_iter().for_each(|returns| returns.push(value));
                self.builder.opaque()
            }
            "ternary_expression" => {
                field(node, "condition").into_iter().for_each(|it| _ = self.expression(it, scope));
                let parts = [field(node, "consequence"), field(node, "alternative")];
                let values = parts.into_iter().flatten().map(|it| self.expression(it, scope)).collect();
                self.builder.value(Value::AnyOf(values))
            }
            "binary_expression" => {
                let operator = field(node, "operator").map_or("", |it| it.kind());
                let parts = [field(node, "left"), field(node, "right")];
                let values: Vec<ValueId> = parts.into_iter().flatten().map(|it| self.expression(it, scope)).collect();
                match operator {
                    "||" | "??" | "&&" => self.builder.value(Value::AnyOf(values)),
                    _ => self.builder.opaque(),
                }
            }
            "as_expression" | "satisfies_expression" | "type_assertion" => self.with_type(node, scope),
            "instantiation_expression" => {
                let parts = children(node);
                let of = parts.first().map(|it| self.expression(*it, scope));
                for arguments in parts.iter().filter(|it| it.kind() == "type_arguments") {
                    children(*arguments).into_iter().for_each(|it| _ = self.type_value(it, scope));
                }
                of.unwrap_or_else(|| self.builder.opaque())
            }
            "string" | "number" => {
                let text = unquoted(self.builder.text(node)).to_owned();
                self.builder.value(Value::Constant { text: text.into(), type_name: BuiltinType::None })
            }
            "template_string" => {
                for part in children(node).into_iter().filter(|it| it.kind() == "template_substitution") {
                    self.each(part, scope);
                }
                self.builder.opaque()
            }
            "jsx_opening_element" | "jsx_self_closing_element" | "jsx_closing_element" => {
                if let Some(name) = field(node, "name") {
                    self.expression(name, scope);
                }
                for part in children(node).into_iter().filter(|it| Some(*it) != field(node, "name")) {
                    self.expression(part, scope);
                }
                self.builder.opaque()
            }
            "jsx_attribute" => {
                for part in children(node).into_iter().filter(|it| it.kind() != "property_identifier") {
                    self.expression(part, scope);
                }
                self.builder.opaque()
            }
            "property_identifier"
            | "regex"
            | "comment"
            | "html_comment"
            | "jsx_text"
            | "jsx_namespace_name"
            | "import" => self.builder.opaque(),
            "statement_block" => {
                self.block(node, scope);
                self.builder.opaque()
            }
            "internal_module" | "function_declaration" | "class_declaration" | "lexical_declaration" => {
                self.statement(node, scope);
                self.builder.opaque()
            }
            _ => self.each(node, scope),
        }
    }

    pub(super) fn each(&mut self, node: Node<'t>, scope: ScopeId) -> ValueId {
        for child in children(node) {
            self.expression(child, scope);
        }
        self.builder.opaque()
    }

    fn last(&mut self, node: Node<'t>, scope: ScopeId) -> ValueId {
        let values: Vec<ValueId> = children(node).into_iter().map(|it| self.expression(it, scope)).collect();
        values.last().copied().unwrap_or_else(|| self.builder.opaque())
    }

    fn subscript(&mut self, node: Node<'t>, scope: ScopeId) -> ValueId {
        let Some(object) = field(node, "object") else { return self.builder.opaque() };
        let of = self.expression(object, scope);
        let Some(index) = field(node, "index") else { return of };
        match index.kind() {
            "string" | "number" => {
                let name = unquoted(self.builder.text(index)).to_owned();
                let value = self.builder.value(Value::Member { of, name: name.into(), space: NameSpace::VALUE });
                self.builder.refer(index, scope, value);
                value
            }
            _ => {
                let key = self.expression(index, scope);
                self.builder.value(Value::Item { of, key })
            }
        }
    }

    /// `x as T`: of the type, and where that is unknown the value. `x satisfies T` is both.
    fn with_type(&mut self, node: Node<'t>, scope: ScopeId) -> ValueId {
        let parts = children(node);
        let (value, of) = match (node.kind(), parts.as_slice()) {
            ("type_assertion", [of, value]) => {
                let of = children(*of).first().map(|it| self.type_value(*it, scope));
                (self.expression(*value, scope), of)
            }
            (_, [value, of]) => {
                let value = self.expression(*value, scope);
                (value, (of.kind() != "const").then(|| self.type_value(*of, scope)))
            }
            (_, [value, ..]) => (self.expression(*value, scope), None),
            _ => (self.builder.opaque(), None),
        };
        let Some(of) = of else { return value };
        let instance = self.builder.value(Value::Instance(of));
        match node.kind() {
            "satisfies_expression" => self.builder.value(Value::AnyOf(vec![value, instance])),
            _ => instance,
        }
    }

    fn call(&mut self, node: Node<'t>, scope: ScopeId) -> ValueId {
        let Some(function) = field(node, "function") else { return self.each(node, scope) };
        let list = field(node, "arguments");
        let first = list.and_then(|it| children(it).first().copied()).filter(|it| it.kind() == "string");
        let is_name = |name: &str| function.kind() == "identifier" && self.builder.text(function) == name;
        if let Some(module) = first
            && (function.kind() == "import" || is_name("require"))
        {
            let value = self.imported(module, scope);
            return match function.kind() {
                "import" => self.builder.value(Value::Later(value)),
                _ => {
                    self.builder.name(function, scope, NameSpace::VALUE);
                    self.required(value)
                }
            };
        }
        let mut callee = self.expression(function, scope);
        if let Some(arguments) = field(node, "type_arguments") {
            let arguments = children(arguments).into_iter().map(|it| self.type_value(it, scope)).collect();
            callee = self.builder.value(Value::Applied { of: callee, arguments });
        }
        let arguments = self.arguments(list, scope);
        for (argument, place) in arguments.iter().zip(0..) {
            if let Value::Function(function) = &mut self.builder.structure.values[argument.value.0 as usize] {
                function.given_to = Some((callee, place));
            }
        }
        self.builder.call(node, scope, callee, arguments, Vec::new(), false)
    }

    fn arguments(&mut self, list: Option<Node<'t>>, scope: ScopeId) -> Vec<Argument> {
        let Some(list) = list else { return Vec::new() };
        if list.kind() == "template_string" {
            self.expression(list, scope);
            return Vec::new();
        }
        let mut arguments = Vec::new();
        for argument in children(list) {
            let is_spread = argument.kind() == "spread_element";
            let value = if is_spread { self.last(argument, scope) } else { self.expression(argument, scope) };
            arguments.push(Argument { value, is_spread });
        }
        arguments
    }

    fn object(&mut self, node: Node<'t>, scope: ScopeId) -> ValueId {
        let record = self.builder.opaque();
        let owner = Some(Owner { value: record, is_static: false });
        let mut written = RecordValue::default();
        for member in children(node) {
            match member.kind() {
                "pair" => {
                    let (Some(key), Some(value)) = (field(member, "key"), field(member, "value")) else { continue };
                    let given = match value.kind() {
                        "function_expression" | "generator_function" => self.function(value, scope, owner),
                        _ => self.expression(value, scope),
                    };
                    self.object_field(key, given, scope, BindingKind::Field, &mut written);
                }
                "method_definition" => {
                    let value = self.function(member, scope, owner);
                    if let Some(name) = field(member, "name") {
                        self.object_field(name, value, scope, BindingKind::Function, &mut written);
                    }
                }
                "shorthand_property_identifier" => {
                    let value = self.builder.name(member, scope, NameSpace::VALUE);
                    self.object_field(member, value, scope, BindingKind::Field, &mut written);
                }
                "spread_element" => {
                    let value = self.last(member, scope);
                    written.spreads.push(value);
                }
                _ => _ = self.expression(member, scope),
            }
        }
        self.builder.structure.values[record.0 as usize] = Value::Record(Box::new(written));
        record
    }

    fn object_field(
        &mut self,
        key: Node<'t>,
        value: ValueId,
        scope: ScopeId,
        kind: BindingKind,
        record: &mut RecordValue,
    ) {
        let new = NewBinding::of(kind, value);
        let new = self.aliased(new);
        match (key.kind(), key.named_child(0)) {
            ("computed_property_name", Some(inner)) => {
                let computed = self.expression(inner, scope);
                let text = self.builder.text(inner).to_owned();
                let binding = self.builder.loose(&text, key, new);
                record.fields.push((FieldKey::Value(computed), binding));
            }
            _ => {
                let name = unquoted(self.builder.text(key)).to_owned();
                let binding = self.builder.loose(&name, key, new);
                record.fields.push((FieldKey::Name(name.into()), binding));
            }
        }
    }

    fn array(&mut self, node: Node<'t>, scope: ScopeId) -> ValueId {
        let array = self.builder.opaque();
        let owner = Some(Owner { value: array, is_static: false });
        let mut record = RecordValue::default();
        for (part, at) in children(node).into_iter().zip(0..) {
            if part.kind() == "spread_element" {
                let value = self.last(part, scope);
                record.spreads.push(value);
                continue;
            }
            let value = match part.kind() {
                "function_expression" => self.function(part, scope, owner),
                _ => self.expression(part, scope),
            };
            let binding = self.builder.loose("", part, NewBinding::of(BindingKind::Element, value));
            record.fields.push((FieldKey::Name(i32::to_string(&at).into()), binding));
        }
        self.builder.structure.values[array.0 as usize] = Value::Record(Box::new(record));
        array
    }
}
