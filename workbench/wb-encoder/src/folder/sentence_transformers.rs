//! A sentence-transformers folder, of version 2 to 6, or a plain Hugging Face one.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Folder, MaxTokens, Prompts, files::INDEX, json, model_error, multi_vector, name, note_names, peft, peft_config,
    vocabulary,
};
use wb_core::Seed;

use crate::{
    dense::DenseLayer,
    error::Result,
    models::{Architecture, HubKeys, Model, StaticConfig, fresh_weights},
    pooling::Pooling,
    tokenizer::Tokenizer,
    weights::{self, Loaded},
};

/// One line of `modules.json`.
#[derive(Deserialize)]
pub(super) struct Module {
    pub path: String,
    #[serde(rename = "type")]
    pub class: String,
}

/// Longest text of a bag of token vectors, which itself has no limit.
const STATIC_MAX_TOKENS: usize = 4096;
/// Longest text of a transformer without positions where nothing names one: what T5 was trained with.
const UNPLACED_MAX_TOKENS: usize = 512;

/// Reads a folder; with a seed without its weights, for which fresh ones of their sizes are drawn.
pub(super) fn read(path: &Path, fresh: Option<Seed>) -> Result<Folder> {
    let mut notes = Vec::new();
    let modules_file = path.join("modules.json");
    let mut transformer = path.to_owned();
    let mut pooling = Pooling::Mean;
    let mut normalize = false;
    let mut dense_folders = Vec::new();
    let mut late: Option<multi_vector::Modules> = None;
    let mut bare = false;
    if modules_file.is_file() {
        let modules: Vec<Module> = json(&modules_file)?;
        let mut pooled = false;
        for (place, module) in modules.iter().enumerate() {
            let kind = module.class.rsplit('.').next().unwrap_or_default();
            let folder = path.join(&module.path);
            match (place, kind) {
                (0, "Transformer") => transformer = folder,
                (0, "StaticEmbedding") => return read_static(path, &folder, &modules[1..], WeightsOfBag::default()),
                (0, "WeightedStaticEmbedding") => {
                    let weights = json(&folder.join("config.json"))?;
                    return read_static(path, &folder, &modules[1..], weights);
                }
                (1, "Pooling") => {
                    pooling = read_pooling(&folder.join("config.json"))?;
                    pooled = true;
                }
                (1, "Dense") => late = Some(multi_vector::Modules { dense: folder, mask: None }),
                (_, "MultiVectorMask") if late.is_some() => {
                    late = late.map(|modules| multi_vector::Modules { mask: Some(folder), ..modules });
                }
                (_, "Dense") if pooled && !normalize => dense_folders.push(folder),
                (_, "Normalize") if pooled || late.is_some() => normalize = true,
                _ => {
                    return Err(model_error(
                        &modules_file,
                        format!(
                            "has `{}` in place {place}, expected Transformer, Pooling, perhaps Dense, and perhaps Normalize",
                            module.class
                        ),
                        "models with other modules cannot be loaded",
                    ));
                }
            }
        }
        if !pooled && late.is_none() {
            return Err(model_error(&modules_file, "has no Pooling, expected one after the Transformer", ""));
        }
    } else {
        bare = true;
    }
    // sentence-transformers saves a model with adapters as the adapters alone, without the model that they belong to.
    let adapted = transformer.join(peft_config::FILE).is_file();
    let source = match adapted && !transformer.join("config.json").is_file() {
        true => peft::base_of(&transformer)?,
        false => transformer.clone(),
    };
    let config_file = source.join("config.json");
    if !config_file.is_file() {
        let hint = "expected a model folder with config.json, model.safetensors and tokenizer.json";
        return Err(model_error(path, "has no config.json", hint));
    }
    let architecture = Architecture::from_hub(&config_file)?;
    let xtr = if bare { multi_vector::of_xtr(path, &architecture) } else { None };
    if bare && xtr.is_none() {
        notes.push("no modules.json: mean pooling and no normalization, as sentence-transformers does".to_owned());
    }
    let rename = |name: &str| architecture.our_names(name);
    let loaded = match fresh {
        None => weights::read(&weights_files(&source)?, &architecture.weights(), &rename)?,
        Some(seed) => {
            let kind = HubKeys::read(&config_file)?.weight_type()?;
            Loaded { parameters: fresh_weights(architecture.weights(), seed, kind), ignored: Vec::new() }
        }
    };
    note_names(&mut notes, "tensors not used", &loaded.ignored);
    let mut tokenizer = vocabulary::read(&transformer, &architecture, &mut notes)?;
    if bare {
        tokenizer = vocabulary::in_own_form(tokenizer, &mut notes)?;
    }
    let settings = settings(&transformer, path)?;
    if settings.do_lower_case == Some(true) {
        tokenizer = tokenizer.lowercased()?;
    }
    // As sentence-transformers counts: its own number, else the tokenizer's, and no more than there are positions.
    let positions = architecture.max_tokens();
    let most = positions.unwrap_or(usize::MAX);
    let wanted = match settings.max_seq_length {
        Some(tokens) => tokens,
        None => vocabulary::model_max_length(&transformer)?.unwrap_or(positions.unwrap_or(UNPLACED_MAX_TOKENS)),
    };
    if settings.max_seq_length.is_none() {
        notes.push(format!("no max_seq_length: texts are cut at {} tokens", wanted.min(most)));
    } else if wanted > most {
        notes.push(format!("max_seq_length is {wanted}, there are {most} positions: texts are cut there"));
    }
    let mut dense: Vec<DenseLayer> = Vec::new();
    for place in dense_folders {
        let inside = dense.last().map_or(architecture.dim(), DenseLayer::dim);
        dense.push(DenseLayer::read(&place, inside)?);
    }
    let mut folder = Folder {
        name: name(path),
        model: Model { architecture, parameters: loaded.parameters, pooling, adapter: None },
        lora: None,
        dense,
        late_interaction: None,
        pair_reading: None,
        tokenizer,
        normalize,
        max_tokens: MaxTokens::both(wanted.min(most)),
        prompts: prompts(path)?,
        notes,
    };
    folder.check_lengths("encoder")?;
    if let Some(modules) = &late {
        folder.normalize = true;
        multi_vector::add(&mut folder, path, &transformer, modules)?;
    }
    if let Some(dense) = &xtr {
        multi_vector::add_xtr(&mut folder, dense)?;
    }
    if adapted {
        folder.add_peft(&transformer)?;
    }
    Ok(folder)
}

/// `config.json` of the module that this project exports beside a bag of token vectors that `StaticEmbedding` cannot hold.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WeightsOfBag {
    /// Every token has a weight.
    pub weighted: bool,
    /// Number of weights of places in a text.
    pub positions: usize,
    /// Special tokens stand around every text.
    pub add_special_tokens: bool,
}

/// Reads sentence-transformers' `StaticEmbedding`, the mean of token vectors without special tokens, or one with weights.
fn read_static(path: &Path, folder: &Path, rest: &[Module], weights_of: WeightsOfBag) -> Result<Folder> {
    let mut normalize = false;
    for module in rest {
        match module.class.rsplit('.').next() {
            Some("Normalize") => normalize = true,
            _ => {
                return Err(model_error(
                    &path.join("modules.json"),
                    format!("has `{}` after StaticEmbedding, expected Normalize", module.class),
                    "",
                ));
            }
        }
    }
    let tokenizer_file = folder.join("tokenizer.json");
    let mut tokenizer = Tokenizer::read(&tokenizer_file)?;
    if !weights_of.add_special_tokens {
        tokenizer = tokenizer.without_special_tokens();
    }
    // The module knows no length, but its tokenizer may cut texts by itself.
    let cut: Value = json(&tokenizer_file)?;
    let cut = cut["truncation"]["max_length"].as_u64().map(|tokens| tokens as usize);
    let max_tokens = cut.unwrap_or(STATIC_MAX_TOKENS).min(STATIC_MAX_TOKENS);
    let file = weights_file(folder)?;
    let rename = |name: &str| vec![if name == "embedding.weight" { "embeddings.weight" } else { name }.to_owned()];
    let [vocab_size, dim] = weights::shape(&file, "embedding.weight")?[..] else {
        return Err(model_error(&file, "has an `embedding.weight` that is no matrix, expected [tokens, dim]", ""));
    };
    let WeightsOfBag { weighted, positions, .. } = weights_of;
    let shape = StaticConfig { vocab_size, dim, weighted, positions };
    let architecture = Architecture::StaticEmbedding(shape);
    architecture.validate(&file.display().to_string())?;
    let loaded = weights::read(&[&file], &architecture.weights(), &rename)?;
    Ok(Folder {
        name: name(path),
        model: Model { architecture, parameters: loaded.parameters, pooling: Pooling::Mean, adapter: None },
        lora: None,
        dense: Vec::new(),
        late_interaction: None,
        pair_reading: None,
        tokenizer,
        normalize,
        max_tokens: MaxTokens::both(max_tokens),
        prompts: prompts(path)?,
        notes: vec![format!("a bag of token vectors: texts are cut at {max_tokens} tokens")],
    })
}

/// The files that hold the weights: one, or the parts that an index names.
pub(super) fn weights_files(folder: &Path) -> Result<Vec<PathBuf>> {
    #[derive(Deserialize)]
    struct Index {
        weight_map: BTreeMap<String, String>,
    }
    let index = folder.join(INDEX);
    if folder.join("model.safetensors").is_file() || !index.is_file() {
        return Ok(vec![weights_file(folder)?]);
    }
    let names: BTreeSet<String> = json::<Index>(&index)?.weight_map.into_values().collect();
    for name in &names {
        // Parts lie beside their index; what leads elsewhere is none.
        if name.contains(['/', '\\']) || !folder.join(name).is_file() {
            let message = format!("names `{name}`, which is not in the folder");
            return Err(model_error(&index, message, "fetch the whole model folder"));
        }
    }
    Ok(names.iter().map(|name| folder.join(name)).collect())
}

/// The weights file: safetensors, or torch's own where there are none; or an error that says how to get one.
pub(super) fn weights_file(folder: &Path) -> Result<PathBuf> {
    let files = ["model.safetensors", "pytorch_model.bin"].map(|name| folder.join(name));
    if let Some(file) = files.into_iter().find(|file| file.is_file()) {
        return Ok(file);
    }
    if [INDEX, "pytorch_model.bin.index.json"].iter().any(|name| folder.join(name).is_file()) {
        let hint = "write it as one: python -c \"from transformers import AutoModel; \
                    AutoModel.from_pretrained('DIR').save_pretrained('DIR', max_shard_size='100GB')\"";
        return Err(model_error(folder, "has its weights in several files, expected one model.safetensors", hint));
    }
    Err(model_error(folder, "has no model.safetensors and no pytorch_model.bin", "fetch the whole model folder"))
}

/// `1_Pooling/config.json`: one mode, as booleans (before version 5.4) or by name.
fn read_pooling(path: &Path) -> Result<Pooling> {
    let config: BTreeMap<String, Value> = json(path)?;
    let names: Vec<String> = match config.get("pooling_mode") {
        Some(Value::String(mode)) => vec![mode.clone()],
        Some(Value::Array(modes)) => modes.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        Some(other) => return Err(model_error(path, format!("has pooling_mode {other}, expected a name"), "")),
        None => {
            let on = |(key, value): (&String, &Value)| {
                let mode = key.strip_prefix("pooling_mode_")?;
                (value == &Value::Bool(true))
                    .then(|| mode.trim_end_matches("_tokens").trim_end_matches("_token").to_owned())
            };
            config.iter().filter_map(on).collect()
        }
    };
    if config.get("include_prompt") == Some(&Value::Bool(false)) {
        return Err(model_error(
            path,
            "has include_prompt false, which leaves the prompt out of the mean; expected true",
            "",
        ));
    }
    match names.as_slice() {
        [] => Ok(Pooling::Mean),
        [mode] => Pooling::ALL.into_iter().find(|known| known.hub_name() == mode).ok_or_else(|| {
            let names = Pooling::ALL.map(Pooling::hub_name).join(", ");
            model_error(path, format!("pools by `{mode}`, expected one of {names}"), "")
        }),
        several => Err(model_error(path, format!("pools by {}, expected one way", several.join(" and ")), "")),
    }
}

/// `sentence_bert_config.json` (or what older versions called it), beside the transformer or the modules.
#[derive(Default, Deserialize)]
pub(super) struct Settings {
    pub max_seq_length: Option<usize>,
    pub do_lower_case: Option<bool>,
}

pub(super) fn settings(transformer: &Path, root: &Path) -> Result<Settings> {
    let kinds = ["bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet"];
    for folder in [transformer, root] {
        for kind in kinds {
            let file = folder.join(format!("sentence_{kind}_config.json"));
            if file.is_file() {
                return json(&file);
            }
        }
    }
    Ok(Settings::default())
}

/// `config_sentence_transformers.json`: prompts by name; a default prompt stands before both sides.
pub(crate) fn prompts(path: &Path) -> Result<Prompts> {
    #[derive(Deserialize)]
    struct File {
        #[serde(default)]
        prompts: BTreeMap<String, Option<String>>,
        default_prompt_name: Option<String>,
    }
    let file = path.join("config_sentence_transformers.json");
    if !file.is_file() {
        return Ok(Prompts::default());
    }
    let File { prompts, default_prompt_name } = json(&file)?;
    let named = |name: &str| prompts.get(name).cloned().flatten();
    let default = match &default_prompt_name {
        Some(name) => named(name)
            .ok_or_else(|| model_error(&file, format!("has no prompt `{name}`, its default_prompt_name"), ""))?,
        None => String::new(),
    };
    let of = |names: &[&str]| {
        names.iter().find_map(|name| named(name)).filter(|p| !p.is_empty()).unwrap_or_else(|| default.clone())
    };
    Ok(Prompts { query: of(&["query"]), document: of(&["document", "passage", "corpus"]) })
}
