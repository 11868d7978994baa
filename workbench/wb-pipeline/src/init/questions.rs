//! Three questions on a terminal; an answer that does not do is asked for again, with the reason.

use std::io::{BufRead, Write};

use anyhow::{Context, Result};
use wb_core::Error;

use super::{
    DEFAULT_MINUTES, DataChoice, InitMaterial,
    answers::{InitAnswers, InitFlags},
    typed,
};
use crate::output;

const DATA: &str = "Which code or data? A folder of code, a file of pairs (.jsonl, .parquet, .csv), or Enter for the \
                    Rust crates in Cargo's registry:";
const DEVICE: &str = "Which device? auto, cpu, cuda, metal, vulkan, wgpu [auto]:";

/// Asks what the flags do not say. The end of the input is an error, and then nothing was written.
pub fn ask(flags: &InitFlags, input: &mut dyn BufRead, output: &mut dyn Write) -> Result<InitAnswers> {
    let mut asked = Asked { flags, input, output };
    let material = match &flags.data {
        Some(data) => InitMaterial::look(data)?,
        None => asked.until(DATA, &mut |text| InitMaterial::look(&DataChoice::of_text(text)))?,
    };
    let device = match flags.device {
        Some(device) => {
            device.require_compiled()?;
            device
        }
        None => asked.until(DEVICE, &mut typed::device)?,
    };
    let question = format!("How long may a run take, in minutes? [{DEFAULT_MINUTES}]:");
    let minutes = match flags.minutes {
        Some(minutes) => minutes,
        None => asked.until(&question, &mut typed::minutes)?,
    };
    Ok(InitAnswers { material, device, minutes })
}

/// A person who is asked.
struct Asked<'a> {
    flags: &'a InitFlags,
    input: &'a mut dyn BufRead,
    output: &'a mut dyn Write,
}

impl Asked<'_> {
    /// Asks until an answer does.
    fn until<T>(&mut self, question: &str, take: &mut dyn FnMut(&str) -> Result<T>) -> Result<T> {
        loop {
            write!(self.output, "{question} ").and_then(|()| self.output.flush()).context("cannot ask")?;
            let mut answer = String::new();
            if self.input.read_line(&mut answer).context("cannot read an answer")? == 0 {
                // The cursor is behind the question.
                writeln!(self.output).context("cannot ask")?;
                return Err(Error::value(
                    "wb init",
                    "the input ended before the questions did, and nothing was written",
                )
                .with_hint(self.flags.command())
                .into());
            }
            match take(&answer) {
                Ok(taken) => return Ok(taken),
                Err(error) => writeln!(self.output, "  {}", output::in_one_line(&error)).context("cannot ask")?,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use wb_encoder::DeviceConfig;

    use super::*;

    /// A folder with sixty documented functions.
    fn code() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let function = |at: usize| {
            format!(
                "/// Counts the packets of ledger number {at} that nobody signed.\npub fn count_{at}(x: usize) -> usize {{\n    x + {at}\n}}\n"
            )
        };
        fs::write(folder.path().join("lib.rs"), (0..60).map(function).collect::<String>()).unwrap();
        folder
    }

    fn asked(flags: &InitFlags, typed: &str) -> (Result<InitAnswers>, String) {
        let mut written = Vec::new();
        let found = ask(flags, &mut typed.as_bytes(), &mut written);
        (found, String::from_utf8(written).unwrap())
    }

    #[test]
    fn three_questions_with_their_defaults() {
        let folder = code();
        let (found, written) = asked(&InitFlags::default(), &format!("{}\n\n\n", folder.path().display()));
        let found = found.unwrap();
        assert_eq!((found.device, found.minutes), (DeviceConfig::Auto, DEFAULT_MINUTES));
        assert_eq!(found.material.pairs, 60.0);
        assert_eq!(written, format!("{DATA} {DEVICE} How long may a run take, in minutes? [10]: "));
    }

    #[test]
    fn bad_answers_are_asked_again_with_the_reason() {
        let folder = code();
        let typed = format!("nowhere\n{}\nqpu\ncpu\nsoon\n5\n", folder.path().display());
        let (found, written) = asked(&InitFlags::default(), &typed);
        let found = found.unwrap();
        assert_eq!((found.device, found.minutes), (DeviceConfig::Cpu, 5));
        for reason in ["nowhere is not a folder", "no device has this name", "did you mean `cpu`?", "got `soon`"] {
            assert!(written.contains(reason), "no {reason:?} in\n{written}");
        }
        assert_eq!(written.matches(DATA).count(), 2);
        assert_eq!(written.matches(DEVICE).count(), 2);
    }

    #[test]
    fn flags_are_not_asked_for() {
        let folder = code();
        let flags = InitFlags {
            data: Some(DataChoice::Code(folder.path().display().to_string())),
            device: Some(DeviceConfig::Cpu),
            ..InitFlags::default()
        };
        let (found, written) = asked(&flags, "7\n");
        assert_eq!(found.unwrap().minutes, 7);
        assert_eq!(written, "How long may a run take, in minutes? [10]: ");
    }

    #[test]
    fn the_end_of_the_input_is_an_error_with_a_command() {
        let (found, written) = asked(&InitFlags::default(), "");
        let error = found.err().unwrap();
        assert!(error.to_string().contains("nothing was written"), "{error}");
        assert!(output::in_one_line(&error).contains("wb init --registry --device auto --minutes 10"));
        assert_eq!(written, format!("{DATA} \n"));
    }
}
