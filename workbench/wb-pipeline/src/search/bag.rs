//! The encoder of this machine, which indexes have where none is named: a bag of token vectors, trained once on the code that
//! is installed here anyway.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Result, bail};
use wb_core::{EncoderRef, Error, atomic, lock::FileLock};
use wb_encoder::{BiEncoder, DeviceConfig, Folder};
use wb_search::VectorEncoder;

use super::{Told, open};
use crate::{
    config::Experiment,
    distributed::Ranks,
    experiment::{Ended, Job},
    interrupt::Interrupt,
    output,
    session::Folders,
};

/// The recipe, which is kept beside what is trained by it.
const RECIPE: &str = include_str!("../../../../configs/search-bag.yaml");

/// The bag of this machine, opened on a device, where it was trained.
pub fn opened(device: DeviceConfig) -> Result<Option<(VectorEncoder, BiEncoder)>> {
    let folder = EncoderRef::bag_folder()?;
    if !Folder::is_encoder(&folder) {
        return Ok(None);
    }
    // Its folder, and not whatever else is called so here.
    let opened = open(&EncoderRef::from(folder.to_string_lossy().as_ref()), device);
    let told = |error: anyhow::Error| {
        let hint = "`wb index --encoder bag --anew` trains it again, and `wb index --words` does without";
        Error::failed(format!("the encoder of this machine cannot be opened: {error:#}")).with_hint(hint)
    };
    Ok(Some(opened.map_err(told)?))
}

/// Trains the bag of this machine, unless it is there and not wanted `anew`. A training that was ended goes on.
pub fn train(anew: bool, progress: Told<'_>) -> Result<()> {
    train_in(&EncoderRef::bag_folder()?, RECIPE, anew, progress)
}

/// [`train()`] for an encoder of a folder, by a recipe.
fn train_in(folder: &Path, recipe: &str, anew: bool, progress: Told<'_>) -> Result<()> {
    let Some(parent) = folder.parent() else { bail!("no folder for the encoder of this machine") };
    let (file, work) = (parent.join("search-bag.yaml"), parent.join("training"));
    if Folder::is_encoder(folder) && !anew && !work.is_dir() {
        return Ok(());
    }
    let waiting =
        |holder: &str| output::note(format!("waiting for {holder}, which trains the encoder of this machine"));
    let _one = FileLock::wait(&folder.with_extension("lock"), waiting)?;
    // What one that was killed has left.
    atomic::restore_folders(parent)?;
    atomic::remove_abandoned(parent);
    if Folder::is_encoder(folder) {
        if work.is_dir() {
            atomic::remove_folder(&work)?;
        }
        if !anew {
            return Ok(());
        }
    }
    output::note("training an encoder on the code that is installed here, once, which takes about a minute");
    let is_begun = work.is_dir();
    let mut trained = || {
        atomic::write(&file, recipe.as_bytes())?;
        let run = trained_in(&work, &file, progress);
        // What cannot be gone on with, as what another build has begun, is not kept.
        if run.is_err() && work.is_dir() {
            atomic::remove_folder(&work)?;
        }
        run
    };
    let mut run = trained();
    if is_begun && run.is_err() {
        run = trained();
    }
    let encoder = run.map_err(|error| {
        let what = format!("no encoder could be trained on this machine's own code: {error:#}");
        let hint =
            "`wb index --encoder DIR|ID|RUN` takes another one; configs/search-bag.yaml says how to name other code";
        Error::failed(what).with_hint(hint)
    })?;
    atomic::replace_folder_with(folder, |to| copied(&encoder, to))?;
    // Checkpoints and pairs, which are as large as the encoder many times.
    atomic::remove_folder(&work)?;
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

/// Copies the files of an encoder, which stays whole: a process that is killed here does the same again.
fn copied(encoder: &Path, to: &Path) -> wb_core::Result<()> {
    for entry in fs::read_dir(encoder).map_err(Error::io("read", encoder))? {
        let file = entry.map_err(Error::io("read", encoder))?;
        let target = to.join(file.file_name());
        let copy = fs::copy(file.path(), &target).and_then(|_| fs::File::open(&target)?.sync_all());
        copy.map_err(Error::io("write", &target))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use wb_core::Progress;

    use super::*;

    const SILENT: fn(Progress) = |_| {};

    /// A recipe for code of a folder, and a folder to keep its encoder in.
    fn small(folder: &Path) -> String {
        let functions = (0..60).map(|at| {
            let name = ["read", "close", "open", "drop"][at % 4];
            format!("/// Will {name} thing {at} of a project with care.\npub fn {name}_{at}(count: usize) -> usize {{\n    let thing = count * {at} + 1;\n    {name}_other(thing, count + {at})\n}}\n\n")
        });
        fs::create_dir_all(folder.join("code")).unwrap();
        fs::write(folder.join("code/lib.rs"), functions.collect::<String>()).unwrap();
        let from = RECIPE.find("  sources:").unwrap();
        let to = RECIPE.find("  filter:").unwrap();
        let sources = format!("  sources: [{{ code: {{ path: {} }} }}]\n", folder.join("code").display());
        format!("{}{sources}{}", &RECIPE[..from], &RECIPE[to..])
            .replace("pairs: 1024", "pairs: 16")
            .replace("16384", "500")
    }

    #[test]
    fn it_is_trained_once_and_whatever_a_killed_process_has_left_is_mended() {
        let home = tempfile::tempdir().unwrap();
        let (recipe, folder) = (small(home.path()), home.path().join("bag/encoder"));
        let train = |anew| train_in(&folder, &recipe, anew, &mut { SILENT });
        let names = || {
            let listing = fs::read_dir(home.path().join("bag")).unwrap();
            let mut names: Vec<String> =
                listing.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            names
        };
        train(false).unwrap();
        let whole = || Folder::read(&folder).unwrap();
        whole();
        assert_eq!(names(), ["encoder", "encoder.lock", "search-bag.yaml"]);
        let made = fs::metadata(folder.join("model.safetensors")).unwrap().modified().unwrap();
        train(false).unwrap();
        assert_eq!(fs::metadata(folder.join("model.safetensors")).unwrap().modified().unwrap(), made, "not again");
        // Killed between its end and the removal of what it was made in: `anew` still gives a whole one.
        let work = home.path().join("bag/training");
        let experiment = home.path().join("bag/search-bag.yaml");
        trained_in(&work, &experiment, &mut { SILENT }).unwrap();
        train(true).unwrap();
        whole();
        // Killed between two names, and with a copy half done.
        fs::rename(&folder, home.path().join("bag/.encoder.replaced")).unwrap();
        train(false).unwrap();
        whole();
        // A run that nobody can go on with.
        fs::remove_dir_all(&folder).unwrap();
        let run = trained_in(&work, &experiment, &mut { SILENT }).unwrap();
        fs::write(run.parent().unwrap().join("stages.json"), "broken").unwrap();
        train(false).unwrap();
        whole();
        assert_eq!(names(), ["encoder", "encoder.lock", "search-bag.yaml"]);
        // Too little code is told, and nothing is put in the place of one.
        let error = train_in(&folder, &recipe.replace("pairs: 16", "pairs: 1024"), true, &mut { SILENT }).unwrap_err();
        assert!(
            format!("{error:#}").contains("no encoder could be trained on this machine's own code: train.batch.pairs")
        );
        whole();
    }
}
