//! `wb mcp`: answers for agents, from a project's index.

use anyhow::Result;
use wb_mcp::{HttpAccess, LiveProject, read_token, serve_http, serve_stdio};
use wb_pipeline::search::opened_encoder;
use wb_search::IndexPlace;

use super::End;
use crate::{args::McpArguments, interrupt, output};

/// `wb mcp`
pub fn mcp(arguments: McpArguments) -> Result<End> {
    let McpArguments { project, index, http, host: hosts, token_file } = arguments;
    let project = LiveProject::new(IndexPlace::of(&project, index)?, Box::new(opened_encoder))?;
    let token = token_file.as_deref().map(read_token).transpose()?;
    interrupt::listen()?.while_asking(|stop| match http {
        None => serve_stdio(project, &stop),
        Some(address) => serve_http(project, HttpAccess { address, hosts, token }, &stop, |address| {
            output::note(format!("listening at {address}; Ctrl-C ends it"));
        }),
    })?;
    Ok(End::Done)
}
