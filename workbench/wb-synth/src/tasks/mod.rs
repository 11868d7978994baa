//! The tasks: what a pair is made of and how, read from files that anybody can add to.

mod task;

use std::path::{Path, PathBuf};

use wb_core::{Error, Result, Task, remote, suggest};

pub(crate) use task::environment;
pub use task::{SnippetContent, SnippetRole, Step, StepOutput, TaskFile, TaskType, VARIABLES};

use crate::config::TaskChoice;

/// The built-in files, with the names that errors give them.
const BUILT_IN: [(&str, &str); 4] = [
    ("tasks/text2code.yaml", include_str!("../../tasks/text2code.yaml")),
    ("tasks/code2text.yaml", include_str!("../../tasks/code2text.yaml")),
    ("tasks/code2code.yaml", include_str!("../../tasks/code2code.yaml")),
    ("tasks/hybrid.yaml", include_str!("../../tasks/hybrid.yaml")),
];

/// The tasks of a run in their fixed order: by kind, then as their files list them.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskCatalog {
    /// The tasks that take part, each with its kind's share of the items.
    pub tasks: Vec<ChosenTask>,
}

/// A task that takes part.
#[derive(Debug, Clone, PartialEq)]
pub struct ChosenTask {
    /// Its kind.
    pub kind: Task,
    /// Its definition.
    pub task: TaskType,
}

impl ChosenTask {
    /// `text2code/web_query`.
    pub fn name(&self) -> String {
        format!("{}/{}", self.kind.as_str(), self.task.id)
    }
}

impl TaskCatalog {
    /// The built-in tasks and those of further files; one that has a known name replaces it.
    pub fn load(files: &[PathBuf]) -> Result<Self> {
        let mut tasks = Vec::new();
        for (name, text) in BUILT_IN {
            add(&mut tasks, read(text, Path::new(name))?, false, name)?;
        }
        for path in files {
            let file: TaskFile = wb_core::config::load(&remote::local(path)?, &[])?;
            file.validate(path)?;
            add(&mut tasks, file, true, &path.display().to_string())?;
        }
        tasks.sort_by_key(|task: &ChosenTask| task.kind);
        Ok(Self { tasks })
    }

    /// Keeps the tasks that a configuration chooses; a name that nothing has is an error.
    pub fn choose(mut self, choice: &TaskChoice, key: &str) -> Result<Self> {
        match choice {
            TaskChoice::All => {}
            TaskChoice::Only(names) => {
                let known: Vec<String> = self.tasks.iter().map(ChosenTask::name).collect();
                if let Some(name) = names.iter().find(|name| !known.contains(name)) {
                    let hint = suggest::hint(name, known.iter().map(String::as_str));
                    return Err(Error::value(format!("{key}.only"), format!("no task `{name}`")).with_hint_if(hint));
                }
                self.tasks.retain(|task| names.contains(&task.name()));
            }
            TaskChoice::Kinds(shares) => self.tasks.retain(|task| shares.contains_key(&task.kind)),
        }
        Ok(self)
    }

    /// Number of items of each kind: its share of `items`, rounded so that the sum is exact (the largest remainders first).
    pub fn items_by_kind(&self, choice: &TaskChoice, items: usize) -> Vec<(Task, usize)> {
        let present: Vec<Task> =
            Task::ALL.into_iter().filter(|kind| self.tasks.iter().any(|task| task.kind == *kind)).collect();
        let share = |kind: &Task| match choice {
            TaskChoice::Kinds(shares) => shares.get(kind).copied().unwrap_or(0.0),
            _ => 1.0,
        };
        let counts = apportion(&present.iter().map(share).collect::<Vec<_>>(), items);
        present.into_iter().zip(counts).collect()
    }
}

/// `items` cut by weights into whole numbers with that sum: the method of largest remainders, ties to the first.
pub fn apportion(weights: &[f64], items: usize) -> Vec<usize> {
    let total: f64 = weights.iter().sum();
    if total <= 0.0 {
        return vec![0; weights.len()];
    }
    let exact: Vec<f64> = weights.iter().map(|weight| weight / total * items as f64).collect();
    let mut counts: Vec<usize> = exact.iter().map(|share| share.floor() as usize).collect();
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by(|a, b| (exact[*b].fract()).total_cmp(&exact[*a].fract()).then(a.cmp(b)));
    let missing = items.saturating_sub(counts.iter().sum());
    for at in order.into_iter().cycle().take(missing) {
        counts[at] += 1;
    }
    counts
}

/// A task file's text, typed and checked.
pub fn read(text: &str, path: &Path) -> Result<TaskFile> {
    let file: TaskFile = wb_core::config::from_text(text, path)?;
    file.validate(path)?;
    Ok(file)
}

fn add(tasks: &mut Vec<ChosenTask>, file: TaskFile, replace: bool, place: &str) -> Result<()> {
    for task in file.tasks {
        let known = tasks.iter().position(|known| known.kind == file.kind && known.task.id == task.id);
        let chosen = ChosenTask { kind: file.kind, task };
        match known {
            Some(at) if replace => tasks[at] = chosen,
            Some(_) => {
                return Err(Error::data(
                    place,
                    format!("the task {} stands there twice, expected once", chosen.name()),
                ));
            }
            None => tasks.push(chosen),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_files_load_and_every_kind_has_tasks() {
        let catalog = TaskCatalog::load(&[]).unwrap();
        for kind in Task::ALL {
            assert!(catalog.tasks.iter().any(|task| task.kind == kind), "{kind:?}");
        }
        assert!(catalog.tasks.is_sorted_by_key(|task| task.kind));
    }

    #[test]
    fn tasks_are_chosen_by_name_and_by_kind() {
        let all = || TaskCatalog::load(&[]).unwrap();
        let name = all().tasks[0].name();
        let one = all().choose(&TaskChoice::Only(vec![name.clone()]), "synth.tasks").unwrap();
        assert_eq!(one.tasks.len(), 1);
        let error = all().choose(&TaskChoice::Only(vec![format!("{name}x")]), "synth.tasks").unwrap_err();
        assert_eq!(error.hint(), Some(format!("did you mean `{name}`?").as_str()));
        let hybrid = TaskChoice::Kinds([(Task::Hybrid, 2.0)].into());
        let hybrid = all().choose(&hybrid, "synth.tasks").unwrap();
        assert!(hybrid.tasks.iter().all(|task| task.kind == Task::Hybrid));
    }

    #[test]
    fn shares_add_up() {
        assert_eq!(apportion(&[1.0, 1.0, 1.0], 10), [4, 3, 3]);
        assert_eq!(apportion(&[3.0, 1.0], 10), [8, 2]);
        assert_eq!(apportion(&[1.0], 0), [0]);
        let choice = TaskChoice::Kinds([(Task::Text2code, 3.0), (Task::Code2code, 1.0)].into());
        let catalog = TaskCatalog::load(&[]).unwrap().choose(&choice, "").unwrap();
        assert_eq!(catalog.items_by_kind(&choice, 8), [(Task::Text2code, 6), (Task::Code2code, 2)]);
    }

    #[test]
    fn a_users_file_adds_and_replaces() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mine.yaml");
        let own = r#"{"version": 1, "kind": "code2code", "tasks": [{"id": "shorter", "title": "Shorter", "instruction": "Given code, retrieve a shorter version.",
            "relevance": "It does the same.", "snippet": "query", "source": "code", "query": "code", "document": "shorter code",
            "steps": [{"output": "document", "prompt": "{{ snippet }}"}]}]}"#;
        std::fs::write(&path, own).unwrap();
        let before = TaskCatalog::load(&[]).unwrap().tasks.len();
        let catalog = TaskCatalog::load(std::slice::from_ref(&path)).unwrap();
        assert_eq!(catalog.tasks.len(), before + 1);
        assert_eq!(TaskCatalog::load(&[path.clone(), path]).unwrap(), catalog);
    }
}
