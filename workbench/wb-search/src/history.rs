//! Ages of files by the commits that changed them.

use std::{collections::HashMap, path::Path};

use crate::git::git;

/// Commits that are looked at, some months to some years of a project: more take longer than they are worth.
const COMMITS: &str = "1000";
/// Mark of a line with a commit's time, which no path begins with.
const COMMIT: char = '\u{1}';
/// Seconds of a day.
const DAY: u64 = 86_400;

/// Days from the last commit that changed a file to the latest one, by the file's path below the folder. Nothing for files
/// that older commits changed, for those that are in no commit, and where there is no git.
pub(crate) fn days_since_change(folder: &Path) -> HashMap<String, u32> {
    let format = format!("--format={COMMIT}%ct");
    let asked = ["log", "-z", "--no-merges", "--relative", "--name-only", &format, "-n", COMMITS, "--", "."];
    git(folder, &asked).map(|log| days(&log)).unwrap_or_default()
}

fn days(log: &str) -> HashMap<String, u32> {
    let (mut last, mut latest, mut time) = (HashMap::new(), 0, 0);
    for part in log.split('\0').map(|part| part.trim_start_matches('\n')) {
        match part.strip_prefix(COMMIT) {
            Some(seconds) => time = seconds.trim().parse::<u64>().unwrap_or_default(),
            // A clock may have gone wrong: the latest time of all counts.
            None if !part.is_empty() => {
                let known = last.entry(part.to_owned()).or_insert(time);
                *known = time.max(*known);
            }
            None => {}
        }
        latest = time.max(latest);
    }
    let age = |time: u64| u32::try_from((latest - time) / DAY).unwrap_or(u32::MAX);
    last.into_iter().map(|(path, time)| (path, age(time))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_commit_of_each_file_counts() {
        let log = "\u{1}950400\0\nb.rs\0\u{1}864000\0\na.rs\0b.rs\0\u{1}900000\0\u{1}86400\0\na.rs\0dir/ä c.rs\0";
        let expected = [("a.rs", 1), ("b.rs", 0), ("dir/ä c.rs", 10)];
        assert_eq!(days(log), expected.map(|(path, days)| (path.to_owned(), days)).into());
        assert_eq!(days(""), HashMap::new());
    }
}
