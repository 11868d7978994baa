//! The tokenizer of a hub folder: `tokenizer.json`, or the older `vocab.txt` or `vocab.json` with `merges.txt`.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::{json as read_json, model_error};
use crate::{error::Result, models::Architecture, tokenizer::Tokenizer};

/// Reads the tokenizer; what had to be guessed is noted.
pub(super) fn read(folder: &Path, architecture: &Architecture, notes: &mut Vec<String>) -> Result<Tokenizer> {
    let file = folder.join("tokenizer.json");
    let settings = tokenizer_config(folder)?;
    if file.is_file() {
        let mut tokenizer = Tokenizer::read(&file)?;
        // transformers' BERT tokenizer follows tokenizer_config.json where the two differ.
        let is_bert = settings["tokenizer_class"].as_str().is_some_and(|class| class.starts_with("BertTokenizer"));
        if let Some(lowercase) = settings["do_lower_case"].as_bool().filter(|_| is_bert)
            && tokenizer.set_bert_lowercase(lowercase)?
        {
            let lowercased = if lowercase { "in lower case" } else { "with their case kept" };
            notes.push(format!(
                "texts are taken {lowercased}, as tokenizer_config.json says; tokenizer.json says otherwise"
            ));
        }
        return Ok(tokenizer);
    }
    if matches!(architecture, Architecture::T5(_)) {
        let hint = "make one: python -c \"from transformers import AutoTokenizer; \
                    AutoTokenizer.from_pretrained('DIR').save_pretrained('DIR')\"";
        return Err(model_error(folder, "has no tokenizer.json, expected one; spiece.model is not read", hint));
    }
    let (path, json) = if folder.join("vocab.txt").is_file() {
        let path = folder.join("vocab.txt");
        let lowercase = settings.get("do_lower_case").and_then(Value::as_bool).unwrap_or(true);
        let json = word_piece(&path, lowercase)?;
        (path, json)
    } else if folder.join("vocab.json").is_file() && folder.join("merges.txt").is_file() {
        let prefix = settings.get("add_prefix_space").and_then(Value::as_bool).unwrap_or(false);
        (folder.join("vocab.json"), byte_level(folder, prefix)?)
    } else {
        let hint = "expected tokenizer.json, or vocab.txt, or vocab.json with merges.txt";
        return Err(model_error(folder, "has no tokenizer", hint));
    };
    let is_roberta = architecture.transformer().is_some_and(|config| config.pad_token_id().is_some());
    let kind = if is_roberta { "RoBERTa" } else { "BERT" };
    notes.push(format!("no tokenizer.json: the usual {kind} tokenizer over {}", path.display()));
    let inner = tokenizers::Tokenizer::from_bytes(json.to_string())
        .map_err(|error| model_error(&path, format!("does not make a tokenizer: {error}"), ""))?;
    Tokenizer::new(inner, &path)
}

/// UniXcoder's token for its encoder-only mode.
const ENCODER_ONLY: &str = "<encoder-only>";

/// Puts a model's own form around texts where its repository asks for one that no file of it says: UniXcoder is told by
/// `<s> <encoder-only> </s> text </s>` that it is to embed (`unixcoder.py` of microsoft/CodeBERT). To be asked of folders
/// without `modules.json`: sentence-transformers reads those that have one without this form.
pub(super) fn in_own_form(tokenizer: Tokenizer, notes: &mut Vec<String>) -> Result<Tokenizer> {
    if tokenizer.id(ENCODER_ONLY).is_none() {
        return Ok(tokenizer);
    }
    notes.push(format!("a UniXcoder: texts are read as <s> {ENCODER_ONLY} </s> text </s>"));
    tokenizer.surrounded_by(&["<s>", ENCODER_ONLY, "</s>"], &["</s>"])
}

/// `model_max_length` of `tokenizer_config.json`, where it is a length and not transformers' sign for "none".
pub(super) fn model_max_length(folder: &Path) -> Result<Option<usize>> {
    let length = tokenizer_config(folder)?.get("model_max_length").and_then(Value::as_f64);
    Ok(length.filter(|length| *length >= 1.0 && *length < 1e9).map(|length| length as usize))
}

pub(super) fn tokenizer_config(folder: &Path) -> Result<Value> {
    let file = folder.join("tokenizer_config.json");
    if file.is_file() { read_json(&file) } else { Ok(Value::Null) }
}

fn word_piece(path: &Path, lowercase: bool) -> Result<Value> {
    let text = std::fs::read_to_string(path).map_err(wb_core::Error::io("read", path))?;
    let vocab: Map<String, Value> = text.lines().enumerate().map(|(id, token)| (token.to_owned(), json!(id))).collect();
    let id = |token: &str| id_of(token, &vocab, path, "line");
    let (cls, sep) = (id("[CLS]")?, id("[SEP]")?);
    let added = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"].into_iter().filter(|token| vocab.contains_key(*token));
    let added: Vec<Value> = added.map(|token| Ok(special(token, id(token)?))).collect::<Result<_>>()?;
    Ok(json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": added,
        "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
                       "strip_accents": null, "lowercase": lowercase},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", sep], "cls": ["[CLS]", cls]},
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 100, "vocab": vocab},
    }))
}

fn byte_level(folder: &Path, prefix: bool) -> Result<Value> {
    let path = folder.join("vocab.json");
    let vocab: Map<String, Value> = read_json(&path)?;
    let merges_path = folder.join("merges.txt");
    let merges = std::fs::read_to_string(&merges_path).map_err(wb_core::Error::io("read", &merges_path))?;
    let merges: Vec<&str> = merges.lines().filter(|line| !line.starts_with("#version") && !line.is_empty()).collect();
    let id = |token: &str| id_of(token, &vocab, &path, "token");
    let (cls, sep) = (id("<s>")?, id("</s>")?);
    let added = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"].into_iter().filter(|token| vocab.contains_key(*token));
    let added: Vec<Value> = added.map(|token| Ok(special(token, id(token)?))).collect::<Result<_>>()?;
    Ok(json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": added,
        "normalizer": null,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": true, "use_regex": true},
        "post_processor": {"type": "RobertaProcessing", "sep": ["</s>", sep], "cls": ["<s>", cls],
                           "trim_offsets": true, "add_prefix_space": prefix},
        "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true},
        "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": "",
                  "end_of_word_suffix": "", "fuse_unk": false, "byte_fallback": false, "ignore_merges": false,
                  "vocab": vocab, "merges": merges},
    }))
}

/// The id of a token in the vocabulary of a file that has a `kind` for each.
fn id_of(token: &str, vocab: &Map<String, Value>, path: &Path, kind: &str) -> Result<u64> {
    let found = vocab.get(token).and_then(Value::as_u64);
    found.ok_or_else(|| model_error(path, format!("has no {kind} `{token}`"), ""))
}

fn special(content: &str, id: u64) -> Value {
    // RoBERTa's mask takes the space before it into itself.
    let lstrip = content == "<mask>";
    json!({"id": id, "content": content, "single_word": false, "lstrip": lstrip, "rstrip": false,
           "normalized": false, "special": true})
}
