//! Rows of a table in an SQLite database, which is opened without any lock and never written.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags, types::ValueRef};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wb_code::canonical_name;
use wb_core::{Origin, Progress, remote, suggest};

use super::{
    Error, Result, Snippet,
    source::{SnippetSource, Take, bad},
};

/// Table to read, and its columns.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SqliteSnippets {
    /// The database file.
    #[serde(deserialize_with = "wb_core::paths::typed")]
    pub path: PathBuf,
    /// The table; views and virtual tables are refused, since they can compute without end.
    pub table: String,
    /// Names of the columns.
    pub columns: Columns,
    /// The language of rows that name none.
    pub language: String,
}

/// Names of columns; empty ones are not read, `text` is needed.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Columns {
    /// The text.
    pub text: String,
    /// Words about the text.
    pub context: String,
    /// The id; without it the row's number in the table (`rowid`).
    pub id: String,
    /// Programming language.
    pub language: String,
    /// Unit that must not be split; without it the table.
    pub group: String,
    /// File inside the group.
    pub path: String,
    /// License.
    pub license: String,
}

impl Columns {
    fn named(&self) -> [(&'static str, &str); 7] {
        [
            ("text", &self.text),
            ("context", &self.context),
            ("id", &self.id),
            ("language", &self.language),
            ("group", &self.group),
            ("path", &self.path),
            ("license", &self.license),
        ]
    }
}

impl SnippetSource for SqliteSnippets {
    fn kind(&self) -> &'static str {
        "sqlite"
    }

    fn place(&self) -> String {
        format!("sqlite {}: {}", self.path.display(), self.table)
    }

    fn validate(&self, key: &str) -> wb_core::Result<()> {
        let texts = [("table", self.table.as_str()), ("columns.text", self.columns.text.as_str())];
        if self.path.as_os_str().is_empty() {
            return Err(Error::value(format!("{key}.path"), "got nothing, expected a database file"));
        }
        for (name, value) in texts {
            if value.trim().is_empty() {
                return Err(Error::value(format!("{key}.{name}"), "got nothing, expected a name"));
            }
        }
        for (name, value) in self.columns.named().into_iter().chain([("table", self.table.as_str())]) {
            if value.contains('\0') {
                return Err(Error::value(format!("{key}.{name}"), "holds a NUL, expected a name"));
            }
        }
        Ok(())
    }

    fn each(&self, take: &mut Take<'_>, progress: &mut dyn FnMut(Progress)) -> Result<()> {
        let connection = open(&self.path)?;
        self.check(&connection)?;
        take.file();
        let failed = |error| failed(&self.path, error);
        // A table without row numbers lies in the order of its primary key.
        let has_rowid = connection.prepare(&format!("SELECT rowid FROM {}", quoted(&self.table))).is_ok();
        let (number, order) = if has_rowid { ("rowid", " ORDER BY rowid") } else { ("NULL", "") };
        let columns: Vec<String> = self
            .columns
            .named()
            .into_iter()
            .map(|(_, name)| if name.is_empty() { "NULL".to_owned() } else { quoted(name) })
            .collect();
        let query = format!("SELECT {number}, {} FROM {}{order}", columns.join(", "), quoted(&self.table));
        let mut statement = connection.prepare(&query).map_err(failed)?;
        let mut rows = statement.query([]).map_err(failed)?;
        let mut done = 0;
        while let Some(row) = rows.next().map_err(failed)? {
            done += 1;
            if done % 4096 == 0 {
                progress(Progress::new("reading snippets", done, 0));
            }
            let number = match row.get_ref(0).map_err(failed)? {
                ValueRef::Integer(number) => number,
                _ => done as i64,
            };
            let mut cells: [Option<String>; 7] = Default::default();
            let mut wrong = None;
            for (at, (name, column)) in self.columns.named().into_iter().enumerate() {
                match cell(row.get_ref(at + 1).map_err(failed)?, name == "text") {
                    Ok(cell) => cells[at] = cell,
                    Err((reason, what)) => {
                        let place = format!("{}: table {} row {number}", self.path.display(), self.table);
                        wrong = Some(bad(place, reason, format!("column `{column}` {what}")));
                        break;
                    }
                }
            }
            match (wrong, cells) {
                (Some(error), _) => take.bad(error)?,
                (None, [None, ..]) => take.leave_out(format!("null `{}`", self.columns.text), 1),
                (None, [Some(text), context, id, language, group, path, license]) => take.snippet(Snippet {
                    id: format!("{}/{}", self.table, id.unwrap_or_else(|| number.to_string())),
                    language: canonical_name(&language.unwrap_or_else(|| self.language.clone())),
                    text,
                    context: context.unwrap_or_default(),
                    origin: Origin {
                        group: group.unwrap_or_else(|| self.table.clone()),
                        path: path.unwrap_or_default(),
                        license: license.unwrap_or_default(),
                        ..Origin::default()
                    },
                }),
            }
        }
        Ok(())
    }
}

impl SqliteSnippets {
    /// Checks that table and columns are there. (SQLite reads a name in double quotes that it does not know as text.)
    fn check(&self, connection: &Connection) -> Result<()> {
        let failed = |error| failed(&self.path, error);
        let path = self.path.display().to_string();
        let wrong = |message: String, hint: Option<String>| Error::file(&self.path, message).with_hint_if(hint);
        let mut statement = connection
            .prepare("SELECT name, type, coalesce(rootpage, 0) FROM sqlite_schema WHERE type IN ('table', 'view')")
            .map_err(failed)?;
        let tables: Vec<(String, String, i64)> = statement
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            .and_then(Iterator::collect)
            .map_err(failed)?;
        let Some((_, kind, root)) = tables.iter().find(|(name, ..)| name.eq_ignore_ascii_case(&self.table)) else {
            let names: Vec<&str> = tables.iter().map(|(name, ..)| name.as_str()).collect();
            return Err(wrong(format!("no table `{}`", self.table), suggest::hint(&self.table, names)));
        };
        if kind != "table" || *root == 0 {
            let what = if kind == "view" { "a view" } else { "a virtual table" };
            let message = format!("`{}` is {what}, expected a table", self.table);
            let hint = format!("sqlite3 '{path}' 'CREATE TABLE rows AS SELECT * FROM {}'", quoted(&self.table));
            return Err(wrong(message, Some(hint)));
        }
        let mut statement = connection.prepare("SELECT name FROM pragma_table_xinfo(?1)").map_err(failed)?;
        let names: Vec<String> =
            statement.query_map([&self.table], |row| row.get(0)).and_then(Iterator::collect).map_err(failed)?;
        for (_, column) in self.columns.named().into_iter().filter(|(_, column)| !column.is_empty()) {
            if !names.iter().any(|name| name.eq_ignore_ascii_case(column)) {
                let message = format!("no column `{column}`, table `{}` has {}", self.table, names.join(", "));
                return Err(wrong(message, suggest::hint(column, names.iter().map(String::as_str))));
            }
        }
        Ok(())
    }
}

/// Opens a database that nobody writes: `immutable` takes no lock and leaves no file beside it, so what another
/// process has not yet put into the file itself would not be seen, and is refused.
fn open(place: &Path) -> Result<Connection> {
    let path = &remote::local(place)?;
    let absolute = std::path::absolute(path).map_err(Error::io("read", path))?;
    let bytes = std::fs::metadata(path).map_err(Error::io("read", path))?.len();
    for ending in ["-wal", "-journal"] {
        let mut beside = place.as_os_str().to_owned();
        beside.push(ending);
        let beside = Path::new(&beside);
        if remote::exists(beside)? && std::fs::metadata(remote::local(beside)?).is_ok_and(|meta| meta.len() > 0) {
            let message =
                format!("a file that ends in `{ending}` lies beside it: a program has it open, or was stopped");
            let hint = format!("sqlite3 {} 'PRAGMA wal_checkpoint(TRUNCATE)'", place.display());
            return Err(Error::file(place, message).with_hint(hint));
        }
    }
    if bytes == 0 {
        return Err(Error::file(path, "the file is empty"));
    }
    let uri = format!("file:{}?mode=ro&immutable=1", encoded(&absolute));
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(uri, flags).map_err(|error| failed(path, error))?;
    // A crafted schema must not run functions, and a damaged page is to be seen before it is read.
    connection
        .execute_batch("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA query_only = ON;")
        .map_err(|error| failed(path, error))?;
    Ok(connection)
}

/// A path inside of a URI.
fn encoded(path: &Path) -> String {
    let mut uri = String::new();
    for byte in path.to_string_lossy().replace('\\', "/").bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'_' | b'-' | b':' => uri.push(char::from(byte)),
            other => uri.push_str(&format!("%{other:02X}")),
        }
    }
    if uri.starts_with('/') { uri } else { format!("/{uri}") }
}

/// A name as SQL wants it.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A cell as text; numbers are taken as they are but for the text itself.
fn cell(value: ValueRef<'_>, is_text: bool) -> Result<Option<String>, (&'static str, &'static str)> {
    match value {
        ValueRef::Null => Ok(None),
        ValueRef::Text(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Some(text.to_owned())),
            Err(_) => Err(("bad UTF-8", "holds a text that is not UTF-8")),
        },
        ValueRef::Integer(number) if !is_text => Ok(Some(number.to_string())),
        ValueRef::Real(number) if !is_text => Ok(Some(number.to_string())),
        ValueRef::Integer(_) | ValueRef::Real(_) => Err(("wrong type", "holds a number, expected text")),
        ValueRef::Blob(_) => Err(("wrong type", "holds bytes, expected text")),
    }
}

fn failed(path: &Path, error: rusqlite::Error) -> Error {
    let code = error.sqlite_error_code();
    let message = match code {
        Some(rusqlite::ErrorCode::NotADatabase) => "not an SQLite database",
        Some(rusqlite::ErrorCode::DatabaseCorrupt) => "the database is damaged",
        _ => "SQLite cannot read it",
    };
    Error::file(path, message).with_cause(error)
}

#[cfg(test)]
mod tests;
