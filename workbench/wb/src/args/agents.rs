//! Arguments of `wb agents`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use wb_agents::{Agent, AgentScope};

/// A command on the configurations of agents.
#[derive(Debug, Subcommand)]
pub enum AgentsCommand {
    /// Shows what it would write into them, asks, and writes it.
    #[command(after_help = "Example:\n  wb agents install --agent cursor --dry-run")]
    Install(AgentsChange),
    /// Shows what it would take out of them, asks, and takes it out; every other byte stays.
    #[command(after_help = "Example:\n  wb agents uninstall --scope project")]
    Uninstall(AgentsChange),
    /// Says which agents are here, and which of them know the server.
    Status {
        /// The project's folder.
        #[arg(long, value_name = "DIR", default_value = ".")]
        project: PathBuf,
    },
}

/// Agents to change, and where.
#[derive(Debug, Args)]
pub struct AgentsChange {
    /// Agents: claude, codex, cursor, opencode, gemini, vscode [default: those that are found]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub agent: Vec<Agent>,
    /// Your own configuration, for all projects, or that of a project, for whoever works in it.
    #[arg(long, value_name = "user|project", default_value = "user")]
    pub scope: AgentScope,
    /// The folder of `--scope project` [default: the current one]; with `--scope user`, the server is for that project alone
    #[arg(long, value_name = "DIR")]
    pub project: Option<PathBuf>,
    /// Puts a few lines into CLAUDE.md, GEMINI.md or AGENTS.md too, that tell the agent to search with wb.
    #[arg(long)]
    pub instructions: bool,
    /// Shows the changes, and writes nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Writes without asking.
    #[arg(long)]
    pub yes: bool,
}
