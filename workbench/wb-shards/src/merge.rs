//! The end of a plan: all shards there, each file the one that its manifest says.

use std::{
    collections::HashSet,
    fs::{self, File},
    io::{BufWriter, Write as _},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use wb_core::{Error, atomic, fingerprint::Fingerprint};

use crate::{
    Created, Result, ShardFile, ShardManifest,
    attempt::{DATA, PROGRESS},
    kept::KEPT,
    plan::{OpenPlan, of_json, to_json},
};

/// Name of the record of a merge.
const MERGED: &str = "merged.json";

/// Result of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MergedRecord {
    /// The plan's name.
    pub plan: String,
    /// Fingerprint of what all manifests say of their files, in order.
    pub parts: String,
    /// Files that were merged: name, bytes, BLAKE3. They do not depend on the number of shards.
    pub files: Vec<(String, u64, String)>,
}

impl OpenPlan {
    /// Manifests of all shards, in order.
    ///
    /// # Errors
    ///
    /// If one is missing, or its files are not all there, as long as they were.
    pub fn all_manifests(&self) -> Result<Vec<ShardManifest>> {
        let manifests = self.manifests()?;
        if (manifests.len() as u32) < self.plan.shards() {
            let missing = self.plan.shards() as usize - manifests.len();
            let message = format!("{missing} of {} shards of {} are missing", self.plan.shards(), self.place());
            return Err(Error::failed(message).with_hint(format!("wb shards missing {}", self.place())));
        }
        let data = self.own.list(DATA)?;
        for manifest in &manifests {
            for file in &manifest.files {
                let found =
                    data.binary_search_by(|(name, _)| name.as_str().cmp(&file.object)).ok().map(|at| data[at].1);
                if found != Some(file.bytes) {
                    let found = found.map_or("is not there".to_owned(), |bytes| format!("has {bytes} bytes"));
                    return Err(self.damaged(manifest, file, &format!("{found}, expected {} bytes", file.bytes)));
                }
            }
        }
        Ok(manifests)
    }

    /// Gives a shard's file to `take`, piece by piece; an error in the end where it is not what the manifest says.
    pub fn read<E: From<Error>>(
        &self,
        manifest: &ShardManifest,
        name: &str,
        mut take: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let file = self.file(manifest, name)?;
        let mut hasher = blake3::Hasher::new();
        self.own.each_piece(&file.object, file.bytes, |piece| {
            hasher.update(piece);
            take(piece)
        })?;
        if hasher.finalize().to_hex().as_str() != file.blake3 {
            return Err(self.damaged(manifest, file, "is not what was written: its BLAKE3 is another").into());
        }
        Ok(())
    }

    /// Takes away what attempts that came to nothing have left in the store. Every shard is done: whoever is still at work
    /// will lose.
    pub fn sweep(&self, manifests: &[ShardManifest]) -> Result<()> {
        let kept: HashSet<&str> =
            manifests.iter().flat_map(|manifest| &manifest.files).map(|file| file.object.as_str()).collect();
        let left = [DATA, PROGRESS, KEPT].map(|folder| self.own.list(folder));
        let left = left.into_iter().collect::<Result<Vec<_>>>()?.into_iter().flatten();
        left.filter(|(name, _)| !kept.contains(name.as_str())).try_for_each(|(name, _)| self.own.remove(&name))
    }

    /// Says what the plan has come to, and takes away what attempts that came to nothing have left. The same must have been
    /// said before, if anything was.
    pub fn finish(&self, manifests: &[ShardManifest], files: Vec<(String, u64, String)>) -> Result<MergedRecord> {
        let record = MergedRecord { plan: self.plan.id(), parts: parts_of(manifests), files };
        let mut json = to_json(&record)?;
        json.push(b'\n');
        if self.own.create(MERGED, json)? == Created::Ours {
            self.sweep(manifests)?;
            return Ok(record);
        }
        let bytes = self.own.get(MERGED)?.unwrap_or_default();
        let before: MergedRecord = of_json(&self.own, MERGED, &bytes)?;
        if before != record {
            let message = "says that the shards came to something else before";
            return Err(Error::data(self.own.shown(MERGED), message).with_hint(
                "take it away where shards were made again on purpose; else the build is not deterministic",
            ));
        }
        self.sweep(manifests)?;
        Ok(record)
    }

    fn damaged(&self, manifest: &ShardManifest, file: &ShardFile, what: &str) -> Error {
        let message = format!("{} of shard {} {what}", file.name, manifest.shard);
        Error::data(self.own.shown(&file.object), message).with_hint(self.again(manifest.shard))
    }
}

/// Fingerprint of what manifests say of their files, in order.
pub fn parts_of(manifests: &[ShardManifest]) -> String {
    let files: Vec<&ShardFile> = manifests.iter().flat_map(|manifest| &manifest.files).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|file| (file.name.as_str(), file.blake3.as_str())).collect();
    Fingerprint::of_json(&files).as_str().to_owned()
}

/// A file that is put together out of shards and hashed on the way; without a folder it is hashed alone.
pub struct MergedFile {
    name: String,
    to: Option<GrowingFile>,
    hasher: blake3::Hasher,
    bytes: u64,
}

/// A file that appears when it is whole.
struct GrowingFile {
    path: PathBuf,
    unfinished: PathBuf,
    file: BufWriter<File>,
}

impl Drop for GrowingFile {
    fn drop(&mut self) {
        // Gone already where it was finished.
        let _ = fs::remove_file(&self.unfinished);
    }
}

impl MergedFile {
    /// Begins a file of a folder, which is made.
    ///
    /// # Errors
    ///
    /// If it is there already: nothing is written over.
    pub fn create(folder: Option<&Path>, name: &str) -> Result<Self> {
        let begin = |folder: &Path| {
            let path = folder.join(name);
            if path.exists() {
                return Err(Error::is_there(&path));
            }
            fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
            let unfinished = atomic::temporary_name(&path);
            let file = File::create_new(&unfinished).map_err(Error::io("write", &path))?;
            Ok(GrowingFile { path, unfinished, file: BufWriter::with_capacity(1 << 20, file) })
        };
        let to = folder.map(begin).transpose()?;
        Ok(Self { name: name.to_owned(), to, hasher: blake3::Hasher::new(), bytes: 0 })
    }

    /// Adds bytes.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.hasher.update(bytes);
        self.bytes += bytes.len() as u64;
        match &mut self.to {
            Some(to) => to.file.write_all(bytes).map_err(Error::io("write", &to.path)),
            None => Ok(()),
        }
    }

    /// Has the file on the disk under its name; the name, the number of bytes, and BLAKE3 of them.
    pub fn finish(self) -> Result<(String, u64, String)> {
        if let Some(mut to) = self.to {
            let flushed = to.file.flush().and_then(|()| to.file.get_ref().sync_all());
            flushed.map_err(Error::io("write", &to.path))?;
            atomic::rename(&to.unfinished, &to.path)?;
        }
        Ok((self.name, self.bytes, self.hasher.finalize().to_hex().to_string()))
    }
}
