//! Stages of an experiment on the machines of its `run_on`: planned, worked at, merged, and in the place where this process
//! would have put it.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};
use wb_core::{Error, Progress, Side, atomic, fingerprint::Fingerprint};
use wb_data::{PreparedPairs, store::load_held_out, text_table::write_texts};
use wb_encoder::BiEncoder;
use wb_retrieval::mining::{MinedNegatives, MiningConfig, MiningTexts, VectorsConfig};
use wb_shards::{OpenPlan, Store};

use super::{EncodePlan, MinePlan, PreparePlan, RunOn, merge, mine, run_all, scratch};
use crate::{config::Experiment, output};

/// Writes the vectors of some texts to a file, row `i` for text `i`.
pub fn encode_texts(
    experiment: &Experiment,
    run_on: &RunOn,
    encoder: &BiEncoder,
    (texts, side): (&[&str], Side),
    out: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<()> {
    let (work, scratch) = (store(experiment)?, scratch(None)?);
    atomic::in_scratch(&scratch.join("planned"), |inside| {
        let (folder, table, merged) = (inside.join("encoder"), inside.join("texts.parquet"), inside.join("merged"));
        encoder.write(&folder)?;
        write_texts(&table, texts)?;
        let planned = EncodePlan {
            table,
            field: "text".to_owned(),
            encoder: folder.display().to_string().as_str().into(),
            side,
            max_tokens: None,
            device: experiment.device.first(),
            size: run_on.size(),
        };
        let plan = work_at(planned.write(&work, progress)?, run_on, &scratch, progress)?;
        merge(&plan, Some(&merged), &scratch, progress)?;
        let vectors = merged.join(format!("{}.npy", side.plural()));
        let written = fs::copy(&vectors, out).and_then(|_| File::open(out)?.sync_all());
        Ok(written.map_err(Error::io("write", out))?)
    })
}

/// Prepares the pairs of an experiment into a folder, named by their fingerprint.
pub fn prepared(
    experiment: &Experiment,
    run_on: &RunOn,
    (folder, fingerprint): (&Path, &Fingerprint),
    progress: &mut dyn FnMut(Progress),
) -> Result<PreparedPairs> {
    let scratch = scratch(None)?;
    let planned = PreparePlan { experiment, fingerprint, size: run_on.size() };
    let plan = work_at(planned.write(&store(experiment)?, progress)?, run_on, &scratch, progress)?;
    merge(&plan, Some(folder), &scratch, progress)?;
    Ok(load_held_out(folder)?)
}

/// Mines by vectors of the texts' queries and documents, in their order, or by an encoder of tokens, or by words, where there
/// is neither.
pub fn mined(
    experiment: &Experiment,
    run_on: &RunOn,
    texts: &MiningTexts<'_>,
    (vectors, by_tokens): (Option<[PathBuf; 2]>, Option<&BiEncoder>),
    pairs: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<MinedNegatives> {
    let (work, scratch) = (store(experiment)?, scratch(None)?);
    let config = experiment.negatives.clone().unwrap_or_default();
    let per_pair = config.rules().per_pair;
    atomic::in_scratch(&scratch.join("planned"), |inside| {
        let lines = |name: &str, ids: &mut dyn Iterator<Item = &str>| -> Result<PathBuf> {
            let path = inside.join(name);
            let text: String = ids.flat_map(|id| [id, "\n"]).collect();
            fs::write(&path, text).map_err(Error::io("write", &path))?;
            Ok(path)
        };
        let id_of = |query: usize| texts.pairs()[texts.first_pair_of(query)].id.as_str();
        let query_ids = lines("queries.ids.txt", &mut (0..texts.queries().len()).map(id_of))?;
        let document_ids = lines("documents.ids.txt", &mut texts.document_ids().iter().copied())?;
        let of_files =
            |[queries, documents]: [PathBuf; 2]| VectorsConfig { queries, query_ids, documents, document_ids };
        let folder = inside.join("encoder");
        by_tokens.map_or(Ok(()), |encoder| encoder.write(&folder))?;
        let encoder = by_tokens.map(|_| folder.display().to_string().as_str().into());
        let negatives = MiningConfig { vectors: vectors.map(of_files), encoder, ..config };
        let experiment = Experiment { negatives: Some(negatives), ..experiment.clone() };
        let planned = MinePlan { experiment: &experiment, pairs, size: run_on.size() };
        let plan = work_at(planned.write(&work, progress)?, run_on, &scratch, progress)?;
        let parts = mine::parts(&plan, &plan.all_manifests()?, progress)?;
        Ok(MinedNegatives::of_parts(texts, per_pair, parts))
    })
}

/// Has a plan worked at until nothing is missing, with its further passes; gives the last one.
pub(super) fn work_at(
    plan: OpenPlan,
    run_on: &RunOn,
    scratch: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<OpenPlan> {
    output::note(format!("{} in {} shards: {}", plan.plan().stage, plan.plan().shards(), plan.place()));
    run_all(plan, run_on, scratch, progress)
}

pub(super) fn store(experiment: &Experiment) -> Result<Store> {
    let work = experiment.work.as_deref().context("`run_on` has no `work`")?;
    Ok(Store::open(work)?)
}
