//! `wb doctor`: shows what this build and machine can do; tests a device before it is trusted.

use std::time::Duration;

use anyhow::Result;
use wb_encoder::DeviceConfig;
use wb_pipeline::{device, manifest};

use super::{End, bench};
use crate::{args, output};

/// `wb doctor`
pub fn doctor(arguments: &args::Doctor) -> Result<End> {
    let Some(device) = arguments.device else {
        output::line(bench::build());
        output::line(format!("machine  {}", manifest::machine()));
        device::about().into_iter().for_each(output::line);
        let offline = std::env::var_os("WB_OFFLINE").is_some_and(|value| !value.is_empty() && value != "0");
        output::line(format!(
            "network  {}",
            if offline { "forbidden by WB_OFFLINE" } else { "used only for hub ids that are not in the cache" }
        ));
        return Ok(End::Done);
    };
    device.require_compiled()?;
    if !device.needs_self_test() {
        // The processor itself, against which others are measured.
        output::line(format!("{}: nothing to test", device.open()?.description));
        return Ok(End::Done);
    }
    let limit = arguments.limit.map_or_else(device::limit, |seconds| Ok(Duration::from_secs(seconds)))?;
    let is_fine = device::test(device, arguments.encoder.as_deref(), limit)?;
    Ok(if is_fine { End::Done } else { End::Refused })
}

/// The child process of a self-test.
pub fn probe(arguments: &args::Doctor) -> Result<End> {
    device::probe(arguments.device.unwrap_or(DeviceConfig::Cpu), arguments.encoder.as_deref())?;
    Ok(End::Done)
}
