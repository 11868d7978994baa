//! Schema out of the statements that make a database: `CREATE TABLE` with its columns, types and keys.
//!
//! Nothing is run. What is no column and no key (checks, indexes, rows, views) is gone over.

use wb_sql::spider::TablesEntry;

use super::{
    ColumnKind,
    entry::{PrimaryKey, SchemaEntry},
};
use crate::answer::without_comments;

/// Tables of a script, numbered as `tables.json` numbers them; `*` is no column here.
pub(super) fn entry(db_id: &str, script: &str) -> SchemaEntry {
    let tables = TablesEntry { db_id: db_id.to_owned(), ..TablesEntry::default() };
    let mut entry = SchemaEntry { tables, ..SchemaEntry::default() };
    let mut references = Vec::new();
    let tokens = tokens(&without_comments(script));
    let mut rest = tokens.as_slice();
    while !rest.is_empty() {
        let end = rest.iter().position(|token| token.is(";")).unwrap_or(rest.len());
        if let Some((name, definitions)) = created(&rest[..end]) {
            table(&mut entry, name, definitions, &mut references);
        }
        rest = rest.get(end + 1..).unwrap_or_default();
    }
    entry.tables.foreign_keys = references.iter().filter_map(|reference| key(&entry, reference)).collect();
    entry
}

/// A word, a name or text in quotes, or a sign.
struct Token {
    text: String,
    quoted: bool,
}

impl Token {
    /// True for this word or sign outside of quotes, whatever its case.
    fn is(&self, word: &str) -> bool {
        !self.quoted && self.text.eq_ignore_ascii_case(word)
    }
}

fn tokens(script: &str) -> Vec<Token> {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
    let mut tokens = Vec::new();
    let mut rest = script.trim_start();
    while let Some(first) = rest.chars().next() {
        let close = match first {
            '\'' | '"' | '`' => Some(first),
            '[' => Some(']'),
            _ => None,
        };
        let (text, length) = match close {
            Some(close) => {
                let inside = &rest[1..];
                let end = inside.find(close).unwrap_or(inside.len());
                (&inside[..end], (end + 2).min(rest.len()))
            }
            None if is_word(first) => {
                let end = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
                (&rest[..end], end)
            }
            None => (&rest[..first.len_utf8()], first.len_utf8()),
        };
        tokens.push(Token { text: text.to_owned(), quoted: close.is_some() });
        rest = rest[length..].trim_start();
    }
    tokens
}

/// Name and definitions of the table that a statement creates.
fn created(statement: &[Token]) -> Option<(&str, &[Token])> {
    let [create, rest @ ..] = statement else { return None };
    let open = rest.iter().position(|token| token.is("("))?;
    let head = &rest[..open];
    let is_table = create.is("create") && head.iter().take(2).any(|token| token.is("table"));
    // `CREATE TABLE name AS SELECT max(x) ...` has no definitions.
    if !is_table || head.iter().any(|token| token.is("as")) {
        return None;
    }
    let inside = &rest[open + 1..];
    let close = closing(inside).unwrap_or(inside.len());
    Some((&head.last()?.text, &inside[..close]))
}

/// True for a definition that is no column: `CHECK (...)`, `UNIQUE KEY name (...)`, `EXCLUDE USING gist (...)`. A column
/// may have such a name too, and then a type comes after it: `key TEXT`, `key VARCHAR(20)`.
fn is_constraint(definition: &[Token]) -> bool {
    let [word, after @ ..] = definition else { return false };
    let opens = |token: Option<&Token>| token.is_some_and(|token| token.is("("));
    match () {
        () if word.is("check") => opens(after.first()),
        () if word.is("exclude") => opens(after.first()) || after.first().is_some_and(|token| token.is("using")),
        () if ["unique", "key", "index"].iter().any(|other| word.is(other)) => {
            let after = match after {
                [next, rest @ ..] if next.is("key") || next.is("index") => rest,
                _ => after,
            };
            // A name may stand before the columns; a length after a type is a number.
            let columns = after.iter().take(2).position(|token| token.is("("));
            columns.is_some_and(|at| after.get(at + 1).is_some_and(|token| token.text.parse::<u64>().is_err()))
        }
        () => false,
    }
}

/// Place of the `)` that closes what was open before these tokens.
fn closing(tokens: &[Token]) -> Option<usize> {
    let mut depth = 1;
    tokens.iter().position(|token| {
        depth += i32::from(token.is("(")) - i32::from(token.is(")"));
        depth == 0
    })
}

/// Columns of a table, and the columns of another that they refer to; both by name.
struct Reference {
    table: usize,
    columns: Vec<String>,
    target: String,
    /// Empty where the other table's primary key is meant.
    target_columns: Vec<String>,
}

fn table(entry: &mut SchemaEntry, name: &str, definitions: &[Token], references: &mut Vec<Reference>) {
    let table = entry.tables.table_names_original.len();
    let first = entry.tables.column_names_original.len();
    entry.tables.table_names_original.push(name.to_owned());
    let mut primary = Vec::new();
    let mut rest = definitions;
    while !rest.is_empty() {
        let mut depth = 0;
        let end = rest.iter().position(|token| {
            depth += i32::from(token.is("(")) - i32::from(token.is(")"));
            depth == 0 && token.is(",")
        });
        let end = end.unwrap_or(rest.len());
        let mut definition = &rest[..end];
        rest = rest.get(end + 1..).unwrap_or_default();
        if let [constraint, _, named @ ..] = definition
            && constraint.is("constraint")
        {
            definition = named;
        }
        let Some(word) = definition.first() else { continue };
        let refers = |columns: Vec<String>| {
            let at = definition.iter().position(|token| token.is("references"))?;
            let target = definition.get(at + 1)?.text.clone();
            Some(Reference { table, columns, target, target_columns: listed(&definition[at + 2..]) })
        };
        if word.is("primary") {
            primary.extend(listed(definition));
        } else if word.is("foreign") {
            references.extend(refers(listed(definition)));
        } else if !is_constraint(definition) {
            let kind = definition.get(1).map_or(ColumnKind::Text, |token| kind(&token.text));
            if definition.windows(2).any(|pair| pair[0].is("primary") && pair[1].is("key")) {
                primary.push(word.text.clone());
            }
            references.extend(refers(vec![word.text.clone()]));
            let table = i64::try_from(table).unwrap_or(i64::MAX);
            entry.tables.column_names_original.push((table, word.text.clone()));
            entry.column_types.push(kind);
        }
    }
    let place = |name: &String| {
        let columns = entry.tables.column_names_original[first..].iter();
        columns.clone().position(|(_, column)| column.eq_ignore_ascii_case(name)).map(|at| first + at)
    };
    let places: Vec<usize> = primary.iter().filter_map(place).collect();
    match places[..] {
        [] => {}
        [one] => entry.primary_keys.push(PrimaryKey::One(one)),
        _ => entry.primary_keys.push(PrimaryKey::Several(places)),
    }
}

/// Names in the first parentheses.
fn listed(tokens: &[Token]) -> Vec<String> {
    let inside = tokens.iter().skip_while(|token| !token.is("(")).skip(1).take_while(|token| !token.is(")"));
    inside.filter(|token| !token.is(",")).map(|token| token.text.clone()).collect()
}

/// First pair of columns that a reference joins.
fn key(entry: &SchemaEntry, reference: &Reference) -> Option<[usize; 2]> {
    let place = |table: usize, name: &str| {
        let table = i64::try_from(table).ok()?;
        let is_it = |(of, column): &(i64, String)| *of == table && column.eq_ignore_ascii_case(name);
        entry.tables.column_names_original.iter().position(is_it)
    };
    let target =
        entry.tables.table_names_original.iter().position(|name| name.eq_ignore_ascii_case(&reference.target))?;
    let to = match reference.target_columns.first() {
        Some(column) => place(target, column)?,
        None => {
            let of_target = |at: &usize| usize::try_from(entry.tables.column_names_original[*at].0) == Ok(target);
            let first = |key: &PrimaryKey| match key {
                PrimaryKey::One(at) => Some(*at),
                PrimaryKey::Several(all) => all.first().copied(),
            };
            entry.primary_keys.iter().filter_map(first).find(of_target)?
        }
    };
    Some([place(reference.table, reference.columns.first()?)?, to])
}

/// Kind of a type by its name, after SQLite's rules of affinity.
fn kind(name: &str) -> ColumnKind {
    let name = name.to_ascii_lowercase();
    let is = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
    match () {
        () if is(&["bool"]) => ColumnKind::Boolean,
        () if is(&["date", "time", "year"]) => ColumnKind::Time,
        () if is(&["int", "serial", "real", "floa", "doub", "numeric", "number", "decimal", "money"]) => {
            ColumnKind::Number
        }
        () if is(&["blob", "json", "geo"]) => ColumnKind::Others,
        () => ColumnKind::Text,
    }
}

#[cfg(test)]
mod tests {
    use wb_sql::{Compat, spider::parse};

    use super::*;

    #[test]
    fn tables_columns_and_keys_are_read() {
        let script = "CREATE TABLE port (id INT PRIMARY KEY, name VARCHAR(20), opened DATE); -- ports; all\n\
            create table if not exists \"ship\" (ship_id integer, tons DECIMAL(5, 2), [port] int REFERENCES port(id), \
            CONSTRAINT one PRIMARY KEY (ship_id, tons), CHECK (tons > 0), active boolean DEFAULT (1)); \
            INSERT INTO port VALUES (1, 'CREATE TABLE x (y INT);', '1900'); \
            CREATE TABLE crew (name TEXT, ship_id INT, FOREIGN KEY (ship_id) REFERENCES ship(ship_id)); \
            CREATE VIEW v (a) AS SELECT 1; CREATE TABLE copied AS SELECT max(id) FROM port";
        let entry = entry("ports", script);
        assert_eq!(entry.tables.table_names_original, ["port", "ship", "crew"]);
        let names: Vec<&str> = entry.tables.column_names_original.iter().map(|(_, name)| name.as_str()).collect();
        assert_eq!(names, ["id", "name", "opened", "ship_id", "tons", "port", "active", "name", "ship_id"]);
        let kinds = [ColumnKind::Number, ColumnKind::Text, ColumnKind::Time, ColumnKind::Number];
        assert_eq!(entry.column_types[..4], kinds);
        assert_eq!(entry.column_types[6], ColumnKind::Boolean);
        assert_eq!(entry.tables.foreign_keys, [[5, 0], [8, 3]]);
        let catalog = entry.catalog().unwrap();
        assert_eq!(catalog.tables.iter().map(|table| table.primary).collect::<Vec<_>>(), [Some(0), Some(3), None]);
        let sql = "SELECT T1.name FROM port AS T1 JOIN ship AS T2 ON T1.id = T2.port WHERE T2.tons > 3";
        assert!(parse(sql, &catalog.schema, Compat::Official).is_ok());
    }

    #[test]
    fn columns_may_have_the_names_of_constraints() {
        let script = "CREATE TABLE t (key TEXT, index INT, check VARCHAR(3), unique VARCHAR(20) NOT NULL, a INT, \
            KEY (a), KEY by_a (a), UNIQUE (a), UNIQUE KEY one (a, key), INDEX i (a), CHECK (a > 0), EXCLUDE USING gist (a))";
        let entry = entry("d", script);
        let names: Vec<&str> = entry.tables.column_names_original.iter().map(|(_, name)| name.as_str()).collect();
        assert_eq!(names, ["key", "index", "check", "unique", "a"]);
    }

    #[test]
    fn broken_scripts_have_the_tables_that_are_there() {
        let names = |script: &str| entry("d", script).tables.table_names_original;
        assert_eq!(names("CREATE TABLE t (a INT, b"), ["t"]);
        assert_eq!(names("CREATE TABLE t; DROP TABLE (t)"), [""; 0]);
        assert_eq!(names("'"), [""; 0]);
    }
}
