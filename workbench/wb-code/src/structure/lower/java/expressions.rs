//! Expressions.

use tree_sitter::Node;

use super::{DEEPEST, Lowering, children, field, fields};
use crate::structure::file::{Argument, BindingKind, NameSpace, ScopeId, ScopeKind, Value, ValueId};

impl Lowering<'_, '_> {
    /// An expression, of which the part at the left may be long: `a.b().c().d()`, `a + b + c`.
    pub(super) fn expression(&mut self, node: Node<'_>, scope: ScopeId) -> ValueId {
        if self.depth >= DEEPEST {
            return self.nothing;
        }
        self.depth += 1;
        let mut outer = Vec::new();
        let mut inner = node;
        while let Some(left) = self.part_at_left(inner) {
            outer.push(inner);
            inner = left;
        }
        let mut value = match outer.last() {
            Some(around) if is_member(*around) => self.qualifier(inner, scope),
            _ => self.first(inner, scope),
        };
        while let Some(node) = outer.pop() {
            let space = match outer.last() {
                Some(around) if is_member(*around) => NameSpace::BOTH,
                _ => NameSpace::VALUE,
            };
            value = self.extended(node, value, space, scope);
        }
        self.depth -= 1;
        value
    }

    /// The part that is worked out before what stands at its right.
    fn part_at_left<'t>(&self, node: Node<'t>) -> Option<Node<'t>> {
        match node.kind() {
            "binary_expression" if !matches!(self.operator(node), "&&" | "||") => field(node, "left"),
            "array_access" => field(node, "array"),
            _ if is_member(node) => field(node, "object").filter(|object| object.kind() != "super"),
            _ => None,
        }
    }

    /// An expression whose part at the left is known.
    fn extended(&mut self, node: Node<'_>, left: ValueId, space: NameSpace, scope: ScopeId) -> ValueId {
        match node.kind() {
            "field_access" => {
                let of = self.or_super(node, left, scope);
                match field(node, "field") {
                    // The object of a class around.
                    Some(name) if name.kind() == "this" => self.builder.value(Value::Instance(of)),
                    Some(name) => self.builder.member(of, name, scope, space),
                    None => of,
                }
            }
            "method_invocation" => {
                let of = self.or_super(node, left, scope);
                self.invocation(node, Some(of), scope)
            }
            "array_access" => {
                let key = field(node, "index").map(|index| self.expression(index, scope));
                let key = key.unwrap_or(self.nothing);
                self.builder.value(Value::Item { of: left, key })
            }
            _ => {
                let right = field(node, "right").map(|right| self.expression(right, scope));
                match self.string {
                    // Whatever is put behind a string, or before it, becomes one.
                    Some(string) if self.operator(node) == "+" && (left == string || right == Some(string)) => string,
                    _ => self.nothing,
                }
            }
        }
    }

    /// `Outer.super` where a node has it behind its object.
    pub(super) fn or_super(&mut self, node: Node<'_>, object: ValueId, scope: ScopeId) -> ValueId {
        let named = field(node, "object");
        match children(node).into_iter().any(|child| child.kind() == "super" && Some(child) != named) {
            true => self.super_of(object, scope),
            false => object,
        }
    }

    /// The instance as the bases of a class around see it; of an interface, as itself does.
    fn super_of(&mut self, named: ValueId, scope: ScopeId) -> ValueId {
        let Value::Name { name, .. } = self.builder.structure.value(named) else {
            return self.builder.value(Value::Instance(named));
        };
        let mut next = Some(scope);
        while let Some(at) = next {
            let structure = &self.builder.structure;
            let scope = structure.scope(at);
            let owner = scope.owner.filter(|_| scope.kind == ScopeKind::Class);
            let is_named = |class: &ValueId| {
                structure
                    .bindings
                    .iter()
                    .any(|it| it.kind == BindingKind::Class && it.value == Some(*class) && it.name == *name)
            };
            if let Some(class) = owner.filter(is_named) {
                return self.builder.value(Value::Super { class });
            }
            next = scope.parent;
        }
        self.builder.value(Value::Instance(named))
    }

    /// The name before a dot: of a variable, or else a type, or else a package.
    fn qualifier(&mut self, node: Node<'_>, scope: ScopeId) -> ValueId {
        match node.kind() {
            "identifier" => self.builder.name(node, scope, NameSpace::BOTH),
            _ => self.first(node, scope),
        }
    }

    /// An expression without a part at the left.
    pub(super) fn first(&mut self, node: Node<'_>, scope: ScopeId) -> ValueId {
        match node.kind() {
            "identifier" => self.builder.name(node, scope, NameSpace::VALUE),
            "this" => {
                let (name, space, at) = ("this".into(), NameSpace::VALUE, node.start_byte() as u32);
                self.builder.value(Value::Name { name, scope, space, at })
            }
            "super" => match self.class_around(scope) {
                Some(class) => self.builder.value(Value::Super { class }),
                None => self.nothing,
            },
            "field_access" | "method_invocation" => match field(node, "object") {
                // All other objects stand at the left of what is known.
                Some(object) => {
                    let of = self.first(object, scope);
                    self.extended(node, of, NameSpace::VALUE, scope)
                }
                None => self.invocation(node, None, scope),
            },
            "parenthesized_expression" => self.last(node, scope),
            "assignment_expression" => {
                let left = field(node, "left").map(|left| self.expression(left, scope));
                let right = field(node, "right").map(|right| self.expression(right, scope));
                left.or(right).unwrap_or(self.nothing)
            }
            "binary_expression" | "instanceof_expression" => {
                self.condition(node, scope);
                self.nothing
            }
            "ternary_expression" => self.choice(node, scope),
            "cast_expression" => {
                let types = fields(node, "type").into_iter().filter_map(|it| self.type_of(it, scope)).collect();
                let of = self.any_of(types);
                if let Some(value) = field(node, "value") {
                    self.expression(value, scope);
                }
                self.builder.value(Value::Instance(of))
            }
            "lambda_expression" => self.lambda(node, scope),
            "method_reference" => self.method_reference(node, scope),
            "object_creation_expression" => self.creation(node, scope),
            "array_creation_expression" => self.array_creation(node, scope),
            "array_initializer" | "element_value_array_initializer" => self.elements(node, scope),
            "class_literal" => {
                let arguments = children(node).into_iter().filter_map(|it| self.type_of(it, scope)).collect();
                let of = self.of_lang("Class");
                let of = self.builder.value(Value::Applied { of, arguments });
                self.builder.value(Value::Instance(of))
            }
            "switch_expression" => self.switch(node, scope),
            "string_literal" => {
                self.each(node, scope);
                self.string()
            }
            "annotation" | "marker_annotation" => {
                self.annotation(node, scope);
                self.nothing
            }
            "type_identifier" | "scoped_type_identifier" | "generic_type" | "array_type" | "annotated_type" => {
                self.type_of(node, scope).unwrap_or(self.nothing)
            }
            "update_expression" | "unary_expression" => self.last(node, scope),
            _ => {
                self.each(node, scope);
                self.nothing
            }
        }
    }

    fn each(&mut self, node: Node<'_>, scope: ScopeId) {
        for child in children(node) {
            self.statement(child, scope);
        }
    }

    /// Goes through the parts, the last of which is its value.
    fn last(&mut self, node: Node<'_>, scope: ScopeId) -> ValueId {
        let mut value = self.nothing;
        for child in children(node) {
            value = self.expression(child, scope);
        }
        value
    }

    /// Some string.
    fn string(&mut self) -> ValueId {
        if let Some(string) = self.string {
            return string;
        }
        let of = self.of_lang("String");
        let string = self.builder.value(Value::Instance(of));
        self.string = Some(string);
        string
    }

    fn choice(&mut self, node: Node<'_>, scope: ScopeId) -> ValueId {
        let Some(condition) = field(node, "condition") else { return self.nothing };
        let outcome = self.condition(condition, scope);
        let ways = [("consequence", outcome.when_true), ("alternative", outcome.when_false)];
        let values = ways.into_iter().filter_map(|(name, at)| Some(self.expression(field(node, name)?, at))).collect();
        self.any_of(values)
    }

    /// A call of a method by its name, of an object or of whatever is around.
    fn invocation(&mut self, node: Node<'_>, of: Option<ValueId>, scope: ScopeId) -> ValueId {
        let Some(name) = field(node, "name") else { return self.nothing };
        if let Some(types) = field(node, "type_arguments") {
            self.type_arguments(types, scope);
        }
        let callee = match of {
            Some(of) => self.builder.member(of, name, scope, NameSpace::METHOD),
            None => self.builder.name(name, scope, NameSpace::METHOD),
        };
        let arguments = field(node, "arguments").map(|list| self.arguments(list, scope)).unwrap_or_default();
        self.builder.call(node, scope, callee, arguments, Vec::new(), false)
    }

    pub(super) fn arguments(&mut self, list: Node<'_>, scope: ScopeId) -> Vec<Argument> {
        let values = children(list).into_iter().map(|argument| self.expression(argument, scope));
        values.map(|value| Argument { value, is_spread: false }).collect()
    }

    /// `this(...)` or `super(...)` at the beginning of a constructor.
    pub(super) fn constructor_call(&mut self, node: Node<'_>, scope: ScopeId) {
        if let Some(object) = field(node, "object") {
            self.expression(object, scope);
        }
        if let Some(types) = field(node, "type_arguments") {
            self.type_arguments(types, scope);
        }
        let arguments = field(node, "arguments").map(|list| self.arguments(list, scope)).unwrap_or_default();
        let own = self.class_around(scope);
        let callee = match field(node, "constructor").map(|it| it.kind()) {
            Some("super") => own.and_then(|own| match self.builder.structure.value(own) {
                Value::Class(class) => class.bases.first().copied(),
                _ => None,
            }),
            _ => own,
        };
        if let Some(callee) = callee {
            self.builder.call(node, scope, callee, arguments, Vec::new(), true);
        }
    }
}

/// True for what reads a member of an object.
fn is_member(node: Node<'_>) -> bool {
    matches!(node.kind(), "field_access" | "method_invocation")
}
