//! Imports, exports, namespaces.

use tree_sitter::Node;

use super::{Script, field, unquoted};
use crate::structure::{
    builder::{NewBinding, children},
    file::{BindingId, BindingKind, ImportValue, NameSpace, ScopeId, ScopeKind, Value, ValueId},
};

impl<'t> Script<'_, '_, 't> {
    /// The module of a name in quotes, which names its file.
    pub(super) fn imported(&mut self, source: Node<'t>, scope: ScopeId) -> ValueId {
        let module = unquoted(self.builder.text(source)).to_owned();
        let value = self.builder.value(ImportValue::value(module.clone(), module, None));
        self.builder.refer(source, scope, value);
        value
    }

    fn exported(&mut self, of: ValueId, name: &str) -> ValueId {
        self.builder.value(Value::Member { of, name: name.into(), space: NameSpace::ANY })
    }

    /// Value that `require` gives: all of `module.exports`, or what is in it.
    pub(super) fn required(&mut self, module: ValueId) -> ValueId {
        let whole = self.exported(module, "module.exports");
        self.builder.value(Value::AnyOf(vec![whole, module]))
    }

    pub(super) fn import(&mut self, node: Node<'t>, scope: ScopeId) {
        self.is_module = true;
        for clause in children(node) {
            match clause.kind() {
                "import_clause" => {
                    let Some(source) = field(node, "source") else { continue };
                    let module = self.imported(source, scope);
                    for part in children(clause) {
                        self.import_part(part, module, scope);
                    }
                }
                "import_require_clause" => {
                    let Some(source) = field(clause, "source") else { continue };
                    let module = self.imported(source, scope);
                    let value = self.required(module);
                    if let Some(name) = clause.named_child(0) {
                        let text = self.builder.text(name);
                        self.builder.bind(scope, text, name, NewBinding::of(BindingKind::Import, value).alias());
                    }
                }
                _ => {}
            }
        }
    }

    fn import_part(&mut self, node: Node<'t>, module: ValueId, scope: ScopeId) {
        let bind = |script: &mut Self, name: Node<'t>, value| {
            let text = script.builder.text(name);
            script.builder.bind(scope, text, name, NewBinding::of(BindingKind::Import, value).alias());
        };
        match node.kind() {
            "identifier" => {
                let value = self.exported(module, "default");
                bind(self, node, value);
            }
            "namespace_import" => {
                if let Some(name) = node.named_child(0) {
                    bind(self, name, module);
                }
            }
            "named_imports" => {
                for specifier in children(node) {
                    let Some(name) = field(specifier, "name") else { continue };
                    let text = unquoted(self.builder.text(name)).to_owned();
                    let value = self.exported(module, &text);
                    self.builder.refer(name, scope, value);
                    bind(self, field(specifier, "alias").unwrap_or(name), value);
                }
            }
            _ => {}
        }
    }

    /// `import A = B.C`.
    pub(super) fn import_alias(&mut self, node: Node<'t>, scope: ScopeId) -> Option<BindingId> {
        let parts = children(node);
        let (name, target) = (*parts.first()?, *parts.get(1)?);
        let value = self.type_value(target, scope);
        let text = self.builder.text(name);
        Some(self.builder.bind(scope, text, name, NewBinding::of(BindingKind::Import, value).alias()))
    }

    /// An export into the scope of what others see.
    pub(super) fn export(&mut self, node: Node<'t>, scope: ScopeId, exports: ScopeId) {
        if exports == self.exports {
            self.is_module = true;
        }
        let tokens: Vec<&str> = {
            let mut cursor = node.walk();
            node.children(&mut cursor).map(|child| child.kind()).collect()
        };
        let source = field(node, "source").map(|source| self.imported(source, scope));
        for decorator in children(node).into_iter().filter(|it| it.kind() == "decorator") {
            self.expression(decorator, scope);
        }
        if let Some(declaration) = field(node, "declaration") {
            for binding in self.statement(declaration, scope) {
                let is_default = tokens.contains(&"default");
                let name = self.builder.structure.binding(binding).name.clone();
                self.builder.export(exports, if is_default { "default" } else { &name }, binding);
            }
            // A function or a class without a name.
            if tokens.contains(&"default") && field(declaration, "name").is_none() {
                let value = match declaration.kind() {
                    "class_declaration" => self.class(declaration, scope),
                    _ => self.function(declaration, scope, None),
                };
                self.builder.bind(exports, "default", declaration, NewBinding::of(BindingKind::Function, value));
            }
            return;
        }
        if let Some(value) = field(node, "value") {
            let given = self.expression(value, scope);
            let new = NewBinding::of(BindingKind::Variable, given);
            self.builder.bind(exports, "default", value, self.aliased(new));
            return;
        }
        for child in children(node) {
            match child.kind() {
                "export_clause" => {
                    for specifier in children(child) {
                        let Some(name) = field(specifier, "name") else { continue };
                        let value = match source {
                            Some(module) => {
                                let text = unquoted(self.builder.text(name)).to_owned();
                                let value = self.exported(module, &text);
                                self.builder.refer(name, scope, value);
                                value
                            }
                            None => self.builder.name(name, scope, NameSpace::ANY),
                        };
                        let alias = field(specifier, "alias").unwrap_or(name);
                        let text = unquoted(self.builder.text(alias)).to_owned();
                        self.builder.bind(exports, &text, alias, NewBinding::of(BindingKind::Import, value).alias());
                    }
                }
                "namespace_export" => {
                    if let (Some(name), Some(module)) = (child.named_child(0), source) {
                        let text = unquoted(self.builder.text(name)).to_owned();
                        self.builder.bind(exports, &text, name, NewBinding::of(BindingKind::Import, module).alias());
                    }
                }
                // `export as namespace A`: a name that every file knows.
                "identifier" if tokens.contains(&"namespace") => {
                    let globals = self.builder.scope(ScopeKind::Module, None, None);
                    self.builder.structure.globals = Some(globals);
                    let value = self.builder.value(Value::Namespace(self.exports));
                    let text = self.builder.text(child);
                    self.builder.bind(globals, text, child, NewBinding::of(BindingKind::Module, value));
                }
                // `export = A`.
                _ if tokens.contains(&"=") => {
                    let value = self.expression(child, scope);
                    let new = NewBinding::of(BindingKind::Variable, value);
                    let binding = self.builder.bind(exports, "module.exports", child, new);
                    self.builder.export(exports, "default", binding);
                    self.builder.include(exports, value);
                }
                _ => {}
            }
        }
        if let (Some(module), true) = (source, tokens.contains(&"*")) {
            self.builder.include(exports, module);
        }
    }

    /// `exports.a = b` and `module.exports = c`; true where it is one of them.
    pub(super) fn export_by_assignment(
        &mut self,
        node: Node<'t>,
        name: &str,
        property: Node<'t>,
        value: ValueId,
        scope: ScopeId,
    ) -> bool {
        let Some(object) = field(node, "object") else { return false };
        let text = self.builder.text(object);
        let root = text.split('.').next().unwrap_or_default();
        if !matches!(text, "exports" | "module" | "module.exports") || self.declared(scope, root).is_some() {
            return false;
        }
        let new = NewBinding::of(BindingKind::Field, value).alias();
        if text == "module" {
            if name != "exports" {
                return false;
            }
            let binding = self.builder.bind(self.exports, "module.exports", property, new);
            self.builder.export(self.exports, "default", binding);
            self.builder.include(self.exports, value);
        } else {
            self.builder.bind(self.exports, name, property, new);
        }
        self.is_common = true;
        true
    }

    /// `namespace A.B {}`, `module "m" {}`, `global {}`.
    pub(super) fn namespace(&mut self, node: Node<'t>, scope: ScopeId) -> Vec<BindingId> {
        let (Some(name), Some(body)) = (field(node, "name"), field(node, "body")) else { return Vec::new() };
        let mut parts = Vec::new();
        let mut next = Some(name);
        while let Some(part) = next {
            match part.kind() {
                "nested_identifier" => {
                    parts.extend(field(part, "property"));
                    next = field(part, "object");
                }
                _ => {
                    parts.push(part);
                    next = None;
                }
            }
        }
        let mut outer = scope;
        let mut exports = None;
        let mut bound = Vec::new();
        for part in parts.into_iter().rev() {
            // Names of an earlier part of the same namespace are seen where they are exported.
            let text = self.builder.text(part).to_owned();
            let inner = self.builder.scope(ScopeKind::Module, Some(outer), None);
            let visible = self.builder.scope(ScopeKind::Module, None, None);
            let value = self.builder.value(Value::Namespace(visible));
            let binding = self.builder.bind(outer, &text, part, NewBinding::of(BindingKind::Module, value));
            match exports {
                None => bound.push(binding),
                Some(exports) => self.builder.export(exports, &text, binding),
            }
            let own = Value::Name { name: text.clone().into(), scope: outer, space: NameSpace::BOTH, at: u32::MAX };
            let own = self.builder.value(own);
            self.builder.include(inner, own);
            (outer, exports) = (inner, Some(visible));
        }
        let Some(exports) = exports else { return bound };
        let is_ambient = name.kind() == "string" || node.parent().is_some_and(|it| it.kind() == "ambient_declaration");
        for child in children(body) {
            match child.kind() {
                "export_statement" => self.export(child, outer, exports),
                _ => {
                    let declared = self.statement(child, outer);
                    for binding in declared.into_iter().filter(|_| is_ambient) {
                        let name = self.builder.structure.binding(binding).name.clone();
                        self.builder.export(exports, &name, binding);
                    }
                }
            }
        }
        bound
    }
}
