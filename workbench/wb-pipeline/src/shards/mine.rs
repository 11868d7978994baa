//! Hard negatives, shard by shard of the queries: each against all documents, so that nothing is to be merged but lists.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use serde_json::json;
use wb_core::{EncoderRef, Error, Progress, Reranker as _, Seed, atomic, fingerprint::Fingerprint, remote};
use wb_data::store;
use wb_encoder::{DeviceConfig, Folder};
use wb_retrieval::{
    Bm25Config,
    mining::{MinedPart, MiningConfig, MiningRetriever, RescoreConfig, VectorsConfig},
};
use wb_shards::{AttemptEnd, MergedRecord, OpenPlan, PlannedInput, ShardManifest, ShardOutput, ShardPlan, Store};

use super::{
    ShardSize, ShardStage,
    encode::kind,
    inputs::{fetched, fetched_model, files_of, put_model, refuse_there},
    scratch, this_build,
};
use crate::{
    config::Experiment,
    device, encoder,
    mine::{MiningParts, PartNames},
    session,
};

/// The input with the pairs, and the folders of the others.
const PAIRS: &str = "pairs/train.parquet";
const VECTORS: &str = "vectors";
const CORPUS: &str = "corpus";
const SCORES: &str = "scores";
const CROSS_ENCODER: &str = "cross-encoder/";
const ENCODER: &str = "encoder/";
/// The file of a shard.
const MINED: &str = "mined.json";

/// Pairs to mine for in shards.
#[derive(Debug, Clone, Copy)]
pub struct MinePlan<'a> {
    /// The experiment, with its rules and the vectors.
    pub experiment: &'a Experiment,
    /// The prepared pairs.
    pub pairs: &'a Path,
    /// Size of shards, in queries.
    pub size: ShardSize,
}

/// Settings of the plan.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MineShards {
    /// Decides what is drawn.
    seed: Seed,
    /// The rules; names of files are those of the plan's inputs.
    negatives: MiningConfig,
    /// Rules of words, for the estimate.
    bm25: Bm25Config,
    /// Names for the account.
    names: PartNames,
    /// Fingerprint of the cross-encoder's files, where one scores.
    cross_encoder: Option<Fingerprint>,
    /// Fingerprint of the encoder's files, where one ranks by tokens.
    encoder: Option<Fingerprint>,
}

impl MinePlan<'_> {
    /// Puts the plan, the pairs, the vectors and the corpus into a place.
    ///
    /// # Errors
    ///
    /// If there is nothing to rank by, or a file or model cannot be read.
    pub fn write(&self, work: &Store, progress: &mut dyn FnMut(Progress)) -> Result<OpenPlan> {
        let config = self.experiment.negatives.clone().unwrap_or_default();
        let by_tokens = self.by_tokens(&config)?;
        let (seed, bm25) = (self.experiment.seed, self.experiment.bench.bm25);
        progress(Progress::new("reading pairs", 0, 0));
        let rows = MiningParts::open(store::read_pairs(self.pairs)?, config.clone(), (seed, bm25), DeviceConfig::Cpu)?
            .queries()? as u64;
        if rows == 0 {
            return Err(Error::file(self.pairs, "no pairs in it").into());
        }
        let mut inputs = BTreeMap::new();
        let mut put = |name: &str, file: &Path| -> Result<PathBuf> {
            progress(Progress::new("writing inputs to the store", inputs.len(), 0).note(name));
            inputs.insert(name.to_owned(), PlannedInput::of_file(work, file)?);
            Ok(PathBuf::from(name))
        };
        put(PAIRS, self.pairs)?;
        let own_name = |file: &Path| file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut side = |side: &str, file: &Path| put(&format!("{VECTORS}/{side}/{}", own_name(file)), file);
        let mut planned = |vectors: &VectorsConfig| -> Result<VectorsConfig> {
            Ok(VectorsConfig {
                queries: side("queries", &vectors.queries)?,
                query_ids: side("query_ids", &vectors.query_ids)?,
                documents: side("documents", &vectors.documents)?,
                document_ids: side("document_ids", &vectors.document_ids)?,
            })
        };
        let vectors = config.vectors.as_ref().map(&mut planned).transpose()?;
        let mut beside = |folder: &str, file: &Path| put(&format!("{folder}/{}", own_name(file)), file);
        let corpus = config.corpus.as_deref().map(|file| beside(CORPUS, file)).transpose()?;
        let retriever = config
            .vectors
            .map(|given| remote::shown(&format!("vectors in {}", given.documents.display())).into_owned());
        let mut names = PartNames { retriever, stronger: None };
        let (mut rescore, mut cross_encoder, mut encoder) = (config.rescore, None, None);
        match &mut rescore {
            None => {}
            Some(RescoreConfig::File(file)) => {
                names.stronger = Some(format!("scores in {}", file.display()));
                *file = beside(SCORES, file)?;
            }
            Some(RescoreConfig::CrossEncoder(model)) => {
                let place = encoder::locate(&model.model)?;
                // Whatever is wrong with it is told now, and its name is that of tables here.
                names.stronger =
                    Some(encoder::open_cross_encoder(&model.model, session::runs(), DeviceConfig::Cpu)?.name());
                cross_encoder = Some(Folder::fingerprint(&place)?);
                put_model(work, &place, CROSS_ENCODER, &mut inputs, progress)?;
                model.model = EncoderRef { id: CROSS_ENCODER.to_owned(), ..EncoderRef::default() };
            }
        }
        let mut ranks = None;
        if let Some(folder) = by_tokens {
            names.retriever = Some(folder.name.clone());
            atomic::in_scratch(&scratch(None)?.join("planned"), |inside| {
                let place = inside.join("encoder");
                folder.write(&place)?;
                encoder = Some(Folder::fingerprint(&place)?);
                put_model(work, &place, ENCODER, &mut inputs, progress)
            })?;
            ranks = Some(EncoderRef { id: ENCODER.to_owned(), ..EncoderRef::default() });
        }
        let device = match cross_encoder.is_some() || encoder.is_some() {
            true => kind(device::resolved(self.experiment.device.first())?),
            false => DeviceConfig::Cpu.to_string(),
        };
        let negatives = MiningConfig { vectors, corpus, rescore, encoder: ranks, ..config };
        let plan = ShardPlan {
            stage: ShardStage::Mine.as_str().to_owned(),
            build: this_build(&device),
            rows,
            rows_per_shard: self.size.rows(rows, 1),
            inputs,
            task: json!(MineShards { seed, negatives, bm25, names, cross_encoder, encoder }),
        };
        Ok(OpenPlan::write(work, plan)?)
    }

    /// The encoder that ranks by tokens; nothing where words or vectors in files do.
    fn by_tokens(&self, config: &MiningConfig) -> Result<Option<Folder>> {
        if config.vectors.is_some() || config.retriever == MiningRetriever::Bm25 {
            return Ok(None);
        }
        let found = match &config.encoder {
            Some(named) => Some(encoder::named(named, session::runs())?.0),
            None => encoder::pretrained(self.experiment)?.map(|(folder, _)| folder),
        };
        if let Some(folder) = found.filter(|folder| folder.late_interaction.is_some()) {
            return Ok(Some(folder));
        }
        let what = "negatives are mined in shards by words (negatives.retriever=bm25), by an encoder of tokens, or by vectors that are there, and negatives.vectors names none";
        Err(Error::failed(what)
            .with_hint("--stage encode for both sides first, then negatives.vectors={queries: ..., query_ids: ..., documents: ..., document_ids: ...}")
            .into())
    }
}

/// The pairs and the config of a plan, with the files that they need on this machine.
fn opened(
    plan: &OpenPlan,
    scratch: &Path,
    device: DeviceConfig,
    progress: &mut dyn FnMut(Progress),
) -> Result<(MiningParts, MineShards)> {
    let task: MineShards = plan.plan().typed_task()?;
    let here = |name: &Path| fetched(plan, &name.to_string_lossy(), scratch);
    progress(Progress::new("fetching inputs", 0, 0));
    let mut config = task.negatives.clone();
    if let Some(vectors) = &mut config.vectors {
        for file in [&mut vectors.queries, &mut vectors.query_ids, &mut vectors.documents, &mut vectors.document_ids] {
            *file = here(file)?;
        }
    }
    config.corpus = config.corpus.as_deref().map(here).transpose()?;
    match (&mut config.rescore, &task.cross_encoder) {
        (Some(RescoreConfig::File(file)), _) => *file = here(file)?,
        (Some(RescoreConfig::CrossEncoder(model)), Some(of)) => {
            model.model = fetched_model(plan, CROSS_ENCODER, of, scratch)?.as_str().into();
        }
        _ => {}
    }
    if let Some(of) = &task.encoder {
        config.encoder = Some(fetched_model(plan, ENCODER, of, scratch)?.as_str().into());
    }
    let pairs = store::read_pairs(&here(Path::new(PAIRS))?)?;
    Ok((MiningParts::open(pairs, config, (task.seed, task.bm25), device)?, task))
}

/// Mines for the queries of a shard.
pub(super) fn run(
    plan: &OpenPlan,
    shard: u32,
    scratch: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<AttemptEnd> {
    plan.attempt(shard, scratch, progress, |rows, folder, progress| {
        let (parts, _) = opened(plan, scratch, plan.plan().build.device.parse()?, progress)?;
        let mined = parts.mine(rows.start as usize..rows.end as usize, [scratch, folder], progress)?;
        let path = folder.join(MINED);
        let json = serde_json::to_vec(&mined).map_err(|error| Error::json(&path, &error))?;
        fs::write(&path, json).map_err(Error::io("write", &path))?;
        Ok(ShardOutput { files: vec![(MINED.to_owned(), path)], account: json!({}) })
    })
}

/// Negatives of all shards, in their order.
pub(super) fn parts(
    plan: &OpenPlan,
    manifests: &[ShardManifest],
    progress: &mut dyn FnMut(Progress),
) -> Result<Vec<MinedPart>> {
    let mut parts = Vec::with_capacity(manifests.len());
    for manifest in manifests {
        progress(Progress::new("merging", manifest.shard as usize, manifests.len()));
        let mut json = Vec::new();
        plan.read(manifest, MINED, |piece| -> Result<()> {
            json.extend_from_slice(piece);
            Ok(())
        })?;
        let part = serde_json::from_slice(&json);
        parts.push(part.with_context(|| format!("{MINED} of shard {} is no part of a mining", manifest.shard))?);
    }
    Ok(parts)
}

/// Puts the shards' negatives together: the folder that `wb mine-negatives` keeps.
pub(super) fn merge(
    plan: &OpenPlan,
    out: Option<&Path>,
    scratch: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<MergedRecord> {
    refuse_there(out)?;
    let manifests = plan.all_manifests()?;
    let mut mined = parts(plan, &manifests, progress)?;
    // Nothing is computed by a model any more.
    let (parts, task) = opened(plan, scratch, DeviceConfig::Cpu, progress)?;
    let mut files = Vec::new();
    let mut fill = |inside: &Path| -> Result<()> {
        parts.write(std::mem::take(&mut mined), &task.names, inside, progress)?;
        files = files_of(inside)?;
        Ok(())
    };
    match out {
        Some(out) => atomic::folder_with(out, &mut fill)?,
        None => atomic::in_scratch(&scratch.join("merged"), &mut fill)?,
    }
    Ok(plan.finish(&manifests, files)?)
}
