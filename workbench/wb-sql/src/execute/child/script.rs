//! A fresh database made by a script, one statement after the other.

use rusqlite::Connection;

/// Runs a script's statements.
///
/// Each is handed over by itself: SQLite copies what it is given before it looks for the end of the first statement, so
/// that a long script in one piece would be copied as often as it has statements.
///
/// # Errors
///
/// The first that SQLite has.
pub(super) fn run(connection: &Connection, script: &str) -> rusqlite::Result<()> {
    let mut begin = 0;
    let mut end = 0;
    while end < script.len() {
        end = statement_end(script, end);
        match connection.execute_batch(&script[begin..end]) {
            // A trigger has semicolons within: it goes on to the next one.
            Err(error) if end < script.len() && is_incomplete(&error) => {}
            ended => {
                ended?;
                begin = end;
            }
        }
    }
    Ok(())
}

fn is_incomplete(error: &rusqlite::Error) -> bool {
    let message = match error {
        rusqlite::Error::SqliteFailure(_, Some(message)) => message,
        rusqlite::Error::SqlInputError { msg, .. } => msg,
        _ => return false,
    };
    message.starts_with("incomplete input")
}

/// Behind the next semicolon outside of quotes and comments, or the end of the text.
fn statement_end(sql: &str, from: usize) -> usize {
    let bytes = sql.as_bytes();
    let mut at = from;
    while let Some(&byte) = bytes.get(at) {
        let behind = |closer: &[u8], from: usize| {
            let rest = bytes.get(from..).unwrap_or_default();
            let found = rest.windows(closer.len()).position(|one| one == closer);
            found.map_or(bytes.len(), |found| from + found + closer.len())
        };
        at = match byte {
            b';' => return at + 1,
            b'-' if bytes[at..].starts_with(b"--") => behind(b"\n", at + 2),
            b'/' if bytes[at..].starts_with(b"/*") => behind(b"*/", at + 2),
            b'\'' | b'"' | b'`' => behind(&[byte], at + 1),
            b'[' => behind(b"]", at + 1),
            _ => at + 1,
        };
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_run_statement_by_statement() {
        let script = "create table t(a, [b;c]); -- one; two\n insert into t values ('x;''y', \"z;\"), (2, /* ; */ 3);
            create table log(n);
            create trigger r after insert on t begin insert into log values (new.a); insert into log values (';'); end;
            insert into t values (4, 5);;
            insert into t values (6, 7)";
        let connection = Connection::open_in_memory().unwrap();
        run(&connection, script).unwrap();
        let one = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, String>(0)).unwrap();
        assert_eq!(one("select group_concat(a, ',') from t"), "x;'y,2,4,6");
        assert_eq!(one("select group_concat(n, ',') from log"), "4,;,6,;");
        assert!(run(&connection, "create table u(a); insert into nowhere values (1)").is_err());
        assert!(run(&connection, "create table v(a").is_err());
        run(&connection, " -- nothing; at all\n /* ; */ ").unwrap();
    }

    #[test]
    fn statements_end_at_semicolons_outside_of_quotes() {
        for (sql, end) in [("a;b", 2), ("';';", 4), ("a -- ;\n;", 8), ("/*;*/;x", 6), ("a", 1), ("'a;", 3), ("/*;", 3)]
        {
            assert_eq!(statement_end(sql, 0), end, "{sql}");
        }
    }
}
