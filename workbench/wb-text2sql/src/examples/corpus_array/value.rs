//! Values that the machine which runs a pickle can make, and the names that a program may use.

use wb_core::pickle::Id;

/// A value that the machine can make.
#[derive(Debug)]
pub enum PickledValue<'a> {
    /// None, true, false, a float.
    Plain,
    Number(i64),
    Text(&'a str),
    Bytes,
    Tuple(Vec<Id>),
    List(Vec<Id>),
    Dictionary(Vec<(Id, Id)>),
    Name(PickledName),
    /// `dtype('O')`.
    ObjectType,
    /// An array of objects; its shape and its list of objects once it is filled.
    Array(Option<(Id, Id)>),
}

/// The names that a program may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PickledName {
    Reconstruct,
    Ndarray,
    Dtype,
}

impl PickledValue<'_> {
    /// Name of its type, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Plain => "None, true, false or a float",
            Self::Number(_) => "a number",
            Self::Text(_) => "text",
            Self::Bytes => "bytes",
            Self::Tuple(_) => "a tuple",
            Self::List(_) => "a list",
            Self::Dictionary(_) => "a dictionary",
            Self::Name(_) => "a class or function",
            Self::ObjectType => "a type",
            Self::Array(_) => "an array",
        }
    }
}
