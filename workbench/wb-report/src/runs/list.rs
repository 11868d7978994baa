//! The runs themselves, the newest first, each with its verdict, its first number and the data that it learned from.

use polars::prelude::{LazyFrame, PolarsResult, SortMultipleOptions, col, lit};
use serde::Serialize;
use wb_core::records::{compare::CompareVerdict, outcome::ContestantRole};

use super::{columns, numbers, records::RunFrames, texts};
use crate::{
    numbers::{count, fraction},
    words,
};

/// One run as a row.
#[derive(Debug, Serialize)]
pub struct ListedRun {
    /// The run's id.
    pub id: String,
    /// Address of its page, where there is one.
    pub link: String,
    /// Verdict in a word, or the state of a run without one.
    pub word: String,
    /// CSS class of the verdict.
    pub class: &'static str,
    /// The verdict's line.
    pub line: String,
    /// `MRR .498`: the first number of what it trained.
    pub score: String,
    /// Protocol of that number, and its language where it is one of several.
    pub protocol: String,
    /// Pretrained encoder that its training began with.
    pub base: String,
    /// Number of training pairs.
    pub pairs: String,
    /// Start.
    pub started: String,
    /// Device.
    pub device: String,
}

/// Each run's number of the first protocol and metric that it tells of what it trained; that of all languages, where
/// there is one.
fn trained(scores: &LazyFrame) -> LazyFrame {
    let trained = scores.clone().filter(col("role").eq(lit(ContestantRole::Trained as u32)));
    let lead = ["protocol", "metric"].map(|name| col(name).first().alias(format!("lead {name}")));
    let lead = trained.clone().group_by_stable(columns(&["run"])).agg(lead);
    let of_all = col("language").eq(lit("all")).or(col("language").eq(lit("")));
    let first = ["protocol", "language", "metric", "value", "base"].map(|name| col(name).first());
    trained
        .left_join(lead, col("run"), col("run"))
        .filter(col("protocol").eq(col("lead protocol")).and(col("metric").eq(col("lead metric"))))
        .with_columns([of_all.not().alias("is_part")])
        .sort(["is_part", "row"], SortMultipleOptions::default())
        .group_by_stable(columns(&["run"]))
        .agg(first)
}

/// One row a run, the newest first.
fn query(frames: &RunFrames) -> LazyFrame {
    let trained = trained(&frames.scores);
    let learned = frames.cards.clone().select(columns(&["run", "train"]));
    frames
        .runs
        .clone()
        .left_join(trained, col("run"), col("run"))
        .left_join(learned, col("run"), col("run"))
        .sort(["order"], SortMultipleOptions::default().with_order_descending(true))
}

/// Asks for the list; `link` gives the address of a run's page.
pub fn list(frames: &RunFrames, link: &dyn Fn(&str) -> String) -> PolarsResult<Vec<ListedRun>> {
    let found = query(frames).collect()?;
    let [run, verdict, said, started, device, protocol, language, metric, base] =
        texts(&found, ["run", "verdict", "said", "started", "device", "protocol", "language", "metric", "base"])?;
    let [finished, value, train] = numbers(&found, ["finished", "value", "train"])?;
    let row = |row: usize| {
        let verdicts = [CompareVerdict::Win, CompareVerdict::Marginal, CompareVerdict::Regression];
        let known = verdicts.into_iter().find(|known| known.as_str() == verdict[row]);
        let (word, class) = match (finished[row] == 1.0, known) {
            (false, _) => ("not finished", "none"),
            (true, None) => ("no verdict", words::verdict(None).0),
            (true, Some(verdict)) => (verdict.as_str(), words::verdict(Some(verdict)).0),
        };
        let score = format!("{} {}", words::metric(&metric[row]), fraction(value[row]));
        ListedRun {
            id: run[row].clone(),
            link: link(&run[row]),
            word: word.to_owned(),
            class,
            line: said[row].clone(),
            score: if value[row].is_nan() { String::new() } else { score },
            protocol: match language[row].as_str() {
                "" | "all" => protocol[row].clone(),
                language => format!("{}, {language}", protocol[row]),
            },
            base: base[row].clone(),
            pairs: if train[row].is_nan() { String::new() } else { count(train[row] as u64) },
            started: started[row].clone(),
            device: device[row].clone(),
        }
    };
    Ok((0..found.height()).map(row).collect())
}

#[cfg(test)]
mod tests {
    use wb_core::records::{
        compare::VerdictFile,
        data::{DataCard, SplitCount},
        outcome::{OutcomeNumbers, ProtocolScore},
    };

    use super::*;
    use crate::runs::records::RunRecords;

    #[test]
    fn the_newest_run_comes_first_with_all_that_is_known() {
        let number =
            |id: &str, value| ProtocolScore { id: id.into(), metric: "mrr".into(), value, ..ProtocolScore::default() };
        let whole = RunRecords {
            id: "old".into(),
            finished: true,
            verdict: Some(VerdictFile { verdict: CompareVerdict::Win, line: "VERDICT: WIN at last".into() }),
            card: Some(DataCard {
                splits: [("train".to_owned(), SplitCount { pairs: 12_000, ..SplitCount::default() })].into(),
                ..DataCard::default()
            }),
            benches: vec![
                OutcomeNumbers { protocols: vec![number("pairs-full", 0.1)], ..OutcomeNumbers::default() },
                OutcomeNumbers {
                    role: ContestantRole::Trained,
                    base: Some("owner/name".into()),
                    protocols: vec![number("pairs-full", 0.75), number("pairs-1000", 0.9)],
                    ..OutcomeNumbers::default()
                },
            ],
            ..RunRecords::default()
        };
        let bare = RunRecords { id: "new".into(), ..RunRecords::default() };
        let rows = list(&RunFrames::new(&[whole, bare]).unwrap(), &|_| String::new()).unwrap();
        let shown: Vec<_> = rows.iter().map(|row| [&row.id, &row.word, &row.score, &row.base, &row.pairs]).collect();
        assert_eq!(shown, [["new", "not finished", "", "", ""], ["old", "WIN", "MRR .750", "owner/name", "12,000"]]);
        assert_eq!((&*rows[1].line, &*rows[1].protocol, rows[1].class), ("at last", "pairs-full", "win"));
        assert!(list(&RunFrames::new(&[]).unwrap(), &|_| String::new()).unwrap().is_empty());
    }

    #[test]
    fn the_number_of_all_languages_stands_before_that_of_one() {
        let number = |language: &str, value| ProtocolScore {
            id: "csn-1000".into(),
            language: language.into(),
            metric: "mrr".into(),
            value,
            ..ProtocolScore::default()
        };
        let run = |id: &str, protocols| RunRecords {
            id: id.into(),
            benches: vec![OutcomeNumbers { role: ContestantRole::Trained, protocols, ..OutcomeNumbers::default() }],
            ..RunRecords::default()
        };
        let all = run("all", vec![number("go", 0.1), number("ruby", 0.2), number("all", 0.3)]);
        let parts = run("parts", vec![number("go", 0.4), number("ruby", 0.5)]);
        let rows = list(&RunFrames::new(&[all, parts]).unwrap(), &|_| String::new()).unwrap();
        let shown: Vec<_> = rows.iter().map(|row| [&row.score, &row.protocol]).collect();
        assert_eq!(shown, [["MRR .400", "csn-1000, go"], ["MRR .300", "csn-1000"]]);
    }
}
