//! Mined rows against those of sentence-transformers' `mine_hard_negatives`, on the vectors of `golden/mining.json`.

use ndarray::Array2;
use serde_json::{Map, Value};
use wb_core::{Document, Embeddings, Pair, Seed, progress::silent};
use wb_retrieval::{
    Result,
    mining::{
        Blocks, Distribution, Format, MinedNegatives, MiningConfig, MiningSetup, MiningTexts, Mode, RescoreRequest,
        Rescorer, Rule, Sampling, VectorSearch, formats, mine_from,
    },
};

fn golden() -> Value {
    serde_json::from_str(include_str!("../golden/mining.json")).unwrap()
}

fn number(text: &str) -> usize {
    text[1..].parse().unwrap()
}

fn matrix(value: &Value, texts: &[&str]) -> Embeddings {
    let row = |text: &&str| value[number(text)].as_array().unwrap().iter().map(|x| x.as_f64().unwrap() as f32);
    let numbers: Vec<f32> = texts.iter().flat_map(row).collect();
    Embeddings::dense(Array2::from_shape_vec((texts.len(), numbers.len() / texts.len()), numbers).unwrap())
}

/// Options of the reference as a config of ours.
fn config(options: &Map<String, Value>) -> MiningConfig {
    let number = |key: &str| options.get(key).and_then(Value::as_f64);
    let whole = |key: &str| options.get(key).and_then(Value::as_u64).map(|n| n as usize);
    MiningConfig {
        mode: Mode::SentenceTransformers,
        per_pair: whole("num_negatives"),
        ranks: Some((whole("range_min").unwrap_or(0), whole("range_max"))),
        min_score: number("min_score"),
        max_score: number("max_score"),
        absolute_margin: number("absolute_margin"),
        relative_margin: number("relative_margin"),
        sampling: options.get("sampling_strategy").map(|name| match name.as_str() {
            Some("random") => Sampling::Random,
            _ => Sampling::Top,
        }),
        include_positives: options.contains_key("include_positives"),
        ..MiningConfig::default()
    }
}

fn format(options: &Map<String, Value>) -> Format {
    let name = options.get("output_format").and_then(Value::as_str).unwrap_or("triplet");
    Format::ALL.iter().find(|(known, _)| *known == name).unwrap().1
}

/// The pairs of a case and its corpus.
fn inputs(case: &Value) -> (Vec<Pair>, Vec<Document>) {
    let pairs = case["pairs"].as_array().unwrap().iter().enumerate().map(|(at, pair)| Pair {
        id: format!("p{at}"),
        anchor: format!("q{}", pair[0]),
        positive: format!("d{}", pair[1]),
        ..Pair::default()
    });
    let corpus = case["corpus"].as_array().into_iter().flatten().enumerate().map(|(at, document)| Document {
        id: format!("c{at}"),
        text: format!("d{document}"),
        title: String::new(),
    });
    (pairs.collect(), corpus.collect())
}

/// The fixed scores behind the fake cross-encoder of the script.
struct Cross(Value);

impl Rescorer for Cross {
    fn rescore(
        &self,
        texts: &MiningTexts<'_>,
        asked: &[RescoreRequest],
        _: &mut dyn FnMut(usize),
    ) -> Result<Vec<Vec<Option<f32>>>> {
        let of_query = |asked: &RescoreRequest| {
            let row = &self.0[number(texts.queries()[asked.query])];
            let score = |document: &u32| row[number(texts.documents()[*document as usize])].as_f64().unwrap() as f32;
            asked.documents.iter().map(|document| Some(score(document))).collect()
        };
        Ok(asked.iter().map(of_query).collect())
    }
}

fn mined(golden: &Value, case: &Value, texts: &MiningTexts<'_>, config: &MiningConfig) -> MinedNegatives {
    let (queries, documents) =
        (matrix(&golden["queries"], texts.queries()), matrix(&golden["documents"], texts.documents()));
    let rules = config.rules();
    let mut search = VectorSearch::new(texts, &queries, &documents, Blocks { queries: 4, documents: 7 }).unwrap();
    let cross = Cross(golden["cross"].clone());
    let mut mining = MiningSetup::new(&rules, Seed(1));
    if case["cross"] == true {
        mining.rescore = Some(&cross);
    }
    mine_from(texts, &mut search, &mining, None, &mut silent).unwrap()
}

fn near(name: &str, ours: &Value, theirs: &Value) {
    match (ours, theirs) {
        (Value::Array(a), Value::Array(b)) => {
            assert_eq!(a.len(), b.len(), "{name}: {ours} {theirs}");
            a.iter().zip(b).for_each(|(a, b)| near(name, a, b));
        }
        (Value::Number(a), Value::Number(b)) => {
            // Six digits were written; their cosine divides twice.
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            assert!((a - b).abs() < 1.5e-6, "{name}: {a} {b}");
        }
        _ => assert_eq!(ours, theirs, "{name}"),
    }
}

#[test]
fn rows_are_those_of_the_reference() {
    let golden = golden();
    let cases = golden["cases"].as_array().unwrap();
    assert!(cases.len() > 100);
    for case in cases {
        let (name, options) = (case["name"].as_str().unwrap(), case["options"].as_object().unwrap());
        let (pairs, corpus) = inputs(case);
        let texts = MiningTexts::new(&pairs, &corpus).unwrap();
        let config = config(options);
        config.validate("negatives").unwrap();
        let mined = mined(&golden, case, &texts, &config);
        let per_pair = config.rules().per_pair;
        let scores = options.get("output_scores") == Some(&Value::Bool(true));
        let mut rows = Vec::new();
        formats::rows(format(options), &texts, &mined, per_pair, scores, |row| {
            rows.push(row);
            Ok::<_, ()>(())
        })
        .unwrap();
        let expected = case["rows"].as_array().unwrap();
        assert_eq!(rows.len(), expected.len(), "{name}");
        for (ours, theirs) in rows.iter().zip(expected) {
            let ours = ours.as_object().unwrap();
            let columns: Vec<&str> = ours.keys().map(String::as_str).collect();
            assert_eq!(&serde_json::json!(columns), &case["columns"], "{name}");
            near(name, &ours.values().cloned().collect::<Vec<_>>().into(), theirs);
        }
        accounts(name, case, &texts, &mined, &config);
        if format(options) == Format::Triplet && scores {
            statistics(name, case, &rows, &texts, &mined);
        }
    }
}

/// The automatic end of the places, and what each rule threw away.
fn accounts(name: &str, case: &Value, texts: &MiningTexts<'_>, mined: &MinedNegatives, config: &MiningConfig) {
    let rules = config.rules();
    let (to, depth) = rules.depth(texts.most_pairs(), texts.most_never(), case["cross"] == true);
    if let Some(automatic) = case["range_max"].as_u64() {
        assert_eq!(to as u64, automatic, "{name}");
    }
    let account = &mined.account;
    let skipped = |rule: &str| case["skipped"][rule].as_u64().unwrap_or(0);
    let thrown = |rule| account.thrown.by(rule);
    assert_eq!(thrown(Rule::AbsoluteMargin), skipped("absolute_margin"), "{name}");
    assert_eq!(thrown(Rule::RelativeMargin), skipped("relative_margin"), "{name}");
    assert_eq!(thrown(Rule::MaxScore), skipped("max_score"), "{name}");
    if config.min_score.is_some() {
        // Theirs counts every cell that is not left: thrown away before, a positive, or beyond the corpus.
        let cells = account.queries * depth as u64;
        assert_eq!(cells - account.left - thrown(Rule::Place), skipped("min_score"), "{name}");
    }
    assert_eq!(account.candidates, account.left + account.thrown.total(), "{name}");
}

/// The table that the reference prints: four digits.
fn statistics(name: &str, case: &Value, rows: &[Value], texts: &MiningTexts<'_>, mined: &MinedNegatives) {
    let of_rows = |at: usize| rows.iter().map(move |row| row["scores"][at].as_f64().unwrap() as f32);
    let mut seen = Vec::new();
    let mut positives = Vec::new();
    for pair in 0..texts.pairs().len() {
        let of_pair = (texts.query_of(pair), texts.positive_of(pair));
        if !seen.contains(&of_pair) {
            seen.push(of_pair);
            positives.push(mined.pairs[pair].positive_score);
        }
    }
    let differences = of_rows(0).zip(of_rows(1)).map(|(positive, negative)| positive - negative).collect();
    let ours = [positives, of_rows(1).collect(), differences].map(Distribution::of);
    let theirs = &case["statistics"];
    let count = |at: usize| theirs["count"][at].as_u64().unwrap();
    assert_eq!((ours[0].count, ours[1].count), (count(0), count(1)), "{name}");
    for (at, of) in ours.iter().enumerate() {
        let told = [
            ("mean", of.mean),
            ("std", of.deviation),
            ("min", of.min),
            ("25%", of.lower_quartile),
            ("50%", of.median),
            ("75%", of.upper_quartile),
            ("max", of.max),
        ];
        for (key, value) in told {
            // The deviation of one score is no number there, and 0 here.
            let expected = theirs[key][at].as_f64().unwrap_or(0.0);
            assert!((value - expected).abs() < 6e-5, "{name}: {key} {value} {expected}");
        }
        // Their median is the lower of two in the middle.
        assert!(theirs["median"][at].as_f64().unwrap() <= of.median + 6e-5, "{name}");
    }
}

#[test]
fn what_the_reference_refuses_is_refused() {
    for error in golden()["errors"].as_array().unwrap() {
        let options = error["options"].as_object().unwrap();
        if options.get("range_min").is_some_and(|from| from.as_i64() < Some(0)) {
            continue; // No config of ours can say it.
        }
        assert!(config(options).validate("negatives").is_err(), "{error}");
    }
}

/// Beyond the reference: the text of the query, and an answer with other white space, are nobody's negatives.
#[test]
fn a_document_with_the_text_of_the_query_is_no_negative() {
    let pair = |id: &str, anchor: &str, positive: &str| Pair {
        id: id.into(),
        anchor: anchor.into(),
        positive: positive.into(),
        ..Pair::default()
    };
    let pairs = [pair("a", "q0", "d0"), pair("b", "d0 ", "q0\n"), pair("c", "q1", "d3")];
    let corpus = [("k", "d1"), ("l", " q0"), ("m", "d0\t")];
    let corpus: Vec<Document> = corpus
        .iter()
        .map(|(id, text)| Document { id: (*id).into(), text: (*text).into(), title: String::new() })
        .collect();
    let texts = MiningTexts::new(&pairs, &corpus).unwrap();
    let same = |n: usize| Embeddings::dense(Array2::from_shape_fn((n, 2), |(row, at)| (row * 2 + at) as f32 + 1.0));
    let (queries, documents) = (same(texts.queries().len()), same(texts.documents().len()));
    let blocks = Blocks { queries: 10, documents: 10 };
    let mut search = VectorSearch::new(&texts, &queries, &documents, blocks).unwrap();
    let config = MiningConfig { mode: Mode::SentenceTransformers, per_pair: Some(9), ..MiningConfig::default() };
    let mined = mine_from(&texts, &mut search, &MiningSetup::new(&config.rules(), Seed(1)), None, &mut silent).unwrap();
    let negatives = |pair| {
        let mut found: Vec<&str> = mined.negatives(&texts, pair).collect();
        found.sort_unstable();
        found
    };
    assert_eq!(negatives(0), ["d1", "d3"]);
    assert_eq!(negatives(1), ["d1", "d3"]);
    assert_eq!(negatives(2), [" q0", "d0", "d0\t", "d1", "q0\n"]);
    assert_eq!(mined.account.thrown.by(Rule::SameText), 6);
}
