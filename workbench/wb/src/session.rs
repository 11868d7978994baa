//! The hub and the object storage of this process, and what a person sees of them.

use std::{
    io::{BufRead, Write},
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

use wb_core::{
    Progress,
    download::{Demand, Observer},
    quantities::bytes,
    remote,
};
use wb_hub::{Hub, LockFile, Settings};
use wb_shards::Buckets;

use crate::{
    args::{Downloads, PlacesArguments},
    output::{self, Bars},
};

/// Downloads from here on are asked for.
const ASKED_FOR: u64 = 1_000_000_000;

/// Takes the command line's word; before this, and without it, the defaults hold.
pub fn begin(places: Option<&mut PlacesArguments>, downloads: &Downloads) -> wb_core::Result<()> {
    let observer = || Terminal { bars: Mutex::default(), yes: downloads.yes };
    remote::install(Buckets::of_environment(observer()));
    let runs = places.map(|PlacesArguments { runs, datasets, reports }| -> wb_core::Result<_> {
        wb_pipeline::session::work_in([runs, datasets, reports])?;
        Ok(&*runs)
    });
    let runs = wb_pipeline::session::begin(runs.transpose()?.map(PathBuf::as_path));
    let settings = Settings { locked: downloads.locked, ..Settings::of_environment() };
    Hub::new(settings).with_lock(LockFile::of_runs(runs)).observed(observer()).install();
    Ok(())
}

/// A person at a terminal, or a log.
struct Terminal {
    /// Bars of a download while no command shows any.
    bars: Mutex<Option<Bars>>,
    yes: bool,
}

impl Observer for Terminal {
    fn progress(&self, progress: Progress) {
        let mut own = self.bars.lock().unwrap_or_else(PoisonError::into_inner);
        if own.is_none() && !output::is_shown() {
            *own = Some(Bars::new());
        }
        output::report(progress);
    }

    fn finished(&self) {
        output::finish();
        *self.bars.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn note(&self, text: &str) {
        output::note(text);
    }

    fn refuses(&self, demand: &Demand) -> Option<(String, String)> {
        let told = told(demand);
        output::note(format!("fetching {told}"));
        if demand.bytes < ASKED_FOR || self.yes {
            return None;
        }
        if output::can_ask() && agrees(&format!("fetch {told}?"), &mut std::io::stdin().lock()) {
            return None;
        }
        let refused = format!("{} are not fetched without a yes", bytes(demand.bytes));
        Some((refused, "give the same command again with --yes".to_owned()))
    }
}

/// `2 files, 4.7 GB, of o/n@0123`
fn told(demand: &Demand) -> String {
    let s = if demand.files == 1 { "" } else { "s" };
    let size = if demand.bytes == 0 { String::new() } else { format!("{}, ", bytes(demand.bytes)) };
    format!("{} file{s}, {size}of {}", demand.files, demand.what)
}

/// Asks once; anything but a yes is a no.
pub fn agrees(question: &str, input: &mut dyn BufRead) -> bool {
    // Where the question cannot be shown, nobody says yes.
    let mut questions = output::questions();
    if write!(questions, "{question} [y/N] ").and_then(|()| questions.flush()).is_err() {
        return false;
    }
    let mut answer = String::new();
    input.read_line(&mut answer).is_ok() && matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_downloads_are_asked_for_and_only_a_yes_is_one() {
        for (typed, expected) in [("y\n", true), (" YES \n", true), ("\n", false), ("", false), ("no\n", false)] {
            assert_eq!(agrees("x", &mut typed.as_bytes()), expected, "{typed:?}");
        }
        let demand = Demand { what: "o/n@0123".into(), files: 2, bytes: 4_700_000_000 };
        assert_eq!(told(&demand), "2 files, 4.7 GB, of o/n@0123");
    }
}
