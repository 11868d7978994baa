//! A file's structure as bytes, and back; bytes of anybody are read without trust.

use super::{
    file::{
        Argument, BindingId, ClassValue, FieldKey, FileStructure, FunctionParameter, FunctionValue, RecordValue,
        ScopeId, Value, ValueId,
    },
    lazy::StructureHead,
};
use crate::{Error, Result};

impl FileStructure {
    /// The structure as bytes, in the form of `postcard`. Names are in them as they are written.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        postcard::to_allocvec(self).map_err(|error| Error::failed(format!("a structure as bytes: {error}")))
    }

    /// The structure of [`FileStructure::to_bytes`].
    ///
    /// # Errors
    ///
    /// If the bytes are none of it, or a position in it points nowhere.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let read: Self = postcard::from_bytes(bytes).map_err(|_| damaged())?;
        if read.points_into_itself() { Ok(read) } else { Err(damaged()) }
    }

    /// True where every position is one of its own, and scopes stand behind those around them.
    fn points_into_itself(&self) -> bool {
        let Self { scopes, bindings, values, .. } = self;
        let value = |id: ValueId| (id.0 as usize) < values.len();
        let scope = |id: ScopeId| (id.0 as usize) < scopes.len();
        let binding = |id: BindingId| (id.0 as usize) < bindings.len();
        let some = |id: Option<ValueId>| id.is_none_or(value);
        let parameters = |all: &[FunctionParameter]| all.iter().all(|it| binding(it.binding) && some(it.default));
        let key = |key: &FieldKey| match key {
            FieldKey::Value(id) => value(*id),
            FieldKey::Name(_) | FieldKey::Any => true,
        };
        let is_value = |(at, it): (usize, &Value)| match it {
            Value::Name { scope: id, .. } | Value::Namespace(id) => scope(*id),
            Value::Member { of, .. }
            | Value::Element(of)
            | Value::Instance(of)
            | Value::Later(of)
            | Value::Awaited(of)
            | Value::ClassOf(of)
            | Value::Handed { call: of, .. }
            | Value::Super { class: of } => value(*of),
            Value::Item { of, key } => value(*of) && value(*key),
            Value::Call { callee, arguments, named, .. } => {
                let given = |it: &Argument| value(it.value);
                value(*callee) && arguments.iter().all(given) && named.iter().all(|(_, id)| value(*id))
            }
            Value::Applied { of, arguments } => value(*of) && arguments.iter().all(|id| value(*id)),
            Value::TypeAlias { parameters: all, of } => parameters(all) && value(*of),
            Value::Function(function) => {
                let FunctionValue {
                    scope: own,
                    parameters: all,
                    receiver,
                    class,
                    returns,
                    declared,
                    type_parameters,
                    given_to,
                    ..
                } = function.as_ref();
                own.is_none_or(scope)
                    && parameters(all)
                    && parameters(type_parameters)
                    && receiver.is_none_or(binding)
                    && [*class, *declared, given_to.map(|(callee, _)| callee)].into_iter().all(some)
                    && returns.iter().all(|id| value(*id))
            }
            Value::Class(class) => {
                let ClassValue { scope: own, parameters: all, bases } = class.as_ref();
                own.is_none_or(scope) && parameters(all) && bases.iter().all(|id| value(*id))
            }
            Value::Record(record) => {
                let RecordValue { fields, spreads, .. } = record.as_ref();
                fields.iter().all(|(own, id)| key(own) && binding(*id)) && spreads.iter().all(|id| value(*id))
            }
            // Whoever looks for the function comes to an end.
            Value::Decorated { call, function } => value(*call) && (function.0 as usize) < at,
            Value::Import(import) => import.binding.is_none_or(binding),
            Value::AnyOf(all) | Value::FirstOf(all) => all.iter().all(|id| value(*id)),
            Value::Constant { .. } | Value::Opaque => true,
        };
        let is_scope = |(at, it): (usize, &super::file::Scope)| {
            it.parent.is_none_or(|parent| (parent.0 as usize) < at)
                && some(it.owner)
                && it.names.iter().all(|(_, id)| binding(*id))
                && it.includes.iter().all(|id| value(*id))
        };
        !scopes.is_empty()
            && scopes.iter().enumerate().all(is_scope)
            && bindings.iter().all(|it| some(it.value) && some(it.declared))
            && values.iter().enumerate().all(is_value)
            && self.writes.iter().all(|it| value(it.of) && key(&it.key) && binding(it.binding))
            && self.extensions.iter().all(|it| value(it.of) && scope(it.scope) && it.bases.iter().all(|id| value(*id)))
            && self.references.iter().all(|it| value(it.value) && scope(it.scope))
            && self.calls.iter().all(|it| value(it.value) && scope(it.scope))
            && [self.exports, self.globals].into_iter().flatten().all(scope)
            && self.module.is_none_or(binding)
    }
}

impl StructureHead {
    /// The head as bytes.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        postcard::to_allocvec(self).map_err(|error| Error::failed(format!("a structure as bytes: {error}")))
    }

    /// The head of [`StructureHead::to_bytes`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        postcard::from_bytes(bytes).map_err(|_| damaged())
    }
}

fn damaged() -> Error {
    Error::data("structure", "is damaged: a position in it points out of it")
        .with_hint("make it again: wb index --anew")
}
