//! Times encoding beside another program: `encode_bench MODEL_FOLDER TEXTS.jsonl [EMBEDDINGS]`, one JSON string a line.
//!
//! Prints `ready`; then encodes all texts once for each line on standard input and prints the seconds.
//! At the end of the input EMBEDDINGS gets what came out last, row after row, as little-endian 32-bit floats.
#![allow(clippy::print_stdout, reason = "the seconds are the output")]

use std::{error::Error, fs, io::stdin, path::Path, time::Instant};

use wb_core::{Encoder, Side};
use wb_encoder::{BiEncoder, DeviceConfig, Folder};

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [model, texts, rest @ ..] = &arguments[..] else {
        return Err("usage: encode_bench MODEL_FOLDER TEXTS.jsonl [EMBEDDINGS]".into());
    };
    let texts: Vec<String> = fs::read_to_string(texts)?.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let encoder = BiEncoder::open(Folder::read(Path::new(model))?, &DeviceConfig::Cpu.open()?)?;
    println!("ready");
    let mut last = None;
    for line in stdin().lines() {
        line?;
        let start = Instant::now();
        let embeddings = encoder.encode(&texts, Side::Document, &mut |_| ())?;
        println!("{:.6}", start.elapsed().as_secs_f64());
        last = Some(embeddings);
    }
    if let ([out, ..], Some(embeddings)) = (rest, last) {
        let numbers = (0..texts.len()).flat_map(|row| embeddings.row(row).to_vec());
        fs::write(out, numbers.flat_map(f32::to_le_bytes).collect::<Vec<u8>>())?;
    }
    Ok(())
}
