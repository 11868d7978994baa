//! What can go wrong between a name and a file, by what callers tell it.

use wb_core::Error;

/// The kind of failure, for callers that tell them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// The environment forbids to ask, and the file is not on this disk.
    Offline,
    /// This build cannot ask.
    NotBuilt,
    /// No repository of that name is public or open to the token.
    NoRepository,
    /// The repository has no such revision.
    NoRevision,
    /// The revision has no such file.
    NoFile,
    /// The owner lets in only who accepted the terms.
    Gated,
    /// The token is not accepted.
    Token,
    /// Nobody answered, or not to the end, after all attempts.
    Unreachable,
    /// The server has asked to wait longer than anybody wants to.
    Busy,
    /// The server refused for another reason.
    Refused,
    /// Other bytes came than those that were listed.
    WrongBytes,
    /// The answer makes no sense.
    Nonsense,
    /// The disk has no room.
    DiskFull,
    /// `--locked`, and the lock file does not know the name.
    NotLocked,
    /// A person or an option said no to a large download.
    NotAllowed,
}

impl Why {
    /// The kind of an error; none for one that did not come between a name and a file.
    pub fn of(error: &Error) -> Option<Self> {
        error.kind::<Failure>().map(|failure| failure.why)
    }
}

/// What an error of this crate is told by.
struct Failure {
    why: Why,
    what: String,
}

/// A failure to have `owner/name@revision`, `owner/name@revision: file`, or an address.
pub(crate) fn failure(why: Why, what: impl Into<String>, message: impl Into<String>) -> Error {
    let what = what.into();
    Error::data(what.as_str(), message).of_kind(Failure { why, what })
}

/// What an error failed to have.
#[cfg(feature = "network")]
pub(crate) fn wanted(error: &Error) -> String {
    error.kind::<Failure>().map_or_else(|| error.to_string(), |failure| failure.what.clone())
}
