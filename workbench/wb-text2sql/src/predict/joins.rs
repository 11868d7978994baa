//! FROM out of the tables that a query needs: the foreign keys that connect them.

use crate::{
    link::{Links, cues::DIRECTIONS},
    schema::SchemaCatalog,
};

/// Tables in the order of FROM, and the equalities that join them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Joined {
    /// Tables, as places in the catalog.
    pub tables: Vec<usize>,
    /// Pairs of equal columns, one for each table after the first.
    pub on: Vec<(usize, usize)>,
}

/// Connects tables over foreign keys: each wanted table by the shortest way from those before it, the tables between
/// included. None where there is no way.
///
/// Of several keys between two tables the question's words decide (`arriving`, `from`), else the first.
pub fn join(catalog: &SchemaCatalog, wanted: &[usize], links: &Links) -> Option<Joined> {
    let mut joined = Joined { tables: wanted.first().map(|&first| vec![first])?, on: Vec::new() };
    for &table in &wanted[1..] {
        let path = catalog.path(&joined.tables, table)?;
        for pair in path.windows(2).filter(|pair| pair[0] != pair[1]) {
            if joined.tables.contains(&pair[1]) {
                continue;
            }
            joined.on.push(edge(catalog, pair[0], pair[1], links)?);
            joined.tables.push(pair[1]);
        }
    }
    Some(joined)
}

/// The foreign key between two tables that the question means.
pub fn edge(catalog: &SchemaCatalog, one: usize, other: usize, links: &Links) -> Option<(usize, usize)> {
    let all: Vec<(usize, usize)> = catalog.edges(one, other).collect();
    let named = |&(from, to): &(usize, usize)| {
        let stems = || [from, to].into_iter().flat_map(|at| &catalog.columns[at].stems);
        let told = DIRECTIONS.iter().filter(|(words, names)| {
            links.says(words) && stems().any(|stem| names.split('|').any(|name| name == stem))
        });
        told.count()
    };
    let best = all.iter().map(named).max()?;
    all.into_iter().find(|edge| named(edge) == best)
}
