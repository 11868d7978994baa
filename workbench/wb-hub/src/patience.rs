//! Repeated questions to a server, and the waits in between.

use std::time::Duration;

use wb_core::download::Observer;

use crate::{
    Error, Patience, Why,
    error::{failure, wanted},
};

/// A failed attempt.
pub(crate) enum Trouble {
    /// Another attempt may do.
    Again {
        /// Told where no attempt did.
        error: Box<Error>,
        /// The wait that the server asked for.
        after: Option<Duration>,
        /// Attempts that it counts for: where no server is at all, few will do.
        counts: u32,
    },
    /// Failure that no other attempt will mend.
    Final(Box<Error>),
}

impl Trouble {
    /// One attempt in vain, with the wait that the server asked for.
    pub(crate) fn again(error: Error, after: Option<Duration>) -> Self {
        Self::Again { error: Box::new(error), after, counts: 1 }
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self::Final(Box::new(error))
    }
}

/// The attempts at one thing.
pub(crate) struct Attempts<'a> {
    patience: Patience,
    observer: &'a dyn Observer,
    /// Attempts that brought nothing, since the last that did; one where no server is counts for several.
    in_vain: u32,
    /// Waits since then.
    waits: u32,
}

impl<'a> Attempts<'a> {
    pub(crate) fn new(patience: Patience, observer: &'a dyn Observer) -> Self {
        Self { patience, observer, in_vain: 0, waits: 0 }
    }

    /// Something came: the count begins anew.
    pub(crate) fn progressed(&mut self) {
        self.in_vain = 0;
        self.waits = 0;
    }

    /// Waits before the next attempt, or gives up with the error of this one.
    pub(crate) fn wait(&mut self, trouble: Trouble) -> Result<(), Error> {
        let (error, after, counts) = match trouble {
            Trouble::Final(error) => return Err(*error),
            Trouble::Again { error, after, counts } => (error, after, counts),
        };
        self.in_vain += counts;
        if self.in_vain >= self.patience.attempts {
            return Err(*error);
        }
        let own = self.patience.first_wait.saturating_mul(1 << self.waits.min(16));
        self.waits += 1;
        let wait = after.unwrap_or(own);
        if wait > self.patience.longest_wait {
            let message = format!("asks to wait {} s before the next request", wait.as_secs());
            let hint =
                "give the same command again then: what came is kept; with HF_TOKEN the hub allows more requests";
            return Err(failure(Why::Busy, wanted(&error), message).with_hint(hint));
        }
        if wait >= Duration::from_secs(1) {
            self.observer.note(&format!("{error}; asking again in {} s", wait.as_secs()));
        }
        std::thread::sleep(wait);
        Ok(())
    }

    /// Asks until it is answered.
    pub(crate) fn ask<T>(mut self, mut once: impl FnMut() -> Result<T, Trouble>) -> Result<T, Error> {
        loop {
            match once() {
                Ok(answer) => return Ok(answer),
                Err(trouble) => self.wait(trouble)?,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wb_core::download::Silent;

    fn trouble(after: Option<u64>) -> Trouble {
        let error = failure(Why::Unreachable, "o/n", "no answer");
        Trouble::again(error, after.map(Duration::from_secs))
    }

    #[test]
    fn attempts_end_unless_something_comes_in_between() {
        let patience = Patience { attempts: 3, first_wait: Duration::ZERO, ..Patience::default() };
        let mut attempts = Attempts::new(patience, &Silent);
        assert!(attempts.wait(trouble(None)).is_ok() && attempts.wait(trouble(None)).is_ok());
        attempts.progressed();
        assert!(attempts.wait(trouble(Some(0))).is_ok() && attempts.wait(trouble(None)).is_ok());
        assert_eq!(Why::of(&attempts.wait(trouble(None)).unwrap_err()), Some(Why::Unreachable));
    }

    #[test]
    fn a_server_that_asks_for_an_hour_is_not_waited_for() {
        let error = Attempts::new(Patience::default(), &Silent).wait(trouble(Some(3600))).unwrap_err();
        assert_eq!(error.to_string(), "o/n: asks to wait 3600 s before the next request");
        assert_eq!(Why::of(&error), Some(Why::Busy));
    }
}
