//! Files as they are published, under the names that readers know.

use std::{fs::File, io, path::Path};

use serde::Serialize;
use wb_core::{Error, Progress, atomic};

use super::conversion::{ConversionCounts, Convert, Inputs, count};
use crate::Result;

/// The files themselves, each under the name that it is wanted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct AsItIs;

impl Convert for AsItIs {
    fn convert(&self, inputs: &Inputs<'_>, to: &Path, progress: &mut dyn FnMut(Progress)) -> Result<ConversionCounts> {
        let mut counts = ConversionCounts::new();
        for (done, file) in inputs.files.iter().enumerate() {
            progress(Progress::new("writing files", done, inputs.files.len()).note(file.name.clone()));
            copy(&file.path, &to.join(&file.name))?;
            count(&mut counts, "files", 1);
        }
        Ok(counts)
    }
}

/// Copies a file, flushed to the disk.
pub(super) fn copy(from: &Path, to: &Path) -> Result<()> {
    let mut source = File::open(from).map_err(Error::io("read", from))?;
    atomic::write_with(to, |file| io::copy(&mut source, file).map(|_| ()))?;
    Ok(())
}
