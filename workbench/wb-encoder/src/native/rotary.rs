//! Queries and keys turned by their places.

use super::{linear::GroupPass, states::rows_of};
use crate::{
    kernels::vector::vectorized,
    models::stack::{HeadSizes, Rotary},
};

/// Cosines and sines of the places of a text.
#[derive(Debug, Clone, Default)]
pub struct RotaryTable {
    rotary: Option<Rotary>,
    places: usize,
    /// `[places, size / 2]` each.
    cosines: Vec<f32>,
    sines: Vec<f32>,
}

impl RotaryTable {
    /// Makes it reach over texts of `longest` tokens.
    pub fn reach(&mut self, rotary: Rotary, longest: usize) {
        if self.rotary != Some(rotary) || self.places < longest {
            // Seldom made anew: texts come longest first, or from few lengths.
            let places = longest.next_power_of_two();
            let (cosines, sines) = rotary.table(places);
            *self = Self { rotary: Some(rotary), places, cosines, sines };
        }
    }

    /// Turns the queries and keys of a group, in rows of all queries, keys and values of a token; `back` turns them back,
    /// which is what is done to gradients.
    pub fn turn(&self, pass: GroupPass<'_>, heads: HeadSizes, projections: &mut [f32], back: bool) {
        let Some(Rotary { size, .. }) = self.rotary else { return };
        let (queries, keys) = heads.widths();
        let (width, half) = (queries + 2 * keys, size / 2);
        for text in pass.group.texts.clone() {
            let (first, n) = rows_of(pass.batch, pass.group, text);
            let rows = projections[first * width..].chunks_exact_mut(width).take(n);
            for (place, row) in rows.enumerate() {
                let cosines = &self.cosines[place * half..][..half];
                let sines = &self.sines[place * half..][..half];
                let sign = if back { -1.0 } else { 1.0 };
                vectorized!({
                    for head in row[..queries + keys].chunks_exact_mut(heads.size) {
                        let (low, high) = head[..size].split_at_mut(half);
                        for (((x, y), c), s) in low.iter_mut().zip(high).zip(cosines).zip(sines) {
                            let s = sign * s;
                            (*x, *y) = (*x * c - *y * s, *y * c + *x * s);
                        }
                    }
                });
            }
        }
    }
}
