//! The answers that `wb init` needs, out of what was typed or out of flags.

use std::path::{Path, PathBuf};

use anyhow::Result;
use wb_core::Error;
use wb_encoder::DeviceConfig;

use super::{DEFAULT_MINUTES, DataChoice, InitMaterial, shell};

/// Answers that a command line gives beforehand.
#[derive(Debug, Clone, Default)]
pub struct InitFlags {
    /// The YAML to write.
    pub file: Option<PathBuf>,
    /// The code or pairs.
    pub data: Option<DataChoice>,
    /// The device.
    pub device: Option<DeviceConfig>,
    /// Minutes that a run may take.
    pub minutes: Option<u32>,
}

/// The three answers, the data looked at.
pub struct InitAnswers {
    /// The code or pairs.
    pub material: InitMaterial,
    /// The device.
    pub device: DeviceConfig,
    /// Minutes that a run may take.
    pub minutes: u32,
}

impl InitAnswers {
    /// The answers of a command line. What is missing is told all at once, with the command that has it.
    pub fn of_flags(flags: &InitFlags) -> Result<Self> {
        let (Some(data), Some(device), Some(minutes)) = (&flags.data, flags.device, flags.minutes) else {
            return Err(flags.missing().into());
        };
        device.require_compiled()?;
        Ok(Self { material: InitMaterial::look(data)?, device, minutes })
    }
}

impl InitFlags {
    /// The flags that are not there, and a command line with all of them.
    fn missing(&self) -> Error {
        let wanted = [
            ("--code DIR, --pairs FILE or --registry", self.data.is_none()),
            ("--device NAME", self.device.is_none()),
            ("--minutes N", self.minutes.is_none()),
        ];
        let wanted: Vec<&str> = wanted.into_iter().filter_map(|(flag, missing)| missing.then_some(flag)).collect();
        let message = format!("there is no terminal to ask on, and flags are missing: {}", wanted.join("; "));
        Error::value("wb init", message).with_hint(self.command())
    }

    /// The command with every answer in it: those that are given, else the usual ones.
    pub(super) fn command(&self) -> String {
        let file = self.file.as_deref().map_or_else(String::new, |file| format!(" {}", shell(file)));
        let data = match &self.data {
            Some(DataChoice::Code(path)) => format!("--code {}", shell(Path::new(path))),
            Some(DataChoice::Pairs(path)) => format!("--pairs {}", shell(Path::new(path))),
            Some(DataChoice::Registry) | None => "--registry".to_owned(),
        };
        let device = self.device.unwrap_or_default();
        let minutes = self.minutes.unwrap_or(DEFAULT_MINUTES);
        format!("wb init{file} {data} --device {device} --minutes {minutes}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_flags_are_told_at_once_with_a_command() {
        let error = InitFlags::default().missing();
        assert_eq!(
            error.to_string(),
            "wb init: there is no terminal to ask on, and flags are missing: --code DIR, --pairs FILE or --registry; \
             --device NAME; --minutes N"
        );
        assert_eq!(error.hint(), Some("wb init --registry --device auto --minutes 10"));
        let data = Some(DataChoice::Code("src".to_owned()));
        let some = InitFlags { file: Some("my file.yaml".into()), data, minutes: Some(5), ..InitFlags::default() };
        let error = some.missing();
        assert!(error.to_string().ends_with("flags are missing: --device NAME"), "{error}");
        assert_eq!(error.hint(), Some("wb init 'my file.yaml' --code src --device auto --minutes 5"));
    }
}
