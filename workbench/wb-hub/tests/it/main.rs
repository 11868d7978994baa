//! Downloads against a server on this machine that speaks the hub's interface and breaks on purpose.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should say where")]

mod broken;
mod cache;
mod faults;
mod names;
mod refusals;
mod web;

use std::{path::Path, time::Duration};

use tempfile::TempDir;
use wb_fake_hub::FakeHub;
use wb_hub::{Hub, LockFile, Patience, RepoKind, RepoRef, Settings};

/// A model with two small files and a large one.
pub(crate) struct Model {
    pub(crate) hub: FakeHub,
    pub(crate) home: TempDir,
    pub(crate) commit: String,
    pub(crate) large: Vec<u8>,
}

pub(crate) const CONFIG: &[u8] = b"{\"hidden_size\": 4}\n";

impl Model {
    pub(crate) fn new() -> Self {
        let large: Vec<u8> = (0..20_000u32).map(|n| (n * n / 7) as u8).collect();
        let hub = FakeHub::start().unwrap();
        let files: [(&str, &[u8]); 4] = [
            ("config.json", CONFIG),
            ("1_Pooling/config.json", b"{}"),
            ("model.safetensors", &large),
            ("onnx/model.onnx", &large[1..]),
        ];
        let commit = hub.add("models", "o/n", &files);
        Self { hub, home: TempDir::new().unwrap(), commit, large }
    }

    /// Settings that lose no time.
    pub(crate) fn settings(&self) -> Settings {
        let patience = Patience {
            attempts: 4,
            first_wait: Duration::ZERO,
            longest_wait: Duration::from_secs(2),
            silence: Duration::from_millis(400),
        };
        let cache = Some(self.home.path().join("hub"));
        Settings { endpoint: self.hub.endpoint(), cache, key: None, offline: None, locked: false, patience }
    }

    pub(crate) fn client(&self) -> Hub {
        Hub::new(self.settings())
    }

    pub(crate) fn offline(&self) -> Hub {
        Hub::new(Settings { offline: Some("WB_OFFLINE"), ..self.settings() })
    }

    pub(crate) fn locked_to(&self, settings: Settings) -> Hub {
        Hub::new(settings).with_lock(LockFile::of_runs(&self.home.path().join("runs")))
    }

    /// The large file's content, wherever it was put.
    pub(crate) fn fetched(&self, hub: &Hub) -> wb_hub::Result<Vec<u8>> {
        let folder = hub.fetch(&repo("o/n"), &wanted)?.folder;
        assert_eq!(std::fs::read(folder.join("config.json")).unwrap(), CONFIG);
        assert!(!folder.join("onnx").exists(), "only what is wanted is fetched");
        Ok(std::fs::read(folder.join("model.safetensors")).unwrap())
    }
}

pub(crate) fn repo(id: &str) -> RepoRef {
    RepoRef::new(RepoKind::Model, id, "", "test").unwrap()
}

/// All but ONNX.
pub(crate) fn wanted(paths: &[&str]) -> Vec<String> {
    paths.iter().filter(|path| !path.starts_with("onnx/")).map(|path| (*path).to_owned()).collect()
}

/// Every file below a folder, by its path from it.
pub(crate) fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(&next).into_iter().flatten().flatten() {
            match entry.file_type().unwrap().is_dir() {
                true => folders.push(entry.path()),
                false => found.push(entry.path().strip_prefix(folder).unwrap().display().to_string()),
            }
        }
    }
    found.sort();
    found
}
