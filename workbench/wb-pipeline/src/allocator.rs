//! The allocator of the program: mimalloc, told to give back soon what was freed.

#![allow(unsafe_code, reason = "an option of the allocator is set by a call into C that has no safe face")]

use libmimalloc_sys::{mi_option_set_default, mi_option_t, mi_option_use_numa_nodes};
/// The type of the program's one global allocator: threads allocate at once while encoding and training, and the
/// system's allocator makes them wait for each other.
pub use mimalloc::MiMalloc as Allocator;

/// Milliseconds for which freed memory is held in case that it is wanted again.
///
/// mimalloc's third version holds it for a second; reports/LOG.md has what that took.
const HOLD_FREED: i8 = 10;

/// `mi_option_purge_delay`, which stands before the number of NUMA nodes in `mimalloc.h` and has no name in Rust.
const PURGE_DELAY: mi_option_t = mi_option_use_numa_nodes - 1;

/// Sets the delay, before anything else is done. `MIMALLOC_PURGE_DELAY` of the environment goes before.
pub fn give_back_soon() {
    // SAFETY: reads one number and writes it to a table that mimalloc has made before `main`; any number is allowed.
    unsafe { mi_option_set_default(PURGE_DELAY, HOLD_FREED.into()) }
}

#[cfg(test)]
mod tests {
    use std::{ffi::c_long, process::Command};

    use libmimalloc_sys::mi_option_get;

    use super::{HOLD_FREED, PURGE_DELAY, give_back_soon};

    fn delay() -> c_long {
        // SAFETY: reads one number of a table.
        unsafe { mi_option_get(PURGE_DELAY) }
    }

    #[test]
    fn freed_memory_is_held_for_milliseconds() {
        assert_eq!(delay(), 1_000, "what mimalloc does by itself");
        give_back_soon();
        assert_eq!(delay(), c_long::from(HOLD_FREED));
    }

    /// Run by the test below alone, in an environment that names the delay.
    #[test]
    #[ignore = "a part of another test"]
    fn the_delay_of_this_environment() {
        give_back_soon();
        assert_eq!(delay(), 77);
    }

    #[test]
    fn the_environment_goes_before() {
        let itself = std::env::current_exe().unwrap();
        let arguments = ["--ignored", "--exact", "allocator::tests::the_delay_of_this_environment"];
        let ran = Command::new(itself).args(arguments).env("MIMALLOC_PURGE_DELAY", "77").output().unwrap();
        let said = String::from_utf8_lossy(&ran.stdout);
        assert!(ran.status.success() && said.contains("1 passed"), "{said}");
    }
}
