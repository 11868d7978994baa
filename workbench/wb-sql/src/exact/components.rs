//! The ten components of exact match, scored one by one.

use serde::{Deserialize, Serialize};
use wb_core::records::sql::QueryComponent;

use crate::{
    Compat,
    spider::{ComparisonOperator, Condition, Connector, DatabaseSchema, SetOperator, SqlQuery, Term},
};

/// Score of one component in one prediction.
///
/// Accuracy, recall and F1 of a single prediction are all 1 or all 0 in the published evaluator: 1 if both sides have
/// as many units, all of them in common.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartialScore {
    /// True where the component agrees; two absent ones do.
    pub matches: bool,
    /// Units of the gold query. For AND and OR that differ the source mixes up this and the next, and so do we.
    pub gold: usize,
    /// Units of the prediction.
    pub predicted: usize,
}

impl PartialScore {
    fn new(gold: usize, predicted: usize, common: usize) -> Self {
        Self { matches: gold == predicted && common == gold, gold, predicted }
    }
}

/// Scores two normalized queries; `arm_matches` compares the arms of one set operation.
pub(super) fn score(
    gold: &SqlQuery,
    predicted: &SqlQuery,
    schema: &DatabaseSchema,
    compat: Compat,
    mut arm_matches: impl FnMut(SetOperator) -> bool,
) -> [PartialScore; 10] {
    let sets = [SetOperator::Intersect, SetOperator::Except, SetOperator::Union];
    let common_arms = sets.into_iter().filter(|&operator| arm_matches(operator)).count();
    let (gold_words, predicted_words) = (keywords(gold), keywords(predicted));
    let common_words = (gold_words & predicted_words).count_ones();
    QueryComponent::ALL.map(|component| match component {
        QueryComponent::Select => units(&gold.select, &predicted.select),
        QueryComponent::SelectNoAggregate => units(&columns(gold), &columns(predicted)),
        QueryComponent::Where => units(&conditions(&gold.filter), &conditions(&predicted.filter)),
        QueryComponent::WhereNoOperator => units(&subjects(gold), &subjects(predicted)),
        QueryComponent::GroupNoHaving => match compat {
            Compat::Official => {
                let names = |query: &SqlQuery| -> Vec<u32> {
                    query.group.iter().map(|unit| schema.group(unit.column)).collect()
                };
                units(&names(gold), &names(predicted))
            }
            Compat::Strict => units(&gold.group, &predicted.group),
        },
        QueryComponent::Group => group(gold, predicted, compat),
        QueryComponent::Order => order(gold, predicted),
        QueryComponent::AndOr => connectors(gold, predicted),
        QueryComponent::SetOperation => {
            PartialScore::new(usize::from(gold.set.is_some()), usize::from(predicted.set.is_some()), common_arms)
        }
        QueryComponent::Keywords => PartialScore::new(
            gold_words.count_ones() as usize,
            predicted_words.count_ones() as usize,
            common_words as usize,
        ),
    })
}

/// Number of elements that two lists have in common, each counted as often as it stands in both.
pub(super) fn common<T: PartialEq>(left: &[T], right: &[T]) -> usize {
    let mut free: Vec<&T> = right.iter().collect();
    let take = |wanted: &&T| {
        let place = free.iter().position(|item| item == wanted);
        place.map(|place| free.swap_remove(place)).is_some()
    };
    left.iter()
        .filter({
            let mut take = take;
            move |wanted| take(wanted)
        })
        .count()
}

fn units<T: PartialEq>(gold: &[T], predicted: &[T]) -> PartialScore {
    PartialScore::new(gold.len(), predicted.len(), common(gold, predicted))
}

fn columns(query: &SqlQuery) -> Vec<crate::spider::ValueUnit> {
    query.select.iter().map(|(_, unit)| *unit).collect()
}

fn conditions(terms: &[Term]) -> Vec<&Condition> {
    terms.iter().step_by(2).filter_map(Term::condition).collect()
}

fn subjects(query: &SqlQuery) -> Vec<crate::spider::ValueUnit> {
    conditions(&query.filter).into_iter().map(|condition| condition.unit).collect()
}

fn group(gold: &SqlQuery, predicted: &SqlQuery, compat: Compat) -> PartialScore {
    let present = |query: &SqlQuery| usize::from(!query.group.is_empty());
    let columns = |query: &SqlQuery| query.group.iter().map(|unit| unit.column).collect::<Vec<_>>();
    let same = match compat {
        Compat::Official => columns(gold) == columns(predicted) && gold.having == predicted.having,
        Compat::Strict => {
            units(&gold.group, &predicted.group).matches && alternatives_agree(&gold.having, &predicted.having)
        }
    };
    let both = present(gold) == 1 && present(predicted) == 1;
    PartialScore::new(present(gold), present(predicted), usize::from(both && same))
}

fn order(gold: &SqlQuery, predicted: &SqlQuery) -> PartialScore {
    let present = |query: &SqlQuery| usize::from(query.order.is_some());
    let same = gold.order.is_some() && gold.order == predicted.order && gold.limit == predicted.limit;
    PartialScore::new(present(gold), present(predicted), usize::from(same))
}

/// Compares what stands between conditions, as sets: the words, and conditions where a word is missing.
fn connectors(gold: &SqlQuery, predicted: &SqlQuery) -> PartialScore {
    let set = |query: &'_ SqlQuery| -> Vec<Term> {
        let mut set: Vec<Term> = Vec::new();
        for term in query.filter.iter().skip(1).step_by(2) {
            if !set.contains(term) {
                set.push(term.clone());
            }
        }
        set
    };
    let (gold, predicted) = (set(gold), set(predicted));
    if gold.len() == predicted.len() && common(&gold, &predicted) == gold.len() {
        return PartialScore { matches: true, gold: 1, predicted: 1 };
    }
    PartialScore { matches: false, gold: predicted.len(), predicted: gold.len() }
}

/// The keywords that count, as bits: WHERE, GROUP, HAVING, ORDER with its direction, LIMIT, set operations, OR, NOT, IN
/// and LIKE.
fn keywords(query: &SqlQuery) -> u32 {
    let direction = query.order.as_ref().map(|order| order.descending);
    let set = query.set.as_ref().map(|(operator, _)| *operator);
    let lists = query.condition_lists();
    let between = |wanted: Connector| {
        let mut odd = lists.iter().flat_map(|terms| terms.iter().skip(1).step_by(2));
        odd.any(|term| *term == Term::Connector(wanted))
    };
    let any = |wanted: &dyn Fn(&Condition) -> bool| lists.iter().flat_map(|terms| conditions(terms)).any(wanted);
    let present = [
        !query.filter.is_empty(),
        !query.group.is_empty(),
        !query.having.is_empty(),
        direction.is_some(),
        direction == Some(false),
        direction == Some(true),
        query.limit,
        set == Some(SetOperator::Except),
        set == Some(SetOperator::Union),
        set == Some(SetOperator::Intersect),
        between(Connector::Or),
        any(&|condition| condition.negated),
        any(&|condition| condition.comparison == ComparisonOperator::In),
        any(&|condition| condition.comparison == ComparisonOperator::Like),
    ];
    present.into_iter().enumerate().map(|(bit, present)| u32::from(present) << bit).sum()
}

/// True where two condition lists are the same OR of the same ANDs, in any order.
pub(super) fn alternatives_agree(gold: &[Term], predicted: &[Term]) -> bool {
    let alternatives = |terms: &[Term]| -> Vec<Alternative> {
        let groups = terms.split(|term| *term == Term::Connector(Connector::Or));
        groups
            .map(|group| Alternative(group.iter().filter(|term| term.condition().is_some()).cloned().collect()))
            .collect()
    };
    let (gold, predicted) = (alternatives(gold), alternatives(predicted));
    gold.len() == predicted.len() && common(&gold, &predicted) == gold.len()
}

/// Conditions that are joined by AND; their order does not matter.
struct Alternative(Vec<Term>);

impl PartialEq for Alternative {
    fn eq(&self, other: &Self) -> bool {
        self.0.len() == other.0.len() && common(&self.0, &other.0) == self.0.len()
    }
}
