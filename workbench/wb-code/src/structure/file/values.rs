//! Values: expressions, functions, classes and types, as far as they matter to what names mean.

use compact_str::CompactString;
use serde::{Deserialize, Serialize};

use super::{BindingId, NameSpace, ScopeId, ValueId};

/// An argument of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Argument {
    /// Value.
    pub value: ValueId,
    /// True for `*args`: its elements are the arguments.
    pub is_spread: bool,
}

/// The kinds of parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ParameterKind {
    /// One argument, by place or name.
    One,
    /// All further arguments.
    Rest,
    /// All further arguments with names.
    RestNamed,
}

/// A parameter of a function.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct FunctionParameter {
    /// Its name.
    pub binding: BindingId,
    /// Kind.
    pub kind: ParameterKind,
    /// The value where no argument is given.
    pub default: Option<ValueId>,
}

/// Types that are Python's own and have methods.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum BuiltinType {
    /// None of them, or one whose methods nobody asks for.
    #[default]
    None,
    /// `str`.
    Str,
    /// `int` and `float`.
    Number,
    /// `list`.
    List,
    /// `tuple`.
    Tuple,
    /// `set`.
    Set,
    /// `dict`.
    Dict,
}

impl BuiltinType {
    /// The name that PyCG gives it.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Str => Some("PyStr"),
            Self::Number => Some("PyNum"),
            Self::List => Some("PyList"),
            Self::Tuple => Some("PyTuple"),
            Self::Set => Some("PySet"),
            Self::Dict => Some("PyDict"),
        }
    }
}

/// A function or a method.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct FunctionValue {
    /// Its own scope.
    pub scope: Option<ScopeId>,
    /// Parameters in order, without the receiver.
    pub parameters: Vec<FunctionParameter>,
    /// The parameter that is the object a method is called on (`self`, `this`).
    pub receiver: Option<BindingId>,
    /// The class that it is a method of.
    pub class: Option<ValueId>,
    /// Values that it returns or yields.
    pub returns: Vec<ValueId>,
    /// A value of the type that it is declared to return.
    pub declared: Option<ValueId>,
    /// Type parameters.
    pub type_parameters: Vec<FunctionParameter>,
    /// True where a call without an object gives that as the first argument.
    pub takes_receiver: bool,
    /// True where it is called without an object.
    pub is_static: bool,
    /// True where its first parameter is the class.
    pub is_of_class: bool,
    /// True where reading it calls it.
    pub is_property: bool,
    /// True where a call gives elements one by one.
    pub is_generator: bool,
    /// True where a call gives something to wait for.
    pub is_async: bool,
    /// True for what `new` calls on a class.
    pub is_constructor: bool,
    /// The function that it is handed to, and the place among the arguments.
    pub given_to: Option<(ValueId, usize)>,
}

/// A class, an interface, an enum, a struct.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ClassValue {
    /// Scope with its members.
    pub scope: Option<ScopeId>,
    /// Type parameters.
    pub parameters: Vec<FunctionParameter>,
    /// Classes whose members it has too, nearest first.
    pub bases: Vec<ValueId>,
}

/// The name of a field, or the value that says it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum FieldKey {
    /// A name in the source.
    Name(CompactString),
    /// Every element, where they have no names.
    Any,
    /// A value; what it is when it runs is the key.
    Value(ValueId),
}

/// An object, a dictionary, a list, a tuple that is written out.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct RecordValue {
    /// Fields.
    pub fields: Vec<(FieldKey, BindingId)>,
    /// Objects whose fields it has too: `...rest`.
    pub spreads: Vec<ValueId>,
    /// The builtin type, where methods of it may be called.
    pub type_name: BuiltinType,
}

/// A module, or what is in it, as an import names it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ImportValue {
    /// Name by which the language imports it.
    pub module: CompactString,
    /// The whole path that the import names.
    pub path: CompactString,
    /// The name that it is bound to, where it is that of the module itself.
    pub binding: Option<BindingId>,
}

impl ImportValue {
    /// The value of an import.
    pub fn value(
        module: impl Into<CompactString>,
        path: impl Into<CompactString>,
        binding: Option<BindingId>,
    ) -> Value {
        Value::Import(Box::new(Self { module: module.into(), path: path.into(), binding }))
    }
}

/// An expression, as far as it matters to what names mean. There are many: none takes more than 40 bytes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Value {
    /// A name, looked up from a scope.
    Name {
        /// Name.
        name: CompactString,
        /// Scope from which it is looked up, outwards.
        scope: ScopeId,
        /// Kinds of names that are meant.
        space: NameSpace,
        /// Byte at which it stands; the greatest number where it is not in the source.
        at: u32,
    },
    /// A member by its name.
    Member {
        /// Object.
        of: ValueId,
        /// Name.
        name: CompactString,
        /// Kinds of names that are meant.
        space: NameSpace,
    },
    /// An element by its key.
    Item {
        /// Object.
        of: ValueId,
        /// Key.
        key: ValueId,
    },
    /// Each element of something.
    Element(ValueId),
    /// A constant.
    Constant {
        /// Text, as it is written.
        text: CompactString,
        /// The builtin type, where methods of it may be called.
        type_name: BuiltinType,
    },
    /// A call.
    Call {
        /// The function that is called.
        callee: ValueId,
        /// Arguments by their places.
        arguments: Box<[Argument]>,
        /// Arguments by their names.
        named: Box<[(CompactString, ValueId)]>,
        /// True for `new`.
        creates: bool,
    },
    /// An instance of what is a class, an alias of a type or a type that is written out.
    Instance(ValueId),
    /// A type with arguments.
    Applied {
        /// Type.
        of: ValueId,
        /// Arguments.
        arguments: Vec<ValueId>,
    },
    /// A name for a type.
    TypeAlias {
        /// Type parameters.
        parameters: Vec<FunctionParameter>,
        /// The type that it stands for.
        of: ValueId,
    },
    /// The function; apart, as all that is rare and large.
    Function(Box<FunctionValue>),
    /// The class.
    Class(Box<ClassValue>),
    /// The object.
    Record(Box<RecordValue>),
    /// A function as a decorator leaves it; itself where the decorator is not known.
    Decorated {
        /// The decorator's call.
        call: ValueId,
        /// The function.
        function: ValueId,
    },
    /// A module.
    Import(Box<ImportValue>),
    /// An instance as the classes see it that its class extends.
    Super {
        /// Class that is asked from.
        class: ValueId,
    },
    /// Something to wait for, which has this value in the end.
    Later(ValueId),
    /// The value that something to wait for has in the end.
    Awaited(ValueId),
    /// A namespace.
    Namespace(ScopeId),
    /// The class that a value is an instance of.
    ClassOf(ValueId),
    /// A parameter of a function that is written out as an argument of a call, as what is called declares it.
    Handed {
        /// The call.
        call: ValueId,
        /// Place of the function among its arguments.
        argument: usize,
        /// Place of the parameter in the function.
        parameter: usize,
    },
    /// One of several.
    AnyOf(Vec<ValueId>),
    /// The first of several of which anything is known.
    FirstOf(Vec<ValueId>),
    /// Something of which nothing is known but that it is one thing.
    Opaque,
}

impl Value {
    /// The builtin type of a constant or of a record.
    pub fn type_name(&self) -> BuiltinType {
        match self {
            Self::Constant { type_name, .. } => *type_name,
            Self::Record(record) => record.type_name,
            _ => BuiltinType::None,
        }
    }
}
