//! Changes to configuration files: all of them prepared and shown before the first is written.

use std::{
    fs,
    path::{Path, PathBuf},
};

use wb_core::{Error, Result, atomic};

use crate::{
    agent::{Agent, AgentScope},
    blocks, diff,
    entry::{HeldEntry, NAME, ServerEntry, TakenOut},
    fault::TextFault,
    files::{FileText, put_block},
    machine::{Machine, utf8},
    places::{AgentFile, configs, format, instructions},
    status::found_by,
};

/// The agents to change, and where.
#[derive(Debug, Clone, Default)]
pub struct AgentsRequest {
    /// The agents; none for those that are found on this machine.
    pub agents: Vec<Agent>,
    /// The reach of the entries.
    pub scope: AgentScope,
    /// The project's folder; a person's entries are for that project alone where one is named.
    pub project: Option<PathBuf>,
    /// Instructions to search with `wb`, for agents that read a file of them.
    pub instructions: bool,
}

/// A file before and after.
#[derive(Debug, Clone)]
pub struct FileChange {
    /// Agents that read it.
    pub agents: Vec<Agent>,
    /// The file.
    pub path: PathBuf,
    /// The text after; none where the file goes.
    pub after: Option<String>,
    /// The path as a person reads it.
    shown: String,
    file: FileText,
    /// Folders above the file that go with it, if they are empty then.
    folders: usize,
}

/// Changes that are ready to be written.
#[derive(Debug, Default)]
pub struct Plan {
    /// The changes, each of another file.
    pub changes: Vec<FileChange>,
    /// Sentences on agents for which nothing is to be done.
    pub remarks: Vec<String>,
    /// Files that cannot be changed; they stay as they are.
    pub faults: Vec<Error>,
}

/// Plans the entries of the server for agents.
pub fn plan_install(machine: &Machine, request: &AgentsRequest) -> Result<Plan> {
    let project = folder(request.project.as_deref())?;
    let mut agents = request.agents.clone();
    if agents.is_empty() {
        agents.extend(Agent::ALL.iter().filter(|&&agent| found_by(machine, agent, request.scope, &project).is_some()));
    }
    let mut plan = Plan::default();
    if agents.is_empty() {
        let names = Agent::ALL.map(Agent::name).join(", ");
        plan.remarks.push(format!("no agent was found here; `--agent NAME` names one of {names}"));
    }
    for agent in agents {
        let argument = match (request.scope, &request.project) {
            (AgentScope::Project, _) => agent.folder_variable().map(str::to_owned),
            (AgentScope::User, Some(_)) => Some(utf8(&project)?),
            (AgentScope::User, None) => None,
        };
        let entry = ServerEntry::serving(&machine.command, argument.as_deref());
        let put = plan.put_entry(machine, agent, &configs(machine, agent, request.scope, &project), &entry);
        plan.faults.extend(put.err());
        if request.instructions {
            let put = plan.put_instructions(machine, agent, request.scope, &project);
            plan.faults.extend(put.err());
        }
    }
    Ok(plan)
}

/// Plans to take the server and the instructions out again, of all agents where none is named.
pub fn plan_uninstall(machine: &Machine, request: &AgentsRequest) -> Result<Plan> {
    let project = folder(request.project.as_deref())?;
    let all = Agent::ALL.to_vec();
    let agents = if request.agents.is_empty() { all } else { request.agents.clone() };
    let mut plan = Plan::default();
    for &agent in &agents {
        for file in configs(machine, agent, request.scope, &project) {
            let taken = plan.take_entry(machine, agent, &file);
            plan.faults.extend(taken.err());
        }
        let taken = plan.take_instructions(machine, agent, &agents, request.scope, &project);
        plan.faults.extend(taken.err());
    }
    if plan.changes.is_empty() && plan.faults.is_empty() {
        plan.remarks.push("there is nothing of wb to take out".to_owned());
    }
    Ok(plan)
}

impl Plan {
    /// The changes as a unified diff.
    pub fn diff(&self) -> String {
        let nothing = "/dev/null";
        let one = |change: &FileChange| {
            let before = change.file.text.as_deref();
            let name = |is_there: bool| if is_there { change.shown.as_str() } else { nothing };
            let (from, to) = (name(before.is_some()), name(change.after.is_some()));
            diff::unified((from, before.unwrap_or_default()), (to, change.after.as_deref().unwrap_or_default()))
        };
        self.changes.iter().map(one).collect()
    }

    /// Writes the changes, if no file has changed since it was read.
    pub fn write(&self) -> Result<()> {
        for change in &self.changes {
            if FileText::read(&change.path)? != change.file {
                return Err(Error::file(&change.path, "the file has changed since it was read; nothing is written")
                    .with_hint("give the same command again"));
            }
        }
        self.changes.iter().try_for_each(FileChange::write)
    }

    fn put_entry(&mut self, machine: &Machine, agent: Agent, files: &[AgentFile], entry: &ServerEntry) -> Result<()> {
        let mut texts = Vec::new();
        for file in files {
            texts.push((file, FileText::read(&file.path)?));
        }
        let holds = |(file, text): &(&AgentFile, FileText)| match &text.text {
            None => Ok(false),
            Some(text) => {
                let held = format(agent).held(text, &entry.command).map_err(|fault| fault.of_file(&file.path, text))?;
                Ok(held != HeldEntry::Absent)
            }
        };
        let held = texts.iter().map(holds).collect::<Result<Vec<bool>>>()?;
        let chosen = held.iter().position(|&held| held);
        let chosen = chosen.or_else(|| texts.iter().position(|(_, text)| text.text.is_some())).unwrap_or_default();
        let (file, text) = texts.swap_remove(chosen);
        let put = format(agent).put(text.text.as_deref(), file.folder_is_new(), entry);
        match put.map_err(|fault| fault.of_file(&file.path, text.text.as_deref().unwrap_or_default()))? {
            None => self.remarks.push(format!("{}: already there, in {}", agent.name(), machine.shown(&file.path))),
            Some(after) => self.change(machine, agent, file, text, Some(after), 0)?,
        }
        Ok(())
    }

    fn put_instructions(&mut self, machine: &Machine, agent: Agent, scope: AgentScope, project: &Path) -> Result<()> {
        let Some(file) = instructions(machine, agent, scope, project) else {
            self.remarks.push(format!("{}: has no file for instructions of a person", agent.name()));
            return Ok(());
        };
        if self.is_changed(agent, &file.path) {
            return Ok(());
        }
        let text = FileText::read(&file.path)?;
        match faults_of(&file, &text, |text| put_block(text, file.folder_is_new()))? {
            None => self.remarks.push(format!("{}: already there, in {}", agent.name(), machine.shown(&file.path))),
            Some(after) => self.change(machine, agent, &file, text, Some(after), 0)?,
        }
        Ok(())
    }

    fn take_entry(&mut self, machine: &Machine, agent: Agent, file: &AgentFile) -> Result<()> {
        let text = FileText::read(&file.path)?;
        let Some(before) = text.text.as_deref() else { return Ok(()) };
        let taken = faults_of(file, &text, |_| format(agent).take_out(before, &machine.command))?;
        if taken == TakenOut::Nothing {
            let held = faults_of(file, &text, |_| format(agent).held(before, &machine.command))?;
            if matches!(held, HeldEntry::Foreign(_)) {
                let shown = machine.shown(&file.path);
                self.remarks.push(format!("{}: the server `{NAME}` in {shown} is not ours, and stays", agent.name()));
            }
        }
        self.taken(machine, agent, file, text, taken)
    }

    /// Takes the instructions out, unless an agent that stays reads them too.
    fn take_instructions(
        &mut self,
        machine: &Machine,
        agent: Agent,
        leaving: &[Agent],
        scope: AgentScope,
        project: &Path,
    ) -> Result<()> {
        let Some(file) = instructions(machine, agent, scope, project) else { return Ok(()) };
        if self.is_changed(agent, &file.path) {
            return Ok(());
        }
        let text = FileText::read(&file.path)?;
        let Some(before) = text.text.as_deref().filter(|text| blocks::has_block(text)) else { return Ok(()) };
        let stays = |other: &&Agent| {
            let same = instructions(machine, **other, scope, project).is_some_and(|theirs| theirs.path == file.path);
            let is_configured = || {
                let files = configs(machine, **other, scope, project);
                files.iter().any(|file| {
                    let text = FileText::read(&file.path).ok().and_then(|text| text.text).unwrap_or_default();
                    matches!(format(**other).held(&text, &machine.command), Ok(HeldEntry::Ours(_)))
                })
            };
            !leaving.contains(other) && same && is_configured()
        };
        if let Some(other) = Agent::ALL.iter().find(stays) {
            let shown = machine.shown(&file.path);
            self.remarks.push(format!("the instructions in {shown} stay: {} reads them too", other.name()));
            return Ok(());
        }
        let taken = faults_of(&file, &text, |_| blocks::take_out(before))?;
        self.taken(machine, agent, &file, text, taken)
    }

    fn taken(
        &mut self,
        machine: &Machine,
        agent: Agent,
        file: &AgentFile,
        text: FileText,
        taken: TakenOut,
    ) -> Result<()> {
        match taken {
            TakenOut::Nothing => Ok(()),
            TakenOut::Rest(rest) => self.change(machine, agent, file, text, Some(rest), 0),
            TakenOut::File { folders } => {
                self.change(machine, agent, file, text, None, if folders { file.own_folders } else { 0 })
            }
        }
    }

    fn change(
        &mut self,
        machine: &Machine,
        agent: Agent,
        file: &AgentFile,
        text: FileText,
        after: Option<String>,
        folders: usize,
    ) -> Result<()> {
        text.check_writable()?;
        let (path, shown) = (file.path.clone(), machine.shown(&file.path));
        self.changes.push(FileChange { agents: vec![agent], path, after, shown, file: text, folders });
        Ok(())
    }

    /// True where another agent has changed the file already; then it is of both.
    fn is_changed(&mut self, agent: Agent, path: &Path) -> bool {
        let change = self.changes.iter_mut().find(|change| change.path == path);
        change.map(|change| change.agents.push(agent)).is_some()
    }
}

impl FileChange {
    /// The change in words: `claude: ~/.claude.json`
    pub fn told(&self) -> String {
        let agents: Vec<&str> = self.agents.iter().map(|agent| agent.name()).collect();
        let gone = if self.after.is_none() { ", removed" } else { "" };
        format!("{}: {}{gone}", agents.join(", "), self.shown)
    }

    fn write(&self) -> Result<()> {
        if let Some(after) = &self.after {
            return self.file.write(after);
        }
        // A link stays: whoever made it may fill it again.
        atomic::remove_file(&self.file.target)?;
        for folder in self.path.ancestors().skip(1).take(self.folders) {
            // One with other files in it stays.
            if fs::remove_dir(folder).is_err() {
                break;
            }
        }
        Ok(())
    }
}

/// The project's folder, as an absolute path.
pub(crate) fn folder(project: Option<&Path>) -> Result<PathBuf> {
    let given = project.unwrap_or(Path::new("."));
    let folder = given.canonicalize().map_err(Error::io("read", given))?;
    if folder.is_dir() { Ok(folder) } else { Err(Error::file(given, "a folder was expected")) }
}

/// Reads a text, and tells its faults with the file's name.
fn faults_of<T>(
    file: &AgentFile,
    text: &FileText,
    read: impl FnOnce(Option<&str>) -> Result<T, TextFault>,
) -> Result<T> {
    let text = text.text.as_deref();
    read(text).map_err(|fault| fault.of_file(&file.path, text.unwrap_or_default()))
}
