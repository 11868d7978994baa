//! `csn-clean-full`: docstrings search the code of the validation and test splits together; MRR of the first 1,000.
//!
//! After GraphCodeBERT's and UniXcoder's code-search scripts. The cleaned release carries the candidates as
//! `codebase.jsonl`; where only the two splits are there, they are the candidates, validation first.
//! Candidates are matched by URL. Ties follow numpy's `argsort` read backwards, the higher position first. (The scripts
//! ask for its quicksort, whose order of ties depends on the processor's vector instructions; this is the order of the
//! stable sort.) An answer behind the first 1,000 counts 0 and has rank 0.

use wb_retrieval::{Metric, TieRule};

use super::{
    csn_full::docstrings_search_code,
    ranked::{RankedProtocol, TieTreatment},
};
use crate::{
    Result,
    layouts::codesearchnet::{Function, TextMode},
    texts::BenchmarkTexts,
};

/// Places of a ranking that are looked at.
pub const LOOKED_AT: usize = 1000;

/// The protocol in words.
const DESCRIPTION: &str = "text to code against the development and test code of the language; an answer beyond rank 1,000 \
    counts as not found";

/// Candidates of the cleaned release, by language.
pub const PUBLISHED: [(&str, usize); 6] =
    [("python", 43_827), ("php", 52_660), ("go", 28_120), ("java", 40_347), ("javascript", 13_981), ("ruby", 4_360)];

/// The queries of one split and the candidates of their language.
pub fn csn_clean_full(
    texts: &mut BenchmarkTexts,
    queries: &[&Function],
    candidates: &[&Function],
    language: &str,
    split: &str,
    mode: TextMode,
) -> Result<RankedProtocol> {
    let part = docstrings_search_code(texts, queries, candidates, mode)?;
    let metrics = vec![("mrr".to_owned(), Metric::Mrr(Some(LOOKED_AT)))];
    Ok(RankedProtocol::new(
        ("csn-clean-full", DESCRIPTION),
        language,
        split,
        vec![part],
        TieTreatment::Ordered(TieRule::LastPosition),
        metrics,
    ))
}
