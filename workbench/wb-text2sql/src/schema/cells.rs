//! The texts that stand in a database, so that a question's words can be found to be values.

use std::collections::HashMap;

use wb_sql::execute::{CellValue, DatabaseSource, Result, Seat, Statement, StatementOutcome};

use super::{ColumnKind, SchemaCatalog};
use crate::words::stem;

/// Texts of a database, and in which columns they stand.
#[derive(Debug, Clone, Default)]
pub struct Cells {
    by_text: HashMap<String, Vec<(usize, String)>>,
    /// Columns that could not be read.
    pub unread: usize,
}

/// Number of texts of a column that are read at most.
pub const MOST_TEXTS: u64 = 5000;
/// Longer texts are nothing that a question names.
const LONGEST: usize = 80;

impl Cells {
    /// Reads the columns that are no numbers, through the judge's workers; without a database there are no texts.
    ///
    /// # Errors
    ///
    /// If no worker can be started.
    pub fn load(catalog: &SchemaCatalog, seat: &mut Seat<'_>, source: &DatabaseSource) -> Result<Self> {
        let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
        let wanted: Vec<usize> = (0..catalog.columns.len())
            .filter(|&at| !matches!(catalog.columns[at].kind, ColumnKind::Number) && catalog.columns[at].plain)
            .collect();
        let texts: Vec<String> = wanted
            .iter()
            .map(|&at| {
                let column = &catalog.columns[at];
                let table = quoted(&catalog.tables[column.table].name);
                format!("SELECT DISTINCT {} FROM {table} LIMIT {MOST_TEXTS}", quoted(&column.name))
            })
            .collect();
        let statements: Vec<Statement<'_>> =
            texts.iter().map(|sql| Statement { source, sql, max_rows: MOST_TEXTS, enough_cells: u64::MAX }).collect();
        let mut cells = Self::default();
        for (execution, column) in seat.execute_all(&statements)?.into_iter().zip(wanted) {
            if execution.outcome != StatementOutcome::Done {
                cells.unread += 1;
            }
            for value in &execution.table.cells {
                match value {
                    CellValue::Text(text) => cells.add(column, text),
                    CellValue::Int(number) => cells.add(column, &number.to_string()),
                    _ => {}
                }
            }
        }
        Ok(cells)
    }

    /// Adds a text of a column.
    pub fn add(&mut self, column: usize, text: &str) {
        let text = text.trim();
        if text.is_empty() || text.len() > LONGEST {
            return;
        }
        let lower = text.to_lowercase();
        let singular = stem(&lower);
        if singular != lower {
            self.put(singular, column, text);
        }
        self.put(lower, column, text);
    }

    fn put(&mut self, key: String, column: usize, text: &str) {
        let all = self.by_text.entry(key).or_default();
        if !all.iter().any(|(own, _)| *own == column) {
            all.push((column, text.to_owned()));
        }
    }

    /// The columns that have this text, whatever its case, each with the text as it stands there.
    pub fn find(&self, text: &str) -> &[(usize, String)] {
        self.by_text.get(&text.to_lowercase()).map_or(&[], Vec::as_slice)
    }
}
