//! Configs of runs beside one another.

use std::collections::BTreeMap;

/// Differences that are told one by one.
const MOST: usize = 6;

/// Keys that decide no number.
const SILENT: [&str; 4] = ["name", "journals", "run_on", "work"];

/// Values by the paths of their keys.
pub type FlatConfig = BTreeMap<String, String>;

/// The overrides that make one config another one: `train.epochs=3`; the first of them, and how many there are beside.
pub fn differs(from: &FlatConfig, to: &FlatConfig) -> Vec<String> {
    let keys = from.keys().chain(to.keys().filter(|key| !from.contains_key(*key)));
    let told = |key: &&String| {
        let first = key.split('.').next().unwrap_or_default();
        !SILENT.contains(&first) && from.get(*key) != to.get(*key)
    };
    let mut differing: Vec<&String> = keys.filter(told).collect();
    differing.sort();
    let value = |key: &String| to.get(key).map_or("null", String::as_str);
    let mut all: Vec<String> = differing.into_iter().map(|key| format!("{key}={}", value(key))).collect();
    if all.len() > MOST {
        let more = all.len() - MOST;
        all.truncate(MOST);
        all.push(format!("and {more} more"));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(pairs: &[(&str, &str)]) -> FlatConfig {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn differences_are_what_is_typed_to_make_one_the_other() {
        let from = config(&[("name", "a"), ("seed", "1"), ("train.epochs", "2"), ("train.loss.mnrl.scale", "20")]);
        let to = config(&[("name", "b"), ("seed", "1"), ("train.epochs", "3"), ("train.loss.mnrl.hardness", "5")]);
        assert_eq!(differs(&from, &to), ["train.epochs=3", "train.loss.mnrl.hardness=5", "train.loss.mnrl.scale=null"]);
        assert!(differs(&from, &from).is_empty());
        let many: FlatConfig = (0..9).map(|at| (format!("k{at}"), "1".to_owned())).collect();
        assert_eq!(differs(&FlatConfig::new(), &many)[6], "and 3 more");
    }
}
