//! Spider's own data: the published evaluator's verdicts on five systems, and the hardness of all gold queries.

use std::collections::BTreeMap;

use serde_json::Value;
use wb_sql::{
    Compat,
    exact::{QueryComponent, Totals, hardness},
    spider::{DatabaseSchemas, parse},
};

use super::support::{judge, spider};

/// SQL and database of each line of a gold file.
fn golds(text: &str) -> Vec<(&str, &str)> {
    text.lines().filter(|line| !line.trim().is_empty()).map(|line| line.trim().split_once('\t').unwrap()).collect()
}

#[test]
fn verdicts_on_five_systems_are_the_published_ones() {
    let Some(data) = spider("verdicts_on_five_systems_are_the_published_ones") else { return };
    let schemas = DatabaseSchemas::load(&data.join("tables.json")).unwrap();
    let gold = std::fs::read_to_string(data.join("dev_gold.sql")).unwrap();
    let golds = golds(&gold);
    let mut compared = 0;
    for system in ["codes_1b", "dailsql_gpt4", "dinsql_gpt4", "graphix_result", "tse_dev_10"] {
        let read = |folder: &str, ending: &str| {
            std::fs::read_to_string(data.join(folder).join(format!("{system}.{ending}"))).unwrap()
        };
        let (predictions, verdicts) = (read("predictions", "txt"), read("verdicts", "jsonl"));
        assert_eq!((predictions.lines().count(), verdicts.lines().count()), (golds.len(), golds.len()), "{system}");
        let (mut totals, mut expected) = (Totals::default(), 0);
        for (((gold, db_id), line), verdict) in golds.iter().zip(predictions.lines()).zip(verdicts.lines()) {
            let official: Value = serde_json::from_str(verdict).unwrap();
            let text = line.trim().split('\t').next().unwrap();
            let schema = schemas.get(db_id).unwrap();
            let (verdict, unread) = judge(gold, text, schema, Compat::Official);
            let level = hardness(&parse(gold, schema, Compat::Official).unwrap());
            let ours =
                [Value::from(*db_id), level.to_string().into(), u8::from(verdict.em).into(), u8::from(unread).into()];
            let keys = ["db_id", "hardness", "em", "pred_parse_error"];
            assert_eq!(ours, keys.map(|key| official[key].clone()), "{system}: {line}\n{gold}");
            assert!(!verdict.raises);
            totals.add(level, &verdict);
            expected += usize::from(verdict.em);
            compared += 1;
        }
        let all = totals.all();
        assert_eq!(all.count, golds.len());
        assert!((all.exact - expected as f64 / golds.len() as f64).abs() < 1e-12);
    }
    assert_eq!(compared, 5 * 442);
}

/// The figures that `evaluation.py --etype match` prints for one system, with three digits.
#[test]
fn the_published_tables_of_one_system() {
    let Some(data) = spider("the_published_tables_of_one_system") else { return };
    let schemas = DatabaseSchemas::load(&data.join("tables.json")).unwrap();
    let gold = std::fs::read_to_string(data.join("dev_gold.sql")).unwrap();
    let predictions = std::fs::read_to_string(data.join("predictions/dinsql_gpt4.txt")).unwrap();
    let mut totals = Totals::default();
    for ((gold, db_id), line) in golds(&gold).into_iter().zip(predictions.lines()) {
        let schema = schemas.get(db_id).unwrap();
        let (verdict, _) = judge(gold, line.trim().split('\t').next().unwrap(), schema, Compat::Official);
        totals.add(hardness(&parse(gold, schema, Compat::Official).unwrap()), &verdict);
    }
    let mut levels: Vec<_> = wb_sql::exact::QueryHardness::ALL.map(|level| totals.level(level)).into();
    levels.push(totals.all());
    let row = |values: Vec<f64>| values.iter().map(|value| format!("{value:.3}")).collect::<Vec<_>>().join(" ");
    let mut printed = vec![row(levels.iter().map(|level| level.exact).collect())];
    for figure in 0..3 {
        for component in QueryComponent::ALL {
            let one = |level: &wb_sql::exact::LevelTotals| {
                let sums = level.components[component as usize];
                [sums.accuracy, sums.recall, sums.f1][figure]
            };
            printed.push(row(levels.iter().map(one).collect()));
        }
    }
    let counts: Vec<usize> = levels.iter().map(|level| level.count).collect();
    assert_eq!(counts, COUNTS);
    assert_eq!(printed, TABLE);
}

/// Counts of easy, medium, hard, extra and unreadable gold queries, and FNV-1a over their letters (`e`, `m`, `h`, `x`,
/// `!`) in order, by the published evaluator.
#[test]
fn hardness_of_all_gold_queries() {
    let Some(data) = spider("hardness_of_all_gold_queries") else { return };
    let schemas = DatabaseSchemas::load(&data.join("tables.json")).unwrap();
    for (file, counts, hash) in GOLDS {
        let text = std::fs::read_to_string(data.join(file)).unwrap();
        let mut found = BTreeMap::new();
        let mut fnv: u64 = 0xcbf2_9ce4_8422_2325;
        for (gold, db_id) in golds(&text) {
            let letter = match parse(gold, schemas.get(db_id).unwrap(), Compat::Official) {
                Ok(query) => match hardness(&query).to_string().as_str() {
                    "extra" => 'x',
                    level => level.chars().next().unwrap(),
                },
                Err(_) => '!',
            };
            *found.entry(letter).or_insert(0) += 1;
            fnv = (fnv ^ u64::from(letter)).wrapping_mul(0x0100_0000_01b3);
        }
        let expected = ['e', 'm', 'h', 'x', '!'].into_iter().zip(counts).filter(|(_, count)| *count > 0).collect();
        assert_eq!(found, expected, "{file}");
        assert_eq!(fnv, hash, "{file}");
    }
}

const COUNTS: [usize; 5] = [93, 204, 77, 68, 442];

#[rustfmt::skip]
const TABLE: [&str; 31] = [
    "0.839 0.676 0.390 0.309 0.604",
    "0.978 0.840 0.957 0.804 0.886",
    "0.978 0.840 0.957 0.804 0.886",
    "0.980 0.773 0.429 0.641 0.714",
    "0.980 0.773 0.518 0.744 0.752",
    "0.800 0.642 0.750 0.647 0.663",
    "0.000 0.566 0.750 0.529 0.542",
    "0.750 1.000 0.750 0.647 0.787",
    "1.000 0.975 1.000 0.969 0.984",
    "0.000 0.000 0.500 0.417 0.429",
    "0.953 0.916 0.642 0.839 0.857",
    "0.978 0.799 0.857 0.662 0.826",
    "0.978 0.799 0.857 0.662 0.826",
    "1.000 0.840 0.558 0.658 0.788",
    "1.000 0.840 0.674 0.763 0.830",
    "0.667 0.576 0.429 0.367 0.505",
    "0.000 0.508 0.429 0.300 0.413",
    "0.750 0.609 0.429 0.367 0.493",
    "1.000 0.990 0.896 0.955 0.970",
    "0.000 0.000 0.043 0.333 0.158",
    "0.953 0.871 0.558 0.691 0.788",
    "0.978 0.819 0.904 0.726 0.855",
    "0.978 0.819 0.904 0.726 0.855",
    "0.990 0.805 0.485 0.649 0.749",
    "0.990 0.805 0.586 0.753 0.789",
    "0.727 0.607 0.545 0.468 0.573",
    "1.000 0.536 0.545 0.383 0.469",
    "0.750 0.757 0.545 0.468 0.607",
    "1.000 0.983 0.945 0.962 0.977",
    "1.000 1.000 0.080 0.370 0.231",
    "0.953 0.893 0.597 0.758 0.821",
];

const GOLDS: [(&str, [usize; 5], u64); 2] = [
    ("dev_gold.sql", [93, 204, 77, 68, 0], 0x2810_24b9_a5a1_df76),
    ("train/train_gold.sql", [1983, 2999, 1921, 1755, 1], 0x55df_ef48_200f_13dc),
];
