//! Errors that several parts of this crate make.

use wb_core::Error;

use crate::flat::LONGEST;

/// A vector that no score can be computed with.
pub(crate) fn bad_vector(side: &str, row: usize, what: &str) -> Error {
    let expected = format!("expected finite numbers and a length under {LONGEST:e}");
    Error::failed(format!("{side} vector {row} has {what}, {expected}")).with_hint(format!(
        "look at the {side} text at this position, and whether training ended in numbers that are not finite"
    ))
}

/// Two things that must be equally long and are not.
pub(crate) fn unlike_lengths(what: &str, given: usize, expected: usize) -> Error {
    Error::data(what, format!("{given} and {expected} given, expected the same"))
}

/// More documents than positions can count.
pub(crate) fn too_many(given: usize, limit: usize) -> Error {
    Error::failed(format!("{given} documents, at most {limit} fit into one index"))
        .with_hint("split the corpus and search each part")
}

/// A maker of errors of the lexical index for `map_err`.
pub(crate) fn lexical<E: Into<tantivy::TantivyError>>(action: &str) -> impl FnOnce(E) -> Error {
    move |source| Error::failed(format!("cannot {action} the lexical index")).with_cause(source.into())
}

/// A failure of an encoder on `queries`, `documents`, or `queries with documents`.
pub(crate) fn cannot_encode(what: &str, encoder: &str, source: wb_core::error::Cause) -> Error {
    Error::failed(format!("cannot encode {what} with {encoder}")).with_cause(source)
}
