//! Reads and writes `IndexFlatIP` files, for `scripts/check-faiss.py`.
//!
//! ```sh
//! faiss_flat write FILE < {"dimension": 2, "values": [...]}
//! faiss_flat read FILE > {"dimension": 2, "values": [...]}
//! ```

use std::{error::Error, io::Write, path::Path};

use serde_json::{Value, json};
use wb_sql::faiss::FlatIp;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [action, file] if action == "write" => {
            let given: Value = serde_json::from_reader(std::io::stdin())?;
            let values: Vec<f32> = serde_json::from_value(given["values"].clone())?;
            let dimension = given["dimension"].as_u64().ok_or("expected a dimension")?;
            FlatIp::new(usize::try_from(dimension)?, values)?.write(Path::new(file))?;
        }
        [action, file] if action == "read" => {
            let index = FlatIp::read(Path::new(file)).map_err(|error| error.to_string())?;
            writeln!(std::io::stdout(), "{}", json!({"dimension": index.dimension, "values": index.values}))?;
        }
        _ => return Err("expected `read FILE` or `write FILE`".into()),
    }
    Ok(())
}
