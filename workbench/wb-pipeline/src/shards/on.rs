//! Stages of an experiment on the machines of its `run_on`: planned, worked at, merged, and in the place where this process
//! would have put it.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};
use wb_core::{Error, Progress, Side, atomic};
use wb_data::text_table::write_texts;
use wb_encoder::BiEncoder;
use wb_retrieval::mining::{MinedNegatives, MiningConfig, MiningTexts, VectorsConfig};
use wb_shards::{OpenPlan, Store};

use super::{EncodePlan, MinePlan, RunOn, merge, mine, scratch};
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
        let plan = planned.write(&work, progress)?;
        work_at(&plan, run_on, &scratch, progress)?;
        merge(&plan, Some(&merged), &scratch, progress)?;
        let vectors = merged.join(format!("{}.npy", side.plural()));
        let written = fs::copy(&vectors, out).and_then(|_| File::open(out)?.sync_all());
        Ok(written.map_err(Error::io("write", out))?)
    })
}

/// Mines by vectors of the texts' queries and documents, in their order.
pub fn mined(
    experiment: &Experiment,
    run_on: &RunOn,
    texts: &MiningTexts<'_>,
    [queries, documents]: [PathBuf; 2],
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
        let vectors = VectorsConfig { queries, query_ids, documents, document_ids };
        let negatives = MiningConfig { vectors: Some(vectors), encoder: None, ..config };
        let experiment = Experiment { negatives: Some(negatives), ..experiment.clone() };
        let planned = MinePlan { experiment: &experiment, pairs, size: run_on.size() };
        let plan = planned.write(&work, progress)?;
        work_at(&plan, run_on, &scratch, progress)?;
        let parts = mine::parts(&plan, &plan.all_manifests()?, progress)?;
        Ok(MinedNegatives::of_parts(texts, per_pair, parts))
    })
}

/// Has a plan worked at until nothing is missing.
fn work_at(plan: &OpenPlan, run_on: &RunOn, scratch: &Path, progress: &mut dyn FnMut(Progress)) -> Result<()> {
    output::note(format!("{} in {} shards: {}", plan.plan().stage, plan.plan().shards(), plan.place()));
    run_on.run(plan, scratch, progress)
}

fn store(experiment: &Experiment) -> Result<Store> {
    let work = experiment.work.as_deref().context("`run_on` has no `work`")?;
    Ok(Store::open(work)?)
}
