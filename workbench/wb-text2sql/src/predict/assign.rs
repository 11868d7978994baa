//! Assignment of columns of the question's database to those of the example.

use std::collections::HashMap;

use wb_sql::spider::{Aggregate, ComparedValue, Name, SqlQuery, TableUnit, Term, ValueUnit};

use crate::{
    link::{ColumnMention, Links, cues},
    schema::{ColumnKind, SchemaCatalog},
};

/// Use of a column of the example.
#[derive(Debug, Clone, Default)]
struct Slot {
    /// The example's column, where it is one and not `*`.
    column: Option<usize>,
    /// True for a place in the outermost SELECT (or those of set operations), without a function.
    plain: bool,
    /// Function around it in SELECT.
    function: Option<Aggregate>,
    group: bool,
    order: bool,
    /// Compared with a nested query.
    scalar: bool,
    /// Only in conditions with literals, which are filled by values.
    literal_only: bool,
}

/// Columns of the question's database by those of the example.
#[derive(Debug, Clone, Default)]
pub(crate) struct Assignment {
    /// Assigned column of each column of the example that has one.
    pub columns: HashMap<Name, usize>,
    /// Columns of SELECT that the example does not have.
    pub extra: Vec<usize>,
    /// 0 for all slots filled with all that is named; less for what is not.
    pub score: f64,
}

/// Assigns named columns to the slots of an example: the best pair first, each slot and each mention once.
///
/// Columns that are keys and no result (`GROUP BY t.id`) get none: they follow from the tables. Columns of SELECT may be
/// fewer or more than the example has.
pub(crate) fn assign(source: &SqlQuery, from: &SchemaCatalog, to: &SchemaCatalog, links: &Links) -> Assignment {
    let mut slots: Vec<(Name, Slot)> = Vec::new();
    collect(source, from, 0, &mut slots);
    slots.retain(|(_, slot)| slot.column.is_some() && !slot.literal_only);
    let derived = |slot: &Slot| {
        slot.column.is_some_and(|at| from.columns[at].key) && !slot.plain && !slot.order && slot.function.is_none()
    };
    slots.retain(|(_, slot)| !derived(slot));
    let mut pairs: Vec<(f64, usize, usize, usize)> = Vec::new();
    for (at, (_, slot)) in slots.iter().enumerate() {
        for (place, mention) in links.columns.iter().enumerate() {
            let used = links.values.iter().any(|value| value.uses == Some(place));
            let grouped = slots.iter().any(|(_, slot)| slot.group);
            for &(column, score) in &mention.columns {
                let fit = score + fit(slot, mention, from, to, column, grouped)
                    - if used { 1.5 } else { 0.0 }
                    - if names_table(links, mention) { 0.6 } else { 0.0 }
                    - 0.02 * place as f64;
                pairs.push((fit, at, place, column));
            }
        }
    }
    pairs.sort_by(|one, other| other.0.total_cmp(&one.0).then((one.1, one.2, one.3).cmp(&(other.1, other.2, other.3))));
    let mut out = Assignment::default();
    let (mut filled, mut used) = (vec![false; slots.len()], vec![false; links.columns.len()]);
    for (score, at, place, column) in pairs {
        if score >= 0.4 && !filled[at] && !used[place] && !out.columns.values().any(|own| *own == column) {
            (filled[at], used[place]) = (true, true);
            out.columns.insert(slots[at].0, column);
            out.score += 0.4 * (score.min(1.4) - 1.2).min(0.0);
        }
    }
    // A column that is named once may be the result and the order.
    for (at, (name, slot)) in
        slots.iter().enumerate().filter(|(_, (_, slot))| slot.order || slot.scalar || slot.function.is_some())
    {
        let best = links
            .columns
            .iter()
            .filter(|mention| slot.function.is_some() || mention.order || mention.aggregate.is_some());
        let best = best.flat_map(|mention| &mention.columns).find(|(column, _)| numeric(to, *column));
        if let Some((column, _)) = best.filter(|_| !filled[at]) {
            filled[at] = true;
            out.columns.insert(*name, *column);
            out.score -= 0.3;
        }
    }
    let has_result =
        slots.iter().zip(&filled).any(|((_, slot), filled)| *filled && (slot.plain || slot.function.is_some()))
            || source
                .select
                .iter()
                .any(|(function, unit)| *function != Aggregate::None || unit.left.aggregate != Aggregate::None);
    for ((_, slot), _) in slots.iter().zip(&filled).filter(|(_, filled)| !**filled) {
        out.score -= if slot.plain && has_result { 0.35 } else { 0.5 };
    }
    extras(source, &slots, &used, (to, links), &mut out);
    out
}

/// Named columns that are left over become results, where the example has plain ones.
fn extras(
    source: &SqlQuery,
    slots: &[(Name, Slot)],
    used: &[bool],
    (to, links): (&SchemaCatalog, &Links),
    out: &mut Assignment,
) {
    // A count that is not asked for gives way to what is named.
    let plain = slots.iter().any(|(_, slot)| slot.plain) || only_counts(source) && !asks_count(links);
    let results: Vec<usize> = slots
        .iter()
        .filter(|(_, slot)| slot.plain || slot.scalar || slot.function.is_some())
        .filter_map(|(name, _)| out.columns.get(name).copied())
        .collect();
    for (place, mention) in links.columns.iter().enumerate().filter(|(place, _)| !used[*place]) {
        let Some(&(column, score)) = mention.columns.first().filter(|(_, score)| *score >= 0.8) else { continue };
        let of_value = links
            .values
            .iter()
            .any(|value| value.uses == Some(place) || value.column.is_some_and(|(own, _)| own == column));
        let known = results.contains(&column) || out.extra.contains(&column);
        // A key is no result unless its `id` or `code` is named.
        let last = to.columns[column].stems.last();
        let part = to.columns[column].key
            && !links.words[mention.start..mention.end].iter().any(|word| Some(&word.stem) == last);
        if of_value || known || part || names_table(links, mention) {
            continue;
        }
        // Words that order are no results.
        if plain && !mention.order && mention.aggregate.is_none() {
            out.extra.push(column);
            out.score -= 0.15;
        } else {
            out.score -= 0.3 * score.min(1.0);
        }
    }
}

/// True where the same words name a table.
fn names_table(links: &Links, mention: &ColumnMention) -> bool {
    links.tables.iter().any(|table| (table.start, table.end) == (mention.start, mention.end) && table.score > 0.7)
}

/// True where a query returns nothing but `count(*)`.
fn only_counts(source: &SqlQuery) -> bool {
    source.group.is_empty()
        && source
            .select
            .iter()
            .all(|(function, unit)| *function == Aggregate::Count || unit.left.aggregate == Aggregate::Count)
}

/// True where the question asks for a count.
pub(crate) fn asks_count(links: &Links) -> bool {
    links.says(cues::COUNTS) || links.says("count|total|number|amount|many")
}

fn numeric(catalog: &SchemaCatalog, column: usize) -> bool {
    let column = &catalog.columns[column];
    matches!(column.kind, ColumnKind::Number | ColumnKind::Time) && !column.key
        || column.stems.iter().any(|stem| matches!(stem.as_str(), "age" | "year" | "date" | "rating" | "weight"))
}

/// Score of what speaks for and against a mention in a slot, besides its name.
fn fit(
    slot: &Slot,
    mention: &ColumnMention,
    from: &SchemaCatalog,
    to: &SchemaCatalog,
    column: usize,
    grouped: bool,
) -> f64 {
    let number = numeric(to, column);
    let mut score = 0.0;
    if slot.column.is_some_and(|at| from.columns[at].kind == to.columns[column].kind) {
        score += 0.1;
    }
    if let Some(function) = slot.function {
        score += if mention.aggregate.is_some() { 0.5 } else { 0.0 };
        score += match function {
            Aggregate::Avg | Aggregate::Sum if !number => -1.0,
            Aggregate::Count | Aggregate::None => 0.0,
            _ if number => 0.2,
            _ => -0.25,
        };
    }
    if slot.order {
        score += if mention.order { 0.6 } else { -0.2 } + if number { 0.1 } else { -0.1 };
    }
    if slot.scalar {
        score += if number { 0.3 } else { -0.8 };
    }
    if slot.group {
        score += if mention.group { 0.5 } else { 0.0 };
    }
    if slot.plain && !slot.order {
        score -= if mention.order { 0.5 } else { 0.0 } + if mention.aggregate.is_some() { 0.3 } else { 0.0 };
        score -= if mention.group && grouped && !slot.group { 0.4 } else { 0.0 };
    }
    score
}

fn collect(query: &SqlQuery, from: &SchemaCatalog, depth: usize, slots: &mut Vec<(Name, Slot)>) {
    let mut add = |name: Name, set: &dyn Fn(&mut Slot)| {
        let at = slots.iter().position(|(own, _)| *own == name).unwrap_or_else(|| {
            let column = from.column(name);
            slots.push((name, Slot { column, literal_only: true, ..Slot::default() }));
            slots.len() - 1
        });
        set(&mut slots[at].1);
    };
    for (function, unit) in &query.select {
        for (name, inner) in names(unit) {
            let function = if *function == Aggregate::None { inner } else { *function };
            add(name, &|slot| {
                slot.literal_only = false;
                slot.plain |= function == Aggregate::None && depth == 0;
                slot.function = slot.function.or((function != Aggregate::None).then_some(function));
            });
        }
    }
    for unit in &query.group {
        add(unit.column, &|slot| (slot.group, slot.literal_only) = (true, false));
    }
    for unit in query.order.iter().flat_map(|order| &order.units) {
        for (name, function) in names(unit) {
            add(name, &|slot| {
                (slot.order, slot.literal_only) = (true, false);
                slot.function = slot.function.or((function != Aggregate::None).then_some(function));
            });
        }
    }
    let mut nested: Vec<&SqlQuery> = Vec::new();
    for (having, terms) in [(false, &query.filter), (true, &query.having)] {
        for condition in terms.iter().filter_map(Term::condition) {
            let literal = matches!(condition.first, Some(ComparedValue::Number(_) | ComparedValue::Text(_)) | None);
            nested.extend(condition.queries());
            for (name, function) in names(&condition.unit) {
                add(name, &|slot| {
                    slot.literal_only &= literal && !having;
                    slot.scalar |= condition.queries().next().is_some() && function == Aggregate::None;
                    slot.function = slot.function.or((function != Aggregate::None && having).then_some(function));
                });
            }
        }
    }
    for query in nested {
        collect(query, from, depth + 1, slots);
    }
    for table in &query.tables {
        if let TableUnit::Query(query) = table {
            collect(query, from, depth + 1, slots);
        }
    }
    if let Some((_, arm)) = &query.set {
        collect(arm, from, depth, slots);
    }
}

/// The columns of a unit with their functions.
fn names(unit: &ValueUnit) -> impl Iterator<Item = (Name, Aggregate)> {
    [Some(unit.left), unit.right].into_iter().flatten().map(|unit| (unit.column, unit.aggregate))
}
