//! One database as `tables.json` lists it: tables, columns and keys by their numbers.

use serde::Deserialize;

use wb_sql::{
    no_such_index,
    spider::{DatabaseSchema, ListedTables, TablesEntry},
};

use super::{CatalogColumn, CatalogTable, ColumnKind, SchemaCatalog};
use crate::{Result, words::name_stems};

/// An entry of `tables.json`.
#[derive(Default, Deserialize)]
pub(super) struct SchemaEntry {
    #[serde(flatten)]
    pub tables: TablesEntry,
    #[serde(default)]
    pub table_names: Vec<String>,
    #[serde(default)]
    pub column_names: Vec<(i64, String)>,
    #[serde(default)]
    pub column_types: Vec<ColumnKind>,
    #[serde(default)]
    pub primary_keys: Vec<PrimaryKey>,
}

/// Spider lists one column, BIRD also several.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum PrimaryKey {
    One(usize),
    Several(Vec<usize>),
}

impl SchemaEntry {
    /// The database with its names in words, and with the keys that names tell of.
    ///
    /// # Errors
    ///
    /// If the entry numbers a table or column that it does not have.
    pub fn catalog(self) -> Result<SchemaCatalog> {
        let TablesEntry { db_id, column_names_original, foreign_keys, .. } = &self.tables;
        let ListedTables { tables: listed, places } = self.tables.listed()?;
        let mut tables: Vec<CatalogTable> = listed
            .iter()
            .enumerate()
            .map(|(at, (name, _))| CatalogTable {
                name: name.clone(),
                stems: name_stems(self.table_names.get(at).unwrap_or(name)),
                columns: Vec::new(),
                primary: None,
            })
            .collect();
        // Numbers in the file, where `*` has one too, to numbers here.
        let mut numbers = Vec::with_capacity(places.len());
        let mut raw: Vec<(usize, String, Vec<String>, ColumnKind)> = Vec::new();
        for (at, (place, (_, name))) in places.iter().zip(column_names_original).enumerate() {
            numbers.push(place.map(|_| raw.len()));
            let Some((table, _)) = *place else { continue };
            tables[table].columns.push(raw.len());
            let words = self.column_names.get(at).map_or(name, |(_, words)| words);
            let kind = self.column_types.get(at).copied().unwrap_or(ColumnKind::Text);
            raw.push((table, name.clone(), name_stems(words), kind));
        }
        let (mut pairs, mut keys) = (Vec::new(), Vec::new());
        for &[from, to] in foreign_keys {
            let (Some(one), Some(other)) = (places[from], places[to]) else { continue };
            let (Some(from), Some(to)) = (numbers[from], numbers[to]) else { continue };
            pairs.push([one, other]);
            if !keys.contains(&(from, to)) && one.0 != other.0 {
                keys.push((from, to));
            }
        }
        let primary = self.primary_keys.iter().flat_map(|keys| match keys {
            PrimaryKey::One(at) => std::slice::from_ref(at),
            PrimaryKey::Several(all) => all,
        });
        for &at in primary {
            let Some(number) = numbers.get(at) else {
                let index = i64::try_from(at).unwrap_or(i64::MAX);
                return Err(no_such_index(db_id, "a primary key names column", index, numbers.len()));
            };
            if let Some(column) = *number {
                let of = &mut tables[raw[column].0].primary;
                *of = of.or(Some(column));
            }
        }
        let schema = DatabaseSchema::new(db_id, &listed, &pairs)?;
        let id = |written: String| schema.written(&written.to_lowercase());
        let declared = keys.len();
        infer(&tables, &raw, &mut keys);
        let is_key =
            |at: usize| tables[raw[at].0].primary == Some(at) || keys.iter().any(|&(from, to)| from == at || to == at);
        let lost = || no_such_index(db_id, "columns that cannot be told apart:", 0, raw.len());
        let columns: Vec<CatalogColumn> = (0..raw.len())
            .map(|at| {
                let (table, name, stems, kind) = raw[at].clone();
                let id = id(format!("{}.{name}", tables[table].name)).ok_or_else(lost)?;
                let plain = is_plain(&name) && is_plain(&tables[table].name);
                Ok(CatalogColumn { key: is_key(at), plain, id, table, name, stems, kind })
            })
            .collect::<Result<_>>()?;
        let table_ids = tables.iter().map(|table| id(table.name.clone()).ok_or_else(lost)).collect::<Result<_, _>>()?;
        let star = id("*".to_owned()).ok_or_else(lost)?;
        let by_id = columns.iter().enumerate().map(|(at, column)| (column.id, at)).collect();
        Ok(SchemaCatalog { schema, tables, columns, keys, by_id, declared, table_ids, star, script: None })
    }
}

/// Adds the keys that names tell of, for tables that no foreign key connects: a column named as such a table, with or
/// without `id`, and one named as its primary key. Spider forgets some.
fn infer(tables: &[CatalogTable], raw: &[(usize, String, Vec<String>, ColumnKind)], keys: &mut Vec<(usize, usize)>) {
    let alone = |table: usize| !keys.iter().any(|&(from, to)| raw[from].0 == table || raw[to].0 == table);
    let mut found = Vec::new();
    for (place, table) in tables.iter().enumerate().filter(|(place, _)| alone(*place)) {
        let before = found.len();
        for (at, (owner, name, stems, _)) in raw.iter().enumerate().filter(|(_, column)| column.0 != place) {
            let bare = stems.strip_suffix(&["id".to_owned()]).unwrap_or(stems);
            let Some(primary) = table.primary else { continue };
            let same = name.eq_ignore_ascii_case(&raw[primary].1) && stems.len() > 1;
            if bare == table.stems.as_slice() || same && tables[*owner].primary != Some(at) {
                found.push((at, primary));
            }
        }
        if found.len() > before {
            continue;
        }
        // The other way round: it names another table's key.
        for &at in &table.columns {
            let target = (0..tables.len()).filter(|other| *other != place).find_map(|other| {
                let primary = tables[other].primary?;
                let bare = raw[at].2.strip_suffix(&["id".to_owned()]).unwrap_or(&raw[at].2);
                let same = raw[at].1.eq_ignore_ascii_case(&raw[primary].1) && raw[at].2.len() > 1;
                (bare == tables[other].stems.as_slice() || same).then_some(primary)
            });
            found.extend(target.filter(|_| table.primary != Some(at)).map(|target| (at, target)));
        }
    }
    found.sort_unstable();
    found.dedup();
    keys.extend(found);
}

/// True where a name needs no quotes in SQLite and is no word of Spider's grammar.
fn is_plain(name: &str) -> bool {
    const WORDS: &str = " select from where group order limit intersect union except join on as not between in like is \
        exists and or having by desc asc distinct max min count sum avg none table values index to transaction set \
        add all alter case check commit create default delete drop else escape foreign insert into isnull notnull \
        null primary references then unique update using when collate constraint value ";
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    plain && !WORDS.contains(&format!(" {} ", name.to_lowercase()))
}
