//! Answers as a person types them.

use anyhow::Result;
use wb_core::Error;
use wb_encoder::DeviceConfig;

/// A device that this build can open.
pub(super) fn device(text: &str) -> Result<DeviceConfig> {
    let device: DeviceConfig = match text.trim() {
        "" => DeviceConfig::Auto,
        name => name.parse()?,
    };
    device.require_compiled()?;
    Ok(device)
}

/// A number of minutes; 10 where nothing was typed.
pub(super) fn minutes(text: &str) -> Result<u32> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(DEFAULT_MINUTES);
    }
    match text.parse() {
        Ok(minutes @ 1..=1_000_000) => Ok(minutes),
        _ => Err(Error::value("minutes", format!("got `{text}`, expected a whole number from 1 to 1000000")).into()),
    }
}

/// Minutes of a run where nothing else is said.
pub const DEFAULT_MINUTES: u32 = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_and_minutes_have_defaults_and_reasons() {
        assert_eq!(device("\n").unwrap(), DeviceConfig::Auto);
        assert_eq!(device(" cpu ").unwrap(), DeviceConfig::Cpu);
        assert!(device("gpu").unwrap_err().to_string().contains("no device has this name"));
        assert_eq!(minutes("").unwrap(), 10);
        assert_eq!(minutes(" 45\n").unwrap(), 45);
        for text in ["0", "-3", "ten", "1.5", "2000000"] {
            let error = minutes(text).unwrap_err().to_string();
            assert_eq!(error, format!("minutes: got `{text}`, expected a whole number from 1 to 1000000"));
        }
    }
}
