//! The number types of weights.

use std::{fmt, str::FromStr};

use safetensors::Dtype;
use serde::{Deserialize, Serialize};

use crate::kernels::{Short, float_to_brain};

/// Type of numbers that weights are written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WeightType {
    /// 32-bit floats: what was computed with.
    #[default]
    F32,
    /// IEEE 754 binary16: 11 bits of precision, and nothing beyond 65,504.
    F16,
    /// The upper half of a 32-bit float: 8 bits of precision, and the whole range.
    Bf16,
}

impl WeightType {
    /// Bytes of a number.
    pub fn bytes(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F16 | Self::Bf16 => 2,
        }
    }

    /// Its name in safetensors files.
    pub(crate) fn dtype(self) -> Dtype {
        match self {
            Self::F32 => Dtype::F32,
            Self::F16 => Dtype::F16,
            Self::Bf16 => Dtype::BF16,
        }
    }

    /// Its name in `config.json`.
    pub(crate) fn torch_name(self) -> &'static str {
        match self {
            Self::F32 => "float32",
            Self::F16 => "float16",
            Self::Bf16 => "bfloat16",
        }
    }

    /// Little-endian bytes, each number rounded to the nearest (to the even one of two equally near, as torch does);
    /// one that is [out of range](Self::out_of_range) becomes infinite.
    pub(crate) fn to_bytes(self, values: &[f32]) -> Vec<u8> {
        match self {
            Self::F32 => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
            Self::F16 => values.iter().flat_map(|v| float_to_half(*v).to_le_bytes()).collect(),
            Self::Bf16 => values.iter().flat_map(|v| float_to_brain(*v).to_le_bytes()).collect(),
        }
    }

    /// The numbers in 16 bits, rounded as by [`Self::to_bytes`]; none where the type has more.
    pub(crate) fn to_short(self, values: &[f32]) -> Option<(Vec<u16>, Short)> {
        match self {
            Self::F32 => None,
            Self::F16 => Some((values.iter().map(|v| float_to_half(*v)).collect(), Short::F16)),
            Self::Bf16 => Some((values.iter().map(|v| float_to_brain(*v)).collect(), Short::Bf16)),
        }
    }

    /// The place of the first number that is beyond the type's range.
    pub(crate) fn out_of_range(self, values: &[f32]) -> Option<usize> {
        match self {
            Self::F32 => None,
            Self::F16 => values.iter().position(|v| float_to_half(*v) & 0x7c00 == 0x7c00),
            Self::Bf16 => values.iter().position(|v| float_to_brain(*v) & 0x7f80 == 0x7f80),
        }
    }

    /// A number as it is read back.
    pub fn rounded(self, value: f32) -> f32 {
        match self {
            Self::F32 => value,
            Self::F16 => Short::F16.to_float(float_to_half(value)),
            Self::Bf16 => Short::Bf16.to_float(float_to_brain(value)),
        }
    }
}

impl fmt::Display for WeightType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
        })
    }
}

impl FromStr for WeightType {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "f32" => Ok(Self::F32),
            "f16" => Ok(Self::F16),
            "bf16" => Ok(Self::Bf16),
            other => Err(format!("`{other}`, expected f32, f16 or bf16")),
        }
    }
}

impl From<Short> for WeightType {
    fn from(kind: Short) -> Self {
        match kind {
            Short::F16 => Self::F16,
            Short::Bf16 => Self::Bf16,
        }
    }
}

/// The nearest binary16; infinite from 65,520 on.
fn float_to_half(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = (bits >> 16) as u16 & 0x8000;
    let size = bits & 0x7fff_ffff;
    let half = if size > 0x7f80_0000 {
        0x7e00
    } else if size >= 0x4780_0000 {
        0x7c00
    } else if size < 0x3880_0000 {
        // Below 2⁻¹⁴ the steps are 2⁻²⁴.
        (f32::from_bits(size) * 2f32.powi(24)).round_ties_even() as u16
    } else {
        let even = (size >> 13) & 1;
        ((size - (112 << 23) + 0x0fff + even) >> 13) as u16
    };
    sign | half
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sixteen_bit_number_survives() {
        for bits in 0..=u16::MAX {
            let (half, brain) = (Short::F16.to_float(bits), Short::Bf16.to_float(bits));
            if half.is_finite() {
                assert_eq!(float_to_half(half), bits, "{half}");
            }
            if brain.is_finite() {
                assert_eq!(float_to_brain(brain), bits, "{brain}");
            }
        }
    }

    /// Between two neighbors, the middle goes to the even one and everything else to the nearer one.
    #[test]
    fn numbers_between_go_to_the_nearest() {
        let check = |narrow: fn(f32) -> u16, kind: Short, last: u16| {
            let widen = |bits: u16| kind.to_float(bits);
            for low in (0..last).step_by(7) {
                let (a, b) = (f64::from(widen(low)), f64::from(widen(low + 1)));
                let middle = ((a + b) / 2.0) as f32;
                if f64::from(middle) * 2.0 == a + b {
                    assert_eq!(narrow(middle), low + (low & 1), "{middle}");
                }
                assert_eq!(narrow((a + (b - a) * 0.49) as f32), low, "{low:x}");
                assert_eq!(narrow((a + (b - a) * 0.51) as f32), low + 1, "{low:x}");
                assert_eq!(narrow(-widen(low)), low | 0x8000);
            }
        };
        check(float_to_half, Short::F16, 0x7bff);
        // Below 0x0080 the middle is no 32-bit number that can be told apart.
        check(float_to_brain, Short::Bf16, 0x7f7f);
    }

    #[test]
    fn what_is_out_of_range_is_told_by_its_place() {
        assert_eq!(WeightType::F16.out_of_range(&[1.0, 65519.0, -65520.0]), Some(2));
        assert_eq!(WeightType::F16.to_bytes(&[1.0]), 0x3c00u16.to_le_bytes());
        assert_eq!(WeightType::Bf16.out_of_range(&[f32::MAX]), Some(0));
        assert_eq!(WeightType::Bf16.rounded(1.005), 1.0078125);
        assert_eq!("bf16".parse(), Ok(WeightType::Bf16));
        assert_eq!("half".parse::<WeightType>().unwrap_err(), "`half`, expected f32, f16 or bf16");
    }
}
