//! An encoder that embeds each text once, however often it is asked.

use std::{cell::RefCell, collections::HashMap};

use ndarray::Array2;
use wb_core::{
    Embeddings, Encoder, GroupMaxima, Progress, Side,
    fingerprint::{Fingerprint, text_key},
};

/// An encoder with what it has embedded so far, by text and side. Its vectors have length 1.
///
/// Costs `4 × dim` bytes and about 50 more for each different text.
pub struct Remembered<E> {
    encoder: E,
    memory: RefCell<Memory>,
}

#[derive(Default)]
struct Memory {
    places: HashMap<([u64; 2], Side), usize>,
    values: Vec<f32>,
}

impl<E: Encoder> Remembered<E> {
    /// Nothing is embedded yet.
    pub fn new(encoder: E) -> Self {
        Self { encoder, memory: RefCell::default() }
    }
}

impl<E: Encoder> Encoder for Remembered<E> {
    fn name(&self) -> String {
        self.encoder.name()
    }

    fn dim(&self) -> usize {
        self.encoder.dim()
    }

    fn fingerprint(&self) -> Fingerprint {
        let mut fingerprint = Fingerprint::builder();
        fingerprint.text("length 1").text(self.encoder.fingerprint().as_str());
        fingerprint.finish()
    }

    fn group_maxima(&self) -> Option<Box<dyn GroupMaxima>> {
        self.encoder.group_maxima()
    }

    fn encode(
        &self,
        texts: &[&str],
        side: Side,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Embeddings, Box<dyn std::error::Error + Send + Sync>> {
        let mut memory = self.memory.borrow_mut();
        let mut fresh: Vec<&str> = Vec::new();
        let mut keys = Vec::new();
        let mut places = Vec::with_capacity(texts.len());
        let known = memory.places.len();
        for text in texts {
            let key = (text_key(text), side);
            places.push(*memory.places.entry(key).or_insert_with(|| {
                fresh.push(text);
                keys.push(key);
                known + fresh.len() - 1
            }));
        }
        if !fresh.is_empty() {
            match self.encoder.encode_single_vector(&fresh, side, progress) {
                Ok(rows) => memory.values.extend(rows.normalized().view().iter()),
                Err(error) => {
                    // What could not be embedded is not known.
                    keys.iter().for_each(|key| {
                        memory.places.remove(key);
                    });
                    return Err(error);
                }
            }
        }
        let dim = self.dim();
        let mut all = Array2::zeros((texts.len(), dim));
        for (mut row, place) in all.rows_mut().into_iter().zip(places) {
            row.iter_mut().zip(&memory.values[place * dim..]).for_each(|(to, from)| *to = *from);
        }
        Ok(Embeddings::dense(all))
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use ndarray::array;
    use wb_core::progress::silent;

    use super::*;
    use crate::dense::tests::Made;

    #[test]
    fn each_text_of_a_side_is_embedded_once() {
        // The length of a text and a number for its side; fails on `no`.
        let embedded = Cell::new(0);
        let encoder = Remembered::new(Made::of_two_numbers("counting", |texts, side| {
            if texts.contains(&"no") {
                return Err("no".into());
            }
            embedded.set(embedded.get() + texts.len());
            let mut rows = Array2::zeros((texts.len(), 2));
            for (mut row, text) in rows.rows_mut().into_iter().zip(texts) {
                row.assign(&array![text.len() as f32, if side == Side::Query { 4.0 } else { 0.0 }]);
            }
            Ok(Embeddings::dense(rows))
        }));
        let encode = |texts: &[&str], side| encoder.encode(texts, side, &mut silent).unwrap().into_inner();
        assert_eq!(encode(&["abc", "a", "abc"], Side::Document), array![[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]]);
        assert_eq!(encode(&["abc"], Side::Query), array![[0.6, 0.8]]);
        assert_eq!(embedded.get(), 3);
        assert!(encoder.encode(&["new", "no"], Side::Query, &mut silent).is_err());
        assert_eq!(encode(&["new", "abc"], Side::Query), array![[0.6, 0.8], [0.6, 0.8]]);
        assert_eq!(embedded.get(), 4);
    }
}
