//! Java: blocks are scopes, variables, types and methods have names of their own kinds, and declared types say what
//! members an expression has.
//!
//! A local variable is seen from its declaration on, so each declaration opens a scope for the statements behind it; the
//! variables of patterns are seen where the pattern must have matched (Java Language Specification, 6.3).

mod creation;
mod declarations;
mod expressions;
mod methods;
mod patterns;
mod statements;
#[cfg(test)]
mod tests;
mod types;

use tree_sitter::Node;

use crate::structure::{
    builder::{NewBinding, StructureBuilder, children, field},
    file::{BindingKind, ImportValue, NameSpace, ScopeId, ScopeKind, Value, ValueId},
};

/// Statements, expressions and types in each other at most; what is deeper is left out.
const DEEPEST: usize = 200;

/// Writes down a file.
pub(super) fn lower(builder: &mut StructureBuilder<'_>, root: Node<'_>) {
    // The file's own scope is what its package sees of it. Names in it are looked up in this order: types of the file and
    // single imports, the package, imports on demand.
    let on_demand = builder.scope(ScopeKind::Module, None, None);
    let package = builder.scope(ScopeKind::Module, Some(on_demand), None);
    let file = builder.scope(ScopeKind::Module, Some(package), None);
    let root_package = import(builder, "");
    let nothing = builder.opaque();
    let lang = import(builder, "java.lang");
    let mut lowering = Lowering {
        builder,
        root_package,
        lang,
        nothing,
        string: None,
        depth: 0,
        returns: Vec::new(),
        yields: Vec::new(),
    };
    lowering.builder.include(on_demand, lang);
    // A file with methods outside of classes is the body of one that has no name.
    let parts = children(root);
    let first_method = parts.iter().find(|child| child.kind() == "method_declaration");
    let unnamed = first_method.map(|method| lowering.unnamed_class(*method, file));
    let mut scope = file;
    for child in parts {
        match (child.kind(), unnamed) {
            ("package_declaration", _) => lowering.package(child, file),
            ("import_declaration", _) => lowering.import(child, file, on_demand),
            ("module_declaration", _) => lowering.module(child, file),
            (kind, _) if declarations::is_type(kind) => {
                let around = unnamed.map_or(file, |class| class.scope);
                if let Some(binding) = lowering.type_declaration(child, around, around) {
                    let name = lowering.builder.structure.binding(binding).name.clone();
                    lowering.builder.export(ScopeId(0), &name, binding);
                }
            }
            (_, Some(class)) => lowering.member(child, class),
            _ => scope = lowering.statement(child, scope),
        }
    }
    lowering.builder.structure.references.sort_by_key(|reference| reference.span.start);
    let name = lowering.builder.structure.package.clone().unwrap_or_default();
    let own = import(lowering.builder, &name);
    lowering.builder.include(package, own);
    if lowering.builder.structure.module.is_none() {
        lowering.builder.module(root);
    }
}

/// A package by its full name.
fn import(builder: &mut StructureBuilder<'_>, name: &str) -> ValueId {
    builder.value(ImportValue::value(name, name, None))
}

struct Lowering<'b, 's> {
    builder: &'b mut StructureBuilder<'s>,
    /// The package that all others are in.
    root_package: ValueId,
    /// The package that each file imports.
    lang: ValueId,
    /// Something without members.
    nothing: ValueId,
    /// Some string.
    string: Option<ValueId>,
    depth: usize,
    /// Values that the functions around return.
    returns: Vec<Vec<ValueId>>,
    /// Values that the `switch` expressions around give.
    yields: Vec<Vec<ValueId>>,
}

impl Lowering<'_, '_> {
    fn package(&mut self, node: Node<'_>, scope: ScopeId) {
        self.annotations(node, scope);
        let parts = name_parts(node);
        let name: Vec<&str> = parts.iter().map(|part| self.builder.text(*part)).collect();
        if let (Some(last), Some(own)) = (parts.last(), name.last()) {
            self.builder.structure.module = Some(self.builder.loose(own, *last, NewBinding::new(BindingKind::Module)));
            self.builder.structure.package = Some(name.join("."));
        }
    }

    fn import(&mut self, node: Node<'_>, file: ScopeId, on_demand: ScopeId) {
        let is_static = tokens(node).any(|token| token.kind() == "static");
        let is_on_demand = children(node).iter().any(|child| child.kind() == "asterisk");
        let parts = name_parts(node);
        let Some((last, outer)) = parts.split_last() else { return };
        let of = self.members_of_packages(outer, file);
        let space = match is_static && !is_on_demand {
            true => NameSpace::ANY,
            false => NameSpace::TYPE,
        };
        let value = self.builder.member(of, *last, file, space);
        if is_on_demand {
            self.builder.include(on_demand, value);
        } else {
            let name = self.builder.text(*last);
            let new = NewBinding::of(BindingKind::Import, value).in_space(space).alias();
            self.builder.bind(file, name, *last, new);
        }
    }

    /// A name with dots that begins at a package.
    fn members_of_packages(&mut self, parts: &[Node<'_>], scope: ScopeId) -> ValueId {
        let mut of = self.root_package;
        for part in parts {
            of = self.builder.member(of, *part, scope, NameSpace::TYPE);
        }
        of
    }

    /// Packages and services that a module names.
    fn module(&mut self, node: Node<'_>, scope: ScopeId) {
        self.annotations(node, scope);
        for directive in field(node, "body").map(children).unwrap_or_default() {
            match directive.kind() {
                "exports_module_directive" | "opens_module_directive" => {
                    let parts = field(directive, "package").map(dotted).unwrap_or_default();
                    self.members_of_packages(&parts, scope);
                }
                "uses_module_directive" | "provides_module_directive" => {
                    for name in children(directive) {
                        self.type_of(name, scope);
                    }
                }
                _ => {}
            }
        }
    }

    /// A type of the package `java.lang`, without a place that names it.
    fn of_lang(&mut self, name: &str) -> ValueId {
        self.builder.value(Value::Member { of: self.lang, name: name.into(), space: NameSpace::TYPE })
    }

    /// A scope within another one.
    fn block_in(&mut self, scope: ScopeId) -> ScopeId {
        self.builder.scope(ScopeKind::Block, Some(scope), None)
    }

    /// One of several values.
    fn any_of(&mut self, mut values: Vec<ValueId>) -> ValueId {
        match (values.pop(), values.is_empty()) {
            (None, _) => self.nothing,
            (Some(only), true) => only,
            (Some(last), false) => {
                values.push(last);
                self.builder.value(Value::AnyOf(values))
            }
        }
    }

    /// The class around a scope.
    fn class_around(&self, scope: ScopeId) -> Option<ValueId> {
        let scope = self.builder.nearest(scope, &[ScopeKind::Class]);
        let scope = self.builder.structure.scope(scope);
        scope.owner.filter(|_| scope.kind == ScopeKind::Class)
    }
}

/// Children of a node that have the field's name.
fn fields<'t>(node: Node<'t>, name: &str) -> Vec<Node<'t>> {
    node.children_by_field_name(name, &mut node.walk()).filter(Node::is_named).collect()
}

/// Children of a node, signs and words too.
fn tokens(node: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    (0..node.child_count()).filter_map(move |at| node.child(at as _))
}

/// The parts of the name with dots that a declaration has as a child.
fn name_parts(node: Node<'_>) -> Vec<Node<'_>> {
    let is_name = |child: &Node<'_>| matches!(child.kind(), "identifier" | "scoped_identifier");
    children(node).into_iter().find(is_name).map(dotted).unwrap_or_default()
}

/// The parts of a name with dots.
fn dotted(mut node: Node<'_>) -> Vec<Node<'_>> {
    let mut parts = Vec::new();
    while let (Some(scope), Some(name)) = (field(node, "scope"), field(node, "name")) {
        parts.push(name);
        node = scope;
    }
    parts.push(node);
    parts.reverse();
    parts
}

/// True for an annotation.
fn is_annotation(node: &Node<'_>) -> bool {
    matches!(node.kind(), "annotation" | "marker_annotation")
}
