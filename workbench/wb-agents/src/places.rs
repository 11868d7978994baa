//! The files that each agent reads, after its own documentation:
//!
//! * Claude Code: `.mcp.json`; `~/.claude.json`, or the same name in `CLAUDE_CONFIG_DIR` (code.claude.com/docs/en/mcp).
//! * Codex: `config.toml` in `.codex` of a trusted project, and in `CODEX_HOME` or `~/.codex` (openai/codex,
//!   docs/config.md).
//! * Cursor: `mcp.json` in `.cursor` of the project and of the home folder (cursor.com/docs/mcp).
//! * OpenCode: `opencode.json` or `opencode.jsonc` in the project, and in `OPENCODE_CONFIG_DIR` or the XDG folder's
//!   `opencode`; version 2 reads the servers of version 1, and has `mcp.servers` too (opencode.ai/docs/migrate-v1).
//! * Gemini CLI: `settings.json` in `.gemini` of the project, and of `GEMINI_CLI_HOME` or the home folder
//!   (google-gemini/gemini-cli, docs/tools/mcp-server.md).
//! * VS Code: `mcp.json` in `.vscode`, and in the user folder of its data (code.visualstudio.com/docs/agents/reference/
//!   mcp-configuration).

use std::path::{Path, PathBuf};

use crate::{
    agent::{Agent, AgentScope},
    json::{EntryForm, JsonServers},
    machine::Machine,
};

/// Format of a configuration.
#[derive(Debug, Clone, Copy)]
pub enum ConfigFormat {
    /// JSON with comments.
    Json(JsonServers),
    /// TOML.
    Toml,
}

/// A file, and the agent's own folders above it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentFile {
    /// The file.
    pub path: PathBuf,
    /// Folders above it that are the agent's alone, and go with the file where they came with it.
    pub own_folders: usize,
}

impl AgentFile {
    fn new(path: PathBuf, own_folders: usize) -> Self {
        Self { path, own_folders }
    }

    /// True where the folder is not there yet.
    pub fn folder_is_new(&self) -> bool {
        self.own_folders > 0 && self.path.parent().is_some_and(|folder| !folder.exists())
    }
}

/// The format that an agent's configuration has.
pub fn format(agent: Agent) -> ConfigFormat {
    let (key, form) = match agent {
        Agent::Codex => return ConfigFormat::Toml,
        Agent::Claude => ("mcpServers", EntryForm::Typed),
        Agent::Cursor | Agent::Gemini => ("mcpServers", EntryForm::Plain),
        Agent::OpenCode => ("mcp", EntryForm::OpenCode),
        Agent::VsCode => ("servers", EntryForm::Typed),
    };
    ConfigFormat::Json(JsonServers { key, form })
}

/// The files in which an agent looks for servers, all of which it reads; the first is the one to make.
pub fn configs(machine: &Machine, agent: Agent, scope: AgentScope, project: &Path) -> Vec<AgentFile> {
    if scope == AgentScope::Project {
        let one = |path: &str, own| vec![AgentFile::new(project.join(path), own)];
        return match agent {
            Agent::Claude => one(".mcp.json", 0),
            Agent::Codex => one(".codex/config.toml", 1),
            Agent::Cursor => one(".cursor/mcp.json", 1),
            Agent::OpenCode => opencode(project, 0),
            Agent::Gemini => one(".gemini/settings.json", 1),
            Agent::VsCode => one(".vscode/mcp.json", 1),
        };
    }
    let (folder, own) = user_folder(machine, agent);
    match agent {
        Agent::Claude if own == 0 => vec![AgentFile::new(folder.join(".claude.json"), 0)],
        Agent::Claude => vec![AgentFile::new(machine.home.join(".claude.json"), 0)],
        Agent::Codex => vec![AgentFile::new(folder.join("config.toml"), own)],
        Agent::OpenCode => opencode(&folder, own),
        Agent::Gemini => vec![AgentFile::new(folder.join("settings.json"), own)],
        Agent::Cursor | Agent::VsCode => vec![AgentFile::new(folder.join("mcp.json"), own)],
    }
}

/// The file of instructions that an agent reads, if it reads one of that scope.
pub fn instructions(machine: &Machine, agent: Agent, scope: AgentScope, project: &Path) -> Option<AgentFile> {
    let name = match agent {
        Agent::Claude => "CLAUDE.md",
        Agent::Gemini => "GEMINI.md",
        Agent::Codex | Agent::Cursor | Agent::OpenCode | Agent::VsCode => "AGENTS.md",
    };
    if scope == AgentScope::Project {
        return Some(AgentFile::new(project.join(name), 0));
    }
    // Rules of a person are no file in the editors.
    let (folder, own) = user_folder(machine, agent);
    (!matches!(agent, Agent::Cursor | Agent::VsCode)).then(|| AgentFile::new(folder.join(name), own))
}

/// A person's folder of an agent, and how many folders at its end are the agent's; none where a variable names it.
pub fn user_folder(machine: &Machine, agent: Agent) -> (PathBuf, usize) {
    let at_home = |name: &str| (machine.home.join(name), 1);
    let named = |variable: &str| machine.folder(variable).map(|folder| (folder, 0));
    match agent {
        Agent::Claude => named("CLAUDE_CONFIG_DIR").unwrap_or_else(|| at_home(".claude")),
        Agent::Codex => named("CODEX_HOME").unwrap_or_else(|| at_home(".codex")),
        Agent::Cursor => at_home(".cursor"),
        Agent::OpenCode => named("OPENCODE_CONFIG_DIR").unwrap_or_else(|| (machine.xdg().join("opencode"), 1)),
        Agent::Gemini => {
            let home = machine.folder("GEMINI_CLI_HOME").unwrap_or_else(|| machine.home.clone());
            (home.join(".gemini"), 1)
        }
        Agent::VsCode => match machine.folder("VSCODE_PORTABLE") {
            Some(portable) => (portable.join("user-data/User"), 2),
            None => (visual_studio_code(machine), 2),
        },
    }
}

/// The user folder of VS Code, or of a sibling where that alone is there.
fn visual_studio_code(machine: &Machine) -> PathBuf {
    let data = if cfg!(target_os = "macos") {
        machine.home.join("Library/Application Support")
    } else if cfg!(windows) {
        machine.folder("APPDATA").unwrap_or_else(|| machine.home.join("AppData/Roaming"))
    } else {
        machine.xdg()
    };
    let names = ["Code", "Code - Insiders", "VSCodium"];
    let there = names.iter().find(|name| data.join(name).is_dir());
    data.join(there.unwrap_or(&names[0])).join("User")
}

fn opencode(folder: &Path, own_folders: usize) -> Vec<AgentFile> {
    ["opencode.json", "opencode.jsonc"].map(|name| AgentFile::new(folder.join(name), own_folders)).into()
}
