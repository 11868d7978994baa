//! Numbers of 8 bits with a scale for each row, as weights are kept where memory counts more than the last digits.

/// Numbers row by row, each `scale of its row · an integer from −127 to 127`.
///
/// Symmetric quantization per output channel (Jacob et al. 2018, arXiv 1712.05877, without their zero point; what torch
/// calls `per_channel_symmetric`): the scale is the row's largest size / 127, and numbers go to the nearest integer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Bytes {
    /// Integers, row by row.
    pub numbers: Vec<i8>,
    /// A scale for each row.
    pub scales: Vec<f32>,
}

impl Bytes {
    /// Rounds finite floats `[rows, width]`.
    pub fn of(floats: &[f32], width: usize) -> Self {
        let mut bytes = Self { numbers: Vec::with_capacity(floats.len()), scales: Vec::new() };
        for row in floats.chunks_exact(width.max(1)) {
            let largest = row.iter().fold(0.0f32, |largest, x| largest.max(x.abs()));
            let scale = largest / 127.0;
            // A row of zeros, or of numbers too small for a scale, is one of zeros.
            let inverse = if scale.is_normal() { 1.0 / scale } else { 0.0 };
            bytes.numbers.extend(row.iter().map(|x| (x * inverse).round_ties_even().clamp(-127.0, 127.0) as i8));
            bytes.scales.push(scale);
        }
        bytes
    }

    /// Numbers of a row.
    pub fn width(&self) -> usize {
        self.numbers.len() / self.scales.len().max(1)
    }

    /// The numbers as floats.
    pub fn floats(&self) -> Vec<f32> {
        let rows = self.numbers.chunks_exact(self.width().max(1)).zip(&self.scales);
        rows.flat_map(|(row, scale)| row.iter().map(move |byte| f32::from(*byte) * scale)).collect()
    }
}

/// Writes rows of integers as floats, those of a column times its scale.
#[inline(always)]
pub fn widen_columns(numbers: &[i8], scales: &[f32], to: &mut [f32]) {
    for (to, row) in to.chunks_exact_mut(scales.len()).zip(numbers.chunks_exact(scales.len())) {
        to.iter_mut().zip(row).zip(scales).for_each(|((to, byte), scale)| *to = f32::from(*byte) * scale);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computed by hand: 2.54 / 127 = 0.02, −1 is −50 of that, 0.015 is 0.75 and goes to 1; the second row's scale is its own.
    #[test]
    fn rows_are_rounded_by_their_largest_number() {
        let bytes = Bytes::of(&[2.54, -1.0, 0.015, 0.0, 0.0, 0.0, -127.0, 0.5, 1.5], 3);
        assert_eq!(bytes.numbers, [127, -50, 1, 0, 0, 0, -127, 0, 2]);
        assert!((bytes.scales[0] - 0.02).abs() < 1e-9 && bytes.scales[1..] == [0.0, 1.0]);
        assert_eq!((bytes.width(), bytes.floats().len()), (3, 9));
    }

    #[test]
    fn no_number_is_further_off_than_half_a_step_and_rounding_again_changes_nothing() {
        let floats: Vec<f32> = (0..33 * 70).map(|at| (at as f32 * 0.7).sin() * (1.0 + at as f32)).collect();
        let bytes = Bytes::of(&floats, 70);
        let widened = bytes.floats();
        for (at, (a, b)) in floats.iter().zip(&widened).enumerate() {
            assert!((a - b).abs() <= bytes.scales[at / 70] * 0.500_01, "{at}: {a} {b}");
        }
        assert_eq!(Bytes::of(&widened, 70).numbers, bytes.numbers);
    }
}
