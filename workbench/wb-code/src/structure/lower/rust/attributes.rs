//! Attributes: what is derived, and what else they name.

use tree_sitter::Node;

use super::{ANY, Lowering, MACRO, Place, VALUE, child, field};
use crate::structure::file::{NameSpace, ValueId};

/// Attributes of the language itself, and of tools, which name nothing.
const BUILT_IN: &str = " allow bench cfg cfg_attr cold default deny deprecated derive doc expect export_name feature forbid \
    global_allocator ignore inline link link_name link_section macro_export macro_use must_use no_mangle no_std \
    non_exhaustive path proc_macro proc_macro_attribute proc_macro_derive recursion_limit repr rustfmt should_panic \
    target_feature test track_caller unsafe used warn ";

impl Lowering<'_, '_> {
    /// An attribute; what it derives is given back, as traits by their names.
    pub(super) fn attribute(&mut self, node: Node<'_>, place: Place) -> Vec<ValueId> {
        let Some(attribute) = child(node, "attribute") else { return Vec::new() };
        let Some(path) = attribute.named_child(0) else { return Vec::new() };
        let name = self.builder.text(path);
        let is_built_in = BUILT_IN.contains(&format!(" {name} "));
        // A name alone may be that of an attribute which a derived trait brings along.
        let module = self.builder.structure.scope(place.module);
        if path.kind() != "identifier" || module.names.iter().any(|(own, _)| own == name) {
            self.path(path, place, ANY);
        }
        let mut derived = Vec::new();
        match (field(attribute, "arguments"), name) {
            (Some(arguments), "derive") => self.derived(arguments, place, &mut derived),
            (Some(arguments), "cfg_attr") => self.derived_if(arguments, place, &mut derived),
            (Some(arguments), _) if !is_built_in => self.named_in(arguments, place),
            _ => {}
        }
        derived
    }

    /// The macro that a function is: `#[proc_macro_derive(Name)]`, `#[proc_macro]`.
    pub(super) fn exported_macros(&mut self, item: Node<'_>, place: Place, attributes: &[Node<'_>]) {
        let Some(name) = field(item, "name").filter(|_| item.kind() == "function_item") else { return };
        for attribute in attributes.iter().filter_map(|attribute| child(*attribute, "attribute")) {
            let kind = attribute.named_child(0).map_or("", |path| self.builder.text(path));
            let derived = field(attribute, "arguments").and_then(|arguments| child(arguments, "identifier"));
            let own = match kind {
                "proc_macro" | "proc_macro_attribute" => self.builder.text(name),
                "proc_macro_derive" => derived.map_or("", |derived| self.builder.text(derived)),
                _ => continue,
            };
            let function = self.builder.text(name);
            let names = &self.builder.structure.scope(place.items).names;
            if let Some((_, binding)) = names.iter().rev().find(|(known, _)| known == function) {
                let binding = *binding;
                self.builder.binding_mut(binding).space = NameSpace(VALUE.0 | MACRO.0);
                if own != function {
                    self.builder.export(place.items, own, binding);
                }
            }
        }
    }

    /// Names in the brackets of `derive`.
    fn derived(&mut self, tree: Node<'_>, place: Place, all: &mut Vec<ValueId>) {
        let mut cursor = tree.walk();
        let mut path: Option<ValueId> = None;
        let mut goes_on = false;
        for token in tree.children(&mut cursor) {
            match (token.kind(), path) {
                ("identifier", Some(of)) if goes_on => path = Some(self.builder.member(of, token, place.scope, ANY)),
                ("identifier", _) => path = Some(self.builder.name(token, place.scope, ANY)),
                ("," | ")", _) => all.extend(path.take()),
                _ => {}
            }
            goes_on = token.kind() == "::";
        }
    }

    /// `derive` within `cfg_attr`.
    fn derived_if(&mut self, tree: Node<'_>, place: Place, all: &mut Vec<ValueId>) {
        let mut cursor = tree.walk();
        let mut is_derive = false;
        for token in tree.children(&mut cursor) {
            if token.kind() == "token_tree" && is_derive {
                self.derived(token, place, all);
            }
            is_derive = token.kind() == "identifier" && self.builder.text(token) == "derive";
        }
    }

    /// Names behind `=` in an attribute of a macro: `#[arg(value_parser = parse)]`.
    fn named_in(&mut self, tree: Node<'_>, place: Place) {
        let mut cursor = tree.walk();
        let tokens: Vec<Node<'_>> = tree.children(&mut cursor).collect();
        for part in tokens.split(|token| token.kind() == ",") {
            if let Some(at) = part.iter().position(|token| token.kind() == "=") {
                self.segment(&part[at + 1..], place, false);
            }
        }
    }
}
