//! `wb`: one YAML in, one subcommand at a time.

mod args;
mod commands;
mod interrupt;
mod output;
mod session;

use std::process::ExitCode;

use clap::Parser;
use wb_core::remote;

#[global_allocator]
static ALLOCATOR: wb_pipeline::allocator::Allocator = wb_pipeline::allocator::Allocator;

fn main() -> ExitCode {
    wb_pipeline::allocator::give_back_soon();
    let mut arguments = args::Arguments::parse();
    output::clear_before_panics();
    wb_pipeline::output::listen(output::Printer);
    wb_pipeline::manifest::built_from(
        option_env!("WB_COMMIT").unwrap_or_default(),
        option_env!("WB_SOURCE").unwrap_or_default(),
    );
    let begun = session::begin(arguments.command.places(), &arguments.downloads);
    let ended = begun.map_err(Into::into).and_then(|()| commands::run(arguments.command));
    // However it ended, what was done is kept.
    let not_kept = remote::let_go().into_iter().chain(wb_pipeline::output::unwritten()).map(|error| Err(error.into()));
    std::iter::once(ended).chain(not_kept).fold(ExitCode::SUCCESS, |code, end| match end {
        Ok(commands::End::Done) => code,
        Ok(end) => ExitCode::from(end as u8),
        Err(error) => {
            output::error(&error);
            ExitCode::from(commands::End::of_error(&error) as u8)
        }
    })
}
