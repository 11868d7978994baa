//! Pairs by rules from a JSONL file of functions: `rules_pairs IN.jsonl OUT.jsonl [COUNT [run]]`, with the account at the end.
//!
//! A line of IN is `{"code": …, "docstring": …, "language": …, "func_name": …}`; what it lacks is empty. COUNT pairs
//! (2,000 unless said otherwise) are written in the form that a `jsonl` source reads, half of them `code2code` and
//! half `text2code`, of functions of which both could be made. With `run` the two sides of `code2code` are executed.

#![allow(clippy::print_stdout, reason = "an example speaks on the terminal")]

use std::{
    collections::BTreeSet,
    error::Error,
    fs::File,
    io::{BufRead, BufReader, BufWriter, Write},
    time::Instant,
};

use wb_core::{Origin, Seed, Task};
use wb_synth::{
    Snippet,
    review::Reviews,
    rules::{RulesConfig, Verify, make_pairs},
};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [input, output, rest @ ..] = arguments.as_slice() else {
        return Err("usage: rules_pairs IN.jsonl OUT.jsonl [COUNT [run]]".into());
    };
    let count: usize = rest.first().map_or(Ok(2000), |count| count.parse())?;
    let snippets = read(input)?;
    let start = Instant::now();
    let verify = if rest.get(1).is_some_and(|word| word == "run") { Verify::Run } else { Verify::Off };
    let made = make_pairs(&RulesConfig { verify, ..RulesConfig::default() }, &snippets, &Reviews::default(), Seed(17));
    let seconds = start.elapsed().as_secs_f64();
    let of = |task: Task| -> BTreeSet<&str> {
        made.pairs.iter().filter(|one| one.pair.task == task).map(|one| one.provenance.item.as_str()).collect()
    };
    let both: BTreeSet<&str> = of(Task::Code2code).intersection(&of(Task::Text2code)).copied().collect();
    let mut file = BufWriter::new(File::create(output)?);
    let mut written = 0;
    for one in made.pairs.iter().filter(|one| both.contains(one.provenance.item.as_str())).take(count) {
        serde_json::to_writer(&mut file, &one.pair)?;
        file.write_all(b"\n")?;
        written += 1;
    }
    file.flush()?;
    println!("{}", serde_json::to_string_pretty(&made.account)?);
    let rate = snippets.len() as f64 / seconds;
    println!("{} snippets in {seconds:.2} s ({rate:.0} per second), {written} pairs written", snippets.len());
    Ok(())
}

fn read(path: &str) -> Result<Vec<Snippet>, Box<dyn Error>> {
    let name = std::path::Path::new(path).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut snippets = Vec::new();
    for (index, line) in BufReader::new(File::open(path)?).lines().enumerate() {
        let record: serde_json::Value = serde_json::from_str(&line?)?;
        let field = |key: &str| record.get(key).and_then(|value| value.as_str()).unwrap_or_default().to_owned();
        let id = format!("{name}#{}", index + 1);
        snippets.push(Snippet {
            language: field("language"),
            text: field("code"),
            context: field("docstring"),
            origin: Origin { group: id.clone(), path: name.clone(), ..Origin::default() },
            id,
        });
    }
    Ok(snippets)
}
