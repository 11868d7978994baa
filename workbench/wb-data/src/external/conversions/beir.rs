//! Parquet files of CoIR as a folder in BEIR's layout, with the judgements of one split and the queries that they are about.

use std::{
    collections::{BTreeSet, HashSet},
    path::Path,
};

use serde::Serialize;
use serde_json::{Map, Value, json};
use wb_core::Progress;

use super::{
    conversion::{ConversionCounts, Convert, Inputs, count},
    lines,
    rows::{ColumnContent, ColumnField, rows},
};
use crate::{Error, Result, sources::columns};

/// `corpus.jsonl`, `queries.jsonl` and `qrels/SPLIT.tsv`, out of the files wanted as `corpus`, `queries` and `qrels`.
///
/// CoIR publishes each task twice, and the two name the judgements' columns differently: `query-id` and `query_id`.
/// Queries of other splits stand among those of this one, and are left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Beir {
    /// The split that the judgements are of.
    pub split: &'static str,
}

const fn any(from: &'static str, to: &'static str) -> ColumnField {
    ColumnField { from, to, kind: ColumnContent::Any }
}

const ID: ColumnField = any("_id", "_id");
const TEXT: ColumnField = ColumnField { from: "text", to: "text", kind: ColumnContent::Text };
const TITLE: ColumnField = any("title", "title");

impl Convert for Beir {
    fn convert(&self, inputs: &Inputs<'_>, to: &Path, progress: &mut dyn FnMut(Progress)) -> Result<ConversionCounts> {
        let mut counts = ConversionCounts::new();
        let judged = self.qrels(inputs, to, &mut counts, progress)?;
        let mut asked = HashSet::new();
        let n = lines::write(&to.join("queries.jsonl"), |lines| {
            for path in inputs.named("queries")? {
                rows(path, &[ID, TEXT], progress, &mut |fields| {
                    let id = id(path, &fields, "_id")?;
                    if !judged.queries.contains(&id) {
                        count(&mut counts, "queries of other splits, left out", 1);
                        return Ok(());
                    }
                    lines.json(&json!({ "_id": id, "text": fields["text"] }))?;
                    once(path, &mut asked, id)
                })?;
            }
            Ok(())
        })?;
        count(&mut counts, "queries", n);
        let mut documents = HashSet::new();
        let n = lines::write(&to.join("corpus.jsonl"), |lines| {
            for path in inputs.named("corpus")? {
                let has_title = columns(path)?.iter().any(|name| name == TITLE.from);
                let wanted = if has_title { vec![ID, TITLE, TEXT] } else { vec![ID, TEXT] };
                rows(path, &wanted, progress, &mut |fields| {
                    let id = id(path, &fields, "_id")?;
                    let title = fields.get("title").and_then(Value::as_str).unwrap_or_default();
                    lines.json(&json!({ "_id": id, "title": title, "text": fields["text"] }))?;
                    once(path, &mut documents, id)
                })?;
            }
            Ok(())
        })?;
        count(&mut counts, "documents", n);
        judged.are_there(inputs.named("qrels")?[0], &asked, &documents)?;
        Ok(counts)
    }
}

/// Ids that judgements name.
struct Judged {
    queries: BTreeSet<String>,
    documents: BTreeSet<String>,
}

impl Judged {
    /// Refuses judgements of what is not there: a figure over them would be of something else.
    fn are_there(&self, path: &Path, queries: &HashSet<String>, documents: &HashSet<String>) -> Result<()> {
        for (what, named, there) in [("query", &self.queries, queries), ("document", &self.documents, documents)] {
            let missing: Vec<&String> = named.iter().filter(|id| !there.contains(*id)).collect();
            if let Some(first) = missing.first() {
                let message = format!("it judges {what} `{first}` and {} more that are not there", missing.len() - 1);
                return Err(Error::file(path, message).with_hint("its files are of different versions"));
            }
        }
        Ok(())
    }
}

impl Beir {
    fn qrels(
        &self,
        inputs: &Inputs<'_>,
        into: &Path,
        counts: &mut ConversionCounts,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Judged> {
        let mut judged = Judged { queries: BTreeSet::new(), documents: BTreeSet::new() };
        let n = lines::write(&into.join("qrels").join(format!("{}.tsv", self.split)), |lines| {
            lines.text("query-id\tcorpus-id\tscore")?;
            for path in inputs.named("qrels")? {
                let with_underscores = columns(path)?.iter().any(|name| name == "query_id");
                let names = if with_underscores { ["query_id", "corpus_id"] } else { ["query-id", "corpus-id"] };
                let wanted = [any(names[0], "query"), any(names[1], "document"), any("score", "score")];
                rows(path, &wanted, progress, &mut |fields| {
                    let (query, document) = (id(path, &fields, "query")?, id(path, &fields, "document")?);
                    let Some(score) = fields["score"].as_f64() else {
                        let message =
                            format!("a judgement of query `{query}` is {}, expected a number", fields["score"]);
                        return Err(Error::file(path, message));
                    };
                    lines.text(&format!("{query}\t{document}\t{score}"))?;
                    judged.queries.insert(query);
                    judged.documents.insert(document);
                    Ok(())
                })?;
            }
            match lines.n {
                1 => Err(Error::file(inputs.named("qrels")?[0], "no judgement is in it, expected some")),
                _ => Ok(()),
            }
        })?;
        count(counts, "judgements", n - 1);
        Ok(judged)
    }
}

/// An id, which may be a number, as a text that fits into a line of judgements.
fn id(path: &Path, fields: &Map<String, Value>, field: &str) -> Result<String> {
    let id = match &fields[field] {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        other => return Err(Error::file(path, format!("an id is {other}, expected a text or a number"))),
    };
    match id.is_empty() || id.trim() != id || id.contains(['\t', '\n', '\r']) {
        true => {
            Err(Error::file(path, format!("an id is {id:?}, expected a text on one line, without blanks around it")))
        }
        false => Ok(id),
    }
}

fn once(path: &Path, seen: &mut HashSet<String>, id: String) -> Result<()> {
    match seen.replace(id) {
        Some(twice) => Err(Error::file(path, format!("the id `{twice}` is there twice, expected unique ids"))),
        None => Ok(()),
    }
}
