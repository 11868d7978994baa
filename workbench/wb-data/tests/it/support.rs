//! Helpers of the tests.

use std::{fs, io::Write, path::PathBuf};

use wb_core::{
    Pair,
    progress::silent,
    seed::{GAMMA, split_mix64},
};
use wb_data::{OnBad, Result, SourceRead, sources::CodeMapConfig};
use wb_sandbox::storage;

/// Sources, with one of them in place of the kind that is read above this crate.
pub type SourceConfig = wb_data::SourceConfig<CodeMapConfig>;

/// The folder of shared data, or `None` with a line that says that the test was skipped.
pub fn shared(test: &str) -> Option<PathBuf> {
    let named = std::env::var_os("WB_SHARED").map(PathBuf::from);
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let folder = named.unwrap_or(beside).join("data");
    if folder.is_dir() {
        return Some(folder);
    }
    // Past the capture of test output, so that skipped tests are seen and counted.
    let _ = writeln!(std::io::stderr(), "SKIPPED {test}: no shared data at {}", folder.display());
    None
}

/// A source from the JSON of its YAML.
pub fn source(config: serde_json::Value) -> SourceConfig {
    let source: SourceConfig = serde_json::from_value(config).unwrap();
    source.validate("data.sources[0]").unwrap();
    source
}

/// Reads a source, stopping at the first bad record; and once more from object storage, where all has to be the same.
pub fn read(config: serde_json::Value) -> Result<SourceRead> {
    let remote = source(storage::with_places(&config)).read(0, OnBad::Stop, &mut silent);
    let here = source(config).read(0, OnBad::Stop, &mut silent);
    match (&here, &remote) {
        (Ok(here), Ok(remote)) => {
            assert_eq!((&here.pairs, &here.skipped), (&remote.pairs, &remote.skipped), "{}", remote.name);
        }
        (Err(here), Err(remote)) => assert_eq!(cause(here), cause(remote)),
        (here, remote) => panic!("{:?} here, {:?} from object storage", here.is_ok(), remote),
    }
    here
}

/// The error's message with the names of files alone.
fn cause(error: &wb_core::Error) -> String {
    let message = error.to_string();
    message.split(' ').map(|word| word.rsplit('/').next().unwrap_or(word)).collect::<Vec<_>>().join(" ")
}

/// Writes a file and reads it as a source of a kind without further options.
pub fn read_bytes(name: &str, kind: &str, bytes: &[u8], on_bad: OnBad) -> Result<SourceRead> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, bytes).unwrap();
    source(serde_json::json!({ kind: { "path": path } })).read(0, on_bad, &mut silent)
}

/// The error's message without the folder that the file lies in.
pub fn message(result: Result<SourceRead>, name: &str) -> String {
    let message = result.unwrap_err().to_string();
    match message.find(name) {
        Some(at) => message[at..].to_owned(),
        None => message,
    }
}

/// The two sides and the id of a pair.
pub fn told(pair: &Pair) -> [&str; 3] {
    [&pair.anchor, &pair.positive, &pair.id]
}

/// A pair with a group.
pub fn pair(id: &str, group: &str, anchor: &str, positive: &str) -> Pair {
    let mut pair = Pair { id: id.into(), anchor: anchor.into(), positive: positive.into(), ..Pair::default() };
    pair.origin.group = group.into();
    pair
}

/// A generator of made texts: SplitMix64.
pub struct Made(pub u64);

impl Made {
    pub fn next(&mut self) -> u64 {
        let made = split_mix64(self.0);
        self.0 = self.0.wrapping_add(GAMMA);
        made
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    /// Words that look like code.
    pub fn code(&mut self, tokens: usize) -> Vec<String> {
        (0..tokens).map(|_| format!("w{}", self.below(4000))).collect()
    }
}
