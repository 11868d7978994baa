//! Sets of questions as their authors lay them out, measured by hand-computed numbers.

use std::path::Path;

use wb_core::{Progress, Reranker, fingerprint::Fingerprint};
use wb_search::{
    CodeIndex, FolderFiles, IssueWeights, RankingWeights, build,
    sets::{LoadedSet, Measured, SearchSet, Target, measure, own_questions, tune, worth, worth_of_reading},
};

use crate::{PARSER, git, project, write};

fn indexes(set: &LoadedSet) -> Vec<CodeIndex> {
    let indexed = set.repositories.iter().map(|one| build(FolderFiles::of(&one.root).unwrap(), &mut |_| {}).unwrap().0);
    indexed.collect()
}

fn measured(set: SearchSet, folder: &Path) -> Measured {
    let loaded = set.load(folder).unwrap();
    measure(&loaded, &indexes(&loaded), &RankingWeights::shipped().unwrap(), "made up").unwrap()
}

/// Two languages, one of them with two repositories. `alpha` is asked twice: its first question is answered at once, the
/// second finds the answer second.
fn semble() -> tempfile::TempDir {
    project(&[
        (
            "repos.json",
            r#"[{"name": "alpha", "language": "rust", "benchmark_root": "src"}, {"name": "beta", "language": "rust"},
                {"name": "gamma", "language": "go"}]"#,
        ),
        (
            "annotations/alpha.json",
            r#"[{"query": "zebra", "relevant": ["src/one.rs"], "category": "symbol"},
            {"query": "lion", "relevant": ["two.rs"], "secondary": [{"path": "one.rs", "start_line": 1, "end_line": 2}]}]"#,
        ),
        ("annotations/beta.json", r#"[{"query": "zebra", "relevant": ["one.rs"]}]"#),
        ("annotations/gamma.json", r#"[{"query": "nothing like it", "relevant": ["one.go"]}]"#),
        ("corpora/alpha/src/one.rs", "fn zebra() {}\nfn lion() { lion() }\n"),
        ("corpora/alpha/src/two.rs", "fn other() { lion() }\n"),
        ("corpora/beta/one.rs", "fn zebra() {}\n"),
        ("corpora/gamma/one.go", "package a\n"),
    ])
}

#[test]
fn sembles_headline_is_a_mean_of_languages_of_repositories() {
    let folder = semble();
    let found = measured(SearchSet::Semble, folder.path());
    let of = |metric: &str| -> Vec<f64> { found.questions.iter().map(|one| one.values[metric]).collect() };
    // Both targets of the second question are found, the primary one second: all gain, and no P@1.
    assert_eq!(of("ndcg@10"), [1.0, 1.0, 1.0, 0.0]);
    assert_eq!(of("p@1"), [1.0, 0.0, 1.0, 0.0]);
    assert_eq!(of("recall@1000"), [1.0, 1.0, 1.0, 0.0]);
    assert!((found.metrics["recall@1000"].value - 0.75).abs() < 1e-12, "a mean over questions");
    // Rust: alpha .5 and beta 1; Go: 0.
    assert!((found.metrics["p@1"].value - (0.5 + 1.0) / 2.0 / 2.0).abs() < 1e-12);
    assert!((found.metrics["ndcg@10"].value - 0.5).abs() < 1e-12);
    assert_eq!(found.questions[0].category, "symbol");
    let of_value = found.metrics["p@1"];
    assert!(of_value.low < of_value.value && of_value.value < of_value.high, "{of_value:?}");
}

#[test]
fn intervals_are_those_of_the_headline() {
    // One language has twenty questions without an answer, another one question that is answered.
    let asked: Vec<String> =
        (0..20).map(|at| format!(r#"{{"query": "nothing{at}", "relevant": ["one.go"]}}"#)).collect();
    let folder = project(&[
        ("repos.json", r#"[{"name": "beta", "language": "rust"}, {"name": "gamma", "language": "go"}]"#),
        ("annotations/beta.json", r#"[{"query": "zebra", "relevant": ["one.rs"]}]"#),
        ("annotations/gamma.json", &format!("[{}]", asked.join(", "))),
        ("corpora/beta/one.rs", "fn zebra() {}\n"),
        ("corpora/gamma/one.go", "package a\n"),
    ]);
    let mut found = measured(SearchSet::Semble, folder.path());
    let value = found.metrics["p@1"];
    assert!((value.value - 0.5).abs() < 1e-12 && value.low < 0.5 && value.high > 0.5, "{value:?}");
    let set = SearchSet::Semble.load(folder.path()).unwrap();
    let mut other = found.clone();
    let first = other.questions.iter_mut().find(|question| question.repository == "beta").unwrap();
    first.values.insert("p@1".to_owned(), 0.0);
    found.compare(&set, &other).unwrap();
    assert!((found.against["p@1"].difference - 0.5).abs() < 1e-12, "{:?}", found.against["p@1"]);
}

/// Where every question is answered alike, nothing is by chance, however unevenly repositories have questions.
#[test]
fn an_interval_is_no_wider_for_repositories_of_different_sizes() {
    let asked: Vec<String> = (0..20).map(|_| r#"{"query": "zebra", "relevant": ["one.go"]}"#.to_owned()).collect();
    let folder = project(&[
        ("repos.json", r#"[{"name": "beta", "language": "rust"}, {"name": "gamma", "language": "go"}]"#),
        ("annotations/beta.json", r#"[{"query": "zebra", "relevant": [".\\one.rs"]}]"#),
        ("annotations/gamma.json", &format!("[{}]", asked.join(", "))),
        ("corpora/beta/one.rs", "fn zebra() {}\n"),
        ("corpora/gamma/one.go", "package a\nfunc zebra() {}\n"),
    ]);
    let mut found = measured(SearchSet::Semble, folder.path());
    let value = found.metrics["p@1"];
    let is = |values: [f64; 3], all: f64| assert!(values.iter().all(|one| (one - all).abs() < 1e-9), "{values:?}");
    is([value.value, value.low, value.high], 1.0);
    let mut other = found.clone();
    other.questions.iter_mut().for_each(|question| _ = question.values.insert("p@1".to_owned(), 0.5));
    assert_eq!(found.compare(&SearchSet::Semble.load(folder.path()).unwrap(), &other).unwrap(), 21);
    let compared = found.against["p@1"];
    is([compared.difference, compared.interval.low, compared.interval.high], 0.5);
}

#[test]
fn the_documentation_goes_where_an_inner_item_ends_with_its_function() {
    let script =
        "/** Reads every zebra of a herd. */\nfunction herd(all) {\n  return { get(one) { return all[one]; } }; }\n";
    let rust = "/// Counts the lions of a pride.\nfn pride() {\n    lion();\n    fn lion() {\n        roar() } }\n";
    let folder = project(&[("src/a.js", script), ("src/b.rs", rust)]);
    let set = SearchSet::Own.load(folder.path()).unwrap();
    let asked = set.questions.iter().filter(|question| question.category == "docstring").count();
    assert_eq!(asked, 2, "{:?}", set.questions.iter().map(|question| &question.text).collect::<Vec<_>>());
    for file in ["src/a.js", "src/b.rs"] {
        let searched = std::fs::read_to_string(set.repositories[0].root.join(file)).unwrap();
        assert!(!searched.contains("zebra") && !searched.contains("pride."), "{searched}");
    }
}

/// Positions in a set made of a repository move when a function comes in before.
#[test]
fn questions_are_compared_by_what_they_ask() {
    let load = "def load(path):\n    \"\"\"Reads all records of a store.\"\"\"\n    return path\n";
    let first = "def first():\n    \"\"\"Says which zebra is the first.\"\"\"\n    return 1\n\n\n";
    let (before, after) = (project(&[("shop/a.py", load)]), project(&[("shop/a.py", &format!("{first}{load}"))]));
    let [before, after] = [before.path().join("shop"), after.path().join("shop")];
    let set = SearchSet::Own.load(&after).unwrap();
    let (mut now, mut then) = (measured(SearchSet::Own, &after), measured(SearchSet::Own, &before));
    assert_eq!((then.questions[0].id.as_str(), now.questions[1].id.as_str()), ("docstring:0", "docstring:1"));
    assert_eq!(now.compare(&set, &then).unwrap(), 2);
    assert_eq!(now.against["docstring_p@1"].difference, 0.0);
    // Two that ask the same of one file, one of them answered worse, are each themselves.
    let twin = load.replace("load", "read");
    let twins = project(&[("shop/a.py", &format!("{load}\n\n{twin}"))]);
    let mut of_twins = measured(SearchSet::Own, &twins.path().join("shop"));
    assert_eq!(of_twins.questions[0].asked, of_twins.questions[1].asked);
    of_twins.questions[1].values.insert("docstring_p@1".to_owned(), 0.25);
    let mut again = of_twins.clone();
    let twins = SearchSet::Own.load(&twins.path().join("shop")).unwrap();
    assert_eq!(again.compare(&twins, &of_twins).unwrap(), of_twins.questions.len());
    assert_eq!(again.against["docstring_p@1"].wins_ties_losses, [0, 2, 0]);
    // What another tool wrote has names alone.
    then.questions.iter_mut().for_each(|question| question.asked.clear());
    assert_eq!(now.compare(&set, &then).unwrap(), 2);
    then.questions.iter_mut().for_each(|question| question.asked = "another".to_owned());
    assert_eq!(now.compare(&set, &then).unwrap(), 0);
}

#[test]
fn own_questions_have_their_answers_without_the_documentation() {
    let python = "class Store:\n    def load(self, path):\n        \"\"\"Reads all records of a store.\n\n        More.\n        \"\"\"\n        return open(path)\n";
    let folder = project(&[
        ("src/parser.rs", PARSER),
        ("app/store.py", python),
        ("tests/test_a.py", "def test_a():\n    pass\n"),
    ]);
    let git = |arguments: &[&str]| git(folder.path(), arguments);
    git(&["init", "-q"]);
    git(&["add", "."]);
    git(&["commit", "-q", "-m", "Parser and store of the first day"]);
    let set = SearchSet::Own.load(folder.path()).unwrap();
    let root = &set.repositories[0].root;
    let of = |kind: &str| -> Vec<(&str, Vec<Target>)> {
        let of_kind = set.questions.iter().filter(|question| question.category == kind);
        of_kind.map(|question| (question.text.as_str(), question.targets.clone())).collect()
    };
    let at = |path: &str, lines: [u32; 2]| vec![Target { path: path.into(), lines: Some(lines) }];
    assert_eq!(
        of("docstring"),
        [
            ("Reads all records of a store", at("app/store.py", [2, 3])),
            ("Reads a configuration file", at("src/parser.rs", [1, 3])),
            ("Writes logs to the disk", at("src/parser.rs", [5, 7])),
        ]
    );
    let searched = std::fs::read_to_string(root.join("app/store.py")).unwrap();
    assert_eq!(searched, "class Store:\n    def load(self, path):\n        return open(path)\n");
    assert!(!std::fs::read_to_string(root.join("src/parser.rs")).unwrap().contains("Writes logs"));
    let names: Vec<&str> = of("symbol").into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["Store", "load", "read_config", "write_log"]);
    let changed = of("commit");
    let both = [at("src/parser.rs", [1, 3]), at("src/parser.rs", [5, 7]), at("app/store.py", [2, 3])].concat();
    assert_eq!(changed.len(), 1);
    assert_eq!((changed[0].0, sorted(&changed[0].1)), ("Parser and store of the first day", sorted(&both)));
    let some = own_questions(folder.path(), 1, &|path| path == "app/store.py").unwrap();
    let asked: Vec<&str> = some.questions.iter().map(|question| question.text.as_str()).collect();
    // One of each kind, and no commit, as it has changed another file too.
    assert!(asked.len() == 2 && asked[0] == "Reads all records of a store", "{asked:?}");
    assert!(["Store", "load"].contains(&asked[1]), "{asked:?}");
    let measured = measure(&set, &indexes(&set), &RankingWeights::shipped().unwrap(), "").unwrap();
    assert_eq!((measured.metrics["symbol_p@1"].value, measured.metrics["commit_mrr"].value), (1.0, 1.0));
    assert_eq!(measured.metrics["commit_function_mrr"].value, 1.0);
}

fn sorted(targets: &[Target]) -> Vec<Target> {
    let mut targets = targets.to_vec();
    targets.sort_by_key(|target| (target.path.clone(), target.lines));
    targets
}

#[test]
fn commits_ask_for_the_functions_that_they_changed_where_those_are_today() {
    let first = "class A:\n    def run(self):\n        return 1\n\n\nclass B:\n    def run(self):\n        return 1\n\n\ndef gone():\n    pass\n";
    let folder = project(&[("app/jobs.py", first), ("other.py", "x = 1\n")]);
    let git = |arguments: &[&str]| git(folder.path(), arguments);
    let commit = |text: &str, message: &str| {
        std::fs::write(folder.path().join("app/jobs.py"), text).unwrap();
        git(&["add", "."]);
        git(&["commit", "-q", "-m", message]);
    };
    git(&["init", "-q"]);
    commit(first, "first");
    let second = first.replacen(
        "class B:\n    def run(self):\n        return 1",
        "class B:\n    def run(self):\n        return 2",
        1,
    );
    commit(&second, "B runs in two steps");
    let third = second.replace("    pass\n", "    return\n");
    commit(&third, "That which is gone returns");
    let fourth = third.replacen(
        "    def run(self):\n        return 1",
        "    def run(self):\n        x = 0\n        return 1",
        1,
    );
    commit(&fourth, "A has a line more");
    let fifth = fourth.replacen("        x = 0\n", "", 1);
    commit(&fifth, "A has a line less");
    // Since then lines have moved, and a function is gone.
    let last = format!("import os\n\n\n{}", fifth.split("\n\n\ndef gone").next().unwrap());
    commit(&format!("{last}\n"), "moved");
    // A subject that would be an option of git, and makes no question.
    let victim = folder.path().join("victim.txt");
    std::fs::write(&victim, "precious").unwrap();
    let subject = format!("x\u{1}--output={} find what adds one", victim.display());
    commit(&format!("{last}\n\n"), &subject);
    let set = SearchSet::Own.load(folder.path()).unwrap();
    assert_eq!(std::fs::read_to_string(&victim).unwrap(), "precious");
    let of_commits = set.questions.iter().filter(|question| question.category == "commit");
    let asked: Vec<(&str, Option<[u32; 2]>)> =
        of_commits.map(|question| (question.text.as_str(), question.targets[0].lines)).collect();
    assert_eq!(
        asked,
        [
            ("A has a line less", Some([5, 6])),
            ("A has a line more", Some([5, 6])),
            ("That which is gone returns", None),
            ("B runs in two steps", Some([10, 11])),
        ]
    );
}

#[test]
fn budgets_count_four_characters_a_token() {
    let filler = "    let value = compute(value);\n".repeat(40);
    let folder = project(&[
        (
            "v3_made.json",
            r#"{"queries": [{"query": "zebra stripes", "category": "c", "gold_chunk": {"origin": "b.rs", "line_start": 2, "line_end": 2}}]}"#,
        ),
        ("corpus/a.rs", &format!("fn zebra_stripes() {{\n    // zebra stripes\n{filler}}}\n")),
        ("corpus/b.rs", "/// Zebra.\nfn stripes() {}\n"),
    ]);
    let found = measured(SearchSet::Cqs, folder.path());
    let values = &found.questions[0].values;
    assert_eq!((values["r@1"], values["r@5"], values["chunk@1000"]), (0.0, 1.0, 1.0));
    // Of `a.rs` the defining line, the one with all words, and 17 after it, as many as fit into 600 characters; then two lines.
    assert_eq!(values["tokens_to_first_hit"], f64::from(2 * 21 + 17 * 32 + 11 + 16) / 4.0);
    // All of `a.rs` (its last empty line aside) where units are shown whole.
    let (loaded, weights) = (SearchSet::Cqs.load(folder.path()).unwrap(), RankingWeights::shipped().unwrap());
    let whole = RankingWeights { excerpt: None, ..weights };
    let found = measure(&loaded, &indexes(&loaded), &whole, "whole").unwrap();
    let text = std::fs::read_to_string(folder.path().join("corpus/a.rs")).unwrap();
    let expected = (text.chars().count() + 11 + 16) as f64 / 4.0;
    assert_eq!(found.questions[0].values["tokens_to_first_hit"], expected);
}

#[test]
fn cqs_counts_the_gold_s_name_and_not_its_lines() {
    let filler = "    let value = compute(value);\n".repeat(80);
    let gold = |name: &str, line: u32| {
        format!(
            r#"{{"query": "zebra stripes", "category": "c", "gold_chunk": {{"origin": "a.rs", "name": "{name}", "line_start": {line}, "line_end": {line}}}}}"#
        )
    };
    let questions = [gold("zebra_stripes", 900), gold("zebra", 1), gold("other", 1), gold("zebra_stripes", 1)];
    let folder = project(&[
        ("v3_made.json", &format!(r#"{{"queries": [{}]}}"#, questions.join(", "))),
        ("corpus/a.rs", &format!("fn zebra_stripes() {{\n{filler}}}\n\nfn other() {{\n{filler}}}\n")),
        ("corpus/b.rs", "fn zebra() {}\n"),
    ]);
    let found = measured(SearchSet::Cqs, folder.path());
    let values = |metric: &str| -> Vec<f64> { found.questions.iter().map(|one| one.values[metric]).collect() };
    // Lines of another day, a name of another file, another name, and both.
    assert_eq!(values("r@1"), [1.0, 0.0, 0.0, 1.0]);
    assert_eq!(values("lines_r@1"), [0.0, 1.0, 1.0, 1.0]);
    assert_eq!(values("named@1000"), [1.0, 0.0, 0.0, 1.0]);
    // A run file has lines and no names: they are those of the units there.
    let run = folder.path().join("run.trec");
    let further_down = "a.rs:40-41";
    let lines: Vec<String> = (0..4).map(|at| format!("v3_made:{at} Q0 {further_down} 1 1.0 x")).collect();
    std::fs::write(&run, lines.join("\n")).unwrap();
    let set = SearchSet::Cqs.load(folder.path()).unwrap();
    let other = set.other(&run, &indexes(&set)).unwrap();
    assert_eq!(other.questions.iter().map(|one| one.values["r@5"]).collect::<Vec<_>>(), [1.0, 0.0, 0.0, 1.0]);
}

#[test]
fn swe_qa_asks_for_files_and_lines_of_repositories_that_are_there() {
    let folder = project(&[
        (
            "citations.jsonl",
            "{\"repo\": \"o/one\", \"id\": \"one:0\", \"question\": \"zebra?\", \"citations\": [{\"file\": \"a.py\", \"start\": null, \"end\": null}]}\n\
             {\"repo\": \"o/one\", \"id\": \"one:1\", \"question\": \"zebra?\", \"citations\": [{\"file\": \"a.py\", \"start\": 9, \"end\": null}]}\n\
             {\"repo\": \"o/gone\", \"id\": \"gone:0\", \"question\": \"lion?\", \"citations\": [{\"file\": \"a.py\", \"start\": 1, \"end\": 2}]}\n",
        ),
        ("corpora/one/a.py", "def zebra():\n    return 1\n"),
    ]);
    let found = measured(SearchSet::SweQa, folder.path());
    assert_eq!(found.questions.len(), 2);
    assert_eq!((found.metrics["file_p@1"].value, found.metrics["file@1000"].value), (1.0, 1.0));
    // Of the one question with lines, line 9 is not there.
    assert_eq!(found.metrics["line@2000"].value, 0.0);
    assert!(!found.questions[0].values.contains_key("line@2000"));
}

#[test]
fn questions_without_an_answer_are_told_from_others() {
    let sample = |id: &str, query: &str, gold: &str| {
        format!(
            "{{\"id\": \"{id}\", \"repo\": \"o/one\", \"base_commit\": \"0123456789\", \"task_type\": \"t\", \"query\": {query}, \"gold\": {gold}}}\n"
        )
    };
    let none = sample(
        "no",
        r#"{"text": "Issue title: giraffes in the kitchen\nconfig"}"#,
        r#"{"no_gold": true, "reason": "user_error"}"#,
    );
    let some = sample(
        "yes",
        r#"{"pr_title": "read config", "review_comment": "file", "path": "src/parser.rs"}"#,
        r#"{"root_cause_files": ["src/parser.rs"], "related_tests": ["gone.rs"]}"#,
    );
    // What is asked about has gone: nothing can be right.
    let gone = sample("gone", r#"{"pr_title": "read config"}"#, r#"{"root_cause_files": ["gone.rs"]}"#);
    let folder = project(&[
        ("abstention.jsonl", &none),
        ("samples.jsonl", &format!("{some}{gone}")),
        ("corpora/o__one@01234567/src/parser.rs", PARSER),
    ]);
    let loaded = SearchSet::NoAnswer.load(folder.path()).unwrap();
    assert_eq!((loaded.questions.len(), loaded.left_out), (2, 1));
    assert_eq!(loaded.questions[1].text, "read config\nfile");
    let found = measured(SearchSet::NoAnswer, folder.path());
    assert_eq!((found.metrics["auroc"].value, found.metrics["file_hit@1"].value), (1.0, 1.0));
    assert!(!found.questions[0].values.contains_key("file_hit@1"));
    assert_eq!(found.questions[0].category, "user_error");
}

#[test]
fn a_ranking_is_compared_with_itself_and_with_a_run_of_another_tool() {
    let folder = semble();
    let loaded = SearchSet::Semble.load(folder.path()).unwrap();
    let found = indexes(&loaded);
    let weights = RankingWeights::shipped().unwrap();
    let mut own = measure(&loaded, &found, &weights, "own").unwrap();
    let place = |name: &str| folder.path().join(name);
    wb_retrieval::trec::write_runs(&place("own.trec"), &loaded.runs(&found, &weights).unwrap(), "own").unwrap();
    let run = loaded.other(&place("own.trec"), &found).unwrap();
    // The same lines in the same order have the same values.
    assert_eq!(run.metrics, own.metrics);
    write(folder.path(), "own.json", &serde_json::to_string(&own).unwrap());
    own.compare(&loaded, &loaded.other(&place("own.json"), &found).unwrap()).unwrap();
    assert!(own.against.values().all(|compared| compared.difference == 0.0), "{:?}", own.against);
    // What was found answers no question: a file that an index leaves aside is one all the same.
    let first = &loaded.questions[0].id;
    write(&loaded.repositories[0].root, "aside.lock", "two\nlines\n");
    write(folder.path(), "none.trec", &format!("{first} Q0 aside.lock:1-2 1 0.5 t\n"));
    own.compare(&loaded, &loaded.other(&place("none.trec"), &found).unwrap()).unwrap();
    let compared = own.against["p@1"];
    assert_eq!(compared.difference, own.metrics["p@1"].value);
    assert_eq!(compared.wins_ties_losses.iter().sum::<usize>(), own.questions.len());
    for path in ["nowhere.py", "../repos.json", "/etc/hostname"] {
        write(folder.path(), "nowhere.trec", &format!("{first} Q0 {path}:1-2 1 0.5 t\n"));
        let error = loaded.other(&place("nowhere.trec"), &found).unwrap_err();
        let told = format!("{error}: {}", std::error::Error::source(&error).unwrap());
        assert!(told.contains("nowhere.trec: ") && told.contains(&format!("{path} is no file of ")), "{told}");
    }
    write(folder.path(), "other.trec", "x Q0 a.py 1 0.5 t\n");
    let told = loaded.other(&place("other.trec"), &found).unwrap_err().to_string();
    assert!(told.contains(&format!("has none of the questions of semble, expected ids like `{first}`")), "{told}");
    let cqs = serde_json::to_string(&wb_search::sets::Measured { set: SearchSet::Cqs, ..own }).unwrap();
    write(folder.path(), "cqs.json", &cqs);
    assert!(loaded.other(&place("cqs.json"), &found).unwrap_err().to_string().contains("expected one on semble"));
}

#[test]
fn what_is_not_a_set_says_what_was_expected() {
    let folder = semble();
    let told = |set: SearchSet| {
        let error = set.load(folder.path()).unwrap_err();
        format!("{error} ({})", wb_core::error::hint(&error).unwrap_or_default())
    };
    // A part of the repositories is a part of the set; with none there is nothing to ask.
    std::fs::remove_dir_all(folder.path().join("corpora/beta")).unwrap();
    let part = SearchSet::Semble.load(folder.path()).unwrap();
    assert_eq!((part.questions.len(), part.left_out, part.repositories.len()), (3, 1, 2));
    assert_eq!(measured(SearchSet::Semble, folder.path()).left_out, 1);
    std::fs::remove_dir_all(folder.path().join("corpora")).unwrap();
    let nothing = told(SearchSet::Semble);
    assert!(nothing.starts_with("none of the 4 questions of ") && nothing.contains("(unpack the set's"), "{nothing}");
    std::fs::remove_dir_all(folder.path().join("annotations")).unwrap();
    assert!(told(SearchSet::Semble).contains(" has no questions of semble ("));
    assert!(told(SearchSet::Cqs).contains("expected files like v3_dev.v2.json"));
    assert!(told(SearchSet::SweQa).starts_with("cannot read"), "{}", told(SearchSet::SweQa));
    write(folder.path(), "repos.json", "[{\"name\": \"alpha\"}]");
    assert!(
        told(SearchSet::Semble).contains("repos.json:1:18: missing field `language`"),
        "{}",
        told(SearchSet::Semble)
    );
}

#[test]
fn tuning_never_ends_below_its_start() {
    let folder = semble();
    let loaded = SearchSet::Semble.load(folder.path()).unwrap();
    let found = indexes(&loaded);
    let start = worth(&measure(&loaded, &found, &RankingWeights::shipped().unwrap(), "").unwrap());
    let set = (loaded, found);
    let mut told = Vec::new();
    let tuned =
        tune(&[&set], RankingWeights::shipped().unwrap(), &mut |name, value| told.push((name.to_owned(), value)))
            .unwrap();
    assert_eq!(told[0], ("start".to_owned(), start));
    assert!(told.windows(2).all(|pair| pair[1].1 > pair[0].1));
    let end = worth(&measure(&set.0, &set.1, &tuned, "").unwrap());
    assert_eq!(told.last().unwrap().1, end);
}

#[test]
fn the_parts_of_issues_are_tuned_where_a_set_asks_for_them() {
    let issue = r#"{"id": "a", "repo": "o/one", "base_commit": "0123456789", "task_type": "t",
        "query": {"pr_title": "broken button", "review_comment": "what about `read_config`?", "path": "x"},
        "gold": {"root_cause_files": ["config.rs"]}}"#;
    let folder = project(&[
        ("samples.jsonl", &issue.replace('\n', " ")),
        ("corpora/o__one@01234567/config.rs", "fn read_config() {}\n"),
        ("corpora/o__one@01234567/button.rs", "/// A broken button.\nfn button() {}\n"),
    ]);
    let loaded = SearchSet::NoAnswer.load(folder.path()).unwrap();
    let found = indexes(&loaded);
    let mut start = RankingWeights::shipped().unwrap();
    // The first line alone is asked for, which is about another file.
    let none = IssueWeights { title: 0.3, names: 0.0, prose: 0.0, quotes: 0.0, code: 0.0, ..start.issue.unwrap() };
    start.issue = Some(none);
    let set = (loaded, found);
    let mut told = Vec::new();
    let tuned = tune(&[&set], start.clone(), &mut |name, _| told.push(name.to_owned())).unwrap();
    let first = |weights: &RankingWeights| measure(&set.0, &set.1, weights, "").unwrap().metrics["file_hit@1"].value;
    assert_eq!((first(&start), first(&tuned)), (0.0, 1.0), "{told:?}");
    let tuned = tuned.issue.unwrap();
    assert!(tuned.names > 0.0 || tuned.prose > 0.0 || tuned.quotes > 0.0, "{tuned:?}");
}

#[test]
fn questions_about_symbols_are_measured_with_and_without_the_structure() {
    let folder = project(&[
        (
            "intents.jsonl",
            r#"{"id": "a", "repository": "shop", "text": "who calls take?", "intent": "usage", "targets": [{"file": "b.py", "start": 4, "end": 4}]}
{"id": "b", "repository": "shop", "text": "where is take defined?", "intent": "definition", "targets": [{"file": "a.py", "start": 1, "end": 1}]}
"#,
        ),
        (
            "corpora/shop/a.py",
            "def take(key):\n    \"\"\"Who calls take, where take is used: take.\"\"\"\n    return key\n",
        ),
        ("corpora/shop/b.py", "import a\n\ndef sell():\n    return a.take(1)\n"),
    ]);
    let mut loaded = SearchSet::Intents.load(folder.path()).unwrap();
    let weights = RankingWeights::shipped().unwrap();
    let indexes = indexes(&loaded);
    let first = |loaded: &LoadedSet| {
        let found = measure(loaded, &indexes, &weights, "made up").unwrap();
        ["usage", "definition"].map(|intent| found.by_category[intent]["p@1"].value)
    };
    assert_eq!(first(&loaded), [0.0, 1.0]);
    assert_eq!(loaded.route(&indexes, &weights, &mut |_| {}).unwrap(), 2);
    assert_eq!(first(&loaded), [1.0, 1.0]);
    // A run file has the ranking that was measured.
    let file = folder.path().join("run.trec");
    wb_retrieval::trec::write_runs(&file, &loaded.runs(&indexes, &weights).unwrap(), "own").unwrap();
    let run = loaded.other(&file, &indexes).unwrap();
    assert_eq!(run.metrics["p@1"], measure(&loaded, &indexes, &weights, "made up").unwrap().metrics["p@1"]);
    let error = SearchSet::Intents.load(&folder.path().join("corpora")).unwrap_err();
    assert!(error.to_string().contains("has no intents.jsonl"), "{error}");
}

/// A model to which a text that says a word is worth more.
struct Word(&'static str);

impl Reranker for Word {
    fn name(&self) -> String {
        self.0.to_owned()
    }

    fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of_bytes(self.0.as_bytes())
    }

    fn score(
        &self,
        texts: &[(&str, &str)],
        _: &mut dyn FnMut(Progress),
    ) -> Result<Vec<f32>, Box<dyn std::error::Error + Send + Sync>> {
        Ok(texts
            .iter()
            .map(|(question, text)| {
                assert!(question.starts_with("zebra"), "{question}");
                if text.contains(self.0) { 3.0 } else { -4.0 }
            })
            .collect())
    }
}

#[test]
fn a_cross_encoder_is_worth_what_its_order_gains() {
    // By words the first file is the better one, and the second is the answer.
    let mut files = vec![("repos.json".to_owned(), r#"[{"name": "a", "language": "rust"}]"#.to_owned())];
    let asked: Vec<String> =
        (0..12).map(|at| format!(r#"{{"query": "zebra {at}x", "relevant": ["right{at}.rs"]}}"#)).collect();
    files.push(("annotations/a.json".to_owned(), format!("[{}]", asked.join(", "))));
    for at in 0..12 {
        let function = |name: &str, said: &str| format!("/// {said}\nfn {name}{at}() {{}}\n");
        files.push((format!("corpora/a/wrong{at}.rs"), function("zebra", &format!("Zebra {at}x."))));
        files
            .push((format!("corpora/a/right{at}.rs"), function("stripes", &format!("Zebra {at}x, and this is gold."))));
    }
    let folder = project(&files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect::<Vec<_>>());
    let mut set = SearchSet::Semble.load(folder.path()).unwrap();
    let indexes = indexes(&set);
    let weights = RankingWeights { rerank: 1.5, ..RankingWeights::shipped().unwrap() };
    let before = measure(&set, &indexes, &weights, "").unwrap();
    assert_eq!(before.metrics["p@1"].value, 0.0);
    let mut worth = |word: &'static str, n: usize| {
        set.read(&indexes, &weights, (&Word(word), n), &mut |_| {}).unwrap();
        let read = measure(&set, &indexes, &weights, "").unwrap();
        let indexed = (set.clone(), indexes.clone());
        (read.metrics["p@1"].value, worth_of_reading(&[(&indexed, &weights)]).unwrap())
    };
    let (p_at_1, gain) = worth("gold", 20);
    assert_eq!(p_at_1, 1.0);
    assert!(gain.interval.low > 0.2 && gain.wins_ties_losses == [12, 0, 0], "{gain:?}");
    // The answer is not among what is read, or it is not told apart.
    assert_eq!(worth("gold", 1).0, 0.0);
    let (p_at_1, none) = worth("stripes of no horse", 20);
    assert!(p_at_1 == 0.0 && none.difference == 0.0 && none.interval.low <= 0.0, "{none:?}");
}
