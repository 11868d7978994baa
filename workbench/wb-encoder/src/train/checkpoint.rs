//! Weights and optimizer on the disk, whole or not at all, so that training goes on where it stopped.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use wb_core::{Error, Result, atomic, fingerprint::Fingerprint};

use super::{optimizer::AdamW, tensors};
use crate::Parameters;

const WEIGHTS: &str = "weights.safetensors";
const OPTIMIZER: &str = "optimizer.safetensors";
const STATE: &str = "state.json";
const MANIFEST: &str = "MANIFEST.json";

/// Checkpoints that are kept beside the best one.
const NEWEST: usize = 2;

/// Where training stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// Steps done.
    pub step: u64,
    /// The step whose weights validated best so far, and their MRR; none before the first validation.
    pub best: Option<(u64, f64)>,
    /// Fingerprints of all that must be the same to go on: config, seed, pairs, weights that do not train.
    pub made_with: BTreeMap<String, String>,
}

/// Hashes of a checkpoint's files; written last.
#[derive(Debug, Serialize, Deserialize)]
struct Manifest {
    version: u32,
    files: BTreeMap<String, Fingerprint>,
}

/// The folder of checkpoints: `step-000800/` with `weights.safetensors` (what trains), `optimizer.safetensors`,
/// `state.json` and `MANIFEST.json`, and a text file `best` with the name of the best.
#[derive(Debug)]
pub struct Checkpoints {
    folder: PathBuf,
    made_with: BTreeMap<String, String>,
}

impl Checkpoints {
    /// A folder of checkpoints; what a crash left half-written in it is removed.
    pub fn open(folder: &Path, made_with: BTreeMap<String, String>) -> Result<Self> {
        fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
        for name in names(folder)? {
            if name.starts_with('.') && name.ends_with(".tmp") {
                let path = folder.join(&name);
                let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
                removed.map_err(Error::io("remove", &path))?;
            }
        }
        Ok(Self { folder: folder.to_owned(), made_with })
    }

    /// Steps that have a checkpoint, first to last.
    pub fn steps(&self) -> Result<Vec<u64>> {
        let mut steps: Vec<u64> =
            names(&self.folder)?.iter().filter_map(|name| name.strip_prefix("step-")?.parse().ok()).collect();
        steps.sort_unstable();
        Ok(steps)
    }

    /// Writes a checkpoint; it appears when all of it is on the disk. Then `best` is brought up to date,
    /// and only then older ones go: the newest two stay, and the best that each of them knows.
    pub fn save(&self, step: u64, best: Option<(u64, f64)>, parameters: &Parameters, optimizer: &AdamW) -> Result<()> {
        let state = State { step, best, made_with: self.made_with.clone() };
        let path = self.path(step);
        if path.exists() {
            // It was found damaged and its step was done again, or it was written before its step was validated.
            fs::remove_dir_all(&path).map_err(Error::io("remove", &path))?;
        }
        let files = [
            (WEIGHTS, tensors::weights_to_bytes(parameters)?),
            (OPTIMIZER, tensors::moments_to_bytes(parameters, optimizer)?),
            (STATE, json(&state)?),
        ];
        atomic::folder_with(&path, |inside| -> Result<()> {
            let mut manifest = Manifest { version: 1, files: BTreeMap::new() };
            for (name, bytes) in &files {
                atomic::write(&inside.join(name), bytes)?;
                manifest.files.insert((*name).to_owned(), Fingerprint::of_bytes(bytes));
            }
            atomic::write(&inside.join(MANIFEST), &json(&manifest)?)
        })?;
        if let Some((step, _)) = best {
            self.point_to_best(step)?;
        }
        self.prune(&state)
    }

    /// The newest whole checkpoint, and a sentence for each newer one that is damaged.
    /// One that was made with something else than what is at hand now is an error.
    pub fn newest(&self) -> Result<(Option<State>, Vec<String>)> {
        let mut damaged = Vec::new();
        for step in self.steps()?.into_iter().rev() {
            match self.check(step) {
                Ok(state) => {
                    self.compare(&state)?;
                    return Ok((Some(state), damaged));
                }
                Err(error) => {
                    damaged.push(format!("checkpoint {} is damaged and was passed over: {error}", name(step)))
                }
            }
        }
        Ok((None, damaged))
    }

    /// Puts a checkpoint's weights in place.
    pub fn load_weights(&self, step: u64, parameters: &mut Parameters) -> Result<()> {
        let path = self.path(step).join(WEIGHTS);
        tensors::weights_from_bytes(&self.verified(step, WEIGHTS)?, &path, parameters)
    }

    /// Puts a checkpoint's moments in place.
    pub fn load_optimizer(&self, step: u64, parameters: &Parameters, optimizer: &mut AdamW) -> Result<()> {
        let path = self.path(step).join(OPTIMIZER);
        tensors::moments_from_bytes(&self.verified(step, OPTIMIZER)?, &path, parameters, optimizer)?;
        optimizer.steps = step;
        Ok(())
    }

    /// Writes which checkpoint is the best.
    pub fn point_to_best(&self, step: u64) -> Result<()> {
        atomic::write(&self.folder.join("best"), format!("{}\n", name(step)).as_bytes())
    }

    /// Writes the pairs of a step that could not be done, and gives the file.
    pub fn write_failed_step(&self, step: u64, pairs: &[Vec<String>]) -> Result<PathBuf> {
        let path = self.folder.join(format!("failed-step-{step:06}.json"));
        atomic::write(&path, &json(&pairs)?)?;
        Ok(path)
    }

    fn prune(&self, newest: &State) -> Result<()> {
        let mut keep = BTreeSet::from([newest.step]);
        keep.extend(newest.best.map(|(step, _)| step));
        let steps = self.steps()?;
        for step in steps.iter().rev().filter(|step| **step < newest.step).take(NEWEST - 1) {
            keep.insert(*step);
            // A damaged one keeps itself only.
            keep.extend(self.read::<State>(*step, STATE).ok().and_then(|state| state.best).map(|(step, _)| step));
        }
        for step in steps.into_iter().filter(|step| *step < newest.step && !keep.contains(step)) {
            let path = self.path(step);
            fs::remove_dir_all(&path).map_err(Error::io("remove", &path))?;
        }
        Ok(())
    }

    fn check(&self, step: u64) -> Result<State> {
        for file in [WEIGHTS, OPTIMIZER, STATE] {
            self.verified(step, file)?;
        }
        let state: State = self.read(step, STATE)?;
        if state.step != step {
            let place = self.path(step).join(STATE);
            return Err(Error::data(place.display().to_string(), format!("step {}, expected {step}", state.step)));
        }
        Ok(state)
    }

    fn compare(&self, state: &State) -> Result<()> {
        let all: BTreeSet<&String> = self.made_with.keys().chain(state.made_with.keys()).collect();
        let changed: Vec<&str> = all
            .into_iter()
            .filter(|key| self.made_with.get(*key) != state.made_with.get(*key))
            .map(String::as_str)
            .collect();
        if changed.is_empty() {
            return Ok(());
        }
        let place = self.path(state.step).display().to_string();
        let message = format!("cannot go on from here: changed since then: {}", changed.join(", "));
        Err(Error::data(place, message).with_hint("undo the change, or start a new run"))
    }

    /// A checkpoint's file, after its hash was compared.
    fn verified(&self, step: u64, file: &str) -> Result<Vec<u8>> {
        let path = self.path(step).join(file);
        let manifest: Manifest = self.read(step, MANIFEST)?;
        let bytes = fs::read(&path).map_err(Error::io("read", &path))?;
        let expected = manifest.files.get(file).map_or("no entry", Fingerprint::short);
        let found = Fingerprint::of_bytes(&bytes);
        if found.short() != expected {
            let message = format!("blake3 {}, expected {expected} as in {MANIFEST}", found.short());
            return Err(Error::data(path.display().to_string(), message));
        }
        Ok(bytes)
    }

    fn read<T: DeserializeOwned>(&self, step: u64, file: &str) -> Result<T> {
        let path = self.path(step).join(file);
        let bytes = fs::read(&path).map_err(Error::io("read", &path))?;
        serde_json::from_slice(&bytes).map_err(|error| Error::data(path.display().to_string(), error.to_string()))
    }

    fn path(&self, step: u64) -> PathBuf {
        self.folder.join(name(step))
    }
}

fn name(step: u64) -> String {
    format!("step-{step:06}")
}

fn names(folder: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(folder).map_err(Error::io("read", folder))?;
    let name = |entry: std::io::Result<fs::DirEntry>| {
        Ok(entry.map_err(Error::io("read", folder))?.file_name().to_string_lossy().into_owned())
    };
    entries.map(name).collect()
}

fn json(value: &impl Serialize) -> Result<Vec<u8>> {
    serde_json::to_vec_pretty(value).map_err(|error| Error::data("checkpoint", error.to_string()))
}
