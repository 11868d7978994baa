//! The MCP server in the configurations of agents: planned, shown, agreed to, written.

use std::path::Path;

use anyhow::Result;
use wb_agents::{AgentsRequest, FileChange, Machine, Plan};

use crate::output;

/// A plan for a machine: [`wb_agents::plan_install`] or [`wb_agents::plan_uninstall`].
pub type Planner = fn(&Machine, &AgentsRequest) -> wb_agents::Result<Plan>;

/// Shows what would change, and writes it where that is agreed to; true where nothing is left to write, or `dry_run` asks
/// for no more.
///
/// # Errors
///
/// After the other files are written, if one cannot be changed: the last such fault, where all before it are told.
pub fn change(planner: Planner, request: &AgentsRequest, dry_run: bool, agrees: impl FnOnce() -> bool) -> Result<bool> {
    let mut plan = planner(&Machine::of_process()?, request)?;
    plan.diff().lines().for_each(output::line);
    plan.remarks.iter().for_each(output::note);
    let is_done = dry_run || plan.changes.is_empty();
    let is_agreed = !is_done && agrees();
    if is_agreed {
        plan.write()?;
        plan.changes.iter().map(FileChange::told).for_each(output::note);
    } else if !is_done {
        output::note("nothing was written; the same command with --yes writes it");
    }
    let last = plan.faults.pop();
    plan.faults.iter().for_each(|fault| output::note(format!("error: {}", fault.in_one_line())));
    last.map_or(Ok(is_done || is_agreed), |fault| Err(fault.into()))
}

/// Says which agents are here, and which of them know the server.
pub fn status(project: &Path) -> Result<()> {
    let machine = Machine::of_process()?;
    let all = wb_agents::status(&machine, Some(project))?;
    all.iter().flat_map(|agent| agent.told(&machine)).for_each(output::line);
    Ok(())
}
