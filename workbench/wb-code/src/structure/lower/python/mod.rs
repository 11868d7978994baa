//! Python: functions and classes are scopes, blocks are not; what is assigned anywhere in a function is its own.

mod expressions;
mod functions;
mod imports;
mod literals;
mod patterns;
#[cfg(test)]
mod tests;

use std::ops::Range;

use tree_sitter::Node;

use crate::structure::{
    builder::{NewBinding, StructureBuilder, children, deep, field, span},
    file::{BindingId, BindingKind, NameSpace, ScopeId, ScopeKind, ValueId},
};

const VALUE: NameSpace = NameSpace::ANY;

/// Place of statements.
#[derive(Clone, Copy)]
struct Place {
    scope: ScopeId,
    /// The class whose methods these are.
    class: Option<ValueId>,
}

/// Writes down a file.
pub(super) fn lower(builder: &mut StructureBuilder<'_>, root: Node<'_>) {
    builder.module(root);
    let block = span(root);
    let mut lowering = Lowering { builder, returns: Vec::new(), globals: Vec::new(), block };
    let place = Place { scope: ScopeId(0), class: None };
    lowering.statements(root, place);
}

struct Lowering<'b, 's> {
    builder: &'b mut StructureBuilder<'s>,
    /// Results of the functions around, and whether they yield.
    returns: Vec<(Vec<ValueId>, bool)>,
    /// Names that the functions around take from outside, with their scopes.
    globals: Vec<(ScopeId, String, ScopeId)>,
    /// Bytes of the statements that all run once the first of them does.
    block: Range<u32>,
}

impl Lowering<'_, '_> {
    fn statements(&mut self, node: Node<'_>, place: Place) {
        if matches!(node.kind(), "while_statement") {
            self.builder.structure.loops.push(span(node));
        }
        // What stands in a block may not run.
        let is_branch = matches!(node.kind(), "block" | "except_clause" | "except_group_clause");
        let around = self.block.clone();
        if is_branch {
            self.block = span(node);
        }
        for child in children(node) {
            self.statement(child, place);
        }
        self.block = around;
    }

    /// A name in a scope; what is assigned later replaces it.
    fn bind(&mut self, scope: ScopeId, name: &str, node: Node<'_>, new: NewBinding) -> BindingId {
        let binding = self.builder.bind(scope, name, node, new);
        self.builder.binding_mut(binding).block = Some(self.block.clone());
        binding
    }

    fn statement(&mut self, node: Node<'_>, place: Place) {
        deep(|| self.statement_of(node, place));
    }

    fn statement_of(&mut self, node: Node<'_>, place: Place) {
        match node.kind() {
            "function_definition" => {
                let (value, name) = self.function(node, place, &[]);
                self.define(name, place, BindingKind::Function, value);
            }
            "class_definition" => _ = self.class(node, place, None),
            "decorated_definition" => self.decorated(node, place),
            "import_statement" => self.import(node, place),
            "import_from_statement" | "future_import_statement" => self.import_from(node, place),
            "global_statement" | "nonlocal_statement" => {
                let target = match node.kind() {
                    "global_statement" => ScopeId(0),
                    _ => self.outer_function(place.scope),
                };
                for name in children(node) {
                    self.globals.push((place.scope, self.builder.text(name).to_owned(), target));
                }
            }
            "return_statement" => {
                for child in children(node) {
                    let value = self.expression(child, place);
                    if let Some((returns, _)) = self.returns.last_mut() {
                        returns.push(value);
                    }
                }
            }
            "for_statement" => {
                self.builder.structure.loops.push(span(node));
                let right = field(node, "right").map(|right| self.expression(right, place));
                if let (Some(left), Some(right)) = (field(node, "left"), right) {
                    let element = self.each_of(right, node, place);
                    let around = std::mem::replace(&mut self.block, span(node));
                    self.assign(left, element, place);
                    self.block = around;
                }
                for part in ["body", "alternative"].into_iter().filter_map(|name| field(node, name)) {
                    self.statement(part, place);
                }
            }
            "with_statement" => self.statements(node, place),
            "with_item" => self.opened(node, place),
            "match_statement" => {
                let subject = field(node, "subject").map(|subject| self.expression(subject, place));
                let opaque = subject.unwrap_or_else(|| self.builder.opaque());
                if let Some(body) = field(node, "body") {
                    for case in children(body) {
                        self.case(case, opaque, place);
                    }
                }
            }
            "delete_statement" | "print_statement" | "assert_statement" | "raise_statement" | "exec_statement" => {
                for child in children(node) {
                    self.expression(child, place);
                }
            }
            "type_alias_statement" => {
                for child in children(node) {
                    self.expression(child, place);
                }
            }
            kind if is_block(kind) => self.statements(node, place),
            _ => _ = self.expression(node, place),
        }
    }

    fn outer_function(&self, scope: ScopeId) -> ScopeId {
        match self.builder.structure.scope(scope).parent {
            Some(parent) => self.builder.nearest(parent, &[ScopeKind::Function]),
            None => scope,
        }
    }

    /// The name of a definition in its scope.
    fn define(&mut self, name: Option<Node<'_>>, place: Place, kind: BindingKind, value: ValueId) {
        if let Some(name) = name {
            let text = self.builder.text(name);
            let scope = self.scope_of(text, place);
            self.bind(scope, text, name, NewBinding::of(kind, value).in_space(VALUE));
        }
    }

    /// The scope that a name belongs to which is assigned here.
    fn scope_of(&self, name: &str, place: Place) -> ScopeId {
        let taken = self.globals.iter().rev().find(|(scope, own, _)| *scope == place.scope && own == name);
        taken.map_or(place.scope, |(_, _, target)| *target)
    }
}

/// Kinds of nodes that only hold statements.
fn is_block(kind: &str) -> bool {
    matches!(
        kind,
        "block"
            | "module"
            | "if_statement"
            | "elif_clause"
            | "else_clause"
            | "while_statement"
            | "try_statement"
            | "except_clause"
            | "except_group_clause"
            | "finally_clause"
            | "with_clause"
            | "expression_statement"
            | "async"
    )
}
