//! The agents of a machine: how each is found, and whether it knows the server.

use std::path::{Path, PathBuf};

use crate::{
    agent::{Agent, AgentScope},
    blocks::has_block,
    entry::HeldEntry,
    files::FileText,
    machine::Machine,
    places::{AgentFile, configs, format, instructions, user_folder},
    plan::folder,
};
use wb_core::Result;

/// Knowledge that a configuration has of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryState {
    /// There is no file.
    NoFile,
    /// The file has no entry of that name.
    Absent,
    /// Ours, which starts this program.
    Current,
    /// Ours, which starts another program.
    Other {
        /// The program, as the file has it.
        command: String,
        /// True where there is such a program.
        exists: bool,
    },
    /// An entry of that name starts something else.
    Foreign,
    /// The file cannot be read, in words.
    Fault(String),
}

/// An agent, and what its configurations have.
#[derive(Debug, Clone)]
pub struct AgentStatus {
    /// The agent.
    pub agent: Agent,
    /// The file, folder or program that shows that it is here.
    pub found: Option<PathBuf>,
    /// Configurations by reach; of several files of one reach, those that are there.
    pub entries: Vec<(AgentScope, PathBuf, EntryState)>,
    /// Files with our instructions.
    pub instructions: Vec<PathBuf>,
}

/// Looks at all agents, and at the project's folder.
pub fn status(machine: &Machine, project: Option<&Path>) -> Result<Vec<AgentStatus>> {
    let project = folder(project)?;
    Ok(Agent::ALL.map(|agent| of_agent(machine, agent, &project)).into())
}

fn of_agent(machine: &Machine, agent: Agent, project: &Path) -> AgentStatus {
    let mut entries = Vec::new();
    let mut with_instructions = Vec::new();
    for scope in [AgentScope::User, AgentScope::Project] {
        let files = configs(machine, agent, scope, project);
        let is_listed = |(at, file): &(usize, &AgentFile)| {
            file.path.exists() || *at == 0 && files.iter().all(|file| !file.path.exists())
        };
        for (_, file) in files.iter().enumerate().filter(is_listed) {
            entries.push((scope, file.path.clone(), state(machine, agent, &file.path)));
        }
        let file = instructions(machine, agent, scope, project).map(|file| file.path);
        let has =
            |path: &PathBuf| FileText::read(path).is_ok_and(|file| file.text.is_some_and(|text| has_block(&text)));
        with_instructions.extend(file.filter(has));
    }
    AgentStatus {
        agent,
        found: found_by(machine, agent, AgentScope::Project, project),
        entries,
        instructions: with_instructions,
    }
}

fn state(machine: &Machine, agent: Agent, path: &Path) -> EntryState {
    let held = FileText::read(path).and_then(|file| match file.text {
        None => Ok(None),
        Some(text) => {
            let held = format(agent).held(&text, &machine.command);
            held.map(Some).map_err(|fault| fault.of_file(path, &text))
        }
    });
    match held {
        Err(error) => EntryState::Fault(error.in_one_line()),
        Ok(None) => EntryState::NoFile,
        Ok(Some(HeldEntry::Absent)) => EntryState::Absent,
        Ok(Some(HeldEntry::Foreign(_))) => EntryState::Foreign,
        Ok(Some(HeldEntry::Ours(entry))) if entry.command == machine.command => EntryState::Current,
        Ok(Some(HeldEntry::Ours(entry))) => {
            let program = Path::new(&entry.command);
            let is_path = program.components().count() > 1;
            let exists = if is_path { program.is_file() } else { machine.program(&entry.command).is_some() };
            EntryState::Other { command: entry.command, exists }
        }
    }
}

/// The file, folder or program that shows that an agent is here.
/// A file of a project shows it for entries of the project alone.
pub(crate) fn found_by(machine: &Machine, agent: Agent, scope: AgentScope, project: &Path) -> Option<PathBuf> {
    let program = agent.programs().iter().find_map(|name| machine.program(name));
    let (folder, _) = user_folder(machine, agent);
    let users = configs(machine, agent, AgentScope::User, project);
    let projects = configs(machine, agent, AgentScope::Project, project);
    let projects = projects.into_iter().filter(|_| scope == AgentScope::Project);
    let files = users.into_iter().chain(projects).map(|file| file.path);
    program.or_else(|| std::iter::once(folder).chain(files).find(|path| path.exists()))
}

impl AgentStatus {
    /// Lines for a person.
    pub fn told(&self, machine: &Machine) -> Vec<String> {
        let found =
            self.found.as_deref().map_or("not found".to_owned(), |path| format!("found: {}", machine.shown(path)));
        let mut lines = vec![format!("{:<9} {found}", self.agent.name())];
        for (scope, path, state) in &self.entries {
            let scope = match scope {
                AgentScope::User => "user",
                AgentScope::Project => "project",
            };
            let told = match state {
                EntryState::NoFile => "no file".to_owned(),
                EntryState::Absent => "not configured".to_owned(),
                EntryState::Current => "configured, starts this wb".to_owned(),
                EntryState::Other { command, exists: true } => format!("configured, starts another wb: {command}"),
                EntryState::Other { command, exists: false } => {
                    format!("configured, but {command} is not there; `wb agents install` renews it")
                }
                EntryState::Foreign => "has a server `wb` that is not ours".to_owned(),
                EntryState::Fault(words) => words.clone(),
            };
            lines.push(format!("  {scope:<7} {}: {}", machine.shown(path), wb_core::untrusted::clean(&told)));
        }
        lines.extend(self.instructions.iter().map(|path| format!("  instructions in {}", machine.shown(path))));
        lines
    }
}
