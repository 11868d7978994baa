//! Run files of TREC: `qid Q0 docid rank score tag`, one hit a line, for others' tools and from them.

use std::{
    collections::HashMap,
    fs,
    io::{BufWriter, Write},
    path::Path,
};

use wb_core::{atomic, remote::Outgoing};

use crate::{Error, Result};

/// The hits of one query, by ids.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TrecRanking {
    /// The query's id.
    pub query: String,
    /// Document ids with scores, in the file's order.
    pub hits: Vec<(String, f64)>,
}

/// Writes rankings as a run file. Ids with spaces would shift the columns and are refused, as is an empty id.
pub fn write_runs(path: &Path, runs: &[TrecRanking], tag: &str) -> Result<()> {
    let word = |text: &str, what: &str| {
        if text.is_empty() || text.contains(char::is_whitespace) {
            let message = format!("{what} `{text}` cannot stand in a run file, expected a word without spaces");
            return Err(Error::file(path, message));
        }
        Ok(())
    };
    word(tag, "tag")?;
    for run in runs {
        word(&run.query, "query id")?;
        run.hits.iter().try_for_each(|(document, _)| word(document, "document id"))?;
    }
    let to = Outgoing::to(path)?;
    atomic::write_with(to.local(), |file| {
        let mut out = BufWriter::new(file);
        for run in runs {
            for ((document, score), rank) in run.hits.iter().zip(1..) {
                // The shortest digits that read back as the same 32-bit number.
                writeln!(out, "{} Q0 {document} {rank} {} {tag}", run.query, *score as f32)?;
            }
        }
        out.flush()
    })?;
    to.send(&[])
}

/// Reads a run file: queries in the order in which they first stand there, their hits by descending score, those of one
/// score in the order of the file. (trec_eval orders those by id, from the last.)
pub fn read_runs(path: &Path) -> Result<Vec<TrecRanking>> {
    let text = fs::read_to_string(path).map_err(Error::io("read", path))?;
    let (mut runs, mut places) = (Vec::<TrecRanking>::new(), HashMap::<&str, usize>::new());
    for (line, number) in text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty()) {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let [query, _, document, _, score, _] = columns[..] else {
            let what = format!("line {number}: {} columns, expected `qid Q0 docid rank score tag`", columns.len());
            return Err(Error::file(path, what));
        };
        let score: f64 =
            score.parse().map_err(|_| Error::file(path, format!("line {number}: the score `{score}` is no number")))?;
        let at = *places.entry(query).or_insert_with(|| {
            runs.push(TrecRanking { query: query.to_owned(), hits: Vec::new() });
            runs.len() - 1
        });
        runs[at].hits.push((document.to_owned(), score));
    }
    runs.iter_mut().for_each(|run| run.hits.sort_by(|one, other| other.1.total_cmp(&one.1)));
    Ok(runs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_those_of_trec_and_ids_are_words() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bm25.trec");
        let run = |document: &str| {
            let hits = vec![("d2".to_owned(), f64::from(0.1f32)), (document.to_owned(), f64::from(-1e-20f32))];
            TrecRanking { query: "q".into(), hits }
        };
        write_runs(&path, &[run("d1")], "bm25").unwrap();
        assert_eq!(
            std::fs::read_to_string(&path).unwrap(),
            "q Q0 d2 1 0.1 bm25\nq Q0 d1 2 -0.00000000000000000001 bm25\n"
        );
        let error = write_runs(&path, &[run("d 1")], "bm25").unwrap_err().to_string();
        assert!(
            error.ends_with("document id `d 1` cannot stand in a run file, expected a word without spaces"),
            "{error}"
        );
    }

    #[test]
    fn what_is_written_is_read_and_what_is_no_run_says_where() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.trec");
        let hits = vec![("d2".to_owned(), 1.5), ("d9".to_owned(), 1.5), ("d1".to_owned(), 0.25)];
        let runs = [("b", hits.clone()), ("a", vec![])].map(|(query, hits)| TrecRanking { query: query.into(), hits });
        write_runs(&path, &runs, "t").unwrap();
        assert_eq!(read_runs(&path).unwrap(), runs[..1]);
        fs::write(&path, "b Q0 d1 2 0.25 t\n\nb Q0 d2 1 1.5 t\nb Q0 d9 1 1.5 t\n").unwrap();
        assert_eq!(read_runs(&path).unwrap()[0].hits, hits);
        for (text, expected) in [("a Q0 d 1 0.5", "line 1: 5 columns"), ("a Q0 d 1 x t", "the score `x` is no number")]
        {
            fs::write(&path, text).unwrap();
            assert!(read_runs(&path).unwrap_err().to_string().contains(expected));
        }
    }
}
