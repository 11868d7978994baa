//! Statements; each gives the scope of those behind it.

use tree_sitter::Node;

use super::{DEEPEST, Lowering, children, declarations::is_type, field, fields, patterns::Outcome};
use crate::structure::{
    builder::{NewBinding, span},
    file::{BindingKind, NameSpace, ScopeId, Value},
};

impl Lowering<'_, '_> {
    /// Statements with a scope of their own.
    pub(super) fn block(&mut self, node: Node<'_>, scope: ScopeId) {
        let inner = self.block_in(scope);
        self.statements(&children(node), inner);
    }

    fn statements(&mut self, nodes: &[Node<'_>], scope: ScopeId) {
        nodes.iter().fold(scope, |at, statement| self.statement(*statement, at));
    }

    pub(super) fn statement(&mut self, node: Node<'_>, scope: ScopeId) -> ScopeId {
        if self.depth >= DEEPEST {
            return scope;
        }
        self.depth += 1;
        let behind = self.shallow_statement(node, scope);
        self.depth -= 1;
        behind
    }

    fn shallow_statement(&mut self, node: Node<'_>, scope: ScopeId) -> ScopeId {
        match node.kind() {
            "block" | "constructor_body" => self.block(node, scope),
            "local_variable_declaration" | "field_declaration" => return self.local_variables(node, scope),
            "if_statement" => return self.branches(node, scope),
            "while_statement" | "do_statement" => return self.conditional_loop(node, scope),
            "for_statement" => return self.counted_loop(node, scope),
            "enhanced_for_statement" => self.loop_over_elements(node, scope),
            "labeled_statement" => {
                let inner = self.block_in(scope);
                for child in children(node) {
                    if child.kind() == "identifier" {
                        let label = self.builder.text(child);
                        self.builder.bind(inner, label, child, NewBinding::new(BindingKind::Label));
                    } else {
                        self.statement(child, inner);
                    }
                }
            }
            "break_statement" | "continue_statement" => {
                for label in children(node) {
                    self.builder.name(label, scope, NameSpace::LABEL);
                }
            }
            "return_statement" | "yield_statement" => {
                for child in children(node) {
                    let value = self.expression(child, scope);
                    let given = match node.kind() {
                        "return_statement" => self.returns.last_mut(),
                        _ => self.yields.last_mut(),
                    };
                    given.into_iter().for_each(|given| given.push(value));
                }
            }
            "try_statement" | "try_with_resources_statement" => self.attempt(node, scope),
            "explicit_constructor_invocation" => self.constructor_call(node, scope),
            "import_declaration" | "package_declaration" => {}
            kind if is_type(kind) => {
                // A class within statements is seen from here on.
                let inner = self.block_in(scope);
                self.type_declaration(node, inner, inner);
                return inner;
            }
            "expression_statement"
            | "synchronized_statement"
            | "throw_statement"
            | "assert_statement"
            | "finally_clause" => {
                for child in children(node) {
                    self.statement(child, scope);
                }
            }
            _ => _ = self.expression(node, scope),
        }
        scope
    }

    /// Variables that are seen from their own initializers on.
    fn local_variables(&mut self, node: Node<'_>, scope: ScopeId) -> ScopeId {
        self.annotations(node, scope);
        let declared = field(node, "type").map(|it| (it, self.type_of(it, scope)));
        let mut at = scope;
        for declarator in fields(node, "declarator") {
            let Some(name) = field(declarator, "name") else { continue };
            at = self.block_in(at);
            let declared = self.declared_of(declared, declarator, scope);
            let value = field(declarator, "value").map(|value| self.expression(value, at));
            self.variable(name, declared, value, at);
        }
        at
    }

    /// `if` with all of its `else if`.
    fn branches(&mut self, node: Node<'_>, scope: ScopeId) -> ScopeId {
        let mut behind = None;
        let mut next = Some((node, scope));
        while let Some((node, at)) = next.take() {
            let Some(condition) = field(node, "condition") else { break };
            let Outcome { when_true, when_false } = self.condition(condition, at);
            let (consequence, alternative) = (field(node, "consequence"), field(node, "alternative"));
            if let Some(consequence) = consequence {
                self.statement(consequence, when_true);
            }
            let after = match (consequence.is_some_and(ends), alternative.is_some_and(ends)) {
                (true, false) => when_false,
                (false, true) => when_true,
                _ => at,
            };
            behind = behind.or(Some(after));
            match alternative {
                Some(further) if further.kind() == "if_statement" => next = Some((further, when_false)),
                Some(alternative) => _ = self.statement(alternative, when_false),
                None => {}
            }
        }
        behind.unwrap_or(scope)
    }

    fn conditional_loop(&mut self, node: Node<'_>, scope: ScopeId) -> ScopeId {
        self.builder.structure.loops.push(span(node));
        let condition = field(node, "condition");
        let (is_first, body) = (node.kind() == "while_statement", field(node, "body"));
        if let Some(body) = body.filter(|_| !is_first) {
            self.statement(body, scope);
        }
        let unchanged = Outcome { when_true: scope, when_false: scope };
        let outcome = condition.map_or(unchanged, |condition| self.condition(condition, scope));
        if let Some(body) = body.filter(|_| is_first) {
            self.statement(body, outcome.when_true);
        }
        outcome.when_false
    }

    fn counted_loop(&mut self, node: Node<'_>, scope: ScopeId) -> ScopeId {
        self.builder.structure.loops.push(span(node));
        let mut at = self.block_in(scope);
        for init in fields(node, "init") {
            at = self.statement(init, at);
        }
        let when_true = field(node, "condition").map_or(at, |condition| self.condition(condition, at).when_true);
        for update in fields(node, "update") {
            self.expression(update, when_true);
        }
        if let Some(body) = field(node, "body") {
            self.statement(body, when_true);
        }
        scope
    }

    fn loop_over_elements(&mut self, node: Node<'_>, scope: ScopeId) {
        self.builder.structure.loops.push(span(node));
        self.annotations(node, scope);
        let declared = self.instance_of(field(node, "type"), field(node, "dimensions"), scope);
        let inner = self.block_in(scope);
        let all = field(node, "value").map(|value| self.expression(value, scope));
        let element = all.map(|all| self.builder.value(Value::Element(all)));
        if let Some(name) = field(node, "name") {
            self.variable(name, declared, element, inner);
        }
        if let Some(body) = field(node, "body") {
            self.statement(body, inner);
        }
    }

    /// `try` with its resources, `catch` and `finally`.
    fn attempt(&mut self, node: Node<'_>, scope: ScopeId) {
        let mut at = scope;
        for resource in field(node, "resources").map(children).unwrap_or_default() {
            at = self.resource(resource, at);
        }
        for child in children(node) {
            match child.kind() {
                "resource_specification" => {}
                "block" => self.block(child, at),
                "catch_clause" => self.handler(child, scope),
                _ => _ = self.statement(child, scope),
            }
        }
    }

    fn resource(&mut self, node: Node<'_>, scope: ScopeId) -> ScopeId {
        let Some(name) = field(node, "name") else {
            for child in children(node) {
                self.expression(child, scope);
            }
            return scope;
        };
        self.annotations(node, scope);
        let declared = self.instance_of(field(node, "type"), field(node, "dimensions"), scope);
        let inner = self.block_in(scope);
        let value = field(node, "value").map(|value| self.expression(value, inner));
        self.variable(name, declared, value, inner);
        inner
    }

    fn handler(&mut self, node: Node<'_>, scope: ScopeId) {
        let inner = self.block_in(scope);
        for parameter in children(node).into_iter().filter(|child| child.kind() == "catch_formal_parameter") {
            self.annotations(parameter, scope);
            let types = children(parameter).into_iter().find(|child| child.kind() == "catch_type");
            let declared = self.instance_of(types, field(parameter, "dimensions"), scope);
            if let Some(name) = field(parameter, "name") {
                let new = NewBinding::new(BindingKind::Parameter).typed(declared);
                let text = self.builder.text(name);
                self.builder.bind(inner, text, name, new);
            }
        }
        if let Some(body) = field(node, "body") {
            self.block(body, inner);
        }
    }
}

/// True where nothing behind a statement runs after it.
fn ends(mut node: Node<'_>) -> bool {
    loop {
        match node.kind() {
            "return_statement" | "throw_statement" | "break_statement" | "continue_statement" | "yield_statement" => {
                return true;
            }
            "block" | "labeled_statement" => match children(node).last() {
                Some(last) => node = *last,
                None => return false,
            },
            "synchronized_statement" | "try_statement"
                if children(node).iter().all(|it| it.kind() != "catch_clause") =>
            {
                match field(node, "body") {
                    Some(body) => node = body,
                    None => return false,
                }
            }
            "if_statement" => match (field(node, "consequence"), field(node, "alternative")) {
                // The chain of `else if` may be long, what it holds is one statement less deep each time.
                (Some(consequence), Some(alternative)) if ends_simply(consequence) => node = alternative,
                _ => return false,
            },
            _ => return false,
        }
    }
}

/// True for `return` and the like, alone or at the end of a block.
fn ends_simply(node: Node<'_>) -> bool {
    let last = match node.kind() {
        "block" => children(node).last().copied().unwrap_or(node),
        _ => node,
    };
    matches!(
        last.kind(),
        "return_statement" | "throw_statement" | "break_statement" | "continue_statement" | "yield_statement"
    )
}
