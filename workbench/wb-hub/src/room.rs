//! Room on a disk, looked at before a download.

use std::path::Path;

use wb_core::quantities;

use crate::{Error, Result, Why, error::failure};

/// Bytes that a disk has left for this folder, or for the nearest one above that is there.
pub(crate) fn room(folder: &Path) -> Result<u64> {
    let there = folder.ancestors().find(|above| above.is_dir()).unwrap_or(Path::new("."));
    fs4::available_space(there).map_err(Error::io("measure", there))
}

/// Refuses a download for which the disk has no room.
pub(crate) fn fits(what: &str, folder: &Path, bytes: u64, room: u64) -> Result<()> {
    // A disk that is full to the last byte breaks what else is written.
    const SPARE: u64 = 64 << 20;
    if bytes + SPARE <= room {
        return Ok(());
    }
    let (needs, has) = (quantities::bytes(bytes), quantities::bytes(room));
    let message = format!("{needs} are to come, and the disk of {} has {has} left", folder.display());
    let hint = "free some space, or set HF_HOME (or HF_HUB_CACHE) to a folder on another disk";
    Err(failure(Why::DiskFull, what, message).with_hint(hint))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_without_room_is_told_before() {
        assert!(fits("o/n", Path::new("/c"), 1 << 20, 1 << 30).is_ok());
        let error = fits("o/n", Path::new("/c"), 2_000_000_000, 1_000_000_000).unwrap_err();
        assert_eq!(error.to_string(), "o/n: 2 GB are to come, and the disk of /c has 1 GB left");
        assert_eq!(Why::of(&error), Some(Why::DiskFull));
    }
}
