//! `wb`: one YAML in, one subcommand at a time.

mod args;
mod commands;
mod interrupt;
mod output;
mod session;

use std::process::ExitCode;

use clap::Parser;

/// Threads allocate at once while encoding and training; the system's allocator makes them wait for each other.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let arguments = args::Arguments::parse();
    output::clear_before_panics();
    wb_pipeline::output::listen(output::Printer);
    wb_pipeline::manifest::built_from(
        option_env!("WB_COMMIT").unwrap_or_default(),
        option_env!("WB_SOURCE").unwrap_or_default(),
    );
    session::begin(arguments.command.runs(), &arguments.downloads);
    match commands::run(arguments.command) {
        Ok(end) => ExitCode::from(end as u8),
        Err(error) => {
            output::error(&error);
            ExitCode::from(commands::End::of_error(&error) as u8)
        }
    }
}
