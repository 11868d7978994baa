//! What the strict judge mends, each with what the published evaluator says.

use wb_sql::{Compat, spider::parse};

use super::support::{judge, schemas};

#[test]
fn the_faults_that_are_mended() {
    let schemas = schemas();
    let schema = schemas.get("harbor").unwrap();
    let voyages = "SELECT T1.name FROM Ship AS T1 JOIN Voyage AS T2 ON T1.id = T2.ship_id";
    let nested = "SELECT name FROM Ship WHERE id IN (SELECT ship_id FROM Voyage)";
    for (gold, prediction, official, strict) in [
        // The word `value`.
        ("SELECT value_estimate FROM Ship", "SELECT value_estimate FROM Ship", false, true),
        // Tokens and grammar.
        ("SELECT name FROM Ship WHERE built > 5", "SELECT name FROM Ship WHERE built>-5 -- old", false, true),
        ("SELECT name FROM Ship WHERE built >= 5", "SELECT name FROM Ship WHERE built>=5;", false, true),
        ("SELECT name FROM Ship WHERE type != 'x'", "SELECT name FROM Ship WHERE type<>'it''s'", false, true),
        ("SELECT name FROM Ship WHERE type = 'x'", "SELECT `Ship`.`name` FROM Ship WHERE [type]='it. Is'", false, true),
        (voyages, "SELECT s.name FROM Ship s LEFT OUTER JOIN Voyage v ON s.id=v.ship_id", false, true),
        ("SELECT Ship.name FROM Ship JOIN Voyage", "SELECT s.name AS n FROM Ship s, Voyage AS v", false, true),
        ("SELECT name FROM Ship WHERE built = 1", "SELECT name FROM Ship WHERE built IS NOT NULL", false, false),
        // DISTINCT.
        ("SELECT type FROM Ship", "SELECT DISTINCT type FROM Ship", true, false),
        ("SELECT count(type) FROM Ship", "SELECT count(DISTINCT type) FROM Ship", true, false),
        (nested, "SELECT name FROM Ship WHERE id IN (SELECT DISTINCT ship_id FROM Voyage)", false, false),
        // Values in FROM.
        (
            "SELECT * FROM (SELECT id FROM Ship WHERE id = 1)",
            "SELECT * FROM (SELECT id FROM Ship WHERE id = 2)",
            false,
            true,
        ),
        // Columns that are equal, in nested queries and by their own FROM.
        (
            "SELECT name FROM Ship WHERE id IN (SELECT T1.id FROM Port AS T1 JOIN Ship AS T2 ON T1.id = T2.home_port_id)",
            "SELECT name FROM Ship WHERE id IN (SELECT T2.home_port_id FROM Port AS T1 JOIN Ship AS T2 ON T2.home_port_id = T1.id)",
            false,
            true,
        ),
        (
            "SELECT name FROM Pilot JOIN Port UNION SELECT Port.id FROM Port JOIN Ship ON Ship.home_port_id = Port.id",
            "SELECT name FROM Pilot JOIN Port UNION SELECT Ship.home_port_id FROM Port JOIN Ship ON Port.id = Ship.home_port_id",
            false,
            true,
        ),
        // Two columns of one table are not the same because both point to a third.
        ("SELECT from_port_id FROM Voyage", "SELECT to_port_id FROM Voyage", true, false),
        // The same equalities in other words.
        (
            "SELECT T1.name FROM Port AS T1 JOIN Ship AS T2 ON T1.id = T2.home_port_id JOIN Voyage AS T3 ON T1.id = T3.to_port_id",
            "SELECT T1.name FROM Voyage AS T3 JOIN Ship AS T2 ON T3.to_port_id = T2.home_port_id JOIN Port AS T1 ON T1.id = T3.to_port_id",
            true,
            true,
        ),
        // GROUP BY and HAVING.
        ("SELECT type FROM Ship GROUP BY type , built", "SELECT type FROM Ship GROUP BY built , type", false, true),
        (
            "SELECT type FROM Ship GROUP BY type HAVING max(built) > 1 AND count(*) > 2",
            "SELECT type FROM Ship GROUP BY type HAVING count(*) > 2 AND max(built) > 1",
            false,
            true,
        ),
        // AND and OR.
        (
            "SELECT name FROM Ship WHERE type = 'a' AND built > 1 OR tonnage < 3",
            "SELECT name FROM Ship WHERE type = 'a' OR built > 1 AND tonnage < 3",
            true,
            false,
        ),
        (
            "SELECT name FROM Ship WHERE type = 'a' AND built > 1 OR tonnage < 3",
            "SELECT name FROM Ship WHERE tonnage < 3 OR built > 1 AND type = 'a'",
            true,
            true,
        ),
        // Columns on the right side.
        ("SELECT name FROM Ship WHERE built = tonnage", "SELECT name FROM Ship WHERE built = id", true, false),
        ("SELECT name FROM Ship WHERE built = tonnage", "SELECT name FROM Ship WHERE built = 3", true, false),
        (
            "SELECT name FROM Ship WHERE built = tonnage",
            "SELECT name FROM Ship WHERE built = tonnage OR id = 3",
            true,
            false,
        ),
        // JOIN conditions.
        (
            "SELECT T1.name FROM Ship AS T1 JOIN Voyage AS T2 ON T1.id = T2.ship_id AND T1.built = 3 AND T1.name LIKE 'x'",
            "SELECT T1.name FROM Ship AS T1 JOIN Voyage AS T2 ON T1.name LIKE 'x' AND T2.ship_id = T1.id AND T1.built = 3",
            true,
            true,
        ),
        (voyages, "SELECT T1.name FROM Ship AS T1 JOIN Voyage AS T2 ON T2.ship_id = T1.id", true, true),
        (voyages, "SELECT T1.name FROM Ship AS T1 JOIN Voyage AS T2 ON T1.built = T2.year", true, false),
        (
            "SELECT T1.name FROM Ship AS T1 JOIN Voyage AS T2 ON T1.built = T2.year",
            "SELECT T1.name FROM Ship AS T1 JOIN Voyage AS T2 ON T2.year = T1.built",
            true,
            true,
        ),
    ] {
        for (compat, expected) in [(Compat::Official, official), (Compat::Strict, strict)] {
            let (verdict, unread) = judge(gold, prediction, schema, compat);
            assert_eq!(verdict.em, expected, "{compat:?}: {prediction}, unread: {unread}");
        }
    }
}

#[test]
fn strict_reads_what_databases_read() {
    let schemas = schemas();
    let schema = schemas.get("harbor").unwrap();
    for (text, same) in [
        (
            "select a.name from Ship a inner join Voyage b on a.id=b.ship_id where b.year is not null",
            "SELECT a.name FROM Ship AS a JOIN Voyage AS b ON a.id = b.ship_id WHERE b.year NOT IS 'null'",
        ),
        ("SELECT name /* all\n of them */ FROM Ship LIMIT 5", "SELECT name FROM Ship LIMIT 5"),
        (
            "SELECT max(built) AS newest FROM Ship WHERE built BETWEEN -5 AND +.5",
            "SELECT max(built) FROM Ship WHERE built BETWEEN -5 AND .5",
        ),
        (
            "SELECT name FROM Ship WHERE id IN (SELECT v.ship_id FROM Voyage v, Port p)",
            "SELECT name FROM Ship WHERE id IN (SELECT v.ship_id FROM Voyage AS v JOIN Port AS p)",
        ),
        (
            "SELECT \"Name\" FROM \"Ship\" WHERE \"type\" IN ('a', 'b',3) AND id IN (1) OR id IN (2, NULL)",
            "SELECT name FROM Ship WHERE type IN (3) AND id IN (1) OR id IN ('null')",
        ),
        ("SELECT tonnage-built FROM Ship", "SELECT tonnage - built FROM Ship"),
    ] {
        let [text, same] =
            [text, same].map(|sql| parse(sql, schema, Compat::Strict).map_err(|error| format!("{sql}: {error}")));
        assert_eq!(text, same);
        assert!(same.is_ok(), "{same:?}");
    }
    for text in ["SELECT name FROM Ship WHERE type = 'x", "SELECT name FROM [Ship", "SELECT name", "SELECT x FROM Ship"]
    {
        assert!(parse(text, schema, Compat::Strict).is_err(), "{text}");
    }
}
