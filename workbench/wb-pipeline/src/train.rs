//! The run of an experiment: its folder, and the encoder trained in it.

use std::path::Path;

use anyhow::Result;
use wb_core::{Progress, RunDir, atomic, fingerprint::Fingerprint, lock::FileLock, remote, run_dir::write_json};
use wb_encoder::{
    Backbone, BiEncoder, Folder, OpenDevice, Stop,
    train::{
        CodeTokens, FittedTeacher, Guide, Meeting, Refresh, TokenizeRequest, TrainFiles, TrainJob, TrainOutcome, train,
    },
};

use super::{
    code_labels,
    data::ExperimentPairs,
    distributed, encoder,
    inputs::{RunInputs, inputs},
    journals, manifest,
    mine::Refresher,
    resume,
    stages::Stages,
};
use crate::{config::Experiment, interrupt::Interrupt, output, session};

/// A run that is being worked on; nobody else can.
pub struct OpenRun {
    /// Its folder.
    pub dir: RunDir,
    /// Its finished stages.
    pub stages: Stages,
    inputs: RunInputs,
    _lock: FileLock,
}

/// The end of a training.
pub enum Trained {
    /// The encoder is in the run's folder.
    Done,
    /// Stopped, with a checkpoint.
    Stopped(TrainOutcome),
}

/// The run of this experiment on these pairs: the one that was begun before, or a new one; or the one that a person
/// named, and no other ([`resume::named`]).
pub fn open(experiment: &Experiment, data: &ExperimentPairs, runs: &Path, named: Option<RunDir>) -> Result<OpenRun> {
    let inputs = inputs(experiment, data)?;
    let dir = match named {
        Some(run) => {
            resume::check(&run, experiment, &inputs)?;
            run
        }
        None => {
            let run = RunDir::for_experiment(runs, &experiment.name, &inputs.all)?;
            remote::bring(run.folder())?;
            match run.manifest().is_file() {
                true => resume::same_build(&run)?,
                false => resume::other_unfinished(experiment, runs, &inputs)?.into_iter().for_each(output::note),
            }
            run
        }
    };
    let lock = dir.lock().map_err(distributed::if_together)?;
    // Nobody else writes here now.
    atomic::remove_leftovers(dir.folder())?;
    let stages = Stages::open(&dir)?;
    Ok(OpenRun { dir, stages, inputs, _lock: lock })
}

/// Trains the encoder, or goes on where it was stopped; does nothing where it is done.
/// Where it is to be kept, also gives the encoder before training, whose weights that do not train are the same memory.
pub fn encoder(
    experiment: &Experiment,
    data: &ExperimentPairs,
    run: &mut OpenRun,
    device: &OpenDevice,
    keeps_untrained: bool,
    interrupt: &Interrupt,
    progress: &mut dyn FnMut(Progress),
) -> Result<(Trained, Option<Folder>)> {
    let begun = encoder::begin(experiment, &run.dir, data, device, progress)?;
    if run.stages.is_done("train", &run.inputs.all) && run.dir.encoder().is_dir() {
        // What is measured may have changed.
        atomic::write(&run.dir.config(), wb_core::config::to_text(experiment)?.as_bytes())?;
        journals::write(experiment, &run.dir)?;
        output::note(format!("training: unchanged, {}", run.dir.folder().display()));
        return Ok((Trained::Done, keeps_untrained.then_some(begun)));
    }
    run.dir.reopen()?;
    write_head(experiment, data, run, device)?;
    for note in &begun.notes {
        output::note(format!("encoder: {note}"));
    }

    let mut encoder = BiEncoder::open_to_train(begun, device, experiment.train.precision)?;
    // After opening, which brings the weights into the form that both then have.
    let untrained = keeps_untrained.then(|| encoder.to_folder());
    let settings = encoder.settings().clone();
    let (tokenizer, prompts, max_tokens) = (settings.tokenizer.clone(), settings.prompts.clone(), settings.max_tokens);
    let late = settings.late_interaction.clone();
    let reads_pairs = settings.pair_reading.is_some();
    let tokenize = move |wanted: TokenizeRequest<'_>| {
        let own = max_tokens.of(wanted.side);
        let most = wanted.max_tokens.map_or(own, |most| most.min(own));
        let prompt = wanted.prompt.unwrap_or_else(|| prompts.of(wanted.side));
        if reads_pairs {
            // Whole: which of the two is longer decides where they are cut together.
            return tokenizer.encode(prompt, wanted.text, wanted.max_tokens.unwrap_or(usize::MAX));
        }
        match &late {
            Some(late) => late.tokenize(&tokenizer, prompt, wanted.text, wanted.side, most),
            None => tokenizer.encode(prompt, wanted.text, most),
        }
    };
    let (placed, prompts) = (settings.tokenizer.clone(), settings.prompts.clone());
    let with_places = move |wanted: TokenizeRequest<'_>| {
        let own = max_tokens.of(wanted.side);
        let most = wanted.max_tokens.map_or(own, |most| most.min(own));
        placed.encode_with_places(wanted.prompt.unwrap_or_else(|| prompts.of(wanted.side)), wanted.text, most)
    };
    let code = CodeTokens {
        tokenize: &with_places,
        mask_token: settings.tokenizer.mask_token(),
        node_kinds: wb_code::node_kinds(),
        nodes: &code_labels::nodes,
        types: &code_labels::types,
    };
    let datasets = data.folder.parent().unwrap_or(Path::new("."));
    let stop = interrupt.flag();
    let refresher = Refresher::open(experiment, data.prepared.train.pairs(), datasets, stop)?;
    let mine_again = |backbone: &dyn Backbone, step: u64, progress: &mut dyn FnMut(Progress)| match &refresher {
        Some(refresher) => {
            refresher.mine((backbone, settings.late_interaction.as_ref()), &tokenize, step, stop, progress)
        }
        None => Ok(None),
    };
    let guide = match experiment.train.loss.guide() {
        None => None,
        Some(guide) => {
            let (folder, _) = encoder::named(guide, session::runs())?;
            let mut guide = BiEncoder::open_frozen(folder, device)?;
            let fitted = FittedTeacher {
                config: &experiment.train,
                pairs: data.train(),
                seed: experiment.seed,
                dim: settings.dim(),
                file: &run.dir.teacher_components(),
            };
            if experiment.train.loss.needs().guide_dim {
                guide = fitted.fit(guide, progress)?;
            }
            guide.backbone_mut().watch(Stop::when(stop));
            Some(guide)
        }
    };
    let job = TrainJob {
        pairs: data.train(),
        validation: &data.prepared.validation,
        tokenize: &tokenize,
        meeting: Meeting::of(&settings),
        code: Some(code),
        special_tokens: special_tokens(&settings),
        config: &experiment.train,
        seed: experiment.seed,
        refresh: refresher.as_ref().map(|_| &mine_again as &Refresh<'_>),
        guide: guide.as_ref().map(|guide| guide as &Guide<'_>),
        files: TrainFiles::from(&run.dir),
        resume: true,
        build: &manifest::this_code(),
        stop: &Stop::when(stop),
    };
    // What an earlier session left, and what this one leaves, however it ends.
    journals::write(experiment, &run.dir)?;
    // All before this is made whole or not at all, and everything after it too.
    let outcome = interrupt.while_training(|| train(encoder.backbone_mut(), &job, progress));
    journals::write(experiment, &run.dir)?;
    let outcome = outcome?;
    for warning in &outcome.warnings {
        output::note(format!("warning: {warning}"));
    }
    if outcome.stopped {
        return Ok((Trained::Stopped(outcome), untrained));
    }
    let padding = outcome.padding.map(|share| format!(", {:.0} % of all that was computed padding", 100.0 * share));
    output::note(format!(
        "trained {} steps at {:.0} pairs/s{}; best validation MRR {:.4} at step {}",
        outcome.steps,
        outcome.pairs_per_second,
        padding.unwrap_or_default(),
        outcome.best_mrr,
        outcome.best_step
    ));
    encoder.write(&run.dir.encoder())?;
    run.stages.done("train", run.inputs.all.clone())?;
    Ok((Trained::Done, untrained))
}

/// Special tokens before and after every text, a late interaction's marker among the first.
fn special_tokens(folder: &Folder) -> [usize; 2] {
    let (all, before) = (folder.tokenizer.special_tokens(), folder.tokenizer.special_tokens_before());
    let markers = folder.late_interaction.as_ref().map_or(0, |late| late.added_tokens());
    [before + markers, all - before]
}

/// Writes what explains the run, before anything is computed.
fn write_head(experiment: &Experiment, data: &ExperimentPairs, run: &OpenRun, device: &OpenDevice) -> Result<()> {
    let config = wb_core::config::to_text(experiment)?;
    let of_config = Fingerprint::of_bytes(config.as_bytes());
    atomic::write(&run.dir.config(), config.as_bytes())?;
    write_json(&run.dir.data(), &data.prepared.card)?;
    let mut fingerprints = run.inputs.parts.clone();
    for (name, of) in [("config", &of_config), ("data", &data.fingerprint), ("train", &run.inputs.all)] {
        fingerprints.insert(name.to_owned(), of.to_string());
    }
    manifest::write(&run.dir, experiment, device, fingerprints)?;
    Ok(())
}
