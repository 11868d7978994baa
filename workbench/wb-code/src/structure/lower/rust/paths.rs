//! Paths: names with `::` between them.

use tree_sitter::Node;

use super::{ANY, Lowering, Place, TYPE, field};
use crate::structure::{
    builder::children,
    file::{ImportValue, NameSpace, ScopeId, ScopeKind, Value, ValueId},
};

impl Lowering<'_, '_> {
    /// A path whose last name is of some kinds.
    pub(super) fn path(&mut self, node: Node<'_>, place: Place, space: NameSpace) -> ValueId {
        self.within(|this| this.path_within(node, place, space))
    }

    fn path_within(&mut self, node: Node<'_>, place: Place, space: NameSpace) -> ValueId {
        match node.kind() {
            "identifier" | "type_identifier" => self.first(node, place, space),
            "self" | "super" | "crate" => self.module(node, place),
            "metavariable" => match self.builder.text(node) {
                "$crate" => self.import("crate"),
                _ => self.nothing,
            },
            "scoped_identifier" | "scoped_type_identifier" => {
                let Some(name) = field(node, "name") else { return self.nothing };
                if name.kind() == "super" {
                    return self.module(node, place);
                }
                match field(node, "path") {
                    Some(path) => {
                        let is_own = path.kind() == "identifier" && self.builder.text(path) == "Self";
                        let nearest = place.own.filter(|_| is_own && space == TYPE).and_then(|own| own.nearest);
                        let known = self.path(path, place, TYPE);
                        self.builder.member(nearest.unwrap_or(known), name, place.scope, space)
                    }
                    None => self.other_crate(name, place),
                }
            }
            "generic_type" | "generic_type_with_turbofish" | "generic_function" => self.applied(node, place, space),
            "bracketed_type" => match node.named_child(0) {
                Some(inner) => self.ty(inner, place),
                None => self.nothing,
            },
            _ => self.ty(node, place),
        }
    }

    /// The first name of a path.
    fn first(&mut self, node: Node<'_>, place: Place, space: NameSpace) -> ValueId {
        match (self.builder.text(node), place.own) {
            ("Self", Some(own)) => {
                self.builder.refer(node, place.scope, own.named);
                own.value
            }
            ("_", _) => self.nothing,
            _ => self.builder.name(node, place.scope, space),
        }
    }

    /// A path or a function with `<...>` behind it.
    fn applied(&mut self, node: Node<'_>, place: Place, space: NameSpace) -> ValueId {
        let of = match field(node, "type").or_else(|| field(node, "function")) {
            Some(of) if of.kind() == "field_expression" => self.field_expression(of, place, space),
            Some(of) => self.path(of, place, space),
            None => self.nothing,
        };
        match field(node, "type_arguments") {
            Some(arguments) => self.with_arguments(of, arguments, place),
            None => of,
        }
    }

    /// `self`, `super`, `super::super`, `crate` as the heads of paths.
    fn module(&mut self, node: Node<'_>, place: Place) -> ValueId {
        let text = self.builder.text(node);
        if text == "crate" || text.starts_with("crate") {
            return self.import("crate");
        }
        let mut up = text.matches("super").count();
        let mut scope = place.module;
        while up > 0 && scope != ScopeId(0) {
            let around = self.builder.structure.scope(scope).parent.unwrap_or(ScopeId(0));
            scope = self.builder.nearest(around, &[ScopeKind::Module]);
            up -= 1;
        }
        match up {
            0 => self.builder.value(Value::Namespace(scope)),
            _ => self.import(&vec!["super"; up].join("::")),
        }
    }

    /// The module around one that a path has come to.
    fn above(&mut self, of: ValueId) -> ValueId {
        match self.builder.structure.value(of) {
            Value::Import(import) => {
                let module = &import.module;
                let module = format!("{module}::super");
                self.import(&module)
            }
            Value::Namespace(scope) if *scope != ScopeId(0) => {
                let around = self.builder.structure.scope(*scope).parent.unwrap_or(ScopeId(0));
                let scope = self.builder.nearest(around, &[ScopeKind::Module]);
                self.builder.value(Value::Namespace(scope))
            }
            Value::Namespace(_) => self.import("super"),
            _ => self.nothing,
        }
    }

    /// The name of a crate.
    pub(super) fn other_crate(&mut self, name: Node<'_>, place: Place) -> ValueId {
        let module = format!("::{}", self.builder.text(name));
        let value = self.import(&module);
        self.builder.refer(name, place.scope, value);
        value
    }

    pub(super) fn import(&mut self, module: &str) -> ValueId {
        let path = module.trim_start_matches("::").to_owned();
        self.builder.value(ImportValue::value(module, path, None))
    }

    /// Binds the names of a `use`: a path, a list, everything.
    pub(super) fn used(&mut self, node: Node<'_>, of: Option<ValueId>, place: Place) {
        self.within(|this| {
            this.used_within(node, of, place);
            this.nothing
        });
    }

    fn used_within(&mut self, node: Node<'_>, of: Option<ValueId>, place: Place) {
        match node.kind() {
            "use_list" => {
                for child in children(node) {
                    self.used(child, of, place);
                }
            }
            "scoped_use_list" => {
                let of = match field(node, "path") {
                    Some(path) => Some(self.path_of(path, of, place, TYPE)),
                    None => of,
                };
                if let Some(list) = field(node, "list") {
                    self.used(list, of, place);
                }
            }
            "use_wildcard" => {
                let of = node.named_child(0).map(|path| self.path_of(path, of, place, TYPE)).or(of);
                if let Some(of) = of {
                    self.builder.include(place.items, of);
                }
            }
            "use_as_clause" => {
                let (Some(path), Some(alias)) = (field(node, "path"), field(node, "alias")) else { return };
                let value = self.path_of(path, of, place, ANY);
                self.bind_import(alias, value, place);
            }
            "self" => {
                // `use a::{self}` has the name of the module, which stands further left.
                let list = node.parent().and_then(|list| list.parent());
                let path = list.and_then(|list| field(list, "path"));
                let name = path.and_then(|path| field(path, "name").or(Some(path)));
                if let (Some(name), Some(of)) = (name, of) {
                    self.bind_import(name, of, place);
                }
            }
            "identifier" if of.is_none() => {
                // A name alone can only be that of a crate; looked up here, it would find itself.
                let value = self.other_crate(node, place);
                self.bind_import(node, value, place);
            }
            _ => {
                let value = self.path_of(node, of, place, ANY);
                let name = field(node, "name").unwrap_or(node);
                if name.kind() == "identifier" {
                    self.bind_import(name, value, place);
                }
            }
        }
    }

    /// A path that may go on from another one.
    fn path_of(&mut self, node: Node<'_>, of: Option<ValueId>, place: Place, space: NameSpace) -> ValueId {
        let Some(of) = of else { return self.path(node, place, space) };
        self.within(|this| match (node.kind(), field(node, "path"), field(node, "name")) {
            ("scoped_identifier", Some(path), Some(name)) => {
                let of = this.path_of(path, Some(of), place, TYPE);
                this.builder.member(of, name, place.scope, space)
            }
            ("self", ..) => of,
            ("super", ..) => this.above(of),
            ("identifier", ..) => this.builder.member(of, node, place.scope, space),
            _ => this.path(node, place, space),
        })
    }
}

/// True where `_` stands for a type in a list of types; `'_` stands for a lifetime.
pub(super) fn is_left_open(list: &str) -> bool {
    list.split(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '\'')).any(|word| word == "_")
}
