//! Pairs by rules: what is made, what is refused and counted, what running both sides says.

use std::io::Write;

use super::*;

const CODE: &str = "def load_lines(path, limit):\n    \"\"\"Keep the lines\n    that are short.\n\n    More.\n    \"\"\"\n    kept = []\n    count = 0\n    for line in path:\n        if len(line) < limit:  # short\n            kept.append(line)\n            count += 1\n    return kept, count\n";

fn snippet(id: &str, text: &str, language: &str) -> Snippet {
    let origin =
        Origin { group: "g".into(), path: "a.py".into(), lines: [5, 17], license: "MIT".into(), ..Origin::default() };
    Snippet { id: id.into(), language: language.into(), text: text.into(), origin, ..Snippet::default() }
}

fn applied(made: &RulePair) -> &Applied {
    made.provenance.rules.as_ref().unwrap()
}

fn all_tasks() -> RulesConfig {
    RulesConfig {
        tasks: vec![Task::Text2code, Task::Code2text, Task::Code2code, Task::Hybrid],
        queries: vec![QuerySource::Docstring, QuerySource::Name],
        per_snippet: 3,
        negatives: 2,
        min_chars: 10,
        ..RulesConfig::default()
    }
}

#[test]
fn every_task_makes_its_pair_with_its_provenance() {
    let output = make_pairs(&all_tasks(), &[snippet("s", CODE, "python")], &Reviews::default(), Seed(7));
    let of = |task: Task| output.pairs.iter().filter(move |made| made.pair.task == task).collect::<Vec<_>>();
    let texts: Vec<&str> = of(Task::Text2code).iter().map(|made| made.pair.anchor.as_str()).collect();
    assert_eq!(texts, ["Keep the lines that are short.", "load lines"]);
    // No answer holds its question.
    for (made, begin) in of(Task::Text2code).iter().zip(["def load_lines", "def f("]) {
        assert!(!made.pair.positive.contains("Keep the lines"));
        assert!(made.pair.positive.starts_with(begin), "{}", made.pair.positive);
    }
    assert_eq!(of(Task::Code2text)[0].pair.positive, "Keep the lines that are short.");
    let rewritten = of(Task::Code2code);
    assert!(rewritten.len() >= 2, "{:?}", output.account);
    for made in &rewritten {
        assert_ne!(made.pair.anchor, made.pair.positive);
        let rules = applied(made);
        assert!(!rules.names.is_empty() && rules.names.len() == rules.notes.len());
        assert!(!made.pair.negatives.is_empty() && made.pair.negatives.len() == rules.negatives.len());
        assert!(made.pair.negatives.iter().all(|text| **text != *made.pair.positive));
    }
    let hybrid = of(Task::Hybrid);
    assert!(hybrid[0].pair.anchor.contains("\n\nChange this code: "), "{}", hybrid[0].pair.anchor);
    for made in &output.pairs {
        assert_eq!((made.pair.origin.path.as_str(), made.pair.origin.license.as_str()), ("a.py", "MIT"));
        assert_eq!(made.pair.origin.lines, [5, 17]);
        let from = &made.provenance;
        assert_eq!((&from.id, &from.source, &*from.item), (&made.pair.id, &made.pair.origin, "s"));
        // Rules, seed, file and lines; nothing of a model.
        assert_eq!(
            (from.made_by.name(), from.seed, from.prompt_hash.as_str(), from.model.as_str()),
            ("rules", 7, "", "")
        );
        assert!(from.task.starts_with(made.pair.task.as_str()) && applied(made).drawn != 0, "{from:?}");
    }
    let pairs: Vec<Pair> = output.pairs.into_iter().map(|made| made.pair).collect();
    assert!(wb_core::PairSet::new(pairs).is_ok(), "ids are unique");
}

#[test]
fn what_is_left_out_is_counted() {
    let snippets = [
        snippet("short", "def f():\n    return 1\n", "python"),
        snippet("cobol", CODE, "cobol"),
        snippet("bare", "def f(a):\n    return a + a + a + a + a + a + a\n", "python"),
    ];
    let config = RulesConfig { min_chars: 30, ..RulesConfig::default() };
    let account = make_pairs(&config, &snippets, &Reviews::default(), Seed(1)).account;
    assert_eq!((account.snippets, account.pieces), (3, 2));
    for reason in
        ["code shorter than min_chars", "snippet in a language without a grammar", "text2code: no documentation"]
    {
        assert_eq!(account.refused.get(reason), Some(&1), "{:?}", account.refused);
    }
    assert_eq!(account.pairs.get("code2code"), Some(&1));
    let outcomes: u64 = account.rewrites.values().flat_map(|outcomes| outcomes.values()).sum();
    assert!(outcomes >= 1 && RewriteKind::ALL.iter().map(|kind| account.applied(*kind)).sum::<u64>() >= 1);
}

#[test]
fn pairs_depend_on_the_seed_and_not_on_threads_or_neighbors() {
    let snippets: Vec<Snippet> = (0..20).map(|at| snippet(&format!("s{at}"), CODE, "python")).collect();
    let made = |threads: usize, snippets: &[Snippet], seed| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| make_pairs(&all_tasks(), snippets, &Reviews::default(), Seed(seed)))
    };
    let one = made(1, &snippets, 3);
    assert_eq!(one, made(5, &snippets, 3));
    assert_ne!(one.pairs, made(1, &snippets, 4).pairs);
    let alone = made(2, &snippets[7..8], 3);
    let same: Vec<&RulePair> = one.pairs.iter().filter(|made| made.provenance.item == "s7").collect();
    assert_eq!(alone.pairs.iter().collect::<Vec<_>>(), same);
}

#[test]
fn as_many_of_each_task_as_are_wanted_and_a_person_has_the_last_word() {
    let snippets: Vec<Snippet> =
        (0..40).map(|at| snippet(&format!("s{at}"), &CODE.replace("count", &format!("c{at}")), "python")).collect();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("review.jsonl");
    let config = RulesConfig { per_snippet: 1, negatives: 0, pairs_per_task: Some(15), ..all_tasks() };
    let made = |config: &RulesConfig, reviews: &Reviews, seed| make_pairs(config, &snippets, reviews, Seed(seed));
    let ids = |output: &RulesOutput| output.pairs.iter().map(|one| one.pair.id.clone()).collect::<Vec<_>>();
    let (all, first) = (
        made(&RulesConfig { pairs_per_task: None, ..config.clone() }, &Reviews::default(), 3),
        made(&config, &Reviews::default(), 3),
    );
    let counts: Vec<u64> = first.account.pairs.values().copied().collect();
    assert_eq!((counts, first.pairs.len() as u64), (vec![15; 4], first.account.n_pairs()));
    assert!(first.account.missing.is_empty());
    assert_eq!(first.account.refused["code2code: beyond pairs_per_task"], all.account.pairs["code2code"] - 15);
    // A part of the same pairs in the same order, another one with another seed.
    let mut rest = ids(&all).into_iter();
    assert!(ids(&first).iter().all(|id| rest.any(|other| other == *id)), "the order is that of all");
    assert_ne!(ids(&first), ids(&made(&config, &Reviews::default(), 4)));

    // A rejected one makes room for one other; one that was not drawn and is accepted takes a place.
    let hash = |id: &String| {
        let pair = &all.pairs.iter().find(|one| one.pair.id == *id).unwrap().pair;
        wb_core::fingerprint::Fingerprint::builder().text(&pair.anchor).text(&pair.positive).finish().short().to_owned()
    };
    let is = |id: &String, task: &str| id.contains(&format!(":{task}-"));
    let gone: String = ids(&first).into_iter().find(|id| is(id, "text2code")).unwrap();
    let wanted = ids(&all).into_iter().find(|id| is(id, "code2code") && !ids(&first).contains(id)).unwrap();
    let line = |id: &String, verdict: &str| {
        format!("{{\"id\":\"{id}\",\"hash\":\"{}\",\"verdict\":\"{verdict}\"}}\n", hash(id))
    };
    std::fs::write(&path, line(&gone, "reject") + &line(&wanted, "accept")).unwrap();
    let reviews = crate::review::read(&path).unwrap();
    let second = made(&config, &reviews, 3);
    assert_eq!((second.account.reviewed.accepted, second.account.reviewed.rejected), (1, 1));
    assert!(ids(&second).contains(&wanted) && !ids(&second).contains(&gone));
    assert_eq!(second.pairs.len(), first.pairs.len());
    assert_eq!(ids(&second).iter().filter(|id| !ids(&first).contains(id)).count(), 2);
    assert_eq!(second.account.refused["rejected by a person"], 1);

    // More than there are: all of them, and how many are missing.
    let short = made(&RulesConfig { pairs_per_task: Some(1000), ..config }, &reviews, 3);
    assert_eq!(short.pairs.len(), all.pairs.len() - 1);
    assert_eq!(short.account.missing["code2text"], 1000 - short.account.pairs["code2text"]);
}

#[test]
fn versions_that_are_run_are_equal_and_negatives_differ() {
    let interpreters = Interpreter::find_all();
    if !interpreters.iter().any(|one| one.language == Language::Python) {
        let test = "versions_that_are_run_are_equal_and_negatives_differ";
        // Past the capture of test output, so that skipped tests are seen and counted.
        let _ = writeln!(std::io::stderr(), "SKIPPED {test}: no python3 on this machine");
        return;
    }
    let config = RulesConfig { verify: Verify::Run, tasks: vec![Task::Code2code], ..all_tasks() };
    let code = "def count_low(nums, limit):\n    \"\"\"Count.\"\"\"\n    total = 0\n    for num in nums:\n        if num < limit:\n            total += 1\n    return total\n";
    let output = make_pairs(&config, &[snippet("s", code, "python")], &Reviews::default(), Seed(2));
    assert!(!output.pairs.is_empty());
    for made in &output.pairs {
        assert_eq!(applied(made).verdict, Some(RunVerdict::Equal), "{}", made.pair.positive);
        assert_eq!(applied(made).negative_verdicts.len(), made.pair.negatives.len());
        assert!(!applied(made).negative_verdicts.contains(&RunVerdict::Equal));
    }
    assert!(output.account.checks.contains_key("equal") && output.account.checks.contains_key("differs"));
}

#[test]
fn impossible_configs_are_refused_by_key() {
    let refused = |config: RulesConfig| config.validate("synth.rules").unwrap_err().to_string();
    let good = RulesConfig::default();
    assert!(good.validate("rules").is_ok());
    for (config, key) in [
        (RulesConfig { tasks: vec![], ..good.clone() }, "tasks"),
        (RulesConfig { rewrites: vec![RewriteKind::OffByOne], ..good.clone() }, "rewrites"),
        (RulesConfig { perturbations: vec![RewriteKind::Rename], ..good.clone() }, "perturbations"),
        (RulesConfig { negatives: 1, perturbations: vec![], ..good.clone() }, "negatives"),
        (RulesConfig { queries: vec![], ..good.clone() }, "queries"),
        (RulesConfig { chain: 0, ..good.clone() }, "chain"),
        (RulesConfig { min_chars: 9, max_chars: 8, ..good.clone() }, "min_chars"),
        (RulesConfig { pairs_per_task: Some(0), ..good.clone() }, "pairs_per_task"),
        (RulesConfig { tasks: vec![Task::Hybrid, Task::Hybrid], ..good.clone() }, "tasks"),
    ] {
        let message = refused(config);
        assert!(message.starts_with(&format!("synth.rules.{key}: ")), "{message}");
    }
}
