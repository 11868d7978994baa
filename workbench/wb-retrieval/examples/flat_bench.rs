//! Times exact search over raw vectors, so that another program can search the same files beside it.
//!
//! `flat_bench DOCUMENTS QUERIES DIM K REPEATS [OUT]`: both files hold little-endian 32-bit floats, row after row.
//! One line of seconds is printed for each repeat; OUT gets the positions found, as 32-bit integers, K for each query.
//! With `-` for REPEATS it prints `ready` and searches once for each line on standard input.
#![allow(clippy::print_stdout, reason = "the seconds are the output")]

use std::{error::Error, fs, io::stdin, time::Instant};

use ndarray::Array2;
use wb_core::Embeddings;
use wb_retrieval::Flat;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [documents, queries, dim, k, repeats, rest @ ..] = &arguments[..] else {
        return Err("usage: flat_bench DOCUMENTS QUERIES DIM K REPEATS|- [OUT]".into());
    };
    let (dim, k) = (dim.parse()?, k.parse()?);
    let index = Flat::new(read(documents, dim)?)?;
    let queries = read(queries, dim)?;
    let repeats: Box<dyn Iterator<Item = ()>> = match repeats.as_str() {
        "-" => {
            println!("ready");
            Box::new(stdin().lines().map(|_| ()))
        }
        number => Box::new(std::iter::repeat_n((), number.parse()?)),
    };
    let mut rankings = Vec::new();
    for () in repeats {
        let start = Instant::now();
        rankings = index.search(&queries, k)?;
        println!("{:.6}", start.elapsed().as_secs_f64());
    }
    if let [out] = rest {
        let positions = rankings.iter().flat_map(|ranking| &ranking.hits);
        fs::write(out, positions.flat_map(|hit| (hit.document as u32).to_le_bytes()).collect::<Vec<u8>>())?;
    }
    Ok(())
}

fn read(path: &str, dim: usize) -> Result<Embeddings, Box<dyn Error>> {
    let numbers: Vec<f32> = fs::read(path)?.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
    Ok(Embeddings::dense(Array2::from_shape_vec((numbers.len() / dim, dim), numbers)?))
}
