//! The needs of a file as a table for people.

use std::{collections::BTreeMap, path::Path};

use wb_core::{quantities::bytes, remote};
use wb_hub::Hub;

use super::{Need, NeedState};
use crate::output;

/// Prints the table; nothing where nothing is needed.
pub fn print(needs: &[Need]) {
    if needs.is_empty() {
        return;
    }
    let endpoint = &Hub::session().settings().endpoint;
    let rows: Vec<Vec<String>> =
        needs.iter().map(|need| vec![need.key.clone(), need.what.clone(), told(need, endpoint)]).collect();
    output::table(&["needs", "what", "state"], &rows);
}

fn told(need: &Need, endpoint: &str) -> String {
    let state = &need.state;
    match state {
        // Its name says where it comes from.
        NeedState::Fetched(count) if remote::is_remote(Path::new(&need.what)) => {
            format!("fetched when it runs: {}", bytes(*count))
        }
        NeedState::There => "there".to_owned(),
        NeedState::Fetched(count) => format!("fetched when it runs: {} from {endpoint}", bytes(*count)),
        NeedState::DataSet(name) => format!("fetched when it runs: wb data get {name}"),
        NeedState::Unreachable(_) | NeedState::Missing(_) => {
            format!("missing: {}", state.missing().unwrap_or_default())
        }
    }
}

/// A summary of all of them in a few words: `fine`, `fine once 442.3 MB are fetched`, `2 of 5 needs are missing`.
pub fn verdict(needs: &[Need]) -> String {
    let missing = needs.iter().filter(|need| need.is_missing()).count();
    // One model that two keys name comes once.
    let coming: BTreeMap<&str, u64> = needs
        .iter()
        .filter_map(
            |need| if let NeedState::Fetched(count) = need.state { Some((need.what.as_str(), count)) } else { None },
        )
        .collect();
    let to_come: u64 = coming.values().sum();
    let sets = super::data_sets(needs);
    match (missing, to_come) {
        (0, 0) if sets.is_empty() => "fine".to_owned(),
        (0, 0) => format!("fine, once {} is fetched", sets.join(" and ")),
        (0, count) if sets.is_empty() => format!("fine, once {} are fetched", bytes(count)),
        (0, count) => format!("fine, once {} and {} are fetched", sets.join(" and "), bytes(count)),
        (missing, _) => format!("{missing} of {} things that it needs are missing", needs.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_verdict_counts() {
        let need = |state| Need { key: "k".into(), what: "w".into(), state };
        let (there, fetched, missing) = (
            need(NeedState::There),
            need(NeedState::Fetched(442_300_000)),
            need(NeedState::Missing("wb data get x".into())),
        );
        assert_eq!(verdict(&[]), "fine");
        assert_eq!(verdict(std::slice::from_ref(&there)), "fine");
        assert_eq!(verdict(&[fetched.clone(), fetched.clone()]), "fine, once 442.3 MB are fetched");
        assert_eq!(verdict(&[there.clone(), fetched.clone()]), "fine, once 442.3 MB are fetched");
        assert_eq!(verdict(&[there, fetched, missing]), "1 of 3 things that it needs are missing");
        assert_eq!(told(&need(NeedState::Missing("wb data get x".into())), ""), "missing: wb data get x");
        let coming = need(NeedState::Fetched(1_500_000));
        assert_eq!(told(&coming, "http://h"), "fetched when it runs: 1.5 MB from http://h");
        let of_bucket = Need { what: "s3://b/x".into(), ..coming };
        assert_eq!(told(&of_bucket, "http://h"), "fetched when it runs: 1.5 MB");
    }
}
