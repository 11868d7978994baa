//! Every rewrite of every function of a JSONL file: `rewrite_corpus IN.jsonl OUT.jsonl [SEEDS]`, with counts and speed.
//!
//! A line of IN is `{"id": …, "language": …, "code": …}`; a line of OUT says what one rule made of it with one seed, or why
//! not. `scripts/check-rewrites.py` makes IN out of functions that come with tests, and runs those on OUT.

#![allow(clippy::print_stdout, reason = "an example speaks on the terminal")]

use std::{
    collections::BTreeMap,
    error::Error,
    fs::File,
    io::{BufRead, BufReader, BufWriter, Write},
    time::Instant,
};

use wb_code::{Language, Refusal, RewriteKind, rewrite};
use wb_core::Seed;

/// Number of times that each outcome came, and the seconds that it took.
type Outcomes = (BTreeMap<String, u64>, f64);

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [input, output, rest @ ..] = arguments.as_slice() else {
        return Err("usage: rewrite_corpus IN.jsonl OUT.jsonl [SEEDS]".into());
    };
    let seeds: u64 = rest.first().map_or(Ok(1), |seeds| seeds.parse())?;
    let mut file = BufWriter::new(File::create(output)?);
    // By language and rule: outcome to count, and the time that it took.
    let mut counts: BTreeMap<(String, &str), Outcomes> = BTreeMap::new();
    for line in BufReader::new(File::open(input)?).lines() {
        let record: serde_json::Value = serde_json::from_str(&line?)?;
        let field = |key: &str| record.get(key).and_then(|value| value.as_str()).unwrap_or_default();
        let (code, name) = (field("code"), field("language"));
        let language = Language::named(name).ok_or_else(|| format!("{name} has no grammar"))?;
        for kind in RewriteKind::ALL {
            for seed in 0..seeds {
                let start = Instant::now();
                let result = rewrite(code, language, kind, Seed(seed));
                let entry = counts.entry((language.name().to_owned(), kind.name())).or_default();
                entry.1 += start.elapsed().as_secs_f64();
                let outcome = result.as_ref().map_or_else(ToString::to_string, |_| "applied".to_owned());
                *entry.0.entry(outcome).or_default() += 1;
                if result == Err(Refusal::Broken) {
                    println!("broken: {} {} seed {seed}", field("id"), kind.name());
                }
                if let Ok(new) = result {
                    let row = serde_json::json!({
                        "id": field("id"), "language": language.name(), "rule": kind.name(), "seed": seed, "code": new.text,
                        "note": new.note,
                    });
                    writeln!(file, "{row}")?;
                }
            }
        }
    }
    file.flush()?;
    for ((language, rule), (outcomes, seconds)) in counts {
        let all: u64 = outcomes.values().sum();
        println!("{language} {rule}: {outcomes:?}, {:.0} per second", all as f64 / seconds);
    }
    Ok(())
}
