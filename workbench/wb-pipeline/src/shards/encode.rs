//! Texts into vectors, shard by shard: what `wb encode` does of all rows, of some of them, and the two are the same bytes.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{BufWriter, Write as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::Result;
use serde::{Deserialize, Serialize};
use serde_json::json;
use wb_core::{EncoderRef, Error, Progress, Side, fingerprint::Fingerprint, range_reader::FileRanges};
use wb_data::sources::row_ranges::RowRanges;
use wb_encoder::{DeviceConfig, Folder};
use wb_retrieval::npy::NpyHeader;
use wb_shards::{
    AttemptEnd, MergedFile, MergedRecord, OpenPlan, PlannedInput, ShardManifest, ShardOutput, ShardPlan, Store,
};

use super::{
    ShardSize, ShardStage,
    inputs::{fetched_model, input, put_model},
    this_build,
};
use crate::{
    config::Experiment,
    device,
    encode::{BLOCK, EncodeTask, InputFormat, TextInput, fields},
    encoder::{self, Opening},
    session,
};

/// The input with the texts, and the folder of those of the encoder.
const TEXTS: &str = "texts";
const ENCODER: &str = "encoder/";
/// Files of a shard.
const VECTORS: &str = "vectors.npy";
const IDS: &str = "vectors.ids.txt";
const OFFSETS: &str = "vectors.offsets.npy";

/// Texts to encode in shards.
#[derive(Debug, Clone)]
pub struct EncodePlan {
    /// A Parquet file.
    pub table: PathBuf,
    /// The column of the texts, as `wb encode` takes it.
    pub field: String,
    /// The encoder.
    pub encoder: EncoderRef,
    /// Side of a search that the texts stand on.
    pub side: Side,
    /// Longest text in tokens, instead of the encoder's own.
    pub max_tokens: Option<usize>,
    /// The device that every shard computes on.
    pub device: DeviceConfig,
    /// Size of shards.
    pub size: ShardSize,
}

/// Settings of the plan.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EncodeShards {
    /// Name of the encoder, for people.
    encoder: String,
    /// Fingerprint of all files that decide its vectors.
    fingerprint: Fingerprint,
    /// True where texts are made lower case.
    lowercase: bool,
    /// Longest text in tokens; none for the encoder's own.
    max_tokens: Option<usize>,
    /// Side of a search.
    side: Side,
    /// Column of the texts.
    field: String,
    /// Name of the table, from which ids are made where it has none.
    table: String,
}

/// Account of a shard.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EncodedShard {
    /// Number of texts.
    texts: usize,
    /// Number of vectors.
    vectors: usize,
    /// Length of a vector.
    dim: usize,
}

impl EncodePlan {
    /// Puts the plan, the table and the encoder into a place.
    ///
    /// # Errors
    ///
    /// If the table is no Parquet file, has no rows or no such column, or the encoder is not there or no whole one.
    pub fn write(&self, work: &Store, progress: &mut dyn FnMut(Progress)) -> Result<OpenPlan> {
        let name = self.table.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !name.ends_with(".parquet") {
            return Err(Error::file(&self.table, "is cut by rows, expected a file that ends in .parquet").into());
        }
        let table = RowRanges::new(&name, Arc::new(FileRanges::open(&self.table)?));
        let rows = table.rows()?;
        if rows == 0 {
            return Err(Error::file(&self.table, "no texts in it").into());
        }
        // A column that is not there is told now, and not by every shard.
        table.each_text(0..1, &fields(&self.field), &mut |_| Ok(()), &mut |_| {})?;

        if self.encoder.adapter.is_some() {
            let hint = "write one folder of both first: wb export ENCODER --out models/whole";
            return Err(Error::failed("an adapter beside an encoder is not sent to shards").with_hint(hint).into());
        }
        let place = encoder::locate(&self.encoder)?;
        // Whatever is wrong with the encoder is told now, too.
        let (folder, _) = encoder::named(&self.encoder, session::runs())?;
        let task = EncodeShards {
            encoder: folder.name.clone(),
            fingerprint: Folder::fingerprint(&place)?,
            lowercase: self.encoder.lowercase,
            max_tokens: self.max_tokens,
            side: self.side,
            field: self.field.clone(),
            table: name,
        };
        drop(folder);
        let mut inputs = BTreeMap::new();
        progress(Progress::new("writing inputs to the store", 0, 0));
        inputs.insert(TEXTS.to_owned(), PlannedInput::of_file(work, &self.table)?);
        put_model(work, &place, ENCODER, &mut inputs, progress)?;
        let plan = ShardPlan {
            stage: ShardStage::Encode.as_str().to_owned(),
            build: this_build(&kind(device::resolved(self.device)?)),
            rows,
            // Texts that are encoded together stay together, so that vectors are those of one machine.
            rows_per_shard: self.size.rows(rows, BLOCK as u64),
            inputs,
            task: json!(task),
        };
        Ok(OpenPlan::write(work, plan)?)
    }

    /// A plan for the side's texts of prepared pairs, on the experiment's device.
    #[must_use]
    pub fn of_pairs(self, pairs: &Path, experiment: &Experiment) -> Self {
        let field = if self.side == Side::Query { "anchor" } else { "positive" };
        Self { table: pairs.to_owned(), field: field.to_owned(), device: experiment.device.first(), ..self }
    }
}

/// A device without the number of the card, which is another one on each machine.
pub(super) fn kind(device: DeviceConfig) -> String {
    let same = match device {
        DeviceConfig::Cuda(_, kernels) => DeviceConfig::Cuda(0, kernels),
        other => other,
    };
    same.to_string()
}

/// Encodes the texts of a shard.
pub(super) fn run(
    plan: &OpenPlan,
    shard: u32,
    scratch: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<AttemptEnd> {
    let task: EncodeShards = plan.plan().typed_task()?;
    plan.attempt(shard, scratch, progress, |rows, folder, progress| {
        let texts = folder.join("texts.jsonl");
        let reader = input(plan, TEXTS)?.reader(plan.work());
        let table = RowRanges::new(&task.table, Arc::new(reader));
        let file = File::create(&texts).map_err(Error::io("create", &texts))?;
        let mut to = BufWriter::new(file);
        table.each_text(
            rows,
            &fields(&task.field),
            &mut |text| {
                let line = json!({"id": text.id, "text": text.text});
                writeln!(to, "{line}").map_err(Error::io("write", &texts))
            },
            progress,
        )?;
        to.flush().map_err(Error::io("write", &texts))?;

        let encoder = fetched_model(plan, ENCODER, &task.fingerprint, scratch)?;
        let encoder = EncoderRef { lowercase: task.lowercase, ..encoder.as_str().into() };
        let device = plan.plan().build.device.parse()?;
        let opening = Opening { max_tokens: task.max_tokens, dtype: None, device };
        let (encoder, _) = encoder::open(&encoder, session::runs(), opening)?;
        let input = TextInput { path: texts, format: Some(InputFormat::Records), field: "text".into() };
        let out = folder.join(VECTORS);
        let encoded = EncodeTask { input, side: task.side, dim: None, out: out.clone() }.encode(&encoder, progress)?;
        let files = std::iter::once(&out).chain(&encoded.beside);
        let named =
            files.map(|file| (file.file_name().unwrap_or_default().to_string_lossy().into_owned(), file.clone()));
        let account = EncodedShard { texts: encoded.texts, vectors: encoded.vectors, dim: encoded.dim };
        Ok(ShardOutput { files: named.collect(), account: json!(account) })
    })
}

/// Puts the shards' vectors together, as `wb encode` writes those of the whole table.
pub(super) fn merge(plan: &OpenPlan, out: Option<&Path>, progress: &mut dyn FnMut(Progress)) -> Result<MergedRecord> {
    let task: EncodeShards = plan.plan().typed_task()?;
    let manifests = plan.all_manifests()?;
    let shards: Vec<EncodedShard> =
        manifests.iter().map(ShardManifest::typed_account).collect::<wb_core::Result<_>>()?;
    let is_ragged = manifests.iter().any(|manifest| manifest.files.iter().any(|file| file.name == OFFSETS));
    let stem = task.side.plural();
    let named = |name: &str| name.replacen("vectors", stem, 1);
    let names = [VECTORS, IDS, OFFSETS];
    let names = &names[..if is_ragged { 3 } else { 2 }];
    let mut files = Vec::new();
    for name in names {
        let mut to = MergedFile::create(out, &named(name))?;
        let (vectors, dim) = (shards.iter().map(|shard| shard.vectors).sum::<usize>(), shards[0].dim);
        let texts: usize = shards.iter().map(|shard| shard.texts).sum();
        match *name {
            VECTORS => to.write(&NpyHeader::new("<f4", &[vectors, dim]).encode())?,
            OFFSETS => {
                to.write(&NpyHeader::new("<i8", &[texts + 1]).encode())?;
                to.write(&0_i64.to_le_bytes())?;
            }
            _ => {}
        }
        let mut before = 0;
        for (manifest, shard) in manifests.iter().zip(&shards) {
            progress(Progress::new("merging", manifest.shard as usize, manifests.len()).note(named(name)));
            match *name {
                IDS => plan.read(manifest, name, |piece| to.write(piece))?,
                VECTORS => {
                    let wanted = [shard.vectors as u64, dim as u64];
                    let mut head = Head::new("'<f4'", &wanted);
                    plan.read(manifest, name, |piece| -> Result<()> { Ok(to.write(head.after(piece)?)?) })?;
                }
                _ => {
                    let mut head = Head::new("'<i8'", &[shard.texts as u64 + 1]);
                    let mut offsets = Vec::new();
                    plan.read(manifest, name, |piece| -> Result<()> {
                        offsets.extend_from_slice(head.after(piece)?);
                        Ok(())
                    })?;
                    // The first is 0, or the end of the shard before.
                    for offset in offsets.as_chunks::<8>().0.iter().skip(1) {
                        to.write(&(before + i64::from_le_bytes(*offset)).to_le_bytes())?;
                    }
                }
            }
            before += shard.vectors as i64;
        }
        files.push(to.finish()?);
    }
    Ok(plan.finish(&manifests, files)?)
}

/// The head of a shard's array, which the first piece has whole.
struct Head {
    kind: &'static str,
    shape: Vec<u64>,
    is_read: bool,
}

impl Head {
    fn new(kind: &'static str, shape: &[u64]) -> Self {
        Self { kind, shape: shape.to_vec(), is_read: false }
    }

    /// The part of a piece that comes after the head.
    fn after<'a>(&mut self, piece: &'a [u8]) -> Result<&'a [u8]> {
        if self.is_read {
            return Ok(piece);
        }
        self.is_read = true;
        let (header, begin) = NpyHeader::read(&mut &*piece).map_err(Error::failed)?;
        if header.kind != self.kind || header.shape != self.shape {
            let message = format!("a shard has {} {}, expected {:?}", header.kind, header.shape_text(), self.shape);
            return Err(Error::failed(message).into());
        }
        Ok(&piece[begin as usize..])
    }
}
