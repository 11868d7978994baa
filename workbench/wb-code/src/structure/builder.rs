//! The way in which a language writes a file's structure.

use std::ops::Range;

use compact_str::CompactString;
use tree_sitter::Node;

use super::file::{
    Argument, Binding, BindingId, BindingKind, CallSite, FieldKey, FieldWrite, FileStructure, Heirs, NameSpace,
    Reference, Scope, ScopeId, ScopeKind, Value, ValueId,
};

/// A structure that is being written, beside its source.
pub(super) struct StructureBuilder<'s> {
    pub source: &'s str,
    pub structure: FileStructure,
}

/// The parts of a binding that are not as usual.
pub(super) struct NewBinding {
    pub kind: BindingKind,
    pub space: NameSpace,
    pub value: Option<ValueId>,
    pub declared: Option<ValueId>,
    pub is_alias: bool,
    pub of_instance: bool,
}

impl NewBinding {
    pub fn new(kind: BindingKind) -> Self {
        let space = match kind {
            BindingKind::Class => NameSpace::BOTH,
            BindingKind::Module => NameSpace::BOTH,
            BindingKind::Import => NameSpace::ANY,
            BindingKind::Label => NameSpace::LABEL,
            _ => NameSpace::VALUE,
        };
        Self { kind, space, value: None, declared: None, is_alias: false, of_instance: false }
    }

    pub fn of(kind: BindingKind, value: ValueId) -> Self {
        Self { value: Some(value), ..Self::new(kind) }
    }

    pub fn alias(self) -> Self {
        Self { is_alias: true, ..self }
    }

    pub fn in_space(self, space: NameSpace) -> Self {
        Self { space, ..self }
    }

    pub fn typed(self, declared: Option<ValueId>) -> Self {
        Self { declared, ..self }
    }
}

impl<'s> StructureBuilder<'s> {
    /// A structure with the scope of the file.
    pub fn new(source: &'s str) -> Self {
        let mut builder = Self { source, structure: FileStructure::default() };
        builder.scope(ScopeKind::Module, None, None);
        builder
    }

    pub fn scope(&mut self, kind: ScopeKind, parent: Option<ScopeId>, owner: Option<ValueId>) -> ScopeId {
        let scope = Scope { kind, parent, owner, names: Vec::new(), includes: Vec::new() };
        self.structure.scopes.push(scope);
        ScopeId(self.structure.scopes.len() as u32 - 1)
    }

    pub fn value(&mut self, value: Value) -> ValueId {
        self.structure.values.push(value);
        ValueId(self.structure.values.len() as u32 - 1)
    }

    pub fn opaque(&mut self) -> ValueId {
        self.value(Value::Opaque)
    }

    pub fn text(&self, node: Node<'_>) -> &'s str {
        self.source.get(node.byte_range()).unwrap_or_default()
    }

    /// A binding that no scope has.
    pub fn loose(&mut self, name: &str, node: Node<'_>, new: NewBinding) -> BindingId {
        let NewBinding { kind, space, value, declared, is_alias, of_instance } = new;
        let name = name.into();
        let (span, line) = (span(node), line(node));
        let (heirs, block) = (Heirs::default(), None);
        let binding = Binding { name, kind, space, span, line, value, declared, of_instance, heirs, is_alias, block };
        self.structure.bindings.push(binding);
        BindingId(self.structure.bindings.len() as u32 - 1)
    }

    /// A binding in a scope.
    pub fn bind(&mut self, scope: ScopeId, name: &str, node: Node<'_>, new: NewBinding) -> BindingId {
        let binding = self.loose(name, node, new);
        self.export(scope, name, binding);
        binding
    }

    /// The file itself as a place, at its first statement.
    pub fn module(&mut self, root: Node<'_>) {
        if let Some(first) = children(root).first() {
            self.structure.module = Some(self.loose("", *first, NewBinding::new(BindingKind::Module)));
        }
    }

    /// A binding found in a further scope.
    pub fn export(&mut self, scope: ScopeId, name: &str, binding: BindingId) {
        self.structure.scopes[scope.0 as usize].names.push((name.into(), binding));
    }

    pub fn include(&mut self, scope: ScopeId, value: ValueId) {
        self.structure.scopes[scope.0 as usize].includes.push(value);
    }

    pub fn binding_mut(&mut self, binding: BindingId) -> &mut Binding {
        &mut self.structure.bindings[binding.0 as usize]
    }

    /// A name that is used.
    pub fn name(&mut self, node: Node<'_>, scope: ScopeId, space: NameSpace) -> ValueId {
        let name = self.text(node).to_owned();
        let value = self.value(Value::Name { name: name.into(), scope, space, at: node.start_byte() as u32 });
        self.refer(node, scope, value);
        value
    }

    /// A member whose name is used.
    pub fn member(&mut self, of: ValueId, node: Node<'_>, scope: ScopeId, space: NameSpace) -> ValueId {
        let name = self.text(node).to_owned();
        let value = self.value(Value::Member { of, name: name.into(), space });
        self.refer(node, scope, value);
        value
    }

    /// A place that names a value.
    pub fn refer(&mut self, node: Node<'_>, scope: ScopeId, value: ValueId) {
        self.refer_at(span(node), line(node), scope, value);
    }

    /// A place within a node that names a value.
    pub fn refer_at(&mut self, span: Range<u32>, line: u32, scope: ScopeId, value: ValueId) {
        self.structure.references.push(Reference { span, line, scope, value });
    }

    /// Says what a value is that was taken before, so that what is within could name it.
    pub fn set(&mut self, id: ValueId, value: Value) {
        self.structure.values[id.0 as usize] = value;
    }

    pub fn write(&mut self, of: ValueId, key: FieldKey, binding: BindingId) {
        self.structure.writes.push(FieldWrite { of, key, binding });
    }

    pub fn call(
        &mut self,
        node: Node<'_>,
        scope: ScopeId,
        callee: ValueId,
        arguments: Vec<Argument>,
        named: Vec<(CompactString, ValueId)>,
        creates: bool,
    ) -> ValueId {
        let value = self.value(Value::Call { callee, arguments: arguments.into(), named: named.into(), creates });
        self.structure.calls.push(CallSite { value, scope, line: line(node) });
        value
    }

    /// The nearest scope of one of these kinds, from here outwards.
    pub fn nearest(&self, mut scope: ScopeId, kinds: &[ScopeKind]) -> ScopeId {
        loop {
            let Scope { kind, parent, .. } = self.structure.scope(scope);
            match parent {
                Some(parent) if !kinds.contains(kind) => scope = *parent,
                _ => return scope,
            }
        }
    }
}

/// Room on the stack for one step, and how much more is taken where there is less.
const ROOM: [usize; 2] = [256 * 1024, 4 * 1024 * 1024];

/// Takes a step that may go as deep as the source is nested.
pub(super) fn deep<T>(step: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(ROOM[0], ROOM[1], step)
}

/// Bytes of a node.
pub(super) fn span(node: Node<'_>) -> Range<u32> {
    node.start_byte() as u32..node.end_byte() as u32
}

/// Line of a node, from 1.
pub(super) fn line(node: Node<'_>) -> u32 {
    node.start_position().row as u32 + 1
}

/// A node's field.
pub(super) fn field<'t>(node: Node<'t>, name: &str) -> Option<Node<'t>> {
    node.child_by_field_name(name)
}

/// Named children of a node, without remarks.
pub(super) fn children(node: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).filter(|child| !child.kind().contains("comment")).collect()
}
