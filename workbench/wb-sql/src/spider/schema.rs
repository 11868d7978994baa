//! The tables, columns and foreign keys of a database, as Spider's `tables.json` lists them.

use std::{
    collections::{BTreeMap, HashMap},
    hash::{BuildHasherDefault, Hasher},
    path::Path,
    sync::OnceLock,
};

use serde::Deserialize;

use crate::{
    Error, Result,
    error::{no_schema, no_schemas, no_such_index},
};

/// A column, a table or `*` of one [`DatabaseSchema`]. Equal names are equal numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(u32);

impl Name {
    fn index(self) -> usize {
        self.0 as usize
    }
}

/// A map by names of a schema, with a short hash: they are few, and known before any prediction.
pub(crate) type Map<T> = HashMap<String, T, BuildHasherDefault<Short>>;

/// FNV-1a.
#[derive(Debug)]
pub(crate) struct Short(u64);

impl Default for Short {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Short {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// A foreign key: two columns, each a table and a column by number.
pub type ForeignKey = [(usize, usize); 2];

/// Facts on a name.
#[derive(Debug)]
struct Label {
    /// `table.column`, the table, or `*`.
    text: String,
    /// Number that GROUP BY compares.
    group: u32,
    /// The table that a column belongs to, as a number of `owner` below.
    of: Option<u32>,
    /// Number of the table as which it makes columns valid when it stands in FROM.
    owner: u32,
    /// The first column of its class of foreign keys.
    class: Option<Name>,
}

/// The schema of one database.
///
/// Names are lower case. Two columns belong to one class when a foreign key joins them; the classes are made as the
/// published evaluator makes them, from the keys in their order, without joining two classes that a later key connects.
#[derive(Debug)]
pub struct DatabaseSchema {
    db_id: String,
    labels: Vec<Label>,
    /// `*`, tables and `table.column`, as a query may write them.
    written: Map<Name>,
    /// The columns of each table.
    columns: Map<Map<Name>>,
}

impl DatabaseSchema {
    /// A schema of tables with their columns, in order, and foreign keys between them.
    ///
    /// The published evaluator takes tables and columns from the SQLite file and keys from `tables.json`; in Spider's
    /// files both agree.
    pub fn new(db_id: &str, tables: &[(String, Vec<String>)], keys: &[ForeignKey]) -> Result<Self> {
        let classes = classes(keys).into_iter().map(|class| class.into_iter().map(Some).collect());
        Self::build(db_id, tables, classes)
    }

    /// A schema with classes of foreign keys, whose first members stand for them; `None` is `*`.
    fn build(
        db_id: &str,
        tables: &[(String, Vec<String>)],
        classes: impl Iterator<Item = Vec<Option<(usize, usize)>>>,
    ) -> Result<Self> {
        let mut schema = Interner::default();
        // Labels as the source makes them, since it compares parts of them: up to a dot, without the end.
        let label = |table: &str, column: &str| format!("__{}.{}__", table.to_lowercase(), column.to_lowercase());
        schema.write("*".to_owned(), ALL.to_owned());
        for (table, names) in tables {
            let lower = table.to_lowercase();
            for name in names {
                schema.write(format!("{lower}.{}", name.to_lowercase()), label(table, name));
            }
        }
        for (table, _) in tables {
            schema.write(table.to_lowercase(), format!("__{}__", table.to_lowercase()));
        }
        // Read back, since a table with a dot in its name hides the column that is written like it.
        let mut columns = Map::default();
        for (table, names) in tables {
            let table = table.to_lowercase();
            let of = names.iter().map(|name| name.to_lowercase());
            let of: Map<Name> =
                of.filter_map(|name| Some((name.clone(), *schema.written.get(&format!("{table}.{name}"))?))).collect();
            columns.insert(table, of);
        }
        let index =
            |what, index: usize, count| no_such_index(db_id, what, i64::try_from(index).unwrap_or(i64::MAX), count);
        let labeled = |member: Option<(usize, usize)>| -> Result<String> {
            let Some((table, column)) = member else { return Ok(ALL.to_owned()) };
            let (name, columns) =
                tables.get(table).ok_or_else(|| index("a foreign key names table", table, tables.len()))?;
            let column =
                columns.get(column).ok_or_else(|| index("a foreign key names column", column, columns.len()))?;
            Ok(label(name, column))
        };
        for class in classes {
            let members = class.into_iter().map(labeled).collect::<Result<Vec<_>>>()?;
            let members: Vec<Name> = members.into_iter().map(|text| schema.intern(text)).collect();
            for &member in &members {
                schema.labels[member.index()].class = members.first().copied();
            }
        }
        Ok(Self { db_id: db_id.to_owned(), labels: schema.labels, written: schema.written, columns })
    }

    /// The name of the database.
    pub fn db_id(&self) -> &str {
        &self.db_id
    }

    /// `table.column`, the table, or `*`.
    pub fn text(&self, name: Name) -> &str {
        &self.labels[name.index()].text
    }

    /// The tables, in no order.
    pub fn tables(&self) -> impl Iterator<Item = &str> {
        self.columns.keys().map(String::as_str)
    }

    /// The columns of a table, in no order; the table is written in lower case.
    pub fn columns(&self, table: &str) -> impl Iterator<Item = &str> {
        self.columns.get(table).into_iter().flatten().map(|(name, _)| name.as_str())
    }

    /// The name that is written so in Spider's files, in lower case: `table`, or `table.column`.
    pub fn written(&self, text: &str) -> Option<Name> {
        self.written.get(text).copied()
    }

    pub(crate) fn has_table(&self, table: &str) -> bool {
        self.columns.contains_key(table)
    }

    /// The columns of a table.
    pub(crate) fn columns_of(&self, table: &str) -> Option<&Map<Name>> {
        self.columns.get(table)
    }

    /// The first of the class that `name` belongs to, if its table is one of `tables`; else `name` itself.
    pub(crate) fn class(&self, name: Name, tables: &[Name]) -> Name {
        let label = &self.labels[name.index()];
        match (label.class, label.of) {
            (Some(class), Some(of)) if tables.iter().any(|table| self.labels[table.index()].owner == of) => class,
            _ => name,
        }
    }

    /// Number that GROUP BY compares of a column: its name without the table.
    pub(crate) fn group(&self, name: Name) -> u32 {
        self.labels[name.index()].group
    }
}

/// Columns that foreign keys join, each class sorted.
fn classes<T: Ord + Copy>(keys: &[[T; 2]]) -> Vec<Vec<T>> {
    let mut classes: Vec<Vec<T>> = Vec::new();
    for key in keys {
        let place = classes.iter().position(|class| key.iter().any(|column| class.contains(column)));
        match place {
            Some(place) => classes[place].extend(key),
            None => classes.push(key.to_vec()),
        }
    }
    for class in &mut classes {
        class.sort_unstable();
        class.dedup();
    }
    classes
}

/// The label of `*`, and of a table named `all`.
const ALL: &str = "__all__";

#[derive(Default)]
struct Interner {
    labels: Vec<Label>,
    by_label: HashMap<String, Name>,
    written: Map<Name>,
    parts: HashMap<String, u32>,
}

impl Interner {
    fn write(&mut self, text: String, label: String) {
        let name = self.intern(label);
        self.written.insert(text, name);
    }

    fn intern(&mut self, label: String) -> Name {
        if let Some(name) = self.by_label.get(&label) {
            return *name;
        }
        let name = Name(u32::try_from(self.labels.len()).unwrap_or(u32::MAX));
        let inner = label.strip_prefix("__").and_then(|label| label.strip_suffix("__")).unwrap_or(&label);
        let text = if label == ALL { "*" } else { inner }.to_owned();
        let group = label.split('.').nth(1).unwrap_or(&label).to_owned();
        let of = label.split_once('.').map(|(table, _)| table.to_owned());
        let owner = label.strip_suffix("__").unwrap_or(&label).to_owned();
        let group = self.part(group);
        let owner = self.part(owner);
        let of = of.map(|of| self.part(of));
        self.labels.push(Label { text, group, of, owner, class: None });
        self.by_label.insert(label, name);
        name
    }

    fn part(&mut self, text: String) -> u32 {
        let next = u32::try_from(self.parts.len()).unwrap_or(u32::MAX);
        *self.parts.entry(text).or_insert(next)
    }
}

/// All schemas of a data set, by the name of the database. They are checked at once and built when first asked for:
/// questions ask a few of many.
#[derive(Debug)]
pub struct DatabaseSchemas {
    schemas: BTreeMap<String, (Checked, OnceLock<DatabaseSchema>)>,
}

/// An entry of `tables.json`: tables, columns and foreign keys of one database by their numbers.
#[derive(Debug, Default, Deserialize)]
pub struct TablesEntry {
    /// The name of the database.
    pub db_id: String,
    /// Names of the tables.
    pub table_names_original: Vec<String>,
    /// Names of the columns, each with the number of its table; that of `*` is -1.
    pub column_names_original: Vec<(i64, String)>,
    /// Pairs of columns.
    #[serde(default)]
    pub foreign_keys: Vec<[usize; 2]>,
}

/// Tables of an entry of `tables.json` with their columns.
#[derive(Debug)]
pub struct ListedTables {
    /// Names of the tables, each with those of its columns in order.
    pub tables: Vec<(String, Vec<String>)>,
    /// Table of each column of the entry, and its place there; `*` has none.
    pub places: Vec<Option<(usize, usize)>>,
}

impl DatabaseSchemas {
    /// Reads Spider's `tables.json` (or BIRD's, which has the same shape).
    pub fn load(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).map_err(Error::io("read", path))?;
        Self::parse(path, &text)
    }

    /// Schemas out of a text that was read from `path`.
    pub fn parse(path: &Path, text: &str) -> Result<Self> {
        let entries: Vec<TablesEntry> = serde_json::from_str(text).map_err(|source| no_schemas(path, source))?;
        let schemas = entries.into_iter().map(|entry| Ok((entry.db_id.clone(), (entry.checked()?, OnceLock::new()))));
        Ok(Self { schemas: schemas.collect::<Result<_>>()? })
    }

    /// The schema of `db_id`.
    pub fn get(&self, db_id: &str) -> Result<&DatabaseSchema> {
        let (checked, schema) = self.schemas.get(db_id).ok_or_else(|| no_schema(db_id, self.ids()))?;
        match schema.get() {
            Some(schema) => Ok(schema),
            None => {
                let built = checked.schema()?;
                Ok(schema.get_or_init(|| built))
            }
        }
    }

    /// True where there is a schema of this name.
    pub fn has(&self, db_id: &str) -> bool {
        self.schemas.contains_key(db_id)
    }

    /// The names of the databases, in order.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.schemas.keys().map(String::as_str)
    }
}

/// Tables with their columns, and classes of columns, by number; all numbers are of something.
#[derive(Debug)]
struct Checked {
    db_id: String,
    tables: Vec<(String, Vec<String>)>,
    classes: Vec<Vec<Option<(usize, usize)>>>,
}

impl Checked {
    fn schema(&self) -> Result<DatabaseSchema> {
        DatabaseSchema::build(&self.db_id, &self.tables, self.classes.iter().cloned())
    }
}

impl TablesEntry {
    /// The tables with their columns.
    ///
    /// # Errors
    ///
    /// If a column is of a table, or a foreign key of a column, that is not there.
    pub fn listed(&self) -> Result<ListedTables> {
        let mut tables: Vec<(String, Vec<String>)> =
            self.table_names_original.iter().map(|name| (name.clone(), Vec::new())).collect();
        let count = tables.len();
        let mut places = Vec::with_capacity(self.column_names_original.len());
        for (table, column) in &self.column_names_original {
            let Ok(index) = usize::try_from(*table) else {
                places.push(None);
                continue;
            };
            let Some((_, columns)) = tables.get_mut(index) else {
                return Err(no_such_index(&self.db_id, "a column is of table", *table, count));
            };
            places.push(Some((index, columns.len())));
            columns.push(column.clone());
        }
        if let Some(&index) = self.foreign_keys.iter().flatten().find(|&&column| column >= places.len()) {
            let (what, index) = ("a foreign key names column", i64::try_from(index).unwrap_or(i64::MAX));
            return Err(no_such_index(&self.db_id, what, index, places.len()));
        }
        Ok(ListedTables { tables, places })
    }

    fn checked(self) -> Result<Checked> {
        let ListedTables { tables, places } = self.listed()?;
        let classes = classes(&self.foreign_keys).into_iter();
        let classes = classes.map(|class| class.into_iter().map(|column| places[column]).collect()).collect();
        Ok(Checked { db_id: self.db_id, tables, classes })
    }
}
