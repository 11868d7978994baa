//! The best and the worst queries with what came back, for people to look at.

use wb_core::{
    Progress,
    records::outcome::{QueryExample, ReturnedDocument},
};

use crate::{
    Result,
    contestant::Scorer,
    protocols::ranked::{Placed, RankedProtocol},
};

/// Documents shown for each query.
const RETURNED: usize = 3;

/// The `n` best and then the `n` worst queries of a protocol.
///
/// Best: the answer stands first by the widest margin. Worst: the answer has the highest rank or was not found, by the
/// narrowest margin first among equals. No query is shown twice.
pub fn best_and_worst(
    ranked: &RankedProtocol,
    placed: &[Placed],
    scorer: &Scorer<'_>,
    n: usize,
    progress: &mut dyn FnMut(Progress),
) -> Result<Vec<QueryExample>> {
    let rank = |index: usize| if placed[index].rank == 0 { usize::MAX } else { placed[index].rank };
    let mut order: Vec<usize> = (0..placed.len()).collect();
    order.sort_by(|a, b| rank(*a).cmp(&rank(*b)).then(placed[*b].margin.total_cmp(&placed[*a].margin)).then(a.cmp(b)));
    let n = n.min(order.len() / 2 + order.len() % 2);
    let mut chosen: Vec<usize> = order[..n].to_vec();
    chosen.extend(order.iter().rev().take(n.min(order.len() - n)));
    let tops = ranked.top(scorer, &|index| chosen.contains(&index), RETURNED, progress)?;
    let mut first_of_part = vec![0];
    for part in &ranked.parts {
        first_of_part.push(first_of_part[first_of_part.len() - 1] + part.queries.len());
    }
    let texts = scorer.texts();
    let mut examples: Vec<(usize, QueryExample)> = tops
        .into_iter()
        .map(|top| {
            let part = &ranked.parts[top.part];
            let query = &part.queries[top.query];
            let index = first_of_part[top.part] + top.query;
            let relevant = |position: usize| query.relevant.iter().any(|(at, grade)| *at == position && *grade > 0.0);
            let text = |position: usize| texts.documents.text(part.texts[position]).to_owned();
            let best = query.relevant.iter().max_by(|a, b| a.1.total_cmp(&b.1));
            let returned = top.hits.iter().map(|hit| ReturnedDocument {
                id: part.ids[hit.document].clone(),
                text: text(hit.document),
                score: f64::from(hit.score),
                relevant: relevant(hit.document),
            });
            let example = QueryExample {
                protocol: (ranked.id.clone(), ranked.language.clone(), ranked.split.clone()),
                id: query.id.clone(),
                query: texts.queries.text(query.text).to_owned(),
                rank: placed[index].rank as u64,
                answer: best.map(|(position, _)| text(*position)).unwrap_or_default(),
                returned: returned.collect(),
            };
            (index, example)
        })
        .collect();
    examples.sort_by_key(|(index, _)| chosen.iter().position(|chosen| chosen == index));
    Ok(examples.into_iter().map(|(_, example)| example).collect())
}
