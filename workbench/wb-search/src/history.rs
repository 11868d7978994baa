//! Ages of files by the commits that changed them.

use std::{collections::HashMap, path::Path};

use crate::git::GitHistory;

/// Commits that are looked at, some months to some years of a project: more take longer than they are worth.
const COMMITS: &str = "1000";
/// Mark of a part with a commit's time.
const COMMIT: &str = "\u{1}time ";
/// Seconds of a day.
const DAY: u64 = 86_400;
/// Days of a year.
const YEAR: f32 = 365.0;
/// Days beyond which a file is not older.
const OLDEST: u64 = 100_000;

/// Recency of a change of some days' age: 1 at the commit that was indexed, halved by each year before it, 0 where it is not
/// known.
pub(crate) fn recency(days: Option<u32>) -> f32 {
    days.map_or(0.0, |days| 0.5_f32.powf(days as f32 / YEAR))
}

/// Days from the last commit that changed a file to the one that the folder is at, by the file's path below the folder.
/// Nothing for files that older commits changed, for those that are in no commit, and where there is no git.
///
/// Paths that are not wanted are passed over: commits may name any number of them.
pub(crate) fn days_since_change(folder: &Path, is_wanted: &dyn Fn(&str) -> bool) -> HashMap<String, u32> {
    let Some(history) = GitHistory::of(folder) else { return HashMap::new() };
    let format = format!("--format={COMMIT}%ct");
    let log = history.log(&["-z", "--no-renames", "--no-mailmap", "--name-only", &format, "-n", COMMITS]);
    days(&log.unwrap_or_default(), is_wanted)
}

/// Ages by a log whose first commit is the one that the folder is at.
fn days(log: &str, is_wanted: &dyn Fn(&str) -> bool) -> HashMap<String, u32> {
    let (mut last, mut now, mut time) = (HashMap::new(), None, 0);
    for part in log.split('\0').map(|part| part.trim_start_matches('\n')) {
        match part.strip_prefix(COMMIT).and_then(|seconds| seconds.trim().parse::<u64>().ok()) {
            Some(seconds) => {
                time = seconds;
                now.get_or_insert(seconds);
            }
            None if !part.is_empty() && is_wanted(part) => {
                // The clock of one may have been wrong.
                let known = last.entry(part.to_owned()).or_insert(time);
                *known = time.max(*known);
            }
            None => {}
        }
    }
    let age = |time: u64| (now.unwrap_or_default().saturating_sub(time) / DAY).min(OLDEST) as u32;
    last.into_iter().map(|(path, time)| (path, age(time))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_commit_of_each_file_counts() {
        let at = |seconds: &str| format!("{COMMIT}{seconds}\0");
        let log = at("950400")
            + "\nb.rs\0unwanted.rs\0"
            + &at("864000")
            + "\na.rs\0b.rs\0"
            + &at("900000")
            + &at("86400")
            + "\na.rs\0dir/ä c.rs\0"
            + &at("99999999999999999")
            + "\nahead.rs\0";
        let expected = [("a.rs", 1), ("b.rs", 0), ("dir/ä c.rs", 10), ("ahead.rs", 0)];
        let days = |log: &str| super::days(log, &|path| path != "unwanted.rs");
        assert_eq!(days(&log), expected.map(|(path, days)| (path.to_owned(), days)).into());
        let old = format!("{}{}\nold.rs\0", at("9999999999999999"), at("0"));
        assert_eq!(days(&old), [("old.rs".to_owned(), 100_000)].into());
        assert_eq!(days(""), HashMap::new());
    }
}
