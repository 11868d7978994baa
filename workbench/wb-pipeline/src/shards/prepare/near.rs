//! The passes that look for near duplicates.

use std::{ops::Range, path::Path, sync::Arc};

use anyhow::Result;
use rayon::prelude::*;
use serde_json::json;
use wb_core::{Error, Progress, RangeReader};
use wb_data::parts::{PartFile, PartMatcher, PartShingles, RANGES, SketchedPart, Slice, slices, verified};
use wb_shards::{AttemptEnd, OpenPlan, ShardManifest, ShardOutput};

use super::{NearShards, sketch::SketchShards, sketched};
use crate::shards::passes::DonePass;

/// Files of the two passes.
pub(super) const CANDIDATES: &str = "candidates";
pub(super) const CROWDS: &str = "crowds";
pub(super) const NEAR: &str = "near";

/// Bytes of records that are matched together.
const TOGETHER: u64 = 128 << 20;

/// Candidates of some ranges of keys.
pub(in crate::shards) fn run_match(
    plan: &OpenPlan,
    shard: u32,
    scratch: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<AttemptEnd> {
    let task: NearShards = plan.plan().typed_task()?;
    plan.attempt(shard, scratch, progress, |rows, folder, progress| {
        let sketch = task.sketch(plan)?;
        let (parts, threshold) = (sketched(&sketch)?, threshold(&sketch)?);
        let mut matcher = PartMatcher::create(folder, task.texts, threshold)?;
        let (mut next, end) = (rows.start as usize, rows.end as usize);
        while next < end {
            progress(
                Progress::new("near duplicates", next - rows.start as usize, end - rows.start as usize)
                    .note("candidates"),
            );
            let together = next..together(&parts, next, end);
            let read = |(manifest, part): (&ShardManifest, &SketchedPart)| {
                slices_of(&sketch, manifest, PartFile::Keys.as_str(), &part.keys, together.clone())
            };
            let read: Vec<Vec<Vec<u8>>> = sketch.manifests.par_iter().zip(&parts).map(read).collect::<Result<_>>()?;
            let mut ranges: Vec<Vec<(u32, Vec<u8>)>> = together.clone().map(|_| Vec::new()).collect();
            let mut base = 0;
            for (part, slices) in parts.iter().zip(read) {
                ranges.iter_mut().zip(slices).for_each(|(range, bytes)| range.push((base, bytes)));
                base += part.texts as u32;
            }
            matcher.push(&ranges)?;
            next = together.end;
        }
        let (candidates, crowds) = matcher.finish()?;
        let files = vec![(CANDIDATES.to_owned(), candidates.path), (CROWDS.to_owned(), crowds)];
        Ok(ShardOutput { files, account: json!(candidates.slices) })
    })
}

/// Candidates of some ranges of texts that are near.
pub(in crate::shards) fn run_verify(
    plan: &OpenPlan,
    shard: u32,
    scratch: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<AttemptEnd> {
    let task: NearShards = plan.plan().typed_task()?;
    plan.attempt(shard, scratch, progress, |rows, folder, progress| {
        let sketch = task.sketch(plan)?;
        let matched = task.matched(plan)?;
        progress(Progress::new("near duplicates", 0, 0).note("similarities"));
        let which = rows.start as usize..rows.end as usize;
        let mut ranges: Vec<Vec<u8>> = vec![Vec::new(); which.len()];
        for manifest in &matched.manifests {
            let all: Vec<Slice> = manifest.typed_account()?;
            let read = slices_of(&matched, manifest, CANDIDATES, &all, which.clone())?;
            ranges.iter_mut().zip(read).for_each(|(range, bytes)| range.extend(bytes));
        }
        let near = folder.join(NEAR);
        let bytes = verified(ranges, shingles(&sketch)?, threshold(&sketch)?)?;
        std::fs::write(&near, bytes).map_err(Error::io("write", &near))?;
        Ok(ShardOutput { files: vec![(NEAR.to_owned(), near)], account: json!({}) })
    })
}

/// Shingles of all parts, by ranges.
pub(super) fn shingles(sketch: &DonePass) -> Result<Vec<PartShingles>> {
    let of = |manifest: &ShardManifest| -> Result<PartShingles> {
        let mut bytes = Vec::new();
        sketch.plan.read(manifest, PartFile::Lengths.as_str(), |piece| -> Result<()> {
            bytes.extend_from_slice(piece);
            Ok(())
        })?;
        let lengths = bytes.as_chunks::<4>().0.iter().map(|four| u32::from_le_bytes(*four)).collect();
        Ok((Arc::new(sketch.plan.reader(manifest, PartFile::Shingles.as_str())?), lengths))
    };
    sketch.manifests.iter().map(of).collect()
}

/// The similarity of near duplicates.
fn threshold(sketch: &DonePass) -> Result<f64> {
    Ok(sketch.plan.plan().typed_task::<SketchShards>()?.prepare.dedupe.near)
}

/// The end of the ranges from a first one on that are matched together: one, or more that are small.
fn together(parts: &[SketchedPart], first: usize, end: usize) -> usize {
    let end_of = |at: usize| parts.iter().map(|part| part.keys.get(at).map_or(0, |slice| slice.end)).sum::<u64>();
    let begin = first.checked_sub(1).map_or(0, end_of);
    (first + 1..=end.min(RANGES)).take_while(|last| end_of(last - 1) - begin <= TOGETHER).last().unwrap_or(first + 1)
}

fn slices_of(
    pass: &DonePass,
    manifest: &ShardManifest,
    name: &str,
    all: &[Slice],
    which: Range<usize>,
) -> Result<Vec<Vec<u8>>> {
    let reader = pass.plan.reader(manifest, name)?;
    let shown = format!("{name} of shard {} of {}", manifest.shard, pass.plan.place());
    Ok(slices(all, which, &shown, |range| reader.read(range))?)
}
