//! Languages whose rules are not known here: what is defined by its name, and every name that is used.

use std::collections::HashMap;

use tree_sitter::Node;

use crate::{
    ChunkKind, Language, items,
    structure::{
        builder::{NewBinding, StructureBuilder},
        file::{BindingKind, FunctionValue, NameSpace, ScopeId, ScopeKind, Value, ValueId},
    },
};

/// Writes down a file.
pub(super) fn lower(builder: &mut StructureBuilder<'_>, root: Node<'_>, language: Language) {
    builder.module(root);
    builder.structure.is_by_name = true;
    let mut items = items(builder.source, language).unwrap_or_default();
    items.sort_by_key(|item| (item.lines[0], std::cmp::Reverse(item.lines[1])));
    // Functions and types with their lines, outermost first.
    let mut scopes: Vec<([u32; 2], ScopeId)> = Vec::new();
    let mut named: HashMap<u32, Vec<(String, BindingKind, ValueId)>> = HashMap::new();
    for item in items {
        let value = builder.opaque();
        let around = innermost(&scopes, item.lines[0]);
        let (kind, scope_kind) = match item.kind {
            ChunkKind::Function => (BindingKind::Function, ScopeKind::Function),
            _ => (BindingKind::Class, ScopeKind::Block),
        };
        let scope = builder.scope(scope_kind, Some(around), Some(value));
        if kind == BindingKind::Function {
            let function = FunctionValue { scope: Some(scope), ..FunctionValue::default() };
            builder.structure.values[value.0 as usize] = Value::Function(function.into());
        }
        scopes.push((item.lines, scope));
        named.entry(item.code_line).or_default().push((item.name, kind, value));
    }
    let mut leaves = Vec::new();
    collect(root, &mut leaves);
    for leaf in leaves {
        let (line, text) = (leaf.start_position().row as u32 + 1, builder.text(leaf));
        let last = |name: &str| name.rsplit(['.', ':', '#']).next() == Some(text);
        let here = named.get_mut(&line);
        if let Some((_, kind, value)) = here.and_then(|here| Some(here.remove(here.iter().position(|it| last(&it.0))?)))
        {
            builder.bind(ScopeId(0), text, leaf, NewBinding::of(kind, value).in_space(NameSpace::ANY));
            continue;
        }
        // One without a body is no item, and a definition.
        if let Some(kind) = declared_by(leaf) {
            let value = builder.opaque();
            builder.bind(ScopeId(0), text, leaf, NewBinding::of(kind, value).in_space(NameSpace::ANY));
            continue;
        }
        let scope = innermost(&scopes, line);
        let value = builder.value(Value::Name {
            name: text.into(),
            scope: ScopeId(0),
            space: NameSpace::ANY,
            at: leaf.start_byte() as u32,
        });
        builder.refer(leaf, scope, value);
        let is_call = builder.source.get(leaf.end_byte()..).is_some_and(|rest| rest.trim_start().starts_with('('));
        if is_call || leaf.parent().is_some_and(|parent| parent.kind() == "command_name") {
            builder.call(leaf, scope, value, Vec::new(), Vec::new(), false);
        }
    }
}

/// The innermost scope around a line.
fn innermost(scopes: &[([u32; 2], ScopeId)], line: u32) -> ScopeId {
    let around = scopes.iter().rev().find(|(lines, _)| (lines[0]..=lines[1]).contains(&line));
    around.map_or(ScopeId(0), |(_, scope)| *scope)
}

/// The kind of what a name is the name of, by how the grammar calls it.
fn declared_by(leaf: Node<'_>) -> Option<BindingKind> {
    let parent = leaf.parent().filter(|parent| parent.child_by_field_name("name") == Some(leaf))?;
    let is_of = |words: &[&str]| words.iter().any(|word| parent.kind().contains(word));
    match () {
        () if parent.kind().contains("call") || parent.kind().contains("expression") => None,
        () if is_of(&["method", "function"]) => Some(BindingKind::Function),
        () if is_of(&["class", "module", "struct", "trait", "interface", "enum", "protocol", "object"]) => {
            Some(BindingKind::Class)
        }
        () => None,
    }
}

/// Leaves that are names.
fn collect<'t>(root: Node<'t>, leaves: &mut Vec<Node<'t>>) {
    let mut open = vec![root];
    while let Some(node) = open.pop() {
        if node.named_child_count() == 0 {
            let kind = node.kind();
            let is_name = kind.contains("identifier") || NAMES.contains(&kind);
            if node.is_named() && is_name {
                leaves.push(node);
            }
            continue;
        }
        let mut cursor = node.walk();
        let children: Vec<Node<'t>> = node.named_children(&mut cursor).collect();
        open.extend(children.into_iter().rev());
    }
}

/// Kinds of names that are not called identifiers.
const NAMES: [&str; 8] =
    ["constant", "name", "word", "variable", "constructor", "alias", "instance_variable", "class_variable"];
