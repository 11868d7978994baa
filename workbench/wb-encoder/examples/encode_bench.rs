//! Times encoding: `encode_bench MODEL_FOLDER TEXTS.jsonl [ROUNDS]`, one JSON string a line; prints seconds a round.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a measuring tool for scripts/peers.sh")]

use std::{path::Path, time::Instant};

use wb_core::{Encoder, Side};
use wb_encoder::{BiEncoder, DeviceConfig, Folder};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let texts: Vec<String> =
        std::fs::read_to_string(&arguments[2]).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let rounds = arguments.get(3).map_or(1, |n| n.parse().unwrap());
    let encoder = BiEncoder::open(Folder::read(Path::new(&arguments[1])).unwrap(), &DeviceConfig::Cpu.open().unwrap()).unwrap();
    for _ in 0..rounds {
        let start = Instant::now();
        let embeddings = encoder.encode(&texts, Side::Document, &mut |_| ()).unwrap();
        println!("{:.4} {:?}", start.elapsed().as_secs_f64(), embeddings.row(0).iter().take(3).collect::<Vec<_>>());
    }
}
