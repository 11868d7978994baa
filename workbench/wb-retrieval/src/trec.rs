//! Run files of TREC: `qid Q0 docid rank score tag`, one hit a line, for others' tools.

use std::{
    io::{BufWriter, Write},
    path::Path,
};

use wb_core::atomic;

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
    atomic::write_with(path, |file| {
        let mut out = BufWriter::new(file);
        for run in runs {
            for ((document, score), rank) in run.hits.iter().zip(1..) {
                // The shortest digits that read back as the same 32-bit number.
                writeln!(out, "{} Q0 {document} {rank} {} {tag}", run.query, *score as f32)?;
            }
        }
        out.flush()
    })?;
    Ok(())
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
}
