//! `cosqa-6267`: web queries search CoSQA's whole pool of functions; MRR over the full ranking.
//!
//! Query = `doc`, code = the key of `code_idx_map.txt`, docstrings inside, as published. Ties as in
//! [`csn_clean_full`](super::csn_clean_full), over the pool in file order. Beside MRR stand Recall@{1,5,10} and
//! nDCG@10.

use std::collections::HashMap;

use wb_retrieval::TieRule;

use super::{
    csn_full::UniqueIds,
    ranked::{PoolQuery, QueryPool, RankedProtocol, TieTreatment, usual_metrics},
};
use crate::{
    layouts::cosqa::{Cosqa, CosqaQuery},
    texts::BenchmarkTexts,
};

/// The protocol in words.
const DESCRIPTION: &str = "web queries against all 6,267 functions of CoSQA";

/// One split's queries over the pool.
pub fn cosqa_6267(texts: &mut BenchmarkTexts, cosqa: &Cosqa, split: &str, queries: &[CosqaQuery]) -> RankedProtocol {
    let mut part = QueryPool::default();
    let mut position_of = HashMap::new();
    for (position, (number, code)) in cosqa.pool.iter().enumerate() {
        position_of.insert(*number, position);
        part.ids.push(number.to_string());
        part.texts.push(texts.documents.number(code));
    }
    let mut ids = UniqueIds::default();
    for query in queries {
        part.queries.push(PoolQuery {
            id: ids.unique(&query.idx),
            text: texts.queries.number(&query.doc),
            relevant: position_of.get(&query.retrieval_idx).map(|position| (*position, 1.0)).into_iter().collect(),
            missing: Vec::new(),
        });
    }
    RankedProtocol::new(
        ("cosqa-6267", DESCRIPTION),
        "python",
        split,
        vec![part],
        TieTreatment::Ordered(TieRule::LastPosition),
        usual_metrics(),
    )
}
