//! Splits hold groups together and do not move.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use wb_core::{Pair, Seed};
use wb_data::split::{Family, Split, SplitBy, SplitConfig, split};

use crate::support::pair;

fn pairs(groups: usize, each: usize) -> Vec<Pair> {
    (0..groups * each).map(|at| pair(&format!("p{at}"), &format!("g{}-{}", at % groups, at % 3), "a", "b")).collect()
}

fn sides(split: &Split) -> BTreeMap<String, &'static str> {
    let mut sides = BTreeMap::new();
    for (name, pairs) in [("train", &split.train), ("validation", &split.validation), ("test", &split.test)] {
        for pair in pairs {
            let before = sides.insert(pair.origin.group.clone(), name);
            assert!(before.is_none_or(|before| before == name), "{} stands on two sides", pair.origin.group);
        }
    }
    sides
}

#[test]
fn shares_come_out_about_right() {
    let config = SplitConfig { validation: 0.1, test: 0.2, ..SplitConfig::default() };
    let (split, gate) = split(pairs(2000, 3), &config, Seed(1)).unwrap();
    assert!(gate.is_none());
    assert_eq!(split.train.len() + split.validation.len() + split.test.len(), 6000);
    assert!((1050..1350).contains(&split.test.len()), "{}", split.test.len());
    assert!((480..720).contains(&split.validation.len()), "{}", split.validation.len());
}

#[test]
fn families_stay_together_and_pairs_need_not() {
    let made =
        || (0..300).map(|at| pair(&format!("p{at}"), &format!("fam{}_{}", at % 30, at), "a", "b")).collect::<Vec<_>>();
    let config = SplitConfig { validation: 0.2, test: 0.3, ..SplitConfig::default() };
    let together = |config: &SplitConfig| {
        let (split, _) = split(made(), config, Seed(5)).unwrap();
        let family = |pair: &Pair| pair.origin.group.split('_').next().unwrap().to_owned();
        let train: BTreeSet<String> = split.train.iter().map(family).collect();
        split.test.iter().filter(|pair| train.contains(&family(pair))).count()
    };
    assert_eq!(together(&config), 0);
    assert!(together(&SplitConfig { family: Family::Off, ..config.clone() }) > 0);
    assert!(together(&SplitConfig { by: SplitBy::Pair, ..config }) > 0);
}

#[test]
fn data_sets_that_are_not_held_out_are_for_training() {
    let made = |dataset: &str| {
        let of = |mut one: Pair| {
            one.origin.dataset = dataset.to_owned();
            one.id = format!("{dataset} {}", one.id);
            one
        };
        pairs(100, 2).into_iter().map(of).collect::<Vec<_>>()
    };
    let all = [made("mine"), made("others")].concat();
    let config = SplitConfig { validation: 0.1, test: 0.3, datasets: vec!["mine".into()], ..SplitConfig::default() };
    let (of_all, _) = split(all, &config, Seed(1)).unwrap();
    let others = |pairs: &[Pair]| pairs.iter().filter(|pair| pair.origin.dataset == "others").count();
    assert_eq!((others(&of_all.train), others(&of_all.validation), others(&of_all.test)), (200, 0, 0));
    // The others move none of those that are.
    let (of_mine, _) = split(made("mine"), &config, Seed(1)).unwrap();
    assert!(!of_mine.test.is_empty() && of_mine.test == of_all.test && of_mine.validation == of_all.validation);
    let error = split(made("others"), &config, Seed(1)).unwrap_err();
    assert_eq!(error.to_string(), "no pair is of `mine`, and `data.split.datasets` holds out no others");
    let nothing = SplitConfig { validation: 0.0, test: 0.0, ..config.clone() };
    assert_eq!(split(made("others"), &nothing, Seed(1)).unwrap().0.train.len(), 200);
    let error = split(vec![made("mine").swap_remove(0), made("others").swap_remove(1)], &config, Seed(1)).unwrap_err();
    assert_eq!(error.to_string(), "no group is left for validation: 1 groups for 1 pairs");
    assert!(error.hint().unwrap().contains("have too few files"), "{error:?}");
}

#[test]
fn limits_drop_and_count() {
    let config = SplitConfig { validation: 0.1, test: 0.2, max_validation: 30, max_test: 50, ..SplitConfig::default() };
    let (split, gate) = split(pairs(400, 5), &config, Seed(1)).unwrap();
    assert_eq!((split.validation.len(), split.test.len()), (30, 50));
    let gate = gate.unwrap();
    assert_eq!(gate.before - gate.after, gate.dropped.values().sum::<u64>());
    assert!(gate.dropped.contains_key("over max_test = 50") && gate.dropped.contains_key("over max_validation = 30"));
}

#[test]
fn few_groups_still_fill_every_side() {
    for seed in 0..20 {
        let (split, _) = split(pairs(3, 4), &SplitConfig::default(), Seed(seed)).unwrap();
        assert_eq!([split.train.len(), split.validation.len(), split.test.len()], [4, 4, 4]);
    }
    let error = split(pairs(2, 4), &SplitConfig::default(), Seed(1)).unwrap_err();
    assert!(error.to_string().starts_with("no group is left for "), "{error}");
    assert!(error.hint().unwrap().contains("by: pair"));
    let none = SplitConfig { validation: 0.0, test: 0.0, ..SplitConfig::default() };
    assert_eq!(split(pairs(1, 4), &none, Seed(1)).unwrap().0.train.len(), 4);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn adding_a_group_moves_no_other(seed in any::<u64>(), groups in 100_usize..300, name in "[a-z]{3,9}") {
        let config = SplitConfig { validation: 0.1, test: 0.2, ..SplitConfig::default() };
        let before = pairs(groups, 2);
        let mut after = before.clone();
        after.insert(groups / 2, pair("new", &name, "a", "b"));
        let before = sides(&split(before, &config, Seed(seed)).unwrap().0);
        let mut after = sides(&split(after, &config, Seed(seed)).unwrap().0);
        prop_assert!(after.remove(&name).is_some());
        prop_assert_eq!(before, after);
    }
}
