//! The end of all passes: the folder that `wb data` keeps.

use std::{cell::RefCell, fs::File, io::Write as _, path::Path};

use anyhow::Result;
use wb_core::{Error, Progress, atomic};
use wb_data::parts::{NearFiles, PartFile, SketchedFiles, merge_parts};
use wb_shards::{MergedRecord, OpenPlan};

use super::{NearShards, near, sketch::SketchShards, sketched};
use crate::shards::{
    ShardStage,
    inputs::{files_of, refuse_there},
    passes::DonePass,
};

/// Decides what is left, and writes the pairs.
pub(in crate::shards) fn merge(
    plan: &OpenPlan,
    out: Option<&Path>,
    scratch: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<MergedRecord> {
    refuse_there(out)?;
    let last = DonePass::of(plan.clone())?;
    let files = atomic::in_scratch(&scratch.join("merged"), |inside| -> Result<_> {
        let pairs = inside.join("pairs");
        let folder = out.unwrap_or(&pairs);
        merge_into(&last, inside, folder, progress)?;
        files_of(folder)
    })?;
    Ok(plan.finish(&last.manifests, files)?)
}

fn merge_into(last: &DonePass, inside: &Path, folder: &Path, progress: &mut dyn FnMut(Progress)) -> Result<()> {
    let passes = match last.plan.plan().stage.parse()? {
        ShardStage::Verify => {
            let settings: NearShards = last.plan.plan().typed_task()?;
            Some((settings.sketch(&last.plan)?, settings.matched(&last.plan)?))
        }
        _ => None,
    };
    let sketch = passes.as_ref().map_or(last, |(sketch, _)| sketch);
    let found = passes.as_ref().map(|(sketch, matched)| near_files(sketch, matched, last, inside)).transpose()?;
    let task: SketchShards = sketch.plan.plan().typed_task()?;
    let (all, told) = (sketch.manifests.len(), RefCell::new(progress));
    let mut accounts = sketched(sketch)?.into_iter();
    let mut parts = sketch.manifests.iter().filter_map(|manifest| {
        let account = accounts.next()?;
        let fetched = |file: PartFile| -> wb_core::Result<_> {
            // One part at a time is here.
            let path = inside.join(file.as_str());
            sketch.plan.fetch(manifest, file.as_str(), &path)?;
            Ok(path)
        };
        told.borrow_mut()(Progress::new("merging", manifest.shard as usize, all));
        Some(
            fetched(PartFile::Ids).and_then(|ids| Ok(SketchedFiles { account, ids, pairs: fetched(PartFile::Pairs)? })),
        )
    });
    merge_parts(task.counts, &mut parts, found, (&task.prepare, task.seed), folder, &mut |now| told.borrow_mut()(now))?;
    Ok(())
}

fn near_files(sketch: &DonePass, matched: &DonePass, verified: &DonePass, inside: &Path) -> Result<NearFiles> {
    let crowds = inside.join(near::CROWDS);
    let mut to = File::create(&crowds).map_err(Error::io("create", &crowds))?;
    for manifest in &matched.manifests {
        matched.plan.read(manifest, near::CROWDS, |piece| to.write_all(piece).map_err(Error::io("write", &crowds)))?;
    }
    let mut files = Vec::new();
    for manifest in &verified.manifests {
        let path = inside.join(format!("{}-{}", near::NEAR, manifest.shard));
        verified.plan.fetch(manifest, near::NEAR, &path)?;
        files.push(path);
    }
    Ok(NearFiles { near: files, crowds, shingles: near::shingles(sketch)? })
}
