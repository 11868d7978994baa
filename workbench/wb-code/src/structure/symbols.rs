//! The names of a file's definitions with what they are inside of.

use rustc_hash::FxHashMap;

use super::file::{Binding, BindingId, BindingKind, FileStructure, ScopeId, ScopeKind, Value, ValueId};

/// The definitions of a file by their names, and the names of its scopes.
#[derive(Debug)]
pub struct FileSymbols<'s> {
    structure: &'s FileStructure,
    /// Scope of each binding that has one.
    scopes: Vec<Option<ScopeId>>,
    /// Definition of each function and class.
    owners: FxHashMap<ValueId, BindingId>,
    /// Names of classes by the owners of what extends them.
    extended: FxHashMap<ValueId, &'s str>,
}

impl<'s> FileSymbols<'s> {
    /// The definitions of a structure.
    pub fn of(structure: &'s FileStructure) -> Self {
        let mut scopes = vec![None; structure.bindings.len()];
        for (scope, at) in structure.scopes.iter().zip(0..) {
            for (_, binding) in &scope.names {
                if let Some(place) = scopes.get_mut(binding.0 as usize) {
                    _ = place.get_or_insert(ScopeId(at));
                }
            }
        }
        let mut owners = FxHashMap::default();
        let defines = |binding: &Binding| {
            matches!(
                binding.kind,
                BindingKind::Function
                    | BindingKind::Class
                    | BindingKind::Module
                    | BindingKind::Variable
                    | BindingKind::Field
            )
        };
        for (binding, at) in structure.bindings.iter().zip(0..).filter(|(binding, _)| defines(binding)) {
            if let Some(value) = binding.value {
                owners.entry(structure.undecorated(value)).or_insert(BindingId(at));
            }
        }
        let extended = structure.extensions.iter().filter_map(|extension| {
            Some((structure.scope(extension.scope).owner?, structure.last_name(extension.of)?))
        });
        Self { structure, scopes, owners, extended: extended.collect() }
    }

    fn scope_of(&self, binding: BindingId) -> Option<ScopeId> {
        self.scopes.get(binding.0 as usize).copied().flatten()
    }

    /// The definition of a function or a class by its value.
    pub fn of_value(&self, value: ValueId) -> Option<BindingId> {
        self.owners.get(&value).copied()
    }

    /// The function around a scope: its value, where it is in one.
    pub fn function_around(&self, scope: ScopeId) -> Option<ValueId> {
        let mut next = Some(scope);
        while let Some(at) = next {
            let scope = self.structure.scope(at);
            if let (ScopeKind::Function, Some(owner)) = (scope.kind, scope.owner) {
                return Some(owner);
            }
            next = scope.parent;
        }
        None
    }

    /// The definition of the function or the class around a scope, the nearest that has a name.
    pub fn around(&self, scope: ScopeId) -> Option<BindingId> {
        let mut next = Some(scope);
        while let Some(at) = next {
            let scope = self.structure.scope(at);
            if let Some(binding) = scope.owner.and_then(|owner| self.of_value(owner)) {
                return Some(binding);
            }
            next = scope.parent;
        }
        None
    }

    /// Names of what is around a scope, outermost first.
    pub fn path_of(&self, scope: ScopeId) -> Vec<&'s str> {
        let mut parts = Vec::new();
        let mut next = Some(scope);
        while let Some(at) = next {
            let scope = self.structure.scope(at);
            let around = scope.parent.and_then(|parent| self.structure.scope(parent).owner);
            // Type parameters stand in a scope around that of their owner.
            if let Some(owner) = scope.owner.filter(|owner| around != Some(*owner)) {
                match (self.of_value(owner), self.structure.value(owner)) {
                    (Some(binding), _) => parts.push(self.structure.binding(binding).name.as_str()),
                    // Members that are written beside their class are named by it.
                    (None, Value::Name { name, .. }) => parts.push(name),
                    (None, Value::Class(_)) => parts.extend(self.extended.get(&owner).copied()),
                    _ => {}
                }
            }
            next = scope.parent;
        }
        parts.reverse();
        parts
    }

    /// The name of a definition with those of what it is inside of, outermost first.
    pub fn path(&self, binding: BindingId) -> Vec<&'s str> {
        let mut parts = self.scope_of(binding).map(|scope| self.path_of(scope)).unwrap_or_default();
        parts.push(self.structure.binding(binding).name.as_str());
        parts
    }

    /// Definitions that others may ask for, see [`FileSymbols::is_symbol`], in the order of the structure.
    pub fn all(&self) -> impl Iterator<Item = BindingId> {
        (0..self.structure.bindings.len() as u32).map(BindingId).filter(|binding| self.is_symbol(*binding))
    }

    /// True for what others may ask for: no parameter, no label, nothing that a function keeps for itself.
    pub fn is_symbol(&self, binding: BindingId) -> bool {
        match self.structure.binding(binding).kind {
            BindingKind::Function | BindingKind::Class | BindingKind::Module | BindingKind::Field => true,
            BindingKind::Variable => self.scope_of(binding).is_some_and(|scope| self.function_around(scope).is_none()),
            BindingKind::Parameter | BindingKind::Import | BindingKind::Label | BindingKind::Element => false,
        }
    }
}
