//! Numbers of 16 bits, as weights of large models are published: both kinds become 32-bit floats exactly.

use super::vector::vectorized;

/// A kind of 16-bit floats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Short {
    /// IEEE 754 binary16: 11 bits of precision, and nothing beyond 65,504.
    F16,
    /// The upper half of a 32-bit float: 8 bits of precision, and the whole range.
    Bf16,
}

impl Short {
    /// One number; infinite and undefined ones stay that.
    #[inline(always)]
    pub fn to_float(self, bits: u16) -> f32 {
        match self {
            Self::F16 if bits & 0x7c00 < 0x7c00 => half_to_float(bits),
            Self::F16 if bits & 0x03ff > 0 => f32::NAN,
            Self::F16 => f32::INFINITY.copysign(if bits >> 15 == 1 { -1.0 } else { 1.0 }),
            Self::Bf16 => brain_to_float(bits),
        }
    }

    /// Finite numbers as floats.
    pub fn floats(self, bits: &[u16]) -> Vec<f32> {
        let mut floats = vec![0.0; bits.len()];
        self.widen_all(bits, &mut floats);
        floats
    }

    /// Writes finite numbers to as many floats, with the best instructions that this processor has.
    pub fn widen_all(self, bits: &[u16], to: &mut [f32]) {
        vectorized!(self.widen(bits, to));
    }

    /// Writes finite numbers to as many floats.
    #[inline(always)]
    pub fn widen(self, bits: &[u16], to: &mut [f32]) {
        match self {
            Self::F16 => to.iter_mut().zip(bits).for_each(|(to, bits)| *to = half_to_float(*bits)),
            Self::Bf16 => to.iter_mut().zip(bits).for_each(|(to, bits)| *to = brain_to_float(*bits)),
        }
    }
}

/// A finite binary16. The exponent and the fraction are put in a float's places, where they say 2⁻¹¹² of the number,
/// be it a subnormal one or not.
#[inline(always)]
fn half_to_float(bits: u16) -> f32 {
    let size = f32::from_bits(u32::from(bits & 0x7fff) << 13) * f32::from_bits((127 + 112) << 23);
    f32::from_bits(size.to_bits() | u32::from(bits & 0x8000) << 16)
}

/// A brain float as a 32-bit float, exactly.
#[inline(always)]
pub(super) fn brain_to_float(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// The nearest brain float; the even one of two equally near.
#[inline(always)]
pub fn float_to_brain(value: f32) -> u16 {
    let bits = value.to_bits();
    if value.is_nan() {
        return (bits >> 16) as u16 | 0x0040;
    }
    let even = (bits >> 16) & 1;
    ((bits + 0x7fff + even) >> 16) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against what IEEE 754 says of sign, exponent and fraction; and the vectorized loop.
    #[test]
    fn every_number_by_its_definition() {
        let all: Vec<u16> = (0..=u16::MAX).collect();
        for kind in [Short::F16, Short::Bf16] {
            let (bits_of_fraction, bias) = if kind == Short::F16 { (10, 15) } else { (7, 127) };
            let mut widened = vec![0.0; all.len()];
            kind.widen_all(&all, &mut widened);
            for (bits, widened) in all.iter().copied().zip(widened) {
                let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
                let exponent = i32::from((bits & 0x7fff) >> bits_of_fraction);
                let fraction = f64::from(bits & ((1 << bits_of_fraction) - 1)) / f64::from(1 << bits_of_fraction);
                let found = kind.to_float(bits);
                if exponent == 2 * bias + 1 {
                    assert_eq!((found.is_nan(), found.is_infinite()), (fraction > 0.0, fraction == 0.0), "{bits:x}");
                    continue;
                }
                let power = |exponent: i32| 2f64.powi(exponent - bias);
                let size = if exponent == 0 { fraction * power(1) } else { (1.0 + fraction) * power(exponent) };
                let expected = (sign * size) as f32;
                assert_eq!((found.to_bits(), widened.to_bits()), (expected.to_bits(), expected.to_bits()), "{bits:x}");
            }
        }
    }
}
