//! A cross-encoder's folder, as sentence-transformers' `CrossEncoder` or transformers itself writes it, read strictly.

use std::{collections::BTreeMap, path::Path};

use serde::Deserialize;
use serde_json::Value;

use super::{
    json, model_error, name, note_names, peft_config,
    sentence_transformers::{Module, settings, weights_files},
    vocabulary,
};
use crate::{
    cross_encoder::{
        PairTemplate, ScoreActivation, ScoreHead,
        head::{self, HeadNames},
    },
    error::Result,
    models::{Architecture, BertConfig, Transformer},
    parameters::Parameters,
    tokenizer::Tokenizer,
    weights,
};

/// A cross-encoder in host memory.
pub(crate) struct CrossFolder {
    pub name: String,
    pub config: BertConfig,
    /// The network's weights, without the head's.
    pub parameters: Parameters,
    pub head: ScoreHead,
    /// The tokenizer without special tokens: the template has them.
    pub tokenizer: Tokenizer,
    pub template: PairTemplate,
    pub max_tokens: usize,
    pub notes: Vec<String>,
}

impl CrossFolder {
    /// The network, without its head.
    pub fn architecture(&self) -> Architecture {
        Architecture::Bert(self.config.clone())
    }
}

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

/// Architectures with a head that is known here.
const ARCHITECTURES: [(&str, HeadNames); 4] = [
    ("BertForSequenceClassification", head::BERT),
    ("RobertaForSequenceClassification", head::ROBERTA),
    ("XLMRobertaForSequenceClassification", head::ROBERTA),
    ("CamembertForSequenceClassification", head::ROBERTA),
];

/// Reads the folder. What it computes otherwise than what is known here is refused.
pub(crate) fn read(path: &Path) -> Result<CrossFolder> {
    let config_file = path.join("config.json");
    if !config_file.is_file() {
        let message = if path.is_dir() { "has no config.json" } else { "is no folder" };
        let hint = "a cross-encoder is a folder with config.json, model.safetensors and tokenizer.json";
        return Err(model_error(path, message, hint));
    }
    check_modules(path)?;
    let of_head: HeadConfig = json(&config_file)?;
    let names = architecture(&config_file, &of_head)?;
    let Architecture::Bert(config) = Architecture::from_hub(&config_file)? else {
        let message = "its model_type and its architectures do not fit each other";
        return Err(model_error(&config_file, message, "save it again with transformers"));
    };
    check_labels(&config_file, &of_head)?;
    let activation = activation(path, &of_head)?;

    let mut notes = Vec::new();
    let mut expected = Architecture::Bert(config.clone()).weights();
    expected.extend(head::specs(names, config.sizes.hidden_size));
    let loaded = weights::read(&weights_files(path)?, &expected, &|name| config.our_names(name))?;
    note_names(&mut notes, "tensors not used", &loaded.ignored);
    let mut parameters = loaded.parameters;
    let taken = names.map(|name| parameters.get(name).map(|one| one.values.floats().into_owned()).unwrap_or_default());
    parameters.retain(|one| !names.contains(&one.name.as_str()));

    let (tokenizer, template) = tokenizer(path, &config, &mut notes)?;
    let max_tokens = max_tokens(path, &config, &mut notes)?;
    if max_tokens <= template.special_tokens() {
        let message = format!("cuts texts at {max_tokens} tokens, {} are special", template.special_tokens());
        return Err(model_error(path, message, "look at model_max_length in tokenizer_config.json"));
    }
    Ok(CrossFolder {
        name: name(path),
        config,
        parameters,
        head: ScoreHead::new(names, taken, activation),
        tokenizer,
        template,
        max_tokens,
        notes,
    })
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

fn architecture(file: &Path, config: &HeadConfig) -> Result<HeadNames> {
    let names = config.architectures.clone().unwrap_or_default();
    let known = ARCHITECTURES.iter().find(|(known, _)| names == [*known]);
    known.map(|(_, names)| *names).ok_or_else(|| {
        let known = ARCHITECTURES.map(|(name, _)| name);
        let found = if names.is_empty() { "nothing".to_owned() } else { format!("`{}`", names.join("`, `")) };
        let hint = "a cross-encoder has a classification head; an encoder has none and ranks with `negatives.encoder`";
        model_error(file, format!("has architectures {found}, expected one of {}", known.join(", ")), hint)
    })
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
fn tokenizer(path: &Path, config: &BertConfig, notes: &mut Vec<String>) -> Result<(Tokenizer, PairTemplate)> {
    let of_tokenizer = vocabulary::tokenizer_config(path)?;
    let file = path.join("tokenizer_config.json");
    if let Some(side) = of_tokenizer["truncation_side"].as_str().filter(|side| *side != "right") {
        let message = format!("has truncation_side `{side}`, expected right");
        return Err(model_error(&file, message, "texts are cut at their ends here"));
    }
    let mut tokenizer = vocabulary::read(path, &Architecture::Bert(config.clone()), notes)?;
    if settings(path, path)?.do_lower_case == Some(true) {
        tokenizer = tokenizer.lowercased()?;
    }
    tokenizer.check_fits(config.sizes.vocab_size)?;
    let mut template = PairTemplate::of(&tokenizer, &path.join("tokenizer.json"))?;
    let inputs = of_tokenizer["model_input_names"].as_array();
    let is_told = inputs.is_none_or(|names| names.iter().any(|name| name == "token_type_ids"));
    if !is_told {
        template = template.without_types();
    }
    if template.largest_type() as usize >= config.type_vocab_size {
        let (most, known) = (template.largest_type(), config.type_vocab_size);
        let message = format!("gives tokens types up to {most}, the model knows {known} of them");
        return Err(model_error(path, message, "use the tokenizer that the weights were trained with"));
    }
    Ok((tokenizer.without_special_tokens(), template))
}

/// Most tokens as sentence-transformers counts: its own number, else the tokenizer's, and no more than there are
/// positions.
fn max_tokens(path: &Path, config: &BertConfig, notes: &mut Vec<String>) -> Result<usize> {
    let positions = config.sizes.max_position_embeddings - config.first_position;
    let own = settings(path, path)?.max_seq_length;
    let wanted = match own {
        Some(tokens) => Some(tokens),
        None => vocabulary::model_max_length(path)?,
    };
    match wanted {
        None => notes.push(format!("no model_max_length: texts are cut at {positions} tokens")),
        Some(tokens) if tokens > positions => {
            notes.push(format!("model_max_length is {tokens}, there are {positions} positions: texts are cut there"));
        }
        Some(_) => {}
    }
    Ok(wanted.map_or(positions, |tokens| tokens.min(positions)))
}
