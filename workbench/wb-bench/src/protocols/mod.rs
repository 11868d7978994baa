//! Exact protocols, one per file: who searches what, how ties count, what is averaged.

pub mod advtest;
pub mod beir;
pub mod cosqa_6267;
pub mod csn_1000;
pub mod csn_clean_full;
pub mod csn_full;
pub mod csn_func1000;
pub mod csn_ndcg;
mod distinct;
pub mod pairs;
mod protocol;
pub mod ranked;
mod relevanceeval;
pub mod search;

pub use protocol::{Context, Protocol, ProtocolNumbers};

/// A protocol with its data.
#[derive(Debug, Clone)]
pub enum PlannedProtocol {
    /// Queries rank a pool: `csn-full`, `csn-clean-full`, `advtest`, `cosqa-6267`, `coir-*`, `mteb-*`, `pairs-*`.
    Ranked(ranked::RankedProtocol),
    /// Code ranks the queries of its batch: `csn-1000`, `csn-func1000`.
    Csn1000(csn_1000::Csn1000),
    /// Graded judgements: `csn-ndcg-within`, `csn-ndcg-all`.
    CsnNdcg(csn_ndcg::CsnNdcg),
    /// Units of a repository in the ranking of `wb search`: `search-*`.
    Search(search::SearchProtocol),
}

impl PlannedProtocol {
    /// The protocol behind it.
    pub fn protocol(&self) -> &dyn Protocol {
        match self {
            Self::Ranked(protocol) => protocol,
            Self::Csn1000(protocol) => protocol,
            Self::CsnNdcg(protocol) => protocol,
            Self::Search(protocol) => protocol,
        }
    }
}
