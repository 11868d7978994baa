//! The agents that are known, and where each looks for its servers.

use std::str::FromStr;

use wb_core::suggest;

/// An agent that can call the MCP server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Agent {
    /// Claude Code.
    Claude,
    /// Codex CLI and its editor extension.
    Codex,
    /// Cursor and its command line.
    Cursor,
    /// OpenCode, 1 and 2.
    OpenCode,
    /// Gemini CLI.
    Gemini,
    /// Visual Studio Code.
    VsCode,
}

/// Reach of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AgentScope {
    /// A person's configuration, whatever the project.
    #[default]
    User,
    /// A project's configuration, for whoever works in its folder.
    Project,
}

impl Agent {
    /// Agents, in the order in which they are listed.
    pub const ALL: [Self; 6] = [Self::Claude, Self::Codex, Self::Cursor, Self::OpenCode, Self::Gemini, Self::VsCode];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Cursor => "cursor",
            Self::OpenCode => "opencode",
            Self::Gemini => "gemini",
            Self::VsCode => "vscode",
        }
    }

    /// Programs that start it, as they are looked for on the PATH.
    pub(crate) fn programs(self) -> &'static [&'static str] {
        match self {
            Self::Claude => &["claude"],
            Self::Codex => &["codex"],
            Self::Cursor => &["cursor", "cursor-agent"],
            Self::OpenCode => &["opencode", "opencode2"],
            Self::Gemini => &["gemini"],
            Self::VsCode => &["code", "code-insiders", "codium"],
        }
    }

    /// Variable of its configuration for the folder that is open, where it has one and would start the server elsewhere.
    pub(crate) fn folder_variable(self) -> Option<&'static str> {
        matches!(self, Self::Cursor | Self::VsCode).then_some("${workspaceFolder}")
    }
}

impl FromStr for Agent {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let names = Self::ALL.map(Self::name);
        let found = Self::ALL.into_iter().find(|agent| agent.name() == name);
        found.ok_or_else(|| suggest::hint(name, names).unwrap_or_default())
    }
}

impl FromStr for AgentScope {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "user" => Ok(Self::User),
            "project" => Ok(Self::Project),
            _ => Err("expected user or project".to_owned()),
        }
    }
}
