//! Every source through one door: order, filters, draws and accounts.

use std::{fs, path::Path};

use tempfile::{TempDir, tempdir};

use super::*;

/// A folder with files of these contents.
fn folder(files: &[(&str, &[u8])]) -> TempDir {
    let folder = tempdir().unwrap();
    for (name, content) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    folder
}

/// A config in YAML in which `HERE` is the folder.
pub(super) fn config(folder: &Path, yaml: &str) -> SnippetsConfig {
    let yaml = yaml.replace("HERE", &folder.display().to_string());
    wb_core::config::from_text(&yaml, Path::new("a.yaml")).unwrap()
}

/// Reads a config's snippets; and once more from object storage, where they have to be the same.
pub(super) fn get(folder: &Path, yaml: &str) -> Result<SnippetSet> {
    let read = |from: &Path| read(&config(from, yaml), &WordsAndMarks, Seed(1), &mut wb_core::progress::silent);
    let (here, remote) = (read(folder), read(&wb_sandbox::storage::place_of(folder)));
    match (&here, &remote) {
        (Ok(here), Ok(remote)) => {
            let account = |set: &SnippetSet| -> Vec<_> {
                set.card.sources.iter().map(|it| (it.files, it.left_out.clone(), it.bad.clone())).collect()
            };
            assert_eq!((&here.snippets, account(here)), (&remote.snippets, account(remote)));
        }
        (Err(_), Err(_)) => {}
        (here, remote) => panic!("{:?} here, {:?} from object storage", here.is_ok(), remote),
    }
    here
}

pub(super) fn texts(set: &SnippetSet) -> Vec<(&str, &str, &str)> {
    set.snippets.iter().map(|s| (s.id.as_str(), s.text.as_str(), s.context.as_str())).collect()
}

const ANY: &str = "filters: { min_chars: 1 }";

#[test]
fn a_tree_gives_functions_with_group_license_and_lines() {
    let tree = folder(&[
        ("one/Cargo.toml", b"[package]\nname = \"one\"\nlicense = \"MIT\"\n"),
        (
            "one/src/lib.rs",
            b"/// Adds.\npub fn add(a: i32) -> i32 {\n    // one more\n    a + 1\n}\n\nstruct S { a: i32 }\n",
        ),
        ("two/Cargo.toml", b"[package]\nname = \"two\"\n"),
        ("two/src/lib.rs", b"fn add(a: i32) -> i32 {\n    a   + 1 }\n"),
        ("two/src/bad.rs", b"fn f() { \xff }\n"),
    ]);
    let yaml = "sources: [{ tree: { files: { path: HERE }, units: [function, class] } }]\nfilters: { min_chars: 1, strip_comments: true }";
    let set = get(tree.path(), yaml).unwrap();
    let expected = [
        ("tree:one/src/lib.rs#L2-L5", "pub fn add(a: i32) -> i32 {\n    a + 1\n}", "Adds."),
        ("tree:one/src/lib.rs#L7-L7", "struct S { a: i32 }", ""),
        ("tree:two/src/lib.rs#L1-L2", "fn add(a: i32) -> i32 {\n    a   + 1 }", ""),
    ];
    assert_eq!(texts(&set), expected);
    let origin = &set.snippets[0].origin;
    assert_eq!(
        (origin.group.as_str(), origin.license.as_str(), origin.lines, origin.dataset.as_str()),
        ("one", "MIT", [2, 5], "tree")
    );
    let card = &set.card;
    assert_eq!(card.by_license, BTreeMap::from([("MIT".into(), 2), ("unknown".into(), 1)]));
    assert_eq!((card.kept, card.groups, card.sources[0].files), (3, 2, 2));
    assert_eq!(card.sources[0].left_out, BTreeMap::from([("not utf-8".into(), 1)]));
    let whole = "sources: [{ tree: { files: { path: HERE }, units: [file], cut: { max_tokens: 16, overlap: 0 } } }]\nfilters: { min_chars: 1 }";
    let set = get(tree.path(), whole).unwrap();
    assert_eq!(texts(&set)[0].0, "tree:one/src/lib.rs#L1-L2");
    assert_eq!(texts(&set)[0].1, "/// Adds.\npub fn add(a: i32) -> i32");
}

/// One tree of twenty languages: functions where there is a grammar, pieces of files in all the others.
#[test]
fn twenty_languages_by_their_endings() {
    let names: Vec<(String, String)> = wb_code::CODE_LANGUAGES
        .iter()
        .map(|language| {
            (
                format!("{0}/a/main.{1}", language.name, language.endings[0]),
                format!("-- {}\n{}\n", language.name, "a b c d e f g\n".repeat(8)),
            )
        })
        .collect();
    let mut files: Vec<(&str, &[u8])> = names.iter().map(|(path, text)| (path.as_str(), text.as_bytes())).collect();
    files.extend([
        ("readme.txt", b"no".as_slice()),
        ("lua/b.LUA", b"x = 1".as_slice()),
        ("lua/c.lua", b"\xff".as_slice()),
    ]);
    let tree = folder(&files);
    let yaml = "sources: [{ files: { path: HERE, cut: { max_tokens: 40, overlap: 0 } } }]\nfilters: { min_chars: 1, unique: false }\non_bad: skip\nmax_bad_share: 0.1";
    let set = get(tree.path(), yaml).unwrap();
    let two = |name: &str| if name == "lua" { 3 } else { 2 };
    let wanted: BTreeMap<String, u64> =
        wb_code::CODE_LANGUAGES.iter().map(|language| (language.name.to_owned(), two(language.name))).collect();
    assert_eq!(set.card.by_language, wanted);
    let account = &set.card.sources[0];
    assert_eq!((account.left_out["file of another kind"], account.bad["bad UTF-8"]), (1, 1));
    let perl = set.snippets.iter().find(|snippet| snippet.language == "perl").unwrap();
    assert_eq!((perl.id.as_str(), perl.text.starts_with("-- perl\n")), ("files:perl/a/main.pl#L1-L6", true));
    assert_eq!(
        (perl.origin.group.as_str(), perl.origin.path.as_str(), perl.origin.lines),
        ("perl", "a/main.pl", [1, 6])
    );
    let some = yaml.replace("path: HERE", "path: HERE, languages: [perl, vb]");
    let set = get(tree.path(), &some).unwrap();
    assert_eq!(set.card.by_language, BTreeMap::from([("perl".into(), 2), ("vb".into(), 2)]));
    let error = get(tree.path(), &some.replace("vb", "vbb")).unwrap_err().to_string();
    assert!(error.contains("snippets.sources[0].files.languages: `vbb` is an unknown language"), "{error}");
}

#[test]
fn records_of_every_format_with_chosen_fields() {
    let data = folder(&[
        ("a.jsonl", b"{\"src\":\"x = 1\",\"doc\":\"One.\",\"lang\":\"Python3\",\"license\":\"mit\",\"n\":1}\n\n{\"src\":\"y = 2\",\"lang\":\"Go\",\"n\":2}\n{\"src\":null,\"n\":1}\n"),
        ("b.csv", b"src,lang,n\n\"z = \"\"3\"\"\",js,1\n"),
        ("c.txt", b"no"),
    ]);
    let yaml = "sources: [{ records: { path: HERE, fields: { text: src, context: doc, language: lang }, only: { n: 1 } } }]\nfilters: { min_chars: 1 }";
    let set = get(data.path(), yaml).unwrap();
    assert_eq!(texts(&set), [("records:a.jsonl:1", "x = 1", "One."), ("records:b.csv:2", "z = \"3\"", "")]);
    assert_eq!((set.snippets[0].language.as_str(), set.snippets[1].language.as_str()), ("python", "javascript"));
    assert_eq!(set.snippets[0].origin.license, "mit");
    let left_out = BTreeMap::from([("blank line".into(), 1), ("not `n: 1`".into(), 1), ("null `src`".into(), 1)]);
    assert_eq!(set.card.sources[0].left_out, left_out);
}

#[test]
fn long_records_are_cut_and_numbered() {
    let text = (0..20).map(|at| format!("w{at}")).collect::<Vec<_>>().join(" ");
    let data = folder(&[("a.jsonl", format!("{{\"text\":\"{text}\"}}\n").as_bytes())]);
    let yaml = format!("sources: [{{ records: {{ path: HERE, cut: {{ max_tokens: 8, overlap: 2 }} }} }}]\n{ANY}");
    let set = get(data.path(), &yaml).unwrap();
    let ids: Vec<&str> = set.snippets.iter().map(|s| s.id.as_str()).collect();
    assert_eq!(ids, ["records:a.jsonl:1/1", "records:a.jsonl:1/2", "records:a.jsonl:1/3"]);
}

#[test]
fn bad_records_stop_with_their_line_or_are_counted() {
    let good = "{\"text\":\"fine\"}\n";
    let deep = format!("{{\"text\":{}{}}}\n", "[".repeat(5000), "]".repeat(5000));
    for (bad, reason) in [
        ("{\"text\":\"cut", "cut off"),
        ("{\"tex\":\"a\"}\n", "missing field"),
        ("nonsense\n", "not JSON"),
        (deep.as_str(), "not JSON"),
        ("{\"text\":7}\n", "wrong type"),
    ] {
        let data = folder(&[("a.jsonl", format!("{good}{bad}").as_bytes())]);
        let yaml = format!("sources: [{{ records: {{ path: HERE }} }}]\n{ANY}");
        let error = get(data.path(), &yaml).unwrap_err();
        assert!(error.to_string().contains("a.jsonl:2:"), "{error}");
        let skip = format!("{yaml}\non_bad: skip\nmax_bad_share: 0.5");
        let set = get(data.path(), &skip).unwrap();
        let account = &set.card.sources[0];
        assert_eq!((account.bad.get(reason), account.snippets), (Some(&1), 1), "{bad}");
        assert!(account.first_bad.contains("a.jsonl:2"));
        let error = get(data.path(), &format!("{yaml}\non_bad: skip")).unwrap_err();
        assert!(error.to_string().contains("1 of 2 are bad, more than `max_bad_share` 0.01"), "{error}");
    }
    let data = folder(&[("a.jsonl", b"{\"text\":\"a\"}\n{\"text\":\"\xff\"}\n")]);
    let error = get(data.path(), &format!("sources: [{{ records: {{ path: HERE }} }}]\n{ANY}")).unwrap_err();
    assert!(error.to_string().ends_with("a.jsonl:2:10: byte 0xff is not UTF-8"), "{error}");
}

#[test]
fn a_line_of_a_hundred_megabytes_is_one_dropped_snippet() {
    let mut line = b"{\"text\":\"".to_vec();
    line.resize(100 << 20, b'a');
    line.extend_from_slice(b"\"}\n{\"text\":\"short enough\"}\n");
    let data = folder(&[("a.jsonl", &line)]);
    let set = get(data.path(), &format!("sources: [{{ records: {{ path: HERE }} }}]\n{ANY}")).unwrap();
    assert_eq!((set.snippets.len(), set.card.dropped["over 50000 characters"]), (1, 1));
}

#[test]
fn markdown_pages_give_prose_under_headings_and_code_apart() {
    let docs = folder(&[
        ("guide/sort.md", b"# Sort\n\nSort lists in place.\n\n```python\nxs.sort()\n```\n"),
        ("guide/map.md", b"# Map\n\nMap them.\n"),
        ("latin.md", b"caf\xe9\n"),
    ]);
    let yaml = "sources: [{ markdown: { path: HERE, group: top_folder } }]\nfilters: { min_chars: 1 }\non_bad: skip\nmax_bad_share: 0.5";
    let set = get(docs.path(), yaml).unwrap();
    let expected = [
        ("markdown:guide/map.md#L1-L3", "# Map\n\nMap them.", ""),
        ("markdown:guide/sort.md#L1-L3", "# Sort\n\nSort lists in place.", ""),
        ("markdown:guide/sort.md#L5-L7", "xs.sort()", "Sort\n\nSort lists in place."),
    ];
    assert_eq!(texts(&set), expected);
    assert_eq!((set.snippets[2].language.as_str(), set.snippets[2].origin.group.as_str()), ("python", "guide"));
    assert_eq!(set.card.sources[0].bad, BTreeMap::from([("bad UTF-8".into(), 1)]));
    assert!(set.card.sources[0].first_bad.contains("latin.md:1: byte 0xe9"), "{}", set.card.sources[0].first_bad);
}

#[test]
fn two_sources_of_a_kind_keep_their_ids_apart() {
    let docs = folder(&[("a/x.md", b"One text here.\n"), ("b/x.md", b"Another text here.\n")]);
    let yaml =
        "sources: [{ markdown: { path: HERE/a } }, { markdown: { path: HERE/b/x.md } }]\nfilters: { min_chars: 1 }";
    let set = get(docs.path(), yaml).unwrap();
    let ids: Vec<(&str, &str)> = set.snippets.iter().map(|s| (s.id.as_str(), s.origin.dataset.as_str())).collect();
    assert_eq!(ids, [("markdown:x.md#L1-L1", "markdown"), ("markdown2:x.md#L1-L1", "markdown2")]);
}

#[test]
fn filters_and_draws_are_counted_and_repeatable() {
    let lines: String =
        (0..40).map(|at| format!("{{\"text\":\"{}\",\"group\":\"g{}\"}}\n", "word ".repeat(at), at % 2)).collect();
    let data = folder(&[("a.jsonl", format!("{lines}{lines}").as_bytes())]);
    let yaml = "sources: [{ records: { path: HERE } }]\nfilters: { min_chars: 20, max_tokens: 35 }\ndraw: { per_group: 12, total: 20, buckets: [10, 20] }";
    let set = get(data.path(), yaml).unwrap();
    // Under 20 characters: 0 to 3 words, and the whole second time; over 35 words: 36 to 39; 4 to 35 words are 32.
    assert_eq!(
        set.card.dropped,
        BTreeMap::from([
            ("under 20 characters".into(), 8),
            ("over 35 tokens".into(), 8),
            ("the same text as an earlier one".into(), 32),
            ("beyond per_group".into(), 8),
            ("beyond total".into(), 4),
        ])
    );
    assert_eq!(set.card.by_length.iter().map(|(_, count)| count).sum::<u64>(), 20);
    assert_eq!(set.card.by_length.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["0-9", "10-19", "20-"]);
    let again = get(data.path(), yaml).unwrap();
    assert_eq!((&set, set.fingerprint()), (&again, again.fingerprint()));
    let other = read(&config(data.path(), yaml), &WordsAndMarks, Seed(2), &mut wb_core::progress::silent).unwrap();
    assert_ne!(set.fingerprint(), other.fingerprint());
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let yaml = "sources: [{ tree: { files: { path: HERE, languages: [rust] }, units: [file, function, class] } }]";
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let one = alone.install(|| get(here, yaml).unwrap());
    let many = rayon::ThreadPoolBuilder::new().num_threads(7).build().unwrap();
    assert_eq!(one, many.install(|| get(here, yaml).unwrap()));
    assert!(one.snippets.len() > 50);
}

#[test]
fn nothing_left_is_an_error_that_says_why() {
    let docs = folder(&[("x.md", b"Short.\n"), ("x.txt", b"a")]);
    let error = get(docs.path(), "sources: [{ markdown: { path: HERE } }]").unwrap_err();
    let expected = "no snippet is left of 1 (file of another kind: 1, under 200 characters: 1)";
    assert_eq!(error.to_string(), expected);
    let error = get(docs.path(), "sources: [{ html: { path: HERE } }]").unwrap_err();
    assert!(error.to_string().ends_with("no file ends in .html, .htm, .xhtml (2 others are there)"), "{error}");
    assert!(
        get(docs.path(), "sources: [{ html: { path: HERE/none } }]")
            .unwrap_err()
            .to_string()
            .starts_with("cannot read")
    );
}

#[test]
fn values_that_make_no_sense_are_refused_with_their_key() {
    for (yaml, key) in [
        ("sources: []", "snippets.sources"),
        ("sources: [{ markdown: {} }]", "snippets.sources[0].markdown.path"),
        ("sources: [{ tree: { units: [] } }]", "snippets.sources[0].tree.units"),
        ("sources: [{ tree: { units: [file, file] } }]", "snippets.sources[0].tree.units"),
        ("sources: [{ tree: { cut: { max_tokens: 10, overlap: 6 } } }]", "snippets.sources[0].tree.cut.overlap"),
        ("sources: [{ records: {} }]", "snippets.sources[0].records"),
        (
            "sources: [{ records: { hub: { repo: a/b, revision: a b, files: [a.csv] } } }]",
            "snippets.sources[0].records.hub.repo",
        ),
        ("sources: [{ sqlite: { path: a, table: t } }]", "snippets.sources[0].sqlite.columns.text"),
        ("sources: [{ notebooks: { path: a, votes: {} } }]", "snippets.sources[0].notebooks.votes.path"),
        ("sources: [{ html: { path: a, max_link_share: 2 } }]", "snippets.sources[0].html.max_link_share"),
        ("sources: [{ html: { path: a } }]\nmax_bad_share: -1", "snippets.max_bad_share"),
        ("sources: [{ html: { path: a } }]\nfilters: { max_chars: 100 }", "snippets.filters.max_chars"),
        ("sources: [{ html: { path: a } }]\ndraw: { total: 5, buckets: [5, 5] }", "snippets.draw.buckets"),
        ("sources: [{ html: { path: a } }]\ndraw: { buckets: [5] }", "snippets.draw.total"),
    ] {
        let error = config(Path::new("."), yaml).validate("snippets").unwrap_err().to_string();
        assert!(error.starts_with(&format!("{key}: ")), "{error}");
    }
}

#[test]
fn a_config_is_written_and_read_back() {
    let yaml = "sources: [{ tree: {} }, { records: { path: a } }, { notebooks: { path: b, votes: { path: c } } }]";
    let given = config(Path::new("."), yaml);
    let text = serde_json::to_string(&given).unwrap();
    assert_eq!(serde_json::from_str::<SnippetsConfig>(&text).unwrap(), given);
}
