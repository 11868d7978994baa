//! The audit finds what was put there, and nothing else.

use wb_data::{
    leak::{LeakConfig, LeakGate, Match, Overlap, audit},
    split::SplitConfig,
};

use crate::support::{Made, pair};

#[test]
fn planted_leaks_are_found_counted_and_dropped() {
    let mut made = Made(11);
    let mut code = || made.code(120);
    let near = code();
    let mut nearly = near.clone();
    nearly[60] = "changed".into();
    let [one, two, three, four, five] = [(); 5].map(|()| code().join(" "));
    let contained = "returns the number of bytes that were read so far";
    let train = vec![
        pair("t0", "alpha-core", "sort a list", &one),
        pair("t1", "beta", "read a  file", &two),
        pair("t2", "gamma", "unlike any", &three),
        pair("t3", "delta", "something else", &near.join(" ")),
        pair("t4", "epsilon", &format!("This one, like others, {contained}."), &four),
        pair("t5", "zeta", "clean", &five),
    ];
    let test = vec![
        pair("e0", "alpha", "first", &code().join(" ")),
        pair("e1", "eta", " read a file", &code().join(" ")),
        pair("e2", "theta", "third", &format!("{three}\n")),
        pair("e3", "iota", "fourth", &nearly.join(" ")),
        pair("e4", "kappa", "Returns the number of bytes that were read so far", &code().join(" ")),
        pair("e5", "lambda", "clean too", &code().join(" ")),
    ];
    let found = audit(&train, &test, &LeakConfig::default(), &SplitConfig::default());
    let expected = [
        Match { kind: Overlap::Group, test: 0, train: 0 },
        Match { kind: Overlap::ExactAnchor, test: 1, train: 1 },
        Match { kind: Overlap::ExactPositive, test: 2, train: 2 },
        Match { kind: Overlap::NearPositive, test: 3, train: 3 },
        Match { kind: Overlap::AnchorContained, test: 4, train: 4 },
    ];
    assert_eq!(found, expected);
    let in_parts_of = |size: usize, config: &LeakConfig| {
        let split = SplitConfig::default();
        let mut gate = LeakGate::new(config, &split, &test[..2], &test);
        let kept: Vec<_> = train.chunks(size).flat_map(|part| gate.pass(part.to_vec())).collect();
        let (leaks, account) = gate.finish();
        (kept, leaks, account)
    };
    for drop_leaks in [false, true] {
        let config = LeakConfig { drop_leaks, ..LeakConfig::default() };
        for size in [1, 2, 4] {
            assert_eq!(in_parts_of(size, &config), in_parts_of(train.len(), &config), "parts of {size}");
        }
    }
    let pass = |config: &LeakConfig| {
        let split = SplitConfig::default();
        let mut gate = LeakGate::new(config, &split, &[], &test);
        let kept = gate.pass(train.clone());
        let (leaks, account) = gate.finish();
        (kept, leaks, account)
    };
    let (_, counted, account) = pass(&LeakConfig { drop_leaks: false, ..LeakConfig::default() });
    assert!(account.is_none());
    assert_eq!(
        counted.iter().map(|leak| (leak.kind.as_str(), leak.count, leak.of)).collect::<Vec<_>>(),
        [
            ("group", 1, 6),
            ("exact anchor", 1, 6),
            ("exact positive", 1, 6),
            ("near positive", 1, 6),
            ("anchor contained", 1, 6)
        ]
    );
    assert_eq!(counted[3].examples, ["e3 = t3"]);
    let (kept, after, account) = pass(&LeakConfig::default());
    assert_eq!(kept.iter().map(|pair| pair.id.as_str()).collect::<Vec<_>>(), ["t0", "t5"]);
    assert_eq!(account.unwrap().dropped.get("test: near positive"), Some(&1));
    assert_eq!(after.iter().map(|leak| leak.count).collect::<Vec<_>>(), [1, 0, 0, 0, 0]);
    assert_eq!(audit(&kept, &test, &LeakConfig::default(), &SplitConfig::default()), [expected[0]]);
}

#[test]
fn an_anchor_inside_a_positive_leaks_in_both_directions_of_anchors() {
    let words = "one two three four five six seven eight nine";
    let config = LeakConfig { near: 0.0, ..LeakConfig::default() };
    let check = |train: (&str, &str), test: &str, expected: usize| {
        let found = audit(
            &[pair("t", "a", train.0, train.1)],
            &[pair("e", "b", test, "zzz")],
            &config,
            &SplitConfig::default(),
        );
        assert_eq!(found.len(), expected, "{train:?} {test}");
    };
    check(("x", &format!("/// One, two\n/// {}", &words[8..])), words, 1);
    check((words, "x"), &format!("before {words} after"), 1);
    check((&format!("before {words}"), "x"), words, 1);
    check(("x", "one two three four five six seven"), "one two three four five six seven", 0);
    check((&words.replace("five", "5"), "x"), words, 0);
}
