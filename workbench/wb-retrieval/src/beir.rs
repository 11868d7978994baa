//! BEIR's folder: `corpus.jsonl`, `queries.jsonl`, `qrels/SPLIT.tsv`.

use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
};

use serde::{Deserialize, de::DeserializeOwned};
use wb_core::{Corpus, Document, Qrels, Query, remote};

use crate::{Error, Result};

/// A data set of retrieval.
#[derive(Debug, Clone, Default)]
pub struct BeirData {
    /// The documents in file order.
    pub corpus: Corpus,
    /// The queries in file order, judged in this split or not.
    pub queries: Vec<Query>,
    /// The judgements of the split.
    pub qrels: Qrels,
    /// Judgements about queries or documents that the folder does not have; they stay in `qrels`.
    pub dangling: usize,
}

/// One line of `corpus.jsonl`.
#[derive(Deserialize)]
struct CorpusLine {
    #[serde(rename = "_id")]
    id: String,
    #[serde(default)]
    title: Option<String>,
    text: String,
}

/// One line of `queries.jsonl`.
#[derive(Deserialize)]
struct QueryLine {
    #[serde(rename = "_id")]
    id: String,
    text: String,
}

/// Reads a folder with the judgements of one split: `test`, `dev`, `train`.
pub fn read(folder: &Path, split: &str) -> Result<BeirData> {
    let corpus = read_corpus(&folder.join("corpus.jsonl"))?;
    let queries = read_queries(&folder.join("queries.jsonl"))?;
    let qrels = read_qrels(&folder.join("qrels").join(format!("{split}.tsv")))?;
    let known: std::collections::HashSet<&str> = queries.iter().map(|query| query.id.as_str()).collect();
    let missing = |query: &str, document: &str| !known.contains(query) || corpus.position(document).is_none();
    let dangling = qrels
        .iter()
        .flat_map(|(query, grades)| grades.keys().map(move |d| (query, d)))
        .filter(|(q, d)| missing(q, d))
        .count();
    Ok(BeirData { dangling, corpus, queries, qrels })
}

/// The splits that a folder has judgements for, sorted.
pub fn splits(folder: &Path) -> Result<Vec<String>> {
    let qrels = folder.join("qrels");
    let entries = std::fs::read_dir(&qrels).map_err(Error::io("read", &qrels))?;
    let mut splits = Vec::new();
    for entry in entries {
        let path = entry.map_err(Error::io("read", &qrels))?.path();
        if path.extension().is_some_and(|extension| extension == "tsv") {
            splits.extend(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
        }
    }
    splits.sort();
    Ok(splits)
}

/// Reads documents. A title may be missing, empty or null; other keys are not looked at.
pub fn read_corpus(path: &Path) -> Result<Corpus> {
    let documents = json_lines(path, |line: CorpusLine| Document {
        id: line.id,
        text: line.text,
        title: line.title.unwrap_or_default(),
    })?;
    let ids = documents.iter().map(|(number, document)| (*number, document.id.as_str()));
    unique(path, ids)?;
    Corpus::new(documents.into_iter().map(|(_, document)| document).collect())
}

/// Reads queries.
pub fn read_queries(path: &Path) -> Result<Vec<Query>> {
    let queries = json_lines(path, |line: QueryLine| Query { id: line.id, text: line.text })?;
    unique(path, queries.iter().map(|(number, query)| (*number, query.id.as_str())))?;
    Ok(queries.into_iter().map(|(_, query)| query).collect())
}

/// Reads judgements: BEIR's `query-id corpus-id score` with tabs under a header, or TREC's `query 0 document grade`
/// without one. Two judgements of one pair that contradict each other are an error.
pub fn read_qrels(path: &Path) -> Result<Qrels> {
    let mut qrels = Qrels::default();
    for (index, line) in lines(path)?.enumerate() {
        let (number, line) = line?;
        let tabs: Vec<&str> = line.split('\t').map(str::trim).collect();
        let words: Vec<&str> = line.split_whitespace().collect();
        let (query, document, grade) = match (&tabs[..], &words[..]) {
            ([query, document, grade], _) | (_, [query, document, grade]) => (*query, *document, *grade),
            ([query, _, document, grade], _) | (_, [query, _, document, grade]) => (*query, *document, *grade),
            _ => {
                let message =
                    format!("{} fields, expected `query-id corpus-id score` or `query 0 document grade`", words.len());
                return Err(Error::at(path, number, message));
            }
        };
        let grade = match grade.parse::<f64>() {
            Ok(grade) if grade.is_finite() => grade,
            Err(_) if index == 0 && is_header(query) => continue,
            _ => return Err(Error::at(path, number, format!("grade `{grade}`, expected a finite number"))),
        };
        if let Some(before) = qrels.of(query).and_then(|grades| grades.get(document))
            && *before != grade
        {
            let message = format!("query `{query}`, document `{document}` has grade {grade} here and {before} above");
            return Err(Error::at(path, number, message));
        }
        qrels.set(query, document, grade);
    }
    Ok(qrels)
}

fn is_header(first: &str) -> bool {
    ["query", "qid", "topic"].iter().any(|name| first.to_lowercase().starts_with(name))
}

fn unique<'a>(path: &Path, ids: impl Iterator<Item = (usize, &'a str)>) -> Result<()> {
    let mut seen = std::collections::HashMap::new();
    for (number, id) in ids {
        if let Some(before) = seen.insert(id, number) {
            return Err(Error::at(path, number, format!("id `{id}` stands in line {before} too, expected unique ids")));
        }
    }
    Ok(())
}

fn json_lines<L: DeserializeOwned, T>(path: &Path, make: impl Fn(L) -> T) -> Result<Vec<(usize, T)>> {
    let mut made = Vec::new();
    for line in lines(path)? {
        let (number, line) = line?;
        let line: L = serde_json::from_str(&line)
            .map_err(|source| Error::at(path, number, "not a JSON object of the right shape").with_cause(source))?;
        made.push((number, make(line)));
    }
    Ok(made)
}

/// The lines of a file that are not blank, with their numbers. Bytes that are not UTF-8 are an error with the line.
pub(crate) fn lines(path: &Path) -> Result<impl Iterator<Item = Result<(usize, String)>>> {
    let file = remote::open(path)?;
    let mut reader = BufReader::new(file);
    let path: PathBuf = path.to_path_buf();
    let mut number = 0;
    Ok(std::iter::from_fn(move || {
        loop {
            let mut bytes = Vec::new();
            match reader.read_until(b'\n', &mut bytes) {
                Ok(0) => return None,
                Err(source) => {
                    return Some(Err(Error::Io { action: "read", path: path.clone(), source }));
                }
                Ok(_) => number += 1,
            }
            match String::from_utf8(bytes) {
                Ok(line) if line.trim().is_empty() => {}
                Ok(line) => {
                    let line = line.trim_end_matches(['\n', '\r']).trim_start_matches('\u{feff}').to_owned();
                    return Some(Ok((number, line)));
                }
                Err(error) => {
                    let at = error.utf8_error().valid_up_to() + 1;
                    return Some(Err(Error::at(&path, number, format!("byte {at} is not UTF-8"))));
                }
            }
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(folder: &Path, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    #[test]
    fn a_folder_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let corpus = "{\"_id\": \"d1\", \"title\": \"T\", \"text\": \"a\"}\n\n{\"_id\": \"d2\", \"text\": \"b\", \"metadata\": {}}\r\n{\"_id\": \"d3\", \"title\": null, \"text\": \"\"}";
        write(folder.path(), "corpus.jsonl", corpus);
        write(folder.path(), "queries.jsonl", "\u{feff}{\"_id\": \"q1\", \"text\": \"?\"}\n");
        write(folder.path(), "qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td9\t1\nq1\td1\t2\n");
        let beir = read(folder.path(), "test").unwrap();
        assert_eq!(beir.corpus.documents().iter().map(|d| d.title.as_str()).collect::<Vec<_>>(), ["T", "", ""]);
        assert_eq!(beir.queries[0].id, "q1");
        assert_eq!(
            beir.qrels.of("q1").unwrap().iter().map(|(d, g)| (d.as_str(), *g)).collect::<Vec<_>>(),
            [("d1", 2.0), ("d9", 1.0)]
        );
        assert_eq!(beir.dangling, 1);
        assert_eq!(splits(folder.path()).unwrap(), ["test"]);
        assert!(read(folder.path(), "dev").unwrap_err().to_string().starts_with("cannot read"));
    }

    #[test]
    fn judgements_of_trec_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = write(folder.path(), "a.qrels", "101 0 doc-7 1\n101\t0\tdoc-8\t0\n");
        let qrels = read_qrels(&path).unwrap();
        assert_eq!(qrels.of("101").unwrap().values().copied().collect::<Vec<_>>(), [1.0, 0.0]);
    }

    #[test]
    fn mistakes_name_file_and_line() {
        let folder = tempfile::tempdir().unwrap();
        let check = |name: &str, text: &[u8], message: &str| {
            let path = write(folder.path(), name, text);
            let error = match name {
                "corpus.jsonl" => read_corpus(&path).map(|_| ()).unwrap_err(),
                "queries.jsonl" => read_queries(&path).map(|_| ()).unwrap_err(),
                _ => read_qrels(&path).map(|_| ()).unwrap_err(),
            };
            let source = std::error::Error::source(&error).map(|source| format!(": {source}")).unwrap_or_default();
            let text = format!("{error}{source}");
            assert!(text.contains(&format!("{name}:")) && text.contains(message), "{text}");
        };
        check(
            "corpus.jsonl",
            b"{\"_id\": \"a\", \"text\": \"\"}\n{\"_id\": \"b\"}\n",
            ":2: not a JSON object of the right shape: missing field `text`",
        );
        check(
            "corpus.jsonl",
            b"{\"_id\": \"a\", \"text\": \"\"}\n{\"_id\": \"a\", \"text\": \"\"}\n",
            ":2: id `a` stands in line 1 too",
        );
        check("corpus.jsonl", b"{\"_id\": \"a\", \"te", ":1: not a JSON object of the right shape: EOF");
        check(
            "queries.jsonl",
            b"{\"_id\": \"a\", \"text\": \"\"}\n{\"_id\": \"b\", \"text\": \"\xff\"}\n",
            ":2: byte 23 is not UTF-8",
        );
        check("qrels.tsv", b"query-id\tcorpus-id\tscore\nq\td\tx\n", ":2: grade `x`, expected a finite number");
        check("qrels.tsv", b"q\td\t1\nq d\n", ":2: 2 fields");
        check("qrels.tsv", b"q\td\t1\nq\td\t0\n", ":2: query `q`, document `d` has grade 0 here and 1 above");
        check("qrels.tsv", b"q\td\tnan\n", ":1: grade `nan`");
        check("qrels.tsv", b"q\td\tx\n", ":1: grade `x`");
    }
}
