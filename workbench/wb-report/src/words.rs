//! Protocols, metrics and verdicts in words.

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
        "map" => "MAP".to_owned(),
        other => other.to_owned(),
    }
}

/// Order of metrics in tables: MRR, nDCG, then the others by name and cut.
pub fn metric_order(name: &str) -> (u8, String, u64) {
    let (stem, cut) = name.split_once('@').unwrap_or((name, ""));
    let rank = match stem {
        "mrr" => 0,
        "ndcg" => 1,
        "map" => 2,
        "recall" => 3,
        _ => 4,
    };
    (rank, stem.to_owned(), cut.parse().unwrap_or(0))
}

/// Up to six metrics to show first, in the order of tables: all where there are no more, else the best known ones.
pub fn headline(metrics: &[String]) -> Vec<String> {
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
        let known: Vec<String> = KNOWN
            .iter()
            .filter(|known| metrics.iter().any(|metric| metric == *known))
            .map(|known| (*known).to_owned())
            .collect();
        if !known.is_empty() {
            chosen = known;
        }
        chosen.truncate(MOST);
        chosen.sort_by_key(|metric| metric_order(metric));
    }
    chosen
}

/// What a protocol does, in words; for a protocol that is not known, what its pool says.
pub fn protocol(id: &str) -> &'static str {
    match id {
        "csn-1000" => {
            "CodeSearchNet’s own protocol: each function ranks the 1,000 queries of its batch, a tie counts against the answer, and the value is the mean over full batches"
        }
        "csn-full" => {
            "each docstring of the split searches all functions of the split; documents with the answer’s own score count for the answer"
        }
        "csn-func1000" => "as csn-1000, with the function’s name as the query",
        "csn-ndcg-within" => {
            "99 annotated queries against the language’s code, the first 300 results; only annotated results take up a rank"
        }
        "csn-ndcg-all" => {
            "99 annotated queries against the language’s code, the first 300 results; every result takes up a rank"
        }
        "csn-clean-full" => {
            "text to code against the development and test code of the language; an answer beyond rank 1,000 counts as not found"
        }
        "advtest" => "text to code with the identifiers of the test functions replaced",
        "cosqa-6267" => "web queries against all 6,267 functions of CoSQA",
        "coir-csn" => "code to docstring as CoIR does it: results with the query’s own id are removed",
        "coir-ccr" => "the beginning of a function to its rest, as CoIR does it",
        "mteb-csn" => "text to code as MTEB does it: 1,000 queries a language, ties by descending id",
        _ if id.starts_with("st-") => {
            "as the evaluator of sentence-transformers does it: any grade above 0 is relevant, ties by ascending id"
        }
        _ if id.starts_with("coir-") => "as CoIR does it: results with the query’s own id are removed",
        _ if id.starts_with("mteb-") => "as MTEB does it: title and text joined, ties by descending id",
        _ if id.starts_with("pairs-") && id.ends_with("full") => {
            "each held-out anchor searches the code of all held-out pairs; a tie counts against the answer"
        }
        _ if id.starts_with("pairs-") => {
            "as pairs-full, in pools cut from a fixed shuffle, a last partial pool left out; a tie counts against the answer"
        }
        _ => "each query ranks the documents of the pool",
    }
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
pub fn verdict(word: &str) -> (&'static str, &'static str) {
    match word {
        "WIN" => (
            "win",
            "The trained encoder is better than the baseline on the same queries and the same pool, by more than chance explains: the whole 95 % interval of the paired difference lies above zero.",
        ),
        "MARGINAL" => (
            "marginal",
            "With this many queries the trained encoder and the baseline cannot be told apart: the 95 % interval of the paired difference holds zero.",
        ),
        "REGRESSION" => (
            "regression",
            "The trained encoder is worse than the baseline on the same queries and the same pool, by more than chance explains.",
        ),
        _ => ("none", "The run does not say how the trained encoder compares with the baseline."),
    }
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
        let few = ["recall@1", "mrr"].map(str::to_owned);
        assert_eq!(headline(&few), ["mrr", "recall@1"]);
        let many: Vec<String> = ["ndcg", "map", "recall", "precision", "mrr"]
            .iter()
            .flat_map(|stem| [1, 3, 5, 10, 100].map(|k| format!("{stem}@{k}")))
            .collect();
        assert_eq!(headline(&many), ["mrr@10", "ndcg@10", "map@100", "recall@1", "recall@5", "recall@10"]);
        let unknown: Vec<String> = (0..9).map(|index| format!("m{index}")).collect();
        assert_eq!(headline(&unknown).len(), 6);
    }

    #[test]
    fn slugs_are_safe_names() {
        assert_eq!(slug("../../etc"), "etc");
        assert_eq!(slug("<img onerror=x>"), "img-onerror-x");
        assert_eq!(slug("CSN 1000"), "csn-1000");
        assert_eq!(slug("…"), "unnamed");
    }
}
