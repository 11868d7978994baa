//! The published evaluator's verdicts on changed queries over small schemas, and cases by hand.

use serde_json::Value;
use wb_sql::{
    Compat,
    exact::hardness,
    spider::{SqlQuery, parse},
};

use super::support::{golden, judge, schemas};

#[test]
fn verdicts_equal_the_published_evaluators() {
    let schemas = schemas();
    let text = std::fs::read_to_string(golden("spider-exact.jsonl")).unwrap();
    let mut counts = [0; 4];
    for line in text.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let [db_id, gold, prediction] = [0, 1, 2].map(|place| row[place].as_str().unwrap());
        let schema = schemas.get(db_id).unwrap();
        let (verdict, unread) = judge(gold, prediction, schema, Compat::Official);
        assert_eq!(unread, row[4].as_bool().unwrap(), "parse error of {line}");
        assert_eq!(verdict.raises, row[5].is_string(), "exception at {line}");
        if let Some(level) = row[3].as_str() {
            assert_eq!(hardness(&parse(gold, schema, Compat::Official).unwrap()).to_string(), level, "{line}");
        }
        if let (false, Some(em)) = (verdict.raises, row[6].as_bool()) {
            let partial =
                verdict.partial.map(|part| format!("{}:{}:{}", u8::from(part.matches), part.gold, part.predicted));
            assert_eq!(verdict.em, em, "exact match of {line}");
            assert_eq!(partial.join(" "), row[7].as_str().unwrap(), "components of {line}");
            counts[usize::from(em)] += 1;
        }
        counts[2] += usize::from(unread);
        counts[3] += usize::from(verdict.raises);
    }
    assert!(counts[0] > 200 && counts[1] > 200 && counts[2] > 50 && counts[3] > 3, "{counts:?}");
}

#[test]
fn cases_by_hand() {
    let schemas = schemas();
    let text = std::fs::read_to_string(golden("spider-cases.txt")).unwrap();
    let (mut current, mut count) = (None, 0);
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (sign, rest) = line.split_once(' ').unwrap();
        count += 1;
        if sign == "=" {
            let [db_id, level, gold] = rest.splitn(3, ' ').collect::<Vec<_>>().try_into().unwrap();
            let schema = schemas.get(db_id).unwrap();
            let query = parse(gold, schema, Compat::Official).unwrap_or_else(|error| panic!("{gold}: {error}"));
            assert_eq!(hardness(&query).to_string(), level, "{gold}");
            current = Some((schema, gold));
            continue;
        }
        let (schema, gold) = current.unwrap();
        let (verdict, unread) = judge(gold, rest, schema, Compat::Official);
        let found = if unread {
            "!"
        } else if verdict.em {
            "+"
        } else {
            "-"
        };
        assert_eq!(found, sign, "{gold}\n{rest}");
    }
    assert!(count >= 200, "{count}");
}

/// A prediction that cannot be read is right where the gold query has nothing, and where both have no connectors.
#[test]
fn the_empty_query_scores_what_is_absent() {
    let schemas = schemas();
    let schema = schemas.get("harbor").unwrap();
    let gold = parse("SELECT name FROM Ship WHERE id = 3", schema, Compat::Official).unwrap();
    let verdict = wb_sql::exact::compare(&gold, &SqlQuery::default(), schema, Compat::Official);
    let matches = verdict.partial.map(|part| part.matches);
    assert_eq!(matches, [false, false, false, false, true, true, true, true, true, false]);
    assert!(!verdict.em && !verdict.raises);
}
