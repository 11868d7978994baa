//! Choices of one process that are far from where they are needed: its folders.

use std::{
    path::{Path, PathBuf},
    sync::OnceLock,
    thread,
    time::Duration,
};

use wb_core::{Error, Result, remote, run_dir};

use crate::{distributed, output, progress};

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
/// Those of [`work_folder`].
pub fn work_in([runs, datasets, reports]: [&mut PathBuf; 3]) -> Result<()> {
    *runs = work_folder(runs, &run_dir::is_record)?;
    // Pages link to pages.
    let is_page = |name: &str| name.ends_with(".html") && !name.contains('/');
    *datasets = work_folder(datasets, &|_| false)?;
    *reports = work_folder(reports, &is_page)?;
    Ok(())
}

/// Has a folder worked in on this disk, with those of its files that are wanted.
///
/// # Errors
///
/// If the storage does not answer, or `WB_KEEP_SECONDS` is no time.
pub fn work_folder(folder: &Path, wanted: &dyn Fn(&str) -> bool) -> Result<PathBuf> {
    if remote::is_remote(folder) {
        keeps_every()?;
    }
    remote::keep(folder, wanted)
}

/// Puts back what has changed in such folders, where the last time is long enough ago.
pub fn put_back_now_and_then() {
    let every = EVERY.get_or_init(|| keeps_every().unwrap_or(Duration::from_secs_f64(KEEP)));
    if let Err(error) = remote::put_back_after(*every) {
        output::note(format!("warning: not put back yet, it is tried again: {error}"));
    }
}

/// Puts back what has changed in such folders and ends the process: on a thread of its own, so that who calls this may end it
/// earlier.
pub fn put_back_and_end(code: i32) {
    let put_back = move || {
        for error in remote::put_back_or_leave() {
            output::note(format!("error: {}", output::in_one_line(&error.into())));
        }
        std::process::exit(code);
    };
    if thread::Builder::new().spawn(put_back).is_err() {
        std::process::exit(code);
    }
}

/// True for an error after which the same command may succeed: a rank was lost, or a storage did not answer.
pub fn may_pass(error: &anyhow::Error) -> bool {
    let of_storage =
        |cause: &(dyn std::error::Error + 'static)| cause.downcast_ref().is_some_and(wb_shards::is_passing);
    distributed::is_lost(error) || error.chain().any(of_storage)
}

/// Time between two times that work is kept.
///
/// # Errors
///
/// If `WB_KEEP_SECONDS` is no such time.
pub fn keeps_every() -> Result<Duration> {
    let Ok(text) = std::env::var("WB_KEEP_SECONDS") else { return Ok(Duration::from_secs_f64(KEEP)) };
    let message = || format!("got {text}, expected a number of seconds from 0.01 to 86400");
    progress::seconds(&text).ok_or_else(|| Error::value("WB_KEEP_SECONDS", message()))
}

#[cfg(test)]
mod tests {
    use std::{fs, sync::Mutex};

    use wb_core::{atomic, faults};
    use wb_sandbox::storage::place_of;

    use super::*;

    /// Folders to work in are those of a process, and each test has the process to itself.
    static ALONE: Mutex<()> = Mutex::new(());

    fn put(path: &Path, text: &str) {
        atomic::write(path, text.as_bytes()).unwrap();
    }

    fn checkpoint(step: usize) -> [String; 2] {
        ["a", "b"].map(|file| format!("checkpoints/step-{step}/{file}"))
    }

    /// A folder of runs with a checkpoint of one, and the same run a checkpoint later in a folder to work in.
    fn a_checkpoint_later(there: &Path) -> (PathBuf, PathBuf) {
        let at = |name: &str| there.join("runs/x").join(name);
        checkpoint(1).iter().for_each(|name| put(&at(name), "1"));
        put(&at("metrics.jsonl"), "1\n");
        let place = place_of(&there.join("runs"));
        let local = work_folder(&place, &|_| true).unwrap().join("x");
        remote::bring(&local).unwrap();
        checkpoint(2).iter().for_each(|name| put(&local.join(name), "2"));
        put(&local.join("metrics.jsonl"), "1\n2\n");
        fs::remove_dir_all(local.join("checkpoints/step-1")).unwrap();
        (place, local)
    }

    /// Files of both checkpoints that another process finds, and the steps of its journal.
    fn found(place: &Path) -> (usize, usize, usize) {
        let run = work_folder(place, &|_| true).unwrap().join("x");
        remote::bring(&run).unwrap();
        let files = |step| checkpoint(step).iter().filter(|name| run.join(name).exists()).count();
        (files(1), files(2), fs::read_to_string(run.join("metrics.jsonl")).unwrap().lines().count())
    }

    fn copy(from: &Path, to: &Path) {
        for entry in fs::read_dir(from).unwrap().flatten() {
            let to = to.join(entry.file_name());
            if entry.path().is_dir() {
                fs::create_dir_all(&to).unwrap();
                copy(&entry.path(), &to);
            } else {
                fs::copy(entry.path(), to).unwrap();
            }
        }
    }

    #[test]
    fn whatever_fails_new_files_of_a_folder_count_all_or_not_at_all() {
        let _alone = ALONE.lock().unwrap();
        for n in 1.. {
            let there = tempfile::tempdir().unwrap();
            let at = |name: &str| there.path().join("runs/x").join(name);
            let (place, local) = a_checkpoint_later(there.path());
            let mut fired = false;
            // The second time there is another checkpoint.
            for step in [3, 4] {
                faults::fail_at(n, true);
                let result = remote::put_back_after(Duration::ZERO);
                assert_eq!(result.is_err(), faults::clear(), "{n}");
                fired |= result.is_err();
                let (first, second, steps) = found(&place);
                assert!(second == 2 && steps >= 2 || second == 0 && first == 2, "{n}: {first} {second} {steps}");
                checkpoint(step).iter().for_each(|name| put(&local.join(name), "more"));
            }
            // It goes on, and what it has not put it puts now.
            assert!(remote::let_go().is_empty());
            let mut all = Vec::new();
            wb_core::paths::walk(&at(""), &mut |file| all.push(file)).unwrap();
            assert!([2, 3, 4].map(checkpoint).as_flattened().iter().all(|name| at(name).exists()), "{n}");
            assert!(all.len() == 7 && !at(".putting.json").exists(), "{n}: {all:?}");
            if !fired {
                assert!(n > 8, "{n}");
                break;
            }
        }
    }

    #[test]
    fn what_a_bucket_does_not_take_in_the_end_is_left_and_can_be_put_there_by_hand() {
        let _alone = ALONE.lock().unwrap();
        for n in 1.. {
            let there = tempfile::tempdir().unwrap();
            let (place, _) = a_checkpoint_later(there.path());
            faults::fail_at(n, true);
            let errors = remote::let_go();
            if !faults::clear() {
                assert!(errors.is_empty() && n > 8, "{n}");
                break;
            }
            let hint = errors[0].hint().unwrap();
            let left = PathBuf::from(hint.split(' ').rev().nth(1).unwrap());
            assert!(left.is_dir(), "{hint}");
            copy(&left, &there.path().join("runs"));
            let (_, second, steps) = found(&place);
            assert_eq!((second, steps), (2, 2), "{n}");
            assert!(remote::let_go().is_empty());
            fs::remove_dir_all(left.parent().unwrap()).unwrap();
        }
    }

    #[test]
    fn a_folder_of_object_storage_is_worked_in_and_put_back() {
        let _alone = ALONE.lock().unwrap();
        let there = tempfile::tempdir().unwrap();
        let at = |name: &str| there.path().join(name);
        put(&at("runs/2026-old-01/manifest.json"), "{}");
        put(&at("runs/2026-old-01/encoder/model.safetensors"), "weights");
        put(&at("runs/latest"), "2026-old-01\n");
        // One whose process died while it put an encoder there.
        put(&at("runs/2026-dead-03/manifest.json"), "{}");
        put(&at("runs/2026-dead-03/encoder/config.json"), "{}");
        put(&at("runs/2026-dead-03/.putting.json"), r#"["2026-dead-03/encoder/config.json","2026-dead-03/encoder/x"]"#);

        let runs = place_of(&at("runs"));
        let (mut local, mut sets, mut reports) = (runs.clone(), PathBuf::from("here"), place_of(&at("pages")));
        work_in([&mut local, &mut sets, &mut reports]).unwrap();
        assert!(local.ends_with("runs") && reports.is_dir() && sets == Path::new("here"));
        let weights = local.join("2026-old-01/encoder/model.safetensors");
        assert!(local.join("2026-old-01/manifest.json").is_file() && !weights.exists());
        remote::bring(&local.join("2026-old-01")).unwrap();
        assert_eq!(fs::read_to_string(&weights).unwrap(), "weights");
        remote::bring(&local.join("2026-new-02")).unwrap();
        remote::bring(&local.join("2026-dead-03/encoder")).unwrap();
        assert!(local.join("2026-dead-03/manifest.json").is_file() && !local.join("2026-dead-03/encoder").exists());
        remote::bring(&sets.join("pairs")).unwrap();

        put(&local.join("2026-new-02/checkpoints/step-1/state.json"), "1");
        put(&local.join("2026-new-02/lock"), "held");
        put(&local.join("latest"), "2026-new-02\n");
        fs::write(local.join("2026-new-02/.half.host.0123.7.tmp"), "half").unwrap();
        remote::put_back_after(Duration::from_secs(3600)).unwrap();
        assert!(!at("runs/2026-new-02").exists(), "an hour has not gone by");
        remote::put_back_after(Duration::ZERO).unwrap();
        let kept = |name: &str| fs::read_to_string(at(name)).ok();
        assert_eq!(kept("runs/2026-new-02/checkpoints/step-1/state.json").as_deref(), Some("1"));
        assert_eq!(kept("runs/latest").as_deref(), Some("2026-new-02\n"));
        assert_eq!(kept("runs/2026-new-02/.putting.json"), None);
        assert!(at("runs/2026-dead-03/.putting.json").exists(), "nobody has worked on it since");
        assert_eq!((kept("runs/2026-new-02/lock"), kept("runs/2026-new-02/.half.host.0123.7.tmp")), (None, None));

        // What others put there meanwhile is not this process's to write or to take away.
        put(&at("runs/2026-old-01/manifest.json"), "of another");
        put(&at("runs/2026-old-01/DONE"), "");
        fs::remove_dir_all(local.join("2026-new-02/checkpoints")).unwrap();
        put(&local.join("2026-new-02/encoder/model.safetensors"), "new");
        put(&reports.join("index.html"), "<p>");
        remote::bring(&local.join("2026-dead-03")).unwrap();
        put(&local.join("2026-dead-03/encoder/model.safetensors"), "again");
        let told = remote::shown(&format!("in {}", weights.display())).into_owned();
        assert_eq!(told, format!("in {}/2026-old-01/encoder/model.safetensors", runs.display()));
        assert!(remote::let_go().is_empty());
        assert!(!local.exists() && !reports.exists());
        assert_eq!(kept("runs/2026-new-02/encoder/model.safetensors").as_deref(), Some("new"));
        assert_eq!(kept("runs/2026-new-02/checkpoints/step-1/state.json"), None);
        assert_eq!(kept("runs/2026-dead-03/encoder/model.safetensors").as_deref(), Some("again"));
        assert!(
            !at("runs/2026-dead-03/encoder/config.json").exists() && !at("runs/2026-dead-03/.putting.json").exists()
        );
        assert_eq!(kept("runs/2026-old-01/manifest.json").as_deref(), Some("of another"));
        assert_eq!(
            (kept("runs/2026-old-01/DONE").as_deref(), kept("pages/index.html").as_deref()),
            (Some(""), Some("<p>"))
        );
    }
}
