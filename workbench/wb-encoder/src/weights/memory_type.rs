//! Types that an encoder's weights may have in memory, where it encodes and does not train.

use std::{fmt, str::FromStr};

use super::WeightType;
use crate::{error::Result, folder::Folder, kernels::Bytes, parameters::Parameter, values::Values};

/// Type of weights in memory. Products are computed in 32-bit floats with each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryType {
    /// Floats: all weights are rounded to the type.
    Float(WeightType),
    /// 8 bits a number, with a scale for each output of a linear layer; other weights stay as they are.
    Int8,
}

impl Folder {
    /// Rounds the weights to a type and keeps them in it. Dense layers after the pooling are rounded to 16 bits too, but
    /// stay 32-bit floats in memory, as they are computed on the host.
    ///
    /// # Errors
    ///
    /// As [`Folder::check_memory_type`].
    pub fn keep_as(&mut self, kind: MemoryType) -> Result<()> {
        self.check_memory_type(kind)?;
        let MemoryType::Float(float) = kind else {
            self.keep_bytes();
            return Ok(());
        };
        for parameter in self.model.parameters.iter_mut() {
            let short = float.to_short(&parameter.values.floats());
            match short {
                Some((bits, kind)) => parameter.values = Values::of_short(bits, kind),
                None => parameter.values.widen(),
            }
        }
        self.dense.iter_mut().for_each(|dense| dense.round(float));
        Ok(())
    }

    /// Refuses a type that the weights cannot be kept in, and changes nothing.
    ///
    /// # Errors
    ///
    /// If a weight is beyond the type's range, or 8 bits are asked for and the encoder has no linear layers.
    pub fn check_memory_type(&self, kind: MemoryType) -> Result<()> {
        let MemoryType::Float(float) = kind else {
            if !self.model.architecture.linear_layers().is_empty() {
                return Ok(());
            }
            let message = "has no linear layers, expected some to keep in int8";
            return Err(wb_core::Error::data(self.name.as_str(), message).with_hint("f16 and bf16 fit any encoder"));
        };
        let of_dense: Vec<Parameter> =
            self.dense.iter().enumerate().flat_map(|(at, dense)| dense.parameters(&format!("dense {at}"))).collect();
        for Parameter { name, values, .. } in self.model.parameters.iter().chain(&of_dense) {
            let floats = values.floats();
            if let Some(at) = float.out_of_range(&floats) {
                let message = format!("has {} at number {at}, which is beyond {float}", floats[at]);
                return Err(wb_core::Error::data(format!("weight {name} of {}", self.name), message)
                    .with_hint("bf16 has the range of f32"));
            }
        }
        Ok(())
    }

    fn keep_bytes(&mut self) {
        let layers = self.model.architecture.linear_layers();
        for parameter in self.model.parameters.iter_mut() {
            let is_linear = parameter.name.strip_suffix(".weight").is_some_and(|name| layers.iter().any(|l| l == name));
            if let ([_, width], true) = (&parameter.shape[..], is_linear) {
                parameter.values = Values::of_bytes(Bytes::of(&parameter.values.floats(), *width));
            }
        }
    }
}

impl fmt::Display for MemoryType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Float(float) => float.fmt(f),
            Self::Int8 => f.write_str("int8"),
        }
    }
}

impl FromStr for MemoryType {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "int8" => Ok(Self::Int8),
            other => other.parse().map(Self::Float).map_err(|_| format!("`{other}`, expected f32, f16, bf16 or int8")),
        }
    }
}
