//! Inputs of each finished stage of a run.

use std::collections::BTreeMap;

use wb_core::{
    Result, RunDir,
    fingerprint::Fingerprint,
    run_dir::{read_json, write_json},
};

/// The stages of one run that are finished.
pub struct Stages {
    run: RunDir,
    inputs: BTreeMap<String, Fingerprint>,
}

impl Stages {
    /// Reads the stages of a run; none for a new one.
    pub fn open(run: &RunDir) -> Result<Self> {
        let file = run.stages();
        let inputs = if file.is_file() { read_json(&file)? } else { BTreeMap::new() };
        Ok(Self { run: run.clone(), inputs })
    }

    /// True where a stage is finished for these inputs.
    pub fn is_done(&self, stage: &str, inputs: &Fingerprint) -> bool {
        self.inputs.get(stage) == Some(inputs)
    }

    /// True where a stage is finished, for whatever inputs.
    pub fn has(&self, stage: &str) -> bool {
        self.inputs.contains_key(stage)
    }

    /// Notes a stage as finished.
    pub fn done(&mut self, stage: &str, inputs: Fingerprint) -> Result<()> {
        self.inputs.insert(stage.to_owned(), inputs);
        write_json(&self.run.stages(), &self.inputs)
    }
}
