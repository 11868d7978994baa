//! Judges pairs of gold query and prediction by exact match, one JSON line each: the counterpart of
//! `scripts/spider-official.py`, whose lines have the same shape.
//!
//! ```sh
//! cargo run --release -p wb-sql --example spider_exact -- tables.json [--tokens] [--strict] < pairs.jsonl > verdicts.jsonl
//! ```

use std::{error::Error, io::Write, path::Path, time::Instant};

use serde_json::{Value, json};
use wb_sql::{
    Compat,
    exact::{ExactMatch, QueryHardness, compare, hardness},
    spider::{DatabaseSchema, DatabaseSchemas, ParseError, SqlQuery, parse, prediction, tokenize},
};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
    let compat = if has("--strict") { Compat::Strict } else { Compat::Official };
    let schemas = DatabaseSchemas::load(Path::new(arguments.first().ok_or("expected the path of tables.json")?))?;
    let pairs: Vec<[String; 3]> = std::io::stdin()
        .lines()
        .map(|line| {
            let pair: Value = serde_json::from_str(&line?)?;
            Ok(["db_id", "gold", "prediction"].map(|key| pair[key].as_str().unwrap_or_default().to_owned()))
        })
        .collect::<Result<_, Box<dyn Error>>>()?;
    let start = Instant::now();
    let verdicts: Vec<Verdict> = pairs
        .iter()
        .map(|[db_id, gold, text]| Ok(judge(gold, &prediction(text, compat), schemas.get(db_id)?, compat)))
        .collect::<Result<_, Box<dyn Error>>>()?;
    writeln!(std::io::stderr(), "{:.4} s for {} pairs", start.elapsed().as_secs_f64(), pairs.len())?;
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for (verdict, [_, _, text]) in verdicts.into_iter().zip(&pairs) {
        let mut line = match verdict {
            Ok((hardness, error, verdict)) => describe(hardness, error, &verdict),
            Err(error) => json!({"gold_error": error.to_string()}),
        };
        if has("--tokens") {
            line["tokens"] = json!(tokenize(&prediction(text, compat), compat).ok());
        }
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// The verdict with the hardness of gold and why the prediction cannot be read, or why gold cannot.
type Verdict = Result<(QueryHardness, Option<ParseError>, ExactMatch), ParseError>;

fn judge(gold: &str, text: &str, schema: &DatabaseSchema, compat: Compat) -> Verdict {
    let gold = parse(gold, schema, compat)?;
    let (predicted, error) = match parse(text, schema, compat) {
        Ok(query) => (query, None),
        Err(error) => (SqlQuery::default(), Some(error)),
    };
    Ok((hardness(&gold), error, compare(&gold, &predicted, schema, compat)))
}

fn describe(hardness: QueryHardness, error: Option<ParseError>, verdict: &ExactMatch) -> Value {
    let partial = verdict.partial.map(|part| json!([u8::from(part.matches), part.gold, part.predicted]));
    json!({
        "hardness": hardness.to_string(),
        "parse_error": error.is_some(),
        "raises": verdict.raises,
        "em": verdict.em,
        "partial": partial,
        "error": error.map(|error| error.to_string()),
    })
}
