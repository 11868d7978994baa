//! Run folders that no training made: files as a run writes them, with numbers of a believable size.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use wb_core::{
    manifest::Manifest,
    records::{
        compare::{CompareVerdict, PairedTest, VerdictFile},
        data::{DataCard, DroppedPair, Gate, Leak, SourceCount, SplitCount},
        journal::{StepRecord, ValidationRecord},
        outcome::{
            AuditLine, ContestantOutcome, ContestantRole, NotRun, ProtocolScore, QueryExample, QueryRank,
            ReturnedDocument,
        },
    },
    run_dir::write_json,
    statistics::{Comparison, Interval},
};

/// The name of the believable run.
pub const RUN: &str = "2026-11-21-quickstart-7f3a91c2";

/// A run folder's content, to be changed and written.
pub struct MadeUp {
    pub id: String,
    pub manifest: Manifest,
    pub data: DataCard,
    pub steps: Vec<StepRecord>,
    pub validations: Vec<ValidationRecord>,
    pub outcomes: Vec<ContestantOutcome>,
    pub compared: Vec<PairedTest>,
    pub verdict: VerdictFile,
    pub config: String,
}

/// Numbers between 0 and 1 that are the same each time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

fn counts(rows: &[(&str, u64)]) -> BTreeMap<String, u64> {
    rows.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect()
}

impl MadeUp {
    /// Writes the folder under `root` and returns it.
    pub fn write(&self, root: &Path) -> PathBuf {
        let folder = root.join(&self.id);
        fs::create_dir_all(folder.join("bench")).unwrap();
        write_json(&folder.join("manifest.json"), &self.manifest).unwrap();
        write_json(&folder.join("data.json"), &self.data).unwrap();
        write_json(&folder.join("compare.json"), &self.compared).unwrap();
        write_json(&folder.join("verdict.json"), &self.verdict).unwrap();
        fs::write(folder.join("config.yaml"), &self.config).unwrap();
        let lines: String = self.steps.iter().map(|step| serde_json::to_string(step).unwrap() + "\n").collect();
        fs::write(folder.join("metrics.jsonl"), lines).unwrap();
        let lines: String = self.validations.iter().map(|step| serde_json::to_string(step).unwrap() + "\n").collect();
        fs::write(folder.join("validation.jsonl"), lines).unwrap();
        for (index, outcome) in self.outcomes.iter().enumerate() {
            write_json(&folder.join("bench").join(format!("{index}.json")), outcome).unwrap();
        }
        fs::write(folder.join("DONE"), "").unwrap();
        folder
    }

    /// A whole run of the quickstart's size.
    pub fn believable() -> Self {
        let mut manifest = Manifest {
            run: RUN.into(),
            command: "wb run configs/quickstart.yaml train.epochs=2".into(),
            started: "2026-11-21T14:03:22Z".into(),
            version: "0.1.0".into(),
            commit: "4f1c2d9e8b7a".into(),
            features: vec!["report".into(), "hub".into()],
            device: "cpu (flex, 2 threads)".into(),
            same_bytes: true,
            products: "fp32".into(),
            machine: "linux x86_64, 2 threads".into(),
            seed: 17,
            config: "9d0c4b1f6e2a".repeat(5),
            ..Manifest::default()
        };
        for name in ["pairs", "split", "tokenizer", "encoder"] {
            manifest.fingerprints.insert(name.into(), format!("{name:0<64}"));
        }
        Self {
            id: RUN.into(),
            manifest,
            data: data(),
            steps: steps(),
            validations: validations(),
            outcomes: outcomes(),
            compared: vec![
                test("pairs-full", "mrr", ["trained", "bm25"], [0.1271, 0.1118, 0.1420], 0.0001),
                test("pairs-1000", "mrr", ["trained", "bm25"], [0.1584, 0.1432, 0.1733], 0.0001),
                test("pairs-full", "mrr", ["bm25+trained", "bm25"], [0.1419, 0.1302, 0.1541], 0.0001),
                test("pairs-full", "recall@1", ["trained", "untrained"], [0.0041, -0.0020, 0.0102], 0.184),
            ],
            verdict: VerdictFile {
                verdict: CompareVerdict::Win,
                line: "VERDICT: WIN trained MRR .498 [.482, .514] against BM25 .371 [.356, .387] on pairs-full (pool 2,534), difference +.127 [.112, .142]".into(),
            },
            config: "# the experiment, with every default\nname: quickstart\nseed: 17\ndata:\n  sources:\n    - documented:\n        path: registry\n  split:\n    by: group\n    test: 0.03\nencoder:\n  static_embedding:\n    dim: 256\ntrain:\n  epochs: 2\n  batch: 512\n  loss:\n    mnrl:\n      scale: 20\n".into(),
        }
    }
}

/// A paired test of the candidate and the baseline with this difference, its lower and its upper end.
pub fn test(
    protocol: &str,
    metric: &str,
    [candidate, baseline]: [&str; 2],
    [difference, low, high]: [f64; 3],
    p_value: f64,
) -> PairedTest {
    PairedTest {
        protocol: protocol.into(),
        metric: metric.into(),
        candidate: candidate.into(),
        baseline: baseline.into(),
        n_queries: 2_534,
        comparison: Comparison {
            difference,
            interval: Interval { low, high },
            p_value,
            wins_ties_losses: [1_201, 902, 431],
        },
        ..PairedTest::default()
    }
}

fn data() -> DataCard {
    let dropped = |reason: &str, id: &str, anchor: &str| DroppedPair {
        reason: reason.into(),
        id: id.into(),
        anchor: anchor.into(),
    };
    DataCard {
        sources: vec![SourceCount {
            name: "documented functions of cargo's registry sources (1,031 crates)".into(),
            pairs: 121_804,
            skipped: counts(&[("no doc comment", 402_118), ("test", 51_022), ("does not parse", 311)]),
        }],
        gates: vec![
            Gate {
                name: "filter".into(),
                before: 121_804,
                after: 94_310,
                dropped: counts(&[
                    ("query of 20 letters or fewer", 15_204),
                    ("code of 100 letters or fewer", 9_120),
                    ("code of 5000 letters or more", 1_871),
                    ("trivial description", 1_299),
                ]),
                examples: vec![
                    dropped("query of 20 letters or fewer", "serde-1.0.229/src/de/mod.rs#812", "Returns the value."),
                    dropped(
                        "trivial description",
                        "bytes-1.9.0/src/buf/buf_mut.rs#40",
                        "See the module documentation for more information.",
                    ),
                ],
            },
            Gate {
                name: "exact duplicates".into(),
                before: 94_310,
                after: 88_142,
                dropped: counts(&[("same anchor and code", 6_168)]),
                examples: Vec::new(),
            },
            Gate {
                name: "near duplicates".into(),
                before: 88_142,
                after: 85_979,
                dropped: counts(&[("Jaccard of 0.85 or more", 2_163)]),
                examples: vec![dropped(
                    "Jaccard of 0.85 or more",
                    "windows-0.58/src/x.rs#1",
                    "Sets the value of the property that is named so.",
                )],
            },
        ],
        splits: [("train", 82_011, 968), ("validation", 1_434, 31), ("test", 2_534, 32)]
            .into_iter()
            .map(|(name, pairs, groups)| {
                (
                    name.to_owned(),
                    SplitCount { pairs, groups, languages: counts(&[("rust", pairs)]), ..SplitCount::default() },
                )
            })
            .collect(),
        leaks: vec![
            Leak { kind: "group".into(), count: 0, of: 2_534, examples: Vec::new() },
            Leak {
                kind: "exact anchor".into(),
                count: 41,
                of: 2_534,
                examples: vec!["hashbrown#12 = indexmap#77".into(), "itoa#2 = ryu#9".into()],
            },
            Leak { kind: "exact positive".into(), count: 0, of: 2_534, examples: Vec::new() },
            Leak {
                kind: "near positive".into(),
                count: 63,
                of: 2_534,
                examples: vec!["futures-util#410 = futures-lite#8".into()],
            },
        ],
        licenses: counts(&[
            ("MIT OR Apache-2.0", 61_220),
            ("MIT", 14_023),
            ("Apache-2.0", 7_310),
            ("BSD-3-Clause", 1_801),
            ("", 1_220),
            ("MPL-2.0", 405),
        ]),
    }
}

fn steps() -> Vec<StepRecord> {
    let mut dice = Dice(1);
    (1..=320u64)
        .map(|step| {
            let share = step as f64 / 320.0;
            let warm = (share / 0.1).min(1.0);
            StepRecord {
                step,
                epoch: 2.0 * share,
                stage: 0,
                loss: 0.62 + 5.0 * (-7.0 * share).exp() + 0.35 * (dice.roll() - 0.5) * (1.2 - share),
                learning_rate: 0.02
                    * warm
                    * (0.5 + 0.5 * (std::f64::consts::PI * ((share - 0.1).max(0.0) / 0.9)).cos()),
                objectives: Default::default(),
                grad_norm: 1.0,
                loss_scale: None,
                skipped: false,
                micro_tokens: None,
                pairs: 512,
                tokens: 61_440,
            }
        })
        .collect()
}

fn validations() -> Vec<ValidationRecord> {
    let mrr = [0.0712, 0.3981, 0.4622, 0.5103, 0.5362, 0.5519, 0.5588, 0.5611, 0.5598];
    let mut best = 0.0;
    mrr.iter()
        .enumerate()
        .map(|(index, mrr)| {
            let is_best = *mrr > best;
            best = f64::max(best, *mrr);
            ValidationRecord {
                step: 40 * index as u64,
                mrr: *mrr,
                recall_at_1: mrr * 0.81,
                loss: Some(3.0 - mrr),
                pairs: 1_434,
                best: is_best,
            }
        })
        .collect()
}

/// Ranks whose shares fall as those of a retriever with about this MRR do, with the metrics that follow from them.
fn scores(protocol: &str, pool: u64, skill: f64, seed: u64) -> Vec<ProtocolScore> {
    let mut dice = Dice(seed);
    let ranks: Vec<u64> = (0..2_534)
        .map(|_| {
            if dice.roll() < skill * 0.8 {
                1
            } else {
                ((pool as f64).powf(dice.roll().powf(1.0 + skill)) as u64).max(1)
            }
        })
        .collect();
    let mean = |of: &dyn Fn(u64) -> f64| ranks.iter().map(|rank| of(*rank)).sum::<f64>() / ranks.len() as f64;
    let within = |k: u64| move |rank: u64| f64::from(u8::from(rank <= k));
    let metrics: [(&str, f64); 5] = [
        ("mrr", mean(&|rank| 1.0 / rank as f64)),
        ("ndcg@10", mean(&|rank| if rank <= 10 { 1.0 / (rank as f64 + 1.0).log2() } else { 0.0 })),
        ("recall@1", mean(&within(1))),
        ("recall@5", mean(&within(5))),
        ("recall@10", mean(&within(10))),
    ];
    metrics
        .into_iter()
        .map(|(metric, value)| ProtocolScore {
            id: protocol.into(),
            description: match protocol {
                "pairs-full" => "each held-out anchor searches the code of all held-out pairs; a tie counts against the answer",
                _ => {
                    "as pairs-full, in pools cut from a fixed shuffle, a last partial pool left out; a tie counts against the answer"
                }
            }
            .into(),
            language: "rust".into(),
            split: "test".into(),
            pool,
            n_queries: 2_534,
            metric: metric.into(),
            value,
            interval: Interval { low: value - 0.016, high: value + 0.0155 },
            tie_best: value + if skill < 0.4 { 0.0011 } else { 0.0 },
            tie_expected: value + if skill < 0.4 { 0.0004 } else { 0.0 },
            tie_worst: value,
            deduplicated: Some(value + 0.0031),
            queries: ranks
                .iter()
                .enumerate()
                .map(|(index, rank)| QueryRank { id: format!("q{index}"), rank: *rank, value: 1.0 / *rank as f64 })
                .collect(),
        })
        .collect()
}

fn outcomes() -> Vec<ContestantOutcome> {
    let all = [
        ("bm25", ContestantRole::Bm25, 0.36),
        ("untrained", ContestantRole::Untrained, 0.06),
        ("trained", ContestantRole::Trained, 0.52),
        ("bm25+trained", ContestantRole::Fused, 0.55),
    ];
    all.into_iter()
        .enumerate()
        .map(|(index, (contestant, role, skill))| {
            let mut protocols = scores("pairs-full", 2_534, skill, 3 + index as u64);
            protocols.extend(scores("pairs-1000", 1_000, skill * 1.16, 13 + index as u64));
            ContestantOutcome {
                benchmark: "pairs".into(),
                version: 1,
                contestant: contestant.into(),
                role,
                base: None,
                contestant_fingerprint: format!("{index}a7c41f09b2e").repeat(5),
                dataset_fingerprint: "c0ffee12ab34".repeat(5),
                settings: vec![
                    ("query tokens".into(), "128".into()),
                    ("document tokens".into(), "256".into()),
                    ("prompts".into(), "none".into()),
                ],
                not_run: vec![NotRun {
                    id: "csn-1000".into(),
                    reason: "these pairs have no docstring_tokens and code_tokens; it needs a CodeSearchNet folder"
                        .into(),
                }],
                warnings: vec!["41 test anchors stand in training too; see the leak audit".into()],
                audit: vec![AuditLine {
                    what: "test documents that are equal to another".into(),
                    count: 12,
                    of: 2_534,
                    examples: vec!["q12 = q1044".into()],
                }],
                examples: if contestant == "trained" { examples(&protocols[0].queries) } else { Vec::new() },
                protocols,
            }
        })
        .collect()
}

fn examples(ranks: &[QueryRank]) -> Vec<QueryExample> {
    let first: Vec<&QueryRank> = ranks.iter().filter(|query| query.rank == 1).take(3).collect();
    let mut late: Vec<&QueryRank> = ranks.iter().collect();
    late.sort_by_key(|query| std::cmp::Reverse(query.rank));
    let texts = [
        (
            "Splits the string at the last occurrence of the separator and returns the parts before and after it.",
            RSPLIT,
            FIND,
        ),
        ("Returns the number of bytes that can be read without blocking.", FIND, RSPLIT),
        (
            "Checks that the certificate chain is valid for the given host name at the given time, and that no certificate in it was revoked; an empty list of revoked certificates means that revocation is not looked at.",
            VERIFY,
            FIND,
        ),
    ];
    first
        .into_iter()
        .chain(late.into_iter().take(3))
        .zip(texts.iter().cycle())
        .map(|(query, (text, answer, other))| {
            let document = |id: &str, text: &str, score: f64, relevant: bool| ReturnedDocument {
                id: id.into(),
                text: text.into(),
                score,
                relevant,
            };
            let right = document("memchr-2.7.4/src/lib.rs#rsplit_once", answer, 0.8123, true);
            let wrong = document("bstr-1.11.0/src/ext_slice.rs#find", other, 0.7411, false);
            let returned = if query.rank == 1 {
                vec![right, wrong]
            } else {
                vec![wrong.clone(), document("regex-1.11.1/src/find.rs#at", VERIFY, 0.7309, false)]
            };
            QueryExample {
                protocol: ("pairs-full".into(), "rust".into(), "test".into()),
                id: query.id.clone(),
                query: (*text).into(),
                rank: query.rank,
                answer: (*answer).into(),
                returned,
            }
        })
        .collect()
}

const RSPLIT: &str = "pub fn rsplit_once<'a>(&'a self, separator: &str) -> Option<(&'a str, &'a str)> {\n    // The last occurrence, from the end.\n    let start = self.rfind(separator)?;\n    let end = start + separator.len();\n    Some((&self[..start], &self[end..]))\n}";
const FIND: &str = "fn available(&self) -> io::Result<usize> {\n    let mut n: c_int = 0;\n    /* FIONREAD fills in the count. */\n    match unsafe { ioctl(self.as_raw_fd(), FIONREAD, &mut n) } {\n        0 => Ok(n as usize),\n        _ => Err(io::Error::last_os_error()),\n    }\n}";
const VERIFY: &str = "pub fn verify(&self, host: &ServerName<'_>, now: UnixTime, revoked: &[Serial]) -> Result<(), Error> {\n    let end = self.chain.first().ok_or(Error::Empty(\"no certificate\"))?;\n    if !end.names().any(|name| name.matches(host)) {\n        return Err(Error::NotValidForName);\n    }\n    for certificate in &self.chain {\n        certificate.valid_at(now)?;\n        if !revoked.is_empty() && revoked.contains(&certificate.serial()) {\n            return Err(Error::Revoked);\n        }\n    }\n    Ok(())\n}";
