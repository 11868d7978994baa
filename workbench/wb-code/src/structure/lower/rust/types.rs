//! Types, as classes that values are instances of. References are what they refer to.

use tree_sitter::Node;

use super::{Lowering, Place, TYPE, field, paths};
use crate::structure::{
    builder::{NewBinding, children},
    file::{
        BindingKind, ClassValue, FieldKey, FunctionParameter, FunctionValue, ParameterKind, RecordValue, ScopeKind,
        Value, ValueId,
    },
};

impl Lowering<'_, '_> {
    /// A type.
    pub(super) fn ty(&mut self, node: Node<'_>, place: Place) -> ValueId {
        self.within(|this| this.type_within(node, place))
    }

    fn type_within(&mut self, node: Node<'_>, place: Place) -> ValueId {
        match node.kind() {
            "type_identifier"
            | "identifier"
            | "scoped_type_identifier"
            | "scoped_identifier"
            | "generic_type"
            | "generic_type_with_turbofish"
            | "self"
            | "super"
            | "crate" => self.path(node, place, TYPE),
            "primitive_type" => match primitive(self.builder.text(node)) {
                Some(name) => self.standard(name),
                None => self.nothing,
            },
            "reference_type" | "higher_ranked_trait_bound" => match field(node, "type") {
                Some(inner) => self.ty(inner, place),
                None => self.nothing,
            },
            "pointer_type" => {
                let inner = field(node, "type").map(|inner| self.ty(inner, place));
                let of = self.standard("pointer");
                self.builder.value(Value::Applied { of, arguments: inner.into_iter().collect() })
            }
            "abstract_type" | "dynamic_type" => match field(node, "trait") {
                Some(inner) => self.ty(inner, place),
                None => self.nothing,
            },
            "tuple_type" => self.tuple_type(node, place),
            "array_type" => {
                if let Some(length) = field(node, "length") {
                    self.expression(length, place);
                }
                let element = field(node, "element").map(|element| self.ty(element, place));
                let of = self.standard("slice");
                self.builder.value(Value::Applied { of, arguments: element.into_iter().collect() })
            }
            "function_type" => self.function_type(node, place),
            "bounded_type" | "qualified_type" => {
                // Members of the first count before those of the second.
                let parts = children(node).into_iter().filter(|part| !matches!(part.kind(), "lifetime" | "use_bounds"));
                let bases: Vec<ValueId> = parts.map(|part| self.ty(part, place)).collect();
                self.builder.value(Value::Class(Box::new(ClassValue { bases, ..ClassValue::default() })))
            }
            "removed_trait_bound" | "bracketed_type" => match node.named_child(0) {
                Some(inner) => self.ty(inner, place),
                None => self.nothing,
            },
            "macro_invocation" => self.macro_invocation(node, place),
            _ => self.nothing,
        }
    }

    /// An instance of a type.
    pub(super) fn instance(&mut self, ty: Node<'_>, place: Place) -> ValueId {
        let of = self.ty(ty, place);
        self.builder.value(Value::Instance(of))
    }

    /// A type or a function with its `<...>`.
    pub(super) fn with_arguments(&mut self, of: ValueId, list: Node<'_>, place: Place) -> ValueId {
        let (mut arguments, mut bound) = (Vec::new(), Vec::new());
        let all = children(list);
        for (argument, next) in all.iter().copied().zip(all.iter().skip(1).map(Some).chain([None])) {
            match argument.kind() {
                "lifetime" | "trait_bounds" => {}
                "type_binding" => bound.push((field(argument, "name"), field(argument, "type"))),
                // `Iterator<Item: Clone>`.
                _ if next.is_some_and(|next| next.kind() == "trait_bounds") => {
                    bound.push((Some(argument), next.copied()))
                }
                "block" => {
                    self.block(argument, place);
                    arguments.push(self.nothing);
                }
                _ => arguments.push(self.ty(argument, place)),
            }
        }
        // What is left to be found out says nothing: `collect::<Vec<_>>()`.
        let is_open = paths::is_left_open(self.builder.text(list));
        let mut value = of;
        if !arguments.is_empty() && !is_open {
            value = self.builder.value(Value::Applied { of, arguments });
        }
        if bound.is_empty() { value } else { self.with_members(value, &bound, place) }
    }

    /// `Iterator<Item = T>`: a class with the member, and the trait behind it.
    fn with_members(&mut self, of: ValueId, bound: &[(Option<Node<'_>>, Option<Node<'_>>)], place: Place) -> ValueId {
        let value = self.builder.opaque();
        let scope = self.builder.scope(ScopeKind::Class, Some(place.scope), Some(value));
        for binding in bound {
            let (Some(name), Some(ty)) = *binding else { continue };
            self.builder.member(of, name, place.scope, TYPE);
            let inner = match ty.kind() {
                "trait_bounds" => {
                    let bases = self.bounds(ty, None, place);
                    self.builder.value(Value::Class(Box::new(ClassValue { bases, ..ClassValue::default() })))
                }
                _ => self.ty(ty, place),
            };
            let alias = self.builder.value(Value::TypeAlias { parameters: Vec::new(), of: inner });
            let text = self.builder.text(name);
            self.builder.bind(scope, text, name, NewBinding::of(BindingKind::Class, alias).in_space(TYPE));
        }
        self.builder.set(
            value,
            Value::Class(Box::new(ClassValue { scope: Some(scope), parameters: Vec::new(), bases: vec![of] })),
        );
        value
    }

    fn tuple_type(&mut self, node: Node<'_>, place: Place) -> ValueId {
        let mut record = RecordValue::default();
        for (at, part) in children(node).into_iter().enumerate() {
            let declared = self.instance(part, place);
            let new = NewBinding::new(BindingKind::Field).typed(Some(declared));
            let binding = self.builder.loose("", part, new);
            record.fields.push((FieldKey::Name(at.to_string().into()), binding));
        }
        self.builder.value(Value::Record(Box::new(record)))
    }

    /// `fn(A) -> B`, `Fn(A) -> B`.
    fn function_type(&mut self, node: Node<'_>, place: Place) -> ValueId {
        if let Some(name) = field(node, "trait") {
            self.path(name, place, TYPE);
        }
        let mut function = FunctionValue::default();
        for part in field(node, "parameters").map(children).unwrap_or_default() {
            let ty = if part.kind() == "parameter" { field(part, "type") } else { Some(part) };
            let declared = ty.map(|ty| self.instance(ty, place));
            let binding = self.builder.loose("", part, NewBinding::new(BindingKind::Parameter).typed(declared));
            function.parameters.push(FunctionParameter { binding, kind: ParameterKind::One, default: None });
        }
        function.declared = field(node, "return_type").map(|ty| self.instance(ty, place));
        self.builder.value(Value::Function(function.into()))
    }
}

/// The name under which the standard library's declarations have a primitive type.
fn primitive(name: &str) -> Option<&'static str> {
    const NAMES: [&str; 17] = [
        "u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "u128", "i128", "isize", "usize", "f32", "f64", "bool",
        "str", "char",
    ];
    NAMES.into_iter().find(|known| *known == name)
}
