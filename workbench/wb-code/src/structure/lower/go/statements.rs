//! Statements: each block, clause and header has names of its own.

use tree_sitter::Node;

use super::{Block, ELEMENT, KEY, Lowering, field, fields, has_token, listed};
use crate::structure::{
    builder::{NewBinding, children, deep, span},
    file::{BindingKind, NameSpace, ScopeId, ScopeKind, ValueId},
};

impl Lowering<'_, '_> {
    pub(super) fn statement(&mut self, node: Node<'_>, block: &mut Block) {
        deep(|| self.statement_within(node, block));
    }

    fn statement_within(&mut self, node: Node<'_>, block: &mut Block) {
        match node.kind() {
            "package_clause" => {
                let name = children(node).first().map(|name| self.builder.text(*name).to_owned());
                self.builder.structure.package = name;
            }
            "import_declaration" => self.import(node),
            "function_declaration" => self.function_declaration(node, block),
            "method_declaration" => self.method_declaration(node),
            "type_declaration" => self.type_declaration(node, block),
            "var_declaration" => self.var_declaration(node, block),
            "const_declaration" => self.const_declaration(node, block),
            "short_var_declaration" => {
                let left = listed(field(node, "left"));
                let values = self.values(&listed(field(node, "right")), left.len(), block.scope);
                self.short_declaration(&left, &values, block);
            }
            "statement_list" => self.statements(node, block),
            "block" => {
                let mut inner = self.inner(block.scope);
                self.statements(node, &mut inner);
            }
            "return_statement" => self.return_statement(node, block.scope),
            "if_statement" => self.if_statement(node, block.scope),
            "for_statement" => self.for_statement(node, block.scope),
            "expression_switch_statement" | "select_statement" => self.switch_statement(node, block.scope),
            "type_switch_statement" => self.type_switch(node, block.scope),
            "labeled_statement" => {
                for child in children(node) {
                    match child.kind() {
                        "label_name" => self.label(child, block.scope),
                        _ => self.statement(child, block),
                    }
                }
            }
            "break_statement" | "continue_statement" | "goto_statement" => {
                for label in children(node) {
                    self.builder.name(label, block.scope, NameSpace::LABEL);
                }
            }
            "assignment_statement"
            | "expression_statement"
            | "send_statement"
            | "inc_statement"
            | "dec_statement"
            | "go_statement"
            | "defer_statement"
            | "expression_list" => {
                for child in children(node) {
                    self.statement(child, block);
                }
            }
            _ => _ = self.expression(node, block.scope),
        }
    }

    fn statements(&mut self, node: Node<'_>, block: &mut Block) {
        for child in children(node) {
            self.statement(child, block);
        }
    }

    /// A label, which all of the function sees.
    fn label(&mut self, name: Node<'_>, scope: ScopeId) {
        let function = self.builder.nearest(scope, &[ScopeKind::Function]);
        let text = self.builder.text(name);
        self.builder.bind(function, text, name, NewBinding::new(BindingKind::Label));
    }

    fn return_statement(&mut self, node: Node<'_>, scope: ScopeId) {
        let mut values = Vec::new();
        for value in children(node).into_iter().flat_map(|list| listed(Some(list))) {
            values.push((value, self.expression(value, scope)));
        }
        let value = self.tuple(&values);
        if let Some(returns) = self.returns.last_mut() {
            returns.extend(value);
        }
    }

    fn if_statement(&mut self, node: Node<'_>, scope: ScopeId) {
        let mut block = self.inner(scope);
        for part in children(node) {
            self.statement(part, &mut block);
        }
    }

    fn for_statement(&mut self, node: Node<'_>, scope: ScopeId) {
        self.builder.structure.loops.push(span(node));
        let mut block = self.inner(scope);
        for part in children(node) {
            match part.kind() {
                "for_clause" => self.statements(part, &mut block),
                "range_clause" => self.range_clause(part, &mut block),
                _ => self.statement(part, &mut block),
            }
        }
    }

    fn range_clause(&mut self, node: Node<'_>, block: &mut Block) {
        let of = field(node, "right").map(|right| self.expression(right, block.scope));
        let mut values = Vec::new();
        for name in [KEY, ELEMENT] {
            values.extend(of.map(|of| self.item(of, name)));
        }
        self.received(node, &values, block);
    }

    /// Values that a loop or a channel gives, put into names or places.
    fn received(&mut self, node: Node<'_>, values: &[ValueId], block: &mut Block) {
        let left = listed(field(node, "left"));
        match has_token(node, ":=") {
            true => self.short_declaration(&left, values, block),
            false => left.into_iter().for_each(|left| _ = self.expression(left, block.scope)),
        }
    }

    /// `switch` and `select`: each case is a block.
    fn switch_statement(&mut self, node: Node<'_>, scope: ScopeId) {
        let mut block = self.inner(scope);
        for part in children(node) {
            match part.kind() {
                "expression_case" | "default_case" | "communication_case" => {
                    let mut inner = self.inner(block.scope);
                    for part in children(part) {
                        match part.kind() {
                            "receive_statement" => {
                                let right = field(part, "right").into_iter().collect::<Vec<_>>();
                                let values = self.values(&right, 2, inner.scope);
                                self.received(part, &values, &mut inner);
                            }
                            _ => self.statement(part, &mut inner),
                        }
                    }
                }
                _ => self.statement(part, &mut block),
            }
        }
    }

    /// `switch x := y.(type)`: in each case `x` has its type.
    fn type_switch(&mut self, node: Node<'_>, scope: ScopeId) {
        let mut block = self.inner(scope);
        if let Some(initializer) = field(node, "initializer") {
            self.statement(initializer, &mut block);
        }
        let value = field(node, "value").map(|value| self.expression(value, block.scope));
        let alias = listed(field(node, "alias")).first().copied();
        for case in children(node).into_iter().filter(|it| matches!(it.kind(), "type_case" | "default_case")) {
            let mut inner = self.inner(block.scope);
            let types = fields(case, "type");
            let mut declared = None;
            for of in &types {
                let of = self.type_of(*of, inner.scope);
                declared = Some(self.instance(of));
            }
            if let Some(alias) = alias {
                let declared = declared.filter(|_| types.len() == 1);
                let new = NewBinding::new(BindingKind::Variable).typed(declared);
                let scope = self.open(&mut inner);
                let value = value.filter(|_| declared.is_none());
                self.declare(&mut inner, scope, alias, NewBinding { value, ..new });
            }
            for part in children(case).into_iter().filter(|part| !types.contains(part)) {
                self.statement(part, &mut inner);
            }
        }
    }
}
