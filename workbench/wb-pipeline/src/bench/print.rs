//! Outcomes of benchmarks as tables.

use wb_bench::Compressed;
use wb_core::{distinct, records::outcome::ContestantOutcome};

use crate::output;

/// The numbers as a table, each with its interval, the values that ties allow, and the value without duplicates.
pub fn print(outcomes: &[ContestantOutcome]) {
    let mut rows: Vec<Vec<String>> = Vec::new();
    for outcome in outcomes {
        let contestant = match &outcome.base {
            Some(base) => format!("{} ({base})", outcome.contestant),
            None => outcome.contestant.clone(),
        };
        for score in &outcome.protocols {
            let ties = match score.tie_best - score.tie_worst > 1e-9 {
                true => format!("[{:.4}, {:.4}]", score.tie_worst, score.tie_best),
                false => "none".to_owned(),
            };
            rows.push(vec![
                contestant.clone(),
                score.id.clone(),
                score.language.clone(),
                score.split.clone(),
                score.metric.clone(),
                format!("{:.4}", score.value),
                format!("{:.4}", score.interval),
                ties,
                score.deduplicated.map_or_else(|| "-".to_owned(), |value| format!("{value:.4}")),
                score.n_queries.to_string(),
                score.pool.to_string(),
            ]);
        }
    }
    let header = [
        "contestant",
        "protocol",
        "language",
        "split",
        "metric",
        "value",
        "95 % interval",
        "ties",
        "no duplicates",
        "queries",
        "pool",
    ];
    output::table(&header, &rows);
}

/// The counts of duplicates and leaks that are not 0, each once.
pub fn print_audit(outcomes: &[ContestantOutcome]) {
    let lines = distinct(outcomes.iter().flat_map(|outcome| &outcome.audit));
    let found = lines.iter().filter(|line| line.count > 0);
    let rows: Vec<Vec<String>> =
        found.map(|line| vec![line.what.clone(), line.count.to_string(), line.of.to_string()]).collect();
    output::line("");
    if !rows.is_empty() {
        output::table(&["audit", "count", "of"], &rows);
    }
    output::line(format!("{} of {} counts of duplicates and leaks are 0", lines.len() - rows.len(), lines.len()));
}

/// Prints the cost of a compressed token index, and how much of exact search it finds.
pub fn print_compressed(found: &Compressed) {
    output::line(format!(
        "\ntoken index: {} documents, {} tokens, {} centroids; {:.1} bytes a token instead of {}; built in {:.1} s",
        found.documents,
        found.tokens,
        found.centroids,
        found.bytes_per_token,
        found.exact_bytes_per_token,
        found.build_seconds
    ));
    let rows: Vec<Vec<String>> = found
        .searches
        .iter()
        .map(|search| {
            let [ten, hundred] = search.recall.map(|share| format!("{share:.3}"));
            vec![search.name.clone(), ten, hundred, format!("{:.1}", search.queries_per_second)]
        })
        .collect();
    output::table(&["search", "recall of exact 10", "of exact 100", "queries/s"], &rows);
}
