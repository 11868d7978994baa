//! Pairs: read, prepared, and kept under the fingerprint of their sources and gates.

use std::{
    borrow::Cow,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use wb_core::{Pair, PairSet, Progress, fingerprint::Fingerprint, remote, run_dir::read_json};
use wb_data::{
    Judge, PreparedPairs, prepare_with, store,
    streaming::{ReadSource, prepare_streaming},
};
use wb_encoder::train::{PairStream, TrainPairs};

use super::{device, encoder, judge::Judges, manifest::this_code};
use crate::{
    config::{Experiment, SourceChoice},
    output, shards,
};

/// Prepared pairs and where they lie.
pub struct ExperimentPairs {
    /// The folder.
    pub folder: PathBuf,
    /// Fingerprint of sources, gates and seed.
    pub fingerprint: Fingerprint,
    /// Fingerprint of each source.
    pub sources: Vec<Fingerprint>,
    /// The pairs; with `streaming` those of training are on the disk only.
    pub prepared: PreparedPairs,
    /// True where training pairs are on the disk only.
    pub streaming: bool,
    stored: Stored,
    /// Fingerprint of the mining that gave the training pairs their negatives, where there was one.
    pub mined: Option<Fingerprint>,
}

/// Makes the pairs of an experiment, or loads them where they were made before.
pub fn data(experiment: &Experiment, datasets: &Path, progress: &mut dyn FnMut(Progress)) -> Result<ExperimentPairs> {
    // Files are hashed, and those of the hub are downloaded.
    progress(Progress::new("looking at sources", 0, 0));
    let sources = sources(experiment)?;
    let fingerprint = of_all(experiment, &sources)?;
    let folder = folder(datasets, &fingerprint);
    let (streaming, stored) = (experiment.data()?.streaming, Stored::new(&folder, &fingerprint));
    remote::bring(&folder)?;
    if folder.join(store::PROOF).is_file() {
        progress(Progress::new("loading pairs", 0, 0));
        let loaded = if streaming { store::load_held_out(&folder) } else { store::load(&folder) };
        let prepared = loaded.with_context(|| format!("cannot load {}", folder.display()))?;
        output::note(format!("data: unchanged, {}", folder.display()));
        return Ok(ExperimentPairs { folder, fingerprint, sources, prepared, mined: None, streaming, stored });
    }
    let prepared = if streaming && let Some(run_on) = &experiment.run_on {
        shards::prepared(experiment, run_on, (&folder, &fingerprint), progress)?
    } else if streaming {
        stream(experiment, &folder, progress)?
    } else {
        let prepared = in_memory(experiment, progress)?;
        progress(Progress::new("writing pairs", 0, 0));
        // Where another process was quicker, it has written the same.
        store::write(&prepared, &folder)?;
        prepared
    };
    Ok(ExperimentPairs { folder, fingerprint, sources, prepared, mined: None, streaming, stored })
}

fn in_memory(experiment: &Experiment, progress: &mut dyn FnMut(Progress)) -> Result<PreparedPairs> {
    let (config, mut read) = (experiment.data()?, Vec::new());
    for (at, source) in config.sources.iter().enumerate() {
        let pairs = source.read(at, config.tolerance(), progress);
        read.push(pairs.with_context(|| format!("cannot read {}", source.name()))?);
    }
    let mut judges = Judges::new(experiment);
    let judge: Option<&mut dyn Judge> = Some(&mut judges);
    Ok(prepare_with(read, &config.prepare(), experiment.seed, judge, progress)?)
}

fn stream(experiment: &Experiment, folder: &Path, progress: &mut dyn FnMut(Progress)) -> Result<PreparedPairs> {
    let config = experiment.data()?;
    let sources = config.sources.iter().enumerate();
    let readers = sources.map(|(at, source)| -> ReadSource<'_> {
        Box::new(move |take, progress| {
            source
                .each(at, config.tolerance(), take, progress)
                .map_err(|error| error.within(format!("cannot read {}", source.name())))
        })
    });
    let readers = readers.collect();
    Ok(prepare_streaming(readers, &config.prepare(), experiment.seed, folder, progress)?)
}

impl ExperimentPairs {
    /// The training pairs, as training wants them.
    pub fn train(&self) -> TrainPairs<'_> {
        if self.streaming { TrainPairs::Stream(&self.stored) } else { (&self.prepared.train).into() }
    }

    /// Training pairs to learn a tokenizer from: all of them, or, where they are not in memory,
    /// evenly chosen ones with about so many bytes of text.
    pub fn sample(&self, bytes: usize) -> Result<Cow<'_, PairSet>> {
        if !self.streaming {
            return Ok(Cow::Borrowed(&self.prepared.train));
        }
        let file = &self.stored.file;
        let text = |pair: &Pair| pair.anchor.len() + pair.positive.len();
        let mut all = 0;
        store::each_pair(file, &mut |pair| {
            all += text(&pair);
            Ok(())
        })?;
        let every = all.div_ceil(bytes.max(1)).max(1);
        Ok(Cow::Owned(PairSet::new(evenly(file, every)?)?))
    }
}

/// Pairs of a file, one of every so many.
pub fn evenly(file: &Path, every: usize) -> Result<Vec<Pair>> {
    let (mut at, mut chosen) = (0, Vec::new());
    store::each_pair(file, &mut |pair| {
        if at % every == 0 {
            chosen.push(pair);
        }
        at += 1;
        Ok(())
    })?;
    Ok(chosen)
}

/// Training pairs on the disk.
pub struct Stored {
    file: PathBuf,
    fingerprint: Fingerprint,
}

impl Stored {
    /// Opens the training pairs of a folder of prepared pairs with this fingerprint.
    pub fn new(folder: &Path, fingerprint: &Fingerprint) -> Self {
        Self { file: folder.join("train.parquet"), fingerprint: fingerprint.clone() }
    }
}

impl PairStream for Stored {
    fn fingerprint(&self) -> wb_core::Result<Fingerprint> {
        Ok(self.fingerprint.clone())
    }

    fn each(&self, take: &mut dyn FnMut(Pair) -> wb_core::Result<()>) -> wb_core::Result<()> {
        store::each_pair(&self.file, take)
    }
}

/// The folder of pairs with this fingerprint: the same pairs serve every experiment that asks for them.
pub fn folder(datasets: &Path, fingerprint: &Fingerprint) -> PathBuf {
    datasets.join(format!("pairs-{}", fingerprint.short()))
}

/// Fingerprint of all that decides the pairs. Without self-tests there is none where encoders judge the pairs and one
/// would have to find out which device `auto` is.
pub fn fingerprint(experiment: &Experiment, self_tests: bool) -> Result<Option<Fingerprint>> {
    let is_judged = !experiment.data()?.prepare().encoders().is_empty();
    if is_judged && !self_tests && device::without_test(experiment.device.first()).is_none() {
        return Ok(None);
    }
    of_all(experiment, &sources(experiment)?).map(Some)
}

/// Fingerprints of the sources, in their order.
pub fn sources(experiment: &Experiment) -> Result<Vec<Fingerprint>> {
    let of = |source: &SourceChoice| source.fingerprint().with_context(|| format!("cannot read {}", source.name()));
    experiment.data()?.sources.iter().map(of).collect()
}

fn of_all(experiment: &Experiment, sources: &[Fingerprint]) -> Result<Fingerprint> {
    let config = experiment.data()?;
    let mut all = Fingerprint::builder();
    all.text(&this_code()).number(experiment.seed.0);
    all.text(Fingerprint::of_json(config).as_str());
    sources.iter().for_each(|source| {
        all.text(source.as_str());
    });
    for judge in config.prepare().encoders() {
        // Devices agree up to rounding, and rounding decides who is above a threshold.
        let device = device::resolved(experiment.device.first())?;
        all.text(encoder::of_reference(judge)?.as_str()).text(&device.to_string());
    }
    Ok(all.finish())
}

/// The data card in a few lines.
pub fn describe(data: &ExperimentPairs) {
    let card = &data.prepared.card;
    for source in &card.sources {
        output::line(format!("{:>9} pairs  {}", source.pairs, source.name));
    }
    for gate in card.gates.iter().filter(|gate| gate.before != gate.after) {
        output::line(format!("{:>9} left   after {}", gate.after, gate.name));
    }
    for (name, split) in &card.splits {
        let s = if split.groups == 1 { "" } else { "s" };
        let texts = match split.texts {
            0 => String::new(),
            texts => format!(", {texts} of them texts without a label"),
        };
        output::line(format!("{:>9} pairs  {name}, {} group{s}{texts}", split.pairs, split.groups));
    }
    output::line(format!("in {}", data.folder.display()));
}

/// The card of a folder of prepared pairs.
pub fn card(folder: &Path) -> Result<wb_core::records::data::DataCard> {
    Ok(read_json(&folder.join(store::PROOF))?)
}
