//! Kernels that devices are given, counted: a device that is given some gets on, however long they take to be made.

use super::Alive;

/// Time between two counts that are told.
#[cfg(any(feature = "cuda", feature = "wgpu"))]
const BETWEEN: std::time::Duration = std::time::Duration::from_secs(1);

/// Tells how many kernels have been launched in this process, once a second as long as there are more, until what is
/// returned is dropped.
#[cfg(any(feature = "cuda", feature = "wgpu"))]
pub(super) fn watch(tell: fn(Alive)) -> impl Drop {
    use std::{
        sync::{Arc, Mutex, PoisonError},
        time::Instant,
    };

    use cubecl_runtime::logging::{LaunchObservation, LaunchObserver};

    struct Count {
        tell: fn(Alive),
        /// The number, and when it was told last.
        launched: Mutex<(u64, Instant)>,
    }

    impl LaunchObserver for Count {
        fn launched(&self, _: &'static str) {
            let mut launched = self.launched.lock().unwrap_or_else(PoisonError::into_inner);
            launched.0 += 1;
            if launched.1.elapsed() >= BETWEEN {
                launched.1 = Instant::now();
                (self.tell)(Alive::Launched(launched.0));
            }
        }
    }

    LaunchObservation::new(Arc::new(Count { tell, launched: Mutex::new((0, Instant::now())) }))
}

/// Nothing to be told, where no device is compiled in.
#[cfg(not(any(feature = "cuda", feature = "wgpu")))]
pub(super) struct Silence;

/// Tells nothing, where no device is compiled in.
#[cfg(not(any(feature = "cuda", feature = "wgpu")))]
pub(super) fn watch(_tell: fn(Alive)) -> Silence {
    Silence
}
