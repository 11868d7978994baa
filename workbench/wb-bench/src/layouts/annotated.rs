//! CodeSearchNet's 99 human queries: `corpus.jsonl`, `annotationStore.csv` or `qrels.jsonl`, `queries.csv`.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use serde::Deserialize;
use wb_core::statistics::mean;

use super::files::Files;
use crate::Result;

/// A function that somebody judged.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct AnnotatedDocument {
    /// Unique in the corpus.
    pub id: String,
    /// Lower case.
    pub language: String,
    /// URL that the annotations name it by.
    pub url: String,
    /// The function as it was written.
    pub code: String,
}

/// Language to query to URL to mean relevance.
type Relevance = BTreeMap<String, BTreeMap<String, BTreeMap<String, f64>>>;

/// The annotated corpus.
#[derive(Debug, Clone, Default)]
pub struct AnnotatedLayout {
    /// Documents of the languages that are wanted, in file order.
    pub documents: Vec<AnnotatedDocument>,
    /// Every language of the corpus, sorted, whether it is wanted or not.
    pub available: Vec<String>,
    /// Queries as they stand in `queries.csv`, else in the annotations.
    pub queries: Vec<String>,
    /// Language to query to URL to mean relevance (0 to 3); language and query in lower case.
    pub relevance: Relevance,
}

#[derive(Deserialize)]
struct AnnotationRow {
    #[serde(rename = "Language")]
    language: String,
    #[serde(rename = "Query")]
    query: String,
    #[serde(rename = "GitHubUrl")]
    url: String,
    #[serde(rename = "Relevance")]
    relevance: f64,
}

#[derive(Deserialize)]
struct QrelsRow {
    query: String,
    language: String,
    doc_id: String,
    relevance: f64,
}

#[derive(Deserialize)]
struct QueryRow {
    query: String,
}

/// True where [`read`] would find the layout.
pub fn is_in(root: &Path) -> bool {
    folder(root).is_some()
}

/// `annotated/`, or the folder itself, whichever has the layout.
fn folder(root: &Path) -> Option<PathBuf> {
    let has = |folder: &PathBuf| {
        folder.join("corpus.jsonl").is_file()
            && ["annotationStore.csv", "qrels.jsonl"].iter().any(|name| folder.join(name).is_file())
    };
    [root.join("annotated"), root.to_path_buf()].into_iter().find(has)
}

/// Reads the layout from `annotated/` or from the folder itself; nothing where it is not there.
pub fn read(files: &mut Files, languages: &[String]) -> Result<Option<AnnotatedLayout>> {
    let Some(folder) = folder(files.root()) else { return Ok(None) };
    let documents: Vec<(usize, AnnotatedDocument)> = files.json_lines(&folder.join("corpus.jsonl"))?;
    let mut documents: Vec<AnnotatedDocument> = documents.into_iter().map(|(_, document)| document).collect();
    for document in &mut documents {
        document.language = document.language.to_lowercase();
    }
    let store = folder.join("annotationStore.csv");
    let rows: Vec<AnnotationRow> = if store.is_file() {
        files.table(&store)?
    } else {
        let url: BTreeMap<&str, &str> =
            documents.iter().map(|document| (document.id.as_str(), document.url.as_str())).collect();
        let rows: Vec<(usize, QrelsRow)> = files.json_lines(&folder.join("qrels.jsonl"))?;
        rows.into_iter()
            .map(|(_, row)| AnnotationRow {
                url: url.get(row.doc_id.as_str()).map_or_else(|| row.doc_id.clone(), |url| (*url).to_owned()),
                language: row.language,
                query: row.query,
                relevance: row.relevance,
            })
            .collect()
    };
    let available: BTreeSet<String> = documents.iter().map(|document| document.language.clone()).collect();
    documents.retain(|document| languages.is_empty() || languages.contains(&document.language));
    let available = available.into_iter().collect();
    let queries = read_queries(files, &folder, &rows)?;
    Ok(Some(AnnotatedLayout { documents, available, queries, relevance: relevance(rows) }))
}

fn read_queries(files: &mut Files, folder: &Path, rows: &[AnnotationRow]) -> Result<Vec<String>> {
    let path = folder.join("queries.csv");
    if path.is_file() {
        let rows: Vec<QueryRow> = files.table(&path)?;
        return Ok(rows.into_iter().map(|row| row.query).collect());
    }
    let mut seen = BTreeSet::new();
    Ok(rows.iter().filter(|row| seen.insert(row.query.to_lowercase())).map(|row| row.query.clone()).collect())
}

/// Means of the judgements of each (language, query, URL).
fn relevance(rows: Vec<AnnotationRow>) -> Relevance {
    let mut judged: BTreeMap<(String, String, String), Vec<f64>> = BTreeMap::new();
    for row in rows {
        let key = (row.language.to_lowercase(), row.query.to_lowercase(), row.url);
        judged.entry(key).or_default().push(row.relevance);
    }
    let mut relevance = Relevance::new();
    for ((language, query, url), grades) in judged {
        relevance.entry(language).or_default().entry(query).or_default().insert(url, mean(&grades));
    }
    relevance
}

impl AnnotatedLayout {
    /// The languages of the corpus, sorted.
    pub fn languages(&self) -> Vec<String> {
        let languages: BTreeSet<&String> = self.documents.iter().map(|document| &document.language).collect();
        languages.into_iter().cloned().collect()
    }
}
