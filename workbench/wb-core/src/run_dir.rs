//! The one place that knows the layout of `runs/`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde::{Serialize, de::DeserializeOwned};

use crate::{Error, Result, atomic, fingerprint::Fingerprint, lock::FileLock, remote::Outgoing, suggest};

/// The folder of one run. A run is finished when [`RunDir::done`] is there, which is written last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunDir {
    folder: PathBuf,
}

impl RunDir {
    /// The folder of the run with this name and fingerprint: the one that exists, or a new one dated today.
    pub fn for_experiment(root: &Path, name: &str, fingerprint: &Fingerprint) -> Result<Self> {
        let tail = format!("-{name}-{}", &fingerprint.as_str()[..8]);
        let found = list(root)?.into_iter().rfind(|run| run.id().len() == 10 + tail.len() && run.id().ends_with(&tail));
        let run = found.unwrap_or_else(|| {
            let today = jiff::Timestamp::now().strftime("%Y-%m-%d");
            Self { folder: root.join(format!("{today}{tail}")) }
        });
        atomic::create_folders(&run.folder)?;
        Ok(run)
    }

    /// The experiment's name, which stands in the id between a date and eight letters of a fingerprint.
    pub fn name(&self) -> Option<&str> {
        let id = self.id();
        id.get(11..id.len().checked_sub(9)?)
    }

    /// Opens what the user named: a folder, an id under `root`, or `latest`.
    pub fn open(root: &Path, name: &str) -> Result<Self> {
        let direct = Path::new(name);
        if direct.join("manifest.json").is_file() {
            return Ok(Self { folder: direct.to_path_buf() });
        }
        let id = if name == "latest" {
            let pointer = root.join("latest");
            let id = fs::read_to_string(&pointer).map_err(|_| {
                Error::unknown("run", name)
                    .with_hint(format!("{} has no run yet: wb run configs/quickstart.yaml", root.display()))
            })?;
            id.trim().to_owned()
        } else {
            name.to_owned()
        };
        let folder = root.join(&id);
        if folder.is_dir() {
            return Ok(Self { folder });
        }
        let known = list(root)?;
        let exact = known.iter().find(|known| known.id() == id);
        let ends: Vec<&Self> = known.iter().filter(|known| known.id().contains(&id)).collect();
        let only = if let [only] = ends.as_slice() { Some(*only) } else { None };
        if let Some(only) = exact.or(only) {
            return Ok(only.clone());
        }
        if ends.len() > 1 {
            let message = format!("fits {} runs, expected one", ends.len());
            let names: Vec<&str> = ends.iter().map(|run| run.id()).collect();
            return Err(Error::data(format!("run name `{id}`"), message).with_hint(names.join(", ")));
        }
        Err(Error::unknown("run", id.clone()).with_hint_if(
            suggest::hint(&id, known.iter().map(Self::id)).or_else(|| Some("`wb ls` shows what there is".into())),
        ))
    }

    /// The run's id: the folder's name.
    pub fn id(&self) -> &str {
        self.folder.file_name().and_then(|name| name.to_str()).unwrap_or_default()
    }

    /// The folder itself.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Takes the folder for this process, or says who holds it.
    pub fn lock(&self) -> Result<FileLock> {
        let held = FileLock::take(&self.folder.join("lock"), &self.folder);
        held.map_err(|error| error.with_hint("wait for it, or stop it, or give this run another name"))
    }

    /// The resolved config.
    pub fn config(&self) -> PathBuf {
        self.folder.join("config.yaml")
    }

    /// See [`crate::manifest::Manifest`].
    pub fn manifest(&self) -> PathBuf {
        self.folder.join("manifest.json")
    }

    /// The data card, [`crate::records::data::DataCard`].
    pub fn data(&self) -> PathBuf {
        self.folder.join("data.json")
    }

    /// One [`crate::records::journal::StepRecord`] a line.
    pub fn metrics(&self) -> PathBuf {
        self.folder.join("metrics.jsonl")
    }

    /// One [`crate::records::journal::ValidationRecord`] a line.
    pub fn validation(&self) -> PathBuf {
        self.folder.join("validation.jsonl")
    }

    /// The list of [`crate::records::journal::StageRecord`]s, where training has a curriculum.
    pub fn curriculum(&self) -> PathBuf {
        self.folder.join("curriculum.json")
    }

    /// The folder of checkpoints.
    pub fn checkpoints(&self) -> PathBuf {
        self.folder.join("checkpoints")
    }

    /// The trained encoder.
    pub fn encoder(&self) -> PathBuf {
        self.folder.join("encoder")
    }

    /// The encoder as it is before training, where making it takes a while.
    pub fn untrained(&self) -> PathBuf {
        self.folder.join("untrained")
    }

    /// The components that shorten the vectors of a teacher, where they are longer than the model's.
    pub fn teacher_components(&self) -> PathBuf {
        self.folder.join("teacher-components.safetensors")
    }

    /// The tokenizer learned for a model from scratch.
    pub fn tokenizer(&self) -> PathBuf {
        self.folder.join("tokenizer.json")
    }

    /// Outcome of one contestant in one benchmark.
    pub fn bench(&self, benchmark: &str, contestant: &str) -> PathBuf {
        self.folder.join("bench").join(format!("{benchmark}-{contestant}.json"))
    }

    /// All benchmark files, by name.
    pub fn benches(&self) -> Result<Vec<PathBuf>> {
        let folder = self.folder.join("bench");
        let mut files = Vec::new();
        if folder.is_dir() {
            for entry in fs::read_dir(&folder).map_err(Error::io("read", &folder))? {
                let path = entry.map_err(Error::io("read", &folder))?.path();
                if path.extension().is_some_and(|ending| ending == "json") {
                    files.push(path);
                }
            }
        }
        files.sort();
        Ok(files)
    }

    /// The comparison with the baseline.
    pub fn compare(&self) -> PathBuf {
        self.folder.join("compare.json")
    }

    /// The verdict.
    pub fn verdict(&self) -> PathBuf {
        self.folder.join("verdict.json")
    }

    /// Inputs that each finished stage had.
    pub fn stages(&self) -> PathBuf {
        self.folder.join("stages.json")
    }

    /// Written last.
    pub fn done(&self) -> PathBuf {
        self.folder.join("DONE")
    }

    /// True where the run was finished.
    pub fn is_done(&self) -> bool {
        self.done().is_file()
    }

    /// Marks the run as finished and as the latest.
    pub fn finish(&self) -> Result<()> {
        atomic::write(&self.done(), b"")?;
        self.point_latest()
    }

    /// Marks the run as not finished: something in it is about to change.
    pub fn reopen(&self) -> Result<()> {
        match fs::remove_file(self.done()) {
            Ok(()) => atomic::sync_folder(&self.folder),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(Error::io("write", self.done())(error)),
        }
    }

    /// Makes `runs/latest` name this run. (A text file, not a link: it works on every system.)
    pub fn point_latest(&self) -> Result<()> {
        let Some(root) = self.folder.parent() else { return Ok(()) };
        atomic::write(&root.join("latest"), format!("{}\n", self.id()).as_bytes())
    }
}

/// The run that was finished last; none where no run was finished under `root` yet.
pub fn latest(root: &Path) -> Result<Option<RunDir>> {
    if !root.join("latest").is_file() {
        return Ok(None);
    }
    RunDir::open(root, "latest").map(Some)
}

/// All runs, oldest first.
pub fn list(root: &Path) -> Result<Vec<RunDir>> {
    let mut runs = Vec::new();
    if !root.is_dir() {
        return Ok(runs);
    }
    for entry in fs::read_dir(root).map_err(Error::io("read", root))? {
        let folder = entry.map_err(Error::io("read", root))?.path();
        if folder.join("manifest.json").is_file() {
            runs.push(RunDir { folder });
        }
    }
    runs.sort_by(|a, b| a.folder.cmp(&b.folder));
    Ok(runs)
}

/// False for weights and what trains on, by its path below the folder of runs: of runs in object storage this is enough
/// for lists and pages of them.
pub fn is_record(below: &str) -> bool {
    let is_of = |folder: &str| below.contains(&format!("/{folder}/"));
    let is_config = below.ends_with("/config.json") || below.ends_with("/encoder.json");
    !below.ends_with(".safetensors") && !is_of("checkpoints") && (is_config || !is_of("encoder") && !is_of("untrained"))
}

/// Writes a record as JSON, whole or not at all.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<()> {
    let mut bytes = serde_json::to_vec_pretty(value)
        .map_err(|error| Error::data(path.display().to_string(), format!("cannot be written as JSON: {error}")))?;
    bytes.push(b'\n');
    let out = Outgoing::to(path)?;
    atomic::write(out.local(), &bytes)?;
    out.send(&[])
}

/// Reads a record; an error says line and column.
pub fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let bytes = fs::read(path).map_err(Error::io("read", path))?;
    serde_json::from_slice(&bytes).map_err(|error| Error::json(path, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_a_run_are_no_weights() {
        let of = |name: &str| is_record(&format!("2026-11-28-named-0123abcd/{name}"));
        for name in ["manifest.json", "bench/pairs-trained.json", "metrics.jsonl", "DONE", "encoder/encoder.json"] {
            assert!(of(name), "{name}");
        }
        for name in ["encoder/model.safetensors", "encoder/tokenizer.json", "checkpoints/step-000252/state.json"] {
            assert!(!of(name), "{name}");
        }
        assert!(is_record("latest"));
    }

    #[test]
    fn a_run_is_found_again_and_finished_last() {
        let root = tempfile::tempdir().unwrap();
        let fingerprint = Fingerprint::of_bytes(b"config");
        let run = RunDir::for_experiment(root.path(), "tiny", &fingerprint).unwrap();
        write_json(&run.manifest(), &crate::manifest::Manifest::default()).unwrap();
        assert_eq!(RunDir::for_experiment(root.path(), "tiny", &fingerprint).unwrap(), run);
        assert!(!run.is_done());
        assert_eq!(latest(root.path()).unwrap(), None);
        run.finish().unwrap();
        assert!(run.is_done());
        assert_eq!(latest(root.path()).unwrap().as_ref(), Some(&run));
        assert_eq!(RunDir::open(root.path(), "latest").unwrap(), run);
        assert_eq!(RunDir::open(root.path(), "tiny").unwrap(), run);
        run.reopen().unwrap();
        assert!(!run.is_done());
        let error = RunDir::open(root.path(), "huge").unwrap_err();
        assert!(error.to_string().contains("no run `huge`"), "{error}");
    }

    #[test]
    fn the_second_holder_is_told_who_the_first_is() {
        let root = tempfile::tempdir().unwrap();
        let run = RunDir::for_experiment(root.path(), "tiny", &Fingerprint::of_bytes(b"x")).unwrap();
        let first = run.lock().unwrap();
        let error = run.lock().unwrap_err().to_string();
        assert!(error.contains(&format!("pid {}", std::process::id())), "{error}");
        drop(first);
        drop(run.lock().unwrap());
    }
}
