//! Imports.

use tree_sitter::Node;

use super::{Lowering, Place, field};
use crate::structure::{
    builder::{NewBinding, children},
    file::{BindingKind, ImportValue, NameSpace, Value},
};

impl Lowering<'_, '_> {
    pub(super) fn import(&mut self, node: Node<'_>, place: Place) {
        for child in children(node) {
            let (path, name, whole) = match child.kind() {
                "aliased_import" => (field(child, "name"), field(child, "alias"), true),
                _ => (Some(child), child.named_child(0), false),
            };
            let (Some(path), Some(name)) = (path, name) else { continue };
            let (path, own) = (self.builder.text(path), self.builder.text(name));
            let module = if whole { path } else { own };
            let scope = self.scope_of(own, place);
            let binding = self.bind(scope, own, name, NewBinding::new(BindingKind::Import).alias());
            let (module, path) = (module.to_owned(), path.to_owned());
            let value = self.builder.value(ImportValue::value(module, path, Some(binding)));
            self.builder.binding_mut(binding).value = Some(value);
        }
    }

    pub(super) fn import_from(&mut self, node: Node<'_>, place: Place) {
        let module = field(node, "module_name").map_or("__future__", |module| self.builder.text(module)).to_owned();
        let mut cursor = node.walk();
        let names: Vec<Node<'_>> = node.children_by_field_name("name", &mut cursor).collect();
        let of = self.builder.value(ImportValue::value(module.clone(), module, None));
        if names.is_empty() {
            if children(node).iter().any(|child| child.kind() == "wildcard_import") {
                self.builder.include(place.scope, of);
            }
            return;
        }
        for child in names {
            let (path, name) = match child.kind() {
                "aliased_import" => (field(child, "name"), field(child, "alias")),
                _ => (Some(child), Some(child)),
            };
            let (Some(path), Some(name)) = (path, name) else { continue };
            let own = self.builder.text(name);
            let wanted = self.builder.text(path).to_owned();
            let value = self.builder.value(Value::Member { of, name: wanted.into(), space: NameSpace::ANY });
            let scope = self.scope_of(own, place);
            self.builder.refer(path, place.scope, value);
            self.bind(scope, own, name, NewBinding::of(BindingKind::Import, value).alias());
        }
    }
}
