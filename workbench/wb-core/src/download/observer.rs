//! Observers of downloads, which may forbid large ones.

use crate::Progress;

/// A download that is about to begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Demand {
    /// `owner/name@commit`, or an address.
    pub what: String,
    /// Files to come.
    pub files: usize,
    /// Bytes to come.
    pub bytes: u64,
}

/// Sees how far downloads are, and is asked before large ones.
pub trait Observer: Send + Sync {
    /// Takes the progress of a download, in megabytes.
    fn progress(&self, progress: Progress);
    /// Learns that no download is under way any more.
    fn finished(&self);
    /// Takes a remark: a wait, a new name.
    fn note(&self, text: &str);
    /// Gives a refusal in one sentence with its hint, where so much may not be fetched.
    fn refuses(&self, demand: &Demand) -> Option<(String, String)>;
}

/// Watches nothing and allows everything.
#[derive(Debug, Clone, Copy)]
pub struct Silent;

impl Observer for Silent {
    fn progress(&self, _: Progress) {}

    fn finished(&self) {}

    fn note(&self, _: &str) {}

    fn refuses(&self, _: &Demand) -> Option<(String, String)> {
        None
    }
}
