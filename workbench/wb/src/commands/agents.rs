//! `wb agents`: the MCP server in the configurations of agents.

use anyhow::Result;
use wb_agents::{AgentsRequest, plan_install, plan_uninstall};
use wb_pipeline::agents;

use super::End;
use crate::{args::AgentsCommand, output, session};

/// `wb agents`
pub fn agents(command: AgentsCommand) -> Result<End> {
    let (change, plan): (_, agents::Planner) = match command {
        AgentsCommand::Install(change) => (change, plan_install),
        AgentsCommand::Uninstall(change) => (change, plan_uninstall),
        AgentsCommand::Status { project } => return agents::status(&project).map(|()| End::Done),
    };
    let (scope, yes) = (change.scope, change.yes);
    let (project, instructions) = (change.project, change.instructions);
    let request = AgentsRequest { agents: change.agent, scope, project, instructions };
    let agrees = || yes || output::can_ask() && session::agrees("write this?", &mut std::io::stdin().lock());
    let is_done = agents::change(plan, &request, change.dry_run, agrees)?;
    Ok(if is_done { End::Done } else { End::Refused })
}
