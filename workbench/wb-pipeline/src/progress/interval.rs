//! The time between lines, as the environment has it.

use std::time::Duration;

use crate::output::note;

/// Time between two lines: what `WB_PROGRESS_SECONDS` says, else the usual.
pub fn interval(usual: Duration) -> Duration {
    let Some(text) = std::env::var_os("WB_PROGRESS_SECONDS").filter(|text| !text.is_empty()) else { return usual };
    text.to_str().and_then(seconds).unwrap_or_else(|| {
        note(format!(
            "WB_PROGRESS_SECONDS is {}, expected a number of seconds from 0.01 to 86400; {} are taken",
            text.display(),
            usual.as_secs()
        ));
        usual
    })
}

/// A time as variables of the environment have it: a number of seconds from 0.01 to 86400.
pub fn seconds(text: &str) -> Option<Duration> {
    let seconds = text.parse().ok().filter(|seconds| (0.01..=86_400.0).contains(seconds));
    seconds.map(Duration::from_secs_f64)
}
