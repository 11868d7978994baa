//! Issues and stack traces as questions.

use wb_search::{
    IssueWeights, PartedQuestion, RankingWeights, SearchQuestion,
    sets::{SearchSet, measure},
};

use crate::{PARSER, SERVER, indexed, project};

fn found(index: &wb_search::CodeIndex, issue: &str, weights: &RankingWeights) -> Vec<String> {
    let issue = PartedQuestion::new(issue, &SearchQuestion::new(""), weights);
    let found = index.search_issue(&issue, weights, 10).unwrap();
    found.into_iter().map(|found| format!("{}:{}", found.path, found.lines[0])).collect()
}

#[test]
fn frames_of_a_trace_lead_to_their_lines() {
    let long = "    let value = compute(value);\n".repeat(40);
    let other = format!("pub fn first() {{\n{long}}}\n\npub fn second() {{\n{long}}}\n");
    let folder = project(&[("src/parser.rs", PARSER), ("src/other.rs", &other), ("app/server.py", SERVER)]);
    let (index, weights) = (indexed(folder.path()), RankingWeights::shipped().unwrap());
    let trace = "thread 'main' panicked at /home/me/work/src/other.rs:50:9:\nindex out of bounds\n";
    assert_eq!(found(&index, trace, &weights)[0], "src/other.rs:44");
    let python =
        "Traceback (most recent call last):\n  File \"/srv/app/server.py\", line 4, in listen\nOSError: boom\n";
    assert_eq!(found(&index, python, &weights)[0], "app/server.py:1");
    // A name in code outweighs the words around it.
    let named = "It does not work\n\nAfter the update of the server our `read_config` returns nothing.\n";
    assert_eq!(found(&index, named, &weights)[0], "src/parser.rs:1");
    assert_eq!(found(&index, "", &weights), Vec::<String>::new());
    let mut only_docs = SearchQuestion::new("");
    only_docs.below = vec!["app".into()];
    let issue = PartedQuestion::new(trace, &only_docs, &weights);
    assert_eq!(index.search_issue(&issue, &weights, 10).unwrap(), [], "a file that may not answer does not");
    // Of units that have a line which matches, those alone.
    let mut narrowed = PartedQuestion::new(trace, &SearchQuestion::new(""), &weights);
    narrowed.restrict(&[].into());
    assert_eq!(index.search_issue(&narrowed, &weights, 10).unwrap(), []);
    // As a terminal is told to show it.
    let colored =
        "\u{1b}[0m\u{1b}[1m\u{1b}[38;5;9merror\u{1b}[0m: mismatch\n   \u{1b}[1m--> \u{1b}[0msrc/other.rs:50:9\n";
    assert_eq!(found(&index, colored, &weights)[0], "src/other.rs:44");
    let linked = "at \u{1b}]8;;file:///x\u{1b}\\src/other.rs:50\u{1b}]8;;\u{7}\n";
    assert_eq!(found(&index, linked, &weights)[0], "src/other.rs:44");
    let endless = "boom\n\u{1b}]0;a title without an end\nat src/other.rs:50\n";
    assert_eq!(found(&index, endless, &weights)[0], "src/other.rs:44");
}

#[test]
fn a_name_that_many_files_have_says_something_below_a_folder() {
    let files: Vec<String> = (0..9).map(|at| format!("part{at}/mod.rs")).collect();
    let folder = project(&files.iter().map(|name| (name.as_str(), PARSER)).collect::<Vec<_>>());
    let (index, weights) = (indexed(folder.path()), RankingWeights::shipped().unwrap());
    let of = |below: &[&str]| {
        let mut like = SearchQuestion::new("");
        like.below = below.iter().map(|folder| (*folder).to_owned()).collect();
        let issue = PartedQuestion::new("crash at mod.rs:6:3\n", &like, &weights);
        index.search_issue(&issue, &weights, 10).unwrap().into_iter().map(|one| one.path).collect::<Vec<_>>()
    };
    assert_eq!(of(&[]), Vec::<String>::new());
    assert_eq!(of(&["part3"])[0], "part3/mod.rs");
}

#[test]
fn of_an_issue_words_are_looked_for_as_they_stand() {
    let folder = project(&[("a.py", "def resolver(path):\n    pass\n")]);
    let (index, weights) = (indexed(folder.path()), RankingWeights::shipped().unwrap());
    let asked = SearchQuestion::new("resolution");
    assert_eq!(index.search(&asked, &weights, 10).unwrap().len(), 1);
    // A line alone is a question.
    assert_eq!(found(&index, "resolution", &weights), ["a.py:1"]);
    let issue = "resolution\nIt fails.\n";
    assert_eq!(found(&index, issue, &weights), Vec::<String>::new());
    let of_issue = IssueWeights { variants: 0.3, ..weights.issue.clone().unwrap() };
    let with_forms = RankingWeights { issue: Some(of_issue), ..weights };
    assert_eq!(found(&index, issue, &with_forms), ["a.py:1"]);
}

#[test]
fn context_bench_counts_files_and_lines() {
    let folder = project(&[
        (
            "contextbench-50.jsonl",
            r#"{"id": "one", "original": "x", "repo": "a/b", "language": "rust", "base_commit": "0123456789", "query": "read_config fails\nports", "gold": [{"file": "src/parser.rs", "start": 1, "end": 8}, {"file": "gone.rs", "start": 1, "end": 2}]}
{"id": "two", "original": "y", "repo": "c/d", "language": "rust", "base_commit": "0123456789", "query": "zebra", "gold": []}
"#,
        ),
        ("corpora/a__b@01234567/src/parser.rs", PARSER),
        ("corpora/a__b@01234567/app/server.py", SERVER),
    ]);
    let loaded = SearchSet::ContextBench.load(folder.path()).unwrap();
    assert_eq!((loaded.questions.len(), loaded.left_out, loaded.questions[0].targets.len()), (1, 1, 1));
    let index = indexed(&folder.path().join("corpora/a__b@01234567"));
    let measured =
        |weights: &RankingWeights| measure(&loaded, std::slice::from_ref(&index), weights, "").unwrap().metrics;
    let own = measured(&RankingWeights::shipped().unwrap());
    assert_eq!((own["file_hit@1"].value, own["line_recall@8000"].value), (1.0, 1.0));
    let shipped = RankingWeights::shipped().unwrap();
    let weights = IssueWeights { title: 0.0, names: 0.0, prose: 1.0, ..shipped.issue.clone().unwrap() };
    let prose = measured(&RankingWeights { issue: Some(weights), ..shipped });
    assert_eq!(
        (prose["file_hit@1"].value, prose["file_hit@5"].value, prose["line_recall@8000"].value),
        (0.0, 0.0, 0.0)
    );
}
