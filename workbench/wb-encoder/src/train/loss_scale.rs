//! Dynamic scaling of the loss, for gradients that 16-bit floats would round to nothing.

use serde::{Deserialize, Serialize};

use crate::precision::Precision;

/// The first factor of a training.
const FIRST: f64 = 65536.0;
/// Steps in a row after which the factor doubles.
const STEADY: u64 = 2000;

/// Factor that the loss's gradient is multiplied by before it goes back through the model, and gradients are divided by
/// after: halved where they overflow, and the step is left out; doubled after 2,000 steps that did not. As
/// `torch.amp.GradScaler` with its defaults.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LossScale {
    /// The factor, a power of two, so that scaling rounds nothing.
    pub factor: f64,
    /// Steps since it changed last.
    pub steady: u64,
    /// Steps that were left out.
    pub skipped: u64,
}

impl LossScale {
    /// The scaling that a precision needs; none where gradients fit.
    pub fn of(precision: Precision) -> Option<Self> {
        (precision == Precision::F16).then_some(Self { factor: FIRST, steady: 0, skipped: 0 })
    }

    /// Goes on after a step whose gradients were all finite.
    pub fn fitted(&mut self) {
        self.steady += 1;
        if self.steady == STEADY {
            (self.factor, self.steady) = (2.0 * self.factor, 0);
        }
    }

    /// Goes on after a step whose gradients were not. False where there is nothing left to halve: it is not the scale.
    pub fn overflowed(&mut self) -> bool {
        if self.factor <= 1.0 {
            return false;
        }
        *self = Self { factor: self.factor / 2.0, steady: 0, skipped: self.skipped + 1 };
        true
    }

    /// A sentence about steps that were left out of so many, where there are some.
    pub fn told(&self, steps: u64) -> Option<String> {
        let Self { factor, skipped, .. } = self;
        (*skipped > 0).then(|| {
            format!(
                "train.precision: {skipped} of {steps} steps changed nothing, as their gradients were too great for 16 \
                 bits; the loss is scaled by {factor} now"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_at_once_and_doubles_after_two_thousand_steps() {
        assert_eq!(LossScale::of(Precision::Fp32), None);
        assert_eq!(LossScale::of(Precision::Bf16), None);
        let mut scale = LossScale::of(Precision::F16).unwrap();
        assert!(scale.overflowed());
        assert_eq!(scale, LossScale { factor: 32768.0, steady: 0, skipped: 1 });
        assert!(scale.told(9).unwrap().contains("1 of 9 steps changed nothing"));
        (0..1999).for_each(|_| scale.fitted());
        assert_eq!(scale.factor, 32768.0);
        assert!(scale.overflowed());
        (0..2000).for_each(|_| scale.fitted());
        assert_eq!(scale, LossScale { factor: 32768.0, steady: 0, skipped: 2 });
    }

    #[test]
    fn a_factor_of_one_is_the_last() {
        let mut scale = LossScale::of(Precision::F16).unwrap();
        assert_eq!((0..20).take_while(|_| scale.overflowed()).count(), 16);
        assert_eq!(scale, LossScale { factor: 1.0, steady: 0, skipped: 16 });
    }
}
