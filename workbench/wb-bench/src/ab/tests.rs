//! Numbers by hand, the document's sums from per-query counts, and every class of error.

use super::*;

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn query(id: &str) -> AbQuery {
    AbQuery { id: id.into(), text: format!("query {id}"), ..AbQuery::default() }
}

/// An arm whose rankings have useful documents (`u0`, `u1`, ...) where the pattern has a 1, others (`w0`, ...) at 0.
fn arm(name: &str, patterns: &[&str]) -> AbArm {
    let ranking = |pattern: &str| {
        pattern.chars().enumerate().map(|(at, c)| format!("{}{at}", if c == '1' { "u" } else { "w" })).collect()
    };
    let rankings = patterns.iter().enumerate().map(|(at, pattern)| (format!("q{at}"), ranking(pattern)));
    AbArm { name: name.into(), rankings: rankings.collect() }
}

fn judged(n: usize) -> (Vec<AbQuery>, Qrels) {
    let mut qrels = Qrels::default();
    for at in 0..n {
        for document in 0..5 {
            qrels.set(format!("q{at}"), format!("u{document}"), 1.0);
            qrels.set(format!("q{at}"), format!("w{document}"), 0.0);
        }
    }
    ((0..n).map(|at| query(&format!("q{at}"))).collect(), qrels)
}

fn run(queries: &[AbQuery], qrels: &Qrels, arms: [&AbArm; 2]) -> Result<AbRecord> {
    let none = BTreeMap::new();
    let [baseline, candidate] = arms;
    AbExperiment { queries, qrels, baseline, candidate, text: &|_| None, classes: &none }.run(Seed(1))
}

/// The published counts: 14 of 30 useful results and 1 query with three of three, against 20 of 30 and 4 queries.
/// The counts of single queries are not published; these ones have all of the published sums.
#[test]
fn the_published_experiment_from_counts_per_query() {
    let patterns = |counts: [usize; 10]| counts.map(|count| ["000", "100", "110", "111"][count]);
    let baseline = arm("code", &patterns([3, 2, 2, 2, 1, 1, 1, 1, 1, 0]));
    let candidate = arm("annotation", &patterns([3, 3, 3, 2, 3, 2, 1, 1, 1, 1]));
    let (queries, qrels) = judged(10);
    let ab = run(&queries, &qrels, [&baseline, &candidate]).unwrap();
    let p3 = &ab.metrics[0];
    assert_eq!(p3.name, "precision@3");
    assert_eq!(p3.means.map(|mean| (mean * 1e4).round() / 1e4), [0.4667, 0.6667]);
    assert!((p3.means[0] - 14.0 / 30.0).abs() < 1e-12 && (p3.means[1] - 20.0 / 30.0).abs() < 1e-12);
    assert_eq!((p3.relative.unwrap() * 100.0).round(), 43.0);
    assert_eq!(p3.perfect, [1, 4]);
    assert_eq!(p3.wins_ties_losses, [5, 5, 0]);
    // Differences of 1, 1, 2, 1, 1 thirds and five of none: of 32 sign assignments the two of one sign are as far.
    assert_eq!(p3.p_value, 2.0 / 32.0);
    assert!(p3.interval.low >= 0.0 && p3.interval.low < p3.difference && p3.difference < p3.interval.high);
    assert!(p3.p_bootstrap > 0.0 && p3.p_bootstrap < 0.1, "{}", p3.p_bootstrap);
    assert_eq!(ab.queries.iter().map(|row| row.useful[0]).sum::<u64>(), 14);
    assert_eq!(ab.queries.iter().map(|row| row.useful[1]).sum::<u64>(), 20);
}

#[test]
fn metrics_by_hand() {
    let (queries, qrels) = judged(2);
    let ab = run(&queries, &qrels, [&arm("a", &["01011", "00000"]), &arm("b", &["10000", "00011"])]).unwrap();
    let row = &ab.queries[0];
    assert_eq!(row.precision_3, [1.0 / 3.0, 1.0 / 3.0]);
    assert_eq!(row.precision_5, [3.0 / 5.0, 1.0 / 5.0]);
    assert_eq!(row.mrr_5, [1.0 / 2.0, 1.0]);
    assert_eq!(ab.queries[1].mrr_5, [0.0, 1.0 / 4.0]);
    assert_eq!(ab.metrics[0].means, [1.0 / 6.0, 1.0 / 6.0]);
    assert!(ab.metrics[1].means.iter().all(|mean| (mean - 0.3).abs() < 1e-12));
    assert_eq!(ab.metrics[2].means, [0.25, 0.625]);
    assert_eq!((ab.metrics[2].relative, ab.metrics[2].wins_ties_losses), (Some(1.5), [2, 0, 0]));
    // Both differences have one sign: 2 of 4.
    assert_eq!(ab.metrics[2].p_value, 0.5);
    let found = &ab.queries[0].found[0];
    let wrong = found.iter().filter(|found| found.class.is_some());
    assert_eq!(wrong.map(|found| found.id.as_str()).collect::<Vec<_>>(), ["w0", "w2"]);
    // What stands after the first three is no error of theirs.
    assert!(found.iter().skip(3).all(|found| found.class.is_none()) && found.len() == 5);
    assert_eq!(ab.errors[3].results, [2 + 3, 2 + 3]);
}

#[test]
fn the_three_classes_of_errors() {
    let smote =
        AbQuery { theme: words(&["fraud", "imbalanced"]), technique: words(&["SMOTE", "oversampling"]), ..query("a") };
    let partial = AbQuery {
        theme: words(&["incremental"]),
        functions: words(&["partial_fit"]),
        library: words(&["sklearn"]),
        ..query("b")
    };
    let torch = AbQuery { theme: words(&["detection"]), library: words(&["torch", "pytorch"]), ..query("c") };
    for (query, text, expected) in [
        (&smote, "# Fraud on an imbalanced set\nmodel.fit(X, y)", ErrorClass::ThemeWithoutTechnique),
        (&smote, "plot(x)", ErrorClass::Other),
        (&partial, "from sklearn.linear_model import SGD\nm.partial_fit_all(x)", ErrorClass::MissingFunction),
        (&partial, "incremental: m.partial_fit(x) in river", ErrorClass::KeywordOverReliance),
        (&torch, "# object detection\nimport keras", ErrorClass::KeywordOverReliance),
        (&torch, "import torch  # detection", ErrorClass::Other),
        (&torch, "torchvision edetection", ErrorClass::Other),
    ] {
        assert_eq!(error_class(query, text), expected, "{text}");
    }
}

#[test]
fn errors_are_counted_by_arm_and_a_person_goes_before_the_rule() {
    let (mut queries, qrels) = judged(1);
    queries[0].theme = words(&["fraud"]);
    queries[0].technique = words(&["smote"]);
    let arms = [arm("a", &["000"]), arm("b", &["110"])];
    let classes = BTreeMap::from([(("q0".into(), "w0".into()), ErrorClass::MissingFunction)]);
    let text = |id: &str| (id != "w1").then_some("fraud detection");
    let experiment = AbExperiment {
        queries: &queries,
        qrels: &qrels,
        baseline: &arms[0],
        candidate: &arms[1],
        text: &text,
        classes: &classes,
    };
    let ab = experiment.run(Seed(1)).unwrap();
    let counts: Vec<(ErrorClass, [u64; 2])> = ab.errors.iter().map(|errors| (errors.class, errors.results)).collect();
    assert_eq!(
        counts,
        [
            (ErrorClass::ThemeWithoutTechnique, [1, 1]),
            (ErrorClass::MissingFunction, [1, 0]),
            (ErrorClass::KeywordOverReliance, [0, 0]),
            (ErrorClass::Other, [1, 0]),
        ]
    );
    assert_eq!(ab.unjudged, [0, 0]);
    let text = serde_json::to_string(&ab).unwrap();
    assert_eq!(serde_json::from_str::<AbRecord>(&text).unwrap(), ab);
}

#[test]
fn what_cannot_be_compared_is_refused_and_what_nobody_judged_is_counted() {
    let (queries, qrels) = judged(2);
    let good = arm("a", &["111", "000"]);
    let mut other = arm("b", &["111", "000"]);
    other.rankings.insert("q1".into(), words(&["new", "u0"]));
    let ab = run(&queries, &qrels, [&good, &other]).unwrap();
    assert_eq!((ab.unjudged, ab.queries[1].precision_3), ([0, 1], [0.0, 1.0 / 3.0]));
    other.rankings.insert("q1".into(), words(&["u0", "u0"]));
    let twice = run(&queries, &qrels, [&good, &other]).unwrap_err().to_string();
    assert_eq!(twice, "query q1: arm `b` has document u0 twice");
    other.rankings.remove("q1");
    let missing = run(&queries, &qrels, [&good, &other]).unwrap_err().to_string();
    assert_eq!(missing, "query q1: arm `b` has no ranking for it");
    let unknown = run(&[query("q0"), query("x")], &qrels, [&good, &good]).unwrap_err().to_string();
    assert_eq!(unknown, "query x: nobody judged a document for it");
    assert!(run(&[], &qrels, [&good, &good]).is_err());
    assert!(run(&[query("q0"), query("q0")], &qrels, [&good, &good]).is_err());
}
