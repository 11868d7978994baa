//! Run files of TREC: `qid Q0 docid rank score tag`, one hit a line, for others' tools.

use std::{
    collections::HashMap,
    io::{BufWriter, Write},
    path::Path,
};

use wb_core::{Corpus, Query, Ranking, atomic};

use crate::{Error, Result, beir::lines};

/// The hits of one query, by ids.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Run {
    /// The query's id.
    pub query: String,
    /// Document ids with scores, in the file's order.
    pub hits: Vec<(String, f64)>,
}

/// Writes rankings as a run file. Ids with spaces would shift the columns and are refused, as is an empty id.
pub fn write_run(path: &Path, rankings: &[Ranking], queries: &[Query], corpus: &Corpus, tag: &str) -> Result<()> {
    let documents = corpus.documents();
    let runs: Result<Vec<Run>> = rankings
        .iter()
        .map(|ranking| {
            let query = queries.get(ranking.query).map(|query| query.id.clone());
            let query = query.ok_or(Error::Position { of: "queries", position: ranking.query, n: queries.len() })?;
            let hit = |hit: &wb_core::Hit| match documents.get(hit.document) {
                Some(document) => Ok((document.id.clone(), f64::from(hit.score))),
                None => Err(Error::Position { of: "documents", position: hit.document, n: documents.len() }),
            };
            Ok(Run { query, hits: ranking.hits.iter().map(hit).collect::<Result<_>>()? })
        })
        .collect();
    write_runs(path, &runs?, tag)
}

/// Writes hits that are known by ids.
pub fn write_runs(path: &Path, runs: &[Run], tag: &str) -> Result<()> {
    let word = |text: &str, what: &str| {
        if text.is_empty() || text.contains(char::is_whitespace) {
            let message = format!("{what} `{text}` cannot stand in a run file, expected a word without spaces");
            return Err(Error::Core(wb_core::Error::data(path.display().to_string(), message)));
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

/// Reads a run file; queries in the order in which they first stand there, hits in file order.
pub fn read_run(path: &Path) -> Result<Vec<Run>> {
    let mut runs: Vec<Run> = Vec::new();
    let mut position: HashMap<String, usize> = HashMap::new();
    for line in lines(path)? {
        let (number, line) = line?;
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [query, _, document, _, score, _] = fields[..] else {
            let message = format!("{} fields, expected six: query Q0 document rank score tag", fields.len());
            return Err(Error::line(path, number, message));
        };
        let score: f64 = match score.parse() {
            Ok(score) if f64::is_finite(score) => score,
            _ => return Err(Error::line(path, number, format!("score `{score}`, expected a finite number"))),
        };
        let at = *position.entry(query.to_owned()).or_insert_with(|| {
            runs.push(Run { query: query.to_owned(), hits: Vec::new() });
            runs.len() - 1
        });
        runs[at].hits.push((document.to_owned(), score));
    }
    Ok(runs)
}

#[cfg(test)]
mod tests {
    use wb_core::{Document, Hit};

    use super::*;

    #[test]
    fn what_is_written_reads_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bm25.trec");
        let document = |id: &str| Document { id: id.into(), ..Document::default() };
        let corpus = Corpus::new(vec![document("d1"), document("d2")]).unwrap();
        let queries = [Query { id: "q".into(), text: String::new() }];
        let hits = vec![Hit { document: 1, score: 0.1 }, Hit { document: 0, score: -1e-20 }];
        let rankings = [Ranking { query: 0, hits }];
        write_run(&path, &rankings, &queries, &corpus, "bm25").unwrap();
        assert_eq!(
            std::fs::read_to_string(&path).unwrap(),
            "q Q0 d2 1 0.1 bm25\nq Q0 d1 2 -0.00000000000000000001 bm25\n"
        );
        let runs = read_run(&path).unwrap();
        assert_eq!(runs[0].query, "q");
        assert_eq!(runs[0].hits.iter().map(|hit| hit.1 as f32).collect::<Vec<_>>(), [0.1, -1e-20]);
        let spaced = Corpus::new(vec![document("d 1"), document("d2")]).unwrap();
        let error = write_run(&path, &rankings, &queries, &spaced, "bm25").unwrap_err().to_string();
        assert!(
            error.ends_with("document id `d 1` cannot stand in a run file, expected a word without spaces"),
            "{error}"
        );
        assert!(write_run(&path, &rankings, &[], &corpus, "bm25").is_err());
    }

    #[test]
    fn mistakes_name_their_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.trec");
        for (text, message) in [
            ("q Q0 d 1 0.5 t\n\nq Q0 d 1 0.5\n", ":3: 5 fields, expected six: query Q0 document rank score tag"),
            ("q Q0 d 1 nan t\n", ":1: score `nan`, expected a finite number"),
        ] {
            std::fs::write(&path, text).unwrap();
            let error = read_run(&path).unwrap_err().to_string();
            assert!(error.ends_with(message), "{error}");
        }
    }
}
