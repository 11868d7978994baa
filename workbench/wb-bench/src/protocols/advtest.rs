//! `advtest`: docstrings search all functions of AdvTest's own split, whose identifiers are normalized; MRR.
//!
//! After CodeXGLUE's NL-code-search-Adv: the split is its own pool (19,210 functions in test), the whole ranking
//! counts, published values are rounded to 4 decimals. Ties as in [`csn_clean_full`](super::csn_clean_full).

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

/// The protocol in words.
const DESCRIPTION: &str = "text to code with the identifiers of the test functions replaced";

/// One split of AdvTest.
pub fn advtest(
    texts: &mut BenchmarkTexts,
    functions: &[&Function],
    split: &str,
    mode: TextMode,
) -> Result<RankedProtocol> {
    let part = docstrings_search_code(texts, functions, functions, mode)?;
    let metrics = vec![("mrr".to_owned(), Metric::Mrr(None))];
    Ok(RankedProtocol::new(
        ("advtest", DESCRIPTION),
        "python",
        split,
        vec![part],
        TieTreatment::Ordered(TieRule::LastPosition),
        metrics,
    ))
}
