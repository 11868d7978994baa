//! Who watches downloads, and may forbid large ones.

use wb_core::Progress;

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
    /// How far it is, in megabytes.
    fn progress(&self, progress: Progress);
    /// No download is under way any more.
    fn finished(&self);
    /// A remark: a wait, a new name.
    fn note(&self, text: &str);
    /// A refusal in one sentence with its hint, where so much may not be fetched.
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
