//! The tokens of a model as its file lists them, and what they are for.

use std::collections::{BTreeSet, HashMap};

use super::super::header::{GgufValue, Header};
use crate::controls::ENDS;

/// The purpose of a token: the numbers of `tokenizer.ggml.token_type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// A piece of text.
    Normal,
    /// The token that stands for all that has none.
    Unknown,
    /// Something that is not text: the beginning of a turn, the end of an answer.
    Control,
    /// A piece of text that is always one token.
    UserDefined,
    /// Never used.
    Unused,
    /// One byte.
    Byte,
}

/// A list of tokens.
#[derive(Debug, Clone)]
pub struct Vocabulary {
    /// Their texts, in the file's own spelling.
    pub texts: Vec<String>,
    /// Purpose of each token.
    pub kinds: Vec<TokenKind>,
    /// Score by which each is preferred, for SentencePiece; empty for BPE.
    pub scores: Vec<f32>,
    /// Number of the token of each text; the last of two that are equal.
    pub ids: HashMap<String, u32>,
    /// The token of a text's beginning.
    pub bos: Option<u32>,
    /// The token of a text's end.
    pub eos: Option<u32>,
    /// The token of what has none.
    pub unknown: Option<u32>,
    /// All tokens that end an answer.
    pub ends: BTreeSet<u32>,
}

impl Vocabulary {
    /// Reads the `tokenizer.ggml.*` keys of a file whose model has `rows` embeddings.
    pub fn of(header: &Header, rows: usize, sentencepiece: bool) -> Result<Self, String> {
        let Some(GgufValue::Texts(texts)) = header.metadata.get("tokenizer.ggml.tokens") else {
            return Err("tokenizer.ggml.tokens is missing, an array of texts was expected".into());
        };
        let texts = texts.clone();
        if texts.is_empty() || texts.len() > rows {
            return Err(format!(
                "tokenizer.ggml.tokens has {} tokens, from 1 to the {rows} rows of token_embd.weight were expected",
                texts.len()
            ));
        }
        let mut kinds = match header.metadata.get("tokenizer.ggml.token_type") {
            None => vec![TokenKind::Normal; texts.len()],
            Some(GgufValue::Integers(kinds)) if kinds.len() == texts.len() => {
                kinds.iter().map(|k| kind(*k)).collect::<Result<_, _>>()?
            }
            Some(other) => {
                return Err(format!(
                    "tokenizer.ggml.token_type is {}, {} integers were expected",
                    size(other),
                    texts.len()
                ));
            }
        };
        let scores = match header.metadata.get("tokenizer.ggml.scores") {
            _ if !sentencepiece => Vec::new(),
            Some(GgufValue::Floats(scores)) if scores.len() == texts.len() && scores.iter().all(|s| s.is_finite()) => {
                scores.clone()
            }
            Some(other) => {
                return Err(format!(
                    "tokenizer.ggml.scores is {}, {} finite floats were expected",
                    size(other),
                    texts.len()
                ));
            }
            None => return Err("tokenizer.ggml.scores is missing, floats were expected".into()),
        };
        let mut ids = HashMap::with_capacity(texts.len());
        for (id, text) in texts.iter().enumerate() {
            ids.insert(text.clone(), id as u32);
        }
        let named = |name: &str, default: Option<u32>| {
            let key = format!("tokenizer.ggml.{name}_token_id");
            match (header.metadata.get(&key), header.integer(&key)) {
                (None, _) => Ok(default.filter(|id| (*id as usize) < texts.len())),
                (_, Some(id)) if (id as usize) < texts.len() => Ok(Some(id)),
                // All bits set is how some writers say "none".
                (_, Some(u32::MAX)) => Ok(None),
                (Some(other), _) => Err(format!("{key} is {other:?}, one of {} tokens was expected", texts.len())),
            }
        };
        let default = |id| sentencepiece.then_some(id);
        let (bos, eos, unknown) = (named("bos", default(1))?, named("eos", default(2))?, named("unknown", default(0))?);
        let mut ends: BTreeSet<u32> = eos.into_iter().chain(named("eot", None)?).chain(named("eom", None)?).collect();
        for text in ENDS {
            if let Some(id) = ids.get(text) {
                ends.insert(*id);
                kinds[*id as usize] = TokenKind::Control;
            }
        }
        Ok(Self { texts, kinds, scores, ids, bos, eos, unknown, ends })
    }

    /// Number of tokens.
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// True where there is none, which is refused when it is read.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// Tells the purpose of a token.
    pub fn kind(&self, id: u32) -> TokenKind {
        self.kinds.get(id as usize).copied().unwrap_or(TokenKind::Unused)
    }

    /// A token's text in the file's spelling; empty for a row of embeddings without a token.
    pub fn text(&self, id: u32) -> &str {
        self.texts.get(id as usize).map_or("", String::as_str)
    }

    /// The token of a text that can come out of merging: never one that is not text, whatever the text says.
    pub fn mergeable(&self, text: &str) -> Option<u32> {
        self.ids.get(text).copied().filter(|id| !matches!(self.kind(*id), TokenKind::Control | TokenKind::Unknown))
    }
}

fn kind(number: i64) -> Result<TokenKind, String> {
    Ok(match number {
        0 | 1 => TokenKind::Normal,
        2 => TokenKind::Unknown,
        3 => TokenKind::Control,
        4 => TokenKind::UserDefined,
        5 => TokenKind::Unused,
        6 => TokenKind::Byte,
        other => return Err(format!("tokenizer.ggml.token_type holds {other}, from 1 to 6 was expected")),
    })
}

fn size(value: &GgufValue) -> String {
    match value {
        GgufValue::Integers(v) => format!("{} integers", v.len()),
        GgufValue::Floats(v) => format!("{} floats", v.len()),
        other => other.kind().into(),
    }
}
