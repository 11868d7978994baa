//! Metrics, leaks and verdicts in words; a protocol's own stand in the record.

use wb_core::{records::compare::CompareVerdict, statistics::Interval};

/// A metric's name as the field writes it.
pub fn metric(name: &str) -> String {
    if name == "mrr" {
        return "MRR".to_owned();
    }
    for (prefix, word) in [
        ("mrr@", "MRR@"),
        ("ndcg@", "nDCG@"),
        ("recall@", "Recall@"),
        ("precision@", "P@"),
        ("map@", "MAP@"),
        ("accuracy@", "Accuracy@"),
    ] {
        if let Some(k) = name.strip_prefix(prefix) {
            return format!("{word}{k}");
        }
    }
    match name {
        "ndcg" => "nDCG".to_owned(),
        "ndcg_held_ideal" => "nDCG, ideal of held documents".to_owned(),
        "map" => "MAP".to_owned(),
        other => other.to_owned(),
    }
}

/// Order of metrics in tables: MRR, nDCG, then the others by name and cut.
pub fn metric_order(name: &str) -> (u8, String, u64) {
    let (stem, cut) = name.split_once('@').unwrap_or((name, ""));
    let rank = match stem {
        "mrr" => 0,
        "ndcg" | "ndcg_held_ideal" => 1,
        "map" => 2,
        "recall" => 3,
        _ => 4,
    };
    (rank, stem.to_owned(), cut.parse().unwrap_or(0))
}

/// Up to six metrics to show first, in the order of tables: all where there are no more, else the best known ones.
pub fn headline<'a>(metrics: &[&'a str]) -> Vec<&'a str> {
    const MOST: usize = 6;
    const KNOWN: [&str; 10] = [
        "mrr",
        "mrr@10",
        "ndcg@10",
        "ndcg",
        "recall@1",
        "recall@5",
        "recall@10",
        "map@100",
        "recall@100",
        "accuracy@1",
    ];
    let mut chosen = metrics.to_vec();
    chosen.sort_by_key(|metric| metric_order(metric));
    if chosen.len() > MOST {
        let known: Vec<&str> = KNOWN.into_iter().filter(|known| metrics.contains(known)).collect();
        if !known.is_empty() {
            chosen = known;
        }
        chosen.truncate(MOST);
        chosen.sort_by_key(|metric| metric_order(metric));
    }
    chosen
}

/// One kind of leak in words.
pub fn leak(kind: &str) -> String {
    match kind {
        "group" => "test pairs whose crate or repository is in training too".to_owned(),
        "exact anchor" => "test pairs whose anchor is in training word for word".to_owned(),
        "exact positive" => "test pairs whose code is in training word for word".to_owned(),
        "near positive" => "test pairs whose code has a near duplicate in training".to_owned(),
        "anchor contained" => {
            "test pairs whose anchor stands inside of a training text, or the other way around".to_owned()
        }
        other => other.to_owned(),
    }
}

/// The CSS class of a verdict and what the verdict means.
pub fn verdict(verdict: Option<CompareVerdict>) -> (&'static str, &'static str) {
    match verdict {
        Some(CompareVerdict::Win) => (
            "win",
            "The trained encoder is better than the baseline on the same queries and the same pool, by more than chance explains: the whole 95 % interval of the paired difference lies above zero.",
        ),
        Some(CompareVerdict::Marginal) => (
            "marginal",
            "With this many queries the trained encoder and the baseline cannot be told apart: the 95 % interval of the paired difference holds zero.",
        ),
        Some(CompareVerdict::Regression) => (
            "regression",
            "The trained encoder is worse than the baseline on the same queries and the same pool, by more than chance explains.",
        ),
        None => ("none", "The run does not say how the trained encoder compares with the baseline."),
    }
}

/// The CSS class and the word of a difference with this interval: sure where the interval leaves out 0.
pub fn difference(interval: Interval) -> (&'static str, &'static str) {
    let verdict = CompareVerdict::of(interval);
    let word = match verdict {
        CompareVerdict::Win => "BETTER",
        CompareVerdict::Marginal => "NOT SURE",
        CompareVerdict::Regression => "WORSE",
    };
    (self::verdict(Some(verdict)).0, word)
}

/// The first digits of a fingerprint.
pub fn digits(fingerprint: &str) -> String {
    fingerprint.chars().take(12).collect()
}

/// A word as part of a file name: letters, digits, `-` and `_`; everything else becomes one `-`.
pub fn slug(text: &str) -> String {
    let mut slug = String::new();
    for c in text.chars().take(60) {
        if c.is_ascii_alphanumeric() || c == '_' {
            slug.push(c.to_ascii_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() { "unnamed".to_owned() } else { slug.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_named_and_ordered() {
        let mut names = ["recall@10", "ndcg@10", "recall@5", "x", "mrr"];
        names.sort_by_key(|name| metric_order(name));
        assert_eq!(names.map(metric), ["MRR", "nDCG@10", "Recall@5", "Recall@10", "x"]);
    }

    #[test]
    fn the_headline_is_short() {
        assert_eq!(headline(&["recall@1", "mrr"]), ["mrr", "recall@1"]);
        let many: Vec<String> = ["ndcg", "map", "recall", "precision", "mrr"]
            .iter()
            .flat_map(|stem| [1, 3, 5, 10, 100].map(|k| format!("{stem}@{k}")))
            .collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(headline(&many), ["mrr@10", "ndcg@10", "map@100", "recall@1", "recall@5", "recall@10"]);
        let unknown: Vec<String> = (0..9).map(|index| format!("m{index}")).collect();
        assert_eq!(headline(&unknown.iter().map(String::as_str).collect::<Vec<_>>()).len(), 6);
    }

    #[test]
    fn slugs_are_safe_names() {
        assert_eq!(slug("../../etc"), "etc");
        assert_eq!(slug("<img onerror=x>"), "img-onerror-x");
        assert_eq!(slug("CSN 1000"), "csn-1000");
        assert_eq!(slug("…"), "unnamed");
    }
}
