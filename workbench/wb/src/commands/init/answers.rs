//! The answers that `wb init` needs, out of what was typed or out of flags.

use std::path::Path;

use anyhow::Result;
use wb_core::Error;
use wb_encoder::DeviceConfig;
use wb_pipeline::init::{DEFAULT_MINUTES, DataChoice, InitMaterial, shell};

use crate::args;

/// The three answers, the data looked at.
pub struct InitAnswers {
    /// The code or pairs.
    pub material: InitMaterial,
    /// The device.
    pub device: DeviceConfig,
    /// Minutes that a run may take.
    pub minutes: u32,
}

/// Data that flags name; nothing where none does.
pub fn of_flags(arguments: &args::InitArguments) -> Option<DataChoice> {
    let code = arguments.code.clone().map(DataChoice::Code);
    code.or(arguments.pairs.clone().map(DataChoice::Pairs)).or(arguments.registry.then_some(DataChoice::Registry))
}

impl InitAnswers {
    /// The answers of a command line. What is missing is told all at once, with the command that has it.
    pub fn of_flags(arguments: &args::InitArguments) -> Result<Self> {
        let data = of_flags(arguments);
        let (Some(data), Some(device), Some(minutes)) = (&data, arguments.device, arguments.minutes) else {
            return Err(missing(arguments, data.as_ref()).into());
        };
        device.require_compiled()?;
        Ok(Self { material: InitMaterial::look(data)?, device, minutes })
    }
}

/// The flags that are not there, and a command line with all of them.
fn missing(arguments: &args::InitArguments, data: Option<&DataChoice>) -> Error {
    let wanted = [
        ("--code DIR, --pairs FILE or --registry", data.is_none()),
        ("--device NAME", arguments.device.is_none()),
        ("--minutes N", arguments.minutes.is_none()),
    ];
    let wanted: Vec<&str> = wanted.into_iter().filter_map(|(flag, missing)| missing.then_some(flag)).collect();
    let message = format!("there is no terminal to ask on, and flags are missing: {}", wanted.join("; "));
    Error::value("wb init", message).with_hint(command(arguments, data))
}

/// The command with every answer in it: those that are given, else the usual ones.
pub fn command(arguments: &args::InitArguments, data: Option<&DataChoice>) -> String {
    let file = arguments.file.as_deref().map_or_else(String::new, |file| format!(" {}", shell(file)));
    let data = match data {
        Some(DataChoice::Code(path)) => format!("--code {}", shell(Path::new(path))),
        Some(DataChoice::Pairs(path)) => format!("--pairs {}", shell(Path::new(path))),
        Some(DataChoice::Registry) | None => "--registry".to_owned(),
    };
    let device = arguments.device.unwrap_or_default();
    let minutes = arguments.minutes.unwrap_or(DEFAULT_MINUTES);
    format!("wb init{file} {data} --device {device} --minutes {minutes}")
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub fn no_flags() -> args::InitArguments {
        args::InitArguments {
            file: None,
            code: None,
            pairs: None,
            registry: false,
            device: None,
            minutes: None,
            name: None,
            force: false,
        }
    }

    #[test]
    fn missing_flags_are_told_at_once_with_a_command() {
        let error = missing(&no_flags(), None);
        assert_eq!(
            error.to_string(),
            "wb init: there is no terminal to ask on, and flags are missing: --code DIR, --pairs FILE or --registry; \
             --device NAME; --minutes N"
        );
        assert_eq!(error.hint(), Some("wb init --registry --device auto --minutes 10"));
        let some = args::InitArguments { file: Some("my file.yaml".into()), minutes: Some(5), ..no_flags() };
        let error = missing(&some, Some(&DataChoice::Code("src".to_owned())));
        assert!(error.to_string().ends_with("flags are missing: --device NAME"), "{error}");
        assert_eq!(error.hint(), Some("wb init 'my file.yaml' --code src --device auto --minutes 5"));
    }
}
