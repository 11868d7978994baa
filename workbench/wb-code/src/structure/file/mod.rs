//! The structure of one file: its scopes, what they bind, its values, and where each name refers from.
//!
//! One small language for all of them. A file is lowered to it once, without looking at any other file; what a name
//! means is worked out of it when somebody asks ([`crate::structure::Solver`]).

mod sized;
mod values;

use std::ops::Range;

use compact_str::CompactString;
use serde::{Deserialize, Serialize};

pub use values::{
    Argument, BuiltinType, ClassValue, FieldKey, FunctionParameter, FunctionValue, ImportValue, ParameterKind,
    RecordValue, Value,
};

/// Position of a value in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ValueId(pub u32);

/// Position of a scope in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ScopeId(pub u32);

/// Position of a binding in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct BindingId(pub u32);

/// The kinds of names that a language keeps apart, as bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct NameSpace(pub u8);

impl NameSpace {
    /// Variables, and functions where the language has them there.
    pub const VALUE: Self = Self(1);
    /// Types.
    pub const TYPE: Self = Self(2);
    /// Methods, where a field may have their name.
    pub const METHOD: Self = Self(4);
    /// Labels of statements.
    pub const LABEL: Self = Self(8);
    /// Classes, modules, enums: values and types in one.
    pub const BOTH: Self = Self(3);
    /// Names of every kind.
    pub const ANY: Self = Self(7);

    /// True where they have a kind in common.
    pub fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// The kinds of scopes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ScopeKind {
    /// A whole file, or a namespace.
    Module,
    /// The body of a class; [`Scope::owner`] is its value.
    Class,
    /// Parameters and body of a function; [`Scope::owner`] is its value.
    Function,
    /// Statements together.
    Block,
}

/// A part of a file with names of its own.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Scope {
    /// Kind.
    pub kind: ScopeKind,
    /// The scope around it.
    pub parent: Option<ScopeId>,
    /// The function or the class whose scope this is.
    pub owner: Option<ValueId>,
    /// Bindings that are found here, by their names.
    pub names: Vec<(CompactString, BindingId)>,
    /// Values all of whose members are found here: `from m import *`.
    pub includes: Vec<ValueId>,
}

/// The kinds of bindings, as a reader would call them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BindingKind {
    /// A function or a method.
    Function,
    /// A class, a struct, an interface, an enum, a type.
    Class,
    /// A module or a namespace.
    Module,
    /// A variable or a constant.
    Variable,
    /// A parameter.
    Parameter,
    /// A field or an attribute.
    Field,
    /// A name that stands for one of another file.
    Import,
    /// A label of a statement.
    Label,
    /// An element without a name: no place of its own, but what it holds may have one.
    Element,
}

/// The classes that have a member by extending the class that it stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Heirs {
    /// Every class.
    #[default]
    All,
    /// Classes of the same package.
    Package,
    /// Nobody: the member is private.
    None,
}

/// A place that gives a name to something.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Binding {
    /// Name.
    pub name: CompactString,
    /// Kind.
    pub kind: BindingKind,
    /// Kinds of names that it is found by.
    pub space: NameSpace,
    /// The bytes of the name at its place.
    pub span: Range<u32>,
    /// Line of the name, from 1.
    pub line: u32,
    /// The value that it is given, where the source says one.
    pub value: Option<ValueId>,
    /// A value of its declared type.
    pub declared: Option<ValueId>,
    /// True where only instances of the class have it.
    pub of_instance: bool,
    /// Classes that inherit it, where it is a member.
    pub heirs: Heirs,
    /// True where the next name on the way is a definition too: `a = b`, `import { a }`.
    pub is_alias: bool,
    /// Bytes of the block whose further statements all see it, where the language is one in which later values replace earlier
    /// ones.
    pub block: Option<Range<u32>>,
}

/// A field that is given a value outside of its class or its record: `a.b = c`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FieldWrite {
    /// The object.
    pub of: ValueId,
    /// The field.
    pub key: FieldKey,
    /// The place as a binding.
    pub binding: BindingId,
}

/// Members of a class that are written beside it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Extension {
    /// The class as it is written there.
    pub of: ValueId,
    /// Scope with the members.
    pub scope: ScopeId,
    /// Classes whose members the class has too.
    pub bases: Vec<ValueId>,
}

/// A place where a name is used.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Reference {
    /// The bytes of the name.
    pub span: Range<u32>,
    /// Line, from 1.
    pub line: u32,
    /// The scope around it.
    pub scope: ScopeId,
    /// The value that it names.
    pub value: ValueId,
}

/// A call with the scope that it stands in.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct CallSite {
    /// The [`Value::Call`].
    pub value: ValueId,
    /// The scope around it.
    pub scope: ScopeId,
    /// Line, from 1.
    pub line: u32,
}

/// The structure of a file.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct FileStructure {
    /// Scopes; the first is the file's own.
    pub scopes: Vec<Scope>,
    /// Bindings in the order of the source, roughly.
    #[serde(deserialize_with = "sized::list")]
    pub bindings: Vec<Binding>,
    /// Values.
    #[serde(deserialize_with = "sized::list")]
    pub values: Vec<Value>,
    /// Fields that are set outside of their class.
    pub writes: Vec<FieldWrite>,
    /// Members that are written beside their class.
    pub extensions: Vec<Extension>,
    /// Names that are used, in the order of the source.
    #[serde(deserialize_with = "sized::list")]
    pub references: Vec<Reference>,
    /// Calls.
    #[serde(deserialize_with = "sized::list")]
    pub calls: Vec<CallSite>,
    /// Bytes of what may run more than once.
    pub loops: Vec<Range<u32>>,
    /// The file itself, at its first statement.
    pub module: Option<BindingId>,
    /// The scope whose names other files may import, where it is not the file's own.
    pub exports: Option<ScopeId>,
    /// The scope whose names every file knows, where there is one.
    pub globals: Option<ScopeId>,
    /// True where the rules of the language are not known, so that names are names and nothing more.
    pub is_by_name: bool,
    /// The package that the file says it is part of.
    pub package: Option<String>,
}

impl FileStructure {
    /// The value at a position.
    pub fn value(&self, id: ValueId) -> &Value {
        &self.values[id.0 as usize]
    }

    /// A function without the decorators around it.
    pub fn undecorated(&self, mut id: ValueId) -> ValueId {
        while let Value::Decorated { function, .. } = self.value(id) {
            id = *function;
        }
        id
    }

    /// The scope at a position.
    pub fn scope(&self, id: ScopeId) -> &Scope {
        &self.scopes[id.0 as usize]
    }

    /// The binding at a position.
    pub fn binding(&self, id: BindingId) -> &Binding {
        &self.bindings[id.0 as usize]
    }

    /// Names of the class that an extension extends: as it is written there, and what this is another name of in the file.
    /// A type parameter of its own has an empty name.
    pub fn extended(&self, extension: &Extension) -> Vec<String> {
        let Some(name) = self.last_name(extension.of) else { return Vec::new() };
        let owner = self.scope(extension.scope).owner.map(|owner| self.value(owner));
        if let (Some(Value::Class(class)), Value::Name { .. }) = (owner, self.value(extension.of))
            && class.parameters.iter().any(|parameter| self.binding(parameter.binding).name == name)
        {
            return vec![String::new()];
        }
        let is_alias = |binding: &&Binding| {
            binding.name == name && matches!(binding.kind, BindingKind::Import | BindingKind::Class)
        };
        let others = self.bindings.iter().filter(is_alias).filter_map(|binding| {
            let value = binding.value?;
            match self.value(value) {
                Value::TypeAlias { of, .. } => self.last_name(*of),
                _ => self.last_name(value),
            }
        });
        let mut names: Vec<String> = others.chain([name]).map(str::to_owned).collect();
        names.sort();
        names.dedup();
        names
    }

    /// The name of a value that is written as one, or as a member.
    pub fn name(&self, value: ValueId) -> Option<&str> {
        match self.value(value) {
            Value::Name { name, .. } | Value::Member { name, .. } => Some(name),
            _ => None,
        }
    }

    /// The last name of a type as it is written.
    pub fn last_name(&self, value: ValueId) -> Option<&str> {
        match self.value(value) {
            // What a type is applied to stands behind it.
            Value::Applied { of, .. } if *of < value => self.last_name(*of),
            _ => self.name(value),
        }
    }

    /// The scope that others import from.
    pub fn exported(&self) -> ScopeId {
        self.exports.unwrap_or(ScopeId(0))
    }
}
