//! Sums of a question's words over units and over paths.

use rustc_hash::FxHashMap;

use super::SignalWeights;
use crate::{CodeIndex, Result, index::Counts};

/// Sums over the words of a question.
pub(super) struct WordScores<'a> {
    index: &'a CodeIndex,
    weights: &'a SignalWeights,
    /// BM25 of each unit, over text, names and heads.
    pub units: Vec<f32>,
    /// Rarities of the words that stand in each file's path, and of those in its own name.
    pub paths: Vec<[f32; 2]>,
}

impl<'a> WordScores<'a> {
    /// Sums before the first word.
    pub fn new(index: &'a CodeIndex, weights: &'a SignalWeights) -> Self {
        let (units, paths) = (vec![0.0; index.units().len()], vec![[0.0; 2]; index.files().len()]);
        Self { index, weights, units, paths }
    }

    /// Adds a word that stands in the question so often, and for a share of it what says the same in other forms. Its rarity;
    /// none where none of that stands anywhere.
    pub fn add(&mut self, word: &str, count: f32) -> Result<Option<f32>> {
        let mut in_paths = FxHashMap::default();
        let mut rarity = self.add_form(word, count, f32::INFINITY, noted(&mut in_paths, 1.0))?;
        let share = self.weights.variants;
        if share > 0.0 {
            let most = rarity.unwrap_or(f32::INFINITY);
            let mut of_variants: Option<f32> = None;
            for variant in self.index.variants(word)? {
                let found = self.add_form(variant, share * count, most, noted(&mut in_paths, share))?;
                of_variants = [found, of_variants].into_iter().flatten().reduce(f32::min);
            }
            rarity = rarity.or(of_variants);
        }
        let Some(of_word) = rarity else { return Ok(None) };
        for (file, shares) in in_paths {
            let sums = &mut self.paths[file as usize];
            sums.iter_mut().zip(shares).for_each(|(sum, share)| *sum += share * of_word);
        }
        Ok(rarity)
    }

    /// Adds names that two words would make, for a share.
    pub fn add_compounds(&mut self, [first, second]: &[String; 2]) -> Result<()> {
        let share = self.weights.compounds;
        if share > 0.0 {
            for name in self.index.compounds(first, second)? {
                self.add_form(name, share, f32::INFINITY, |_, _| {})?;
            }
        }
        Ok(())
    }

    /// Adds one form of a word to the units, `most` being the most that its rarity counts. Its rarity, where it stands
    /// anywhere.
    fn add_form(&mut self, word: &str, count: f32, most: f32, on_file: impl FnMut(u32, bool)) -> Result<Option<f32>> {
        let Self { index, weights, units: scores, .. } = self;
        let lengths = index.lengths();
        let on_unit = |rarity: f32, unit: u32, counts: Counts| {
            let length = 1.0 - weights.b + weights.b * lengths[unit as usize];
            let often = f32::from(counts.text) / length
                + weights.names * f32::from(counts.names)
                + weights.head * f32::from(counts.head);
            scores[unit as usize] += count * rarity.min(most) * often * (weights.k1 + 1.0) / (often + weights.k1);
        };
        index.each_posting(word, on_unit, on_file)
    }
}

/// Notes the greatest share of a word that stands in each file's path, and in its own name.
fn noted(in_paths: &mut FxHashMap<u32, [f32; 2]>, share: f32) -> impl FnMut(u32, bool) {
    move |file, in_name| {
        let [path, name] = in_paths.entry(file).or_default();
        *path = path.max(share);
        *name = if in_name { name.max(share) } else { *name };
    }
}
