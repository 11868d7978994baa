//! Quality of retrieval for text-to-SQL, apart from what is made of it.

use std::collections::BTreeSet;

use serde::Serialize;

use wb_sql::{
    exact::{component_f1, parts},
    spider::{SqlQuery, TableUnit, skeleton},
};

use crate::{predict::names, schema::SchemaCatalog};

/// The share of gold's tables and columns that are there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Recall {
    /// Share of gold's tables; 1 where it has none.
    pub tables: f64,
    /// Share of gold's columns, `*` and those that only join tables left out; 1 where there is none.
    pub columns: f64,
}

/// Schema recall: the share of the tables and columns of the gold query that a predicted query uses.
///
/// Examples come from other databases, so that recall is that of the query which was made with them. Columns that are
/// named only in ON count for neither side; nested queries and set operations count.
pub fn schema_recall(gold: &SqlQuery, predicted: &SqlQuery, catalog: &SchemaCatalog) -> Recall {
    let ((gold_tables, gold_columns), (tables, columns)) = (named(gold, catalog), named(predicted, catalog));
    let share = |gold: &BTreeSet<usize>, found: &BTreeSet<usize>| {
        if gold.is_empty() { 1.0 } else { gold.intersection(found).count() as f64 / gold.len() as f64 }
    };
    Recall { tables: share(&gold_tables, &tables), columns: share(&gold_columns, &columns) }
}

/// Tables, and columns outside of ON.
fn named(query: &SqlQuery, catalog: &SchemaCatalog) -> (BTreeSet<usize>, BTreeSet<usize>) {
    let (tables, _) = names(query, catalog);
    let (_, columns) = names(&without_on(query), catalog);
    (tables, columns)
}

fn without_on(query: &SqlQuery) -> SqlQuery {
    let mut query = query.clone();
    query.on.clear();
    for table in &mut query.tables {
        if let TableUnit::Query(nested) = table {
            **nested = without_on(nested);
        }
    }
    for list in [&mut query.filter, &mut query.having] {
        for term in list {
            if let wb_sql::spider::Term::Condition(condition) = term {
                for value in [&mut condition.first, &mut condition.second].into_iter().flatten() {
                    if let wb_sql::spider::ComparedValue::Query(nested) = value {
                        **nested = without_on(nested);
                    }
                }
            }
        }
    }
    if let Some((_, arm)) = &mut query.set {
        **arm = without_on(arm);
    }
    query
}

/// Likeness of the retrieved queries with the gold query, names and values blanked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct SkeletonMatch {
    /// [`component_f1`] of the first.
    pub f1_at_1: f64,
    /// The best of the first three.
    pub f1_at_3: f64,
    /// True where the first has exactly the gold query's [`skeleton`].
    pub exact_at_1: bool,
    /// True where one of the first three has.
    pub exact_at_3: bool,
}

/// Compares the gold query with retrieved ones, best first; one that cannot be read scores 0.
pub fn skeleton_match(gold: &SqlQuery, retrieved: &[Option<&SqlQuery>]) -> SkeletonMatch {
    let (gold_parts, gold_skeleton) = (parts(gold), skeleton(gold));
    let scored: Vec<(f64, bool)> = retrieved
        .iter()
        .take(3)
        .map(|query| {
            query.map_or((0.0, false), |query| {
                (component_f1(&gold_parts, &parts(query)), skeleton(query) == gold_skeleton)
            })
        })
        .collect();
    let first = scored.first().copied().unwrap_or_default();
    SkeletonMatch {
        f1_at_1: first.0,
        f1_at_3: scored.iter().map(|(f1, _)| *f1).fold(0.0, f64::max),
        exact_at_1: first.1,
        exact_at_3: scored.iter().any(|(_, exact)| *exact),
    }
}
