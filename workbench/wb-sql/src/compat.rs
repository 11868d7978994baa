//! Whose verdict is wanted: the published evaluator's, faults included, or one with the faults mended.

use serde::{Deserialize, Serialize};

/// How closely a judge follows the published evaluator.
///
/// Exact match under `Strict` differs from `Official` in this, and in nothing else:
///
/// | what | `Official` | `Strict` |
/// |---|---|---|
/// | the word `value` in a prediction | every occurrence becomes `1`, in names and strings too | left alone |
/// | tokens | NLTK's, made for English: `a=1`, `a>=1`, `<>`, `'it''s'` and comments cannot be read | a lexer for SQL |
/// | grammar | `IS NULL`, lists behind `IN`, `LEFT JOIN`, comma joins, aliases without `AS`, aliases of result columns cannot be read | read |
/// | `DISTINCT` | ignored outside, compared inside of nested queries | compared everywhere |
/// | literal values | ignored outside, compared inside of a nested FROM | ignored everywhere |
/// | columns on the right of a condition | as values; an OR behind them is lost | compared |
/// | one column for another | where a foreign key joins their classes, two columns of one table too, and only by the outer FROM | where the JOIN conditions of the same query say that they are equal |
/// | GROUP BY and HAVING | as lists; one component compares columns without their tables | as sets, with tables |
/// | AND and OR | the set of words, so `a AND b OR c` equals `a OR b AND c` | by precedence: a set of sets |
/// | JOIN conditions | ignored | compared, equalities as classes of equal columns |
/// | what stops the evaluator | no verdict | a verdict |
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Compat {
    /// As the published evaluator judges, faults included: the figures that papers print.
    #[default]
    Official,
    /// With its faults mended.
    Strict,
}
