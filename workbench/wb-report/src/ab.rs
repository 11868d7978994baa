//! An A/B experiment to one page: the means with their paired tests, a chart by query, classes of errors, all results.

use std::path::Path;

use minijinja::Value;
use serde::Serialize;
use wb_core::records::ab::{AbFound, AbMetric, AbRecord, ErrorClass};

use crate::{
    Result, charts, data_uri, highlight,
    numbers::{count, difference, fraction, interval, p_value},
    report::ChartedPage,
    template::{self, safe},
    words,
};

#[derive(Serialize)]
struct Page {
    title: String,
    facts: Vec<String>,
    arms: [String; 2],
    class: &'static str,
    word: &'static str,
    said: String,
    metrics: Vec<MetricView>,
    chart: Value,
    chart_alt: String,
    chart_size: (u32, u32),
    errors: Vec<ErrorView>,
    unjudged: [String; 2],
    has_unjudged: bool,
    queries: Vec<QueryView>,
}

#[derive(Serialize)]
struct MetricView {
    name: String,
    means: [String; 2],
    difference: String,
    relative: String,
    interval: String,
    p: String,
    p_bootstrap: String,
    counts: String,
    perfect: [String; 2],
}

#[derive(Serialize)]
struct ErrorView {
    name: &'static str,
    means: &'static str,
    results: [String; 2],
}

#[derive(Serialize)]
struct QueryView {
    text: String,
    useful: [u64; 2],
    better: &'static str,
    arms: Vec<Vec<FoundView>>,
}

#[derive(Serialize)]
struct FoundView {
    id: String,
    mark: &'static str,
    says: String,
    code: Value,
}

/// Writes the page of an experiment to `file`, and its chart beside it as a PNG. `facts` are lines that say what was
/// measured; `text` gives a document's.
pub fn ab(
    ab: &AbRecord,
    title: &str,
    facts: Vec<String>,
    text: &dyn Fn(&str) -> Option<String>,
    file: &Path,
) -> Result<ChartedPage> {
    let chart = charts::ab_queries(ab)?;
    let (class, word, said) = verdict(ab);
    let found = |found: &AbFound| {
        let (mark, says) = match (found.useful, found.class) {
            (Some(true), _) => ("useful", "of use".to_owned()),
            (None, class) => ("unjudged", with_class("nobody judged it, counts as of no use", class)),
            (Some(false), class) => ("useless", with_class("of no use", class)),
        };
        FoundView { id: found.id.clone(), mark, says, code: highlight::code(&text(&found.id).unwrap_or_default()) }
    };
    let page = Page {
        title: title.to_owned(),
        facts,
        arms: ab.arms.clone(),
        class,
        word,
        said,
        metrics: ab.metrics.iter().map(metric).collect(),
        chart: safe(data_uri::png(&chart.png)),
        chart_alt: alt(ab),
        chart_size: chart.size,
        errors: ab
            .errors
            .iter()
            .map(|row| {
                let (name, means) = class_words(row.class);
                ErrorView { name, means, results: row.results.map(count) }
            })
            .collect(),
        has_unjudged: ab.unjudged != [0, 0],
        unjudged: ab.unjudged.map(count),
        queries: ab
            .queries
            .iter()
            .map(|row| QueryView {
                text: row.text.clone(),
                useful: row.useful,
                better: match row.useful[1].cmp(&row.useful[0]) {
                    std::cmp::Ordering::Greater => "more",
                    std::cmp::Ordering::Less => "less",
                    std::cmp::Ordering::Equal => "",
                },
                arms: row.found.iter().map(|of_arm| of_arm.iter().map(found).collect()).collect(),
            })
            .collect(),
    };
    ChartedPage::write(file, &template::render(template::AB, &page)?, &chart.png)
}

/// The first metric in one sentence: sure where the interval of the difference leaves out 0.
fn verdict(ab: &AbRecord) -> (&'static str, &'static str, String) {
    let Some(metric) = ab.metrics.first() else { return ("none", "NOTHING MEASURED", String::new()) };
    let said = format!(
        "{} {} of {} against {} of {}, difference {} {}, {}, {} queries",
        metric.name,
        fraction(metric.means[1]),
        ab.arms[1],
        fraction(metric.means[0]),
        ab.arms[0],
        difference(metric.difference),
        interval(metric.interval),
        p_value(metric.p_value),
        ab.queries.len()
    );
    let (class, word) = words::difference(metric.interval);
    (class, word, said)
}

fn metric(metric: &AbMetric) -> MetricView {
    let [wins, ties, losses] = metric.wins_ties_losses;
    MetricView {
        name: metric.name.clone(),
        means: metric.means.map(fraction),
        difference: difference(metric.difference),
        relative: metric.relative.map_or_else(|| "–".to_owned(), |share| format!("{:+.0} %", share * 100.0)),
        interval: interval(metric.interval),
        p: p_value(metric.p_value),
        p_bootstrap: p_value(metric.p_bootstrap),
        counts: format!("{wins} / {ties} / {losses}"),
        perfect: metric.perfect.map(count),
    }
}

fn with_class(says: &str, class: Option<ErrorClass>) -> String {
    class.map_or_else(|| says.to_owned(), |class| format!("{says}: {}", class_words(class).0))
}

/// A class for people: its name, and what it means.
fn class_words(class: ErrorClass) -> (&'static str, &'static str) {
    match class {
        ErrorClass::ThemeWithoutTechnique => {
            ("theme without technique", "the subject is right, the technique that was asked for is not there")
        }
        ErrorClass::MissingFunction => {
            ("missing function", "the right library or subject, without the function that was asked for")
        }
        ErrorClass::KeywordOverReliance => {
            ("keyword over-reliance", "words of the query are there, the library is another one")
        }
        ErrorClass::Other => ("other", "none of these by its words"),
    }
}

fn alt(ab: &AbRecord) -> String {
    let rows = ab.queries.iter().map(|row| {
        let [a, b] = row.precision_3.map(fraction);
        format!("{}: {a} and {b}", row.text)
    });
    format!("Precision@3 of {} and {}. {}.", ab.arms[0], ab.arms[1], rows.collect::<Vec<_>>().join("; "))
}
