//! Pairs: read, prepared, and kept under the fingerprint of their sources and gates.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use wb_core::{Progress, fingerprint::Fingerprint, run_dir::read_json};
use wb_data::{Prepared, store};

use crate::{config::Experiment, output};

/// Prepared pairs and where they lie.
pub struct Data {
    /// The folder.
    pub folder: PathBuf,
    /// Of sources, gates and seed.
    pub fingerprint: Fingerprint,
    /// The pairs.
    pub prepared: Prepared,
    /// Of the mining that gave the training pairs their negatives, where there was one.
    pub mined: Option<Fingerprint>,
}

/// Makes the pairs of an experiment, or loads them where they were made before.
pub fn data(experiment: &Experiment, datasets: &Path, progress: &mut dyn FnMut(Progress)) -> Result<Data> {
    let fingerprint = fingerprint(experiment)?;
    let folder = folder(datasets, &fingerprint);
    if folder.join("data.json").is_file() {
        let prepared = store::load(&folder).with_context(|| format!("cannot load {}", folder.display()))?;
        output::note(format!("data: unchanged, {}", folder.display()));
        return Ok(Data { folder, fingerprint, prepared, mined: None });
    }
    let mut read = Vec::new();
    for source in &experiment.data.sources {
        read.push(
            source.read(experiment.data.on_bad, progress).with_context(|| format!("cannot read {}", source.name()))?,
        );
    }
    let prepared = wb_data::prepare(read, &experiment.data.prepare(), experiment.seed, progress)?;
    store::write(&prepared, &folder)?;
    Ok(Data { folder, fingerprint, prepared, mined: None })
}

/// Where pairs with this fingerprint lie: the same pairs serve every experiment that asks for them.
pub fn folder(datasets: &Path, fingerprint: &Fingerprint) -> PathBuf {
    datasets.join(format!("pairs-{}", fingerprint.short()))
}

/// Of all that decides the pairs.
pub fn fingerprint(experiment: &Experiment) -> Result<Fingerprint> {
    let mut all = Fingerprint::builder();
    all.text(env!("CARGO_PKG_VERSION")).number(experiment.seed.0);
    all.text(Fingerprint::of_json(&experiment.data).as_str());
    for source in &experiment.data.sources {
        let of_source = source.fingerprint().with_context(|| format!("cannot read {}", source.name()))?;
        all.text(of_source.as_str());
    }
    Ok(all.finish())
}

/// The data card in a few lines.
pub fn describe(data: &Data) {
    let card = &data.prepared.card;
    for source in &card.sources {
        output::line(format!("{:>9} pairs  {}", source.pairs, source.name));
    }
    for gate in card.gates.iter().filter(|gate| gate.before != gate.after) {
        output::line(format!("{:>9} left   after {}", gate.after, gate.name));
    }
    for (name, split) in &card.splits {
        let s = if split.groups == 1 { "" } else { "s" };
        output::line(format!("{:>9} pairs  {name}, {} group{s}", split.pairs, split.groups));
    }
    output::line(format!("in {}", data.folder.display()));
}

/// The card of a folder of prepared pairs.
pub fn card(folder: &Path) -> Result<wb_core::records::data::DataCard> {
    Ok(read_json(&folder.join("data.json"))?)
}
