//! The names in a function: which of them are its own variables, from where to where, and where each is used.
//!
//! One file per language says what an identifier is at its place. The rest is the same everywhere: all variables of one
//! name in a function are renamed together, which is safe if every use lies in the scope of one of them and nothing
//! else is called by that name where it matters.

mod go;
mod java;
mod javascript;
mod php;
mod python;
mod ruby;
mod rust;

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use tree_sitter::Node;

use super::{
    ParsedSource, Refusal,
    source::{ancestors, preorder, within},
};
use crate::languages::Language;

/// An identifier that is a variable, or that stands in the way of renaming one.
#[derive(Debug, Clone)]
pub(super) struct Name<'t> {
    pub(super) node: Node<'t>,
    pub(super) role: Role,
}

/// The role of an identifier at its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Role {
    /// Gives a variable its name; the variable is known in these ranges.
    Bind(Vec<Range<usize>>),
    /// Reads or writes a variable.
    Use,
    /// Names both a variable and a field: `{x}` for `{x: x}`; a new name is written after `x: `.
    Shorthand,
    /// Ties the name to something outside (a field, a keyword argument, a global).
    Blocked,
}

/// The identifiers of a function that have a role.
fn identifiers<'t>(function: Node<'t>, role: impl Fn(Node<'t>) -> Option<Role>) -> Vec<Name<'t>> {
    let identifiers = preorder(function).into_iter().filter(|node| node.kind() == "identifier");
    identifiers.filter_map(|node| Some(Name { node, role: role(node)? })).collect()
}

/// The identifiers of a function that matter, in the order of the source.
pub(super) fn names<'t>(source: &'t ParsedSource<'_>, function: Node<'t>) -> Result<Vec<Name<'t>>, Refusal> {
    match source.language {
        Language::Python => python::names(source, function),
        Language::JavaScript => javascript::names(source, function),
        Language::Java => Ok(identifiers(function, java::role)),
        Language::Go => Ok(identifiers(function, go::role)),
        Language::Php => php::names(source, function),
        Language::Ruby => ruby::names(source, function),
        Language::Rust => rust::names(source, function),
        _ => Err(Refusal::UnknownLanguage),
    }
}

/// Names that have a meaning of their own wherever they stand.
const SPECIAL: &[&str] =
    &["self", "cls", "this", "super", "arguments", "undefined", "_", "$this", "Self", "crate", "main"];

/// The variables of a function that can get other names, with all their places, by their names.
pub(super) fn own_variables<'t>(
    source: &'t ParsedSource<'_>,
    function: Node<'t>,
) -> Result<BTreeMap<&'t str, Vec<Name<'t>>>, Refusal> {
    let mut by_name: BTreeMap<&'t str, Vec<Name<'t>>> = BTreeMap::new();
    for name in names(source, function)? {
        let text: &'t str = source.str(name.node);
        by_name.entry(text).or_default().push(name);
    }
    by_name.retain(|text, places| {
        let scopes: Vec<&Range<usize>> = places
            .iter()
            .filter_map(|place| if let Role::Bind(scopes) = &place.role { Some(scopes) } else { None })
            .flatten()
            .collect();
        let is_known = |place: &Name<'_>| match place.role {
            Role::Bind(_) => true,
            Role::Use | Role::Shorthand => scopes.iter().any(|scope| within(place.node.byte_range(), scope)),
            Role::Blocked => false,
        };
        !SPECIAL.contains(text) && !text.starts_with("__") && !scopes.is_empty() && places.iter().all(is_known)
    });
    Ok(by_name)
}

/// The names that a function binds itself and that nothing ties to the outside.
pub(super) fn locals<'t>(source: &'t ParsedSource<'_>, names: &[Name<'t>]) -> BTreeSet<&'t str> {
    let is_bound = |name: &&Name<'_>| matches!(name.role, Role::Bind(_));
    let mut local: BTreeSet<&str> = names.iter().filter(is_bound).map(|name| source.str(name.node)).collect();
    for name in names.iter().filter(|name| name.role == Role::Blocked) {
        local.remove(source.str(name.node));
    }
    local
}

/// The nearest parent of one of these kinds.
fn nearest<'t>(node: Node<'t>, kinds: &[&str]) -> Option<Node<'t>> {
    ancestors(node).find(|parent| parent.is_named() && kinds.contains(&parent.kind()))
}

/// The outermost node of a pattern (a tuple, a list, a starred name) around a node, with its parent.
fn pattern_top<'t>(node: Node<'t>, pattern_kinds: &[&str]) -> Option<(Node<'t>, Node<'t>)> {
    let mut top = node;
    loop {
        let parent = top.parent()?;
        if !pattern_kinds.contains(&parent.kind()) {
            return Some((top, parent));
        }
        top = parent;
    }
}

/// The whole of a node as a scope.
fn all_of(node: Node<'_>) -> Role {
    Role::Bind(vec![node.byte_range()])
}

/// From a byte to the end of a node.
fn rest_of(node: Node<'_>, from: usize) -> Role {
    let rest = from..node.end_byte();
    Role::Bind(vec![rest])
}
