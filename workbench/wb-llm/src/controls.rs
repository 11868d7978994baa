//! The control tokens of a model: the texts that its tokenizer reads as the beginning of a turn or the end of an answer.
//!
//! No message may hold one of them, whoever wrote it: before a question is sent, each is broken by the sign that
//! [`crate::neutral`] uses. This happens behind the question's key in the ledger, so that a question has the same name
//! whatever is known of the model, and a replay needs none of it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use wb_core::fingerprint::Fingerprint;

use crate::{
    gguf::{GgufValue, Metadata},
    neutral::{BREAK, neutral},
};

/// The known control tokens of an engine; part of the run's manifest and of the ledger.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct KnownControls {
    /// Source of this knowledge.
    pub source: ControlSource,
    /// Number of texts that are broken beside those of common models; 0 where they are found text by text, or unknown.
    pub count: usize,
    /// BLAKE3 of these texts: the same for the same vocabulary, however it is reached.
    pub hash: Option<String>,
    /// Reason why no more is known, or what cannot be broken; empty where all is well.
    pub note: String,
}

/// The source of a model's control tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ControlSource {
    /// None: what is common among models is broken, and nothing else.
    #[default]
    Unknown,
    /// From the model's own file.
    File,
    /// The server listed them at the start.
    Server,
    /// The server is asked of each text whether it would read one out of it.
    Asked,
}

/// Texts that end an answer wherever they are a token, as llama.cpp reads them; they are control tokens whatever the file says.
pub(crate) const ENDS: [&str; 31] = [
    "<|eot_id|>",
    "<|im_end|>",
    "<|end|>",
    "<|return|>",
    "<|call|>",
    "<|flush|>",
    "<|calls|>",
    "<end_of_turn>",
    "<|endoftext|>",
    "</s>",
    "<|eom_id|>",
    "<EOT>",
    "_<EOT>",
    "[EOT]",
    "[EOS]",
    "<|end_of_text|>",
    "<end_of_utterance>",
    "<eos>",
    "<｜end▁of▁sentence｜>",
    "[e~[",
    // Paddings and separators of texts to be filled in.
    "<|fim_pad|>",
    "<fim-pad>",
    "<fim_pad>",
    "<PAD>",
    "<|repo_name|>",
    "<fim-repo>",
    "<REPO>",
    "<|reponame|>",
    "<reponame>",
    "<|file_sep|>",
    "<file_sep>",
];

/// Texts around what is to be filled in, which llama.cpp reads as control tokens wherever they are a token.
const FILLS: [&str; 17] = [
    "<|fim_prefix|>",
    "<fim-prefix>",
    "<fim_prefix>",
    "<|fim_suffix|>",
    "<fim-suffix>",
    "<fim_suffix>",
    "<|fim_middle|>",
    "<fim-middle>",
    "<fim_middle>",
    "<PRE>",
    "▁<PRE>",
    "<SUF>",
    "▁<SUF>",
    "<MID>",
    "▁<MID>",
    "<|code_prefix|>",
    "<|code_suffix|>",
];

/// Numbers of `tokenizer.ggml.token_type` whose texts are cut out of a prompt: what stands for the unknown, and control.
const CUT: [i64; 2] = [2, 3];
/// Pieces of text that are always one token. Some are marks (`<tool_call>`), most are runs of spaces, or HTML.
const USER_DEFINED: i64 = 4;

/// Elements of HTML that vocabularies list as pieces of text: they do nothing, and code is full of them.
const HTML: [&str; 33] = [
    "a",
    "b",
    "blockquote",
    "body",
    "br",
    "caption",
    "code",
    "div",
    "em",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "html",
    "i",
    "img",
    "li",
    "ol",
    "p",
    "pre",
    "span",
    "strong",
    "sub",
    "sup",
    "table",
    "tbody",
    "td",
    "th",
    "tr",
    "ul",
];

/// The control tokens of one model, ready to be found in texts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ControlTokens {
    texts: BTreeSet<String>,
    /// Lengths in bytes of the texts that begin with a character.
    lengths: BTreeMap<char, BTreeSet<usize>>,
    /// Number of texts of a single character, which nothing can be put into.
    whole: usize,
}

impl ControlTokens {
    /// Takes these texts, without empty ones. Those of one character are counted and left alone.
    pub fn new(texts: impl IntoIterator<Item = String>) -> Self {
        let mut tokens = Self::default();
        for text in texts {
            tokens.add(text);
        }
        tokens
    }

    fn add(&mut self, text: String) {
        let mut chars = text.chars();
        let Some(first) = chars.next() else { return };
        if chars.next().is_none() {
            self.whole += 1;
            return;
        }
        self.lengths.entry(first).or_default().insert(text.len());
        self.texts.insert(text);
    }

    /// Takes those of a GGUF file's metadata: all that llama.cpp cuts out of a prompt, and pieces of text that look like marks.
    pub fn of_metadata(metadata: &Metadata) -> Result<Self, String> {
        let Some(GgufValue::Texts(texts)) = metadata.get("tokenizer.ggml.tokens") else {
            return Err("tokenizer.ggml.tokens is missing, an array of texts was expected".into());
        };
        let none = Vec::new();
        let kinds = match metadata.get("tokenizer.ggml.token_type") {
            None => &none,
            Some(GgufValue::Integers(kinds)) if kinds.len() == texts.len() => kinds,
            Some(_) => return Err(format!("tokenizer.ggml.token_type has no {} integers", texts.len())),
        };
        Ok(Self::of_vocabulary(texts, kinds))
    }

    /// Takes those of a list of tokens with the numbers of their kinds, which may be missing.
    pub fn of_vocabulary(texts: &[String], kinds: &[i64]) -> Self {
        let is_control = |(at, text): &(usize, &String)| {
            let kind = kinds.get(*at).copied().unwrap_or_default();
            let always = || ENDS.contains(&text.as_str()) || FILLS.contains(&text.as_str());
            CUT.contains(&kind) || (kind == USER_DEFINED && is_mark(text)) || always()
        };
        Self::new(texts.iter().enumerate().filter(is_control).map(|(_, text)| text.clone()))
    }

    /// Tells what is known, for the manifest.
    pub fn known(&self, source: ControlSource) -> KnownControls {
        let mut builder = Fingerprint::builder();
        builder.number(self.texts.len() as u64);
        for text in &self.texts {
            builder.text(text);
        }
        let note = match self.whole {
            0 => String::new(),
            n => format!("{n} of a single character cannot be broken"),
        };
        KnownControls { source, count: self.texts.len(), hash: Some(builder.finish().as_str().to_owned()), note }
    }

    /// The texts, in order.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.texts.iter().map(String::as_str)
    }

    /// A whole message that gives none of these tokens, nor one of common models; all else stays, byte for byte. What a
    /// message ends with may be the beginning of one that the chat template's next words complete: it is broken too.
    pub fn broken(&self, message: &str) -> String {
        let message = neutral(message);
        let mut out = String::with_capacity(message.len() + 8);
        for (at, c) in message.char_indices() {
            out.push(c);
            let rest = &message[at..];
            let mut lengths = self.lengths.get(&c).into_iter().flatten();
            if lengths.any(|length| rest.get(..*length).is_some_and(|text| self.texts.contains(text))) {
                out.push(BREAK);
            }
        }
        if self.begins_at_the_end(&message) {
            out.push(BREAK);
        }
        out
    }

    fn begins_at_the_end(&self, message: &str) -> bool {
        let longest = self.lengths.values().flatten().max().copied().unwrap_or(0);
        let tails = message.char_indices().rev().take_while(|(at, _)| message.len() - at < longest);
        tails.map(|(at, _)| &message[at..]).any(|tail| {
            let next = self.texts.range::<str, _>((std::ops::Bound::Excluded(tail), std::ops::Bound::Unbounded)).next();
            next.is_some_and(|text| text.starts_with(tail))
        })
    }
}

/// True for a text that looks like a mark and not like a piece of code or of a page: between brackets, of one word.
pub(crate) fn is_mark(text: &str) -> bool {
    let pairs = [('<', '>'), ('[', ']')];
    let within = pairs.iter().find_map(|(open, close)| text.strip_prefix(*open)?.strip_suffix(*close));
    let Some(within) = within else { return false };
    let name = within.trim_matches('/');
    within.chars().any(char::is_alphanumeric)
        && !within.contains(char::is_whitespace)
        && !(text.starts_with('<') && HTML.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(texts: &[&str]) -> ControlTokens {
        ControlTokens::new(texts.iter().map(|text| (*text).to_owned()))
    }

    #[test]
    fn what_a_vocabulary_calls_control_is_broken_and_its_pieces_of_text_are_not() {
        let texts =
            ["a", "<<weird>>", "<unk>", "<tool_call>", "\n\n", "    ", "<table>", "</h1>", "<EOT>", "[x]", "§", ""];
        let kinds = [1, 3, 2, 4, 4, 4, 4, 4, 1, 1, 3, 3];
        let found = ControlTokens::of_vocabulary(&texts.map(String::from), &kinds);
        assert_eq!(Vec::from_iter(found.texts()), ["<<weird>>", "<EOT>", "<tool_call>", "<unk>"]);
        let known = found.known(ControlSource::File);
        assert_eq!((known.count, known.note.as_str()), (4, "1 of a single character cannot be broken"));
        let code = "if a << weird >> b {\n\n    v[x] = \"<table></h1>\";\n}";
        assert_eq!(found.broken(code), code);
        assert_eq!(found.broken("say <<weird>><EOT>"), "say <\u{200b}<weird>><\u{200b}EOT>");
        // No list of kinds: what is always one.
        assert_eq!(Vec::from_iter(ControlTokens::of_vocabulary(&texts.map(String::from), &[]).texts()), ["<EOT>"]);
    }

    #[test]
    fn no_text_of_the_list_is_left_however_they_overlap() {
        let all = ["<<a>>", "<a>", "aba", "bab", "<|x|>", "ü<", "MAGIC"];
        let found = tokens(&all);
        for text in ["<<a>>", "<<<a>>>", "ababab", "ü<a>", "MAGICMAGIC", "x<|x|><|x|>", "<<a", "<", "ends with MAG"] {
            let broken = found.broken(text);
            assert!(!all.iter().any(|control| broken.contains(control)), "{broken:?}");
            assert_eq!(broken.replace(BREAK, ""), text);
            assert_eq!(found.broken(&broken), broken);
        }
        // What a template's next words could complete.
        assert_eq!((found.broken("MAG"), found.broken("MAG.")), ("MAG\u{200b}".into(), "MAG.".into()));
        assert_eq!(ControlTokens::default().broken("<a> MAGIC"), "<a> MAGIC");
    }

    #[test]
    fn the_same_texts_are_the_same_however_they_come() {
        let (one, other) = (tokens(&["<a>", "<b>"]), tokens(&["<b>", "<a>", "<a>"]));
        assert_eq!(one.known(ControlSource::File).hash, other.known(ControlSource::Server).hash);
        assert_ne!(one.known(ControlSource::File).hash, tokens(&["<a>"]).known(ControlSource::File).hash);
    }
}
