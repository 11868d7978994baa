//! Ranges of what a shard has made.

use std::{
    fs::File,
    io::{BufWriter, Write as _},
    ops::Range,
    path::Path,
};

use wb_core::{Error, RangeReader};

use crate::{OpenPlan, Result, ShardFile, ShardManifest, Store};

/// Ranges of a shard's file, as they lie in the store: who reads them has hashes of their own, or hashes the whole.
#[derive(Debug)]
pub struct ShardReader {
    store: Store,
    file: ShardFile,
}

impl RangeReader for ShardReader {
    fn size(&self) -> u64 {
        self.file.bytes
    }

    fn read(&self, range: Range<u64>) -> Result<Vec<u8>> {
        if range.is_empty() {
            return Ok(Vec::new());
        }
        self.store.get_range(&self.file.object, range)
    }
}

impl OpenPlan {
    /// Ranges of a shard's file.
    pub fn reader(&self, manifest: &ShardManifest, name: &str) -> Result<ShardReader> {
        Ok(ShardReader { store: self.own.clone(), file: self.file(manifest, name)?.clone() })
    }

    /// Writes a shard's file to this machine, hashed on the way.
    pub fn fetch(&self, manifest: &ShardManifest, name: &str, to: &Path) -> Result<()> {
        let mut file = BufWriter::new(File::create(to).map_err(Error::io("create", to))?);
        self.read(manifest, name, |piece| file.write_all(piece).map_err(Error::io("write", to)))?;
        file.flush().map_err(Error::io("write", to))
    }

    /// A shard's file by its name.
    pub(crate) fn file<'m>(&self, manifest: &'m ShardManifest, name: &str) -> Result<&'m ShardFile> {
        manifest.files.iter().find(|file| file.name == name).ok_or_else(|| {
            let what = format!("shard {} of {} has no file `{name}`", manifest.shard, self.place());
            Error::failed(what).with_hint(self.again(manifest.shard))
        })
    }
}
