//! Failures between a name and a file, by kinds that callers tell apart.

use wb_core::Error;

/// The kind of failure, for callers that tell them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// The environment forbids to ask, and the file is not on this disk.
    Offline,
    /// The build has no network client.
    NotBuilt,
    /// The name is of no repository that is public or open to the token.
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
        error.kind::<Failure>().map(|(why, _)| *why)
    }
}

/// Kind of an error of this crate, with the name that was wanted.
type Failure = (Why, String);

/// A failure to have `owner/name@revision`, `owner/name@revision: file`, or an address.
pub(crate) fn failure(why: Why, what: impl Into<String>, message: impl Into<String>) -> Error {
    let what = what.into();
    Error::data(what.as_str(), message).of_kind((why, what))
}

/// The name that an error failed to have.
#[cfg(feature = "network")]
pub(crate) fn wanted(error: &Error) -> String {
    error.kind::<Failure>().map_or_else(|| error.to_string(), |(_, what)| what.clone())
}
