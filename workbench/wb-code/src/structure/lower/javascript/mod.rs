//! JavaScript and TypeScript: blocks are scopes for `let`, functions for `var`; files with `import` or `export` are modules.

mod classes;
mod expressions;
mod functions;
mod modules;
mod patterns;
#[cfg(test)]
mod tests;
mod types;

use tree_sitter::Node;

use crate::structure::{
    builder::{NewBinding, StructureBuilder, children, deep, field},
    file::{BindingId, BindingKind, NameSpace, ScopeId, ScopeKind, Value, ValueId},
};

/// A file that is being written down.
pub(super) struct Script<'b, 's, 't> {
    pub builder: &'b mut StructureBuilder<'s>,
    /// True for TypeScript: a variable is what its type says, and its values are no places of it.
    pub typed: bool,
    /// The scope of what others may import.
    pub exports: ScopeId,
    /// True where something is imported or exported by its keywords.
    pub is_module: bool,
    /// True where something is put into `exports`.
    pub is_common: bool,
    /// Results of the functions around.
    pub returns: Vec<Vec<ValueId>>,
    /// Names that are given a value without being declared there.
    pub assigned: Vec<(ScopeId, Node<'t>, ValueId)>,
}

/// Writes down a file; `typed` for TypeScript.
pub(super) fn lower(builder: &mut StructureBuilder<'_>, root: Node<'_>, typed: bool) {
    builder.module(root);
    let exports = builder.scope(ScopeKind::Module, None, None);
    builder.structure.exports = Some(exports);
    let (returns, assigned) = (Vec::new(), Vec::new());
    let mut script = Script { builder, typed, exports, is_module: false, is_common: false, returns, assigned };
    script.statements(root, ScopeId(0));
    script.finish();
}

impl<'t> Script<'_, '_, 't> {
    /// A binding whose value's places are its own too; in TypeScript a variable is what its type says.
    fn aliased(&self, new: NewBinding) -> NewBinding {
        if self.typed { new } else { new.alias() }
    }

    fn finish(&mut self) {
        for (scope, node, value) in std::mem::take(&mut self.assigned) {
            let name = self.builder.text(node);
            let function = || self.builder.nearest(scope, &[ScopeKind::Function, ScopeKind::Module]);
            let declared = self.declared(scope, name).unwrap_or_else(function);
            let new = NewBinding::of(BindingKind::Variable, value).alias();
            self.builder.bind(declared, name, node, new);
        }
        // All that is put into `exports` is what `import x from` gives.
        if self.is_common && !self.is_module {
            let namespace = self.builder.value(Value::Namespace(self.exports));
            let has_default =
                self.builder.structure.scope(self.exports).names.iter().any(|(name, _)| name == "default");
            if let (false, Some(module)) = (has_default, self.builder.structure.module) {
                self.builder.binding_mut(module).value = Some(namespace);
                self.builder.export(self.exports, "default", module);
            }
        }
        if self.typed && !self.is_module {
            self.builder.structure.globals = Some(ScopeId(0));
        }
    }

    /// The scope outwards in which a name is declared.
    fn declared(&self, scope: ScopeId, name: &str) -> Option<ScopeId> {
        let mut next = Some(scope);
        while let Some(at) = next {
            let scope = self.builder.structure.scope(at);
            if scope.kind != ScopeKind::Class && scope.names.iter().any(|(own, _)| own == name) {
                return Some(at);
            }
            next = scope.parent;
        }
        None
    }

    pub(super) fn statements(&mut self, node: Node<'t>, scope: ScopeId) {
        for child in children(node) {
            self.statement(child, scope);
        }
    }

    /// Statements that are a scope of their own.
    pub(super) fn block(&mut self, node: Node<'t>, scope: ScopeId) {
        let inner = self.builder.scope(ScopeKind::Block, Some(scope), None);
        self.statements(node, inner);
    }

    /// A statement; the bindings that it declares.
    pub(super) fn statement(&mut self, node: Node<'t>, scope: ScopeId) -> Vec<BindingId> {
        deep(|| self.statement_of(node, scope))
    }

    fn statement_of(&mut self, node: Node<'t>, scope: ScopeId) -> Vec<BindingId> {
        match node.kind() {
            "lexical_declaration" | "variable_declaration" => return self.declaration(node, scope),
            "function_declaration" | "generator_function_declaration" | "function_signature" => {
                let value = self.function(node, scope, None);
                let hoisted = self.builder.nearest(scope, &[ScopeKind::Function, ScopeKind::Module, ScopeKind::Block]);
                return self.define(node, hoisted, BindingKind::Function, value).into_iter().collect();
            }
            "class_declaration" | "abstract_class_declaration" => {
                let value = self.class(node, scope);
                return self.define(node, scope, BindingKind::Class, value).into_iter().collect();
            }
            "interface_declaration" => return self.interface(node, scope).into_iter().collect(),
            "type_alias_declaration" => return self.type_alias(node, scope).into_iter().collect(),
            "enum_declaration" => return self.enumeration(node, scope).into_iter().collect(),
            "internal_module" | "module" => return self.namespace(node, scope),
            "ambient_declaration" => {
                return children(node).into_iter().flat_map(|child| self.statement(child, scope)).collect();
            }
            "import_statement" => self.import(node, scope),
            "import_alias" => return self.import_alias(node, scope).into_iter().collect(),
            "export_statement" => self.export(node, scope, self.exports),
            "expression_statement" => {
                if let Some(inner) = node.named_child(0) {
                    match inner.kind() {
                        // `namespace A {}` is written down as an expression by the grammar.
                        "internal_module" | "function_signature" => return self.statement(inner, scope),
                        _ => _ = self.expression(inner, scope),
                    }
                }
            }
            "statement_block" => self.block(node, scope),
            "return_statement" => {
                for child in children(node) {
                    let value = self.expression(child, scope);
                    self.returns.last_mut().into_iter().for_each(|returns| returns.push(value));
                }
            }
            "for_statement" => self.block(node, scope),
            "for_in_statement" => self.for_in(node, scope),
            "catch_clause" => {
                let inner = self.builder.scope(ScopeKind::Block, Some(scope), None);
                if let Some(parameter) = field(node, "parameter") {
                    let declared = field(node, "type").map(|it| self.declared_type(it, inner));
                    let value = self.builder.opaque();
                    self.bind_pattern(parameter, value, inner, BindingKind::Variable, declared);
                }
                if let Some(body) = field(node, "body") {
                    self.statements(body, inner);
                }
            }
            "labeled_statement" => {
                let inner = self.builder.scope(ScopeKind::Block, Some(scope), None);
                if let Some(label) = field(node, "label") {
                    let name = self.builder.text(label);
                    self.builder.bind(inner, name, label, NewBinding::new(BindingKind::Label));
                }
                if let Some(body) = field(node, "body") {
                    self.statement(body, inner);
                }
            }
            "break_statement" | "continue_statement" => {
                if let Some(label) = field(node, "label") {
                    self.builder.name(label, scope, NameSpace::LABEL);
                }
            }
            "if_statement" | "else_clause" | "while_statement" | "do_statement" | "with_statement" => {
                // A function in place of a block is known in it alone.
                for child in children(node) {
                    let is_function = child.kind() == "function_declaration";
                    let inner =
                        if is_function { self.builder.scope(ScopeKind::Block, Some(scope), None) } else { scope };
                    self.statement(child, inner);
                }
            }
            "try_statement" | "finally_clause" | "switch_statement" | "switch_case" | "switch_default" => {
                self.statements(node, scope);
            }
            "switch_body" => self.block(node, scope),
            "empty_statement" | "debugger_statement" => {}
            "throw_statement" | "using_declaration" => _ = self.each(node, scope),
            _ => _ = self.expression(node, scope),
        }
        Vec::new()
    }

    fn define(&mut self, node: Node<'t>, scope: ScopeId, kind: BindingKind, value: ValueId) -> Option<BindingId> {
        let name = field(node, "name")?;
        let text = self.builder.text(name);
        Some(self.builder.bind(scope, text, name, NewBinding::of(kind, value)))
    }

    fn declaration(&mut self, node: Node<'t>, scope: ScopeId) -> Vec<BindingId> {
        let target = match node.kind() {
            "variable_declaration" => self.builder.nearest(scope, &[ScopeKind::Function, ScopeKind::Module]),
            _ => scope,
        };
        let mut bound = Vec::new();
        for declarator in children(node).into_iter().filter(|it| it.kind() == "variable_declarator") {
            let declared = field(declarator, "type").map(|it| self.declared_type(it, scope));
            let value = field(declarator, "value").map(|value| self.expression(value, scope));
            if let Some(name) = field(declarator, "name") {
                bound.extend(self.bind_declared(name, value, target, BindingKind::Variable, declared));
            }
        }
        bound
    }

    fn for_in(&mut self, node: Node<'t>, scope: ScopeId) {
        let inner = self.builder.scope(ScopeKind::Block, Some(scope), None);
        let right = field(node, "right").map(|right| self.expression(right, inner));
        let is_of = field(node, "operator").is_some_and(|it| self.builder.text(it) == "of");
        let element = match right {
            Some(right) if is_of => self.builder.value(Value::Element(right)),
            _ => self.builder.opaque(),
        };
        if let Some(left) = field(node, "left") {
            match field(node, "kind") {
                Some(kind) => {
                    let target = match self.builder.text(kind) {
                        "var" => self.builder.nearest(scope, &[ScopeKind::Function, ScopeKind::Module]),
                        _ => inner,
                    };
                    self.bind_pattern(left, element, target, BindingKind::Variable, None);
                }
                None => self.assign(left, element, inner),
            }
        }
        if let Some(body) = field(node, "body") {
            let own = self.builder.scope(ScopeKind::Block, Some(inner), None);
            self.statement(body, own);
        }
    }
}

/// Text of a string or a name without its quotes.
pub(super) fn unquoted(text: &str) -> &str {
    text.trim_matches(['"', '\'', '`'])
}
