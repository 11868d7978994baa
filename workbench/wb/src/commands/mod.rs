//! One file per subcommand.

mod ab;
mod agents;
mod bench;
mod check;
mod compare;
mod data_get;
mod doctor;
mod encode;
mod experiment;
mod export;
mod init;
mod judge_sql;
mod ls;
mod mcp;
mod mine_negatives;
mod recipes;
mod report;
mod search;
mod shards;
mod structure;
mod synth;
mod text2sql;

use anyhow::Result;
use clap::CommandFactory;

use crate::args::{Arguments, Command, DataArguments, DataCommand};

/// The end of a command, as the process's exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Done as asked.
    Done = 0,
    /// A gate said no: `--require`, `--no-worse`, a broken device.
    Refused = 1,
    /// An error.
    Error = 2,
    /// An error that may not come again: a server that did not answer, a disk that was full, a rank that is gone.
    TryAgain = wb_pipeline::shards::TRY_AGAIN as isize,
    /// Stopped by Ctrl-C, with a checkpoint.
    Interrupted = 130,
}

impl End {
    /// The end of a command with an error.
    pub fn of_error(error: &anyhow::Error) -> Self {
        if wb_pipeline::session::may_pass(error) { Self::TryAgain } else { Self::Error }
    }

    /// The end that another process of the same command came to.
    pub fn of_code(code: u8) -> Self {
        let all = [Self::Done, Self::Refused, Self::TryAgain, Self::Interrupted];
        all.into_iter().find(|end| *end as u8 == code).unwrap_or(Self::Error)
    }
}

/// Runs a command.
pub fn run(command: Command) -> Result<End> {
    wb_encoder::kernels::instruction_set()?;
    match command {
        Command::Run(arguments) => experiment::run(arguments, true),
        Command::Init(arguments) => init::init(&arguments),
        Command::Check(arguments) => check::check(arguments),
        Command::Synth(arguments) => synth::synth(&arguments),
        Command::Data(DataArguments { command: Some(DataCommand::Get(arguments)), .. }) => data_get::get(&arguments),
        Command::Data(arguments) => experiment::data(arguments.given),
        Command::Train(arguments) => experiment::run(arguments, false),
        Command::MineNegatives(arguments) => mine_negatives::mine_negatives(&arguments),
        Command::Bench(arguments) => bench::bench(&arguments),
        Command::Text2Sql(arguments) => text2sql::text2sql(&arguments),
        Command::Ab(arguments) => ab::ab(&arguments),
        Command::Compare(arguments) => compare::compare(&arguments),
        Command::Report(arguments) => report::report(&arguments),
        Command::Index(arguments) => search::index(arguments),
        Command::Search(arguments) => search::search(*arguments),
        Command::Structure(command) => structure::run(command),
        Command::Mcp(arguments) => mcp::mcp(arguments),
        Command::Agents(arguments) => agents::agents(arguments),
        Command::Encode(arguments) => encode::encode(arguments),
        Command::Shards(command) => shards::shards(command),
        Command::Export(arguments) => export::export(&arguments),
        Command::Ls(arguments) => ls::ls(&arguments),
        Command::Doctor(arguments) => doctor::doctor(&arguments),
        Command::Probe(arguments) => doctor::probe(&arguments),
        Command::SqlWorker => judge_sql::worker(),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Arguments::command(), "wb", &mut script);
            crate::output::line(String::from_utf8_lossy(&script).trim_end());
            Ok(End::Done)
        }
    }
}

/// Takes what asked a language model and was stopped by a person for ended, and for no error.
fn unless_stopped(result: Result<()>) -> Result<End> {
    match result {
        Ok(()) => Ok(End::Done),
        Err(error) if wb_pipeline::interrupt::is_stopped(&error) => {
            crate::output::note("stopped; the same command goes on from what was answered");
            Ok(End::Interrupted)
        }
        Err(error) => Err(error),
    }
}
