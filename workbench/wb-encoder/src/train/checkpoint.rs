//! Weights and optimizer on the disk, whole or not at all, so that training goes on where it stopped.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;
use wb_core::{Error, Result, atomic, fingerprint::Fingerprint, run_dir};

use super::{ema::Ema, loss_scale::LossScale, optimizer::AdamW, refresh::RefreshedNegatives, tensors};
use crate::parameters::Parameters;

const WEIGHTS: &str = "weights.safetensors";
const OPTIMIZER: &str = "optimizer.safetensors";
const AVERAGE: &str = "average.safetensors";
const STATE: &str = "state.json";
const MANIFEST: &str = "MANIFEST.json";
/// Endings of the moments' names.
const FIRST: &str = ".first";
const SECOND: &str = ".second";

/// Checkpoints that are kept beside the best one.
const NEWEST: usize = 2;

/// The state of a training at a checkpoint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CheckpointState {
    /// Steps done.
    pub step: u64,
    /// The step whose weights validated best so far, and their MRR; none before the first validation.
    pub best: Option<(u64, f64)>,
    /// The step after which the hard negatives at hand were mined, and the fingerprint of their file;
    /// none for those of the pairs.
    pub negatives: Option<(u64, Fingerprint)>,
    /// Scaling of the loss, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss_scale: Option<LossScale>,
    /// Most tokens of a part of a batch, where a device's memory has run out; none where the config alone says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub micro_tokens: Option<usize>,
    /// Fingerprints of all that must be the same to go on: config, seed, pairs, weights that do not train.
    pub made_with: BTreeMap<String, String>,
    /// The config itself, to say what changed in it.
    pub config: Value,
}

/// The content of a checkpoint that is to be written.
#[derive(Debug, Clone, Copy)]
pub struct Kept<'a> {
    /// Steps done.
    pub step: u64,
    /// See [`CheckpointState::best`].
    pub best: Option<(u64, f64)>,
    /// See [`CheckpointState::negatives`].
    pub negatives: Option<&'a (u64, Fingerprint)>,
    /// See [`CheckpointState::loss_scale`].
    pub loss_scale: Option<LossScale>,
    /// See [`CheckpointState::micro_tokens`].
    pub micro_tokens: Option<usize>,
    /// The weights that train.
    pub parameters: &'a Parameters,
    /// Their moments.
    pub optimizer: &'a AdamW,
    /// Their average, where there is one.
    pub average: Option<&'a Ema>,
}

/// Hashes of a checkpoint's files; written last.
#[derive(Debug, Serialize, Deserialize)]
struct Manifest {
    version: u32,
    files: BTreeMap<String, Fingerprint>,
}

/// The folder of checkpoints: `step-000800/` with `weights.safetensors` (what trains), `optimizer.safetensors`,
/// `average.safetensors` where there is a moving average of the weights, `state.json` and `MANIFEST.json`, `negatives-000600.json` with hard negatives that were mined while training, and a text file `best` with the name of the best.
#[derive(Debug)]
pub struct Checkpoints {
    folder: PathBuf,
    made_with: BTreeMap<String, String>,
    config: Value,
}

impl Checkpoints {
    /// A folder of checkpoints; what a crash left half-written in it is removed.
    pub fn open(folder: &Path, made_with: BTreeMap<String, String>, config: Value) -> Result<Self> {
        fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
        atomic::restore_folders(folder)?;
        atomic::remove_leftovers(folder)?;
        Ok(Self { folder: folder.to_owned(), made_with, config })
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
    pub fn save(&self, kept: Kept<'_>) -> Result<()> {
        let Kept { step, best, loss_scale, micro_tokens, .. } = kept;
        let negatives = kept.negatives.cloned();
        let (made_with, config) = (self.made_with.clone(), self.config.clone());
        let state = CheckpointState { step, best, negatives, loss_scale, micro_tokens, made_with, config };
        let path = self.path(step);
        let [first, second] = [(&kept.optimizer.first, FIRST), (&kept.optimizer.second, SECOND)]
            .map(|(moment, ending)| tensors::values(kept.parameters, moment, ending));
        let mut files = vec![
            (WEIGHTS, tensors::to_bytes(tensors::weights(kept.parameters))?),
            (OPTIMIZER, tensors::to_bytes(first.chain(second))?),
            (STATE, json(&state)?),
        ];
        if let Some(average) = kept.average {
            files.push((AVERAGE, tensors::to_bytes(tensors::values(kept.parameters, &average.values, ""))?));
        }
        // One may be there: found damaged, and its step done again; or written before its step was validated.
        atomic::replace_folder_with(&path, |inside| -> Result<()> {
            let mut manifest = Manifest { version: 1, files: BTreeMap::new() };
            for (name, bytes) in &files {
                atomic::write(&inside.join(name), bytes)?;
                manifest.files.insert((*name).to_owned(), Fingerprint::of_bytes(bytes));
            }
            atomic::write(&inside.join(MANIFEST), &json(&manifest)?)
        })?;
        self.tidy(&state)
    }

    /// Brings the folder to what the newest checkpoint leaves of it: `best` names its best, and older ones are gone.
    /// After a resume too, as the process before may have been killed right after it wrote the checkpoint.
    pub fn tidy(&self, newest: &CheckpointState) -> Result<()> {
        if let Some((step, _)) = newest.best {
            self.point_to_best(step)?;
        }
        self.prune(newest)
    }

    /// The newest whole checkpoint, and a sentence for each newer one that is damaged.
    /// One that was made with something else than what is at hand now is an error.
    pub fn newest(&self) -> Result<(Option<CheckpointState>, Vec<String>)> {
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

    /// Puts a checkpoint's weights in place, or their average.
    pub fn load_weights(&self, step: u64, average: bool, parameters: &mut Parameters) -> Result<()> {
        let file = if average { AVERAGE } else { WEIGHTS };
        tensors::weights_from_bytes(&self.verified(step, file)?, &self.path(step).join(file), parameters)
    }

    /// Puts a checkpoint's moments and its average in place, for training to go on; the optimizer's count of updates is that
    /// of steps.
    pub fn load_optimizer(
        &self,
        step: u64,
        parameters: &Parameters,
        optimizer: &mut AdamW,
        average: Option<&mut Ema>,
    ) -> Result<()> {
        let read = |file: &str, into: &mut [(&mut Vec<Vec<f32>>, &str)]| -> Result<()> {
            let (bytes, path) = (self.verified(step, file)?, self.path(step).join(file));
            into.iter_mut()
                .try_for_each(|(values, ending)| tensors::values_from_bytes(&bytes, &path, parameters, values, ending))
        };
        read(OPTIMIZER, &mut [(&mut optimizer.first, FIRST), (&mut optimizer.second, SECOND)])?;
        optimizer.steps = step;
        average.map_or(Ok(()), |average| read(AVERAGE, &mut [(&mut average.values, "")]))
    }

    /// Writes which checkpoint is the best.
    pub fn point_to_best(&self, step: u64) -> Result<()> {
        atomic::write(&self.folder.join("best"), format!("{}\n", name(step)).as_bytes())
    }

    /// Writes hard negatives that were mined after a step, and gives the fingerprint of their file.
    pub fn write_negatives(&self, step: u64, mined: &RefreshedNegatives) -> Result<Fingerprint> {
        let bytes = serde_json::to_vec(mined).map_err(|error| Error::data("checkpoint", error.to_string()))?;
        atomic::write(&self.negatives_path(step), &bytes)?;
        Ok(Fingerprint::of_bytes(&bytes))
    }

    /// Reads what [`Checkpoints::write_negatives`] wrote.
    pub fn read_negatives(&self, (step, expected): &(u64, Fingerprint)) -> Result<RefreshedNegatives> {
        let path = self.negatives_path(*step);
        let bytes = fs::read(&path).map_err(Error::io("read", &path))?;
        let found = Fingerprint::of_bytes(&bytes);
        if found != *expected {
            let message = format!("blake3 {}, expected {}", found.short(), expected.short());
            return Err(Error::data(path.display().to_string(), message));
        }
        serde_json::from_slice(&bytes).map_err(|error| Error::json(path, &error))
    }

    /// Writes the pairs of a step that could not be done, and gives the file.
    pub fn write_failed_step(&self, step: u64, pairs: &[Vec<String>]) -> Result<PathBuf> {
        let path = self.folder.join(format!("failed-step-{step:06}.json"));
        atomic::write(&path, &json(&pairs)?)?;
        Ok(path)
    }

    fn prune(&self, newest: &CheckpointState) -> Result<()> {
        let mut keep = BTreeSet::from([newest.step]);
        keep.extend(newest.best.map(|(step, _)| step));
        let steps = self.steps()?;
        for step in steps.iter().rev().filter(|step| **step < newest.step).take(NEWEST - 1) {
            keep.insert(*step);
            // A damaged one keeps itself only.
            keep.extend(
                self.read::<CheckpointState>(*step, STATE).ok().and_then(|state| state.best).map(|(step, _)| step),
            );
        }
        for step in steps.into_iter().filter(|step| *step < newest.step && !keep.contains(step)) {
            atomic::remove_folder(&self.path(step))?;
        }
        self.prune_negatives()
    }

    /// Takes out mined negatives that no checkpoint goes on with.
    fn prune_negatives(&self) -> Result<()> {
        let of_step = |step: u64| self.read::<CheckpointState>(step, STATE).ok().and_then(|state| state.negatives);
        let used: BTreeSet<u64> = self.steps()?.into_iter().filter_map(of_step).map(|(step, _)| step).collect();
        for name in names(&self.folder)? {
            let step = name.strip_prefix("negatives-").and_then(|rest| rest.strip_suffix(".json")?.parse().ok());
            if step.is_some_and(|step: u64| !used.contains(&step)) {
                atomic::remove_file(&self.folder.join(&name))?;
            }
        }
        Ok(())
    }

    fn check(&self, step: u64) -> Result<CheckpointState> {
        let manifest: Manifest = self.read(step, MANIFEST)?;
        let needed = [WEIGHTS, OPTIMIZER, STATE].into_iter();
        for file in needed.chain(manifest.files.keys().map(String::as_str)).collect::<BTreeSet<&str>>() {
            self.verified(step, file)?;
        }
        let state: CheckpointState = self.read(step, STATE)?;
        if state.step != step {
            let place = self.path(step).join(STATE);
            return Err(Error::data(place.display().to_string(), format!("step {}, expected {step}", state.step)));
        }
        if let Some(negatives) = &state.negatives {
            self.read_negatives(negatives)?;
        }
        Ok(state)
    }

    fn compare(&self, state: &CheckpointState) -> Result<()> {
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
        let mut told = Vec::new();
        if changed.contains(&"code") {
            let of = |made_with: &BTreeMap<String, String>| made_with.get("code").cloned().unwrap_or_default();
            let (before, now) = (of(&state.made_with), of(&self.made_with));
            told.push(format!("code: {}, now {}", named(&before), named(&now)));
        }
        if changed.contains(&"config") {
            told.extend(differences("train", &state.config, &self.config));
        }
        let listed = if told.is_empty() { String::new() } else { format!(" ({})", told.join("; ")) };
        let message = format!("cannot go on from here: changed since then: {}{listed}", changed.join(", "));
        let hint = match changed[..] {
            ["code"] => "go on with the build that began it, or start a new run",
            _ => "undo the change, or start a new run",
        };
        Err(Error::data(place, message).with_hint(hint))
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
        run_dir::read_json(&self.path(step).join(file))
    }

    fn negatives_path(&self, step: u64) -> PathBuf {
        self.folder.join(format!("negatives-{step:06}.json"))
    }

    fn path(&self, step: u64) -> PathBuf {
        self.folder.join(name(step))
    }
}

fn named(build: &str) -> &str {
    if build.is_empty() { "a build without a name" } else { build }
}

/// Differences between two configs, key by key, as `train.clip_norm: 1.0, now 2.0`.
pub fn differences(key: &str, before: &Value, now: &Value) -> Vec<String> {
    match (before, now) {
        (Value::Object(a), Value::Object(b)) => {
            let below = |name: &&String| {
                let of = |map: &serde_json::Map<String, Value>| map.get(*name).cloned().unwrap_or(Value::Null);
                let key = if key.is_empty() { (*name).clone() } else { format!("{key}.{name}") };
                differences(&key, &of(a), &of(b))
            };
            a.keys().chain(b.keys()).collect::<BTreeSet<&String>>().iter().flat_map(below).collect()
        }
        _ if before == now => Vec::new(),
        _ => vec![format!("{key}: {before}, now {now}")],
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
