//! Type parameters: a class each, whose bases are its bounds.

use tree_sitter::Node;

use super::{Generic, Lowering, Place, TYPE, field};
use crate::structure::{
    builder::{NewBinding, children},
    file::{BindingId, BindingKind, FunctionParameter, ParameterKind, Value, ValueId},
};

impl Lowering<'_, '_> {
    /// Binds the type parameters of an item in the scope of a place, with the bounds that its `where` adds.
    pub(super) fn generics(&mut self, node: Node<'_>, place: Place) -> Vec<FunctionParameter> {
        let mut parameters = Vec::new();
        let first = self.generics.len();
        let list = field(node, "type_parameters").map(children).unwrap_or_default();
        for one in &list {
            let Some(name) = field(*one, "name") else { continue };
            let text = self.builder.text(name);
            let binding = match one.kind() {
                "type_parameter" => {
                    let class = self.builder.value(Value::Class(Box::default()));
                    let new = NewBinding::of(BindingKind::Parameter, class).in_space(TYPE);
                    let binding = self.builder.bind(place.scope, text, name, new);
                    self.generics.push(Generic { name: text.to_owned(), binding, class, callable: None });
                    binding
                }
                "const_parameter" => {
                    let declared = field(*one, "type").map(|ty| self.instance(ty, place));
                    let new = NewBinding::new(BindingKind::Parameter).typed(declared);
                    self.builder.bind(place.scope, text, name, new)
                }
                _ => continue,
            };
            let default = field(*one, "default_type").map(|ty| self.ty(ty, place));
            parameters.push(FunctionParameter { binding, kind: ParameterKind::One, default });
        }
        // Bounds may name parameters that come later.
        let named = list.iter().filter(|one| one.kind() == "type_parameter" && field(**one, "name").is_some());
        for (at, one) in (first..).zip(named) {
            if let Some(bounds) = field(*one, "bounds") {
                self.bounds(bounds, Some(at), place);
            }
        }
        if let Some(clause) = children(node).into_iter().find(|child| child.kind() == "where_clause") {
            self.clause(clause, place);
        }
        parameters
    }

    fn clause(&mut self, clause: Node<'_>, place: Place) {
        for predicate in children(clause) {
            let (Some(left), Some(bounds)) = (field(predicate, "left"), field(predicate, "bounds")) else { continue };
            let left = match left.kind() {
                "higher_ranked_trait_bound" => field(left, "type").unwrap_or(left),
                _ => left,
            };
            self.ty(left, place);
            let name = self.builder.text(left);
            let known = self.generics.iter().rposition(|generic| generic.name == name);
            let given = self.bounds(bounds, known, place);
            // `Self` in a trait has what the trait asks for.
            if let ("Self", Some(own)) = (name, place.own)
                && let Some(Value::Class(class)) = self.builder.structure.values.get_mut(own.value.0 as usize)
            {
                class.bases.extend(given);
            }
        }
    }

    /// Bounds as types; those of a known parameter are bases of its class.
    pub(super) fn bounds(&mut self, bounds: Node<'_>, of: Option<usize>, place: Place) -> Vec<ValueId> {
        let mut all = Vec::new();
        for bound in children(bounds) {
            if matches!(bound.kind(), "lifetime" | "use_bounds") {
                continue;
            }
            let value = self.ty(bound, place);
            all.push(value);
            let callable = self.callable(bound, value);
            let Some(generic) = of.and_then(|of| self.generics.get_mut(of)) else { continue };
            if callable.is_some() {
                generic.callable = callable;
            }
            if bound.kind() != "removed_trait_bound"
                && let Some(Value::Class(class)) = self.builder.structure.values.get_mut(generic.class.0 as usize)
            {
                class.bases.push(value);
            }
        }
        all
    }

    /// A type that is a function, and the name of what it returns.
    pub(super) fn callable(&self, node: Node<'_>, value: ValueId) -> Option<(ValueId, Option<String>)> {
        let inner = match node.kind() {
            "higher_ranked_trait_bound" => field(node, "type")?,
            "abstract_type" | "dynamic_type" => field(node, "trait")?,
            _ => node,
        };
        let returned = |node: Node<'_>| field(node, "return_type").map(|ty| self.builder.text(ty).to_owned());
        match inner.kind() {
            "function_type" => Some((value, returned(inner))),
            // `impl Fn(A) -> B + Send`.
            "bounded_type" => {
                let mut open = children(inner);
                while let Some(next) = open.pop() {
                    match next.kind() {
                        "function_type" => return Some((value, returned(next))),
                        "bounded_type" => open.extend(children(next)),
                        _ => {}
                    }
                }
                None
            }
            _ => None,
        }
    }

    /// Says of the type parameters of a function what its arguments make them.
    ///
    /// `fn f<T, R>(one: &T, g: impl Fn(T) -> R)`: `T` is the class of `one`, `R` the class of what `g` gives.
    pub(super) fn inferred(&mut self, first: usize, typed: &[(Node<'_>, ValueId)]) {
        let mut inferred: Vec<(BindingId, ValueId)> = Vec::new();
        for (ty, value) in typed {
            let ty = referred(*ty);
            let name = self.builder.text(ty).to_owned();
            let own = self.generics.iter().skip(first).find(|generic| generic.name == name);
            let mut callable = own.and_then(|generic| generic.callable.clone());
            match own.map(|generic| generic.binding) {
                Some(binding) => {
                    let class = self.builder.value(Value::ClassOf(*value));
                    inferred.push((binding, class));
                }
                None => callable = self.callable(ty, *value),
            }
            let returned = callable.and_then(|(_, returned)| returned);
            let returned = returned.and_then(|name| self.generics.iter().skip(first).find(|it| it.name == name));
            if let Some(binding) = returned.map(|generic| generic.binding) {
                let (arguments, named) = (Vec::new(), Vec::new());
                let call = self.builder.value(Value::Call {
                    callee: *value,
                    arguments: arguments.into(),
                    named: named.into(),
                    creates: false,
                });
                let class = self.builder.value(Value::ClassOf(call));
                inferred.push((binding, class));
            }
        }
        for (binding, class) in inferred {
            let known = self.builder.binding_mut(binding).declared;
            let declared = match known {
                Some(known) => self.builder.value(Value::AnyOf(vec![known, class])),
                None => class,
            };
            self.builder.binding_mut(binding).declared = Some(declared);
        }
    }

    /// The function that a parameter of a type is, where its type is a type parameter with such a bound.
    pub(super) fn callable_type(&self, ty: Node<'_>) -> Option<ValueId> {
        let name = self.builder.text(referred(ty));
        let generic = self.generics.iter().rev().find(|generic| generic.name == name)?;
        generic.callable.as_ref().map(|(value, _)| *value)
    }
}

/// The type behind references.
pub(super) fn referred(mut ty: Node<'_>) -> Node<'_> {
    while let ("reference_type", Some(inner)) = (ty.kind(), field(ty, "type")) {
        ty = inner;
    }
    ty
}
