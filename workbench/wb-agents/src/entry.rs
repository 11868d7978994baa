//! The entry of the server, whatever the format that it is written in.

use std::path::Path;

/// Name of the server in every configuration.
pub(crate) const NAME: &str = "wb";

/// The subcommand that serves; an entry that runs it is ours.
const SERVES: &str = "mcp";

/// A server that an agent starts: a program and its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerEntry {
    /// The program, as a path.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
}

impl ServerEntry {
    /// The entry that starts the server, for a project if one is named.
    pub(crate) fn serving(command: &str, project: Option<&str>) -> Self {
        let mut args = vec![SERVES.to_owned()];
        args.extend(project.into_iter().flat_map(|folder| ["--project".to_owned(), folder.to_owned()]));
        Self { command: command.to_owned(), args }
    }

    /// True where it is this program's, or that of a `wb` elsewhere.
    pub(crate) fn is_ours(&self, command: &str) -> bool {
        // Files that were written on the other kind of system have the other kind of paths.
        let name = self.command.rsplit(['/', '\\']).next().unwrap_or_default();
        let is_wb = Path::new(name).file_stem().is_some_and(|stem| stem == "wb") || self.command == command;
        is_wb && self.args.first().is_some_and(|first| first == SERVES)
    }
}

/// An entry of our name in a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeldEntry {
    /// There is none.
    Absent,
    /// One that runs `wb mcp`.
    Ours(ServerEntry),
    /// One that runs something else, by its first byte.
    Foreign(usize),
}

/// A text after our entry was taken out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TakenOut {
    /// There was no entry of ours.
    Nothing,
    /// The rest.
    Rest(String),
    /// Nothing is left of a file that we made, nor, if so, need its folders be.
    File {
        /// True where its folders were made with it.
        folders: bool,
    },
}
