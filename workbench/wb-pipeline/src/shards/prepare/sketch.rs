//! The first pass: pairs are read, filtered and sketched, some files at a time.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use anyhow::Result;
use serde::{Deserialize, Serialize};
use serde_json::json;
use wb_core::{Error, Progress, Seed, fingerprint::Fingerprint, records::data::SourceCount};
use wb_data::{
    PrepareConfig,
    parts::{PartCount, PartWriter},
    sources::{OnBad, PartBytes, SourcePart},
    streaming,
};
use wb_shards::{AttemptEnd, OpenPlan, PlannedInput, ShardOutput, ShardPlan, Store};

use super::MOST;
use crate::{
    config::{Experiment, SourceChoice},
    shards::{ShardSize, ShardStage, inputs, this_build},
};

/// Rows of a Parquet file that are read together.
const ROWS: u64 = 1 << 16;

/// Pairs to prepare in shards.
#[derive(Debug, Clone, Copy)]
pub struct PreparePlan<'a> {
    /// The experiment, with its sources and gates.
    pub experiment: &'a Experiment,
    /// Fingerprint of what the pairs will be, as the experiment knows them.
    pub fingerprint: &'a Fingerprint,
    /// Size of shards: their number, or rows of a Parquet file.
    pub size: ShardSize,
}

/// Settings of the first pass, which the others have too.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SketchShards {
    /// The seed of the split.
    pub seed: Seed,
    /// The gates.
    pub prepare: PrepareConfig,
    /// The sources.
    pub sources: Vec<SourceChoice>,
    /// Their names, with the number of files that are none of theirs.
    pub counts: Vec<SourceCount>,
    /// Files and rows that are read, in order.
    pub parts: Vec<PlannedPart>,
    /// Number of shards that was asked for.
    pub shards: Option<u64>,
    /// Fingerprint of what the pairs will be.
    pub fingerprint: Fingerprint,
}

/// A file of a source, or rows of it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PlannedPart {
    /// Position of the source.
    pub source: usize,
    /// The plan's input.
    pub input: String,
    /// The file and its rows.
    pub part: SourcePart,
}

impl PreparePlan<'_> {
    /// Puts the plan and the files of its sources into a place.
    ///
    /// # Errors
    ///
    /// If a source is none of files, a gate needs all pairs at once, bad records are to be skipped, or there is no file.
    pub fn write(&self, work: &Store, progress: &mut dyn FnMut(Progress)) -> Result<OpenPlan> {
        let data = self.experiment.data()?;
        let prepare = data.prepare();
        streaming::check(&prepare, "data", "in shards")?;
        if data.on_bad == OnBad::Skip {
            let message = "got skip, expected stop: no shard knows the share of bad records in a source";
            return Err(Error::value("data.on_bad", message).with_hint("data.on_bad=stop").into());
        }
        let rows = if let ShardSize::Rows(rows) = self.size { rows } else { ROWS };
        let (mut parts, mut counts, mut files) = (Vec::new(), Vec::new(), BTreeMap::new());
        for (source, choice) in data.sources.iter().enumerate() {
            let (found, others) = choice.parts(rows, progress)?;
            let skipped = (others > 0).then(|| ("file of another format".to_owned(), others));
            counts.push(SourceCount { name: choice.name(), pairs: 0, skipped: skipped.into_iter().collect() });
            let mut last: Option<(PathBuf, String)> = None;
            for part in found {
                let known = last.take().filter(|(file, _)| *file == part.file);
                let (file, input) = known.unwrap_or_else(|| {
                    let name = part.file.file_name().unwrap_or_default().to_string_lossy();
                    (part.file.clone(), format!("sources/{source}/{}/{name}", files.len()))
                });
                files.insert(input.clone(), file.clone());
                last = Some((file, input.clone()));
                parts.push(PlannedPart { source, input, part });
            }
        }
        if parts.is_empty() {
            return Err(Error::failed("no files to prepare pairs of")
                .with_hint("look at `path` of the sources")
                .into());
        }
        let mut planned = BTreeMap::new();
        for (name, file) in &files {
            progress(Progress::new("writing inputs to the store", planned.len(), files.len()).note(name));
            planned.insert(name.clone(), PlannedInput::of_file(work, file)?);
        }
        let rows = parts.len() as u64;
        let (shards, rows_per_shard) = match self.size {
            ShardSize::Shards(shards) => (Some(shards), rows.div_ceil(shards.max(1))),
            ShardSize::Rows(_) => (None, 1),
            ShardSize::Usual => (None, rows.div_ceil(MOST)),
        };
        let task = SketchShards {
            seed: self.experiment.seed,
            prepare,
            sources: data.sources.clone(),
            counts,
            parts,
            shards,
            fingerprint: self.fingerprint.clone(),
        };
        let plan = ShardPlan {
            stage: ShardStage::Prepare.as_str().to_owned(),
            build: this_build("cpu"),
            rows,
            rows_per_shard,
            inputs: planned,
            task: json!(task),
        };
        Ok(OpenPlan::write(work, plan)?)
    }
}

/// Reads, filters and sketches the parts of a shard.
pub(in crate::shards) fn run_sketch(
    plan: &OpenPlan,
    shard: u32,
    scratch: &std::path::Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<AttemptEnd> {
    let task: SketchShards = plan.plan().typed_task()?;
    plan.attempt(shard, scratch, progress, |rows, folder, progress| {
        let mut writer = PartWriter::create(&task.prepare, folder)?;
        for PlannedPart { source, input, part } in &task.parts[rows.start as usize..rows.end as usize] {
            let bytes = match part.rows {
                Some(_) => PartBytes::Ranges(Arc::new(inputs::input(plan, input)?.reader(plan.work()))),
                None => PartBytes::File(inputs::fetched(plan, input, scratch)?),
            };
            let mut pairs = 0;
            let mut take = |pair| {
                pairs += 1;
                writer.push(pair)
            };
            let skipped = task.sources[*source].read_part(*source, part, bytes, &mut take, progress)?;
            writer.end(PartCount { source: *source, pairs, skipped });
        }
        let (account, files) = writer.finish()?;
        let files = files.into_iter().map(|file| (file.as_str().to_owned(), folder.join(file.as_str())));
        Ok(ShardOutput { files: files.collect(), account: json!(account) })
    })
}
