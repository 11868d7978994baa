//! Real files of other projects, each by the config that reads it, with the number of rows that it is known to have.

use std::path::Path;

use serde_json::{Value, json};
use wb_core::{Seed, progress::silent};
use wb_data::{PrepareConfig, SourceRead, filter::FilterConfig, prepare, split::SplitConfig};

use crate::support::{read, shared};

fn jsonl(path: &Path, fields: Value, more: Value) -> SourceRead {
    let mut config = json!({"path": path, "fields": fields});
    config.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    read(json!({"jsonl": config})).unwrap()
}

fn cosqa_pool(data: &Path) -> SourceRead {
    let path = data.join("cosqa/code_idx_map.txt");
    read(json!({"code_map": {"path": path, "anchor_part": "first_paragraph"}})).unwrap()
}

#[test]
fn codesearchnet() {
    let Some(data) = shared("codesearchnet") else { return };
    let path = data.join("codesearchnet/ruby/valid.jsonl");
    let tokens = jsonl(
        &path,
        json!({"anchor": "docstring_tokens", "positive": "code_tokens", "group": "repo", "id": "url"}),
        json!({}),
    );
    assert_eq!((tokens.pairs.len(), tokens.skipped.len()), (1400, 0));
    let first = &tokens.pairs[0];
    assert_eq!(first.anchor, "can t use flatten as it will flatten hashes");
    assert!(first.positive.starts_with("def preparse ( unparsed , args = [ ] ,"), "{}", first.positive);
    assert_eq!(
        (first.language.as_str(), first.origin.group.as_str(), first.origin.path.as_str()),
        ("ruby", "travis-ci/travis.rb", "lib/travis/cli.rb")
    );
    let raw =
        jsonl(&path, json!({"anchor": "docstring", "positive": "code"}), json!({"anchor_part": "first_paragraph"}));
    assert_eq!((raw.pairs.len(), raw.pairs[0].id.as_str()), (1400, "valid:1"));
    let corpus = jsonl(
        &data.join("codesearchnet/annotated/corpus.jsonl"),
        json!({"anchor": "path", "positive": "code"}),
        json!({}),
    );
    assert_eq!(corpus.pairs.len(), 1528);
}

#[test]
fn cosqa() {
    let Some(data) = shared("cosqa") else { return };
    let fields = json!({"anchor": "doc", "positive": "code", "id": "idx"});
    let all = jsonl(&data.join("cosqa/cosqa-dev.json"), fields.clone(), json!({"language": "python"}));
    assert_eq!(all.pairs.len(), 584);
    let right =
        jsonl(&data.join("cosqa/cosqa-dev.json"), fields.clone(), json!({"language": "python", "only": {"label": 1}}));
    assert_eq!((right.pairs.len(), right.skipped.get("not `label: 1`")), (293, Some(&291)));
    let queries = jsonl(&data.join("cosqa/cosqa-retrieval-dev-500.json"), fields, json!({}));
    assert_eq!((queries.pairs.len(), queries.pairs[0].id.as_str()), (500, "cosqa-train-8333"));
    let pool = cosqa_pool(&data);
    assert_eq!(pool.pairs.len() as u64 + pool.skipped.values().sum::<u64>(), 6267);
    assert!(pool.pairs.len() > 6200, "{} {:?}", pool.pairs.len(), pool.skipped);
    assert_eq!(
        (pool.pairs[0].id.as_str(), pool.pairs[0].anchor.as_str()),
        ("code_idx_map:0", "Writes a Boolean to the stream.")
    );
    assert!(
        pool.pairs[0].positive.starts_with("def writeBoolean(self, n):\n        t = TYPE_BOOL_TRUE\n"),
        "{}",
        pool.pairs[0].positive
    );
}

#[test]
fn code_docstring_corpus() {
    let Some(data) = shared("code_docstring_corpus") else { return };
    for (name, rows) in [("python_functions_valid", 3618), ("python_methods_test", 7525)] {
        let path = data.join(format!("code_docstring_corpus/{name}.jsonl"));
        let read =
            jsonl(&path, json!({"anchor": "docstring", "positive": "code"}), json!({"anchor_part": "first_paragraph"}));
        assert_eq!((read.pairs.len(), read.pairs[0].language.as_str()), (rows, "python"));
    }
}

#[test]
fn conala() {
    let Some(data) = shared("conala") else { return };
    let path = data.join("conala/conala-train.json");
    let fields = json!({"anchor": "rewritten_intent|intent", "positive": "snippet", "group": "question_id"});
    let read = jsonl(&path, fields, json!({"language": "python"}));
    assert_eq!((read.pairs.len(), read.pairs[0].origin.group.as_str()), (2378, "41067960"));
    let rewritten =
        jsonl(&path, json!({"anchor": "rewritten_intent", "positive": "snippet"}), json!({"nulls": "drop"}));
    assert_eq!((rewritten.pairs.len(), rewritten.skipped.get("null `rewritten_intent`")), (2299, Some(&79)));
}

#[test]
fn mbxp() {
    let Some(data) = shared("mbxp") else { return };
    let fields = json!({"anchor": "description", "positive": "prompt+canonical_solution", "id": "task_id"});
    for (name, rows, nulls) in
        [("mbpp_release_v1", 779, 0), ("mbjp_release_v1.2", 708, 64), ("mbjsp_release_v1.2", 753, 19)]
    {
        let read = jsonl(&data.join(format!("mbxp/{name}.jsonl")), fields.clone(), json!({"nulls": "drop"}));
        let dropped = read.skipped.get("null `canonical_solution`").copied().unwrap_or_default();
        assert_eq!((read.pairs.len(), dropped), (rows, nulls), "{name}");
    }
    let side = |name: &str| json!({"path": data.join(format!("mbxp/{name}.jsonl")), "text": "canonical_solution", "key": "task_id"});
    let joined = read(json!({"joined": {"left": side("mbpp_release_v1"), "right": side("mbjp_release_v1.2"), "key_after": "/", "language": "java"}})).unwrap();
    assert!(joined.pairs.len() > 500, "{} {:?}", joined.pairs.len(), joined.skipped);
}

#[test]
fn humaneval_x() {
    let Some(data) = shared("humaneval_x") else { return };
    for (language, anchor) in [("python", "text"), ("java", "text"), ("go", "docstring"), ("rust", "prompt")] {
        let path = data.join(format!("humaneval_x/humaneval_{language}.jsonl.gz"));
        let fields = json!({"anchor": anchor, "positive": "declaration+canonical_solution", "id": "task_id"});
        assert_eq!(jsonl(&path, fields, json!({"language": language})).pairs.len(), 164, "{language}");
    }
    let side = |language: &str| json!({"path": data.join(format!("humaneval_x/humaneval_{language}.jsonl.gz")), "text": "declaration+canonical_solution", "key": "task_id"});
    let joined =
        read(json!({"joined": {"left": side("python"), "right": side("rust"), "key_after": "/", "language": "rust"}}))
            .unwrap();
    assert_eq!((joined.pairs.len(), joined.skipped.len()), (164, 0));
}

#[test]
fn java_cs() {
    let Some(data) = shared("java_cs") else { return };
    for (part, rows) in [("train", 10_295), ("valid", 499)] {
        let file = |side: &str| data.join(format!("java_cs/{part}.java-cs.txt.{side}"));
        let read =
            read(json!({"parallel_lines": {"anchors": file("java"), "positives": file("cs"), "language": "csharp"}}))
                .unwrap();
        assert_eq!(read.pairs.len(), rows);
    }
}

#[test]
fn text_to_sql() {
    let Some(data) = shared("text_to_sql") else { return };
    let sede = jsonl(
        &data.join("sede/val.jsonl"),
        json!({"anchor": "Title", "positive": "QueryBody", "id": "QuerySetId"}),
        json!({"language": "sql"}),
    );
    assert_eq!(sede.pairs.len(), 857);
    let spider = jsonl(
        &data.join("spider/train/spider_syn_train.json"),
        json!({"anchor": "SpiderQuestion", "positive": "query", "group": "db_id"}),
        json!({"language": "sql"}),
    );
    assert_eq!(spider.pairs.len(), 7000);
}

#[test]
fn several_sources_are_prepared_together() {
    let Some(data) = shared("several_sources_are_prepared_together") else { return };
    let ruby = jsonl(
        &data.join("codesearchnet/ruby/valid.jsonl"),
        json!({"anchor": "docstring", "positive": "code", "id": "url"}),
        json!({"anchor_part": "first_paragraph"}),
    );
    let python = jsonl(
        &data.join("code_docstring_corpus/python_methods_test.jsonl"),
        json!({"anchor": "docstring", "positive": "code"}),
        json!({"anchor_part": "first_paragraph"}),
    );
    let pool = cosqa_pool(&data);
    let config = PrepareConfig {
        filter: FilterConfig { min_positive_chars: 60, ..FilterConfig::default() },
        split: SplitConfig { test: 0.1, ..SplitConfig::default() },
        ..PrepareConfig::default()
    };
    let prepared = prepare(vec![ruby, python, pool], &config, Seed(17), &mut silent).unwrap();
    if std::env::var_os("WB_SHOW").is_some() {
        eprintln!("{}", wb_data::card::render(&prepared.card));
    }
    assert!(
        prepared.train.len() > 7000 && prepared.test.len() > 500,
        "{} {}",
        prepared.train.len(),
        prepared.test.len()
    );
    assert!(prepared.card.leaks.iter().all(|leak| leak.count == 0), "{:?}", prepared.card.leaks);
    assert_eq!(prepared.card.splits["train"].languages.len(), 2);
}

#[test]
#[ignore = "a measurement: WB_MEASURE names a file of pairs as JSON lines"]
fn preparing_a_file_of_pairs() {
    let Some(path) = std::env::var_os("WB_MEASURE") else { return };
    let start = std::time::Instant::now();
    let pairs = read(json!({"jsonl": {"path": path.to_str().unwrap()}})).unwrap();
    eprintln!("read {:?}", start.elapsed());
    let mut last = std::time::Instant::now();
    let prepared = prepare(vec![pairs], &PrepareConfig::default(), Seed(17), &mut |progress| {
        eprintln!("before {}/{} {} {:?}", progress.done, progress.total, progress.note, last.elapsed());
        last = std::time::Instant::now();
    });
    eprintln!("{}", wb_data::card::render(&prepared.unwrap().card));
}
