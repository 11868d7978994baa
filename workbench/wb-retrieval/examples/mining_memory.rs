//! Mines over vectors in files under an amount of memory, and tells how much the process took at most.
//!
//! `mining_memory FOLDER DOCUMENTS QUERIES DIM TEXT_BYTES RAM [OUT]`: vectors are made once, as `.npy` files in FOLDER,
//! so that another program can mine the same. OUT gets the first negatives' positions, as 32-bit integers, 4 a query.
#![allow(clippy::print_stdout, reason = "the figures are the output")]

use std::{
    error::Error,
    fs,
    io::{BufWriter, Write},
    path::Path,
    time::Instant,
};

use rand::RngExt;
use wb_core::{Document, Pair, Seed, progress::silent};
use wb_retrieval::{
    mining::{Blocks, ByteSize, MiningConfig, MiningSetup, MiningTexts, VectorFile, VectorSearch, mine_from},
    npy::NpyHeader,
};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, documents, queries, dim, text_bytes, ram, rest @ ..] = &arguments[..] else {
        return Err("usage: mining_memory FOLDER DOCUMENTS QUERIES DIM TEXT_BYTES RAM [OUT]".into());
    };
    let (documents, queries, dim): (usize, usize, usize) = (documents.parse()?, queries.parse()?, dim.parse()?);
    let (text_bytes, ram): (usize, ByteSize) = (text_bytes.parse()?, ram.parse()?);
    let folder = Path::new(folder);
    let (of_documents, of_queries) = (folder.join("documents.npy"), folder.join("queries.npy"));
    make(&of_documents, "documents", documents, dim)?;
    make(&of_queries, "queries", queries, dim)?;

    let text = |name: &str, at: usize| format!("{name} {at} {}", "x".repeat(text_bytes));
    let pairs: Vec<Pair> = (0..queries)
        .map(|at| Pair {
            id: format!("p{at}"),
            anchor: text("query", at),
            positive: text("document", at),
            ..Pair::default()
        })
        .collect();
    let corpus: Vec<Document> = (0..documents)
        .map(|at| Document { id: format!("d{at}"), text: text("document", at), title: String::new() })
        .collect();
    let texts = MiningTexts::new(&pairs, &corpus)?;
    println!("with texts: {} MB", peak());
    let config = MiningConfig::default();
    let rules = config.rules();
    let (_, depth) = rules.depth(texts.most_pairs(), texts.most_never(), false);
    // The corpus of a command is read beside its texts; here it is those of the corpus that are searched.
    let blocks = Blocks::within(ram, texts.bytes(), [queries, documents, dim], depth)?;
    println!("{blocks:?}, {depth} candidates");
    let started = Instant::now();
    let (of_queries, of_documents) = (VectorFile::open(&of_queries)?, VectorFile::open(&of_documents)?);
    let mut search = VectorSearch::new(&texts, of_queries, of_documents, blocks)?;
    let mined = mine_from(&texts, &mut search, &MiningSetup::new(&rules, Seed(17)), None, &mut silent)?;
    println!("{:.2} s, {} negatives, at most {} MB", started.elapsed().as_secs_f64(), mined.account.chosen, peak());
    if let [out] = rest {
        let mut file = BufWriter::new(fs::File::create(out)?);
        for pair in &mined.pairs {
            for at in 0..rules.per_pair {
                let document = pair.negatives.get(at).map_or(u32::MAX, |negative| negative.document);
                file.write_all(&document.to_le_bytes())?;
            }
        }
        file.flush()?;
    }
    Ok(())
}

/// Numbers between −1 and 1; a query's positive is near it.
fn make(path: &Path, name: &str, rows: usize, dim: usize) -> Result<(), Box<dyn Error>> {
    if path.is_file() {
        return Ok(());
    }
    fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
    let mut file = BufWriter::new(fs::File::create(path)?);
    file.write_all(&NpyHeader::new("<f4", &[rows, dim]).encode())?;
    for row in 0..rows {
        let mut common = Seed(1).stream_at("common", row as u64);
        let mut own = Seed(1).stream_at(name, row as u64);
        for _ in 0..dim {
            let number: f32 = common.random_range(-1.0..1.0) + 0.8 * own.random_range(-1.0f32..1.0);
            file.write_all(&number.to_le_bytes())?;
        }
    }
    Ok(file.flush()?)
}

/// The most memory that this process has held, in megabytes; 0 where the system does not tell.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0) / 1000
}
