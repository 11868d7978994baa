//! The encoder of this machine, which indexes have where none is named: a bag of token vectors, trained once on the code that
//! is installed here anyway.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Result, bail};
use wb_core::{EncoderPlace, EncoderRef, Error, atomic, encoder_ref::BAG, lock::FileLock};

use super::Told;
use crate::{
    config::Experiment,
    distributed::Ranks,
    experiment::{Ended, Job},
    interrupt::Interrupt,
    output,
    session::{self, Folders},
};

/// The recipe, which is kept beside what is trained by it.
const RECIPE: &str = include_str!("../../../../configs/search-bag.yaml");

/// The bag of this machine, where it was trained.
pub fn trained() -> Result<Option<EncoderRef>> {
    let folder = EncoderRef::bag_folder()?;
    Ok(folder.is_dir().then(|| EncoderRef::from(folder.to_string_lossy().as_ref())))
}

/// True for an encoder that is called as this machine's is, and is no run of that name.
pub fn is_meant(reference: &EncoderRef) -> bool {
    let bag = EncoderRef::bag_folder().ok();
    reference.id == BAG
        && match reference.place(session::runs()) {
            Ok(EncoderPlace::Folder(folder)) => Some(folder) == bag,
            Ok(_) => false,
            Err(_) => true,
        }
}

/// Trains the bag of this machine, unless it is there and not wanted `anew`. A training that was ended goes on.
pub fn train(anew: bool, progress: Told<'_>) -> Result<()> {
    let folder = EncoderRef::bag_folder()?;
    let Some(work) = folder.parent().map(|parent| parent.join("training")) else { bail!("no folder for the encoder") };
    let waiting = |holder: &str| output::note(format!("waiting for {holder}, who trains the encoder of this machine"));
    let _one = FileLock::wait(&folder.with_extension("lock"), waiting)?;
    if folder.is_dir() && !anew {
        return Ok(());
    }
    let recipe = work.join("search-bag.yaml");
    atomic::write(&recipe, RECIPE.as_bytes())?;
    output::note("training an encoder on the code that is installed here, once, which takes about a minute");
    let encoder = trained_in(&work, &recipe, progress).map_err(|error| {
        let what = format!("no encoder could be trained on this machine's own code: {error:#}");
        let hint =
            "`wb index --encoder DIR|ID|RUN` takes another one; configs/search-bag.yaml says how to name other code";
        Error::failed(what).with_hint(hint)
    })?;
    atomic::replace_folder_with(&folder, |to| {
        for entry in fs::read_dir(&encoder).map_err(Error::io("read", &encoder))? {
            let entry = entry.map_err(Error::io("read", &encoder))?;
            atomic::rename(&entry.path(), &to.join(entry.file_name()))?;
        }
        Ok::<_, Error>(())
    })?;
    // Checkpoints and pairs, which are as large as the encoder many times.
    fs::remove_dir_all(&work).map_err(Error::io("remove", &work))?;
    Ok(())
}

/// Trains it in a folder of its own; its place there.
fn trained_in(work: &Path, recipe: &Path, progress: Told<'_>) -> Result<PathBuf> {
    let experiment = Experiment::load("wb index", recipe, &[])?;
    let (runs, datasets) = (work.join("runs"), work.join("datasets"));
    let folders = Folders { runs: &runs, datasets: &datasets };
    let job = Job::new(&experiment, recipe, folders, None, false, &Ranks::default())?;
    match job.run(&Interrupt::default(), progress)? {
        Ended::Trained(run) => Ok(run.dir.encoder()),
        _ => bail!("the training was stopped"),
    }
}
