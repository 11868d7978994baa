//! A database as a reader of questions sees it: names in words, types, keys, and the graph of foreign keys.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    fs,
    path::Path,
};

use serde::Deserialize;

use wb_sql::{
    SchemaError,
    spider::{Name, Schema},
};

use crate::{
    Error, Result,
    words::{name_stems, stem},
};

/// The type of a column, as `tables.json` tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ColumnKind {
    /// Texts.
    Text,
    /// Numbers.
    Number,
    /// Dates and times.
    Time,
    /// Yes or no.
    Boolean,
    /// All else.
    #[serde(other)]
    Others,
}

/// A table.
#[derive(Debug, Clone)]
pub struct Table {
    /// As the database writes it.
    pub name: String,
    /// The stems of its name in words.
    pub stems: Vec<String>,
    /// Its columns, as places in [`Catalog::columns`].
    pub columns: Vec<usize>,
    /// Its primary key.
    pub primary: Option<usize>,
}

/// A column.
#[derive(Debug, Clone)]
pub struct Column {
    /// As the database writes it.
    pub name: String,
    /// The stems of its name in words.
    pub stems: Vec<String>,
    /// Its table, as a place in [`Catalog::tables`].
    pub table: usize,
    /// Its type.
    pub kind: ColumnKind,
    /// Whether it is a primary key, or one side of a foreign key.
    pub key: bool,
    /// Whether a query can write it without quotes, which Spider's grammar does not have for names.
    pub plain: bool,
    pub(crate) id: Name,
}

/// A database.
#[derive(Debug)]
pub struct Catalog {
    /// What queries are parsed with.
    pub schema: Schema,
    /// Its tables.
    pub tables: Vec<Table>,
    /// Its columns, of all tables.
    pub columns: Vec<Column>,
    /// Foreign keys: a column, and the column it refers to; those that only names tell of come last.
    pub keys: Vec<(usize, usize)>,
    by_id: HashMap<Name, usize>,
    /// How many of `keys` the file has.
    declared: usize,
    table_ids: Vec<Name>,
    star: Name,
}

/// An entry of `tables.json`.
#[derive(Deserialize)]
struct Entry {
    db_id: String,
    table_names_original: Vec<String>,
    #[serde(default)]
    table_names: Vec<String>,
    column_names_original: Vec<(i64, String)>,
    #[serde(default)]
    column_names: Vec<(i64, String)>,
    #[serde(default)]
    column_types: Vec<ColumnKind>,
    #[serde(default)]
    primary_keys: Vec<Keys>,
    #[serde(default)]
    foreign_keys: Vec<[usize; 2]>,
}

/// Spider lists one column, BIRD also several.
#[derive(Deserialize)]
#[serde(untagged)]
enum Keys {
    One(usize),
    Several(Vec<usize>),
}

/// All databases of a data set.
#[derive(Debug)]
pub struct Catalogs(BTreeMap<String, Catalog>);

impl Catalogs {
    /// Reads `tables.json`.
    ///
    /// # Errors
    ///
    /// If it cannot be read, or an entry numbers a table or column that it does not have.
    pub fn load(path: &Path) -> Result<Self> {
        let bytes = fs::read(path).map_err(Error::io(path))?;
        let entries: Vec<Entry> =
            serde_json::from_slice(&bytes).map_err(|source| SchemaError::Json { path: path.to_owned(), source })?;
        let catalogs = entries.into_iter().map(|entry| Ok((entry.db_id.clone(), entry.catalog()?)));
        Ok(Self(catalogs.collect::<Result<_>>()?))
    }

    /// The database of this name.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub fn get(&self, db_id: &str) -> Result<&Catalog> {
        let hint = || wb_core::suggest::hint(db_id, self.0.keys().map(String::as_str));
        self.0.get(db_id).ok_or_else(|| SchemaError::Unknown { db_id: db_id.to_owned(), hint: hint() }.into())
    }
}

impl Entry {
    fn catalog(self) -> Result<Catalog> {
        let index = |what, index: i64, count| SchemaError::Index { db_id: self.db_id.clone(), what, index, count };
        let words = |table: usize| self.table_names.get(table).unwrap_or(&self.table_names_original[table]);
        let mut tables: Vec<Table> = (0..self.table_names_original.len())
            .map(|at| Table {
                name: self.table_names_original[at].clone(),
                stems: name_stems(words(at)),
                columns: Vec::new(),
                primary: None,
            })
            .collect();
        // Places in the file, where `*` has one too, to places here.
        let mut places = Vec::with_capacity(self.column_names_original.len());
        let mut raw: Vec<(usize, String, Vec<String>, ColumnKind)> = Vec::new();
        for (at, (table, name)) in self.column_names_original.iter().enumerate() {
            let Ok(table) = usize::try_from(*table) else {
                places.push(None);
                continue;
            };
            let Some(of) = tables.get_mut(table) else {
                let table = i64::try_from(table).unwrap_or(i64::MAX);
                return Err(index("a column is of table", table, self.table_names_original.len()).into());
            };
            places.push(Some((raw.len(), (table, of.columns.len()))));
            of.columns.push(raw.len());
            let words = self.column_names.get(at).map_or(name, |(_, words)| words);
            raw.push((
                table,
                name.clone(),
                name_stems(words),
                self.column_types.get(at).copied().unwrap_or(ColumnKind::Text),
            ));
        }
        let listed: Vec<(String, Vec<String>)> = tables
            .iter()
            .map(|table| (table.name.clone(), table.columns.iter().map(|&at| raw[at].1.clone()).collect()))
            .collect();
        let place = |what, at: usize| {
            let found = places.get(at).copied();
            found.ok_or_else(|| index(what, i64::try_from(at).unwrap_or(i64::MAX), places.len()))
        };
        let (mut pairs, mut keys) = (Vec::new(), Vec::new());
        for [from, to] in &self.foreign_keys {
            let what = "a foreign key names column";
            if let (Some((from, one)), Some((to, other))) = (place(what, *from)?, place(what, *to)?) {
                pairs.push([one, other]);
                if !keys.contains(&(from, to)) && raw[from].0 != raw[to].0 {
                    keys.push((from, to));
                }
            }
        }
        let primary = self.primary_keys.iter().flat_map(|keys| match keys {
            Keys::One(at) => std::slice::from_ref(at),
            Keys::Several(all) => all,
        });
        for &at in primary {
            if let Some((column, _)) = place("a primary key names column", at)? {
                let of = &mut tables[raw[column].0].primary;
                *of = of.or(Some(column));
            }
        }
        let schema = Schema::new(&self.db_id, &listed, &pairs)?;
        let id = |written: String| schema.written(&written.to_lowercase());
        let declared = keys.len();
        infer(&tables, &raw, &mut keys);
        let is_key =
            |at: usize| tables[raw[at].0].primary == Some(at) || keys.iter().any(|&(from, to)| from == at || to == at);
        let lost = || index("columns that cannot be told apart:", 0, raw.len());
        let columns: Vec<Column> = (0..raw.len())
            .map(|at| {
                let (table, name, stems, kind) = raw[at].clone();
                let id = id(format!("{}.{name}", tables[table].name)).ok_or_else(lost)?;
                let plain = is_plain(&name) && is_plain(&tables[table].name);
                Ok(Column { key: is_key(at), plain, id, table, name, stems, kind })
            })
            .collect::<Result<_>>()?;
        let table_ids = tables.iter().map(|table| id(table.name.clone()).ok_or_else(lost)).collect::<Result<_, _>>()?;
        let star = id("*".to_owned()).ok_or_else(lost)?;
        let by_id = columns.iter().enumerate().map(|(at, column)| (column.id, at)).collect();
        Ok(Catalog { schema, tables, columns, keys, by_id, declared, table_ids, star })
    }
}

/// Adds the keys that names tell of, for tables that no foreign key connects: a column named as such a table, with or
/// without `id`, and one named as its primary key. Spider forgets some.
fn infer(tables: &[Table], raw: &[(usize, String, Vec<String>, ColumnKind)], keys: &mut Vec<(usize, usize)>) {
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

/// Whether a name needs no quotes in SQLite and is no word of Spider's grammar.
fn is_plain(name: &str) -> bool {
    const WORDS: &str = " select from where group order limit intersect union except join on as not between in like is \
        exists and or having by desc asc distinct max min count sum avg none table values index to transaction set \
        add all alter case check commit create default delete drop else escape foreign insert into isnull notnull \
        null primary references then unique update using when collate constraint value ";
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    plain && !WORDS.contains(&format!(" {} ", name.to_lowercase()))
}

impl Catalog {
    /// The column of a parsed query's name.
    pub fn column(&self, name: Name) -> Option<usize> {
        self.by_id.get(&name).copied()
    }

    /// The table of a parsed query's name.
    pub fn table(&self, name: Name) -> Option<usize> {
        self.table_ids.iter().position(|id| *id == name)
    }

    /// The name of `*`.
    pub(crate) fn star(&self) -> Name {
        self.star
    }

    pub(crate) fn table_id(&self, table: usize) -> Name {
        self.table_ids[table]
    }

    /// Foreign keys between two tables, each as (column of `one`, column of `other`), in the file's order.
    pub fn edges(&self, one: usize, other: usize) -> impl Iterator<Item = (usize, usize)> {
        let of = |at: usize| self.columns[at].table;
        self.keys.iter().filter_map(move |&(from, to)| match (of(from), of(to)) {
            (a, b) if (a, b) == (one, other) => Some((from, to)),
            (a, b) if (a, b) == (other, one) => Some((to, from)),
            _ => None,
        })
    }

    /// The shortest way from one of `from` to `to` over foreign keys, both ends included; ties go to tables that come
    /// first. None where the tables are not connected.
    pub fn path(&self, from: &[usize], to: usize) -> Option<Vec<usize>> {
        let mut before: Vec<Option<usize>> = vec![None; self.tables.len()];
        let mut seen = vec![false; self.tables.len()];
        let mut queue: VecDeque<usize> = from.iter().copied().collect();
        from.iter().for_each(|&at| seen[at] = true);
        while let Some(at) = queue.pop_front() {
            if at == to {
                let mut path = vec![at];
                while let Some(back) = path.last().and_then(|&last| before[last]) {
                    path.push(back);
                }
                path.reverse();
                return Some(path);
            }
            for next in 0..self.tables.len() {
                if !seen[next] && self.edges(at, next).next().is_some() {
                    (seen[next], before[next]) = (true, Some(at));
                    queue.push_back(next);
                }
            }
        }
        None
    }

    /// The schema in words: one line for each table with its columns and their types, then the foreign keys.
    ///
    /// ```text
    /// database: pets_1
    /// Student(StuID number primary key, LName text)
    /// Has_Pet(StuID number, PetID number)
    /// foreign keys: Has_Pet.StuID = Student.StuID
    /// ```
    pub fn context(&self) -> String {
        let mut lines = vec![format!("database: {}", self.schema.db_id())];
        for table in &self.tables {
            let column = |&at: &usize| {
                let column = &self.columns[at];
                let kind = match column.kind {
                    ColumnKind::Text => "text",
                    ColumnKind::Number => "number",
                    ColumnKind::Time => "time",
                    ColumnKind::Boolean => "boolean",
                    ColumnKind::Others => "other",
                };
                let primary = if table.primary == Some(at) { " primary key" } else { "" };
                format!("{} {kind}{primary}", column.name)
            };
            let columns: Vec<String> = table.columns.iter().map(column).collect();
            lines.push(format!("{}({})", table.name, columns.join(", ")));
        }
        let full = |at: usize| format!("{}.{}", self.tables[self.columns[at].table].name, self.columns[at].name);
        let keys: Vec<String> =
            self.keys[..self.declared].iter().map(|&(from, to)| format!("{} = {}", full(from), full(to))).collect();
        if !keys.is_empty() {
            lines.push(format!("foreign keys: {}", keys.join(", ")));
        }
        lines.join("\n")
    }

    /// Whether the column tells which row is meant: its name is, or ends with, a name or title.
    pub(crate) fn is_name(&self, column: usize) -> bool {
        let stems = &self.columns[column].stems;
        stems.last().is_some_and(|last| matches!(last.as_str(), "name" | "title"))
            && stems.first() != Some(&stem("file"))
    }
}
