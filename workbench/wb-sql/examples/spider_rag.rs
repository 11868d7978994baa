//! Text-to-SQL without a language model: retrieved training examples re-targeted to each question's database by rules,
//! against the same rules without an example.
//!
//! ```sh
//! cargo build --release -p wb-sql --bin wb-sql-worker
//! cargo run --release -p wb-sql --example spider_rag -- SPIDER_FOLDER [--errors ARM] [--k N] [--no-execution] [--no-cells] [--training N]
//! ```

use std::{collections::HashMap, error::Error, io::Write, path::Path};

use wb_core::{Hit, Ranking, Seed};
use wb_sql::{
    Compat,
    exact::{Hardness, compare, component_f1, hardness, parts},
    execute::{Judge, JudgeOptions, Limits, Outcome, Pool, Question, Source, Value, WorkerCommand, databases},
    rag::{self, Asked, Cells, Links, PredictConfig, Prediction, Predictor, Ran},
    spider::parse,
};

type Failure = Box<dyn Error>;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
    let after =
        |flag: &str| arguments.iter().position(|argument| argument == flag).and_then(|at| arguments.get(at + 1));
    let folder = Path::new(arguments.first().ok_or("expected Spider's folder")?);
    let catalogs = rag::Catalogs::load(&folder.join("tables.json"))?;
    let training = rag::training(
        &folder.join("train/spider_syn_train.json"),
        Some(&folder.join("train/train_gold.sql")),
        &catalogs,
    )?;
    let asked = match after("--training") {
        None => rag::asked(&folder.join("dev.json"), &catalogs)?,
        // Questions of the training split, on which the rules were not made: the guard takes their databases out.
        Some(count) => {
            let known: Vec<&rag::Document> = training
                .documents
                .iter()
                .filter(|one| one.question.is_some() && folder.join("database").join(&one.db_id).is_dir())
                .filter(|one| {
                    catalogs
                        .get(&one.db_id)
                        .is_ok_and(|catalog| parse(&one.sql, &catalog.schema, Compat::Official).is_ok())
                })
                .collect();
            let order = Seed(23).permutation_at("training questions", 0, known.len());
            let one = |document: &rag::Document| Asked {
                db_id: document.db_id.clone(),
                question: document.question.clone().unwrap_or_default(),
                gold: document.sql.clone(),
            };
            order.into_iter().take(count.parse()?).map(|at| one(known[at])).collect()
        }
    };
    let predictor = Predictor::new(&catalogs, &training.documents)?;
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "{} documents, {} of them unread; {} questions",
        training.documents.len(),
        predictor.unread(),
        asked.len()
    )?;
    let program = std::env::current_exe()?.parent().and_then(Path::parent).ok_or("no folder")?.join("wb-sql-worker");
    let pool = Pool::new(WorkerCommand { program, arguments: Vec::new() }, Limits::default(), 2);
    let config = PredictConfig {
        top_k: after("--k").map_or(Ok(3), |k| k.parse())?,
        execution_guided: !has("--no-execution"),
        ..PredictConfig::default()
    };
    let (mut sources, mut cells) = (HashMap::new(), HashMap::new());
    let mut seat = pool.seat();
    for question in &asked {
        if !sources.contains_key(&question.db_id) {
            let all = databases(&folder.join("database").join(&question.db_id))?;
            let source = all[0].source();
            let known = if has("--no-cells") {
                Cells::default()
            } else {
                Cells::load(catalogs.get(&question.db_id)?, &mut seat, &source)?
            };
            cells.insert(question.db_id.clone(), known);
            sources.insert(question.db_id.clone(), source);
        }
    }
    let words: Vec<Vec<String>> =
        training.documents.iter().map(|one| terms(one.question.as_deref().unwrap_or(&one.sql))).collect();
    let bm25 = Bm25::new(&words);
    let own: Vec<&str> = asked.iter().map(|one| one.db_id.as_str()).collect();
    let gold: Vec<_> = asked
        .iter()
        .map(|one| Ok(parse(&one.gold, &catalogs.get(&one.db_id)?.schema, Compat::Official)?))
        .collect::<Result<_, Failure>>()?;
    let all_parts: Vec<_> = (0..training.documents.len()).map(|at| predictor.query(at).map(parts)).collect();
    let mut arms: Vec<(&str, Option<Vec<Ranking>>)> = vec![("default", None)];
    let questions = 7000.min(training.documents.len());
    let random = asked.iter().enumerate().map(|(at, _)| {
        let order = Seed(17).permutation_at("random example", at as u64, questions);
        Ranking { query: at, hits: order.into_iter().take(400).map(|document| Hit { document, score: 1.0 }).collect() }
    });
    arms.push(("random", Some(random.collect())));
    let found =
        asked.iter().enumerate().map(|(at, one)| Ranking { query: at, hits: bm25.rank(&terms(&one.question), 400) });
    arms.push(("bm25", Some(found.collect())));
    let oracle = gold.iter().enumerate().map(|(at, gold)| {
        let gold = parts(gold);
        let score = |document: usize| all_parts[document].as_ref().map_or(0.0, |parts| component_f1(&gold, parts));
        #[expect(clippy::cast_possible_truncation, reason = "a score")]
        let hits = (0..all_parts.len()).map(|document| Hit { document, score: score(document) as f32 }).collect();
        let mut ranking = Ranking::from_hits(at, hits);
        ranking.hits.truncate(3000);
        ranking
    });
    arms.push(("oracle", Some(oracle.collect())));
    let mut outcomes: Vec<(String, Vec<bool>)> = Vec::new();
    for (name, rankings) in &mut arms {
        if let Some(rankings) = rankings {
            rag::guard(rankings, &training.documents, &own, config.top_k);
        }
        let mut predictions: Vec<Prediction> = Vec::new();
        for (at, one) in asked.iter().enumerate() {
            let source: &Source = &sources[&one.db_id];
            let mut run = |sql: &str| match seat.execute(source, sql, 3) {
                Ok(execution) if execution.outcome != Outcome::Done => Ran::Failed,
                Ok(execution)
                    if execution.table.cells.iter().all(|cell| matches!(cell, Value::Null | Value::Int(0))) =>
                {
                    Ran::Empty
                }
                Ok(_) => Ran::Rows,
                Err(_) => Ran::Unknown,
            };
            predictions.push(match rankings {
                Some(rankings) => predictor.predict(one, &cells[&one.db_id], &rankings[at].hits, &config, &mut run)?,
                None => predictor.predict_fixed(one, &cells[&one.db_id], &config, &mut run)?,
            });
        }
        let (em, ex) = judged(&asked, &predictions, &catalogs, &sources, &pool)?;
        writeln!(out, "{name:8} {}", figures(&gold, &em, &ex))?;
        if let Some(rankings) = rankings {
            let matches: Vec<_> = rankings
                .iter()
                .zip(&gold)
                .map(|(ranking, gold)| {
                    let queries: Vec<_> = ranking.hits.iter().map(|hit| predictor.query(hit.document)).collect();
                    rag::skeleton_match(gold, &queries)
                })
                .collect();
            let mean = |value: &dyn Fn(&rag::SkeletonMatch) -> f64| {
                matches.iter().map(value).sum::<f64>() / matches.len() as f64
            };
            writeln!(
                out,
                "         skeleton F1@1 {:.3} F1@3 {:.3} exact@1 {:.3} exact@3 {:.3}",
                mean(&|one| one.f1_at_1),
                mean(&|one| one.f1_at_3),
                mean(&|one| f64::from(u8::from(one.exact_at_1))),
                mean(&|one| f64::from(u8::from(one.exact_at_3)))
            )?;
        }
        let recall: Vec<rag::Recall> = asked
            .iter()
            .zip(&gold)
            .zip(&predictions)
            .map(|((one, gold), prediction)| {
                let catalog = catalogs.get(&one.db_id)?;
                let read =
                    prediction.sql.as_ref().ok().and_then(|sql| parse(sql, &catalog.schema, Compat::Official).ok());
                let links = Links::new(&one.question, catalog, &cells[&one.db_id]);
                Ok(rag::schema_recall(gold, read.as_ref(), &links, catalog))
            })
            .collect::<Result<_, Failure>>()?;
        let mean = |value: &dyn Fn(&rag::Recall) -> f64| recall.iter().map(value).sum::<f64>() / recall.len() as f64;
        writeln!(
            out,
            "         schema recall: tables {:.3} columns {:.3}",
            mean(&|one| one.tables),
            mean(&|one| one.columns)
        )?;
        if after("--errors").is_some_and(|arm| arm == name) {
            for (at, one) in asked.iter().enumerate().filter(|(at, _)| !em[*at]) {
                let chosen = predictions[at].chosen.and_then(|place| predictions[at].candidates[place].document);
                let example = chosen.map_or("", |document| &training.documents[document].sql);
                let sql = predictions[at].sql.clone().unwrap_or_else(|reason| format!("none: {reason}"));
                let mark = if ex[at] { "EX" } else { "--" };
                writeln!(
                    out,
                    "{at} {mark} {} [{}] {}\n  gold {}\n  made {sql}\n  like {example}",
                    one.db_id,
                    hardness(&gold[at]),
                    one.question,
                    one.gold
                )?;
            }
        }
        outcomes.push(((*name).to_owned(), ex));
    }
    let (first, second) = (&outcomes[0].1, &outcomes[2].1);
    let test = rag::mcnemar(first, second)?;
    let interval = rag::bootstrap_difference(first, second, 0.95, 1000, Seed(17))?;
    writeln!(out, "EX, bm25 against default: {test:?}, difference {interval:?}")?;
    Ok(())
}

fn judged(
    asked: &[Asked],
    predictions: &[Prediction],
    catalogs: &rag::Catalogs,
    sources: &HashMap<String, Source>,
    pool: &Pool,
) -> Result<(Vec<bool>, Vec<bool>), Failure> {
    let text = |prediction: &Prediction| prediction.sql.clone().unwrap_or_default();
    let mut em = Vec::new();
    for (one, prediction) in asked.iter().zip(predictions) {
        let schema = &catalogs.get(&one.db_id)?.schema;
        let gold = parse(&one.gold, schema, Compat::Official)?;
        let predicted = parse(&text(prediction), schema, Compat::Official).unwrap_or_default();
        em.push(compare(&gold, &predicted, schema, Compat::Official).em);
    }
    let questions: Vec<Question> = asked
        .iter()
        .zip(predictions)
        .map(|(one, prediction)| Question {
            gold: one.gold.clone(),
            prediction: text(prediction),
            sources: vec![sources[&one.db_id].clone()],
        })
        .collect();
    let judgements = Judge::new(pool.clone(), JudgeOptions::default()).judge(&questions, &mut |_| {})?;
    Ok((em, judgements.iter().map(|one| one.correct() == Some(true)).collect()))
}

fn figures(gold: &[wb_sql::spider::Query], em: &[bool], ex: &[bool]) -> String {
    let share = |level: Option<Hardness>| {
        let all: Vec<usize> =
            (0..gold.len()).filter(|&at| level.is_none_or(|level| hardness(&gold[at]) == level)).collect();
        let of = |list: &[bool]| 100.0 * all.iter().filter(|&&at| list[at]).count() as f64 / all.len().max(1) as f64;
        format!(
            "{} n={} EM {:.1} EX {:.1}",
            level.map_or("all".to_owned(), |level| level.to_string()),
            all.len(),
            of(em),
            of(ex)
        )
    };
    let levels = Hardness::ALL.into_iter().map(|level| share(Some(level)));
    levels.chain([share(None)]).collect::<Vec<_>>().join(" | ")
}

fn terms(text: &str) -> Vec<String> {
    let lower = text.to_lowercase();
    lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// BM25 with k1 = 1.2 and b = 0.75.
struct Bm25 {
    postings: HashMap<String, Vec<(usize, f64)>>,
    lengths: Vec<f64>,
    mean: f64,
}

impl Bm25 {
    fn new(documents: &[Vec<String>]) -> Self {
        let mut postings: HashMap<String, Vec<(usize, f64)>> = HashMap::new();
        for (at, words) in documents.iter().enumerate() {
            for word in words {
                let list = postings.entry(word.clone()).or_default();
                match list.last_mut() {
                    Some((last, count)) if *last == at => *count += 1.0,
                    _ => list.push((at, 1.0)),
                }
            }
        }
        let lengths: Vec<f64> = documents.iter().map(|words| words.len() as f64).collect();
        let mean = lengths.iter().sum::<f64>() / lengths.len().max(1) as f64;
        Self { postings, lengths, mean }
    }

    fn rank(&self, query: &[String], count: usize) -> Vec<Hit> {
        let mut scores = vec![0.0; self.lengths.len()];
        for list in query.iter().filter_map(|word| self.postings.get(word)) {
            let n = self.lengths.len() as f64;
            let idf = (1.0 + (n - list.len() as f64 + 0.5) / (list.len() as f64 + 0.5)).ln();
            for &(at, count) in list {
                scores[at] += idf * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * self.lengths[at] / self.mean));
            }
        }
        #[expect(clippy::cast_possible_truncation, reason = "a score")]
        let hits =
            scores.into_iter().enumerate().map(|(document, score)| Hit { document, score: score as f32 }).collect();
        let mut ranking = Ranking::from_hits(0, hits);
        ranking.hits.truncate(count);
        ranking.hits
    }
}
