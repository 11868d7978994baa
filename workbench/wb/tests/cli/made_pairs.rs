//! What stands beside made pairs whoever made them, a person's word on them, and the gates that they pass like any others.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    time::Duration,
};

use serde_json::{Value, json};
use wb_fake_llm::FakeLlm;

use crate::sandbox::{Sandbox, has};

/// Functions that rules can rewrite, with a word that the made-up model describes.
const WORDS: [&str; 8] = ["oversample", "stack", "impute", "augment", "cluster", "prune", "shuffle", "encode"];

const SNIPPETS: &str = "\
name: all
seed: 3
snippets:
  sources:
    - records: { path: code.jsonl, fields: { id: id, text: text, language: language, path: path, license: license } }
  filters: { min_chars: 20 }
";

const MODEL: &str = "\
llm: { engine: { http: { dialect: generic } }, model: made-up, canaries: false }
synth:
  items: 16
  snippet_chars: [20, 12000]
  select: { parses: false, near: 0 }
annotate: { keywords: 3, queries: 1 }
";

const RULES: &str = "rules: { min_chars: 20, negatives: 1, pairs_per_task: 5 }\n";

fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    let line = |(at, word): (usize, &&str)| {
        let backwards: String = word.chars().rev().collect();
        let text = format!(
            "def keep_{word}(rows, limit):\n    \"\"\"Keep the rows of {word} that are short.\"\"\"\n    kept = []\n    count = {at}\n    for row in rows:\n        if len(row) < limit:\n            kept.append(row)\n            count += 1\n    return zq_{backwards}(kept, count)\n"
        );
        let record = json!({"id": format!("d{at}"), "language": "python", "text": text, "path": format!("{word}.py"), "license": "MIT"});
        format!("{record}\n")
    };
    sandbox.write("code.jsonl", WORDS.iter().enumerate().map(line).collect::<String>());
    sandbox.write("all.yaml", format!("{SNIPPETS}{MODEL}{RULES}"));
    sandbox.write("rules.yaml", format!("{}{RULES}", SNIPPETS.replace("name: all", "name: rules")));
    sandbox
}

fn ids(values: &[Value]) -> Vec<&str> {
    values.iter().map(|value| value["id"].as_str().unwrap()).collect()
}

/// The id, hash and maker of each pair on a page, as its script exports them.
fn on_page(page: &str) -> Vec<[String; 3]> {
    let attribute = |tag: &str, name: &str| {
        let rest = &tag[tag.find(name).unwrap() + name.len() + 2..];
        rest[..rest.find('"').unwrap()].replace("&#x2f;", "/")
    };
    let tags = page.split("<article").skip(1);
    tags.map(|tag| ["data-id", "data-hash", "data-maker"].map(|name| attribute(tag, name))).collect()
}

#[test]
fn one_card_one_page_and_one_account_for_all_pairs_and_a_persons_word_counts_for_each() {
    let (sandbox, server) = (project(), FakeLlm::start(Duration::ZERO).unwrap());
    let url = server.url.clone();
    let (out, _) = sandbox.succeeds(&["synth", "all.yaml", &url]);
    let folder = "datasets/synthetic/all";
    let pairs = sandbox.lines(&format!("{folder}/pairs.jsonl"));
    let from = sandbox.lines(&format!("{folder}/provenance.jsonl"));
    assert_eq!(ids(&pairs), ids(&from), "{out}");
    let mut made: BTreeMap<&str, u64> = BTreeMap::new();
    let keys: BTreeSet<&String> = from[0].as_object().unwrap().keys().collect();
    for (pair, from) in pairs.iter().zip(&from) {
        let maker = from["made_by"].as_str().unwrap();
        *made.entry(maker).or_default() += 1;
        // One shape: file, lines and license, and the run's seed; a model and its questions, or rules.
        assert_eq!(keys, from.as_object().unwrap().keys().collect());
        let source = &from["source"];
        assert!(source["path"].as_str().unwrap().ends_with(".py") && source["license"] == "MIT", "{from}");
        assert_eq!((&from["seed"], &pair["origin"]["path"]), (&json!(3), &source["path"]));
        let is_of_model = maker != "rules";
        for key in ["prompt_hash", "model", "engine"] {
            assert_eq!(!from[key].as_str().unwrap().is_empty(), is_of_model, "{key}: {from}");
        }
        assert_eq!(from["asked"].as_array().unwrap().is_empty(), !is_of_model, "{from}");
        match is_of_model {
            true => assert!(from["rules"].is_null(), "{from}"),
            false => assert!(!from["rules"]["names"].as_array().unwrap().is_empty(), "{from}"),
        }
    }
    assert_eq!((made["rules"], made["annotation"], made.len()), (10, 8, 3), "{made:?}");
    let card = sandbox.text(&format!("{folder}/card.md"));
    has(&card, &["text2code/annotation | annotation | 8 | 8 |", "code2code/rewrite | rules | 8 | 5 |"]);
    has(&card, &["| annotate | 8 | 8 |"]);
    let account = sandbox.json(&format!("{folder}/account.json"));
    assert_eq!(account["pairs"], json!(made));
    let recipes = account["recipes"].as_object().unwrap();
    let annotating = recipes.iter().find(|(recipe, _)| recipe.starts_with("annotate@")).unwrap().1;
    assert_eq!((&annotating["answered"], &annotating["completion"]), (&json!(8), &json!(72)));
    let answered: u64 = recipes.values().map(|costs| costs["answered"].as_u64().unwrap()).sum();
    assert_eq!(answered, server.answered.lock().unwrap().len() as u64, "every question is in the account");
    assert!(card.contains(&format!("**all** | {answered} |")), "{card}");

    // A person rejects the first of each maker and accepts all others.
    let page = sandbox.text(&format!("{folder}/review.html"));
    let rows = on_page(&page);
    assert_eq!(rows.iter().map(|row| row[0].as_str()).collect::<Vec<_>>(), ids(&pairs));
    let (mut seen, mut review, mut gone) = (BTreeSet::new(), String::new(), Vec::new());
    for [id, hash, maker] in &rows {
        let verdict = if seen.insert(maker) { "reject" } else { "accept" };
        if verdict == "reject" {
            gone.push(id.as_str());
        }
        review += &format!("{}\n", json!({"id": id, "hash": hash, "verdict": verdict}));
    }
    sandbox.write("review.jsonl", &review);
    drop(server);
    let ledger = format!("{folder}/ledger.jsonl");
    let again = ["synth", "all.yaml", &url, "--replay", &ledger, "--out", "second", "review=review.jsonl"];
    sandbox.says(&again, &["accepted and 3 rejected by a person"]);
    let second = sandbox.lines("second/pairs.jsonl");
    let kept: BTreeSet<&str> = ids(&second).into_iter().collect();
    assert_eq!(gone.len(), 3);
    for id in ids(&pairs) {
        assert_eq!(kept.contains(id), !gone.contains(&id), "{id}");
    }
    // Where a number is wanted, another one takes the place.
    assert_eq!(second.iter().filter(|pair| pair["id"].as_str().unwrap().contains("#0:")).count(), 10);
    let said = |from: &Value| from["review"].as_str().map(str::to_owned);
    let reviewed = sandbox.lines("second/provenance.jsonl").iter().filter_map(said).collect::<Vec<_>>();
    assert_eq!(reviewed, vec!["accept"; pairs.len() - 3]);
    let word = format!("A person accepted {} and rejected 3.", pairs.len() - 3);
    assert!(sandbox.text("second/card.md").contains(&word));
    // What the second page exports still holds what was rejected on the first.
    let page = sandbox.text("second/review.html");
    assert_eq!((page.matches("<data hidden").count(), page.matches("data-verdict=\"reject\"").count()), (3, 3));

    // Another seed makes other texts: verdicts of what was seen before do not count for them, and that is told.
    let (_, told) = sandbox.succeeds(&["synth", "rules.yaml", "seed=4", "review=review.jsonl"]);
    assert!(told.contains("lines of the review fit no pair of this run"), "{told}");
    let moved = ["synth", "all.yaml", &url, "synth.review=review.jsonl"];
    sandbox.fails_with(&moved, &["hint: review: review.jsonl"]);
    sandbox.fails_with(&["synth", "rules.yaml", "review=nothing.jsonl"], &["nothing.jsonl"]);
}

#[test]
fn rules_alone_have_a_card_a_page_and_an_account_and_as_many_pairs_as_are_wanted() {
    let sandbox = project();
    let (out, err) = sandbox.succeeds(&["synth", "rules.yaml"]);
    assert!(out.contains("card    datasets/synthetic/rules/card.md") && !err.contains("warning"), "{out}{err}");
    let pairs = sandbox.lines("datasets/synthetic/rules/pairs.jsonl");
    let of = |task: &str| pairs.iter().filter(|pair| pair["task"] == task).count();
    assert_eq!((of("text2code"), of("code2code"), pairs.len()), (5, 5, 10), "{out}");
    let card = sandbox.text("datasets/synthetic/rules/card.md");
    has(&card, &["No language model was asked. Seed: 3.", "10 pairs from 8 snippets: 10 by rules."]);
    has(&card, &["| rename | ", "beyond pairs"]);
    let page = sandbox.text("datasets/synthetic/rules/review.html");
    assert_eq!(on_page(&page).len(), 10);
    assert!(page.contains("By rules: docstring.") && page.contains("Negative, by the rule "), "{page}");
    let account = sandbox.json("datasets/synthetic/rules/account.json");
    assert_eq!(account, json!({"pairs": {"rules": 10}, "recipes": {}}));
    // What the snippets do not give is told.
    let (out, err) = sandbox.succeeds(&["synth", "rules.yaml", "rules.pairs_per_task=50"]);
    assert!(err.contains("warning: 42 pairs of text2code are missing"), "{out}{err}");
    assert!(sandbox.text("datasets/synthetic/rules/card.md").contains("**Missing:** "));
}

/// Made pairs that nearly repeat each other, stand on both sides of a split, and hold a benchmark's documents.
#[test]
fn made_pairs_pass_the_gates_and_audits_of_any_others() {
    let sandbox = Sandbox::new();
    // Ten functions a second time, with another number in them.
    let copied = sandbox.text("code/alder/src/lib.rs");
    sandbox.write("code/zinnia/Cargo.toml", "[package]\nname = \"zinnia\"\nversion = \"1.0.0\"\n");
    sandbox.write("code/zinnia/src/lib.rs", copied.replace("let mut done = 0;", "let mut done = 7;"));
    sandbox.write(
        "made.yaml",
        "name: made\nseed: 3\ndevice: cpu\n\
         snippets: { sources: [{ tree: { files: { path: code } } }], filters: { min_chars: 20 } }\n\
         rules: { min_chars: 20, queries: [docstring] }\n\
         data:\n  sources: [{ jsonl: { path: datasets/synthetic/made/pairs.jsonl } }]\n  split: { by: pair, validation: 0.1, test: 0.2 }\n  filter: { min_positive_chars: 300 }\n\
         encoder:\n  model: { static_embedding: { dim: 16 } }\n  tokenizer: { vocab_size: 400 }\n\
         train: { batch: { pairs: 16 }, optimizer: { adamw: { learning_rate: 0.01 } }, epochs: 1 }\n\
         bench:\n  benchmarks:\n    - { benchmark: { pairs: { split: known } }, sources: [{ code: { path: code, max_groups: 5 } }] }\n",
    );
    let block = sandbox.wb(&["check", "made.yaml"]);
    assert!(block.contains("to be made first: wb synth made.yaml"), "{block}");
    let (out, _) = sandbox.succeeds(&["synth", "made.yaml"]);
    let made = sandbox.lines("datasets/synthetic/made/pairs.jsonl").len() as u64;
    assert!(made > 500, "{out}");
    sandbox.succeeds(&["check", "made.yaml"]);
    let (out, _) = sandbox.succeeds(&["run", "made.yaml"]);
    let run = fs::read_dir(sandbox.path("runs")).unwrap().map(|entry| entry.unwrap().path());
    let run = run.filter(|path| path.join("data.json").is_file()).max().unwrap();
    let data = sandbox.json(&run.join("data.json"));
    assert_eq!(data["sources"][0]["pairs"], json!(made), "{out}");
    for gate in ["filter", "near duplicates", "leaks"] {
        let found = data["gates"].as_array().unwrap().iter().find(|one| one["name"] == gate);
        let dropped = found.map_or(0, |gate| gate["before"].as_u64().unwrap() - gate["after"].as_u64().unwrap());
        assert!(dropped > 0, "{gate}: {}", data["gates"]);
    }
    // What leaked into the training pairs from the held-out ones is gone from them.
    for leak in data["leaks"].as_array().unwrap().iter().filter(|leak| leak["kind"] != "group") {
        assert_eq!(leak["count"], 0, "{leak}");
    }
    // A benchmark's documents that are the code of made pairs are counted beside its number, and on the page.
    let outcome = sandbox.json(&run.join("bench/pairs-trained.json"));
    let line = |what: &str| {
        let lines = outcome["audit"].as_array().unwrap();
        let line = lines.iter().find(|line| line["what"].as_str().unwrap().starts_with(what));
        let line = line.unwrap_or_else(|| panic!("{what}: {lines:?}"));
        (line["count"].as_u64().unwrap(), line["of"].as_u64().unwrap())
    };
    let (shared, of) = line("documents nearly equal to a training positive");
    assert!(shared * 3 > of && of > 50, "{shared} of {of}");
    assert!(line("queries nearly equal to a training anchor").0 > 0);
}
