//! Devices: tried in a process of their own before they are trusted.

use std::{path::Path, process::Command, time::Duration};

use anyhow::{Context, Result};
use wb_encoder::{
    DeviceConfig, Folder, OpenDevice,
    self_test::{self, ProbeReport},
};

use crate::output;

/// How long a device has to show that it computes rightly.
pub const LIMIT: Duration = Duration::from_secs(60);

/// Opens a device; one that is not the processor is compared with it first, on this model.
pub fn open(device: DeviceConfig, model: Option<&Path>) -> Result<OpenDevice> {
    if device.needs_self_test() {
        let report = guarded(device, model, LIMIT)?;
        report.require()?;
        output::note(format!("device: {} passed its self-test in {:.1} s", report.description, report.seconds));
    }
    Ok(device.open()?)
}

/// Runs the self-test in a child process, which may hang or die.
pub fn guarded(device: DeviceConfig, model: Option<&Path>, limit: Duration) -> Result<ProbeReport> {
    let program = std::env::current_exe().context("cannot find this program to run the self-test in a process of its own")?;
    let mut command = Command::new(program);
    command.arg("probe").arg("--device").arg(device.to_string());
    if let Some(model) = model {
        command.arg("--encoder").arg(model);
    }
    Ok(self_test::run_guarded(&device.to_string(), command, limit)?)
}

/// The self-test itself, in this process; the report goes to standard output as one line of JSON.
pub fn probe(device: DeviceConfig, model: Option<&Path>) -> Result<()> {
    let (model, batch) = match model {
        None => self_test::made_up_model(),
        Some(path) => {
            let folder = Folder::read(path)?;
            let batch = self_test::sample_batch(&folder.tokenizer, folder.max_tokens.document)?;
            (folder.model, batch)
        }
    };
    let report = self_test::probe(device, &model, &batch);
    output::line(serde_json::to_string(&report)?);
    Ok(())
}
