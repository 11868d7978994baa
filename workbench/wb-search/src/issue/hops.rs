//! Further hops of a question: the names that the best answers use become the next question.

use std::collections::{HashMap, HashSet};

use crate::{CodeIndex, FoundUnit, SearchQuestion};

/// Best answers whose text is read at each hop.
const READ: usize = 3;
/// Names of a hop's question at most: those that fewest units define, which say most.
const NAMES: usize = 12;
/// Units that define a name before it says nothing.
const MOST_DEFINERS: usize = 3;

impl CodeIndex {
    /// The next question: names in the text of the best answers that few other units define, and that were not asked yet.
    pub(super) fn next_hop(
        &self,
        best: &[FoundUnit],
        like: &SearchQuestion,
        asked: &mut HashSet<String>,
    ) -> Option<SearchQuestion> {
        let mut definers: HashMap<&str, usize> = HashMap::new();
        let names = (0..self.units().len()).flat_map(|unit| self.names(unit).own);
        names.for_each(|name| *definers.entry(name).or_default() += 1);
        let mut found: Vec<(usize, String)> = Vec::new();
        for unit in best.iter().take(READ) {
            let Some(text) = self.text_of(unit) else { continue };
            for name in text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|name| name.len() > 3) {
                let defined = definers.get(name).copied().unwrap_or(0);
                let is_new = !unit.names.iter().any(|own| own == name) && asked.insert(name.to_owned());
                if (1..=MOST_DEFINERS).contains(&defined) && is_new {
                    found.push((defined, name.to_owned()));
                }
            }
        }
        // A stable order: of those that are as rare, the first in the text.
        found.sort_by_key(|(defined, _)| *defined);
        found.truncate(NAMES);
        let names: Vec<String> = found.into_iter().map(|(_, name)| name).collect();
        (!names.is_empty()).then(|| like.asking(&names.join(" ")))
    }
}
