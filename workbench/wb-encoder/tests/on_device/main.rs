//! Burn's way to compute, on the device that `WB_TEST_DEVICE` names or on the processor, held to the CPU's own.

// The lints take functions that tests share for code of their own.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "helpers of tests are tests too")]

mod launches;
mod long_texts;
mod out_of_memory;
mod own_process;
mod pairs;
mod passes;
mod precision;
mod probe;
mod refusals;
mod resident;
mod search;
mod several;
mod training;

use wb_encoder::{DeviceConfig, OpenDevice};

/// The device that burn's way is tested on.
fn test_device() -> OpenDevice {
    let name = std::env::var("WB_TEST_DEVICE").unwrap_or_else(|_| "cpu".into());
    name.parse::<DeviceConfig>().unwrap().open().unwrap()
}
