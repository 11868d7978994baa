//! Exact match: whether a prediction has the parts of the gold query, part by part, as sets.
//!
//! The rules are those of `evaluation.py` of the published evaluator (Yu et al., "Spider", EMNLP 2018; Zhong et al.,
//! "Semantic evaluation for text-to-SQL with distilled test suites", EMNLP 2020).

mod components;
mod hardness;
mod normalize;
mod raises;
mod similarity;
mod totals;

#[cfg(test)]
mod tests;

pub use components::PartialScore;
pub use hardness::hardness;
pub use similarity::{Clause, Parts, QueryPart, Shape, component_f1, parts};
pub use totals::{LevelTotals, Totals};
pub use wb_core::records::sql::{QueryComponent, QueryHardness};

use crate::{
    Compat,
    spider::{DatabaseSchema, SqlQuery},
};
use normalize::normalized;

/// The verdict on one prediction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExactMatch {
    /// True where all components and the tables of FROM agree.
    pub em: bool,
    /// The ten components, in the order of [`QueryComponent::ALL`].
    pub partial: [PartialScore; 10],
    /// True where the published evaluator would stop with an exception here and judge nothing.
    ///
    /// It does so for lists of conditions with a word where a condition should be, for a nested query behind a missing
    /// connector, and for two different nested queries side by side in FROM. The verdict is ours then.
    pub raises: bool,
}

/// Compares a prediction with the gold query.
///
/// A prediction that cannot be read is the empty query, [`SqlQuery::default`]: it scores where the gold query has nothing.
pub fn compare(gold: &SqlQuery, predicted: &SqlQuery, schema: &DatabaseSchema, compat: Compat) -> ExactMatch {
    let raises = compat == Compat::Official
        && (raises::normalizing(gold) || raises::normalizing(predicted) || raises::hardness(gold));
    let (gold, predicted) = (normalized(gold, schema, compat), normalized(predicted, schema, compat));
    let (em, partial, comparing) = compare_normalized(&gold, &predicted, schema, compat);
    ExactMatch { em, partial, raises: raises || compat == Compat::Official && comparing }
}

/// The verdict, the components, and whether the published evaluator stops.
fn compare_normalized(
    gold: &SqlQuery,
    predicted: &SqlQuery,
    schema: &DatabaseSchema,
    compat: Compat,
) -> (bool, [PartialScore; 10], bool) {
    let mut raises = raises::connectors(gold) || raises::connectors(predicted);
    let arms = |operator| match (gold.arm(operator), predicted.arm(operator)) {
        (Some(gold), Some(predicted)) => {
            let (em, _, stops) = compare_normalized(gold, predicted, schema, compat);
            raises |= stops;
            em
        }
        _ => false,
    };
    let mut partial = components::score(gold, predicted, schema, compat, arms);
    let mut em = partial.iter().all(|part| part.matches);
    if em && !gold.tables.is_empty() {
        raises |= raises::tables(gold) || raises::tables(predicted);
        em = components::common(&gold.tables, &predicted.tables) == gold.tables.len()
            && gold.tables.len() == predicted.tables.len();
    }
    if compat == Compat::Strict {
        em &= gold.distinct == predicted.distinct && components::alternatives_agree(&gold.on, &predicted.on);
        // The set of words between conditions says nothing that the grouping by them does not.
        let words = &mut partial[QueryComponent::AndOr as usize];
        words.matches &= components::alternatives_agree(&gold.filter, &predicted.filter);
        em &= words.matches;
    }
    (em, partial, raises)
}
