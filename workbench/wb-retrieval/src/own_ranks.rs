//! Ranks of each query's own document, and texts that say the same as an earlier one.

use ndarray::s;
use rayon::prelude::*;
use wb_core::{Embeddings, Progress};

use crate::{Result, Retriever, error::unlike_lengths, inner_product::inner_products, retriever::block_of};

/// Ranks, from 1, each query's own document: 1 + the number of other documents whose score is at least as high. Ties
/// count against it, and so do scores that are not numbers. `own[i]` is the position of query i's document.
///
/// Queries go in blocks whose scores fit 256 MiB; time grows with queries × documents.
pub fn own_ranks(
    retriever: &dyn Retriever,
    queries: &[&str],
    own: &[usize],
    progress: &mut dyn FnMut(Progress),
) -> Result<Vec<usize>> {
    if own.len() != queries.len() {
        return Err(unlike_lengths("queries and own documents", own.len(), queries.len()));
    }
    let block = block_of(retriever.n_documents());
    let mut ranks = Vec::with_capacity(queries.len());
    progress(Progress::new("ranking pairs", 0, queries.len()));
    for (queries_of_block, own) in queries.chunks(block).zip(own.chunks(block)) {
        // One stage, also where a retriever has stages of its own for each block.
        let done = ranks.len();
        let mut within =
            |part: Progress| progress(Progress::new("ranking pairs", done, queries.len()).note(part.stage));
        let scores = retriever.scores(queries_of_block, &mut within)?;
        let rank = |query: usize| {
            let mine = scores[[query, own[query]]];
            // Scores that are not numbers count against the answer.
            let behind = |score: f32| score.partial_cmp(&mine) == Some(std::cmp::Ordering::Less);
            let ahead = |(at, score): &(usize, &f32)| *at != own[query] && !behind(**score);
            1 + scores.row(query).iter().enumerate().filter(ahead).count()
        };
        ranks.par_extend((0..own.len()).into_par_iter().map(rank));
        progress(Progress::new("ranking pairs", ranks.len(), queries.len()));
    }
    Ok(ranks)
}

/// Tells `take`, for each vector in order, which earlier ones have at least this inner product with it, ascending.
/// Vectors of length 1 are compared by cosine.
pub fn similar_earlier(
    vectors: &Embeddings,
    least: f64,
    take: &mut dyn FnMut(usize, &[usize]),
    progress: &mut dyn FnMut(Progress),
) {
    let n = vectors.texts();
    let block = block_of(n);
    progress(Progress::new("comparing texts by meaning", 0, n));
    for first in (0..n).step_by(block) {
        let end = (first + block).min(n);
        let scores =
            inner_products(vectors.view().slice_move(s![first..end, ..]), vectors.view().slice_move(s![..end, ..]));
        let earlier = |row: usize| -> Vec<usize> {
            (0..first + row).filter(|at| f64::from(scores[[row, *at]]) >= least).collect()
        };
        let found: Vec<Vec<usize>> = (0..end - first).into_par_iter().map(earlier).collect();
        found.iter().enumerate().for_each(|(row, earlier)| take(first + row, earlier));
        progress(Progress::new("comparing texts by meaning", end, n));
    }
}

#[cfg(test)]
mod tests {
    use ndarray::arr2;
    use wb_core::progress::silent;

    use super::*;
    use crate::{Bm25Config, DenseRetriever, dense::tests::LETTERS};

    #[test]
    fn ties_count_against_a_query() {
        let documents = ["sort numbers", "quick xs", "open file", "hello name"];
        let bm25 = Bm25Config::default().init(&documents, &mut silent).unwrap();
        // The second's own document shares no word with it: the first has more, the others as little.
        let queries = ["sort numbers", "sort letters", "open a file", "greet"];
        assert_eq!(own_ranks(&bm25, &queries, &[0, 1, 2, 3], &mut silent).unwrap(), [1, 4, 1, 4]);
        let dense = DenseRetriever::new(&LETTERS, &["ab", "ba", "abc", "xyz"], &mut silent).unwrap();
        // `ab` and `ba` have the same letters.
        assert_eq!(own_ranks(&dense, &["ab", "abc", "xyz"], &[0, 2, 3], &mut silent).unwrap(), [2, 1, 1]);
        assert!(own_ranks(&dense, &["ab"], &[0, 1], &mut silent).is_err());
    }

    #[test]
    fn earlier_texts_that_are_similar_are_told_in_order() {
        let vectors = Embeddings::dense(arr2(&[[1.0, 0.0], [0.0, 1.0], [0.8, 0.6], [1.0, 0.0]]));
        let mut found = Vec::new();
        similar_earlier(&vectors, 0.75, &mut |at, earlier| found.push((at, earlier.to_vec())), &mut silent);
        assert_eq!(found, [(0, vec![]), (1, vec![]), (2, vec![0]), (3, vec![0, 2])]);
    }
}
