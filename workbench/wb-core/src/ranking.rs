//! Ordered hits of one query.

/// A document found, by its position in the corpus.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// Position in the corpus.
    pub document: usize,
    /// The similarity; higher is nearer.
    pub score: f32,
}

/// The hits of one query, best first.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Ranking {
    /// Position of the query.
    pub query: usize,
    /// Best first; ties are ordered by position, lower first.
    pub hits: Vec<Hit>,
}

impl Ranking {
    /// Orders hits: score descending, then position ascending. A score that is not a number sinks to the end.
    pub fn from_hits(query: usize, mut hits: Vec<Hit>) -> Self {
        hits.sort_by(Hit::better);
        Self { query, hits }
    }
}

impl Hit {
    /// `Less` where `self` stands before `other`.
    pub fn better(&self, other: &Self) -> std::cmp::Ordering {
        let key = |hit: &Self| if hit.score.is_nan() { f32::NEG_INFINITY } else { hit.score };
        key(other).total_cmp(&key(self)).then(self.document.cmp(&other.document))
    }
}
