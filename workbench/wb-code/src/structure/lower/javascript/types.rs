//! Types of TypeScript, as values whose instances are meant.

use tree_sitter::Node;

use super::{Script, field, unquoted};
use crate::structure::{
    builder::{NewBinding, children, deep},
    file::{
        BindingId, BindingKind, FieldKey, FunctionParameter, NameSpace, ParameterKind, RecordValue, ScopeId, ScopeKind,
        Value, ValueId,
    },
};

impl<'t> Script<'_, '_, 't> {
    /// A value of the type that an annotation says.
    pub(super) fn declared_type(&mut self, node: Node<'t>, scope: ScopeId) -> ValueId {
        let of = match node.kind() {
            kind if kind.contains("annotation") => match node.named_child(0) {
                Some(inner) => self.type_value(inner, scope),
                None => self.builder.opaque(),
            },
            _ => self.type_value(node, scope),
        };
        self.builder.value(Value::Instance(of))
    }

    /// A scope with the type parameters of something, and these.
    pub(super) fn type_parameters(&mut self, node: Node<'t>, scope: ScopeId) -> (ScopeId, Vec<FunctionParameter>) {
        let Some(list) = field(node, "type_parameters") else { return (scope, Vec::new()) };
        let inner = self.builder.scope(ScopeKind::Block, Some(scope), None);
        let mut parameters = Vec::new();
        for node in children(list) {
            let Some(name) = field(node, "name") else { continue };
            let text = self.builder.text(name);
            let new = NewBinding::new(BindingKind::Class).in_space(NameSpace::TYPE);
            let binding = self.builder.bind(inner, text, name, new);
            let bound = field(node, "constraint").and_then(|it| it.named_child(0)).map(|it| self.type_value(it, inner));
            let default = field(node, "value").and_then(|it| it.named_child(0)).map(|it| self.type_value(it, inner));
            self.builder.binding_mut(binding).value = default.or(bound);
            parameters.push(FunctionParameter { binding, kind: ParameterKind::One, default: default.or(bound) });
        }
        (inner, parameters)
    }

    /// `type A<T> = B`.
    pub(super) fn type_alias(&mut self, node: Node<'t>, scope: ScopeId) -> Option<BindingId> {
        let (inner, parameters) = self.type_parameters(node, scope);
        let of = self.type_value(field(node, "value")?, inner);
        let value = self.builder.value(Value::TypeAlias { parameters, of });
        let name = field(node, "name")?;
        let text = self.builder.text(name);
        Some(self.builder.bind(scope, text, name, NewBinding::of(BindingKind::Class, value).in_space(NameSpace::TYPE)))
    }

    /// A type.
    pub(super) fn type_value(&mut self, node: Node<'t>, scope: ScopeId) -> ValueId {
        deep(|| self.type_value_of(node, scope))
    }

    fn type_value_of(&mut self, node: Node<'t>, scope: ScopeId) -> ValueId {
        match node.kind() {
            "type_identifier" => self.builder.name(node, scope, NameSpace::TYPE),
            "identifier" => self.builder.name(node, scope, NameSpace::BOTH),
            "nested_type_identifier" | "nested_identifier" => {
                let (of, name) = match node.kind() {
                    "nested_identifier" => (field(node, "object"), field(node, "property")),
                    _ => (field(node, "module"), field(node, "name")),
                };
                let of = match of {
                    Some(of) => self.type_value(of, scope),
                    None => self.builder.opaque(),
                };
                match name {
                    Some(name) => self.builder.member(of, name, scope, NameSpace::BOTH),
                    None => of,
                }
            }
            "generic_type" => self.generic(node, scope),
            "array_type" => {
                let of = self.inner(node, scope);
                self.elements_of(of, node)
            }
            "tuple_type" => self.tuple(node, scope),
            "object_type" | "interface_body" => self.object_type(node, scope),
            "function_type" => self.function_type(node, scope),
            "constructor_type" => {
                let value = self.function_type(node, scope);
                let binding = self.builder.loose("new()", node, NewBinding::of(BindingKind::Function, value));
                let fields = vec![(FieldKey::Name("new()".into()), binding)];
                self.builder.value(Value::Record(Box::new(RecordValue { fields, ..RecordValue::default() })))
            }
            "union_type" | "intersection_type" => {
                let values = children(node).into_iter().map(|it| self.type_value(it, scope)).collect();
                self.builder.value(Value::AnyOf(values))
            }
            "parenthesized_type" | "readonly_type" | "optional_type" | "rest_type" | "type_annotation"
            | "constraint" | "default_type" => self.inner(node, scope),
            "type_query" => match node.named_child(0) {
                Some(inner) => self.expression(inner, scope),
                None => self.builder.opaque(),
            },
            "this_type" => {
                let value = Value::Name { name: "this".into(), scope, space: NameSpace::VALUE, at: u32::MAX };
                self.builder.value(value)
            }
            "lookup_type" => {
                let parts = children(node);
                let values: Vec<ValueId> = parts.iter().map(|it| self.type_value(*it, scope)).collect();
                match (values.as_slice(), parts.get(1)) {
                    ([of, _], Some(key)) => {
                        let name = unquoted(self.builder.text(*key)).to_owned();
                        let of = self.builder.value(Value::Instance(*of));
                        self.builder.value(Value::Member { of, name: name.into(), space: NameSpace::VALUE })
                    }
                    _ => self.builder.opaque(),
                }
            }
            "asserts" | "type_predicate" | "type_predicate_annotation" | "asserts_annotation" => {
                for child in children(node) {
                    match child.kind() {
                        "identifier" => _ = self.builder.name(child, scope, NameSpace::VALUE),
                        "this" => {}
                        _ => _ = self.type_value(child, scope),
                    }
                }
                self.builder.opaque()
            }
            "infer_type" => {
                if let Some(name) = node.named_child(0) {
                    let text = self.builder.text(name);
                    let new = NewBinding::new(BindingKind::Class).in_space(NameSpace::TYPE);
                    self.builder.bind(scope, text, name, new);
                }
                self.builder.opaque()
            }
            "conditional_type" => {
                let inner = self.builder.scope(ScopeKind::Block, Some(scope), None);
                let values: Vec<ValueId> = children(node).into_iter().map(|it| self.type_value(it, inner)).collect();
                self.builder.value(Value::AnyOf(values.into_iter().skip(2).collect()))
            }
            "predefined_type" | "literal_type" | "template_literal_type" | "existential_type" => self.builder.opaque(),
            "mapped_type_clause" => {
                if let Some(name) = field(node, "name") {
                    let text = self.builder.text(name);
                    let new = NewBinding::new(BindingKind::Class).in_space(NameSpace::TYPE);
                    self.builder.bind(scope, text, name, new);
                }
                for name in ["type", "alias"] {
                    field(node, name).into_iter().for_each(|it| _ = self.type_value(it, scope));
                }
                self.builder.opaque()
            }
            _ => {
                for child in children(node) {
                    self.type_value(child, scope);
                }
                self.builder.opaque()
            }
        }
    }

    fn inner(&mut self, node: Node<'t>, scope: ScopeId) -> ValueId {
        match children(node).last() {
            Some(inner) => self.type_value(*inner, scope),
            None => self.builder.opaque(),
        }
    }

    /// A type whose instances have elements of another.
    fn elements_of(&mut self, of: ValueId, node: Node<'t>) -> ValueId {
        let element = self.builder.value(Value::Instance(of));
        let binding = self.builder.loose("", node, NewBinding::of(BindingKind::Element, element));
        let fields = vec![(FieldKey::Any, binding)];
        self.builder.value(Value::Record(Box::new(RecordValue { fields, ..RecordValue::default() })))
    }

    fn generic(&mut self, node: Node<'t>, scope: ScopeId) -> ValueId {
        let Some(name) = field(node, "name") else { return self.builder.opaque() };
        let text = self.builder.text(name);
        let of = self.type_value(name, scope);
        let list = field(node, "type_arguments").map(children).unwrap_or_default();
        let arguments: Vec<ValueId> = list.into_iter().map(|it| self.type_value(it, scope)).collect();
        match (text, arguments.last()) {
            ("Promise" | "PromiseLike", Some(last)) => {
                let instance = self.builder.value(Value::Instance(*last));
                self.builder.value(Value::Later(instance))
            }
            (
                "Array" | "ReadonlyArray" | "Set" | "ReadonlySet" | "Map" | "ReadonlyMap" | "Iterable" | "Iterator"
                | "IterableIterator" | "Generator",
                Some(last),
            ) => self.elements_of(*last, node),
            ("Readonly" | "Partial" | "Required" | "NonNullable" | "Awaited", Some(last)) => *last,
            _ => self.builder.value(Value::Applied { of, arguments }),
        }
    }

    fn tuple(&mut self, node: Node<'t>, scope: ScopeId) -> ValueId {
        let mut fields = Vec::new();
        for (part, at) in children(node).into_iter().zip(0..) {
            let of = match part.kind() {
                "required_parameter" | "optional_parameter" => match field(part, "type") {
                    Some(named) => self.type_value(named, scope),
                    None => self.builder.opaque(),
                },
                _ => self.type_value(part, scope),
            };
            let element = self.builder.value(Value::Instance(of));
            let name = i32::to_string(&at);
            let binding = self.builder.loose(&name, part, NewBinding::of(BindingKind::Element, element));
            fields.push((FieldKey::Name(name.into()), binding));
        }
        self.builder.value(Value::Record(Box::new(RecordValue { fields, ..RecordValue::default() })))
    }

    fn object_type(&mut self, node: Node<'t>, scope: ScopeId) -> ValueId {
        let mut fields = Vec::new();
        for member in children(node) {
            let (name, new) = match member.kind() {
                "property_signature" => {
                    let declared = field(member, "type").map(|it| self.declared_type(it, scope));
                    (field(member, "name"), NewBinding::new(BindingKind::Field).typed(declared))
                }
                "method_signature" => {
                    let value = self.function(member, scope, None);
                    (field(member, "name"), NewBinding::of(BindingKind::Function, value))
                }
                "call_signature" | "construct_signature" => {
                    let value = self.function(member, scope, None);
                    let name = if member.kind() == "call_signature" { "()" } else { "new()" };
                    let binding = self.builder.loose(name, member, NewBinding::of(BindingKind::Function, value));
                    fields.push((FieldKey::Name(name.into()), binding));
                    continue;
                }
                "index_signature" => {
                    let inner = self.builder.scope(ScopeKind::Block, Some(scope), None);
                    for child in children(member) {
                        self.type_value(child, inner);
                    }
                    continue;
                }
                _ => continue,
            };
            let Some(name) = name else { continue };
            let text = unquoted(self.builder.text(name)).to_owned();
            let binding = self.builder.loose(&text, name, new);
            fields.push((FieldKey::Name(text.into()), binding));
        }
        self.builder.value(Value::Record(Box::new(RecordValue { fields, ..RecordValue::default() })))
    }

    /// A type of functions is a function of which only the types are known.
    fn function_type(&mut self, node: Node<'t>, scope: ScopeId) -> ValueId {
        let value = self.function(node, scope, None);
        let declared = field(node, "return_type").or_else(|| field(node, "type"));
        if let Value::Function(function) = self.builder.structure.value(value)
            && function.declared.is_none()
            && let (Some(declared), Some(own)) = (declared, function.scope)
        {
            let declared = self.declared_type(declared, own);
            if let Value::Function(function) = &mut self.builder.structure.values[value.0 as usize] {
                function.declared = Some(declared);
            }
        }
        value
    }
}
