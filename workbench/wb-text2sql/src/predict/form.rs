//! Agreement of a query's form with what the question's words ask for.

use wb_sql::spider::{Aggregate, ComparisonOperator, Connector, SetOperator, SqlQuery, Term};

use crate::link::{Links, Purpose, cues};

/// Traits of a query: those that words tell of, or those that it has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Form {
    count: bool,
    average: bool,
    sum: bool,
    extreme: bool,
    order: bool,
    without: bool,
    both: bool,
    group: bool,
    having: bool,
    like: bool,
    either: bool,
    nested: bool,
    between: bool,
}

/// 0 where the words and the query agree, less for each disagreement.
pub(crate) fn agreement(links: &Links, query: &SqlQuery) -> f64 {
    let (asked, made) = (asked(links), made(query));
    let pairs = [
        (asked.count, made.count, 0.6, 0.5),
        (asked.average, made.average, 0.6, 0.7),
        (asked.sum, made.sum, 0.4, 0.7),
        (asked.extreme, made.extreme, 0.5, 0.6),
        (asked.order, made.order, 0.6, 0.5),
        (asked.without, made.without, 0.6, 0.7),
        (asked.both, made.both, 0.5, 0.5),
        (asked.group, made.group, 0.4, 0.1),
        (asked.having, made.having, 0.5, 0.5),
        (asked.like, made.like, 0.4, 0.3),
        (asked.either, made.either, 0.2, 0.3),
        (asked.nested, made.nested, 0.4, 0.7),
        (asked.between, made.between, 0.5, 0.5),
    ];
    let cost = |(asked, made, missing, needless)| match (asked, made) {
        (true, false) => missing,
        (false, true) => needless,
        _ => 0.0,
    };
    -pairs.into_iter().map(cost).sum::<f64>()
}

fn asked(links: &Links) -> Form {
    let words = &links.words;
    let counts = links.values.iter().any(|value| value.purpose == Purpose::Count);
    let functions: Vec<Aggregate> = cues::aggregates(words).into_iter().map(|(_, function)| function).collect();
    let compared = cues::than_nested(words).is_some();
    let average = functions.contains(&Aggregate::Avg);
    Form {
        count: links.says(cues::COUNTS) || links.says("count"),
        average,
        sum: functions.contains(&Aggregate::Sum),
        extreme: links.says(cues::SUPERLATIVES) && !(counts && links.says("at least|at most")),
        order: links.says(
            "order by|ordered by|sorted by|sort|order of|alphabetical|alphabetically|ordered|in order|ascending|descending|sorted",
        ),
        without: links.says(cues::NEGATIONS),
        both: links.says("both"),
        group: links.says("each|every|per|for all|respective|corresponding") || counts,
        having: counts,
        like: links.says(
            "contain|contains|containing|substring|starts with|start with|begins with|starting with|the word|the letter|ends with",
        ),
        either: links.says("or|either") && links.values.len() > 1,
        nested: average && compared,
        between: links.says("between") && links.values.len() > 1,
    }
}

fn made(query: &SqlQuery) -> Form {
    let conditions = || query.condition_lists().into_iter().skip(1).flatten().filter_map(Term::condition);
    let functions: Vec<Aggregate> =
        query.select.iter().flat_map(|(function, unit)| [*function, unit.left.aggregate]).collect();
    let in_nested = |wanted: Aggregate| {
        let nested = || conditions().flat_map(|condition| condition.queries());
        nested().any(|query| {
            query.select.iter().any(|(function, unit)| *function == wanted || unit.left.aggregate == wanted)
        })
    };
    let arm = |wanted: SetOperator| query.arm(wanted).is_some();
    let ordered = query.order.is_some();
    Form {
        count: functions.contains(&Aggregate::Count),
        average: functions.contains(&Aggregate::Avg) || in_nested(Aggregate::Avg),
        sum: functions.contains(&Aggregate::Sum),
        extreme: ordered && query.limit
            || functions.iter().any(|function| matches!(function, Aggregate::Max | Aggregate::Min))
            || in_nested(Aggregate::Max)
            || in_nested(Aggregate::Min),
        order: ordered && !query.limit,
        without: arm(SetOperator::Except)
            || conditions().any(|condition| condition.negated || condition.comparison == ComparisonOperator::Unequal),
        both: arm(SetOperator::Intersect),
        group: !query.group.is_empty(),
        having: !query.having.is_empty(),
        like: conditions().any(|condition| condition.comparison == ComparisonOperator::Like),
        either: arm(SetOperator::Union) || query.filter.contains(&Term::Connector(Connector::Or)),
        nested: conditions()
            .any(|condition| condition.queries().next().is_some() && condition.comparison != ComparisonOperator::In),
        between: conditions().any(|condition| condition.comparison == ComparisonOperator::Between),
    }
}
