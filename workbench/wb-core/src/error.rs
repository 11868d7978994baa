//! The one error of all crates: every variant names what, where, and what was expected.

use std::{
    any::Any,
    error::Error as StdError,
    fmt::Display,
    path::{Path, PathBuf},
};

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Reason of a failure, as libraries give it.
pub type Cause = Box<dyn StdError + Send + Sync>;

/// An error of any crate of the workspace.
///
/// Messages are lower case and without a full stop; [`Error::hint`] is a sentence or a command to paste.
/// There is one type so that a hint is found wherever in a chain of causes it stands, see [`hint`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or folder could not be read, written, created or renamed.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// Verb of the attempt: `read`, `write`, `create`, `rename`, `lock`, `start`.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The operating system's answer.
        #[source]
        source: std::io::Error,
    },
    /// There is no space left for a file.
    #[error("cannot write {}: the disk is full, {bytes} bytes were needed", path.display())]
    DiskFull {
        /// The file.
        path: PathBuf,
        /// Its size.
        bytes: u64,
        /// The operating system's answer.
        #[source]
        source: std::io::Error,
    },
    /// A text that should be YAML or JSON of a known shape is not.
    #[error("{}:{line}:{column}: {at}{message}", path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// The key path with a colon and a space after it, or nothing.
        at: String,
        /// Description of the fault and of what was expected.
        message: String,
        /// A near name or another way out.
        hint: Option<String>,
    },
    /// A `key=value` override does not fit.
    #[error("override `{given}`: {message}")]
    Override {
        /// The override as typed.
        given: String,
        /// Description of the fault and of what was expected.
        message: String,
        /// A near name or another way out.
        hint: Option<String>,
    },
    /// A value has the right type and makes no sense.
    #[error("{key}: {message}")]
    Value {
        /// The key path.
        key: String,
        /// The value given and the values allowed.
        message: String,
        /// Another way out.
        hint: Option<String>,
    },
    /// Data that contradicts itself or its file.
    #[error("{place}: {message}")]
    Data {
        /// `file:line`, `file: tensor NAME`, or a file.
        place: String,
        /// Description of the fault and of what was expected.
        message: String,
        /// Another way out.
        hint: Option<String>,
    },
    /// A record of a file that can be left out, and is not what it should be.
    #[error("{place}: {message}")]
    Record {
        /// `file:line:column`, `file: row N`, `file: cell N`.
        place: String,
        /// A short name to count by: `bad UTF-8`, `missing field`.
        reason: &'static str,
        /// Description of the fault and of what was expected.
        message: String,
        /// A near name or another way out.
        hint: Option<String>,
    },
    /// Something that the user named does not exist.
    #[error("no {kind} `{name}`")]
    Unknown {
        /// Kind of thing: `run`, `benchmark`, `language`.
        kind: &'static str,
        /// The name typed.
        name: String,
        /// The near name or the full list.
        hint: Option<String>,
    },
    /// Another process holds a place that one at a time works in.
    #[error("{} is in use by {holder}", path.display())]
    Locked {
        /// The run's folder, or what else is held.
        path: PathBuf,
        /// `pid N on HOST since TIME (COMMAND)`.
        holder: String,
        /// Another way out than to wait.
        hint: Option<String>,
    },
    /// Work was broken off on request; nothing half done is kept.
    #[error("stopped; the same command goes on from here")]
    Stopped,
    /// A failure that one sentence says.
    #[error("{what}")]
    Failed {
        /// The sentence.
        what: String,
        /// A way out.
        hint: Option<String>,
        /// The cause below.
        #[source]
        source: Option<Cause>,
        /// Value that callers tell the failure by, of a type of the crate that made it.
        kind: Option<Box<dyn Any + Send + Sync>>,
    },
}

/// The hint of the first error in a chain of causes that has one.
pub fn hint<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a str> {
    let own = error.downcast_ref::<Error>().and_then(Error::own_hint);
    own.or_else(|| hint(error.source()?))
}

/// The words of a JSON parser, without the place that it appends.
pub fn json_message(error: &serde_json::Error) -> String {
    let message = error.to_string();
    message.rsplit_once(" at line ").map_or(message.as_str(), |(message, _)| message).to_owned()
}

impl Error {
    /// A sentence or command that helps, of this error or of the first of its causes that has one.
    pub fn hint(&self) -> Option<&str> {
        hint(self)
    }

    /// The words with the hint behind them, for a place that has no room for a hint of its own.
    pub fn in_one_line(&self) -> String {
        match self.hint() {
            Some(hint) => format!("{self}; {hint}"),
            None => self.to_string(),
        }
    }

    fn own_hint(&self) -> Option<&str> {
        match self {
            Self::Parse { hint, .. }
            | Self::Override { hint, .. }
            | Self::Value { hint, .. }
            | Self::Data { hint, .. }
            | Self::Record { hint, .. }
            | Self::Unknown { hint, .. }
            | Self::Failed { hint, .. } => hint.as_deref(),
            Self::Locked { hint, .. } => Some(hint.as_deref().unwrap_or("wait for it, or stop it")),
            Self::DiskFull { .. } => {
                Some("free some space and give the same command again: what was written before is whole")
            }
            Self::Io { .. } | Self::Stopped => None,
        }
    }

    /// The value that callers tell the failure by, where it is of this type.
    pub fn kind<T: 'static>(&self) -> Option<&T> {
        match self {
            Self::Failed { kind: Some(kind), .. } => kind.downcast_ref(),
            _ => None,
        }
    }

    /// An [`Error::Io`] maker for `map_err`.
    pub fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { action, path, source }
    }

    /// An [`Error::Parse`] of a file that is one JSON value, with the parser's place and words.
    pub fn json(path: impl Into<PathBuf>, error: &serde_json::Error) -> Self {
        Self::json_line(path, error.line(), error)
    }

    /// An [`Error::Parse`] of one line of a file of JSON lines.
    pub fn json_line(path: impl Into<PathBuf>, line: usize, error: &serde_json::Error) -> Self {
        let (column, message) = (error.column(), json_message(error));
        Self::Parse { path: path.into(), line, column, at: String::new(), message, hint: None }
    }

    /// An [`Error::Data`].
    pub fn data(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Data { place: place.into(), message: message.into(), hint: None }
    }

    /// An [`Error::Data`] about a whole file or folder.
    pub fn file(path: &Path, message: impl Into<String>) -> Self {
        Self::data(path.display().to_string(), message)
    }

    /// An [`Error::Data`] about a place that `--out` names and where something is: nothing is written over.
    pub fn is_there(place: &Path) -> Self {
        Self::file(place, "is there already, and nothing is written over")
            .with_hint("name another place with --out, or take that one away")
    }

    /// An [`Error::Data`] about a line, an entry or another place in a file.
    pub fn at(path: &Path, place: impl Display, message: impl Into<String>) -> Self {
        Self::data(format!("{}:{place}", path.display()), message)
    }

    /// An [`Error::Record`]; `reason` is what it is counted by.
    pub fn record(place: impl ToString, reason: &'static str, message: impl Into<String>) -> Self {
        Self::Record { place: place.to_string(), reason, message: message.into(), hint: None }
    }

    /// An [`Error::Value`].
    pub fn value(key: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Value { key: key.into(), message: message.into(), hint: None }
    }

    /// An [`Error::Unknown`].
    pub fn unknown(kind: &'static str, name: impl Into<String>) -> Self {
        Self::Unknown { kind, name: name.into(), hint: None }
    }

    /// An [`Error::Failed`].
    pub fn failed(what: impl Into<String>) -> Self {
        Self::Failed { what: what.into(), hint: None, source: None, kind: None }
    }

    /// Adds a hint, where the variant can hold one.
    #[must_use]
    pub fn with_hint(mut self, text: impl Into<String>) -> Self {
        if let Self::Parse { hint, .. }
        | Self::Override { hint, .. }
        | Self::Value { hint, .. }
        | Self::Data { hint, .. }
        | Self::Record { hint, .. }
        | Self::Unknown { hint, .. }
        | Self::Locked { hint, .. }
        | Self::Failed { hint, .. } = &mut self
        {
            *hint = Some(text.into());
        }
        self
    }

    /// Adds a hint, if there is one.
    #[must_use]
    pub fn with_hint_if(self, text: Option<impl Into<String>>) -> Self {
        match text {
            Some(text) => self.with_hint(text),
            None => self,
        }
    }

    /// Makes an [`Error::Failed`] with a cause, of the error's words and hint.
    #[must_use]
    pub fn with_cause(self, cause: impl Into<Cause>) -> Self {
        let hint = self.own_hint().map(str::to_owned);
        let what = self.to_string();
        let kind = if let Self::Failed { kind, .. } = self { kind } else { None };
        Self::Failed { what, hint, source: Some(cause.into()), kind }
    }

    /// Makes an [`Error::Failed`] of a kind that callers tell apart, of the error's words, hint and cause.
    #[must_use]
    pub fn of_kind(self, kind: impl Any + Send + Sync) -> Self {
        let hint = self.own_hint().map(str::to_owned);
        let what = self.to_string();
        let source = match self {
            Self::Failed { source, .. } => source,
            Self::Io { source, .. } | Self::DiskFull { source, .. } => Some(source.into()),
            _ => None,
        };
        Self::Failed { what, hint, source, kind: Some(Box::new(kind)) }
    }

    /// Makes a failure that says what was being done, with the error as its cause.
    #[must_use]
    pub fn within(self, what: impl Into<String>) -> Self {
        Self::failed(what).with_cause(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_is_found_below_what_was_being_done() {
        let error = Error::value("a.b", "got 0, expected 1 or more").with_hint("a.b=1").within("inner").within("outer");
        assert_eq!((error.to_string().as_str(), error.hint()), ("outer", Some("a.b=1")));
        assert_eq!(error.with_hint("nearer").hint(), Some("nearer"));
    }

    #[test]
    fn a_cause_and_a_kind_keep_the_words_and_each_other() {
        let error = Error::failed("no answer").with_hint("wait").of_kind(7_u8).with_cause("a closed door");
        assert_eq!((error.to_string().as_str(), error.hint()), ("no answer", Some("wait")));
        assert_eq!((error.kind::<u8>(), error.kind::<u16>()), (Some(&7), None));
        assert_eq!(error.of_kind(8_u8).source().map(ToString::to_string).as_deref(), Some("a closed door"));
    }

    #[test]
    fn the_parser_s_place_is_told_once() {
        let error = serde_json::from_str::<u8>("\n 300").unwrap_err();
        let told = Error::json("a.json", &error).to_string();
        assert_eq!(told, "a.json:2:4: invalid value: integer `300`, expected u8");
        assert!(Error::json_line("a.jsonl", 9, &error).to_string().starts_with("a.jsonl:9:4: invalid"));
    }
}
