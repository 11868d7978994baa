//! A wish to stop: who waits for it to be heeded knows what is being done.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU8, Ordering},
};

/// True where an error means that a person has asked for an end.
pub fn is_stopped(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| matches!(cause.downcast_ref(), Some(wb_core::Error::Stopped)))
}

/// Work during which a wish to stop may come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doing {
    /// Work that does not look at the flag.
    Other,
    /// A training, which ends by itself once the flag is set.
    Training,
    /// Questions to a language model, which end by themselves once the flag is set.
    Asking,
}

/// A flag that asks for an end, and what is being done; clones share both.
#[derive(Debug, Clone, Default)]
pub struct Interrupt {
    stop: Arc<AtomicBool>,
    doing: Arc<AtomicU8>,
}

impl Interrupt {
    /// The flag, which asks for an end once it is set.
    pub fn flag(&self) -> &Arc<AtomicBool> {
        &self.stop
    }

    /// The work of now.
    pub fn doing(&self) -> Doing {
        let all = [Doing::Training, Doing::Asking];
        let now = self.doing.load(Ordering::SeqCst);
        all.into_iter().find(|doing| *doing as u8 == now).unwrap_or(Doing::Other)
    }

    /// Does what looks at the flag and ends by itself once it is set.
    pub fn while_training<T>(&self, train: impl FnOnce() -> T) -> T {
        self.during(Doing::Training, train)
    }

    /// Asks a language model, from threads of its own, which look at the flag.
    pub fn while_asking<T>(&self, ask: impl FnOnce(Arc<AtomicBool>) -> T) -> T {
        self.during(Doing::Asking, || ask(Arc::clone(&self.stop)))
    }

    fn during<T>(&self, doing: Doing, work: impl FnOnce() -> T) -> T {
        self.doing.store(doing as u8, Ordering::SeqCst);
        let result = work();
        self.doing.store(Doing::Other as u8, Ordering::SeqCst);
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clone_sees_what_is_being_done_and_its_flag_asks_for_the_end() {
        let interrupt = Interrupt::default();
        let seen = interrupt.clone();
        assert_eq!(seen.doing(), Doing::Other);
        assert_eq!(interrupt.while_training(|| seen.doing()), Doing::Training);
        seen.flag().store(true, Ordering::SeqCst);
        let (doing, stopped) = interrupt.while_asking(|stop| (seen.doing(), stop.load(Ordering::SeqCst)));
        assert_eq!((doing, stopped), (Doing::Asking, true));
        assert_eq!(seen.doing(), Doing::Other);
    }
}
