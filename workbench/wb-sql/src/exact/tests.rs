//! Totals, skeletons and parts, by hand.

use std::path::Path;

use super::{QueryComponent, QueryHardness, Totals, compare, component_f1, parts};
use crate::{
    Compat,
    spider::{DatabaseSchema, DatabaseSchemas, SqlQuery, parse, skeleton},
};

fn schema() -> DatabaseSchema {
    let ship = ["id", "name", "port_id"].map(str::to_owned).to_vec();
    let port = ["id", "name"].map(str::to_owned).to_vec();
    let tables = [("Ship".to_owned(), ship), ("Port".to_owned(), port)];
    DatabaseSchema::new("ships", &tables, &[[(0, 2), (1, 0)]]).unwrap()
}

fn read(sql: &str) -> SqlQuery {
    parse(sql, &schema(), Compat::Official).unwrap()
}

#[test]
fn totals_are_the_published_ones() {
    let schema = schema();
    let mut totals = Totals::default();
    for (gold, predicted) in [
        ("SELECT name FROM Ship", "SELECT name FROM Ship"),
        ("SELECT name FROM Ship", "SELECT id FROM Ship"),
        ("SELECT name FROM Ship", "SELECT name FROM Ship WHERE id = 3"),
    ] {
        totals.add(QueryHardness::Easy, &compare(&read(gold), &read(predicted), &schema, Compat::Official));
    }
    let (easy, all) = (totals.level(QueryHardness::Easy), totals.all());
    assert_eq!(easy, all);
    assert_eq!((easy.count, easy.exact), (3, 1.0 / 3.0));
    let figures = |component: QueryComponent| {
        let sums = easy.components[component as usize];
        (sums.accuracy, sums.recall, sums.f1)
    };
    assert_eq!(figures(QueryComponent::Select), (2.0 / 3.0, 2.0 / 3.0, 2.0 / 3.0));
    // One prediction has a WHERE and is wrong, no gold query has one: both shares are 0, and the published F1 is 1.
    assert_eq!(figures(QueryComponent::Where), (0.0, 0.0, 1.0));
    assert_eq!(figures(QueryComponent::SetOperation), (0.0, 0.0, 1.0));
    let hard = totals.level(QueryHardness::Hard);
    assert_eq!((hard.count, hard.exact, hard.components[0].f1), (0, 0.0, 0.0));
}

#[test]
fn skeletons_blank_names_and_values() {
    for (sql, expected) in [
        ("SELECT name FROM Ship WHERE id > 30", "select _ from _ where _ > _"),
        (
            "SELECT DISTINCT T1.name , count(DISTINCT T2.id) FROM Ship AS T1 JOIN Port AS T2 ON T1.port_id = T2.id \
             WHERE T1.id BETWEEN 1 AND 2 OR T1.name NOT LIKE 'x' GROUP BY T1.name HAVING count(*) > 1 \
             ORDER BY T1.id DESC LIMIT 3",
            "select distinct _ , count ( distinct _ ) from _ join _ on _ = _ where _ between _ and _ or _ not like _ \
             group by _ having count ( _ ) > _ order by _ desc limit _",
        ),
        (
            "SELECT * FROM (SELECT id - port_id FROM Ship) WHERE * IN (SELECT id FROM Port) UNION SELECT name FROM Port",
            "select _ from ( select _ - _ from _ ) where _ in ( select _ from _ ) union select _ from _",
        ),
    ] {
        assert_eq!(skeleton(&read(sql)), expected);
    }
}

#[test]
fn parts_are_compared_without_names() {
    let f1 = |left: &str, right: &str| component_f1(&parts(&read(left)), &parts(&read(right)));
    assert_eq!(f1("SELECT name FROM Ship WHERE id = 3", "SELECT id FROM Port WHERE name = 'x'"), 1.0);
    // 2 parts against 1, 1 in common.
    assert_eq!(f1("SELECT name FROM Ship WHERE id = 3", "SELECT name FROM Ship"), 2.0 / 3.0);
    assert_eq!(f1("SELECT max(id) FROM Ship", "SELECT id FROM Ship"), 0.0);
    // 3 against 3 with the column, the nested query and its column; the condition differs.
    let (inside, outside) = (
        "SELECT id FROM Ship WHERE id IN (SELECT id FROM Port)",
        "SELECT id FROM Ship WHERE id NOT IN (SELECT id FROM Port)",
    );
    assert_eq!(f1(inside, outside), 2.0 * 3.0 / 8.0);
    let names: Vec<String> = read(inside).names().into_iter().map(|name| schema().text(name).to_owned()).collect();
    assert_eq!(names, ["ship.id", "port.id", "ship", "port"]);
}

#[test]
fn schemas_that_are_wrong_say_how() {
    let error = DatabaseSchemas::load(Path::new("/no/such/tables.json")).unwrap_err();
    assert_eq!(error.to_string(), "cannot read /no/such/tables.json");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tables.json");
    let load = |text: &str| {
        std::fs::write(&path, text).unwrap();
        DatabaseSchemas::load(&path)
    };
    assert!(load("{}").unwrap_err().to_string().ends_with("as Spider's tables.json has them"));
    let of = |column: &str, key: &str| {
        format!(
            r#"[{{"db_id": "d", "table_names_original": ["t"], "column_names_original": [[-1, "*"], {column}], "foreign_keys": [{key}]}}]"#
        )
    };
    assert_eq!(
        load(&of(r#"[1, "c"]"#, "")).unwrap_err().to_string(),
        "schema `d`: a column is of table 1, but there are 1"
    );
    assert_eq!(
        load(&of(r#"[0, "c"]"#, "[1, 7]")).unwrap_err().to_string(),
        "schema `d`: a foreign key names column 7, but there are 2"
    );
    let schemas = load(&of(r#"[0, "c"]"#, "")).unwrap();
    let error = schemas.get("x").unwrap_err();
    assert_eq!(
        (error.to_string().as_str(), error.hint()),
        ("no schema for the database `x`", Some("did you mean `d`?"))
    );
    assert_eq!(schemas.get("d").unwrap().columns("t").collect::<Vec<_>>(), ["c"]);
}
