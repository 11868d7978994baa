//! Times encoding beside another program: `encode_bench MODEL_FOLDER TEXTS.jsonl [EMBEDDINGS]`, one JSON string a line.
//!
//! Prints `ready` and the instruction set; then encodes all texts once for each line on standard input and prints the
//! seconds; for a line `products M K N` it multiplies `[M, K]` by `[K, N]` on all threads instead, [`PRODUCTS`] times.
//! At the end of the input EMBEDDINGS gets what came out last, row after row, as little-endian 32-bit floats.
#![allow(clippy::print_stdout, reason = "the seconds are the output")]

use std::{error::Error, fs, io::stdin, path::Path, time::Instant};

use rayon::prelude::*;
use wb_core::{Encoder, Side};
use wb_encoder::{
    BiEncoder, DeviceConfig, Folder,
    kernels::{Mat, MatMut, Packed, instruction_set, matmul_packed},
};

/// Products in a round, as many as in `peer_encode.py`.
const PRODUCTS: usize = 20;

/// Rows that a thread multiplies at once: about what a group of texts has.
const ROWS: usize = 256;

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [model, texts, rest @ ..] = &arguments[..] else {
        return Err("usage: encode_bench MODEL_FOLDER TEXTS.jsonl [EMBEDDINGS]".into());
    };
    let texts: Vec<String> = fs::read_to_string(texts)?.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let encoder = BiEncoder::open_frozen(Folder::read(Path::new(model))?, &DeviceConfig::Cpu.open()?)?;
    println!("ready {}", instruction_set()?);
    let mut last = None;
    for line in stdin().lines() {
        if let Some(shape) = line?.strip_prefix("products ") {
            let shape: Vec<usize> = shape.split(' ').map(str::parse).collect::<Result<_, _>>()?;
            let [m, k, n] = shape[..] else { return Err("expected `products M K N`".into()) };
            println!("{:.6}", products(m, k, n));
            continue;
        }
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

/// Seconds of [`PRODUCTS`] products, the right side packed once, as weights are.
fn products(m: usize, k: usize, n: usize) -> f64 {
    let (left, right) = (vec![1.0; m * k], Packed::new(Mat::new(&vec![1.0; k * n], k, n)));
    let mut result = vec![0.0; m * n];
    let start = Instant::now();
    for _ in 0..PRODUCTS {
        let parts = result.par_chunks_mut(ROWS * n).zip(left.par_chunks(ROWS * k));
        parts.for_each(|(result, left)| {
            let rows = left.len() / k;
            matmul_packed(MatMut::new(result, rows, n), false, Mat::new(left, rows, k), &right, 1.0);
        });
    }
    start.elapsed().as_secs_f64()
}
