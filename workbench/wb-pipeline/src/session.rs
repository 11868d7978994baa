//! Choices of one process that are far from where they are needed: its folders.

use std::{
    path::{Path, PathBuf},
    sync::OnceLock,
    time::Duration,
};

use wb_core::{Error, Result, remote, run_dir};

use crate::output;

/// Seconds after which work is kept where other machines find it, unless `WB_KEEP_SECONDS` says otherwise: what the death of
/// a machine costs at most.
const KEEP: f64 = 60.0;

static RUNS: OnceLock<PathBuf> = OnceLock::new();
static EVERY: OnceLock<Duration> = OnceLock::new();

/// The folders that stages read from and write to.
#[derive(Debug, Clone, Copy)]
pub struct Folders<'a> {
    /// The folder of runs.
    pub runs: &'a Path,
    /// The folder of prepared data sets.
    pub datasets: &'a Path,
}

/// Takes the folder of runs, once in a process; before this, and without a folder, it is `runs`.
pub fn begin(runs: Option<&Path>) -> &'static Path {
    RUNS.get_or_init(|| runs.unwrap_or(Path::new("runs")).to_owned())
}

/// The folder of runs.
pub fn runs() -> &'static Path {
    RUNS.get().map_or(Path::new("runs"), PathBuf::as_path)
}

/// Has folders of runs, data sets and reports that lie in object storage worked in on this disk ([`remote::keep`]): of runs
/// their records are brought, all else once it is asked for.
///
/// # Errors
///
/// Those of [`kept`].
pub fn keep(runs: &mut PathBuf, others: [&mut PathBuf; 2]) -> Result<()> {
    *runs = kept(runs, &run_dir::is_record)?;
    for folder in others {
        *folder = kept(folder, &|_| false)?;
    }
    Ok(())
}

/// Has a folder worked in on this disk, with those of its files that are wanted.
///
/// # Errors
///
/// If the storage does not answer, or `WB_KEEP_SECONDS` is no time.
pub fn kept(folder: &Path, wanted: &dyn Fn(&str) -> bool) -> Result<PathBuf> {
    if remote::is_remote(folder) {
        keeps_every()?;
    }
    remote::keep(folder, wanted)
}

/// Puts back what has changed in such folders, where the last time is long enough ago.
pub fn keep_now_and_then() {
    let every = EVERY.get_or_init(|| keeps_every().unwrap_or(Duration::from_secs_f64(KEEP)));
    if let Err(error) = remote::keep_by(*every) {
        output::note(format!("warning: not put back yet, it is tried again: {error}"));
    }
}

/// Time between two times that work is kept.
///
/// # Errors
///
/// If `WB_KEEP_SECONDS` is no such time.
pub fn keeps_every() -> Result<Duration> {
    let Ok(text) = std::env::var("WB_KEEP_SECONDS") else { return Ok(Duration::from_secs_f64(KEEP)) };
    let seconds = text.parse().ok().filter(|seconds| (0.01..=86_400.0).contains(seconds));
    let message = || format!("got {text}, expected a number of seconds from 0.01 to 86400");
    Ok(Duration::from_secs_f64(seconds.ok_or_else(|| Error::value("WB_KEEP_SECONDS", message()))?))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use wb_core::atomic;
    use wb_sandbox::storage::place_of;

    use super::*;

    #[test]
    fn a_folder_of_object_storage_is_worked_in_and_put_back() {
        let there = tempfile::tempdir().unwrap();
        let at = |name: &str| there.path().join(name);
        let put = |path: &Path, text: &str| atomic::write(path, text.as_bytes()).unwrap();
        put(&at("runs/2026-old-01/manifest.json"), "{}");
        put(&at("runs/2026-old-01/encoder/model.safetensors"), "weights");
        put(&at("runs/latest"), "2026-old-01\n");

        let runs = place_of(&at("runs"));
        let (mut local, mut sets, mut reports) = (runs.clone(), PathBuf::from("here"), place_of(&at("pages")));
        keep(&mut local, [&mut sets, &mut reports]).unwrap();
        assert!(local.ends_with("runs") && reports.is_dir() && sets == Path::new("here"));
        let weights = local.join("2026-old-01/encoder/model.safetensors");
        assert!(local.join("2026-old-01/manifest.json").is_file() && !weights.exists());
        remote::bring(&local.join("2026-old-01")).unwrap();
        assert_eq!(fs::read_to_string(&weights).unwrap(), "weights");
        remote::bring(&local.join("2026-new-02")).unwrap();
        remote::bring(&sets.join("pairs")).unwrap();

        put(&local.join("2026-new-02/checkpoints/step-1/state.json"), "1");
        put(&local.join("2026-new-02/lock"), "held");
        put(&local.join("latest"), "2026-new-02\n");
        fs::write(local.join("2026-new-02/.half.host.0123.7.tmp"), "half").unwrap();
        remote::keep_by(Duration::from_secs(3600)).unwrap();
        assert!(!at("runs/2026-new-02").exists(), "an hour has not gone by");
        remote::keep_by(Duration::ZERO).unwrap();
        let kept = |name: &str| fs::read_to_string(at(name)).ok();
        assert_eq!(kept("runs/2026-new-02/checkpoints/step-1/state.json").as_deref(), Some("1"));
        assert_eq!(kept("runs/latest").as_deref(), Some("2026-new-02\n"));
        assert_eq!((kept("runs/2026-new-02/lock"), kept("runs/2026-new-02/.half.host.0123.7.tmp")), (None, None));

        // What others put there meanwhile is not this process's to write or to take away.
        put(&at("runs/2026-old-01/manifest.json"), "of another");
        put(&at("runs/2026-old-01/DONE"), "");
        fs::remove_dir_all(local.join("2026-new-02/checkpoints")).unwrap();
        put(&local.join("2026-new-02/encoder/model.safetensors"), "new");
        put(&reports.join("index.html"), "<p>");
        let told = remote::shown(&format!("in {}", weights.display())).into_owned();
        assert_eq!(told, format!("in {}/2026-old-01/encoder/model.safetensors", runs.display()));
        remote::let_go().unwrap();
        assert!(!local.exists() && !reports.exists());
        assert_eq!(kept("runs/2026-new-02/encoder/model.safetensors").as_deref(), Some("new"));
        assert_eq!(kept("runs/2026-new-02/checkpoints/step-1/state.json"), None);
        assert_eq!(kept("runs/2026-old-01/manifest.json").as_deref(), Some("of another"));
        assert_eq!(
            (kept("runs/2026-old-01/DONE").as_deref(), kept("pages/index.html").as_deref()),
            (Some(""), Some("<p>"))
        );
    }
}
