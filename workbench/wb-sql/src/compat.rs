//! Choice of the judge: the published evaluator with all its quirks, or one that judges what was meant.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Degree to which the published evaluators are followed.
///
/// `official` gives the verdicts of test-suite-sql-eval, so that figures can be compared with published ones.
/// `strict` mends in execution accuracy:
///
/// - *The quick reject of mixed numbers*: the evaluator sorts each row by the text of its values before it compares
///   them, and `1` and `1.0` sort differently beside other values, so that `(1, 1.5)` differs from `(1.0, 1.5)`
///   although `(1)` equals `(1.0)`. Strict compares numbers by their value everywhere.
/// - *Value replacement*: every `value` inside of a prediction becomes `1`, also within names and texts. Strict leaves
///   predictions as they are.
/// - *Order by*: rows are compared in order where the gold text holds `order by` anywhere, in a nested query, a text
///   or a comment, but not with two spaces between. Strict asks for `ORDER BY` of the outermost query.
/// - *DISTINCT* is taken out of both sides unless told otherwise. Strict keeps it.
/// - *Several statements*: of a prediction with several, the first is run. Strict refuses them.
/// - *No statement*: a prediction that is only a comment or a semicolon has no rows, and is right where the gold query
///   has none. Strict says that it cannot be run. An empty prediction is right under neither: an empty line of its file
///   is the end of a session for the evaluator, which then stops (its comparison alone, given an empty text, raises, or
///   with `DISTINCT` kept finds it equal to no rows).
/// - *Repairs of the text* (`> =`, `YEAR(CURDATE())`) also reach into quoted texts, and the second takes the space
///   behind it along. Strict repairs outside of quotes and keeps the space.
/// - *The time of day*: `'now'` and `CURRENT_DATE` are those of the clock. Strict pins them, so that a verdict does not
///   change with the day ([`NOW`](crate::execute::NOW)).
/// - *The time-out* cannot fire. Here it does under both.
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Compat {
    /// The published evaluator's verdicts, quirks included. Three things are as under strict, because the evaluator's
    /// way is not safe: statements that are no queries (`PRAGMA`, `DELETE`, `CREATE`, and functions like `random`) are
    /// refused, where it runs them and changes its databases; what takes too much time, memory or rows is stopped; and
    /// a gold query that fails is reported, where it ends the evaluation. Another version of SQLite can also judge
    /// differently: the published verdicts on Spider were made with 3.40.1, which still lets a `LEFT JOIN`'s `ON` name
    /// tables to its right.
    #[default]
    Official,
    /// The verdicts that the evaluator meant.
    Strict,
}
