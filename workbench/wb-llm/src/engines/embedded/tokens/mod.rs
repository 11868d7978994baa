//! Texts to tokens and back, as the model's own file says (`tokenizer.ggml.*`), token for token as llama.cpp does it.
//!
//! The tokens of control (the beginning of a turn, the end of an answer) are cut out of a text first; what lies between
//! goes through SentencePiece or byte-pair encoding, neither of which can ever give a token of control.

pub mod bpe;
pub mod join;
pub mod sentencepiece;
pub mod split;
pub mod vocabulary;

use self::{
    bpe::Bpe,
    split::Pretokenizer,
    vocabulary::{TokenKind, Vocabulary},
};
use super::header::{GgufValue, Header};

/// An algorithm that makes tokens of texts.
#[derive(Debug)]
enum Model {
    SentencePiece {
        /// The tokens of single bytes.
        bytes: Box<[Option<u32>; 256]>,
        /// True where a space is put before a text, and before what follows a token of control.
        space: bool,
    },
    Bpe(Box<Bpe>),
}

/// A model's tokenizer.
#[derive(Debug)]
pub struct GgufTokenizer {
    /// Vocabulary of the model.
    pub vocabulary: Vocabulary,
    model: Model,
    add_bos: bool,
    add_eos: bool,
    /// Tokens that are cut out of texts, the longest text first.
    special: Vec<u32>,
}

/// A part of a text: a token, or what has to be encoded.
enum Part<'a> {
    Token(u32),
    Text(&'a str),
}

impl GgufTokenizer {
    /// The tokenizer of a file whose model has `rows` embeddings.
    pub fn of(header: &Header, rows: usize) -> Result<Self, String> {
        let kind = header
            .text("tokenizer.ggml.model")
            .ok_or("tokenizer.ggml.model is missing, \"llama\" or \"gpt2\" was expected")?;
        let (model, vocabulary, add_bos) = match kind {
            "llama" => {
                let vocabulary = Vocabulary::of(header, rows, true)?;
                let bytes = Box::new(sentencepiece::bytes(&vocabulary));
                (
                    Model::SentencePiece {
                        bytes,
                        space: header.bool("tokenizer.ggml.add_space_prefix").unwrap_or(true),
                    },
                    vocabulary,
                    true,
                )
            }
            "gpt2" => {
                let vocabulary = Vocabulary::of(header, rows, false)?;
                let Some(GgufValue::Texts(merges)) = header.metadata.get("tokenizer.ggml.merges") else {
                    return Err("tokenizer.ggml.merges is missing, an array of texts was expected".into());
                };
                let split = Pretokenizer::named(header.text("tokenizer.ggml.pre").unwrap_or("missing"))?;
                let add_bos = split.add_bos;
                (Model::Bpe(Box::new(Bpe::new(merges, split)?)), vocabulary, add_bos)
            }
            other => return Err(format!("tokenizer.ggml.model is {other:?}, \"llama\" or \"gpt2\" was expected")),
        };
        let special =
            |kind: TokenKind| matches!(kind, TokenKind::Control | TokenKind::UserDefined | TokenKind::Unknown);
        let mut special: Vec<u32> = (0..vocabulary.len() as u32)
            .filter(|id| special(vocabulary.kind(*id)) && !vocabulary.text(*id).is_empty())
            .collect();
        special.sort_by_key(|id| std::cmp::Reverse(vocabulary.text(*id).len()));
        Ok(Self {
            add_bos: header.bool("tokenizer.ggml.add_bos_token").unwrap_or(add_bos),
            add_eos: header.bool("tokenizer.ggml.add_eos_token").unwrap_or(false),
            vocabulary,
            model,
            special,
        })
    }

    /// The tokens of a text.
    ///
    /// `begin` adds the tokens of beginning and end that the model wants around a text; `control` reads the texts of
    /// tokens of control as such. Without it they are text like any other: for what is not our own.
    /// Wherever `mark` stands in the text, it keeps what is around it from being read as a token of control, and is left out.
    pub fn encode(&self, text: &str, begin: bool, control: bool, mark: Option<char>) -> Vec<u32> {
        let mut out = Vec::new();
        let mut after_special = true;
        if begin && self.add_bos {
            out.extend(self.vocabulary.bos);
        }
        for part in self.parts(text, control, mark.is_some()) {
            match part {
                Part::Token(id) => {
                    out.push(id);
                    after_special = true;
                }
                Part::Text(text) => {
                    let text = match mark {
                        Some(mark) => &text.replace(mark, ""),
                        None => text,
                    };
                    match &self.model {
                        Model::SentencePiece { bytes, space } => {
                            let prefix = if *space && after_special { " " } else { "" };
                            sentencepiece::encode(&self.vocabulary, bytes, &format!("{prefix}{text}"), &mut out);
                        }
                        Model::Bpe(bpe) => bpe.encode(&self.vocabulary, text, &mut out),
                    }
                    after_special = false;
                }
            }
        }
        if begin && self.add_eos {
            out.extend(self.vocabulary.eos);
        }
        out
    }

    /// A text cut at its special tokens, the longest ones first. In a `marked` text, tokens of a single character are not
    /// cut out: no mark fits into them.
    fn parts<'a>(&self, text: &'a str, control: bool, marked: bool) -> Vec<Part<'a>> {
        let mut parts = if text.is_empty() { Vec::new() } else { vec![Part::Text(text)] };
        for id in &self.special {
            if !control && self.vocabulary.kind(*id) != TokenKind::UserDefined {
                continue;
            }
            let special = self.vocabulary.text(*id);
            if !text.contains(special) || (marked && special.chars().nth(1).is_none()) {
                continue;
            }
            parts = parts
                .into_iter()
                .flat_map(|part| match part {
                    Part::Token(id) => vec![Part::Token(id)],
                    Part::Text(text) => {
                        let mut cut = Vec::new();
                        for (i, between) in text.split(special).enumerate() {
                            if i > 0 {
                                cut.push(Part::Token(*id));
                            }
                            if !between.is_empty() {
                                cut.push(Part::Text(between));
                            }
                        }
                        cut
                    }
                })
                .collect();
        }
        parts
    }

    /// The bytes that a token adds to an answer: nothing for tokens of control.
    pub fn bytes(&self, id: u32) -> Vec<u8> {
        match (self.vocabulary.kind(id), &self.model) {
            (TokenKind::Control | TokenKind::Unknown | TokenKind::Unused, _) => Vec::new(),
            (_, Model::SentencePiece { .. }) => sentencepiece::decode(&self.vocabulary, id),
            (_, Model::Bpe(bpe)) => bpe.decode(&self.vocabulary, id),
        }
    }

    /// True for a text that begins with the model's own beginning token, which is then not added again.
    pub fn begins(&self, text: &str) -> bool {
        self.add_bos
            && self
                .vocabulary
                .bos
                .is_some_and(|bos| !self.vocabulary.text(bos).is_empty() && text.starts_with(self.vocabulary.text(bos)))
    }

    /// The texts of all tokens of control.
    pub fn controls(&self) -> impl Iterator<Item = &str> + Clone {
        self.special
            .iter()
            .filter(|id| self.vocabulary.kind(**id) != TokenKind::UserDefined)
            .map(|id| self.vocabulary.text(*id))
    }
}
