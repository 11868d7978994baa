//! `wb data get`: data sets of others from a server on this machine, and read by what they are for.

use std::{
    io::{Cursor, Write},
    sync::Arc,
};

use arrow_array::{
    ArrayRef, Int64Array, ListArray, RecordBatch, StringArray,
    builder::{ListBuilder, StringBuilder},
};
use wb_fake_hub::FakeHub;
use zip::{ZipWriter, write::SimpleFileOptions};

use crate::{
    sandbox::{Sandbox, has, told},
    tables::parquet_bytes,
};

/// A project, and a server for it.
struct World {
    sandbox: Sandbox,
    hub: FakeHub,
}

/// As the catalog names them.
const CODESEARCHNET: (&str, &str) = ("code-search-net/code_search_net", "bd0cf261e357a3eb5c8fba490d23ec1a1cd59555");

impl World {
    fn new() -> Self {
        Self { sandbox: Sandbox::new(), hub: FakeHub::start().unwrap() }
    }

    /// Exit code, standard output and standard error of a command that may ask the server.
    fn run(&self, arguments: &[&str]) -> (Option<i32>, String, String) {
        let endpoint = self.hub.endpoint();
        let mut command = self.sandbox.online(arguments, &endpoint);
        told(command.env("WB_DATA_MIRROR", format!("{endpoint}/web/")).output().unwrap())
    }

    /// Runs what has to work; gives what it wrote to standard output and to standard error.
    fn succeeds(&self, arguments: &[&str]) -> (String, String) {
        let (code, out, err) = self.run(arguments);
        assert_eq!(code, Some(0), "{arguments:?}\n{out}\n{err}");
        (out, err)
    }

    /// Runs `wb data get` with these words.
    fn gets(&self, words: &str) -> (String, String) {
        self.succeeds(&behind(&["data", "get"], words))
    }

    /// Runs `wb data get` with these words, which has to end with an error that says all of this.
    fn refuses(&self, words: &str, said: &[&str]) {
        let (code, _, err) = self.run(&behind(&["data", "get"], words));
        assert_eq!(code, Some(2), "{words}\n{err}");
        has(&err, said);
    }

    /// What a benchmark prints, with nobody to ask.
    fn bench(&self, words: &str) -> String {
        self.sandbox.succeeds(&behind(&["bench"], words)).0
    }
}

/// Arguments behind a command.
fn behind<'w>(command: &[&'w str], words: &'w str) -> Vec<&'w str> {
    command.iter().copied().chain(words.split_whitespace()).collect()
}

fn parquet(columns: Vec<(&str, ArrayRef)>) -> Vec<u8> {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    parquet_bytes(&batch)
}

fn texts(values: impl IntoIterator<Item = String>) -> ArrayRef {
    Arc::new(StringArray::from(values.into_iter().collect::<Vec<_>>()))
}

fn words(values: impl IntoIterator<Item = String>) -> ArrayRef {
    let mut builder = ListBuilder::new(StringBuilder::new());
    for value in values {
        value.split_whitespace().for_each(|word| builder.values().append_value(word));
        builder.append(true);
    }
    let lists: ListArray = builder.finish();
    Arc::new(lists)
}

const NOUNS: [&str; 12] = [
    "river", "engine", "garden", "violin", "compass", "kettle", "harbor", "meadow", "falcon", "ribbon", "lantern",
    "anchor",
];

/// The hub's schema of CodeSearchNet: a function for each noun, which its docstring has too.
fn functions(split: &str) -> Vec<u8> {
    let each = |make: &dyn Fn(&str) -> String| texts(NOUNS.map(make));
    parquet(vec![
        ("repository_name", each(&|_| "o/n".into())),
        ("func_path_in_repository", each(&|noun| format!("{noun}.rb"))),
        ("func_name", each(&|noun| format!("open_{noun}"))),
        ("whole_func_string", each(&|noun| format!("def open_{noun}; end"))),
        ("language", each(&|_| "ruby".into())),
        ("func_code_string", each(&|noun| format!("def open_{noun}\n  {noun}.{split}\nend"))),
        ("func_code_tokens", words(NOUNS.map(|noun| format!("def open_{noun} {noun} . {split} end")))),
        ("func_documentation_string", each(&|noun| format!("Opens the {noun} of {split}."))),
        ("func_documentation_tokens", words(NOUNS.map(|noun| format!("Opens the {noun} of {split} .")))),
        ("split_name", each(&|_| split.into())),
        ("func_code_url", each(&|noun| format!("https://github.com/o/n/blob/1/{split}/{noun}.rb#L1-L3"))),
    ])
}

impl World {
    /// Publishes CodeSearchNet's functions in these languages.
    fn with_codesearchnet(self, languages: &[&str]) -> Self {
        let splits = [("test", functions("test")), ("validation", functions("validation"))];
        let mut files: Vec<(String, &[u8])> = Vec::new();
        for (split, bytes) in &splits {
            let file = |language: &&str| (format!("{language}/{split}-00000-of-00001.parquet"), bytes.as_slice());
            files.extend(languages.iter().map(file));
        }
        let files: Vec<(&str, &[u8])> = files.iter().map(|(path, bytes)| (path.as_str(), *bytes)).collect();
        self.hub.add_at("datasets", CODESEARCHNET.0, CODESEARCHNET.1, &files);
        self
    }
}

#[test]
fn the_list_says_what_is_there_and_how_to_get_the_rest() {
    let world = World::new().with_codesearchnet(&["ruby", "go"]);
    let (out, _) = world.gets("");
    for name in "codesearchnet-annotations advtest cosqa coir-apps spider bird synthetic-sql conala".split(' ') {
        let line = out.lines().find(|line| line.starts_with(&format!("{name} ")));
        assert!(line.is_some_and(|line| line.contains("missing")), "{name}\n{out}");
    }
    assert!(out.contains("CC BY-SA 4.0") && out.contains("wb data get NAME") && out.contains("C-UDA"), "{out}");
    assert!(world.hub.requests().is_empty(), "a list asks nobody");
    assert!(!world.sandbox.path("datasets").exists());
    world.gets("codesearchnet --languages ruby");
    let (out, _) = world.gets("");
    assert!(out.contains("partly, 2 of 12 folders"), "{out}");
}

#[test]
fn names_and_languages_that_are_nearly_right_are_offered() {
    let world = World::new();
    world.refuses("codesearchnt", &["no data set `codesearchnt`", "did you mean `codesearchnet`?"]);
    world.refuses("codesearchnet --languages rubi", &["did you mean `ruby`?"]);
    world.refuses("spider bird --revision main", &["--revision: got `main` for 2 data sets, expected one"]);
    assert!(!world.sandbox.path("datasets").exists() && world.hub.requests().is_empty());
}

#[test]
fn codesearchnet_is_fetched_converted_and_measured_on() {
    let world = World::new().with_codesearchnet(&["ruby", "go"]);
    let (out, err) = world.gets("codesearchnet --languages ruby");
    assert!(out.contains("codesearchnet/ruby/final/jsonl/test: 12 functions"), "{out}");
    assert!(err.contains("license  each function under its repository's license") && err.contains("to come"), "{err}");
    world.hub.requests();
    let (out, err) = world.gets("codesearchnet --languages ruby");
    assert!(out.lines().all(|line| line.ends_with(": there already")) && err.is_empty(), "{out}{err}");
    assert!(world.hub.requests().is_empty(), "what is there is not asked for again");
    let out = world.bench("codesearchnet --dataset datasets/external/codesearchnet --retriever bm25");
    assert!(out.contains("csn-full") && out.contains("ruby"), "{out}");
}

#[test]
fn judged_functions_are_looked_up_among_those_that_are_there() {
    let world = World::new().with_codesearchnet(&["ruby", "go"]);
    let url = |noun: &str| format!("https://github.com/o/n/blob/1/test/{noun}.rb#L1-L3");
    let mut store = "Language,Query,GitHubUrl,Relevance,Notes\n".to_owned();
    store += &format!("Ruby,open the river,{},3,\nRuby,open the river,{},0,\n", url("river"), url("kettle"));
    store += &format!("Ruby,open the river,{},2,\n", url("nowhere"));
    let publish = |revision: &str| {
        let folder = format!("raw.githubusercontent.com/github/CodeSearchNet/{revision}/resources");
        world.hub.add_web(&format!("{folder}/annotationStore.csv"), store.as_bytes());
        world.hub.add_web(&format!("{folder}/queries.csv"), b"query\nopen the river\n");
    };
    publish("main");
    let first = ["hint: wb data get codesearchnet codesearchnet-annotations"];
    world.refuses("codesearchnet-annotations --revision main", &first);
    world.gets("codesearchnet --languages ruby");
    let (out, _) = world.gets("codesearchnet-annotations --revision main");
    has(&out, &["2 judged functions", "1 judged functions of ruby that are not here"]);
    let out = world.bench("codesearchnet --dataset datasets/external/codesearchnet --retriever bm25");
    assert!(out.contains("csn-ndcg-within"), "{out}");
    // Other bytes than the catalog names are refused where nobody asked for another revision.
    publish("106e827405c968597da938f6b373d30183918869");
    let other = ["wb data get codesearchnet-annotations --revision main"];
    world.refuses("codesearchnet-annotations --force", &other);
}

/// A task of CoIR with a document and a query for each noun.
fn put_coir(world: &World, task: &str, commit: &str) {
    let ids = |letter: char| texts(NOUNS.iter().enumerate().map(move |(at, _)| format!("{letter}{at}")));
    let none: ArrayRef = Arc::new(StringArray::from(vec![None::<&str>; NOUNS.len()]));
    let corpus = RecordBatch::try_from_iter_with_nullable([
        ("_id", ids('d'), false),
        ("title", none, true),
        ("text", texts(NOUNS.map(|noun| format!("def open({noun}): pass"))), false),
    ])
    .unwrap();
    let bytes = parquet_bytes(&corpus);
    let queries = parquet(vec![("_id", ids('q')), ("text", texts(NOUNS.map(|noun| format!("open the {noun}"))))]);
    let ones: ArrayRef = Arc::new(Int64Array::from(vec![1; NOUNS.len()]));
    let qrels = parquet(vec![("query-id", ids('q')), ("corpus-id", ids('d')), ("score", ones)]);
    let files: [(&str, &[u8]); 3] = [
        ("corpus/corpus-00000-of-00001.parquet", &bytes),
        ("queries/queries-00000-of-00001.parquet", &queries),
        ("data/test-00000-of-00001.parquet", &qrels),
    ];
    world.hub.add_at("datasets", &format!("CoIR-Retrieval/{task}"), commit, &files);
}

#[test]
fn a_task_of_coir_is_measured_on() {
    let world = World::new();
    put_coir(&world, "cosqa", "bc5efb7e9d437246ce393ed19d772e08e4a79535");
    let (out, _) = world.gets("coir-cosqa");
    assert!(out.contains("coir/cosqa: 12 documents; 12 judgements; 12 queries"), "{out}");
    let out = world.bench("beir --dataset datasets/external/coir/cosqa --retriever bm25");
    assert!(out.contains("coir-cosqa"), "{out}");
}

#[test]
fn stackoverflow_qa_is_fetched_by_its_benchmark() {
    let world = World::new();
    put_coir(&world, "stackoverflow-qa", "db8f169f3894c14a00251061f957b2063eef2bd5");
    // Offline nobody is asked, and the command is told.
    let said = world.sandbox.wb(&["bench", "stackoverflow-qa", "--retriever", "bm25"]);
    assert!(said.contains("hint: wb data get coir-stackoverflow-qa;"), "{said}");
    let (out, err) = world.succeeds(&["bench", "stackoverflow-qa", "--retriever", "bm25"]);
    assert!(out.contains("coir-stackoverflow-qa") && err.contains("12 answers, not 19931"), "{out}\n{err}");
    world.bench("stackoverflow-qa --retriever bm25 --require ndcg@10=0.9");
    assert!(world.bench("").contains("there: datasets/external/coir/stackoverflow-qa"));
}

#[test]
fn cosqa_is_put_where_its_benchmark_looks() {
    let world = World::new();
    let folder = "raw.githubusercontent.com/Jun-jie-Huang/CoCLR/main/data";
    let pool: Vec<String> =
        NOUNS.iter().enumerate().map(|(at, noun)| format!("\"def open({noun}): pass\": {at}")).collect();
    world.hub.add_web(&format!("{folder}/search/code_idx_map.txt"), format!("{{{}}}", pool.join(",")).as_bytes());
    let query = b"[{\"idx\": \"cosqa-dev-1\", \"doc\": \"python open kettle\", \"retrieval_idx\": 5}]";
    for name in ["search/cosqa-retrieval-dev-500.json", "search/cosqa-retrieval-test-500.json"] {
        world.hub.add_web(&format!("{folder}/{name}"), query);
    }
    for name in ["qa/cosqa-dev.json", "qa/cosqa-train.json"] {
        world.hub.add_web(&format!("{folder}/{name}"), b"[]");
    }
    let (_, err) = world.gets("cosqa --revision main");
    assert!(err.contains("license  data C-UDA 1.0"), "{err}");
    let out = world.bench("cosqa --retriever bm25");
    assert!(out.contains("cosqa-6267"), "{out}");
}

fn archive(files: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in files {
        writer.start_file(*name, SimpleFileOptions::default()).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// A database with one table, `singer (name)`.
fn database(folder: &std::path::Path) -> Vec<u8> {
    let path = folder.join("made.sqlite");
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.execute_batch("CREATE TABLE singer (name TEXT); INSERT INTO singer VALUES ('a'), ('b');").unwrap();
    drop(connection);
    std::fs::read(path).unwrap()
}

/// What Spider tells of that database.
const TABLES: &str = r#"[{"db_id": "made", "table_names": ["singer"], "table_names_original": ["singer"],
"column_names": [[-1, "*"], [0, "name"]], "column_names_original": [[-1, "*"], [0, "name"]],
"column_types": ["text", "text"], "primary_keys": [], "foreign_keys": []}]"#;

#[test]
fn spider_is_unpacked_and_judged_on() {
    let world = World::new();
    let dev = r#"[{"db_id": "made", "question": "Who sings?", "query": "SELECT name FROM singer"}]"#;
    let sqlite = database(&world.sandbox.path("code"));
    let zip = archive(&[
        ("spider/dev.json", dev.into()),
        ("spider/tables.json", TABLES.into()),
        ("spider/train_spider.json", b"[]".to_vec()),
        ("spider/train_others.json", b"[]".to_vec()),
        ("spider/database/made/made.sqlite", sqlite),
        ("__MACOSX/spider/._dev.json", b"x".to_vec()),
    ]);
    let commit = "6232cc3fad6d54c62b3ba23a364083a98ff36a17";
    world.hub.add_at("datasets", "xlangai/spider", commit, &[("data/spider.zip", &zip)]);
    world.gets("spider");
    assert!(!world.sandbox.path("datasets/external/spider/__MACOSX").exists());
    world.sandbox.write("predicted.sql", "SELECT name FROM singer\n");
    // The gates pass only where structure and rows are right.
    world.bench("spider --dataset datasets/external/spider --predictions predicted.sql --require em=1 ex=1");
}

#[test]
fn bird_has_its_questions_from_the_hub_and_its_databases_from_the_archive() {
    let world = World::new();
    let questions = r#"[{"question_id": 1, "db_id": "made", "question": "Who sings?", "evidence": "",
        "SQL": "SELECT name FROM singer", "difficulty": "simple"}]"#;
    let files: [(&str, &[u8]); 1] = [("data/mini_dev_sqlite-00000-of-00001.json", questions.as_bytes())];
    world.hub.add("datasets", "birdsql/bird_mini_dev", &files);
    let zip = archive(&[
        ("minidev/MINIDEV/dev_databases/made/made.sqlite", database(&world.sandbox.path("code"))),
        ("minidev/MINIDEV_mysql/BIRD_dev.sql", b"CREATE TABLE x;".to_vec()),
    ]);
    world.hub.add_web("bird-bench.oss-cn-beijing.aliyuncs.com/minidev.zip", &zip);
    world.gets("bird --revision main");
    world.sandbox.write("predicted.json", r#"{"0": "SELECT name FROM singer\t----- bird -----\tmade"}"#);
    world.bench("bird --dataset datasets/external/bird --predictions predicted.json --require ex=1");
}

#[test]
fn what_a_person_put_there_is_told_and_left() {
    let world = World::new().with_codesearchnet(&["ruby", "go"]);
    world.sandbox.write("datasets/external/codesearchnet/ruby/test.jsonl", "mine\n");
    let (out, _) = world.gets("codesearchnet --languages ruby");
    assert!(out.contains("ruby/test.jsonl was put there by hand and is read first"), "{out}");
    assert!(out.contains("codesearchnet/ruby/final/jsonl/valid: 12 functions"), "{out}");
    assert!(!world.sandbox.path("datasets/external/codesearchnet/ruby/final/jsonl/test").exists());
}

#[test]
fn a_commit_that_is_gone_is_told_with_what_helps() {
    let world = World::new();
    world.hub.add(
        "datasets",
        "neulab/conala",
        &[("data/conala-paired-train.json", b"{}\n"), ("data/conala-paired-test.json", b"{}\n")],
    );
    let gone = ["the hub does not have the revision", "hint: `wb data get conala --revision main`"];
    world.refuses("conala", &gone);
    assert!(!world.sandbox.path("datasets/external/conala").exists());
    world.gets("conala --revision main");
    assert!(world.sandbox.path("datasets/external/conala/conala-train.json").is_file());
}

#[test]
fn pairs_of_a_yaml_are_made_as_before() {
    let world = World::new();
    let (out, _) = world.sandbox.succeeds(&["data", "tiny.yaml", "seed=6"]);
    assert!(out.contains("pairs"), "{out}");
}

#[test]
fn what_needs_a_data_set_fetches_it() {
    let world = World::new().with_codesearchnet(&["go", "java", "javascript", "php", "python", "ruby"]);
    // Offline nobody is asked, and the command is told.
    let said = world.sandbox.wb(&["bench", "codesearchnet", "--retriever", "bm25"]);
    assert!(said.contains("hint: wb data get codesearchnet"), "{said}");
    // As it is typed: in a folder without data and without runs.
    let (out, err) = world.succeeds(&["bench", "codesearchnet"]);
    assert!(err.contains("codesearchnet: CodeSearchNet") && err.contains("license"), "{err}");
    assert!(out.contains("measuring bm25 alone") && out.contains("csn-full"), "{out}");
    world.hub.requests();
    world.succeeds(&["bench", "codesearchnet", "--languages", "ruby"]);
    assert!(world.hub.requests().is_empty(), "nothing is fetched twice");
    // So does a recipe that names it.
    let source = "data.sources=[{jsonl: {path: datasets/external/codesearchnet/ruby/final/jsonl/valid, fields: \
                  {anchor: docstring, positive: code, id: null}}}]";
    std::fs::remove_dir_all(world.sandbox.path("datasets/external")).unwrap();
    let said = world.sandbox.wb(&["check", "tiny.yaml", source]);
    assert!(said.contains("missing: wb data get codesearchnet, without WB_OFFLINE"), "{said}");
    world.succeeds(&["data", "tiny.yaml", source, "data.split.by=pair", "data.filter.min_positive_chars=1"]);
}
