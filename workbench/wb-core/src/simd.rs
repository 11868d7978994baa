//! Loops compiled for the widest instructions of a processor.

use pulp::{Arch, NullaryFnOnce};

/// Runs a loop compiled for a level of instructions. It has to be `#[inline(always)]`, as all that it calls.
///
/// A closure that is handed to [`Arch::dispatch`] itself is called through a shim where it could be called twice, and the
/// shim is compiled for any processor: eight times slower in the scan of an index's vectors.
#[inline(always)]
pub fn dispatched<R>(arch: Arch, work: impl FnMut() -> R) -> R {
    arch.dispatch(Work(work))
}

struct Work<F>(F);

impl<R, F: FnMut() -> R> NullaryFnOnce for Work<F> {
    type Output = R;

    #[inline(always)]
    fn call(mut self) -> R {
        (self.0)()
    }
}
