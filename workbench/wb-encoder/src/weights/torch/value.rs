//! Values that the machine that runs a pickle can make, and the names that a program may use.

use std::rc::Rc;

use safetensors::Dtype;
use wb_core::pickle::Id;

use super::tensor::{Storage, Tensor};

/// A value that the machine can make.
#[derive(Debug, Clone)]
pub enum TorchValue<'a> {
    None,
    Flag,
    Number(i64),
    Text(&'a str),
    Tuple(Vec<Id>),
    List,
    Dictionary(Vec<(Id, Id)>),
    Name(TorchName),
    Storage(Rc<Storage<'a>>),
    Tensor(Rc<Tensor<'a>>),
}

/// The names that a program may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TorchName {
    OrderedDict,
    RebuildTensor,
    RebuildParameter,
    Storage(Dtype),
}

impl TorchName {
    /// Finds the name among them.
    pub fn find(module: &str, name: &str) -> Option<Self> {
        Some(match (module, name) {
            ("collections", "OrderedDict") => Self::OrderedDict,
            ("torch._utils", "_rebuild_tensor_v2") => Self::RebuildTensor,
            ("torch._utils", "_rebuild_parameter") => Self::RebuildParameter,
            ("torch", "FloatStorage") => Self::Storage(Dtype::F32),
            ("torch", "HalfStorage") => Self::Storage(Dtype::F16),
            ("torch", "BFloat16Storage") => Self::Storage(Dtype::BF16),
            ("torch", "DoubleStorage") => Self::Storage(Dtype::F64),
            ("torch", "LongStorage") => Self::Storage(Dtype::I64),
            ("torch", "IntStorage") => Self::Storage(Dtype::I32),
            ("torch", "ShortStorage") => Self::Storage(Dtype::I16),
            ("torch", "CharStorage") => Self::Storage(Dtype::I8),
            ("torch", "ByteStorage") => Self::Storage(Dtype::U8),
            ("torch", "BoolStorage") => Self::Storage(Dtype::BOOL),
            _ => return None,
        })
    }
}

impl TorchValue<'_> {
    /// The kind of the value, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::None => "None",
            Self::Flag => "true or false",
            Self::Number(_) => "a number",
            Self::Text(_) => "text",
            Self::Tuple(_) => "a tuple",
            Self::List => "a list",
            Self::Dictionary(_) => "a dictionary",
            Self::Name(_) => "a class or function",
            Self::Storage(_) => "a storage",
            Self::Tensor(_) => "a tensor",
        }
    }
}
