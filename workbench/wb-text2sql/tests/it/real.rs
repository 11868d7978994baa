//! Spider's own questions: every prediction runs, and retrieval is worth something.

use std::collections::HashMap;

use wb_core::{Hit, Ranking, statistics::mcnemar};
use wb_sql::{
    Compat,
    exact::{compare, component_f1, parts},
    execute::{DatabaseSource, ExecutionJudge, JudgeOptions, QueryPair, StatementOutcome, databases},
    spider::parse,
};
use wb_text2sql::{
    examples::{self, DatabaseQuestion},
    predict::{PredictConfig, Prediction, Predictor},
    schema::{Catalogs, Cells},
};

use crate::support::{pool, run, spider};

/// EM and EX of predictions.
fn judged(
    asked: &[DatabaseQuestion],
    predictions: &[Prediction],
    catalogs: &Catalogs,
    sources: &HashMap<String, DatabaseSource>,
) -> (Vec<bool>, Vec<bool>) {
    let text = |prediction: &Prediction| prediction.sql.clone().unwrap_or_default();
    let em = asked.iter().zip(predictions).map(|(one, prediction)| {
        let schema = &catalogs.get(&one.db_id).unwrap().schema;
        let gold = parse(&one.gold, schema, Compat::Official).unwrap();
        compare(
            &gold,
            &parse(&text(prediction), schema, Compat::Official).unwrap_or_default(),
            schema,
            Compat::Official,
        )
        .em
    });
    let em = em.collect();
    let questions: Vec<QueryPair> = asked
        .iter()
        .zip(predictions)
        .map(|(one, prediction)| QueryPair {
            gold: one.gold.clone(),
            prediction: text(prediction),
            sources: vec![sources[&one.db_id].clone()],
        })
        .collect();
    let judgements = ExecutionJudge::new(pool(), JudgeOptions::default()).judge(&questions, &mut |_| {}).unwrap();
    (em, judgements.iter().map(|one| one.correct() == Some(true)).collect())
}

#[test]
fn examples_that_are_made_alike_help() {
    let Some(folder) = spider("examples_that_are_made_alike_help") else { return };
    let mut catalogs = Catalogs::load(&folder.join("tables.json")).unwrap();
    let (questions, gold) = (folder.join("train/spider_syn_train.json"), folder.join("train/train_gold.sql"));
    let training = examples::training(&[&questions], Some(&gold), &mut catalogs).unwrap();
    assert_eq!(training.documents.iter().filter(|one| one.question.is_some()).count(), 7000);
    let asked = examples::asked(&folder.join("dev.json"), &catalogs).unwrap();
    let predictor = Predictor::new(&catalogs, &training.documents).unwrap();
    assert!(predictor.unread() <= 1, "{} queries are unread", predictor.unread());
    let pool = pool();
    let mut seat = pool.seat();
    let (mut sources, mut cells) = (HashMap::new(), HashMap::new());
    for one in &asked {
        sources.entry(one.db_id.clone()).or_insert_with(|| {
            let source = databases(&folder.join("database").join(&one.db_id)).unwrap()[0].source();
            let known = Cells::load(catalogs.get(&one.db_id).unwrap(), &mut seat, &source).unwrap();
            assert_eq!(known.unread, 0, "{}", one.db_id);
            cells.insert(one.db_id.clone(), known);
            source
        });
    }
    // Ranked by gold's form: what a retriever could reach, and no retriever.
    let forms: Vec<_> = (0..training.documents.len()).map(|at| predictor.query(at).map(parts)).collect();
    let mut rankings: Vec<Ranking> = asked
        .iter()
        .enumerate()
        .map(|(at, one)| {
            let gold = parts(&parse(&one.gold, &catalogs.get(&one.db_id).unwrap().schema, Compat::Official).unwrap());
            #[expect(clippy::cast_possible_truncation, reason = "a score")]
            let score = |form: &Option<_>| form.as_ref().map_or(0.0, |form| component_f1(&gold, form) as f32);
            let hits = forms.iter().enumerate().map(|(document, form)| Hit { document, score: score(form) }).collect();
            Ranking::from_hits(at, hits)
        })
        .collect();
    let own: Vec<&str> = asked.iter().map(|one| one.db_id.as_str()).collect();
    let guarded = examples::guard(&mut rankings, &training.documents, &own, 3);
    // Spider's splits share no database.
    assert_eq!((guarded.removed, guarded.short), (0, 0));
    let config = PredictConfig::default();
    let mut arm = |with: bool| -> Vec<Prediction> {
        let all = asked.iter().zip(&rankings).map(|(one, ranking)| {
            let mut run = |sql: &str| run(&mut seat, &sources[&one.db_id], sql);
            let cells = &cells[&one.db_id];
            if with {
                predictor.predict(one, cells, &ranking.hits, &config, &mut run).unwrap()
            } else {
                predictor.predict_fixed(one, cells, &config, &mut run).unwrap()
            }
        });
        all.collect()
    };
    let (without, with) = (arm(false), arm(true));
    for (one, prediction) in asked.iter().zip(&with).chain(asked.iter().zip(&without)) {
        if let Ok(sql) = &prediction.sql {
            assert!(parse(sql, &catalogs.get(&one.db_id).unwrap().schema, Compat::Strict).is_ok(), "{sql}");
            assert_eq!(seat.execute(&sources[&one.db_id], sql, 1).unwrap().outcome, StatementOutcome::Done, "{sql}");
        }
    }
    let (em_without, ex_without) = judged(&asked, &without, &catalogs, &sources);
    let (em_with, ex_with) = judged(&asked, &with, &catalogs, &sources);
    let count = |list: &[bool]| list.iter().filter(|right| **right).count();
    println!(
        "EM {} against {}, EX {} against {}",
        count(&em_with),
        count(&em_without),
        count(&ex_with),
        count(&ex_without)
    );
    for (without, with) in [(&em_without, &em_with), (&ex_without, &ex_with)] {
        let test = mcnemar(without, with).unwrap();
        assert!(test.only_second > test.only_first && test.p_value < 1e-6, "{test:?}");
    }
}
