//! Predicted SQL as lines, held against the questions that it belongs to.

use std::path::Path;

use wb_core::{Error, suggest};

use super::{SqlBenchmark, files};
use crate::Result;

/// Questions that the lines belong to.
pub struct ExpectedPredictions<'a> {
    /// The benchmark.
    pub benchmark: SqlBenchmark,
    /// The file of questions.
    pub questions: &'a Path,
    /// The database of each question; empty where lines name none.
    pub db_ids: Vec<&'a str>,
    /// Number of questions.
    pub count: usize,
}

/// Lines, one for each question.
pub struct PredictionLines {
    /// Lines as they stand in the file.
    pub all: Vec<String>,
    /// Number of lines that have a tab inside of the SQL, behind which nothing is read.
    pub cut: usize,
}

/// Reads the file and checks that each line belongs to its question.
///
/// # Errors
///
/// If there are more or fewer lines than questions, or a line names another database than its question.
pub fn read(path: &Path, expected: &ExpectedPredictions<'_>) -> Result<PredictionLines> {
    let what = match expected.benchmark {
        SqlBenchmark::SyntheticSql => "--predictions FILE has one query a line, in the order of the rows of --dataset",
        _ => "--predictions FILE has one query a line, or SQL TAB db_id, in the order of the questions",
    };
    let text = files::read(path, what)?;
    let mut all: Vec<String> = text.lines().map(str::to_owned).collect();
    // Empty lines at the end of a file are no predictions.
    while all.len() > expected.count && all.last().is_some_and(|line| line.trim().is_empty()) {
        all.pop();
    }
    counted(path, all.len(), "lines", expected)?;
    let mut cut = 0;
    for (at, (line, db_id)) in all.iter().zip(&expected.db_ids).enumerate() {
        let Some((_, behind)) = line.trim().split_once('\t') else { continue };
        let named = behind.trim();
        if named == *db_id || named.is_empty() {
            continue;
        }
        // A name is one word; anything else is the rest of a query.
        if named.contains(char::is_whitespace) {
            cut += 1;
            continue;
        }
        let place = format!("{}:{}", path.display(), at + 1);
        let of = format!("question {} of {} asks `{db_id}`", at + 1, expected.questions.display());
        let known = expected.db_ids.contains(&named);
        let hint = match known {
            true => Some("predictions stand in the order of the questions".to_owned()),
            false => suggest::nearest(named, expected.db_ids.iter().copied())
                .map(|near| format!("did you mean `{near}`?"))
                .or_else(|| Some("a line is SQL, or SQL TAB db_id; nothing else may stand behind a tab".to_owned())),
        };
        return Err(Error::data(place, format!("the database is `{named}`, but {of}")).with_hint_if(hint));
    }
    Ok(PredictionLines { all, cut })
}

/// Refuses another number of predictions than of questions.
pub fn counted(path: &Path, found: usize, unit: &str, expected: &ExpectedPredictions<'_>) -> Result<()> {
    if found == expected.count {
        return Ok(());
    }
    let (of, hint) = match expected.benchmark {
        SqlBenchmark::SyntheticSql => {
            ("rows", "one prediction for each row of --dataset, in its order; an empty one counts as wrong")
        }
        _ => (
            "questions",
            "one prediction for each question, in the order of that file (--questions names another); an empty one \
             counts as wrong",
        ),
    };
    let message = format!("{found} {unit}, but {} has {} {of}", expected.questions.display(), expected.count);
    Err(Error::file(path, message).with_hint(hint))
}
