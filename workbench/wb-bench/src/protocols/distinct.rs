//! A pool of documents in which each text stands once.

use std::collections::HashMap;

use super::ranked::{PoolQuery, QueryPool};

/// A pool without duplicates: where each distinct text stands first, and which distinct text a position has.
pub(super) struct Distinct {
    pub firsts: Vec<usize>,
    pub of_position: Vec<usize>,
    pub texts: Vec<u32>,
    pub ids: Vec<String>,
    /// Positions by id, in the whole pool and among distinct texts; empty where no id is ever left out.
    pub position: HashMap<String, usize>,
    pub distinct_position: HashMap<String, usize>,
}

impl Distinct {
    pub fn new(part: &QueryPool, with_positions: bool) -> Self {
        let mut seen: HashMap<u32, usize> = HashMap::new();
        let (mut firsts, mut texts) = (Vec::new(), Vec::new());
        let of_position = part
            .texts
            .iter()
            .enumerate()
            .map(|(position, text)| {
                *seen.entry(*text).or_insert_with(|| {
                    firsts.push(position);
                    texts.push(*text);
                    texts.len() - 1
                })
            })
            .collect();
        let ids: Vec<String> = firsts.iter().map(|position| part.ids[*position].clone()).collect();
        let positions = |ids: &[String]| match with_positions {
            true => ids.iter().enumerate().map(|(position, id)| (id.clone(), position)).collect(),
            false => HashMap::new(),
        };
        let (position, distinct_position) = (positions(&part.ids), positions(&ids));
        Self { firsts, of_position, texts, ids, position, distinct_position }
    }

    pub fn has_duplicates(&self) -> bool {
        self.firsts.len() < self.of_position.len()
    }

    /// The text that stands in the pool only as the document with the query's own id, where such a one is left out.
    pub fn own_text(&self, query: &PoolQuery) -> Option<usize> {
        let own = *self.distinct_position.get(&query.id)?;
        (self.of_position.iter().filter(|distinct| **distinct == own).count() == 1).then_some(own)
    }

    /// Scores by position from scores by distinct text.
    pub fn spread(&self, scores: &[f32]) -> Vec<f32> {
        self.of_position.iter().map(|distinct| scores[*distinct]).collect()
    }

    pub fn query(&self, query: &PoolQuery) -> PoolQuery {
        let mut grades: HashMap<usize, f64> = HashMap::new();
        for (position, grade) in &query.relevant {
            let kept = grades.entry(self.of_position[*position]).or_insert(0.0);
            *kept = kept.max(*grade);
        }
        let mut relevant: Vec<(usize, f64)> = grades.into_iter().collect();
        relevant.sort_by_key(|(position, _)| *position);
        PoolQuery { relevant, ..query.clone() }
    }
}
