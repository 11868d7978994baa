//! Items: modules, types, functions, constants, what `use` brings in, macros.

use tree_sitter::Node;

use super::{BOTH, Class, Lowering, MACRO, Own, Place, TYPE, VALUE, field};
use crate::structure::{
    builder::{NewBinding, children},
    file::{BindingKind, ClassValue, Extension, ImportValue, NameSpace, ScopeKind, Value, ValueId},
};

impl Lowering<'_, '_> {
    /// An item in the scope of the items around; false where a node is none.
    pub(super) fn item(
        &mut self,
        node: Node<'_>,
        place: Place,
        attributes: &[Node<'_>],
        derived: Vec<ValueId>,
    ) -> bool {
        // Items do not see the variables around them.
        let place = Place { scope: place.items, ..place };
        match node.kind() {
            "function_item" | "function_signature_item" => self.function_item(node, place),
            "struct_item" | "union_item" => self.struct_item(node, place, derived),
            "enum_item" => self.enum_item(node, place, derived),
            "trait_item" => self.trait_item(node, place),
            "impl_item" => self.impl_item(node, place),
            "type_item" | "associated_type" => self.type_item(node, place),
            "const_item" | "static_item" => self.constant(node, place),
            "mod_item" => self.module_item(node, place, attributes),
            "foreign_mod_item" => _ = field(node, "body").map(|body| self.statements(body, place)),
            "use_declaration" => {
                if let Some(argument) = field(node, "argument") {
                    self.used(argument, None, place);
                }
            }
            "extern_crate_declaration" => self.extern_crate(node, place),
            "macro_definition" => self.macro_item(node, place),
            _ => return false,
        }
        true
    }

    /// A name in the scope of the items around.
    fn define(&mut self, node: Node<'_>, place: Place, kind: BindingKind, value: ValueId, space: NameSpace) {
        if let Some(name) = field(node, "name") {
            let text = self.builder.text(name);
            self.builder.bind(place.items, text, name, NewBinding::of(kind, value).in_space(space));
        }
    }

    /// The scope of an item's type parameters, whose members are in another one within.
    fn class_place(&mut self, place: Place, value: ValueId) -> Place {
        let scope = self.builder.scope(ScopeKind::Block, Some(place.scope), Some(value));
        let items = self.builder.scope(ScopeKind::Class, Some(scope), Some(value));
        Place { scope, items, own: None, class: None, ..place }
    }

    /// The name of an item as a value, for `Self`.
    fn named(&mut self, node: Node<'_>, place: Place) -> ValueId {
        let Some(name) = field(node, "name") else { return self.nothing };
        let (name, at) = (self.builder.text(name).to_owned(), name.start_byte() as u32);
        self.builder.value(Value::Name { name: name.into(), scope: place.items, space: TYPE, at })
    }

    fn struct_item(&mut self, node: Node<'_>, place: Place, derived: Vec<ValueId>) {
        let body = field(node, "body");
        // The constructor of a struct without names for its fields is a value.
        let has_names = body.is_some_and(|body| body.kind() == "field_declaration_list");
        self.data_type(node, place, derived, if has_names { TYPE } else { BOTH }, |rust, inner, _| {
            if let Some(body) = body {
                rust.fields(body, inner);
            }
        });
    }

    fn enum_item(&mut self, node: Node<'_>, place: Place, derived: Vec<ValueId>) {
        self.data_type(node, place, derived, TYPE, |rust, inner, value| {
            for variant in field(node, "body").map(children).unwrap_or_default() {
                if variant.kind() == "attribute_item" {
                    rust.attribute(variant, inner);
                } else {
                    rust.variant(variant, inner, value);
                }
            }
        });
    }

    /// A struct or an enum, whose fields or variants `members` puts into its place.
    fn data_type(
        &mut self,
        node: Node<'_>,
        place: Place,
        derived: Vec<ValueId>,
        space: NameSpace,
        members: impl FnOnce(&mut Self, Place, ValueId),
    ) {
        let value = self.builder.opaque();
        let named = self.named(node, place);
        let mut inner = self.class_place(place, value);
        inner.own = Some(Own { value: named, named, nearest: None });
        let first = self.generics.len();
        let parameters = self.generics(node, inner);
        members(self, inner, value);
        self.generics.truncate(first);
        self.builder
            .set(value, Value::Class(Box::new(ClassValue { scope: Some(inner.items), parameters, bases: derived })));
        self.define(node, place, BindingKind::Class, value, space);
    }

    /// A variant is a class below its enum.
    fn variant(&mut self, node: Node<'_>, place: Place, of: ValueId) {
        let value = self.builder.opaque();
        let items = self.builder.scope(ScopeKind::Class, Some(place.scope), Some(value));
        if let Some(body) = field(node, "body") {
            self.fields(body, Place { items, ..place });
        }
        if let Some(number) = field(node, "value") {
            self.expression(number, place);
        }
        let class = ClassValue { scope: Some(items), parameters: Vec::new(), bases: vec![of] };
        self.builder.set(value, Value::Class(Box::new(class)));
        self.define(node, place, BindingKind::Class, value, BOTH);
    }

    fn trait_item(&mut self, node: Node<'_>, place: Place) {
        let value = self.builder.value(Value::Class(Box::default()));
        let named = self.named(node, place);
        let mut inner = self.class_place(place, value);
        inner.own = Some(Own { value, named, nearest: None });
        let first = self.generics.len();
        let parameters = self.generics(node, inner);
        let bases = field(node, "bounds").map(|bounds| self.bounds(bounds, None, inner)).unwrap_or_default();
        if let Some(Value::Class(class)) = self.builder.structure.values.get_mut(value.0 as usize) {
            class.scope = Some(inner.items);
            class.parameters = parameters;
            class.bases.extend(bases);
        }
        self.define(node, place, BindingKind::Class, value, TYPE);
        if let Some(body) = field(node, "body") {
            let scope = inner.items;
            self.statements(body, Place { scope, class: Some(Class { value, is_trait: true }), ..inner });
        }
        self.generics.truncate(first);
    }

    fn impl_item(&mut self, node: Node<'_>, place: Place) {
        let Some(ty) = field(node, "type") else { return };
        let owner = self.builder.opaque();
        let mut inner = self.class_place(place, owner);
        let first = self.generics.len();
        // What is extended may be named in bounds, so it comes before them; parameters are looked up by their names.
        let of = self.ty(ty, inner);
        let named = match self.builder.structure.value(of) {
            Value::Applied { of, .. } => *of,
            _ => of,
        };
        inner.own = Some(Own { value: of, named, nearest: Some(owner) });
        let declared = self.generics(node, inner);
        let mut bases = Vec::new();
        let mut is_deref = false;
        if let Some(base) = field(node, "trait") {
            let value = self.path(base, inner, TYPE);
            let mut cursor = node.walk();
            let is_negative = node.children(&mut cursor).any(|child| child.kind() == "!");
            bases.extend(Some(value).filter(|_| !is_negative));
            let name = field(base, "name").unwrap_or(base);
            is_deref = self.builder.text(name) == "Deref";
        }
        let parameters = self.arguments_as_parameters(ty, &declared);
        if let Some(body) = field(node, "body") {
            let scope = inner.items;
            self.statements(body, Place { scope, class: Some(Class { value: of, is_trait: false }), ..inner });
        }
        if is_deref {
            // Members of what a type points to are found behind its own.
            let name = "Target".to_owned();
            let scope = inner.items;
            let known = &self.builder.structure.scope(scope).names;
            let target = known.iter().find(|(own, _)| *own == name).map(|(_, binding)| *binding);
            bases.extend(target.and_then(|target| self.builder.structure.binding(target).value));
        }
        self.generics.truncate(first);
        let class = ClassValue { scope: Some(inner.items), parameters, bases: vec![of] };
        self.builder.set(owner, Value::Class(Box::new(class)));
        self.builder.structure.extensions.push(Extension { of: named, scope: inner.items, bases });
    }

    fn type_item(&mut self, node: Node<'_>, place: Place) {
        let inner = self.inner(place);
        let value = self.builder.opaque();
        // Parameters of the alias belong to it.
        self.builder.structure.scopes[inner.scope.0 as usize].owner = Some(value);
        let first = self.generics.len();
        let parameters = self.generics(node, inner);
        let bases = field(node, "bounds").map(|bounds| self.bounds(bounds, None, inner)).unwrap_or_default();
        let of = field(node, "type").map(|ty| self.ty(ty, inner));
        self.generics.truncate(first);
        self.builder.set(
            value,
            match of {
                Some(of) => Value::TypeAlias { parameters, of },
                None => Value::Class(Box::new(ClassValue { scope: None, parameters, bases })),
            },
        );
        self.define(node, place, BindingKind::Class, value, TYPE);
    }

    fn constant(&mut self, node: Node<'_>, place: Place) {
        let declared = field(node, "type").map(|ty| self.instance(ty, place));
        let inner = Place { class: None, ..place };
        let value = field(node, "value").map(|value| self.expression(value, inner));
        if let Some(name) = field(node, "name") {
            let text = self.builder.text(name);
            let new = NewBinding { value, ..NewBinding::new(BindingKind::Variable) };
            self.builder.bind(place.items, text, name, new.typed(declared).in_space(VALUE));
        }
    }

    fn module_item(&mut self, node: Node<'_>, place: Place, attributes: &[Node<'_>]) {
        let Some(name) = field(node, "name") else { return };
        let text = self.builder.text(name).trim_start_matches("r#").to_owned();
        let value = match field(node, "body") {
            Some(body) => {
                let scope = self.builder.scope(ScopeKind::Module, Some(place.items), None);
                self.inline.push(text);
                self.statements(body, Place { scope, items: scope, module: scope, own: None, class: None });
                self.inline.pop();
                let value = self.builder.value(Value::Namespace(scope));
                self.builder.structure.scopes[scope.0 as usize].owner = Some(value);
                value
            }
            None => {
                let within: String = self.inline.iter().map(|module| format!("{module}/")).collect();
                let path = attributes.iter().find_map(|attribute| self.path_attribute(*attribute));
                let module = match (path, self.inline.is_empty()) {
                    (Some(path), true) => format!("path {}", path.trim_start_matches("./")),
                    (Some(path), false) => format!("path ./{within}{path}"),
                    (None, _) => format!("mod {within}{text}"),
                };
                self.builder.value(ImportValue::value(module, text, None))
            }
        };
        self.define(node, place, BindingKind::Module, value, TYPE);
    }

    /// The text of `#[path = "..."]`.
    fn path_attribute(&self, node: Node<'_>) -> Option<String> {
        let attribute = super::child(node, "attribute")?;
        let name = attribute.named_child(0)?;
        let value = field(attribute, "value")?;
        (self.builder.text(name) == "path").then(|| self.builder.text(value).trim_matches('"').to_owned())
    }

    fn extern_crate(&mut self, node: Node<'_>, place: Place) {
        let Some(name) = field(node, "name") else { return };
        let value = match self.builder.text(name) {
            "self" => self.import("crate"),
            _ => self.other_crate(name, place),
        };
        self.bind_import(field(node, "alias").unwrap_or(name), value, place);
    }

    /// A name that stands for one from elsewhere.
    pub(super) fn bind_import(&mut self, name: Node<'_>, value: ValueId, place: Place) {
        let text = self.builder.text(name);
        if text != "_" {
            self.builder.bind(place.items, text, name, NewBinding::of(BindingKind::Import, value).alias());
        }
    }

    fn macro_item(&mut self, node: Node<'_>, place: Place) {
        let value = self.builder.opaque();
        self.define(node, place, BindingKind::Function, value, MACRO);
        let names = &self.builder.structure.scope(place.items).names;
        if let Some((name, binding)) = names.last().cloned() {
            // Those in other files may call it, wherever it stands.
            let macros = match self.builder.structure.globals {
                Some(known) => known,
                None => self.builder.scope(ScopeKind::Module, None, None),
            };
            self.builder.structure.globals = Some(macros);
            self.builder.export(macros, &name, binding);
        }
        for rule in children(node).into_iter().filter(|child| child.kind() == "macro_rule") {
            if let Some(right) = field(rule, "right") {
                self.paths_in(right, place);
            }
        }
    }
}
