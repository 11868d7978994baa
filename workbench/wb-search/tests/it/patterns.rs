//! Lines that match a regular expression, held to the lines that a search of every file finds.

use std::fs;

use proptest::prelude::*;
use wb_search::{AnswerRequest, FolderFiles, LinePattern, RankingWeights, SearchAnswer, SearchContext, SearchQuestion};

use crate::{PARSER, SERVER, indexed, project, request, write};

fn lines(index: &wb_search::CodeIndex, pattern: &str, question: &SearchQuestion) -> Vec<String> {
    let found = FolderFiles::of(index.root()).unwrap();
    let lines = index.matching_lines(&found, &LinePattern::new(pattern).unwrap(), question).unwrap();
    lines.lines.into_iter().map(|line| format!("{}:{}:{}", line.path, line.line, line.text)).collect()
}

#[test]
fn every_text_is_looked_into_as_it_is_now() {
    let folder = project(&[
        ("src/parser.rs", PARSER),
        ("app/server.py", SERVER),
        ("LICENSE", "Permission is hereby granted\n"),
        ("data.unknown", "port 80\r\n"),
        (".hidden", "port\n"),
        ("long.js", &"port ".repeat(1000)),
    ]);
    fs::write(folder.path().join("picture.png"), b"\x89PNG\0port\n").unwrap();
    fs::write(folder.path().join("latin.txt"), b"caf\xe9 port\n").unwrap();
    fs::write(folder.path().join("large.rs"), format!("{}port\n", "// x\n".repeat(300_000))).unwrap();
    let index = indexed(folder.path());
    let all = SearchQuestion::new("");
    let paths = |pattern: &str| -> Vec<String> {
        let lines = lines(&index, pattern, &all).into_iter();
        lines.map(|line| line.split(':').take(2).collect::<Vec<_>>().join(":")).collect()
    };
    assert_eq!(
        paths("port"),
        [
            "app/server.py:2",
            "app/server.py:3",
            "app/server.py:4",
            "data.unknown:1",
            "large.rs:300001",
            "latin.txt:1",
            "long.js:1"
        ]
    );
    assert_eq!(lines(&index, "(?i)PERMISSION", &all), ["LICENSE:1:Permission is hereby granted"]);
    assert_eq!(lines(&index, "80$", &all), Vec::<String>::new(), "a carriage return is part of a line, as in ripgrep");
    assert_eq!(lines(&index, r"^pub fn \w+\(", &all).len(), 2);
    let mut python = SearchQuestion::new("");
    python.languages = vec!["python".into()];
    assert_eq!(lines(&index, "port", &python).len(), 3);
    // What has changed, is new or is gone since.
    write(folder.path(), "src/parser.rs", "fn other_port() {}\n");
    write(folder.path(), "src/new.rs", "fn new_port() {}\n");
    fs::remove_file(folder.path().join("large.rs")).unwrap();
    assert_eq!(lines(&index, "_port", &all), ["src/new.rs:1:fn new_port() {}", "src/parser.rs:1:fn other_port() {}"]);
    let error = LinePattern::new("a(").unwrap_err();
    assert!(error.to_string().starts_with("`a(` is no regular expression: ") && error.to_string().contains("unclosed"));
    assert!(LinePattern::new("a\\nb").is_err());
}

#[test]
fn keys_are_in_no_answer() {
    let digits = "MIIEpAIBAAKCAQEAx".repeat(4);
    let key = format!("# settings\nKEY = \"-----BEGIN RSA PRIVATE KEY-----\n{digits}\n\"\n");
    let folder =
        project(&[("settings.py", &key), ("deploy.unknown", &key), (".env", "PASSWORD=port\n"), ("a.py", SERVER)]);
    let index = indexed(folder.path());
    assert!(
        index.search(&SearchQuestion::new("settings key"), &RankingWeights::shipped().unwrap(), 9).unwrap().is_empty()
    );
    for pattern in ["MIIEpAIB", "settings", "PASSWORD"] {
        assert_eq!(lines(&index, pattern, &SearchQuestion::new("")), Vec::<String>::new(), "{pattern}");
    }
    // A file that came after the index was made.
    write(folder.path(), "later.py", &key);
    assert_eq!(lines(&index, "settings", &SearchQuestion::new("")), Vec::<String>::new());
}

#[test]
fn a_pattern_narrows_a_question_down() {
    let folder = project(&[("a.rs", PARSER), ("b.py", SERVER), ("c.rs", "fn read_config_again() {\n    other()\n}\n")]);
    let index = indexed(folder.path());
    let ask = |text: &str, pattern: &str| {
        let pattern = Some(LinePattern::new(pattern).unwrap());
        let request = AnswerRequest { pattern, most: 9, ..request(text, None) };
        SearchAnswer::of(&index, &request, &RankingWeights::shipped().unwrap()).unwrap()
    };
    let narrowed = ask("read config", r"parse\(");
    let found: Vec<_> = narrowed.answers.iter().map(|one| (one.found.path.as_str(), one.matched.as_slice())).collect();
    assert_eq!(found, [("a.rs", &[3][..])]);
    assert!(narrowed.text(false).ends_with("\n        parse(path)"), "{}", narrowed.text(false));
    assert_eq!(ask("read config", "zebra").text(false), "nothing found: no line matches the pattern");
    assert_eq!(ask("", r"\.accept").text(false), "b.py:4:        return self.socket.accept(port)");
    assert_eq!(ask("", "zebra").empty.unwrap(), "no line matches the pattern");
    // A task beside a pattern alone is no question.
    let pattern = || Some(LinePattern::new("accept").unwrap());
    let mut with_task = AnswerRequest { pattern: pattern(), most: 9, ..request("", None) };
    let context = SearchContext { task: "quantum giraffe".into(), ..SearchContext::default() };
    with_task.parted.set_context(&context, &RankingWeights::shipped().unwrap().context);
    let lines = SearchAnswer::of(&index, &with_task, &RankingWeights::shipped().unwrap()).unwrap().lines;
    assert_eq!(lines.len(), 1);
}

/// A checkout and back, a copy, a clone: the time is another and the text is not.
#[test]
fn lines_of_a_file_that_was_touched_are_in_its_units() {
    let folder = project(&[("a.rs", PARSER), ("b.rs", "fn other() {}\n")]);
    let index = indexed(folder.path());
    let ask = || {
        let request = AnswerRequest { pattern: LinePattern::new(r"parse\(").ok(), most: 9, ..request("config", None) };
        SearchAnswer::of(&index, &request, &RankingWeights::shipped().unwrap()).unwrap()
    };
    let file = fs::File::options().append(true).open(folder.path().join("a.rs")).unwrap();
    file.set_modified(std::time::SystemTime::now() + std::time::Duration::from_secs(9)).unwrap();
    assert_eq!(ask().answers.iter().map(|one| one.matched.clone()).collect::<Vec<_>>(), [[3]]);
    write(folder.path(), "a.rs", &format!("// Changed.\n{PARSER}"));
    assert_eq!(
        ask().empty.unwrap(),
        "none of the lines that match the pattern is in a unit with its words; 1 of the files with such lines changed since \
         they were indexed (a.rs)"
    );
}

#[test]
fn lines_that_are_left_out_are_counted() {
    let long = format!("port {}\n", "x".repeat(500));
    let folder = project(&[("a.txt", &long), ("b.txt", "port 80\nport 81\n"), ("c.txt", "port 82\n")]);
    let index = indexed(folder.path());
    let ask = |most: usize, budget: Option<usize>| {
        let pattern = Some(LinePattern::new("port").unwrap());
        let asked = AnswerRequest { pattern, most, ..request("", budget) };
        let answer = SearchAnswer::of(&index, &asked, &RankingWeights::shipped().unwrap()).unwrap();
        let lines = answer.lines.iter().map(|line| line.text.chars().take(7).collect::<String>()).collect::<Vec<_>>();
        (lines.join(", "), answer.left_out, answer.empty)
    };
    assert_eq!(ask(9, None), ("port xx, port 80, port 81, port 82".into(), 0, None));
    assert_eq!(ask(2, None), ("port xx, port 80".into(), 2, None));
    // What does not fit keeps nothing else from it; the place of a line counts, as it is printed.
    assert_eq!(ask(9, Some(8)), ("port 80, port 81".into(), 2, None));
    assert_eq!(ask(9, Some(4)), ("port 80".into(), 3, None));
    assert_eq!(ask(9, Some(1)), (String::new(), 4, Some("no line that matches fits into the budget".into())));
    let mut nowhere = AnswerRequest { pattern: Some(LinePattern::new("port").unwrap()), ..request("", None) };
    nowhere.question.below = vec!["src".into()];
    nowhere.question.roles = vec![wb_search::FileRole::Test];
    let answer = SearchAnswer::of(&index, &nowhere, &RankingWeights::shipped().unwrap()).unwrap();
    assert_eq!(answer.empty.unwrap(), "no line of the files below src, of kind test matches the pattern");
}

#[test]
fn very_long_lines_are_cut_and_longer_ones_said() {
    let folder = project(&[("a.txt", "port\n"), ("long.txt", &"port ".repeat(20_000))]);
    fs::write(folder.path().join("longer.txt"), "port ".repeat(7 << 20)).unwrap();
    let index = indexed(folder.path());
    let found = FolderFiles::of(index.root()).unwrap();
    let matched = index.matching_lines(&found, &LinePattern::new("port").unwrap(), &SearchQuestion::new("")).unwrap();
    let sizes: Vec<(&str, usize)> = matched.lines.iter().map(|line| (line.path.as_str(), line.text.len())).collect();
    assert_eq!(sizes, [("a.txt", 4), ("long.txt", (64 << 10) + "…".len())]);
    assert_eq!(matched.unread, ["longer.txt"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    /// Trigrams pass over no file that matches: the lines are those of an index that has changed in all files, which are all
    /// searched.
    #[test]
    fn trigrams_pass_over_no_line(
        files in prop::collection::vec("([a-cA-C_ ]{0,12}\n){0,5}", 1..6),
        pattern in r"(\(\?i\))?([a-cA-C_]{1,5}|\(ab\|c?\)|[a-c]\+|\[ab\]|\.\*|\\b|b\{2,3\}|\(abc\)\?){1,5}",
    ) {
        let names: Vec<String> = (0..files.len()).map(|at| format!("f{at}.rs")).collect();
        let folder = project(&names.iter().map(String::as_str).zip(files.iter().map(String::as_str)).collect::<Vec<_>>());
        let index = indexed(folder.path());
        let Ok(parsed) = LinePattern::new(&pattern) else { return Ok(()) };
        let found = FolderFiles::of(folder.path()).unwrap();
        let quick = index.matching_lines(&found, &parsed, &SearchQuestion::new("")).unwrap();
        let mut changed = found.clone();
        changed.files.iter_mut().for_each(|file| file.modified += 1);
        let slow = index.matching_lines(&changed, &parsed, &SearchQuestion::new("")).unwrap();
        let plain = |found: &wb_search::patterns::MatchedLines| -> Vec<(String, u64)> {
            found.lines.iter().map(|line| (line.path.clone(), line.line)).collect()
        };
        prop_assert_eq!(plain(&quick), plain(&slow), "{}", pattern);
    }
}

#[test]
fn words_and_matches_have_a_color_and_the_text_is_the_same() {
    let folder = project(&[("src/parser.rs", PARSER)]);
    let index = indexed(folder.path());
    let codes = |text: &str, pattern: &str| {
        let pattern = (!pattern.is_empty()).then(|| LinePattern::new(pattern).unwrap());
        let request = AnswerRequest { pattern, most: 9, ..request(text, None) };
        let answer = SearchAnswer::of(&index, &request, &RankingWeights::shipped().unwrap()).unwrap();
        let painted = answer.painted(false, Some(&request));
        assert_eq!(painted.plain(), answer.text(false));
        painted.told(true, str::to_owned).replace('\u{1b}', "^")
    };
    let place = "^[35msrc/parser.rs^[0m:^[32m";
    assert_eq!(
        codes("", "li.e|zz*"),
        format!("{place}7^[0m:pub fn write_log(^[1m^[31mline^[0m: &str) {{\n{place}8^[0m:    disk(^[1m^[31mline^[0m)")
    );
    let told = codes("writing logs", "");
    assert!(told.starts_with(place) && told.contains("^[1mread_config, write_log^[0m\n"), "{told}");
    assert!(told.contains("    /// ^[1m^[31mWrites^[0m ^[1m^[31mlogs^[0m to the disk."), "{told}");
}
