//! An entry of BIRD's file of predictions.

use serde_json::Value as Json;

/// Mark between a prediction and the name of its database.
pub(crate) const SEPARATOR: &str = "\t----- bird -----\t";

/// The query of one entry, as the evaluator reads it: without the separator, or with several, the whole text without the
/// space around it is the query; what is no text is an empty query, which is wrong.
pub fn prediction(entry: &Json) -> String {
    let Json::String(text) = entry else { return " ".to_owned() };
    match text.split(SEPARATOR).collect::<Vec<_>>()[..] {
        [sql, _] => sql.to_owned(),
        _ => text.trim().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_read_as_the_evaluator_reads_them() {
        let rows = [
            (Json::from("SELECT 1\t----- bird -----\tshop"), "SELECT 1"),
            (Json::from(" SELECT 2 "), "SELECT 2"),
            (Json::from(0), " "),
            (Json::from("a\t----- bird -----\tb\t----- bird -----\tc"), "a\t----- bird -----\tb\t----- bird -----\tc"),
        ];
        for (entry, sql) in rows {
            assert_eq!(prediction(&entry), sql);
        }
    }
}
