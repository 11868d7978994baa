//! Rust: a module sees nothing of what is around it, each `let` begins a scope of its own, and what a type can do is written
//! beside it. Functions and types are in the name spaces of values and types, macros in that of methods, and so are fields,
//! which never stand where a macro does.

mod attributes;
mod calls;
mod expressions;
mod generics;
mod items;
mod macros;
mod members;
mod paths;
mod patterns;
#[cfg(test)]
mod tests;
mod tokens;
mod types;

use std::collections::HashMap;

use tree_sitter::Node;

use crate::structure::{
    builder::{StructureBuilder, children, deep},
    file::{BindingId, ImportValue, NameSpace, ScopeId, ScopeKind, Value, ValueId},
};

const VALUE: NameSpace = NameSpace::VALUE;
const TYPE: NameSpace = NameSpace::TYPE;
const BOTH: NameSpace = NameSpace::BOTH;
const ANY: NameSpace = NameSpace::ANY;
const MACRO: NameSpace = NameSpace::METHOD;
const FIELD: NameSpace = NameSpace::METHOD;

/// Expressions, types and patterns within each other that are looked into; what is deeper is no code that somebody wrote.
const DEEPEST: usize = 10_000;
/// Macros within each other that are looked into; each is read once more for each of those around it.
const MACROS: usize = 32;

/// Writes down a file.
pub(super) fn lower(builder: &mut StructureBuilder<'_>, root: Node<'_>) {
    builder.module(root);
    let nothing = builder.value(Value::AnyOf(Vec::new()));
    let mut lowering = Lowering {
        builder,
        nothing,
        standard: HashMap::new(),
        inline: Vec::new(),
        generics: Vec::new(),
        returns: Vec::new(),
        breaks: Vec::new(),
        depth: 0,
        macros: 0,
        empty: HashMap::new(),
    };
    let file = ScopeId(0);
    lowering.statements(root, Place { scope: file, items: file, module: file, own: None, class: None });
}

/// The surroundings of a piece of code.
#[derive(Clone, Copy)]
struct Place {
    /// The scope in which names are looked up.
    scope: ScopeId,
    /// The scope that has the items which stand here.
    items: ScopeId,
    /// The module around.
    module: ScopeId,
    /// The meaning of `Self`.
    own: Option<Own>,
    /// The class whose members stand here.
    class: Option<Class>,
}

/// The meaning of `Self`.
#[derive(Clone, Copy)]
struct Own {
    /// The type.
    value: ValueId,
    /// The type that a reader is shown: its name, without what it is applied to.
    named: ValueId,
    /// A class whose members are those that stand here, before those of the type: `Self::Item` is the nearest.
    nearest: Option<ValueId>,
}

/// A class whose members are written down.
#[derive(Clone, Copy)]
struct Class {
    value: ValueId,
    is_trait: bool,
}

/// A type parameter that is seen.
struct Generic {
    name: String,
    binding: BindingId,
    /// A class with its bounds as bases.
    class: ValueId,
    /// A bound that is a function, and the name of the type that it returns.
    callable: Option<(ValueId, Option<String>)>,
}

struct Lowering<'b, 's> {
    builder: &'b mut StructureBuilder<'s>,
    /// The value of which nothing is known.
    nothing: ValueId,
    /// Types of the standard library by their names.
    standard: HashMap<&'static str, ValueId>,
    /// Names of the modules around that are written out here.
    inline: Vec<String>,
    generics: Vec<Generic>,
    /// Values that the functions around return.
    returns: Vec<Vec<ValueId>>,
    /// Values that the loops around end with.
    breaks: Vec<Vec<ValueId>>,
    depth: usize,
    /// Macros around.
    macros: usize,
    /// Variables that were given an empty collection, and how many values that were put into it are known.
    empty: HashMap<BindingId, (&'static str, usize)>,
}

impl Lowering<'_, '_> {
    /// Goes through statements; the value is that of the last, where no semicolon ends it.
    fn statements(&mut self, node: Node<'_>, place: Place) -> ValueId {
        self.within(|this| this.statements_within(node, place))
    }

    fn statements_within(&mut self, node: Node<'_>, mut place: Place) -> ValueId {
        let mut value = self.nothing;
        let (mut attributes, mut derived) = (Vec::new(), Vec::new());
        for child in children(node) {
            value = self.nothing;
            match child.kind() {
                "attribute_item" | "inner_attribute_item" => {
                    derived.extend(self.attribute(child, place));
                    attributes.push(child);
                    continue;
                }
                "let_declaration" => place = self.declaration(child, place),
                "expression_statement" => {
                    let given = child.named_child(0).map(|inner| self.expression(inner, place));
                    let is_given = !self.builder.text(child).ends_with(';');
                    value = given.filter(|_| is_given).unwrap_or(self.nothing);
                }
                "label" | "empty_statement" => {}
                _ if self.item(child, place, &attributes, std::mem::take(&mut derived)) => {
                    self.exported_macros(child, place, &attributes);
                }
                _ => value = self.expression(child, place),
            }
            attributes.clear();
            derived.clear();
        }
        value
    }

    /// A block with a scope of its own.
    fn block(&mut self, node: Node<'_>, place: Place) -> ValueId {
        let scope = self.builder.scope(ScopeKind::Block, Some(place.scope), None);
        self.statements(node, Place { scope, items: scope, class: None, ..place })
    }

    /// The place in a scope within its own.
    fn inner(&mut self, place: Place) -> Place {
        let scope = self.builder.scope(ScopeKind::Block, Some(place.scope), None);
        Place { scope, ..place }
    }

    /// A type of the standard library.
    fn standard(&mut self, name: &'static str) -> ValueId {
        if let Some(known) = self.standard.get(name) {
            return *known;
        }
        let (module, path) = ("::std".to_owned(), "std".to_owned());
        let of = self.builder.value(ImportValue::value(module, path, None));
        let value = self.builder.value(Value::Member { of, name: name.into(), space: TYPE });
        self.standard.insert(name, value);
        value
    }

    /// A type of the standard library that is applied to the type of a value.
    fn standard_of(&mut self, name: &'static str, value: ValueId) -> ValueId {
        let argument = self.builder.value(Value::ClassOf(value));
        let of = self.standard(name);
        let applied = self.builder.value(Value::Applied { of, arguments: vec![argument] });
        self.builder.value(Value::Instance(applied))
    }

    /// An instance of what is called so in the type of a value.
    fn associated(&mut self, value: ValueId, name: &str) -> ValueId {
        let of = self.builder.value(Value::ClassOf(value));
        let member = self.builder.value(Value::Member { of, name: name.into(), space: TYPE });
        self.builder.value(Value::Instance(member))
    }

    /// Works within what is around, unless that is too deep.
    fn within(&mut self, work: impl FnOnce(&mut Self) -> ValueId) -> ValueId {
        if self.depth >= DEEPEST {
            return self.nothing;
        }
        self.depth += 1;
        let value = deep(|| work(self));
        self.depth -= 1;
        value
    }

    /// Works within a macro, unless that is within too many others.
    fn within_macro(&mut self, work: impl FnOnce(&mut Self)) {
        if self.macros < MACROS {
            self.macros += 1;
            deep(|| work(self));
            self.macros -= 1;
        }
    }
}

fn field<'t>(node: Node<'t>, name: &str) -> Option<Node<'t>> {
    node.child_by_field_name(name)
}

/// A child of a kind.
fn child<'t>(node: Node<'t>, kind: &str) -> Option<Node<'t>> {
    children(node).into_iter().find(|child| child.kind() == kind)
}

/// Children with their places between the commas; `_` has no node of its own, and still a place.
fn placed(node: Node<'_>) -> Vec<(usize, Node<'_>)> {
    let mut cursor = node.walk();
    let mut place = 0;
    let mut all = Vec::new();
    for child in node.children(&mut cursor) {
        match child.kind() {
            "," => place += 1,
            "attribute_item" => {}
            kind if child.is_named() && !kind.contains("comment") => all.push((place, child)),
            _ => {}
        }
    }
    all
}
