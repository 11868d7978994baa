//! Gradients at what comes out of the embedding tables, and from there into the tables.

use rayon::prelude::*;

use super::groups::Group;
use crate::{
    kernels::vector,
    parameters::{Gradients, Parameters},
};

/// A table of vectors, and which of its rows each token of a batch takes.
pub struct TableRows {
    /// The table's place among the parameters.
    pub place: usize,
    /// Its row for each token, in the batch's order.
    pub rows: Vec<usize>,
    /// Factor of its vectors.
    pub factor: f32,
}

/// The gradient at the sum of the embeddings, `[tokens of the batch, width]`; empty where no table trains.
pub struct Surface {
    rows: Vec<f32>,
    width: usize,
}

impl Surface {
    /// Room for a batch of so many tokens, if it is wanted.
    pub fn new(width: usize, n_tokens: usize, wanted: bool) -> Self {
        Self { rows: if wanted { vec![0.0; n_tokens * width] } else { Vec::new() }, width }
    }

    /// Each group's rows, in the lanes' order.
    pub fn split<T>(&mut self, lanes: &[Vec<(Group, T)>]) -> Vec<Vec<&mut [f32]>> {
        let mut of_group: Vec<(usize, usize, usize)> = lanes
            .iter()
            .enumerate()
            .flat_map(|(lane, groups)| {
                groups.iter().map(move |(group, _)| (group.tokens.start, group.tokens.len(), lane))
            })
            .collect();
        of_group.sort_unstable();
        let wanted = !self.rows.is_empty();
        let mut split: Vec<Vec<&mut [f32]>> = lanes.iter().map(|_| Vec::new()).collect();
        let mut rest = self.rows.as_mut_slice();
        for (_, n, lane) in of_group {
            let (head, tail) = rest.split_at_mut(if wanted { n * self.width } else { 0 });
            split[lane].push(head);
            rest = tail;
        }
        split
    }

    /// Adds every token's row to its rows of the tables that train: by rows of a table, so that the order of additions is fixed.
    pub fn scatter(&self, parameters: &Parameters, tables: Vec<TableRows>, gradients: &mut Gradients) {
        if self.rows.is_empty() {
            return;
        }
        for TableRows { place, rows, factor } in tables.into_iter().filter(|table| parameters.at(table.place).trainable)
        {
            // One task a row of the table: all tokens of that row, in order.
            let mut tokens_of: Vec<Vec<u32>> = vec![Vec::new(); parameters.at(place).shape[0]];
            for (token, row) in rows.into_iter().enumerate() {
                tokens_of[row].push(token as u32);
            }
            gradients.at_mut(place).par_chunks_mut(self.width).zip(tokens_of).for_each(|(gradient, tokens)| {
                for token in tokens {
                    vector::add_scaled(gradient, factor, &self.rows[token as usize * self.width..][..self.width]);
                }
            });
        }
    }
}
