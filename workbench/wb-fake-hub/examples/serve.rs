//! Serves folders as repositories, to try downloads on a machine without a network:
//! `cargo run --release -p wb-fake-hub --example serve -- models/OWNER/NAME=FOLDER datasets/OWNER/NAME=FOLDER ...`
#![allow(clippy::print_stdout, reason = "an example says where it is")]

use std::path::Path;

use wb_fake_hub::FakeHub;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let hub = FakeHub::start()?;
    for given in std::env::args().skip(1) {
        let (name, folder) = given.split_once('=').ok_or("expected models/OWNER/NAME=FOLDER")?;
        let (kind, id) = name.split_once('/').ok_or("expected models/OWNER/NAME=FOLDER")?;
        println!("{name} at {}", hub.add_folder(kind, id, Path::new(folder))?);
    }
    println!("export HF_ENDPOINT={}", hub.endpoint());
    loop {
        std::thread::park();
    }
}
