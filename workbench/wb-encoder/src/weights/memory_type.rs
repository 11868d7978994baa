//! Types that an encoder's weights may have in memory, where it encodes and does not train.

use std::{fmt, str::FromStr};

use super::WeightType;
use crate::{
    error::{Error, Result},
    folder::Folder,
    kernels::Bytes,
    parameters::Parameter,
    precision::Precision,
    values::Values,
};

/// Type of weights in memory. Products are computed in 32-bit floats with each but the last two, which are those that a
/// device has, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryType {
    /// Floats: all weights are rounded to the type.
    Float(WeightType),
    /// 8 bits a number, with a scale for each output of a linear layer; other weights stay as they are.
    Int8,
    /// 16-bit brain floats, all weights; linear layers round their inputs to them too, and sum in 32-bit floats. Fast
    /// where a processor has products of brain floats ([`crate::kernels::has_bf16_products`]), and the same numbers, slower, elsewhere.
    Bf16Products,
    /// 16-bit floats, all weights and what they are multiplied with; on devices alone.
    F16Products,
}

impl MemoryType {
    /// The precision of a device's products; none where it would have the weights as 32-bit floats again.
    pub fn precision(self) -> Option<Precision> {
        match self {
            Self::Bf16Products => Some(Precision::Bf16),
            Self::F16Products => Some(Precision::F16),
            Self::Float(_) | Self::Int8 => None,
        }
    }

    /// Refuses a type that weights are not kept in on a device, or on the processor; `option` is what the message calls it
    /// by.
    pub fn check_on(self, is_cpu: bool, option: &str) -> Result<()> {
        let (message, hint) = match (is_cpu, self.precision()) {
            (false, None) if self == Self::Float(WeightType::F32) => return Ok(()),
            (true, Some(Precision::F16)) => ("which the processor has not", format!("{option} bf16-products")),
            (false, None) => (
                "which is for the processor: a device has 32-bit floats, or computes in 16 bits",
                format!("{option} bf16-products, or --device cpu"),
            ),
            _ => return Ok(()),
        };
        Err(Error::value(option, format!("got {self}, {message}")).with_hint(hint))
    }

    /// The type that weights are rounded to; none for those of 8 bits.
    pub(crate) fn float(self) -> Option<WeightType> {
        match self {
            Self::Float(float) => Some(float),
            Self::Bf16Products => Some(WeightType::Bf16),
            Self::F16Products => Some(WeightType::F16),
            Self::Int8 => None,
        }
    }
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
        let Some(float) = kind.float() else {
            self.keep_bytes();
            return Ok(());
        };
        let layers = self.model.architecture.linear_layers();
        for parameter in self.model.parameters.iter_mut() {
            let short = float.to_short(&parameter.values.floats());
            match (short, linear_shape(parameter, &layers)) {
                (Some((bits, _)), Some([outputs, inputs])) if kind == MemoryType::Bf16Products => {
                    parameter.values = Values::of_bf16_products(&bits, outputs, inputs);
                }
                (Some((bits, kind)), _) => parameter.values = Values::of_short(bits, kind),
                (None, _) => parameter.values.widen(),
            }
        }
        self.dense.iter_mut().for_each(|dense| dense.round(float));
        Ok(())
    }

    /// Refuses a type that the weights cannot be kept in, and changes nothing.
    ///
    /// # Errors
    ///
    /// If a weight is beyond the type's range, or the type is one of linear layers and the encoder has none.
    pub fn check_memory_type(&self, kind: MemoryType) -> Result<()> {
        let is_of_layers = !matches!(kind, MemoryType::Float(_));
        if is_of_layers && self.model.architecture.linear_layers().is_empty() {
            let message = format!("has no linear layers, expected some to keep in {kind}");
            return Err(Error::data(self.name.as_str(), message)
                .with_hint("no --dtype; f16 and bf16 fit any encoder on the processor"));
        }
        let Some(float) = kind.float() else { return Ok(()) };
        let of_dense: Vec<Parameter> =
            self.dense.iter().enumerate().flat_map(|(at, dense)| dense.parameters(&format!("dense {at}"))).collect();
        for Parameter { name, values, .. } in self.model.parameters.iter().chain(&of_dense) {
            let floats = values.floats();
            if let Some(at) = float.out_of_range(&floats) {
                let message = format!("has {} at number {at}, which is beyond {float}", floats[at]);
                return Err(Error::data(format!("weight {name} of {}", self.name), message)
                    .with_hint("bf16, or bf16-products, which have the range of f32"));
            }
        }
        Ok(())
    }

    fn keep_bytes(&mut self) {
        let layers = self.model.architecture.linear_layers();
        for parameter in self.model.parameters.iter_mut() {
            if let Some([_, width]) = linear_shape(parameter, &layers) {
                parameter.values = Values::of_bytes(Bytes::of(&parameter.values.floats(), width));
            }
        }
    }
}

/// Outputs and inputs of a linear layer's weight; none of anything else.
fn linear_shape(parameter: &Parameter, layers: &[String]) -> Option<[usize; 2]> {
    let name = parameter.name.strip_suffix(".weight")?;
    let shape = <[usize; 2]>::try_from(&parameter.shape[..]).ok()?;
    layers.iter().any(|layer| layer == name).then_some(shape)
}

impl fmt::Display for MemoryType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Float(float) => float.fmt(f),
            Self::Int8 => f.write_str("int8"),
            Self::Bf16Products => f.write_str("bf16-products"),
            Self::F16Products => f.write_str("f16-products"),
        }
    }
}

impl FromStr for MemoryType {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "int8" => Ok(Self::Int8),
            "bf16-products" => Ok(Self::Bf16Products),
            "f16-products" => Ok(Self::F16Products),
            other => {
                let expected = |_| format!("`{other}`, expected f32, f16, bf16, int8, bf16-products or f16-products");
                other.parse().map(Self::Float).map_err(expected)
            }
        }
    }
}
