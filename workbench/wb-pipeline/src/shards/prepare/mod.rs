//! Pairs in three passes: read, filtered and sketched by files; candidates for near duplicates by ranges of keys; verified by
//! ranges of texts. What is left is decided by the merge, in order. Without near duplicates there is the first pass alone.

mod merge;
mod near;
mod sketch;

use anyhow::Result;
use serde::{Deserialize, Serialize};
use serde_json::json;
use wb_core::Error;
use wb_data::parts::{RANGES, SketchedPart};
use wb_shards::{OpenPlan, ShardManifest, ShardPlan};

pub use self::sketch::PreparePlan;
use self::sketch::SketchShards;
pub(super) use self::{
    merge::merge,
    near::{run_match, run_verify},
    sketch::run_sketch,
};
use super::{
    MOST, ShardStage,
    passes::{DonePass, EarlierPass},
    this_build,
};

/// Texts for which there is a shard of the passes that look for near duplicates, where nothing else is said.
const TEXTS: u64 = 1 << 18;

/// Settings of a pass over what an earlier one has made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct NearShards {
    /// The plan of the first pass.
    sketch: EarlierPass,
    /// The plan of the second pass; none in that itself.
    matched: Option<EarlierPass>,
    /// Texts in all.
    texts: u64,
}

impl NearShards {
    /// The pass of sketches, which a later plan speaks of.
    fn sketch(&self, later: &OpenPlan) -> Result<DonePass> {
        DonePass::open(later, &self.sketch)
    }

    /// The pass of candidates.
    fn matched(&self, later: &OpenPlan) -> Result<DonePass> {
        let matched = self.matched.as_ref().ok_or_else(|| Error::failed("the plan names no pass of candidates"))?;
        DonePass::open(later, matched)
    }
}

/// Accounts of the first pass.
fn sketched(pass: &DonePass) -> Result<Vec<SketchedPart>> {
    Ok(pass.manifests.iter().map(ShardManifest::typed_account).collect::<wb_core::Result<_>>()?)
}

/// The plan of the pass that comes after one whose shards are all done; none after the last.
pub(super) fn next_pass(plan: &OpenPlan, stage: ShardStage) -> Result<Option<OpenPlan>> {
    let (stage, task) = match stage {
        ShardStage::Prepare => {
            let settings: SketchShards = plan.plan().typed_task()?;
            if settings.prepare.dedupe.near == 0.0 {
                return Ok(None);
            }
            let sketch = DonePass::of(plan.clone())?;
            let texts = sketched(&sketch)?.iter().map(|part| part.texts).sum();
            if texts > u64::from(u32::MAX) {
                let what =
                    format!("{texts} pairs have passed the filter, expected at most {} with near duplicates", u32::MAX);
                return Err(Error::failed(what).with_hint("data.dedupe.near=0").into());
            }
            (ShardStage::Match, NearShards { sketch: sketch.earlier(), matched: None, texts })
        }
        ShardStage::Match => {
            let settings: NearShards = plan.plan().typed_task()?;
            let matched = Some(DonePass::of(plan.clone())?.earlier());
            (ShardStage::Verify, NearShards { matched, ..settings })
        }
        _ => return Ok(None),
    };
    let sketch = OpenPlan::open_in(plan.work(), task.sketch.plan())?;
    let wanted = sketch.plan().typed_task::<SketchShards>()?.shards;
    let shards = wanted.unwrap_or_else(|| task.texts.div_ceil(TEXTS)).clamp(1, RANGES as u64);
    let planned = ShardPlan {
        stage: stage.as_str().to_owned(),
        build: this_build("cpu"),
        rows: RANGES as u64,
        rows_per_shard: (RANGES as u64).div_ceil(shards),
        inputs: std::collections::BTreeMap::new(),
        task: json!(task),
    };
    Ok(Some(OpenPlan::write(plan.work(), planned)?))
}
