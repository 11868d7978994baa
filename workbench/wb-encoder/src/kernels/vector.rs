//! Vectorized arithmetic: loops over lanes that the compiler turns into the processor's widest instructions.

use wb_core::simd;

use super::instructions::ARCH;

/// Lanes of an accumulator; sums and maxima are kept per lane, so their order does not depend on the processor.
pub const LANES: usize = 16;

/// Runs a loop compiled for the best instructions that this processor has.
/// What it calls must be `#[inline(always)]`.
macro_rules! vectorized {
    ($work:expr) => {
        $crate::kernels::vector::dispatched(
            #[inline(always)]
            || $work,
        )
    };
}
pub(crate) use vectorized;

/// Calls what [`vectorized!`] makes of a loop.
#[inline]
pub(crate) fn dispatched<R>(work: impl FnMut() -> R) -> R {
    simd::dispatched(*ARCH, work)
}

/// e^x, within 2 units in the last place for x in -87..88, and clamped outside.
///
/// 2^n times a polynomial on |r| ≤ ln 2 / 2 (Taylor, degree 7).
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    // Adding 1.5 · 2^23 rounds to a whole number, which then stands in the low bits.
    const ROUND: f32 = 12_582_912.0;
    const LN2_HIGH: f32 = 0.693_359_4;
    const LN2_LOW: f32 = -2.121_944_4e-4;
    let x = x.clamp(-87.0, 88.0);
    let rounded = x.mul_add(std::f32::consts::LOG2_E, ROUND);
    let n = rounded - ROUND;
    let r = n.mul_add(-LN2_LOW, n.mul_add(-LN2_HIGH, x));
    let p = (1.0f32 / 5040.0)
        .mul_add(r, 1.0 / 720.0)
        .mul_add(r, 1.0 / 120.0)
        .mul_add(r, 1.0 / 24.0)
        .mul_add(r, 1.0 / 6.0)
        .mul_add(r, 0.5)
        .mul_add(r, 1.0)
        .mul_add(r, 1.0);
    p * f32::from_bits(rounded.to_bits().wrapping_add(127) << 23)
}

/// The sum.
#[inline(always)]
pub fn sum(x: &[f32]) -> f32 {
    let mut lanes = [0.0f32; LANES];
    let chunks = x.chunks_exact(LANES);
    let rest = chunks.remainder();
    for chunk in chunks {
        for (lane, x) in lanes.iter_mut().zip(chunk) {
            *lane += x;
        }
    }
    lanes.iter().sum::<f32>() + rest.iter().sum::<f32>()
}

/// The sum of products.
#[inline(always)]
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut lanes = [0.0f32; LANES];
    let (left, right) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest: f32 = left.remainder().iter().zip(right.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in left.zip(right) {
        for ((lane, a), b) in lanes.iter_mut().zip(a).zip(b) {
            *lane = a.mul_add(*b, *lane);
        }
    }
    lanes.iter().sum::<f32>() + rest
}

/// The greatest number, or minus infinity for none.
#[inline(always)]
pub fn max(x: &[f32]) -> f32 {
    let mut lanes = [f32::NEG_INFINITY; LANES];
    let chunks = x.chunks_exact(LANES);
    let rest = chunks.remainder();
    for chunk in chunks {
        for (lane, x) in lanes.iter_mut().zip(chunk) {
            *lane = if *x > *lane { *x } else { *lane };
        }
    }
    lanes.iter().chain(rest).fold(f32::NEG_INFINITY, |m, x| if *x > m { *x } else { m })
}

/// `y += factor · x`.
#[inline(always)]
pub fn add_scaled(y: &mut [f32], factor: f32, x: &[f32]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y = x.mul_add(factor, *y);
    }
}

/// Adds the columns of `[rows, width]` to `sums`, `[width]`.
pub fn add_column_sums(sums: &mut [f32], matrix: &[f32]) {
    vectorized!({
        for row in matrix.chunks_exact(sums.len()) {
            for (sum, x) in sums.iter_mut().zip(row) {
                *sum += x;
            }
        }
    });
}

/// A number that differs when one of `x` does (two changes may cancel out, one in 2^32 times).
pub fn checksum(x: &[f32]) -> u64 {
    vectorized!({
        let mut lanes = [1u32; 4 * LANES];
        let chunks = x.chunks_exact(4 * LANES);
        let rest = chunks.remainder();
        for chunk in chunks {
            for (lane, x) in lanes.iter_mut().zip(chunk) {
                *lane = lane.wrapping_mul(31).wrapping_add(x.to_bits());
            }
        }
        let all = lanes.iter().copied().chain(rest.iter().map(|x| x.to_bits()));
        all.fold(x.len() as u64, |sum, lane| sum.wrapping_mul(0x0100_0000_01b3).wrapping_add(u64::from(lane)))
    })
}

/// Puts `bias` into every row of `[rows, width]`: the start of a product that is then added.
pub fn fill_rows(matrix: &mut [f32], bias: &[f32]) {
    for row in matrix.chunks_exact_mut(bias.len()) {
        row.copy_from_slice(bias);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_is_exact_to_single_precision() {
        let mut worst = 0.0f64;
        for i in -870_000..880_000 {
            let x = i as f32 / 10_000.0;
            let expected = f64::from(x).exp();
            worst = worst.max((f64::from(exp(x)) - expected).abs() / expected);
        }
        assert!(worst < 2.5e-7, "{worst}");
        assert!(exp(-1000.0) >= 0.0 && exp(-1000.0) < 1e-37);
    }

    #[test]
    fn a_checksum_sees_every_number() {
        let x: Vec<f32> = (0..150).map(|i| i as f32).collect();
        for at in 0..x.len() {
            let mut other = x.clone();
            other[at] = -1.0;
            assert_ne!(checksum(&other), checksum(&x), "{at}");
        }
        assert_ne!(checksum(&x[..149]), checksum(&x));
    }

    #[test]
    fn reductions_take_every_number() {
        let x: Vec<f32> = (0..101).map(|i| i as f32).collect();
        assert_eq!(sum(&x), 5050.0);
        assert_eq!(max(&x), 100.0);
        assert_eq!(dot(&x, &x), 338_350.0);
        let mut sums = vec![1.0, 2.0];
        add_column_sums(&mut sums, &[1.0, 10.0, 2.0, 20.0]);
        assert_eq!(sums, [4.0, 32.0]);
    }
}
