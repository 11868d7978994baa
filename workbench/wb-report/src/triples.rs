//! Mined pairs to one page: the account, the scores, the estimates, and a sample to browse by margin, without scripts.

use std::path::{Path, PathBuf};

use minijinja::Value;
use serde::Serialize;
use wb_core::{
    atomic,
    records::negatives::{NegativesCard, Triple, TripleNegative},
};

use crate::{
    Result, highlight,
    numbers::{count, percent, significant},
    template,
};

#[derive(Serialize)]
struct Page {
    title: String,
    retriever: String,
    rules: Vec<(String, String)>,
    pairs: String,
    queries: String,
    documents: String,
    account: Vec<Line>,
    scores: Vec<Scores>,
    estimates: Vec<Estimate>,
    shown: usize,
    buckets: Vec<BucketView>,
    triples: Vec<TripleView>,
}

#[derive(Serialize)]
struct Line {
    what: String,
    count: String,
    share: String,
}

#[derive(Serialize)]
struct Scores {
    name: String,
    count: String,
    values: Vec<String>,
}

#[derive(Serialize)]
struct Estimate {
    measure: String,
    hits: String,
    of: String,
    share: String,
    interval: String,
    random_share: String,
    random_interval: String,
}

#[derive(Serialize)]
struct BucketView {
    class: &'static str,
    name: &'static str,
    count: usize,
}

#[derive(Serialize)]
struct TripleView {
    id: String,
    language: String,
    class: &'static str,
    margin: String,
    anchor: String,
    score: String,
    positive: Value,
    negatives: Vec<NegativeView>,
}

#[derive(Serialize)]
struct NegativeView {
    id: String,
    rank: String,
    score: String,
    higher: bool,
    code: Value,
}

/// Classes of the distance from the positive to the hardest negative below it: class in the page, words, and the least share that is none
/// of it any more.
const BUCKETS: [(&str, &str, f64); 5] = [
    ("above", "above the positive", 0.0),
    ("close", "less than 5 % below", 0.05),
    ("near", "5 to 20 % below", 0.2),
    ("far", "further below", f64::INFINITY),
    ("bare", "no score", f64::NAN),
];

/// Writes the page of a mining to `file`, whole or not at all. It opens alone, without a network and without scripts;
/// every text in it is shown as text.
pub fn triples(card: &NegativesCard, title: &str, file: &Path) -> Result<PathBuf> {
    let mut ordered: Vec<(&Triple, Option<f64>)> = card.triples.iter().map(|triple| (triple, margin(triple))).collect();
    ordered.sort_by(|a, b| a.1.unwrap_or(f64::INFINITY).total_cmp(&b.1.unwrap_or(f64::INFINITY)));
    let page = Page {
        title: title.to_owned(),
        retriever: card.retriever.clone(),
        rules: card.rules.clone(),
        pairs: count(card.pairs),
        queries: count(card.queries),
        documents: count(card.documents),
        account: account(card),
        scores: card
            .scores
            .iter()
            .map(|row| Scores {
                name: row.name.clone(),
                count: count(row.count),
                values: row.values.iter().map(|value| score(*value)).collect(),
            })
            .collect(),
        estimates: card
            .estimates
            .iter()
            .map(|row| Estimate {
                measure: row.measure.clone(),
                hits: count(row.hits),
                of: count(row.of),
                share: percent(row.hits, row.of),
                interval: ends(row.interval),
                random_share: percent(row.random_hits, row.of),
                random_interval: ends(row.random_interval),
            })
            .collect(),
        shown: ordered.len(),
        buckets: BUCKETS
            .iter()
            .map(|(class, name, _)| BucketView {
                class,
                name,
                count: ordered.iter().filter(|(_, margin)| bucket(*margin) == *class).count(),
            })
            .filter(|bucket| bucket.count > 0)
            .collect(),
        triples: ordered.into_iter().map(|(triple, margin)| view(triple, margin)).collect(),
    };
    atomic::write(file, template::render(template::TRIPLES, &page)?.as_bytes())?;
    Ok(file.to_owned())
}

/// The distance of the positive's score and that of the hardest negative, as a share of the positive's magnitude.
fn margin(triple: &Triple) -> Option<f64> {
    let scores = triple.negatives.iter().filter_map(|negative| negative.score);
    let hardest = scores.fold(None, |best: Option<f32>, score| Some(best.map_or(score, |best| best.max(score))))?;
    let difference = f64::from(triple.score) - f64::from(hardest);
    Some(difference / f64::from(triple.score.abs()).max(1e-9))
}

fn bucket(margin: Option<f64>) -> &'static str {
    let Some(margin) = margin else { return BUCKETS[4].0 };
    // Equal to the positive counts as above it.
    let found = BUCKETS.iter().find(|(class, _, end)| if *class == "above" { margin <= *end } else { margin < *end });
    found.map_or(BUCKETS[3].0, |(class, ..)| class)
}

fn view(triple: &Triple, margin: Option<f64>) -> TripleView {
    let negative = |negative: &TripleNegative| NegativeView {
        id: negative.id.clone(),
        rank: negative.rank.map(|rank| count(u64::from(rank))).unwrap_or_default(),
        score: negative.score.map(|of| score(f64::from(of))).unwrap_or_default(),
        higher: negative.score.is_some_and(|score| score >= triple.score),
        code: highlight::code(&negative.text),
    };
    TripleView {
        id: triple.id.clone(),
        language: triple.language.clone(),
        class: bucket(margin),
        margin: margin.map(told).unwrap_or_default(),
        anchor: triple.anchor.clone(),
        score: score(f64::from(triple.score)),
        positive: highlight::code(&triple.positive),
        negatives: triple.negatives.iter().map(negative).collect(),
    }
}

/// Tells the distance of the hardest negative from the positive: with its sign, and cut where the positive's score is next to nothing.
fn told(margin: f64) -> String {
    let percent = -100.0 * margin;
    let text =
        if percent.abs() > 200.0 { format!("{:+.0} %", 200.0 * percent.signum()) } else { format!("{percent:+.1} %") };
    let text = text.replace('-', "−");
    if percent.abs() > 200.0 { format!("beyond {text}") } else { text }
}

fn account(card: &NegativesCard) -> Vec<Line> {
    let line =
        |what: &str, of: u64, whole: u64| Line { what: what.to_owned(), count: count(of), share: percent(of, whole) };
    let mut lines = vec![line("candidates ranked", card.candidates, card.candidates)];
    lines.extend(
        card.thrown
            .iter()
            .filter(|(_, n)| *n > 0)
            .map(|(rule, n)| line(&format!("thrown away: {rule}"), *n, card.candidates)),
    );
    lines.push(line("left", card.left, card.candidates));
    for (what, n) in [("negatives taken, over all pairs", card.chosen), ("negatives drawn at random", card.filled)] {
        if n > 0 {
            lines.push(Line { what: what.to_owned(), count: count(n), share: String::new() });
        }
    }
    lines.push(line("pairs with fewer negatives than asked for", card.short, card.pairs));
    lines.push(line("pairs without any", card.without, card.pairs));
    lines
}

fn score(value: f64) -> String {
    significant(value, 4)
}

fn ends([low, high]: [f64; 2]) -> String {
    format!("{:.1} to {:.1} %", 100.0 * low, 100.0 * high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn margins_are_shares_of_the_positive_and_fall_into_buckets() {
        let of = |score: f32, negatives: &[Option<f32>]| {
            let negative = |score: &Option<f32>| TripleNegative { score: *score, ..TripleNegative::default() };
            let triple = Triple { score, negatives: negatives.iter().map(negative).collect(), ..Triple::default() };
            bucket(margin(&triple))
        };
        assert_eq!(of(0.5, &[Some(0.2), Some(0.6)]), "above");
        assert_eq!(of(0.5, &[Some(0.5)]), "above");
        assert_eq!(of(0.5, &[Some(0.49), None]), "close");
        assert_eq!(of(0.5, &[Some(0.45)]), "near");
        assert_eq!(of(0.5, &[Some(0.1)]), "far");
        assert_eq!(of(-0.5, &[Some(-0.52)]), "close");
        assert_eq!(of(-0.5, &[Some(-0.48)]), "above");
        assert_eq!((of(0.5, &[]), of(0.5, &[None])), ("bare", "bare"));
        assert_eq!((told(0.021), told(-0.5), told(-95.0)), ("−2.1 %".into(), "+50.0 %".into(), "beyond +200 %".into()));
    }
}
