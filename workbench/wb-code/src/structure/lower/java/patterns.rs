//! Conditions, and the variables of patterns that are seen where they hold; `switch`.

use tree_sitter::Node;

use super::{DEEPEST, Lowering, children, field, is_annotation};
use crate::structure::{
    builder::NewBinding,
    file::{BindingKind, NameSpace, ScopeId, Value, ValueId},
};

/// The scopes of what runs after a condition.
#[derive(Clone, Copy)]
pub(super) struct Outcome {
    pub when_true: ScopeId,
    pub when_false: ScopeId,
}

impl Lowering<'_, '_> {
    /// A condition that is asked in a scope.
    pub(super) fn condition(&mut self, node: Node<'_>, scope: ScopeId) -> Outcome {
        let unchanged = Outcome { when_true: scope, when_false: scope };
        if self.depth >= DEEPEST {
            return unchanged;
        }
        self.depth += 1;
        let outcome = match (node.kind(), self.operator(node)) {
            ("parenthesized_expression", _) => match children(node).first() {
                Some(inner) => self.condition(*inner, scope),
                None => unchanged,
            },
            ("unary_expression", "!") => match field(node, "operand") {
                Some(operand) => {
                    let Outcome { when_true, when_false } = self.condition(operand, scope);
                    Outcome { when_true: when_false, when_false: when_true }
                }
                None => unchanged,
            },
            // What the first says holds where the second is asked.
            ("binary_expression", "&&") => {
                let operands = self.operands(node, "&&");
                let when_true = operands.into_iter().fold(scope, |at, one| self.condition(one, at).when_true);
                Outcome { when_true, when_false: scope }
            }
            ("binary_expression", "||") => {
                let operands = self.operands(node, "||");
                let when_false = operands.into_iter().fold(scope, |at, one| self.condition(one, at).when_false);
                Outcome { when_true: scope, when_false }
            }
            ("instanceof_expression", _) => Outcome { when_true: self.instance_test(node, scope), when_false: scope },
            _ => {
                self.expression(node, scope);
                unchanged
            }
        };
        self.depth -= 1;
        outcome
    }

    /// The sign between the parts of an expression.
    pub(super) fn operator(&self, node: Node<'_>) -> &str {
        field(node, "operator").map_or("", |operator| self.builder.text(operator))
    }

    /// Parts of `a && b && c`.
    fn operands<'t>(&self, mut node: Node<'t>, operator: &str) -> Vec<Node<'t>> {
        let mut operands = Vec::new();
        while node.kind() == "binary_expression" && self.operator(node) == operator {
            operands.extend(field(node, "right"));
            match field(node, "left") {
                Some(left) => node = left,
                None => break,
            }
        }
        operands.push(node);
        operands.reverse();
        operands
    }

    /// The scope of what runs where `instanceof` is true.
    fn instance_test(&mut self, node: Node<'_>, scope: ScopeId) -> ScopeId {
        let left = field(node, "left").map(|left| self.expression(left, scope));
        let declared = self.instance_of(field(node, "right"), None, scope);
        let (name, pattern) = (field(node, "name"), field(node, "pattern"));
        if name.is_none() && pattern.is_none() {
            return scope;
        }
        let inner = self.block_in(scope);
        if let Some(name) = name {
            self.variable(name, declared, left, inner);
        }
        if let Some(pattern) = pattern {
            self.pattern(pattern, self.nothing, inner);
        }
        inner
    }

    /// A variable of a declared type, or of the type of what it is given.
    pub(super) fn variable(
        &mut self,
        name: Node<'_>,
        declared: Option<ValueId>,
        value: Option<ValueId>,
        scope: ScopeId,
    ) {
        let new = NewBinding { value, ..NewBinding::new(BindingKind::Variable).typed(declared) };
        let text = self.builder.text(name);
        self.builder.bind(scope, text, name, new);
    }

    /// Binds the variables of a pattern.
    fn pattern(&mut self, node: Node<'_>, subject: ValueId, scope: ScopeId) {
        if self.depth >= DEEPEST {
            return;
        }
        self.depth += 1;
        match node.kind() {
            "type_pattern" | "record_pattern_component" => {
                self.annotations(node, scope);
                let parts: Vec<Node<'_>> = children(node).into_iter().filter(|part| !is_annotation(part)).collect();
                if let [written, name] = parts[..] {
                    let declared = self.instance_of(Some(written), None, scope);
                    self.variable(name, declared, Some(subject), scope);
                }
            }
            "record_pattern" => {
                let mut record = self.nothing;
                for part in children(node) {
                    match part.kind() {
                        "record_pattern_body" => self.component_patterns(part, record, scope),
                        _ => record = self.instance_of(Some(part), None, scope).unwrap_or(record),
                    }
                }
            }
            _ => {
                for part in children(node) {
                    self.pattern(part, subject, scope);
                }
            }
        }
        self.depth -= 1;
    }

    /// Patterns of the components of a record, by their places.
    fn component_patterns(&mut self, node: Node<'_>, record: ValueId, scope: ScopeId) {
        for (part, place) in children(node).into_iter().zip(0_usize..) {
            let (name, space) = (place.to_string(), NameSpace::VALUE);
            let component = self.builder.value(Value::Member { of: record, name: name.into(), space });
            self.pattern(part, component, scope);
        }
    }

    /// A `switch`, the value of which is one of those that its rules give.
    pub(super) fn switch(&mut self, node: Node<'_>, scope: ScopeId) -> ValueId {
        let subject = field(node, "condition").map(|condition| self.expression(condition, scope));
        let subject = subject.unwrap_or(self.nothing);
        self.yields.push(Vec::new());
        let mut at = self.block_in(scope);
        for part in field(node, "body").map(children).unwrap_or_default() {
            match part.kind() {
                "switch_rule" => self.rule(part, subject, at),
                // Variables of one group are seen in those behind it.
                _ => {
                    for child in children(part) {
                        at = match child.kind() {
                            "switch_label" => self.label(child, subject, at),
                            _ => self.statement(child, at),
                        };
                    }
                }
            }
        }
        let given = self.yields.pop().unwrap_or_default();
        self.any_of(given)
    }

    /// `case ... -> ...`.
    fn rule(&mut self, node: Node<'_>, subject: ValueId, scope: ScopeId) {
        let mut at = self.block_in(scope);
        for child in children(node) {
            match child.kind() {
                "switch_label" => at = self.label(child, subject, at),
                "expression_statement" => {
                    for expression in children(child) {
                        let value = self.expression(expression, at);
                        self.yields.last_mut().into_iter().for_each(|yields| yields.push(value));
                    }
                }
                _ => _ = self.statement(child, at),
            }
        }
    }

    /// Patterns and constants behind `case`; gives the scope of what runs then.
    fn label(&mut self, node: Node<'_>, subject: ValueId, scope: ScopeId) -> ScopeId {
        let mut at = scope;
        for child in children(node) {
            match child.kind() {
                "pattern" => {
                    at = self.block_in(at);
                    self.pattern(child, subject, at);
                }
                "guard" => {
                    if let Some(condition) = children(child).first() {
                        at = self.condition(*condition, at).when_true;
                    }
                }
                // A constant of the enum that is asked about needs no qualifier.
                "identifier" => {
                    let (name, space) = (self.builder.text(child).to_owned(), NameSpace::VALUE);
                    let constant = self.builder.value(Value::Member { of: subject, name: name.clone().into(), space });
                    let byte = child.start_byte() as u32;
                    let variable = self.builder.value(Value::Name { name: name.into(), scope: at, space, at: byte });
                    let value = self.builder.value(Value::FirstOf(vec![constant, variable]));
                    self.builder.refer(child, at, value);
                }
                _ => _ = self.expression(child, at),
            }
        }
        at
    }
}
