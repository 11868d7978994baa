//! The folder that a run of ours leaves: `encoder.json`, `model.safetensors`, `adapter.safetensors`, `tokenizer.json`.

use std::path::Path;

use serde::{Deserialize, Serialize};
use wb_core::{Seed, atomic};

use super::{Folder, MaxTokens, Prompts, json, model_error};
use crate::{
    cross_encoder::PairReading,
    dense::{DenseActivation, DenseLayer},
    error::Result,
    late_interaction::{self, LateInteraction, LateInteractionConfig},
    lora::{self, LoraConfig},
    models::{Architecture, Model, WeightInit, WeightSpec, score_head::is_of_head},
    parameters::Parameter,
    pooling::Pooling,
    tokenizer::Tokenizer,
    weights::{self, WeightType},
};

/// Its presence tells our folders from others'.
pub(super) const FILE: &str = "encoder.json";
/// Raised when the layout changes.
const FORMAT: u32 = 1;

/// The content of `encoder.json`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    format: u32,
    name: String,
    architecture: Architecture,
    pooling: Pooling,
    normalize: bool,
    max_tokens: MaxTokens,
    prompts: Prompts,
    special_tokens: bool,
    lora: Option<LoraConfig>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    dense: Vec<DenseSettings>,
    /// Its matrix is in `late_interaction.safetensors`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    late_interaction: Option<LateInteractionConfig>,
    /// Its head is in `score_head.safetensors`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pair_reading: Option<PairReading>,
}

const LATE_INTERACTION: &str = "late_interaction.safetensors";
const SCORE_HEAD: &str = "score_head.safetensors";

/// A dense layer, whose weights are `<place>.weight` and `<place>.bias` in `dense-<place>.safetensors`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct DenseSettings {
    inside: usize,
    dim: usize,
    bias: bool,
    activation: DenseActivation,
}

fn dense_file(place: usize) -> String {
    format!("dense-{place}.safetensors")
}

pub(super) fn read(path: &Path) -> Result<Folder> {
    let file = path.join(FILE);
    let Settings {
        format,
        name,
        architecture,
        pooling,
        normalize,
        max_tokens,
        prompts,
        special_tokens,
        lora,
        dense,
        late_interaction,
        pair_reading,
    } = json(&file)?;
    if format != FORMAT {
        return Err(model_error(
            &file,
            format!("has format {format}, this wb reads {FORMAT}"),
            "use the wb that wrote it",
        ));
    }
    architecture.validate("architecture")?;
    let loaded = weights::read(&[path.join("model.safetensors")], &architecture.weights(), &weights::as_named)?;
    let mut parameters = loaded.parameters;
    if let Some(config) = &late_interaction {
        let shape = vec![config.dim, architecture.dim()];
        let spec = WeightSpec { name: late_interaction::WEIGHT.to_owned(), shape, init: WeightInit::Zeros };
        let loaded = weights::read(&[path.join(LATE_INTERACTION)], &[spec], &weights::as_named)?;
        parameters.insert(loaded.parameters.at(0).clone());
    }
    if let Some(reading) = &pair_reading {
        let specs = reading.head.weights(architecture.dim());
        let loaded = weights::read(&[path.join(SCORE_HEAD)], &specs, &weights::as_named)?;
        loaded.parameters.iter().for_each(|one| {
            parameters.insert(one.clone());
        });
    }
    let mut adapter = None;
    if let Some(config) = &lora {
        // The seed does not matter: every adapter weight is then read from the file.
        adapter = Some(lora::attach(&mut parameters, &architecture, config, Seed(0), &name)?);
        weights::read_adapters(&path.join("adapter.safetensors"), &mut parameters)?;
    }
    let mut tokenizer = Tokenizer::read(&path.join("tokenizer.json"))?;
    if !special_tokens {
        tokenizer = tokenizer.without_special_tokens();
    }
    let late_interaction = match late_interaction {
        Some(config) => Some(LateInteraction::new(&config, &tokenizer, "late_interaction")?),
        None => None,
    };
    let read_dense = |(place, d): (usize, &DenseSettings)| {
        let file = path.join(dense_file(place));
        DenseLayer::read_weights(&file, &place.to_string(), [d.dim, d.inside], d.bias, d.activation)
    };
    let dense = dense.iter().enumerate().map(read_dense).collect::<Result<Vec<_>>>()?;
    let model = Model { architecture, parameters, pooling, adapter };
    let notes = Vec::new();
    let folder = Folder {
        name,
        model,
        lora,
        dense,
        late_interaction,
        pair_reading,
        tokenizer,
        normalize,
        max_tokens,
        prompts,
        notes,
    };
    folder.check_lengths("encoder")?;
    Ok(folder)
}

impl Folder {
    /// Writes a run's weights folder, which appears whole or not at all.
    pub fn write(&self, path: &Path) -> Result<()> {
        atomic::folder_with(path, |inside| write_into(self, inside, None))
    }
}

/// Writes the files into a folder that is there, in a type or as the weights are in memory.
pub(crate) fn write_into(folder: &Folder, path: &Path, dtype: Option<WeightType>) -> Result<()> {
    let Folder { name, model, lora, dense, late_interaction, pair_reading, tokenizer, .. } = folder;
    let Folder { normalize, max_tokens, prompts, .. } = folder;
    let settings = Settings {
        format: FORMAT,
        name: name.clone(),
        architecture: model.architecture.clone(),
        pooling: model.pooling,
        normalize: *normalize,
        max_tokens: *max_tokens,
        prompts: prompts.clone(),
        special_tokens: tokenizer.special_tokens() > 0,
        lora: lora.clone(),
        dense: dense
            .iter()
            .map(|d| DenseSettings {
                inside: d.weight.ncols(),
                dim: d.dim(),
                bias: d.bias.is_some(),
                activation: d.activation,
            })
            .collect(),
        late_interaction: late_interaction.as_ref().map(|late| late.config().clone()),
        pair_reading: pair_reading.clone(),
    };
    if let Some(matrix) = model.parameters.get(late_interaction::WEIGHT) {
        weights::write_as(&path.join(LATE_INTERACTION), [(matrix.name.clone(), matrix)].into_iter(), dtype)?;
    }
    for (place, dense) in dense.iter().enumerate() {
        let parameters = dense.parameters(&place.to_string());
        let named = parameters.iter().map(|p| (p.name.clone(), p));
        weights::write_as(&path.join(dense_file(place)), named, dtype)?;
    }
    if pair_reading.is_some() {
        let head = model.parameters.iter().filter(|p| is_of_head(&p.name));
        weights::write_as(&path.join(SCORE_HEAD), head.map(|p| (p.name.clone(), p)), dtype)?;
    }
    let of = |adapters: bool| {
        let is_beside = |p: &&Parameter| p.name == late_interaction::WEIGHT || is_of_head(&p.name);
        let of_model = model.parameters.iter().filter(move |p| !is_beside(p));
        let wanted = of_model.filter(move |p| lora::is_adapter(&p.name) == adapters);
        wanted.map(|p| (p.name.clone(), p))
    };
    weights::write_as(&path.join("model.safetensors"), of(false), dtype)?;
    if lora.is_some() {
        weights::write_as(&path.join("adapter.safetensors"), of(true), dtype)?;
    }
    tokenizer.write(&path.join("tokenizer.json"))?;
    let json = serde_json::to_string_pretty(&settings)
        .map_err(|error| model_error(path, format!("its settings cannot be written: {error}"), ""))?;
    atomic::write(&path.join(FILE), (json + "\n").as_bytes())
}
