//! The guard against leaks: no retrieved example of the question's own database, unless asked for.

use wb_core::ranking::Ranking;

use super::ExampleDocument;

/// Account of the guard.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Guarded {
    /// Hits that were taken out.
    pub removed: usize,
    /// Questions that lost one at least.
    pub questions: usize,
    /// Questions that have fewer than `keep` hits now.
    pub short: usize,
}

/// Takes out of each ranking the documents of the question's own database, and keeps the first `keep` of the rest.
///
/// `databases` are those of the questions, by [`Ranking::query`]. So that `keep` remain, rank deeper than `keep`: as
/// deep as the largest database has documents, and `keep` more. Hits on documents that are not there are taken out too.
pub fn guard(rankings: &mut [Ranking], documents: &[ExampleDocument], databases: &[&str], keep: usize) -> Guarded {
    let mut guarded = Guarded::default();
    for ranking in rankings {
        let before = ranking.hits.len();
        let own = databases.get(ranking.query);
        ranking.hits.retain(|hit| {
            documents.get(hit.document).is_some_and(|document| own.is_some_and(|own| *own != document.db_id))
        });
        let removed = before - ranking.hits.len();
        guarded.removed += removed;
        guarded.questions += usize::from(removed > 0);
        guarded.short += usize::from(ranking.hits.len() < keep);
        ranking.hits.truncate(keep);
    }
    guarded
}

#[cfg(test)]
mod tests {
    use wb_core::ranking::Hit;

    use super::*;

    #[test]
    fn own_examples_are_taken_out_and_counted() {
        let document = |db_id: &str| ExampleDocument {
            id: String::new(),
            db_id: db_id.to_owned(),
            question: None,
            sql: String::new(),
        };
        let documents = ["a", "b", "a", "c"].map(document);
        let hit = |document| Hit { document, score: 1.0 };
        let ranking = |query, hits: &[usize]| Ranking { query, hits: hits.iter().map(|&at| hit(at)).collect() };
        let mut rankings = [ranking(0, &[0, 1, 2, 3]), ranking(1, &[0, 2, 3]), ranking(0, &[0, 2, 9])];
        let guarded = guard(&mut rankings, &documents, &["a", "d"], 2);
        assert_eq!(guarded, Guarded { removed: 5, questions: 2, short: 1 });
        let left = rankings.map(|ranking| ranking.hits.iter().map(|hit| hit.document).collect::<Vec<_>>());
        assert_eq!(left, [vec![1, 3], vec![0, 2], vec![]]);
    }
}
