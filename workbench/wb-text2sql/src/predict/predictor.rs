//! The nearest-example predictor: a retrieved query, re-targeted to the question's database by rules.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use wb_core::Hit;

use wb_sql::{
    Compat,
    spider::{Aggregate, ColumnUnit, Name, SqlQuery, TableUnit, ValueUnit, parse},
};

use super::{
    assign::assign,
    build::{Builder, Built},
    form, render,
};
use crate::{
    Result,
    examples::{DatabaseQuestion, ExampleDocument, documents},
    link::Links,
    schema::{Catalogs, Cells, SchemaCatalog},
};

/// Reason why there is no query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// There is no example.
    #[error("no example was retrieved")]
    NoExample,
    /// The example cannot be read.
    #[error("the example cannot be parsed")]
    Unread,
    /// The question names no table, nor a column of one.
    #[error("the question names no table")]
    Table,
    /// Lack of a column that fits.
    #[error("no column fits")]
    Column,
    /// Tables that no foreign keys connect, or lack of a second table.
    #[error("the tables are not connected")]
    Join,
    /// The rules do not have this form: a nested query in FROM or HAVING.
    #[error("the rules do not have this form")]
    Form,
    /// Query that Spider's grammar does not read.
    #[error("what was built cannot be parsed")]
    Unwritable,
    /// Query that does not run on the database.
    #[error("it does not run")]
    Fails,
}

/// Result of running a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ran {
    /// There are rows.
    Rows,
    /// There is no row, or only NULL or a count of 0.
    Empty,
    /// Failure.
    Failed,
    /// Candidate that was not run.
    Unknown,
}

/// Settings of the choice among candidates.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PredictConfig {
    /// Number of examples that are tried.
    pub top_k: usize,
    /// Weight of the similarity of the example, divided by that of the first; linking and form have weight 1.
    pub retrieval_weight: f64,
    /// Runs candidates: one that fails is out, one without rows loses against others.
    pub execution_guided: bool,
}

impl Default for PredictConfig {
    fn default() -> Self {
        Self { top_k: 3, retrieval_weight: 0.5, execution_guided: true }
    }
}

impl PredictConfig {
    /// Refuses impossible values.
    ///
    /// # Errors
    ///
    /// For no examples, and for a weight that is negative or no number.
    pub fn validate(&self, key: &str) -> wb_core::Result<()> {
        if self.top_k == 0 {
            return Err(wb_core::Error::value(format!("{key}.top_k"), "got 0, expected at least 1"));
        }
        if !self.retrieval_weight.is_finite() || self.retrieval_weight < 0.0 {
            let what = format!("got {}, expected 0 or more", self.retrieval_weight);
            return Err(wb_core::Error::value(format!("{key}.retrieval_weight"), what));
        }
        Ok(())
    }
}

/// One example's query, re-targeted.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryCandidate {
    /// The example's place in the documents; none for the fixed form.
    pub document: Option<usize>,
    /// The query, or why there is none.
    pub sql: std::result::Result<String, Reason>,
    /// Linking, form and retrieval together; higher is better.
    pub score: f64,
    /// Result of running it.
    pub ran: Ran,
}

/// The prediction for one question.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    /// The chosen query, or why no candidate has one.
    pub sql: std::result::Result<String, Reason>,
    /// The place of the chosen candidate.
    pub chosen: Option<usize>,
    /// All candidates, in the order of retrieval.
    pub candidates: Vec<QueryCandidate>,
}

/// Examples with their queries read.
#[derive(Debug)]
pub struct Predictor<'a> {
    catalogs: &'a Catalogs,
    documents: &'a [ExampleDocument],
    queries: Vec<Option<SqlQuery>>,
}

impl<'a> Predictor<'a> {
    /// Reads the documents' queries; those that cannot be read give no candidates, see [`unread`](Self::unread).
    ///
    /// # Errors
    ///
    /// If a document's database has no schema.
    pub fn new(catalogs: &'a Catalogs, documents: &'a [ExampleDocument]) -> Result<Self> {
        let read =
            |document: &ExampleDocument| Ok(documents::read(&document.sql, &catalogs.get(&document.db_id)?.schema));
        let queries = documents.iter().map(read).collect::<Result<_>>()?;
        Ok(Self { catalogs, documents, queries })
    }

    /// Number of documents whose queries are outside of the grammar.
    pub fn unread(&self) -> usize {
        self.queries.iter().filter(|query| query.is_none()).count()
    }

    /// A document's query.
    pub fn query(&self, document: usize) -> Option<&SqlQuery> {
        self.queries.get(document)?.as_ref()
    }

    /// Predicts from retrieved examples, best first. `run` is asked about candidates under `execution_guided`.
    ///
    /// # Errors
    ///
    /// If the question's database has no schema.
    pub fn predict(
        &self,
        asked: &DatabaseQuestion,
        cells: &Cells,
        hits: &[Hit],
        config: &PredictConfig,
        run: &mut dyn FnMut(&str) -> Ran,
    ) -> Result<Prediction> {
        let catalog = self.catalogs.get(&asked.db_id)?;
        let links = Links::new(&asked.question, catalog, cells);
        let hits = &hits[..hits.len().min(config.top_k)];
        let best = hits.iter().map(|hit| f64::from(hit.score)).fold(f64::MIN, f64::max);
        let mut candidates = Vec::new();
        for hit in hits {
            let share = if best > 0.0 { (f64::from(hit.score) / best).max(0.0) } else { 0.0 };
            let source = self.documents.get(hit.document).zip(self.query(hit.document));
            let made = match source {
                Some((document, query)) => retarget(query, self.catalogs.get(&document.db_id)?, catalog, &links),
                None => Err(Reason::Unread),
            };
            candidates.push(candidate(Some(hit.document), made, config.retrieval_weight * share, config, run));
        }
        Ok(choose(candidates))
    }

    /// Predicts without examples: the named columns of the named tables, and conditions for the values.
    ///
    /// # Errors
    ///
    /// If the question's database has no schema.
    pub fn predict_fixed(
        &self,
        asked: &DatabaseQuestion,
        cells: &Cells,
        config: &PredictConfig,
        run: &mut dyn FnMut(&str) -> Ran,
    ) -> Result<Prediction> {
        let catalog = self.catalogs.get(&asked.db_id)?;
        let links = Links::new(&asked.question, catalog, cells);
        let made = fixed(catalog).ok_or(Reason::Table).and_then(|form| retarget(&form, catalog, catalog, &links));
        Ok(choose(vec![candidate(None, made, 0.0, config, run)]))
    }
}

/// `SELECT column FROM table` of any column: the form that is used without an example.
fn fixed(catalog: &SchemaCatalog) -> Option<SqlQuery> {
    let column = catalog.columns.iter().find(|column| !column.key).or(catalog.columns.first())?;
    let left = ColumnUnit { aggregate: Aggregate::None, column: column.id, distinct: false };
    let unit = ValueUnit { operator: wb_sql::spider::Arithmetic::None, left, right: None };
    let tables = vec![TableUnit::Table(catalog.table_id(column.table))];
    Some(SqlQuery { select: vec![(Aggregate::None, unit)], tables, ..SqlQuery::default() })
}

/// A query of one database made one of another; with its score.
fn retarget(
    source: &SqlQuery,
    from: &SchemaCatalog,
    to: &SchemaCatalog,
    links: &Links,
) -> std::result::Result<(String, f64), Reason> {
    let assignment = assign(source, from, to, links);
    let built: Built = Builder::new(from, to, links, &assignment).build(source)?;
    let sql = render::render(&built, to).ok_or(Reason::Form)?;
    // The guarantee: whatever the rules did, what comes out is read by both grammars.
    let read = parse(&sql, &to.schema, Compat::Official).map_err(|_| Reason::Unwritable)?;
    parse(&sql, &to.schema, Compat::Strict).map_err(|_| Reason::Unwritable)?;
    let (used, _) = names(&read, to);
    let unused = links.tables.iter().filter(|mention| mention.score > 0.8 && !used.contains(&mention.table));
    let unused: BTreeSet<usize> = unused.map(|mention| mention.table).collect();
    let score = assignment.score + built.score + form::agreement(links, &built.query) - 0.3 * unused.len() as f64;
    Ok((sql, score))
}

fn candidate(
    document: Option<usize>,
    made: std::result::Result<(String, f64), Reason>,
    retrieval: f64,
    config: &PredictConfig,
    run: &mut dyn FnMut(&str) -> Ran,
) -> QueryCandidate {
    match made {
        Err(reason) => QueryCandidate { document, sql: Err(reason), score: f64::NEG_INFINITY, ran: Ran::Unknown },
        Ok((sql, score)) => {
            let ran = if config.execution_guided { run(&sql) } else { Ran::Unknown };
            let sql = if ran == Ran::Failed { Err(Reason::Fails) } else { Ok(sql) };
            QueryCandidate { document, sql, score: score + retrieval, ran }
        }
    }
}

/// The best candidate: with rows before without, then by score, then by rank.
fn choose(candidates: Vec<QueryCandidate>) -> Prediction {
    let key = |candidate: &QueryCandidate| (candidate.ran != Ran::Empty, candidate.score);
    let mut chosen: Option<usize> = None;
    for (at, candidate) in candidates.iter().enumerate().filter(|(_, candidate)| candidate.sql.is_ok()) {
        if chosen.is_none_or(|known| key(candidate) > key(&candidates[known])) {
            chosen = Some(at);
        }
    }
    let first = candidates.iter().find_map(|candidate| candidate.sql.as_ref().err().copied());
    let sql = match chosen.and_then(|at| candidates[at].sql.as_ref().ok()) {
        Some(sql) => Ok(sql.clone()),
        None => Err(first.unwrap_or(Reason::NoExample)),
    };
    Prediction { sql, chosen, candidates }
}

/// The tables and columns that a query names, nested ones included; columns of JOIN conditions too.
pub(crate) fn names(query: &SqlQuery, catalog: &SchemaCatalog) -> (BTreeSet<usize>, BTreeSet<usize>) {
    let all: BTreeSet<Name> = query.names();
    let tables = all.iter().filter_map(|name| catalog.table(*name)).collect();
    let columns = all.iter().filter_map(|name| catalog.column(*name)).collect();
    (tables, columns)
}
