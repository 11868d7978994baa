//! `csn-full`: every docstring of a language's split searches all functions of that split.
//!
//! Rank = 1 + functions that score strictly better, so that the number equals what published scripts without a tie rule
//! give; a great distance between `tie_best` and `tie_worst` says that this flatters the contestant.
//! MRR over the whole pool, Recall@{1,5,10}, nDCG@10.

use super::ranked::{PoolQuery, QueryPool, RankedProtocol, TieTreatment, usual_metrics};
use crate::{
    Result,
    layouts::codesearchnet::{Function, TextMode},
    texts::BenchmarkTexts,
};

/// The protocol in words.
const DESCRIPTION: &str = "each docstring of the split searches all functions of the split; documents with the answer’s own \
    score count for the answer";

/// The functions of one language and split, in file order.
pub fn csn_full(
    texts: &mut BenchmarkTexts,
    functions: &[&Function],
    language: &str,
    split: &str,
    mode: TextMode,
) -> Result<RankedProtocol> {
    let part = docstrings_search_code(texts, functions, functions, mode)?;
    Ok(RankedProtocol::new(("csn-full", DESCRIPTION), language, split, vec![part], TieTreatment::Best, usual_metrics()))
}

/// Docstrings of `queries` search the code of `candidates`; a candidate with the query's URL is an answer.
pub(super) fn docstrings_search_code(
    texts: &mut BenchmarkTexts,
    queries: &[&Function],
    candidates: &[&Function],
    mode: TextMode,
) -> Result<QueryPool> {
    let mut part = QueryPool::default();
    let mut by_url: std::collections::HashMap<&str, Vec<usize>> = std::collections::HashMap::new();
    let mut ids = UniqueIds::default();
    for (position, function) in candidates.iter().enumerate() {
        by_url.entry(&function.url).or_default().push(position);
        part.ids.push(ids.unique(&function.url));
        part.texts.push(texts.documents.number(&function.code(mode)?));
    }
    let mut ids = UniqueIds::default();
    for function in queries {
        let relevant = by_url.get(function.url.as_str()).map(|at| at.iter().map(|position| (*position, 1.0)).collect());
        let relevant: Vec<(usize, f64)> = relevant.unwrap_or_default();
        part.queries.push(PoolQuery {
            id: ids.unique(&function.url),
            text: texts.queries.number(&function.docstring),
            missing: if relevant.is_empty() { vec![1.0] } else { Vec::new() },
            relevant,
        });
    }
    Ok(part)
}

/// Makes repeated ids different: the second becomes `ID#2`.
#[derive(Default)]
pub struct UniqueIds(std::collections::HashMap<String, usize>);

impl UniqueIds {
    /// The id, or the id with its number.
    pub fn unique(&mut self, id: &str) -> String {
        let count = self.0.entry(id.to_owned()).or_insert(0);
        *count += 1;
        if *count == 1 { id.to_owned() } else { format!("{id}#{count}") }
    }
}
