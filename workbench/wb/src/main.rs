//! `wb`: one YAML in, one subcommand at a time.

mod args;
mod commands;
mod config;
mod interrupt;
mod output;
mod pipeline;
mod session;

use std::process::ExitCode;

use clap::Parser;

/// Threads allocate at once while encoding and training; the system's allocator makes them wait for each other.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let arguments = args::Arguments::parse();
    session::begin(arguments.command.runs(), &arguments.downloads);
    match commands::run(arguments.command) {
        Ok(end) => ExitCode::from(end as u8),
        Err(error) => {
            output::error(&error);
            ExitCode::from(commands::End::Error as u8)
        }
    }
}
