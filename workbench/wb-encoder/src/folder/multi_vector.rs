//! Late interaction in a folder of sentence-transformers' `MultiVectorEncoder` (version 6) or of PyLate.
//!
//! Both have a `Dense` of token states after the transformer. sentence-transformers keeps lengths and query expansion
//! with the transformer, skipped tokens in a `MultiVectorMask`, and markers as prompts of special tokens; PyLate keeps
//! all of that in `config_sentence_transformers.json`. The folder of XTR (google/xtr-base-en) has the transformer and
//! `2_Dense`, and nothing that says so.

use std::path::{Path, PathBuf};

use serde_json::Value;
use wb_core::Seed;

use super::{Folder, json, model_error};
use crate::{
    dense::{DenseActivation, DenseLayer},
    error::Result,
    late_interaction::{LateInteractionConfig, Markers, PUNCTUATION, WEIGHT},
    models::{Architecture, WeightInit, WeightSpec, fresh_weight},
};

/// The modules of late interaction.
#[derive(Debug, Default)]
pub(crate) struct Modules {
    pub dense: PathBuf,
    pub mask: Option<PathBuf>,
}

/// Settings of the files beside the matrix.
#[derive(Debug, Default)]
struct Found {
    skip_punctuation: bool,
    query_length: Option<usize>,
    document_length: Option<usize>,
    expansion: usize,
    unattended: bool,
}

/// Makes a folder that was read an encoder of one vector a token.
pub(crate) fn add(folder: &mut Folder, root: &Path, transformer: &Path, modules: &Modules) -> Result<()> {
    let dim = take_matrix(folder, &modules.dense)?;
    let about_file = root.join("config_sentence_transformers.json");
    let about: Value = if about_file.is_file() { json(&about_file)? } else { Value::Null };
    let of_pylate = about["model_type"] == "ColBERT" || about.get("query_prefix").is_some();
    let found = if of_pylate { pylate(&about_file, &about)? } else { native(transformer, modules)? };
    if of_pylate {
        for (prompt, key) in
            [(&mut folder.prompts.query, "query_prefix"), (&mut folder.prompts.document, "document_prefix")]
        {
            *prompt = format!("{}{prompt}", about[key].as_str().unwrap_or_default());
        }
    }
    let limit = folder.max_tokens;
    folder.max_tokens.query = found.query_length.unwrap_or(limit.query).min(limit.query);
    folder.max_tokens.document = found.document_length.unwrap_or(limit.document).min(limit.document);
    let config = LateInteractionConfig {
        dim,
        markers: take_markers(folder, of_pylate),
        expansion: found.expansion,
        attend: !found.unattended,
        skip_punctuation: found.skip_punctuation,
    };
    folder.add_late_interaction(&config, Seed(0), "late_interaction")
}

/// The projection's place in a folder laid out as google/xtr-base-en is: a T5 encoder without `modules.json`.
pub(crate) fn of_xtr(root: &Path, architecture: &Architecture) -> Option<PathBuf> {
    let dense = root.join("2_Dense");
    (matches!(architecture, Architecture::T5(_)) && dense.join("config.json").is_file()).then_some(dense)
}

/// Makes a folder that was read an XTR (Lee et al. 2023, arXiv 2304.01982): every token counts, `</s>` too, there are
/// no markers, and texts are taken in lower case, as the model was trained with.
pub(crate) fn add_xtr(folder: &mut Folder, dense: &Path) -> Result<()> {
    let config = LateInteractionConfig { dim: take_matrix(folder, dense)?, ..LateInteractionConfig::default() };
    folder.tokenizer = folder.tokenizer.clone().lowercased()?;
    folder.normalize = true;
    folder.notes.push(
        "no modules.json, and a T5 with 2_Dense: read as XTR is, one vector a token, texts in lower case".to_owned(),
    );
    folder.add_late_interaction(&config, Seed(0), "late_interaction")
}

/// Reads the matrix of a module of token states, puts it among the weights, and gives the length of a vector.
fn take_matrix(folder: &mut Folder, place: &Path) -> Result<usize> {
    let dense = DenseLayer::read_of(place, folder.model.architecture.dim(), "token_embeddings")?;
    if dense.bias.is_some() || dense.activation != DenseActivation::Identity {
        let message = "has a bias or an activation, expected a matrix alone";
        return Err(model_error(place, message, "models with such a layer cannot be loaded"));
    }
    let spec = WeightSpec { name: WEIGHT.to_owned(), shape: dense.weight.shape().to_vec(), init: WeightInit::Zeros };
    let mut matrix = fresh_weight(spec, Seed(0));
    matrix.values = dense.weight.iter().copied().collect::<Vec<f32>>().into();
    folder.model.parameters.insert(matrix);
    Ok(dense.dim())
}

/// Reads the layout that sentence-transformers writes.
fn native(transformer: &Path, modules: &Modules) -> Result<Found> {
    let file = transformer.join("sentence_bert_config.json");
    let settings: Value = if file.is_file() { json(&file)? } else { Value::Null };
    let expansion = &settings["query_expansion"];
    let mut found = Found {
        query_length: length(&settings, "query_length"),
        document_length: length(&settings, "document_length"),
        ..Found::default()
    };
    if !expansion.is_null() {
        found.unattended = expansion["attend"] != Value::Bool(true);
        if expansion["token"].is_string() {
            let message = format!("has a query_expansion by {}, expected the mask token", expansion["token"]);
            return Err(model_error(&file, message, ""));
        }
        found.expansion = length(expansion, "length").unwrap_or(0);
        if expansion["strategy"] == "fixed" {
            found.query_length = Some(found.expansion);
        }
    }
    if let Some(mask) = &modules.mask {
        let file = mask.join("config.json");
        let mask: Value = json(&file)?;
        let documents = mask["skiplist_tasks"].is_null() || mask["skiplist_tasks"] == serde_json::json!(["document"]);
        if !mask["keep_only_token_ids"].is_null() || !documents {
            let message =
                "keeps only some tokens or skips those of queries, expected skipped tokens of documents alone";
            return Err(model_error(&file, message, ""));
        }
        found.skip_punctuation = punctuation(&file, &mask["skiplist_words"])?;
    }
    Ok(found)
}

/// Reads the layout that PyLate writes.
fn pylate(file: &Path, about: &Value) -> Result<Found> {
    let query_length = length(about, "query_length").or(Some(32));
    let expands = about["do_query_expansion"] != Value::Bool(false);
    // The second is the name that Stanford's ColBERT has for it.
    let named = ["attend_to_expansion_tokens", "attend_to_mask_tokens"].map(|key| &about[key]);
    let attends = named.into_iter().find(|value| !value.is_null()) == Some(&Value::Bool(true));
    let words = &about["skiplist_words"];
    Ok(Found {
        // Its default.
        skip_punctuation: if words.is_null() { true } else { punctuation(file, words)? },
        query_length,
        document_length: length(about, "document_length").or(Some(180)),
        expansion: if expands { query_length.unwrap_or(0) } else { 0 },
        unattended: expands && !attends,
    })
}

fn length(of: &Value, key: &str) -> Option<usize> {
    of[key].as_u64().map(|tokens| tokens as usize)
}

/// True where a list of skipped words is that of punctuation marks.
fn punctuation(file: &Path, words: &Value) -> Result<bool> {
    let words: Vec<&str> =
        words.as_array().map(Vec::as_slice).unwrap_or_default().iter().filter_map(Value::as_str).collect();
    if words.is_empty() {
        return Ok(false);
    }
    let all = PUNCTUATION.chars().all(|mark| words.iter().any(|word| word.chars().eq([mark])));
    match all && words.len() == PUNCTUATION.len() {
        true => Ok(true),
        false => Err(model_error(
            file,
            format!("skips {} words, expected none or the 32 punctuation marks", words.len()),
            "",
        )),
    }
}

/// Takes special tokens at the beginning of both prompts for markers.
fn take_markers(folder: &mut Folder, known_suffices: bool) -> Option<Markers> {
    let marker = |prompt: &str| -> Option<String> {
        let first = prompt.split_whitespace().next().unwrap_or_default();
        let is_one = |token: &&str| {
            !token.is_empty()
                && (folder.tokenizer.is_added(token) || (known_suffices && folder.tokenizer.id(token).is_some()))
        };
        let longest = folder.tokenizer.added().iter().map(String::as_str).filter(|token| prompt.starts_with(*token));
        longest.max_by_key(|token| token.len()).or(Some(first)).filter(is_one).map(str::to_owned)
    };
    let markers = Markers { query: marker(&folder.prompts.query)?, document: marker(&folder.prompts.document)? };
    folder.prompts.query = folder.prompts.query[markers.query.len()..].to_owned();
    folder.prompts.document = folder.prompts.document[markers.document.len()..].to_owned();
    Some(markers)
}
