//! A home folder and a project in a temporary folder.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use tempfile::TempDir;
use wb_agents::{Agent, AgentScope, AgentsRequest, EntryState, Machine, Plan, plan_install, plan_uninstall, status};

/// A made-up machine.
pub struct Home {
    folder: TempDir,
    pub machine: Machine,
}

impl Home {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["home", "project"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let machine = Machine {
            home: folder.path().join("home"),
            variables: BTreeMap::new(),
            command: "/opt/tools/bin/wb".to_owned(),
        };
        Self { folder, machine }
    }

    pub fn root(&self) -> &Path {
        self.folder.path()
    }

    pub fn project(&self) -> PathBuf {
        self.root().join("project").canonicalize().unwrap()
    }

    /// Writes a file, its path below the folder of both.
    pub fn put(&self, path: &str, text: &str) -> PathBuf {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    pub fn text(&self, path: &str) -> String {
        fs::read_to_string(self.root().join(path)).unwrap()
    }

    pub fn request(&self, agent: Agent, scope: AgentScope) -> AgentsRequest {
        let project = (scope == AgentScope::Project).then(|| self.project());
        AgentsRequest { agents: vec![agent], scope, project, instructions: false }
    }

    pub fn install(&self, request: &AgentsRequest) -> Plan {
        written(plan_install(&self.machine, request).unwrap())
    }

    pub fn uninstall(&self, request: &AgentsRequest) -> Plan {
        written(plan_uninstall(&self.machine, request).unwrap())
    }

    /// The state of an agent's first configuration of a scope that is there.
    pub fn state(&self, agent: Agent, scope: AgentScope) -> EntryState {
        let all = status(&self.machine, Some(&self.project())).unwrap();
        let one = all.into_iter().find(|one| one.agent == agent).unwrap();
        let mut of_scope = one.entries.into_iter().filter(|(of, _, _)| *of == scope).map(|(_, _, state)| state);
        let first = of_scope.next().unwrap();
        of_scope.find(|state| *state == EntryState::Current).unwrap_or(first)
    }

    /// Every file with its bytes, and every folder.
    pub fn snapshot(&self) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
        let mut found = BTreeMap::new();
        let mut open = vec![self.root().to_owned()];
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    open.push(path.clone());
                    found.insert(path, None);
                } else {
                    let bytes = fs::read(&path).ok();
                    found.insert(path, Some(bytes.unwrap_or_default()));
                }
            }
        }
        found
    }
}

fn written(plan: Plan) -> Plan {
    assert!(plan.faults.is_empty(), "{:?}", plan.faults);
    plan.write().unwrap();
    plan
}
