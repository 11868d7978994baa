//! A cross-encoder's folder, as sentence-transformers' `CrossEncoder` or transformers itself writes it, read strictly.

use std::{collections::BTreeMap, path::Path};

use serde::Deserialize;
use serde_json::Value;
use wb_core::Seed;

use super::{
    Folder, MaxTokens, Prompts, json, model_error, name, note_names, peft_config,
    sentence_transformers::{Module, settings, weights_files},
    vocabulary,
};
use crate::{
    cross_encoder::{PairReading, PairTemplate, ScoreActivation},
    error::Result,
    models::{
        Architecture, HubKeys, Model, ScoreHead, ScoredAs, WeightSpec, fresh_weights,
        score_head::{PREFIX, is_of_head},
    },
    pooling::Pooling,
    tokenizer::Tokenizer,
    weights::{self, Loaded},
};

/// Longest pair of texts of a transformer without positions where nothing names one.
const UNPLACED_MAX_TOKENS: usize = 512;

/// The head as `config.json` describes it.
#[derive(Deserialize)]
struct HeadConfig {
    #[serde(default)]
    architectures: Option<Vec<String>>,
    id2label: Option<BTreeMap<String, Value>>,
    num_labels: Option<usize>,
    /// Settings where sentence-transformers 4 and 5 put them.
    sentence_transformers: Option<Saved>,
    /// Activation where earlier versions put it.
    sbert_ce_default_activation_function: Option<String>,
}

/// Settings that sentence-transformers saves of a cross-encoder.
#[derive(Deserialize, Default)]
struct Saved {
    activation_fn: Option<String>,
    #[serde(default)]
    prompts: BTreeMap<String, Option<String>>,
    default_prompt_name: Option<String>,
}

/// True where a folder is a cross-encoder's by its `config.json`, and not an encoder's by its modules.
pub(crate) fn is_one(path: &Path) -> bool {
    let of_head: Result<HeadConfig> = json(&path.join("config.json"));
    let classes = of_head.ok().and_then(|config| config.architectures).unwrap_or_default();
    classes.iter().any(|class| class.ends_with("ForSequenceClassification"))
        && json::<Vec<Module>>(&path.join("modules.json")).map_or(true, |modules| modules.len() == 1)
}

/// Reads the folder; with a seed without its weights, for which fresh ones of their sizes are drawn. What it computes
/// otherwise than what is known here is refused.
pub(crate) fn read(path: &Path, fresh: Option<Seed>) -> Result<Folder> {
    let config_file = path.join("config.json");
    if !config_file.is_file() {
        let message = if path.is_dir() { "has no config.json" } else { "is no folder" };
        let hint = "a cross-encoder is a folder with config.json, model.safetensors and tokenizer.json";
        return Err(model_error(path, message, hint));
    }
    check_modules(path)?;
    let of_head: HeadConfig = json(&config_file)?;
    let architecture = Architecture::from_hub(&config_file)?;
    let keys = HubKeys::read(&config_file)?;
    let ScoredAs { head, .. } = scored_as(&keys, &architecture, &of_head)?;
    check_labels(&config_file, &of_head)?;
    let activation = activation(path, &of_head)?;

    let mut notes = Vec::new();
    let mut expected = architecture.weights();
    expected.extend(head.weights(architecture.dim()));
    let parameters = match fresh {
        None => {
            let rename = |name: &str| our_names(&architecture, &expected, name);
            let Loaded { parameters, ignored } = weights::read(&weights_files(path)?, &expected, &rename)?;
            note_names(&mut notes, "tensors not used", &ignored);
            parameters
        }
        Some(seed) => fresh_weights(expected, seed, keys.weight_type()?),
    };
    let (tokenizer, template) = tokenizer(path, &architecture, &mut notes)?;
    let max_tokens = max_tokens(path, &architecture, &mut notes)?;
    if max_tokens <= template.special_tokens() {
        let message = format!("cuts texts at {max_tokens} tokens, {} are special", template.special_tokens());
        return Err(model_error(path, message, "look at model_max_length in tokenizer_config.json"));
    }
    let padding = keys.size_if("pad_token_id")?;
    let template = ended(template, &head, &architecture, padding.map(|id| id as u32), &config_file)?;
    Ok(Folder {
        name: name(path),
        model: Model { architecture, parameters, pooling: head.pooling, adapter: None },
        lora: None,
        dense: Vec::new(),
        late_interaction: None,
        pair_reading: Some(PairReading { template, head, activation }),
        tokenizer,
        normalize: false,
        max_tokens: MaxTokens::both(max_tokens),
        prompts: Prompts::default(),
        notes,
    })
}

/// The template as a head on the last token takes it, whose state is that of the last token which is no padding.
pub(crate) fn ended(
    template: PairTemplate,
    head: &ScoreHead,
    architecture: &Architecture,
    padding: Option<u32>,
    place: &Path,
) -> Result<PairTemplate> {
    let Some(padding) = padding.filter(|_| head.pooling == Pooling::Last) else { return Ok(template) };
    let shorter = template.clone().without_end(padding);
    if shorter == template || architecture.is_causal() {
        return Ok(shorter);
    }
    let message = "ends texts with the token that fills up shorter ones, whose state transformers does not take";
    Err(model_error(place, message, "another padding token, or encoder.bidirectional=false"))
}

/// Our names for a file's tensor: a head's begins with what no network's does.
fn our_names(architecture: &Architecture, expected: &[WeightSpec], name: &str) -> Vec<String> {
    let ours = architecture.our_names(name);
    match ours.as_slice() {
        [one] => {
            let of_head = format!("{PREFIX}{one}");
            let is_known = expected.iter().filter(|spec| is_of_head(&spec.name)).any(|spec| spec.name == of_head);
            if is_known { vec![of_head] } else { ours }
        }
        _ => ours,
    }
}

/// Refuses modules and adapters beside the network itself.
fn check_modules(path: &Path) -> Result<()> {
    if path.join(peft_config::FILE).is_file() {
        let message = format!("has {}, expected a cross-encoder without adapters", peft_config::FILE);
        return Err(model_error(path, message, "merge them first: PEFT's `merge_and_unload`"));
    }
    let file = path.join("modules.json");
    if !file.is_file() {
        return Ok(());
    }
    let modules: Vec<Module> = json(&file)?;
    let kinds: Vec<&str> = modules.iter().filter_map(|module| module.class.rsplit('.').next()).collect();
    match modules.as_slice() {
        [one] if kinds == ["Transformer"] && one.path.is_empty() => Ok(()),
        _ => {
            let message = format!("has {}, expected one Transformer in the folder itself", kinds.join(", "));
            let hint = "sentence-transformers' CrossEncoder writes such a folder; an encoder (with Pooling) is none";
            Err(model_error(&file, message, hint))
        }
    }
}

/// The head that transformers' class in the config has on this network.
fn scored_as(keys: &HubKeys, architecture: &Architecture, config: &HeadConfig) -> Result<ScoredAs> {
    let names = config.architectures.clone().unwrap_or_default();
    let scored = architecture.transformer().map(|one| one.scored_as(Some(keys))).transpose()?.flatten();
    let known = scored.as_ref().map_or(&[][..], |scored| scored.classes);
    if let (Some(scored), [name]) = (&scored, names.as_slice())
        && known.contains(&name.as_str())
    {
        return Ok(scored.clone());
    }
    let found = if names.is_empty() { "nothing".to_owned() } else { format!("`{}`", names.join("`, `")) };
    let expected = match known {
        [] => format!("another model than {}, with which transformers scores no texts", architecture.describe()),
        [one] => format!("`{one}` by its model_type"),
        several => format!("one of {} by its model_type", several.join(", ")),
    };
    let hint = "a cross-encoder has a classification head; an encoder has none and ranks with `negatives.encoder`";
    Err(keys.refuse(format!("has architectures {found}, expected {expected}"), hint))
}

/// Scores are those of one label. As transformers counts: `id2label`, else `num_labels`, else 2.
fn check_labels(file: &Path, config: &HeadConfig) -> Result<()> {
    let labels = match (&config.id2label, config.num_labels) {
        (Some(labels), _) => labels.len(),
        (None, Some(labels)) => labels,
        (None, None) => 2,
    };
    if labels == 1 {
        return Ok(());
    }
    let of = if config.id2label.is_none() && config.num_labels.is_none() { ", as no `id2label` means" } else { "" };
    let hint = "a model that sorts texts into classes gives no score; choose one that was trained with num_labels=1";
    Err(model_error(file, format!("has {labels} labels{of}, expected 1"), hint))
}

/// The activation that sentence-transformers 6.2 would apply: its own file's, else that of `config.json`, else the
/// logistic function.
fn activation(path: &Path, config: &HeadConfig) -> Result<ScoreActivation> {
    let file = path.join("config_sentence_transformers.json");
    let saved: Saved = if file.is_file() { json(&file)? } else { Saved::default() };
    let prompt = saved.default_prompt_name.as_ref().and_then(|name| saved.prompts.get(name).cloned().flatten());
    if let Some(prompt) = prompt.filter(|prompt| !prompt.is_empty()) {
        let message = format!("puts the prompt {prompt:?} before texts, expected none");
        return Err(model_error(&file, message, "cross-encoders with prompts are not supported"));
    }
    let of_config = config.sentence_transformers.as_ref().and_then(|saved| saved.activation_fn.as_ref());
    let older = config.sbert_ce_default_activation_function.as_ref();
    let (place, named) = match (&saved.activation_fn, of_config.or(older)) {
        (Some(named), _) => (file, named),
        (None, Some(named)) => (path.join("config.json"), named),
        (None, None) => return Ok(ScoreActivation::Sigmoid),
    };
    match named.as_str() {
        "torch.nn.modules.activation.Sigmoid" | "torch.nn.Sigmoid" => Ok(ScoreActivation::Sigmoid),
        "torch.nn.modules.linear.Identity" | "torch.nn.Identity" => Ok(ScoreActivation::Identity),
        other => {
            let message = format!("has activation_fn `{other}`, expected torch's Sigmoid or Identity");
            let hint = "for the same order of documents, save it with torch.nn.modules.linear.Identity";
            Err(model_error(&place, message, hint))
        }
    }
}

/// The tokenizer without its special tokens, and how it joins two texts.
fn tokenizer(path: &Path, architecture: &Architecture, notes: &mut Vec<String>) -> Result<(Tokenizer, PairTemplate)> {
    let of_tokenizer = vocabulary::tokenizer_config(path)?;
    let file = path.join("tokenizer_config.json");
    if let Some(side) = of_tokenizer["truncation_side"].as_str().filter(|side| *side != "right") {
        let message = format!("has truncation_side `{side}`, expected right");
        return Err(model_error(&file, message, "texts are cut at their ends here"));
    }
    let mut tokenizer = vocabulary::read(path, architecture, notes)?;
    if settings(path, path)?.do_lower_case == Some(true) {
        tokenizer = tokenizer.lowercased()?;
    }
    tokenizer.check_fits(architecture.vocab_size())?;
    let mut template = PairTemplate::of(&tokenizer, &path.join("tokenizer.json"))?;
    let known = architecture.stack().and_then(|stack| stack.token_types).map(|(_, rows)| rows);
    let class = of_tokenizer["tokenizer_class"].as_str().unwrap_or_default();
    let is_told = match of_tokenizer["model_input_names"].as_array() {
        Some(names) => names.iter().any(|name| name == "token_type_ids"),
        // A class of a model says it; those of no model, in version 5 of transformers, say no.
        None => !["TokenizersBackend", "PreTrainedTokenizerFast"].contains(&class),
    };
    if !is_told || known.is_none() {
        template = template.without_types();
    }
    let most = template.largest_type();
    if let Some(known) = known.filter(|known| most as usize >= *known) {
        let message = format!("gives tokens types up to {most}, the model knows {known} of them");
        return Err(model_error(path, message, "use the tokenizer that the weights were trained with"));
    }
    Ok((tokenizer.without_special_tokens(), template))
}

/// Most tokens as sentence-transformers counts: its own number, else the tokenizer's, and no more than there are
/// positions.
fn max_tokens(path: &Path, architecture: &Architecture, notes: &mut Vec<String>) -> Result<usize> {
    let positions = architecture.max_tokens();
    let own = settings(path, path)?.max_seq_length;
    let wanted = match own {
        Some(tokens) => Some(tokens),
        None => vocabulary::model_max_length(path)?,
    };
    let most = positions.unwrap_or(usize::MAX);
    let tokens = wanted.unwrap_or(positions.unwrap_or(UNPLACED_MAX_TOKENS)).min(most);
    match wanted {
        None => notes.push(format!("no model_max_length: texts are cut at {tokens} tokens")),
        Some(wanted) if wanted > most => {
            notes.push(format!("model_max_length is {wanted}, there are {most} positions: texts are cut there"));
        }
        Some(_) => {}
    }
    Ok(tokens)
}
