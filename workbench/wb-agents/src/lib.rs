//! Agents that call `wb`: the MCP server written into their configuration files, and taken out again to the byte.
//!
//! [`plan_install`] and [`plan_uninstall`] read, and say what would change; [`Plan::write`] writes. [`status`] says which
//! agents are here and which of them know the server.
//!
//! Nothing is kept beside the files: the form of what is written says what was there before. What goes into an empty
//! object stands right after its brace, with a space where we made the object; a new file has a line end at its end where
//! its folder was new, too. Before a change is offered it is taken back on paper, and refused where that does not give
//! the same bytes.

mod agent;
mod appended;
mod blocks;
mod diff;
mod entry;
mod fault;
mod files;
mod json;
mod machine;
mod places;
mod plan;
mod status;
mod toml;

pub use agent::{Agent, AgentScope};
pub use entry::ServerEntry;
pub use machine::Machine;
pub use plan::{AgentsRequest, FileChange, Plan, plan_install, plan_uninstall};
pub use status::{AgentStatus, EntryState, status};
pub use wb_core::{Error, Result};
