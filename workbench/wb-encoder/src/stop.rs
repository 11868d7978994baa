//! A wish from outside to end soon, which whoever works long looks at now and then.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use crate::error::{Error, Result};

/// Tells whether to end soon; asked from any thread, and often. By default never.
#[derive(Clone, Default)]
pub struct Stop(Option<Arc<dyn Fn() -> bool + Send + Sync>>);

impl Stop {
    /// Once this flag is set.
    pub fn when(flag: &Arc<AtomicBool>) -> Self {
        let flag = Arc::clone(flag);
        Self::asking(move || flag.load(Ordering::Relaxed))
    }

    /// Once this answers yes.
    pub fn asking(is_set: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(is_set)))
    }

    /// True once the work is to end.
    pub fn is_set(&self) -> bool {
        self.0.as_ref().is_some_and(|is_set| is_set())
    }

    /// Nothing in place of [`Error::Stopped`].
    pub fn or_nothing<T>(found: Result<Option<T>>) -> Result<Option<T>> {
        match found {
            Err(Error::Stopped) => Ok(None),
            found => found,
        }
    }

    /// [`Error::Stopped`] where it is set.
    pub fn check(&self) -> Result<()> {
        if self.is_set() { Err(Error::Stopped) } else { Ok(()) }
    }
}
