//! BIRD's scores, from queries to figures.

use wb_sql::{
    bird::{BirdQuestion, judge, ves},
    execute::{DatabaseSource, Status},
};

use crate::support::{alone, pool};

#[test]
fn questions_get_all_three_scores() {
    let _alone = alone();
    let script = "create table t(a, b); insert into t values (1, 'x'), (2, 'y'), (2, 'y'), (3, 'z');
                  create table n(i); insert into n with recursive r(i) as (select 1 union all select i + 1 from r where i < 20000) select i from r;";
    let source = DatabaseSource::Script(script.to_owned());
    let rows = [
        // Neither order nor duplicates count.
        ("select distinct a from t", "select a from t order by a desc", Some(Status::Correct)),
        ("select a, b from t", "select b, a from t", Some(Status::Wrong)),
        ("select a from t", "select nothing from t", Some(Status::SqlError)),
        (
            "select a from t",
            "with recursive r(x) as (select 1 union all select x + 1 from r) select count(*) from r",
            Some(Status::Timeout),
        ),
        ("select a from t", "drop table t", Some(Status::Refused)),
        ("select nothing from t", "select a from t", None),
        // Much faster than the gold query, and much slower.
        (
            "select a from t, (select count(*) from n where i % 7 = 3) where a = 1",
            "select a from t where a = 1",
            Some(Status::Correct),
        ),
        (
            "select a from t where a = 1",
            "select a from t, (select count(*) from n where i % 7 = 3) where a = 1",
            Some(Status::Correct),
        ),
    ];
    let question = |(gold, prediction, _): &(&str, &str, Option<Status>)| BirdQuestion {
        gold: (*gold).to_owned(),
        prediction: (*prediction).to_owned(),
        source: source.clone(),
    };
    let questions: Vec<BirdQuestion> = rows.iter().map(question).collect();
    let verdicts = judge(&pool(0.5, 2), &questions, 20, &mut |_| {}).unwrap();
    let status: Vec<Option<Status>> = verdicts.iter().map(|verdict| verdict.status).collect();
    assert_eq!(status, rows.map(|row| row.2));
    // Columns may stand anywhere in a row, for Soft-F1.
    assert!((verdicts[1].soft_f1 - 1.0).abs() < 1e-12 && verdicts[2].soft_f1.abs() < 1e-12);
    let rewards: Vec<f64> = verdicts.iter().map(|verdict| verdict.reward.unwrap()).collect();
    assert!(rewards[0] >= 0.25 && rewards[1..6].iter().all(|reward| reward.abs() < 1e-12), "{rewards:?}");
    assert!((rewards[6] - 1.25).abs() < 1e-12 && (rewards[7] - 0.25).abs() < 1e-12, "{rewards:?}");
    assert!(ves(&rewards) > 0.0);
    let untimed = judge(&pool(0.5, 1), &questions[..1], 0, &mut |_| {}).unwrap();
    assert_eq!(untimed[0].reward, None);
}
