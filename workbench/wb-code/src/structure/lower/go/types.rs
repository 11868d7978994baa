//! Types: names, records of elements, structs and interfaces, types with arguments.

use tree_sitter::Node;

use super::{ANY, Block, CALLED, ELEMENT, KEY, Lowering, field, fields};
use crate::structure::{
    builder::{NewBinding, children, deep},
    file::{BindingKind, ClassValue, FunctionParameter, ScopeId, ScopeKind, Value, ValueId},
};

impl Lowering<'_, '_> {
    /// `type T struct { … }`, `type T []int`, `type T = U`.
    pub(super) fn type_declaration(&mut self, node: Node<'_>, block: &mut Block) {
        for spec in children(node) {
            let (Some(name), Some(of)) = (field(spec, "name"), field(spec, "type")) else { continue };
            let value = self.builder.opaque();
            let scope = self.open(block);
            self.declare(block, scope, name, NewBinding::of(BindingKind::Class, value));
            // Its parameters are seen by what it consists of, and by nobody who has a value of it.
            let around = self.builder.scope(ScopeKind::Block, Some(block.scope), Some(value));
            let parameters = self.type_parameters(field(spec, "type_parameters"), around);
            let what = match spec.kind() {
                "type_alias" => Value::TypeAlias { parameters, of: self.type_of(of, around) },
                _ => Value::Class(Box::new(self.class(of, around, value, parameters))),
            };
            self.builder.structure.values[value.0 as usize] = what;
        }
    }

    /// A type with a name of its own; what is neither a struct nor an interface is a base of it.
    fn class(
        &mut self,
        of: Node<'_>,
        around: ScopeId,
        value: ValueId,
        parameters: Vec<FunctionParameter>,
    ) -> ClassValue {
        let scope = self.builder.scope(ScopeKind::Class, Some(around), Some(value));
        for (place, parameter) in parameters.iter().enumerate() {
            self.builder.export(scope, &format!("[{place}]"), parameter.binding);
        }
        let bases = match of.kind() {
            "struct_type" => self.fields_of(of, around, scope),
            "interface_type" => self.methods_of(of, around, scope, value),
            _ => vec![self.type_of(of, around)],
        };
        ClassValue { scope: Some(scope), parameters, bases }
    }

    /// Fields of a struct, put into a scope; types that are embedded.
    fn fields_of(&mut self, node: Node<'_>, around: ScopeId, scope: ScopeId) -> Vec<ValueId> {
        let mut bases = Vec::new();
        for declaration in children(node).into_iter().flat_map(children) {
            let Some(of) = field(declaration, "type") else { continue };
            let mut names = fields(declaration, "name");
            let value = self.type_of(of, around);
            if names.is_empty() {
                bases.push(value);
                names.extend(name_of(of));
            }
            let declared = self.instance(value);
            for name in names {
                let new = NewBinding::new(BindingKind::Field).in_space(ANY).typed(Some(declared));
                let text = self.builder.text(name);
                let binding = self.builder.bind(scope, text, name, new);
                self.builder.binding_mut(binding).of_instance = true;
            }
        }
        bases
    }

    /// Methods of an interface, put into a scope; types that it consists of.
    fn methods_of(&mut self, node: Node<'_>, around: ScopeId, scope: ScopeId, class: ValueId) -> Vec<ValueId> {
        let mut bases = Vec::new();
        for part in children(node) {
            match (part.kind(), field(part, "name")) {
                ("method_elem", Some(name)) => {
                    let value = self.function(part, around, None);
                    if let Value::Function(function) = &mut self.builder.structure.values[value.0 as usize] {
                        function.class = Some(class);
                    }
                    let text = self.builder.text(name);
                    self.builder.bind(scope, text, name, NewBinding::of(BindingKind::Function, value).in_space(ANY));
                }
                _ => bases.push(self.type_of(part, around)),
            }
        }
        bases
    }

    /// A type as a value.
    pub(super) fn type_of(&mut self, node: Node<'_>, scope: ScopeId) -> ValueId {
        deep(|| self.type_within(node, scope))
    }

    fn type_within(&mut self, node: Node<'_>, scope: ScopeId) -> ValueId {
        match node.kind() {
            "type_identifier" => self.builder.name(node, scope, ANY),
            "qualified_type" => {
                let (Some(package), Some(name)) = (field(node, "package"), field(node, "name")) else {
                    return self.builder.opaque();
                };
                let of = self.builder.name(package, scope, ANY);
                self.builder.member(of, name, scope, ANY)
            }
            "pointer_type" | "parenthesized_type" | "negated_type" | "type_elem" | "type_constraint" => {
                let mut parts: Vec<ValueId> = Vec::new();
                for part in children(node) {
                    parts.push(self.type_of(part, scope));
                }
                match parts.as_slice() {
                    [one] => *one,
                    _ => self.builder.value(Value::AnyOf(parts)),
                }
            }
            "slice_type" | "array_type" | "implicit_length_array_type" => {
                if let Some(length) = field(node, "length") {
                    self.expression(length, scope);
                }
                self.container(None, field(node, "element"), scope)
            }
            "map_type" => self.container(field(node, "key"), field(node, "value"), scope),
            "channel_type" => {
                let Some(of) = field(node, "value") else { return self.builder.opaque() };
                let value = self.type_of(of, scope);
                let value = self.instance(value);
                self.record(&[(KEY, of, value), (ELEMENT, of, value)])
            }
            "generic_type" => self.generic(node, scope),
            "function_type" => self.function_type(node, scope),
            "struct_type" | "interface_type" => {
                let value = self.builder.opaque();
                let class = self.class(node, scope, value, Vec::new());
                self.builder.structure.values[value.0 as usize] = Value::Class(Box::new(class));
                value
            }
            _ => self.expression(node, scope),
        }
    }

    /// Something with elements, and maybe with keys.
    fn container(&mut self, key: Option<Node<'_>>, element: Option<Node<'_>>, scope: ScopeId) -> ValueId {
        let mut parts = Vec::new();
        for (name, node) in [(KEY, key), (ELEMENT, element)] {
            if let Some(node) = node {
                let value = self.type_of(node, scope);
                parts.push((name, node, self.instance(value)));
            }
        }
        self.record(&parts)
    }

    fn generic(&mut self, node: Node<'_>, scope: ScopeId) -> ValueId {
        let Some(name) = field(node, "type") else { return self.builder.opaque() };
        let of = self.type_of(name, scope);
        let mut arguments = Vec::new();
        let mut parts = Vec::new();
        let names: [&str; 2] = [KEY, ELEMENT];
        for (at, argument) in field(node, "type_arguments").map(children).unwrap_or_default().into_iter().enumerate() {
            let value = self.type_of(argument, scope);
            arguments.push(value);
            if let Some(name) = names.get(at) {
                parts.push((*name, argument, self.instance(value)));
            }
        }
        let applied = self.builder.value(Value::Applied { of, arguments });
        // The two types of the standard library that loops know.
        match self.builder.text(name) {
            "iter.Seq" | "iter.Seq2" => {
                let loops = self.record(&parts);
                self.builder.value(Value::AnyOf(vec![applied, loops]))
            }
            _ => applied,
        }
    }

    /// The type of functions; where they are given a function themselves, loops get what they give it.
    fn function_type(&mut self, node: Node<'_>, scope: ScopeId) -> ValueId {
        let function = self.function(node, scope, None);
        let mut parts = vec![(CALLED, node, function)];
        let yielded = self.yielded(function).unwrap_or_default();
        parts.extend([KEY, ELEMENT].into_iter().zip(yielded).map(|(name, value)| (name, node, value)));
        self.record(&parts)
    }

    /// Values that a function hands to the function that is its only parameter.
    fn yielded(&self, function: ValueId) -> Option<Vec<ValueId>> {
        let structure = &self.builder.structure;
        let declared = |parameter: &FunctionParameter| structure.binding(parameter.binding).declared;
        let Value::Function(function) = structure.value(function) else { return None };
        let [parameter] = function.parameters.as_slice() else { return None };
        let Value::Instance(of) = structure.value(declared(parameter)?) else { return None };
        let Value::Record(record) = structure.value(*of) else { return None };
        let (_, called) = record.fields.first()?;
        match structure.value(structure.binding(*called).declared?) {
            Value::Function(inner) => inner.parameters.iter().map(declared).collect(),
            _ => None,
        }
    }
}

/// The last part of a type's name, by which a struct that embeds it has it.
fn name_of(node: Node<'_>) -> Option<Node<'_>> {
    match node.kind() {
        "type_identifier" => Some(node),
        "qualified_type" => field(node, "name"),
        "generic_type" => name_of(field(node, "type")?),
        _ => None,
    }
}
