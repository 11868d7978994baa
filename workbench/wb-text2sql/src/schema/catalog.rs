//! A database as a reader of questions sees it: names in words, types, keys, and the graph of foreign keys.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    fs,
    path::Path,
};

use serde::Deserialize;

use wb_sql::{
    no_schema, no_schemas,
    spider::{DatabaseSchema, Name},
};

use super::{created, entry::SchemaEntry};
use crate::{Error, Result, words::stem};

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
pub struct CatalogTable {
    /// Name as the database writes it.
    pub name: String,
    /// The stems of its name in words.
    pub stems: Vec<String>,
    /// Its columns, as places in [`SchemaCatalog::columns`].
    pub columns: Vec<usize>,
    /// Its primary key.
    pub primary: Option<usize>,
}

/// A column.
#[derive(Debug, Clone)]
pub struct CatalogColumn {
    /// Name as the database writes it.
    pub name: String,
    /// The stems of its name in words.
    pub stems: Vec<String>,
    /// Its table, as a place in [`SchemaCatalog::tables`].
    pub table: usize,
    /// Its type.
    pub kind: ColumnKind,
    /// True for a primary key, or one side of a foreign key.
    pub key: bool,
    /// True where a query can write it without quotes, which Spider's grammar does not have for names.
    pub plain: bool,
    pub(crate) id: Name,
}

/// A database.
#[derive(Debug)]
pub struct SchemaCatalog {
    /// Schema that queries are parsed with.
    pub schema: DatabaseSchema,
    /// Its tables.
    pub tables: Vec<CatalogTable>,
    /// Its columns, of all tables.
    pub columns: Vec<CatalogColumn>,
    /// Foreign keys: a column, and the column it refers to; those that only names tell of come last.
    pub keys: Vec<(usize, usize)>,
    pub(super) by_id: HashMap<Name, usize>,
    /// Number of the `keys` that the file has.
    pub(super) declared: usize,
    pub(super) table_ids: Vec<Name>,
    pub(super) star: Name,
    /// Statements that make the database, where these are all that is known of it.
    pub(super) script: Option<String>,
}

/// All databases of a data set.
#[derive(Debug)]
pub struct Catalogs(BTreeMap<String, SchemaCatalog>);

impl Catalogs {
    /// Reads `tables.json`.
    ///
    /// # Errors
    ///
    /// If it cannot be read, or an entry numbers a table or column that it does not have.
    pub fn load(path: &Path) -> Result<Self> {
        let bytes = fs::read(path).map_err(Error::io("read", path))?;
        let entries: Vec<SchemaEntry> = serde_json::from_slice(&bytes).map_err(|source| no_schemas(path, source))?;
        let catalogs = entries.into_iter().map(|entry| Ok((entry.tables.db_id.clone(), entry.catalog()?)));
        Ok(Self(catalogs.collect::<Result<_>>()?))
    }

    /// Adds the database that a script makes, under a name. A script whose statements cannot be read makes one without
    /// tables: no query over it can be read.
    ///
    /// # Errors
    ///
    /// Those of a schema without tables.
    pub fn add_script(&mut self, db_id: &str, script: &str) -> Result<()> {
        let mut catalog = created::entry(db_id, script).catalog().or_else(|_| created::entry(db_id, "").catalog())?;
        catalog.script = Some(script.to_owned());
        self.0.insert(db_id.to_owned(), catalog);
        Ok(())
    }

    /// True where a database has this name.
    pub fn has(&self, db_id: &str) -> bool {
        self.0.contains_key(db_id)
    }

    /// The database of this name.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub fn get(&self, db_id: &str) -> Result<&SchemaCatalog> {
        self.0.get(db_id).ok_or_else(|| no_schema(db_id, self.0.keys().map(String::as_str)))
    }
}

impl SchemaCatalog {
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

    /// The schema in words: one line for each table with its columns and their types, then the foreign keys; or the
    /// script that makes the database.
    ///
    /// ```text
    /// database: pets_1
    /// Student(StuID number primary key, LName text)
    /// Has_Pet(StuID number, PetID number)
    /// foreign keys: Has_Pet.StuID = Student.StuID
    /// ```
    pub fn context(&self) -> String {
        if let Some(script) = &self.script {
            return script.clone();
        }
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

    /// True where the column tells which row is meant: its name is, or ends with, a name or title.
    pub(crate) fn is_name(&self, column: usize) -> bool {
        let stems = &self.columns[column].stems;
        stems.last().is_some_and(|last| matches!(last.as_str(), "name" | "title"))
            && stems.first() != Some(&stem("file"))
    }
}
