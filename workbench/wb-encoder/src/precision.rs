//! Numbers in which a training computes the products of matrices on a device.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
#[cfg(feature = "burn")]
use crate::weights::WeightType;

/// Numbers in which a device multiplies matrices while training. Weights that train, their moments and gradients,
/// normalizations, softmax, sums over layers and the loss are 32-bit floats in each (Micikevicius et al. 2018, "Mixed
/// Precision Training"); frozen weights of linear layers lie on the device in the type of the products.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Precision {
    /// 32-bit floats.
    #[default]
    Fp32,
    /// 16-bit brain floats: the range of 32 bits, 8 bits of precision.
    Bf16,
    /// 16-bit floats: 11 bits of precision, and nothing above 65,504 or below 6e-8; the loss is scaled so that gradients fit,
    /// and a step whose gradients do not is left out.
    F16,
}

impl Precision {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Fp32, Self::Bf16, Self::F16];

    /// The name in a config.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fp32 => "fp32",
            Self::Bf16 => "bf16",
            Self::F16 => "f16",
        }
    }

    /// The type of the products' numbers.
    #[cfg(feature = "burn")]
    pub(crate) fn weight_type(self) -> WeightType {
        match self {
            Self::Fp32 => WeightType::F32,
            Self::Bf16 => WeightType::Bf16,
            Self::F16 => WeightType::F16,
        }
    }

    /// The error of a device, or of the processor, that does not compute in it, and why.
    pub(crate) fn refused(self, device: &str, why: &str) -> Error {
        Error::value("train.precision", format!("got {}, which {device} does not compute in: {why}", self.name()))
            .with_hint("train.precision=fp32")
    }

    /// Refuses all but 32 bits.
    pub(crate) fn only_32_bits(self, device: &str, why: &str) -> Result<()> {
        if self == Self::Fp32 { Ok(()) } else { Err(self.refused(device, why)) }
    }
}
