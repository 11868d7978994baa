//! Arguments of `wb mcp`.

use std::{net::SocketAddr, path::PathBuf};

use clap::Args;

/// A project to answer agents about, and the way that they reach it.
#[derive(Debug, Args)]
pub struct McpArguments {
    /// The project's folder.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub project: PathBuf,
    /// The file of the index, instead of one of the cache folder.
    #[arg(long, value_name = "FILE")]
    pub index: Option<PathBuf>,
    /// Serves over HTTP, in place of standard input and output [default: 127.0.0.1:8722; port 0: a free one]
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "127.0.0.1:8722")]
    pub http: Option<SocketAddr>,
    /// A further name that clients call this machine by; may stand several times.
    #[arg(long, value_name = "NAME", requires = "http")]
    pub host: Vec<String>,
    /// A file with the token that clients have to send; without one, this machine alone is served.
    #[arg(long, value_name = "FILE", requires = "http")]
    pub token_file: Option<PathBuf>,
}
