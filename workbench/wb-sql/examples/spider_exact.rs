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
    exact::{compare, hardness},
    spider::{Schema, Schemas, parse, prediction, tokenize},
};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
    let compat = if has("--strict") { Compat::Strict } else { Compat::Official };
    let schemas = Schemas::load(Path::new(arguments.first().ok_or("expected the path of tables.json")?))?;
    let pairs: Vec<[String; 3]> = std::io::stdin()
        .lines()
        .map(|line| {
            let pair: Value = serde_json::from_str(&line?)?;
            Ok(["db_id", "gold", "prediction"].map(|key| pair[key].as_str().unwrap_or_default().to_owned()))
        })
        .collect::<Result<_, Box<dyn Error>>>()?;
    let start = Instant::now();
    let verdicts: Vec<Value> = pairs
        .iter()
        .map(|[db_id, gold, text]| {
            let text = prediction(text, compat);
            let mut verdict = judge(gold, &text, schemas.get(db_id)?, compat);
            if has("--tokens") {
                verdict["tokens"] = json!(tokenize(&text, compat).ok());
            }
            Ok(verdict)
        })
        .collect::<Result<_, Box<dyn Error>>>()?;
    writeln!(std::io::stderr(), "{:.4} s for {} pairs", start.elapsed().as_secs_f64(), pairs.len())?;
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for verdict in verdicts {
        writeln!(out, "{verdict}")?;
    }
    Ok(())
}

fn judge(gold: &str, text: &str, schema: &Schema, compat: Compat) -> Value {
    let gold = match parse(gold, schema, compat) {
        Ok(gold) => gold,
        Err(error) => return json!({"gold_error": error.to_string()}),
    };
    let predicted = parse(text, schema, compat);
    let error = predicted.as_ref().err().map(ToString::to_string);
    let verdict = compare(&gold, &predicted.unwrap_or_default(), schema, compat);
    let partial: Vec<_> =
        verdict.partial.iter().map(|part| json!([u8::from(part.matches), part.gold, part.predicted])).collect();
    json!({
        "hardness": hardness(&gold).to_string(),
        "parse_error": error.is_some(),
        "raises": verdict.raises,
        "em": verdict.em,
        "partial": partial,
        "error": error,
    })
}
