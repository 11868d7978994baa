//! Errors on their way from a rank to rank 0.

use wb_core::{Error, error::hint};
use wb_encoder::DeviceFailure;

use crate::request::Answer;

impl Answer {
    /// An error as it is sent, with the words of its causes.
    pub(crate) fn of_error(error: &Error) -> Self {
        let mut what = error.to_string();
        let mut cause = std::error::Error::source(error);
        while let Some(below) = cause {
            what += &format!(": {below}");
            cause = below.source();
        }
        let device = error.kind::<DeviceFailure>().map(|failure| (failure.words.clone(), failure.out_of_memory));
        Self::Failed { what, hint: hint(error).map(str::to_owned), device }
    }

    /// The error again, with the name of the rank that it comes from.
    pub(crate) fn to_error(peer: &str, what: &str, hint: Option<String>, device: Option<(String, bool)>) -> Error {
        let error = Error::failed(format!("{peer}: {what}")).with_hint_if(hint);
        match device {
            Some((words, out_of_memory)) => error.of_kind(DeviceFailure { words, out_of_memory }),
            None => error,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_ran_out_on_a_rank_is_told_as_such() {
        let failure = DeviceFailure { words: "its memory ran out".to_owned(), out_of_memory: true };
        let error = Error::failed("cannot use device `cuda`").with_hint("less").of_kind(failure);
        let Answer::Failed { what, hint, device } = Answer::of_error(&error) else { panic!() };
        let found = Answer::to_error("rank 1 on n2", &what, hint, device);
        assert_eq!(
            (found.to_string().as_str(), found.hint()),
            ("rank 1 on n2: cannot use device `cuda`", Some("less"))
        );
        assert!(found.kind::<DeviceFailure>().unwrap().out_of_memory);
        let Answer::Failed { device, .. } = Answer::of_error(&Error::failed("x")) else { panic!() };
        assert_eq!(device, None);
    }
}
