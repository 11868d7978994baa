//! Expressions that make something: lambdas, references to methods, objects, arrays.

use tree_sitter::Node;

use super::{DEEPEST, Lowering, children, field, fields, is_annotation, tokens};
use crate::structure::{
    builder::NewBinding,
    file::{
        BindingKind, FieldKey, FunctionParameter, FunctionValue, NameSpace, ParameterKind, RecordValue, ScopeId,
        ScopeKind, Value, ValueId,
    },
};

impl Lowering<'_, '_> {
    pub(super) fn lambda(&mut self, node: Node<'_>, scope: ScopeId) -> ValueId {
        let value = self.builder.opaque();
        let own = self.builder.scope(ScopeKind::Function, Some(scope), Some(value));
        let mut parameters = Vec::new();
        if let Some(list) = field(node, "parameters") {
            let names = match list.kind() {
                "formal_parameters" => {
                    parameters = self.formal_parameters(list, own);
                    Vec::new()
                }
                "inferred_parameters" => children(list),
                _ => vec![list],
            };
            for name in names {
                let text = self.builder.text(name);
                let binding = self.builder.bind(own, text, name, NewBinding::new(BindingKind::Parameter));
                parameters.push(FunctionParameter { binding, kind: ParameterKind::One, default: None });
            }
        }
        self.returns.push(Vec::new());
        match field(node, "body") {
            Some(body) if body.kind() == "block" => self.block(body, own),
            Some(body) => {
                let value = self.expression(body, own);
                self.returns.last_mut().into_iter().for_each(|returns| returns.push(value));
            }
            None => {}
        }
        let returns = self.returns.pop().unwrap_or_default();
        let function = FunctionValue { scope: Some(own), parameters, returns, ..FunctionValue::default() };
        self.builder.structure.values[value.0 as usize] = Value::Function(function.into());
        value
    }

    /// `Type::method`, `object::method`, `Type::new`.
    pub(super) fn method_reference(&mut self, node: Node<'_>, scope: ScopeId) -> ValueId {
        let parts = children(node);
        let Some((of, further)) = parts.split_first() else { return self.nothing };
        let of = match of.kind() {
            "field_access" | "identifier" => self.type_or_value(*of, scope),
            "super" => self.first(*of, scope),
            _ => self.expression(*of, scope),
        };
        let mut value = of;
        for part in further {
            value = match part.kind() {
                "type_arguments" => {
                    self.type_arguments(*part, scope);
                    value
                }
                _ => self.builder.member(of, *part, scope, NameSpace::METHOD),
            };
        }
        value
    }

    /// An expression that may be the name of a type as well.
    fn type_or_value(&mut self, node: Node<'_>, scope: ScopeId) -> ValueId {
        match (node.kind(), field(node, "object"), field(node, "field")) {
            ("identifier", ..) => self.builder.name(node, scope, NameSpace::BOTH),
            ("field_access", Some(object), Some(name)) if object.kind() != "super" && name.kind() != "this" => {
                let of = match object.kind() {
                    "field_access" | "identifier" if self.depth < DEEPEST => {
                        self.depth += 1;
                        let of = self.type_or_value(object, scope);
                        self.depth -= 1;
                        of
                    }
                    _ => self.expression(object, scope),
                };
                let of = self.or_super(node, of, scope);
                self.builder.member(of, name, scope, NameSpace::BOTH)
            }
            _ => self.expression(node, scope),
        }
    }

    /// `new Type(...)`, with members where it makes a class of its own.
    pub(super) fn creation(&mut self, node: Node<'_>, scope: ScopeId) -> ValueId {
        let Some(written) = field(node, "type") else { return self.nothing };
        let outer = node.named_child(0).filter(|_| tokens(node).next().is_some_and(|first| first.kind() != "new"));
        let outer = outer.map(|outer| self.expression(outer, scope));
        self.annotations(node, scope);
        if let Some(types) = field(node, "type_arguments") {
            self.type_arguments(types, scope);
        }
        let of = match (outer, written.kind()) {
            // An inner class is looked for in the class of the object that it is made for.
            (Some(outer), "type_identifier") => self.builder.member(outer, written, scope, NameSpace::TYPE),
            (Some(outer), "generic_type") => self.inner_generic(outer, written, scope),
            _ => self.type_of(written, scope).unwrap_or(self.nothing),
        };
        let arguments = field(node, "arguments").map(|list| self.arguments(list, scope)).unwrap_or_default();
        let inner = children(node).into_iter().find(|child| child.kind() == "class_body");
        let class = match inner {
            Some(inner) => self.anonymous(inner, of, written, scope),
            None => of,
        };
        self.builder.call(node, scope, class, arguments, Vec::new(), true)
    }

    /// `outer.new Inner<A>()`.
    fn inner_generic(&mut self, outer: ValueId, node: Node<'_>, scope: ScopeId) -> ValueId {
        let (mut of, mut arguments) = (outer, Vec::new());
        for child in children(node) {
            match child.kind() {
                "type_identifier" => of = self.builder.member(outer, child, scope, NameSpace::TYPE),
                "type_arguments" => arguments = self.type_arguments(child, scope),
                _ => of = self.type_of(child, scope).unwrap_or(of),
            }
        }
        match arguments.is_empty() {
            true => of,
            false => self.builder.value(Value::Applied { of, arguments }),
        }
    }

    pub(super) fn array_creation(&mut self, node: Node<'_>, scope: ScopeId) -> ValueId {
        self.annotations(node, scope);
        let Some(written) = field(node, "type") else { return self.nothing };
        let mut of = self.type_of(written, scope).unwrap_or(self.nothing);
        for dimensions in fields(node, "dimensions") {
            if dimensions.kind() == "dimensions" {
                of = self.array_of(of, Some(dimensions), written, scope);
                continue;
            }
            for part in children(dimensions) {
                match is_annotation(&part) {
                    true => self.annotation(part, scope),
                    false => _ = self.expression(part, scope),
                }
            }
            of = self.array(of, written);
        }
        if let Some(elements) = field(node, "value") {
            self.expression(elements, scope);
        }
        self.builder.value(Value::Instance(of))
    }

    /// `{ a, b }`.
    pub(super) fn elements(&mut self, node: Node<'_>, scope: ScopeId) -> ValueId {
        let mut values: Vec<ValueId> = children(node).into_iter().map(|part| self.expression(part, scope)).collect();
        // Tables of numbers are long.
        values.dedup();
        let value = self.any_of(values);
        let binding = self.builder.loose("", node, NewBinding::of(BindingKind::Field, value));
        let fields = vec![(FieldKey::Any, binding)];
        self.builder.value(Value::Record(Box::new(RecordValue { fields, ..RecordValue::default() })))
    }
}
