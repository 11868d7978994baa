//! Answers of small projects.

use wb_search::{
    AnswerRequest, CodeIndex, FileContext, FileRole, LinePattern, PartedQuestion, RankingWeights, SearchAnswer,
    SearchContext, SearchQuestion, answer::Extent, patterns::MatchedLine, structure::QuestionAim,
};

use crate::{PARSER, SERVER, indexed, project, request, write};

fn found(index: &wb_search::CodeIndex, question: &SearchQuestion) -> Vec<String> {
    let found = index.search(question, &RankingWeights::shipped().unwrap(), 10).unwrap();
    found.into_iter().map(|found| format!("{}:{}", found.path, found.lines[0])).collect()
}

#[test]
fn words_and_names_find_their_functions() {
    let long = "    let value = compute(value);\n".repeat(20);
    let parser = format!("{PARSER}\nfn other() {{\n{long}}}\n");
    let folder = project(&[
        ("src/parser.rs", &parser),
        ("app/server.py", SERVER),
        ("tests/test_server.py", "def test_listen():\n    assert Server().listen(80)\n"),
    ]);
    let index = indexed(folder.path());
    for (question, expected) in [
        ("how is a configuration file read?", "src/parser.rs:1"),
        ("read_config", "src/parser.rs:1"),
        ("wait for connections", "app/server.py:1"),
        ("Server.listen", "app/server.py:1"),
        ("test that the server listens", "tests/test_server.py:1"),
    ] {
        let found = found(&index, &SearchQuestion::new(question));
        assert_eq!(found.first().map(String::as_str), Some(expected), "{question}: {found:?}");
    }
    let mut of_tests = SearchQuestion::new("listen");
    of_tests.roles = vec![FileRole::Test];
    assert_eq!(found(&index, &of_tests), ["tests/test_server.py:1"]);
    let mut below = SearchQuestion::new("listen");
    below.below = vec!["app".into()];
    assert_eq!(found(&index, &below), ["app/server.py:1"]);
}

#[test]
fn other_forms_of_a_word_find_what_the_word_would() {
    let folder = project(&[
        ("src/resolver.rs", "fn lookup(host: &str) -> Address {\n    cache(host)\n}\n"),
        ("src/auth.rs", "fn check_auth(token: &str) -> bool {\n    token.len() > 3\n}\n"),
        ("src/other.rs", "fn unrelated(host: &str) -> u32 {\n    7\n}\n"),
    ]);
    let index = indexed(folder.path());
    for (question, expected) in [
        ("host resolution", ["src/resolver.rs:1", "src/other.rs:1"].as_slice()),
        ("authentication", &["src/auth.rs:1"]),
        ("checking", &["src/auth.rs:1"]),
        ("authority", &["src/auth.rs:1"]),
        ("author", &["src/auth.rs:1"]),
        ("resort", &[]),
    ] {
        assert_eq!(found(&index, &SearchQuestion::new(question)), expected, "{question}");
    }
    let mut plain = RankingWeights::shipped().unwrap();
    plain.words.prose.variants = 0.0;
    assert_eq!(index.search(&SearchQuestion::new("authentication"), &plain, 10).unwrap(), []);
}

#[test]
fn words_of_any_letters_are_asked_for() {
    let rare = "a\u{20000}";
    let folder =
        project(&[("a.py", &format!("def größe_{rare}():\n    return '配置 {rare} \u{80000}'\n")), ("b.py", SERVER)]);
    let index = indexed(folder.path());
    for question in
        [rare.to_owned(), format!("größe {rare}"), "配置".into(), format!("{rare} 配置"), "die größe".into()]
    {
        assert_eq!(found(&index, &SearchQuestion::new(&question)), ["a.py:1"], "{question}");
    }
}

#[test]
fn neighboring_words_find_the_names_that_they_make() {
    let long = "    let value = type_of(value, detector);\n".repeat(3);
    let folder = project(&[
        ("a.rs", &format!("fn a(value: u32) {{\n{long}    type_of(detector)\n}}\n")),
        ("b.rs", "fn b() -> u32 {\n    TypeDetector::default().run(7)\n}\n"),
    ]);
    let index = indexed(folder.path());
    let question = SearchQuestion::new("type detection");
    assert_eq!(found(&index, &question), ["b.rs:1", "a.rs:1"]);
    let mut plain = RankingWeights::shipped().unwrap();
    plain.words.prose.compounds = 0.0;
    assert_eq!(index.search(&question, &plain, 1).unwrap()[0].path, "a.rs");
}

#[test]
fn statements_of_sql_and_code_in_documents_are_found_by_their_names() {
    let filler = "  note text not null,\n".repeat(20);
    let folder = project(&[
        (
            "schema.sql",
            &format!(
                "CREATE TABLE animals (\n{filler}  id int\n);\n\n-- What they eat.\nCREATE TABLE IF NOT EXISTS meals (\n{filler}  id int\n);\n"
            ),
        ),
        ("PLAN.md", "# Plan\n\nWords.\n\n```rust\nstruct FeedingTime;\n```\n"),
    ]);
    let index = indexed(folder.path());
    let names = |question: &str| -> Vec<String> {
        index.search(&SearchQuestion::new(question), &RankingWeights::shipped().unwrap(), 1).unwrap().remove(0).names
    };
    assert_eq!(names("animals table"), ["animals"]);
    assert_eq!(names("what they eat"), ["meals"]);
    assert_eq!(names("FeedingTime"), ["Plan", "FeedingTime"]);
}

#[test]
fn a_test_beside_what_it_tests_counts_as_a_test() {
    let long = "    zebra.len();\n".repeat(40);
    let tests = "#[cfg(test)]\nmod tests {\n    #[test]\n    fn test_stripes() {\n        zebra(1);\n    }\n}\n";
    let folder = project(&[
        ("src/lib.rs", &format!("fn stripes_of(zebra: &str) {{\n{long}}}\n\n{tests}")),
        ("app.py", "def test_stripes():\n    zebra(1)\n"),
    ]);
    let index = indexed(folder.path());
    let weights = RankingWeights::shipped().unwrap();
    let roles = |question: &str| {
        let mut found = index.search(&SearchQuestion::new(question), &weights, 10).unwrap();
        found.sort_by_key(|found| (found.path.clone(), found.lines));
        found.iter().map(|found| found.signals.role).collect::<Vec<_>>()
    };
    let test = weights.words.prose.roles.test;
    assert_eq!(roles("zebra stripes"), [test, 1.0, test]);
    assert_eq!(roles("tests of zebra stripes"), [1.0, 1.0, 1.0]);
}

#[test]
fn a_file_whose_name_the_project_says_comes_before_another() {
    let body = "fn zebra() {\n    stripes()\n}\n";
    let others = ["a", "b"].map(|name| (format!("{name}.rs"), format!("fn {name}_first() {{\n    router.ask()\n}}\n")));
    let mut files = vec![("lion.rs", body), ("router.rs", body)];
    files.extend(others.iter().map(|(path, text)| (path.as_str(), text.as_str())));
    let folder = project(&files);
    let index = indexed(folder.path());
    let mut weights = RankingWeights::shipped().unwrap();
    let ask = |weights: &RankingWeights| index.search(&SearchQuestion::new("zebra stripes"), weights, 10).unwrap();
    let found = ask(&weights);
    assert_eq!(found.iter().map(|found| found.path.as_str()).collect::<Vec<_>>(), ["router.rs", "lion.rs"]);
    // Of four units, two say it.
    assert!((found[0].signals.central - 3_f32.ln() / 5_f32.ln()).abs() < 1e-6, "{:?}", found[0].signals);
    assert_eq!(found[1].signals.central, 0.0);
    weights.words.prose.centrality = 0.0;
    assert_eq!(ask(&weights)[0].path, "lion.rs");
}

#[test]
fn an_answer_says_what_is_stale_and_why_it_is_empty() {
    let folder = project(&[("a.rs", PARSER), ("b.py", SERVER)]);
    let index = indexed(folder.path());
    let answer = |text: &str, budget: Option<usize>| {
        SearchAnswer::of(&index, &request(text, budget), &RankingWeights::shipped().unwrap()).unwrap()
    };
    let whole = answer("configuration", None);
    assert_eq!(whole.answers[0].text, PARSER.trim_end());
    assert!(whole.text(true).starts_with("a.rs:1-9  read_config, write_log\n    score 1."), "{}", whole.text(true));
    // A budget of 24 tokens holds no function of 40, but the lines that define it.
    let short = answer("configuration", Some(24));
    assert_eq!(short.answers[0].text, PARSER.lines().take(2).collect::<Vec<_>>().join("\n"));
    let none = answer("zebra quagga", None);
    assert_eq!(none.text(false), "nothing found: none of the files has `zebra`, `quagga`");
    assert_eq!(answer("?!", None).empty.unwrap(), "the question has no words");

    write(folder.path(), "a.rs", "fn changed() {}\n");
    let stale = answer("configuration", None);
    assert_eq!((stale.stale, stale.answers[0].text.as_str()), (vec!["a.rs".to_owned()], ""));
}

#[test]
fn long_units_are_excerpts_and_whole_where_the_budget_has_room() {
    let fill = |from: u32| (from..from + 20).map(|n| format!("    let value_{n} = compute(n);\n")).collect::<String>();
    let text = format!("fn zebra() {{\n{}    paint(\"stripes\");\n{}}}\n", fill(10), fill(30));
    let folder = project(&[("a.rs", &text)]);
    let index = indexed(folder.path());
    let weights = RankingWeights::shipped().unwrap();
    let ask = |budget: Option<usize>, weights: &RankingWeights| {
        let answer = SearchAnswer::of(&index, &request("zebra stripes", budget), weights).unwrap();
        answer.answers.into_iter().next().unwrap()
    };
    let short = ask(None, &weights);
    // The defining line, then from the line with the other word on what 600 characters hold beside it.
    assert_eq!((short.extent, short.shown.as_slice()), (Extent::Excerpt, &[[1, 1], [22, 40]][..]));
    assert_eq!((short.found.lines, short.text.lines().count()), ([1, 43], 1 + 1 + 19));
    assert!(short.text.starts_with("fn zebra() {\n…\n    paint(\"stripes\");\n    let value_30"), "{}", short.text);
    let asked_whole = RankingWeights { excerpt: None, ..weights.clone() };
    for (whole, runs) in [(ask(Some(1_000), &weights), 2), (ask(None, &asked_whole), 0)] {
        assert_eq!((whole.extent, whole.shown.len(), whole.text.as_str()), (Extent::Whole, runs, text.trim_end()));
    }
    // People are shown the same lines, whether there is room for more or not.
    for budget in [None, Some(1_000)] {
        let told = SearchAnswer::of(&index, &request("zebra stripes", budget), &weights).unwrap().text(false);
        let lines: Vec<&str> = told.lines().skip(1).map(str::trim).collect();
        assert_eq!(lines[..3], ["fn zebra() {", "paint(\"stripes\");", "let value_30 = compute(n);"], "{told}");
    }
    // A line that an issue names is shown, whatever its words.
    let parted = PartedQuestion::new("zebra stripes fail\n\n  at a.rs:5", &SearchQuestion::new(""), &weights);
    let issue = AnswerRequest { parted, ..request("", None) };
    let named = SearchAnswer::of(&index, &issue, &weights).unwrap().answers.remove(0);
    assert!(named.shown.iter().any(|[from, to]| (from..=to).contains(&&5)), "{named:?}");
    assert_eq!(ask(Some(200), &weights), short);
}

#[test]
fn what_a_terminal_takes_for_a_command_is_not_shown() {
    let folder = project(&[("a.py", "def evil():\n    return '\u{1b}]0;title\u{7}\u{1b}[2J'\n")]);
    let index = indexed(folder.path());
    let answer = SearchAnswer::of(&index, &request("evil", None), &RankingWeights::shipped().unwrap()).unwrap();
    assert!(answer.answers[0].text.contains("title"));
    assert!(!answer.text(true).contains(['\u{1b}', '\u{7}']));
    assert!(!serde_json::to_string(&answer).unwrap().contains("\\u001b"));
}

#[test]
fn the_context_moves_files_and_adds_questions() {
    let folder = project(&[
        ("a/zebra.rs", "fn zebra() {\n    stripes()\n}\n"),
        ("b/zebra.rs", "fn zebra() {\n    stripes()\n}\n"),
        ("b/other.rs", "fn lion() {\n    mane()\n}\n"),
    ]);
    let index = indexed(folder.path());
    let weights = RankingWeights::shipped().unwrap();
    let ask = |text: &str, context: SearchContext| {
        let mut asked = PartedQuestion::whole(SearchQuestion::new(text));
        asked.set_context(&context, &weights.context);
        let found = index.search_issue(&asked, &weights, 10).unwrap();
        found.into_iter().map(|found| (found.path, found.signals.context)).collect::<Vec<_>>()
    };
    let files = |current: Option<&str>, recent: &[&str]| {
        let recent = recent.iter().map(|path| (*path).to_owned()).collect();
        SearchContext { files: FileContext { current: current.map(str::to_owned), recent }, ..SearchContext::default() }
    };
    let paths = |found: Vec<(String, f32)>| found.into_iter().map(|(path, _)| path).collect::<Vec<_>>();
    assert_eq!(paths(ask("zebra stripes", files(None, &[]))), ["a/zebra.rs", "b/zebra.rs"]);
    let found = ask("zebra stripes", files(Some("b/other.rs"), &[]));
    assert_eq!(found, [("b/zebra.rs".to_owned(), 1.3), ("a/zebra.rs".to_owned(), 1.0)]);
    assert_eq!(paths(ask("zebra stripes", files(None, &["a/zebra.rs"]))), ["b/zebra.rs", "a/zebra.rs"]);
    // A task brings in what the question does not say, below what it says.
    let task = SearchContext { task: "lion mane".into(), ..SearchContext::default() };
    assert_eq!(paths(ask("zebra stripes", task.clone())), ["a/zebra.rs", "b/zebra.rs", "b/other.rs"]);
    let before = SearchContext { queries: vec!["lion".into()], ..SearchContext::default() };
    assert_eq!(ask("zebra stripes", before).len(), 3);
    assert_eq!(paths(ask("", task)), ["b/other.rs"]);
}

#[test]
fn further_hops_ask_for_the_names_that_answers_use() {
    let folder = project(&[
        ("a.rs", "fn open_store() {\n    let records = parse_records();\n}\n"),
        ("b.rs", "fn parse_records() {\n    let line = next_line();\n}\n"),
        ("c.rs", "fn next_line() {\n    split()\n}\n"),
    ]);
    let index = indexed(folder.path());
    let weights = RankingWeights::shipped().unwrap();
    let ask = |hops: u8| {
        let mut asked = PartedQuestion::whole(SearchQuestion::new("open store"));
        asked.set_hops(hops);
        let found = index.search_issue(&asked, &weights, 10).unwrap();
        found.into_iter().map(|found| found.path).collect::<Vec<_>>()
    };
    assert_eq!((ask(1), ask(2)), (vec!["a.rs".to_owned()], vec!["a.rs".to_owned(), "b.rs".to_owned()]));
    assert_eq!(ask(3), ["a.rs", "b.rs", "c.rs"]);
    // A file that is not as it was says nothing.
    write(folder.path(), "a.rs", "fn open_store() {}\n");
    assert_eq!(ask(3), ["a.rs"]);
}

#[test]
fn the_guide_has_every_key_of_an_answer() {
    let folder = project(&[("src/parser.rs", PARSER)]);
    let index = indexed(folder.path());
    let asked = AnswerRequest { pattern: Some(LinePattern::new("parse").unwrap()), ..request("read config", None) };
    let mut answer = SearchAnswer::of(&index, &asked, &RankingWeights::shipped().unwrap()).unwrap();
    // All that is there in some answer alone.
    (answer.commit, answer.encoder, answer.empty) = (Some(String::new()), Some(String::new()), Some(String::new()));
    (answer.unread, answer.left_out) = (vec!["a.rs".into()], 1);
    answer.lines.push(MatchedLine { path: "a.rs".into(), line: 1, text: String::new(), unit: None });
    let one = &mut answer.answers[0];
    (one.shown, one.aim, one.said) = (vec![[1, 1]], Some(QuestionAim::Usage), "a".into());
    let guide = include_str!("../../../../GUIDE.md");
    let (_, table) = guide.split_once("An answer as JSON (`wb search --json`) has these keys").unwrap();
    let (table, _) = table.split_once("## Agents").unwrap();
    let mut keys = Vec::new();
    keys_of(&serde_json::to_value(&answer).unwrap(), &mut keys);
    assert!(keys.len() > 30, "{keys:?}");
    keys.retain(|key| !table.contains(&format!("`{key}`")));
    assert_eq!(keys, Vec::<String>::new());
}

fn keys_of(value: &serde_json::Value, keys: &mut Vec<String>) {
    match value {
        serde_json::Value::Object(fields) => fields.iter().for_each(|(key, value)| {
            keys.push(key.clone());
            keys_of(value, keys);
        }),
        serde_json::Value::Array(values) => values.iter().for_each(|value| keys_of(value, keys)),
        _ => {}
    }
}

#[test]
fn an_index_of_another_folder_is_not_asked() {
    let (folder, other) =
        (project(&[("a.rs", PARSER), ("b.rs", "fn zebra() {}\n")]), project(&[("c.rs", "fn c() {}\n")]));
    let file = folder.path().join("index");
    indexed(folder.path()).write(&file).unwrap();
    let ask = || {
        let index = CodeIndex::read(&file, other.path()).unwrap();
        SearchAnswer::of(&index, &request("zebra", None), &RankingWeights::shipped().unwrap())
    };
    let error = ask().unwrap_err();
    assert!(error.to_string().starts_with("none of the 2 files of the index is in "), "{error}");
    assert_eq!(error.hint(), Some("`wb index` brings it up to date; `--project` names its folder"));
    // A part of them is enough: the rest has gone since.
    write(other.path(), "b.rs", "fn zebra() {}\n");
    assert_eq!(ask().unwrap().answers.len(), 1);
}
