//! The account of a mining: counts, scores, estimates of false negatives, and a sample of pairs.

use anyhow::Result;
use wb_core::{
    Encoder, Progress,
    records::negatives::{EstimateRow, NegativesCard, ScoreRow, TieRow, Triple, TripleNegative},
};
use wb_retrieval::mining::{
    CutTies, Distribution, MinedNegatives, MiningTexts, Rule,
    copies::{Copies, is_renamed},
    estimate::{self, JudgedSample},
};

use super::{Search, ranker::MiningRanker};
use crate::output;

/// Pairs that are shown, drawn at random, and those whose negatives come nearest.
const SHOWN: [usize; 2] = [150, 100];
/// Code with this Jaccard similarity of five-token shingles is told as a near copy.
const NEAR: f64 = 0.7;

/// The cuts at which another device may keep other documents.
const AT_PLACES: &str = "ends of the places that are looked at, a query";
const AT_TAKEN: &str = "between what is taken and what is left, a pair";

/// The card of a mining.
pub fn card(
    search: &Search<'_>,
    mined: &MinedNegatives,
    ranker: &mut MiningRanker,
    progress: &mut dyn FnMut(Progress),
) -> Result<NegativesCard> {
    let (texts, account) = (search.texts, &mined.account);
    let scores = ["positive", "negative", "difference"].iter().zip(mined.scores());
    Ok(NegativesCard {
        retriever: ranker.name(),
        rules: rules(search),
        pairs: account.pairs,
        queries: account.queries,
        documents: account.documents,
        candidates: account.candidates,
        thrown: Rule::ALL.iter().map(|rule| (rule.name().to_owned(), account.thrown.by(*rule))).collect(),
        left: account.left,
        chosen: account.chosen,
        filled: account.filled,
        short: account.short,
        without: account.without,
        replaced: texts.pairs().iter().filter(|pair| !pair.negatives.is_empty()).count() as u64,
        ties: vec![tie_row(AT_PLACES, &account.at_places), tie_row(AT_TAKEN, &account.at_taken)],
        scores: scores.map(|(name, scores)| row(name, &Distribution::of(scores))).collect(),
        estimates: estimates(search, mined, ranker, progress)?,
        triples: triples(search, mined),
    })
}

/// The rules in words, and whose scores they are applied to.
fn rules(search: &Search<'_>) -> Vec<(String, String)> {
    let mut rules = search.config.rules().described();
    rules.extend(search.stronger.map(|stronger| rescored_by(stronger.name())));
    rules
}

/// The name of what gives the scores in place of the ranker.
pub fn rescored_by(name: String) -> (String, String) {
    ("rescored by".to_owned(), name)
}

fn tie_row(cut: &str, ties: &CutTies) -> TieRow {
    TieRow { cut: cut.to_owned(), of: ties.cuts, tied: ties.tied, candidates: ties.candidates }
}

fn row(name: &str, of: &Distribution) -> ScoreRow {
    ScoreRow {
        name: name.to_owned(),
        count: of.count,
        values: [of.mean, of.deviation, of.min, of.lower_quartile, of.median, of.upper_quartile, of.max],
    }
}

/// Signs of false negatives, each counted on the same sample.
fn estimates(
    search: &Search<'_>,
    mined: &MinedNegatives,
    ranker: &mut MiningRanker,
    progress: &mut dyn FnMut(Progress),
) -> Result<Vec<EstimateRow>> {
    let texts = search.texts;
    let sample = estimate::sample(texts, mined, search.config.sample, search.experiment.seed);
    if sample.is_empty() {
        return Ok(Vec::new());
    }
    progress(Progress::new("judging negatives", 0, 0));
    let mut rows = Vec::new();
    match ranker {
        MiningRanker::Words(_, Some(encoder)) => {
            let judged = estimate::above_positive_by_vectors(texts, &sample, &**encoder, progress)?;
            rows.push(estimate_row(&format!("{} puts it above the positive", encoder.name()), judged));
        }
        MiningRanker::Words(_, None) => {}
        MiningRanker::Encoder(_) | MiningRanker::Vectors(_) => {
            let judged = estimate::above_positive_by_words(texts, &sample, search.experiment.bench.bm25)?;
            rows.push(estimate_row("BM25 puts it above the positive", judged));
        }
    }
    progress(Progress::new("judging negatives", 0, 0).note("nearly equal texts"));
    let copies = Copies::new(texts, NEAR);
    let near = estimate::judge(texts, &sample, |positive, document| copies.are(positive, document));
    rows.push(estimate_row("nearly the positive's text (Jaccard of 5-token shingles at least 0.7)", near));
    let of = |document: u32| texts.documents()[document as usize];
    let renamed = estimate::judge(texts, &sample, |positive, document| is_renamed(of(positive), of(document)));
    rows.push(estimate_row("the positive's code under other names", renamed));
    Ok(rows)
}

fn estimate_row(measure: &str, JudgedSample { mined, random }: JudgedSample) -> EstimateRow {
    EstimateRow {
        measure: measure.to_owned(),
        hits: mined.hits,
        of: mined.of,
        interval: mined.interval(),
        random_hits: random.hits,
        random_interval: random.interval(),
    }
}

/// A sample of pairs: some at random, and those whose hardest negative comes nearest to the positive.
fn triples(search: &Search<'_>, mined: &MinedNegatives) -> Vec<Triple> {
    let texts = search.texts;
    let n = mined.pairs.len();
    let margin = |pair: usize| {
        let pair = &mined.pairs[pair];
        let hardest = pair.negatives.iter().filter_map(|negative| negative.score).fold(f32::NEG_INFINITY, f32::max);
        pair.positive_score - hardest
    };
    let mut nearest: Vec<usize> = (0..n).collect();
    nearest.sort_by(|a, b| margin(*a).total_cmp(&margin(*b)).then(a.cmp(b)));
    nearest.truncate(SHOWN[1]);
    let mut shown = search.experiment.seed.permutation_at("shown negatives", 0, n);
    shown.truncate(SHOWN[0]);
    shown.extend(nearest);
    shown.sort_unstable();
    shown.dedup();
    shown.into_iter().map(|pair| triple(texts, mined, pair)).collect()
}

fn triple(texts: &MiningTexts<'_>, mined: &MinedNegatives, at: usize) -> Triple {
    let (pair, of_pair) = (&texts.pairs()[at], &mined.pairs[at]);
    let negatives = of_pair.negatives.iter().map(|negative| TripleNegative {
        id: texts.document_ids()[negative.document as usize].to_owned(),
        text: texts.documents()[negative.document as usize].to_owned(),
        score: negative.score,
        rank: negative.rank,
    });
    Triple {
        id: pair.id.clone(),
        language: pair.language.clone(),
        anchor: pair.anchor.clone(),
        positive: pair.positive.clone(),
        score: of_pair.positive_score,
        negatives: negatives.collect(),
    }
}

/// The card on the terminal.
pub fn print(card: &NegativesCard) {
    output::line(format!(
        "{} negatives for {} pairs ({} different anchors, {} documents), ranked by {}",
        card.chosen + card.filled,
        card.pairs,
        card.queries,
        card.documents,
        card.retriever
    ));
    let told: Vec<String> = card.rules.iter().map(|(name, value)| format!("{name} {value}")).collect();
    output::line(format!("rules: {}", told.join("; ")));
    output::line("");
    let number = |value: &f64| format!("{value:.4}");
    let rows: Vec<Vec<String>> = card
        .scores
        .iter()
        .map(|row| [row.name.clone(), row.count.to_string()].into_iter().chain(row.values.iter().map(number)).collect())
        .collect();
    output::table(&["score", "count", "mean", "deviation", "min", "25%", "50%", "75%", "max"], &rows);
    output::line("");
    let share = |n: u64, of: u64| format!("{:.2} %", 100.0 * n as f64 / (of as f64).max(1.0));
    let candidate = |what: &str, n: u64| vec![what.to_owned(), n.to_string(), share(n, card.candidates)];
    let mut rows = vec![candidate("ranked", card.candidates)];
    rows.extend(card.thrown.iter().filter(|(_, n)| *n > 0).map(|(rule, n)| candidate(&format!("thrown: {rule}"), *n)));
    rows.push(candidate("left", card.left));
    output::table(&["candidates", "count", "share"], &rows);
    for (n, what) in [
        (card.filled, "negatives were drawn from all documents"),
        (card.short, &format!("pairs have fewer than were asked for; {}", more_places(card))),
        (card.without, "of them have none"),
        (card.replaced, "pairs had negatives, which were replaced"),
    ] {
        if n > 0 {
            output::line(format!("{n} {what}"));
        }
    }
    print_ties(card);
    if !card.estimates.is_empty() {
        output::line("");
        print_estimates(card);
    }
}

/// Prints where the same mining on another device may take other documents.
fn print_ties(card: &NegativesCard) {
    if card.ties.is_empty() {
        return;
    }
    output::line("");
    let rows = card
        .ties
        .iter()
        .map(|row| vec![row.cut.clone(), row.of.to_string(), row.tied.to_string(), row.candidates.to_string()]);
    output::table(&["cuts", "made", "through a tie", "candidates in it"], &rows.collect::<Vec<_>>());
    if card.ties.iter().any(|row| row.tied > 0) {
        output::line("scores are equal within rounding there, and another device may keep other documents of those");
    }
}

/// Advice for pairs that have fewer negatives than were asked for.
fn more_places(card: &NegativesCard) -> String {
    let ranked = card.candidates.div_ceil(card.queries.max(1));
    match ranked >= card.documents {
        true => "every document was looked at for them".to_owned(),
        false => format!("more places may help: negatives.ranks='[0, {}]'", (4 * ranked).next_multiple_of(100)),
    }
}

fn print_estimates(card: &NegativesCard) {
    let cell = |hits: u64, of: u64, [low, high]: [f64; 2]| {
        format!("{:.1} % [{:.1}, {:.1}]", 100.0 * hits as f64 / (of as f64).max(1.0), 100.0 * low, 100.0 * high)
    };
    let rows: Vec<Vec<String>> = card
        .estimates
        .iter()
        .map(|row| {
            vec![
                row.measure.clone(),
                cell(row.hits, row.of, row.interval),
                cell(row.random_hits, row.of, row.random_interval),
            ]
        })
        .collect();
    output::table(&["signs of false negatives", "negatives", "random documents"], &rows);
    let n = card.estimates.first().map_or(0, |row| row.of);
    output::line(format!(
        "on {n} sampled negatives, one a pair that has any, with Wilson's 95 % intervals; nobody judged them"
    ));
}
