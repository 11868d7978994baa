//! A byte-level BPE tokenizer learned from texts, with identifiers split the way people read them.
//!
//! The result is an ordinary `tokenizer.json`. Merges are learned as Sennrich et al. 2016 (arXiv 1508.07909) do, over
//! word counts, so neither the order of the texts nor the number of threads matters.

mod merges;
mod words;

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    error::{Error, Result, expect_value},
    tokenizer::Tokenizer,
    word_splitter::WordSplitter,
};

/// Rules by which a tokenizer is learned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TokenizerConfig {
    /// Tokens in all: 3 special ones, 256 bytes, and merges; at least 259. A static embedding has `vocab_size` × `dim`
    /// numbers.
    pub vocab_size: usize,
    /// Two symbols are merged only if they stand together at least so often.
    pub min_frequency: u64,
    /// Ends words where a reader sees them end: `parseHTTPResponse2` is `parse`, `HTTP`, `Response`, `2`, `snake_case`
    /// is `snake`, `case`, white space and `_` only separate. Otherwise GPT-2's rule, where a word with a space before
    /// it is another word than one without.
    pub split_identifiers: bool,
    /// Makes texts lower case, after identifiers were split.
    pub lowercase: bool,
    /// Puts `[CLS]` before and `[SEP]` after every text. A transformer always does.
    pub special_tokens: bool,
    /// Learns from so many bytes of text at most, evenly chosen; what is beyond changes little and costs time.
    pub sample_bytes: usize,
}

impl Default for TokenizerConfig {
    fn default() -> Self {
        Self {
            vocab_size: 16_384,
            min_frequency: 2,
            split_identifiers: true,
            lowercase: true,
            special_tokens: false,
            sample_bytes: 64 << 20,
        }
    }
}

/// Special tokens in the order of their ids, from 0.
const SPECIAL: [&str; 3] = ["[PAD]", "[CLS]", "[SEP]"];

impl TokenizerConfig {
    /// Refuses values that make no sense.
    pub fn validate(&self, key: &str) -> wb_core::Result<()> {
        let least = SPECIAL.len() + 256;
        let expected = format!("at least {least}: the special tokens and the bytes");
        expect_value(format!("{key}.vocab_size"), self.vocab_size, self.vocab_size >= least, &expected)?;
        expect_value(format!("{key}.sample_bytes"), self.sample_bytes, self.sample_bytes > 0, "at least 1")
    }

    /// Learns a tokenizer. `name` stands for its file in messages.
    pub fn train(&self, texts: &[&str], name: &Path) -> Result<Tokenizer> {
        self.validate("tokenizer")?;
        // Without merges it splits words already, and that is how they are counted.
        let bytes = self.tokenizer(Vec::new(), name)?;
        let counts = words::count(&bytes, self.splitter(), &sample(texts, self.sample_bytes))?;
        let merges = merges::learn(&counts, SPECIAL.len(), self.vocab_size, self.min_frequency);
        Tokenizer::new(self.tokenizer(merges, name)?, name)
    }

    fn splitter(&self) -> WordSplitter {
        let lowercase = self.lowercase;
        if self.split_identifiers { WordSplitter::Identifiers { lowercase } } else { WordSplitter::Gpt2 { lowercase } }
    }

    fn tokenizer(&self, merges: Vec<(String, String)>, name: &Path) -> Result<tokenizers::Tokenizer> {
        let json = self.json(&merges).to_string();
        tokenizers::Tokenizer::from_bytes(json)
            .map_err(|error| Error::file(name, format!("a learned tokenizer was not accepted: {error}")))
    }

    /// The tokenizer as `tokenizer.json` holds it.
    fn json(&self, merges: &[(String, String)]) -> Value {
        let special = SPECIAL.iter().map(|s| (*s).to_owned());
        let bytes = merges::alphabet().into_iter().map(String::from);
        let merged = merges.iter().map(|(left, right)| format!("{left}{right}"));
        let mut vocab = serde_json::Map::new();
        for token in special.chain(bytes).chain(merged) {
            // Two merges may lead to the same token.
            let next = vocab.len();
            vocab.entry(token).or_insert_with(|| json!(next));
        }
        let added = |(id, content): (usize, &&str)| {
            json!({"id": id, "content": content, "single_word": false, "lstrip": false, "rstrip": false,
                   "normalized": false, "special": true})
        };
        let (normalizer, pre_tokenizer) = self.splitter().json();
        let special = |id: &str| json!({"SpecialToken": {"id": id, "type_id": 0}});
        let text = |id: &str| json!({"Sequence": {"id": id, "type_id": 0}});
        let known = |id: usize| json!({"id": SPECIAL[id], "ids": [id], "tokens": [SPECIAL[id]]});
        let template = json!({
            "type": "TemplateProcessing",
            "single": [special("[CLS]"), text("A"), special("[SEP]")],
            "pair": [special("[CLS]"), text("A"), special("[SEP]"), text("B"), special("[SEP]")],
            "special_tokens": {"[CLS]": known(1), "[SEP]": known(2)},
        });
        json!({
            "version": "1.0",
            "truncation": null,
            "padding": null,
            "added_tokens": SPECIAL.iter().enumerate().map(added).collect::<Vec<_>>(),
            "normalizer": normalizer,
            "pre_tokenizer": pre_tokenizer,
            "post_processor": if self.special_tokens { template } else { Value::Null },
            "decoder": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
            "model": {
                "type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
                "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "ignore_merges": false,
                "vocab": vocab, "merges": merges,
            },
        })
    }
}

/// Texts of at most `bytes` bytes in all, spread evenly over the list.
fn sample<'a>(texts: &[&'a str], bytes: usize) -> Vec<&'a str> {
    let all: usize = texts.iter().map(|t| t.len()).sum();
    if all <= bytes {
        return texts.to_vec();
    }
    let mut taken = 0;
    let mut seen = 0;
    let mut chosen = Vec::new();
    for text in texts {
        seen += text.len();
        // As many bytes as the share of the list that was passed allows.
        if (taken + text.len()) as f64 <= seen as f64 * (bytes as f64 / all as f64) {
            taken += text.len();
            chosen.push(*text);
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXTS: [&str; 5] = [
        "fn parse_http_response(text: &str) -> Result<HttpResponse> { parseHTTPResponse2(text) }",
        "Parses an HTTP response from text. Parse the text; parsers parse responses.",
        "class HttpResponseParser2: def parse_response(self): return self.response",
        "日本語のテキスト and ünïcode responses 🦀",
        include_str!("words.rs"),
    ];

    fn train(config: &TokenizerConfig) -> Tokenizer {
        config.train(&TEXTS, Path::new("tokenizer.json")).unwrap()
    }

    fn tokens(tokenizer: &Tokenizer, text: &str) -> Vec<String> {
        tokenizer.encode("", text, 100).unwrap().into_iter().map(|id| tokenizer.token(id).unwrap()).collect()
    }

    #[test]
    fn identifiers_fall_apart_into_words() {
        let tokenizer = train(&TokenizerConfig { vocab_size: 500, min_frequency: 1, ..TokenizerConfig::default() });
        let expected = ["parse", "http", "response"];
        for text in ["parseHTTPResponse", "parse_http_response", "Parse HTTP response", "__parse__HttpResponse_"] {
            assert_eq!(tokens(&tokenizer, text), expected, "{text}");
        }
        assert_eq!(tokens(&tokenizer, "parse2 response"), ["parse", "2", "response"]);
        assert_eq!(tokens(&tokenizer, ""), [""; 0]);
        assert_eq!(tokens(&tokenizer, " _\n\t"), [""; 0]);
    }

    #[test]
    fn learning_is_the_same_every_time_and_survives_its_file() {
        let config = TokenizerConfig { vocab_size: 300, special_tokens: true, ..TokenizerConfig::default() };
        let one = train(&config);
        let turned: Vec<&str> = TEXTS.iter().rev().copied().collect();
        assert_eq!(one.to_json().unwrap(), config.train(&turned, Path::new("x")).unwrap().to_json().unwrap());
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokenizer.json");
        one.write(&path).unwrap();
        let other = Tokenizer::read(&path).unwrap();
        for text in TEXTS.iter().chain(&["", "x", "naïve"]) {
            assert_eq!(one.encode("", text, 64).unwrap(), other.encode("", text, 64).unwrap());
        }
        assert_eq!(one.encode("", "", 64).unwrap(), [1, 2]);
        assert_eq!(one.encode("", TEXTS[1], 5).unwrap().len(), 5);
        assert_eq!(one.encode("", TEXTS[1], 5).unwrap()[4], 2);
        assert_eq!(one.vocab_size(), 300);
        assert!(one.check_fits(300).is_ok());
        let error = other.check_fits(299).unwrap_err().to_string();
        assert!(error.contains("token ids up to 299, but the weights have 299 token vectors"), "{error}");
    }

    #[test]
    fn merges_are_those_of_the_tokenizers_library() {
        use tokenizers::{Model, models::bpe::BpeTrainer, pre_tokenizers::byte_level::ByteLevel};
        for split_identifiers in [true, false] {
            let config = TokenizerConfig { vocab_size: 340, split_identifiers, ..TokenizerConfig::default() };
            let ours = train(&config);
            let mut theirs = config.tokenizer(Vec::new(), Path::new("x")).unwrap();
            let mut trainer = BpeTrainer::builder()
                .show_progress(false)
                .vocab_size(340)
                .min_frequency(2)
                .initial_alphabet(ByteLevel::alphabet().into_iter().collect())
                .special_tokens(SPECIAL.iter().map(|s| tokenizers::AddedToken::from(*s, true)).collect())
                .build()
                .into();
            theirs.train::<tokenizers::models::TrainerWrapper, _, _>(&mut trainer, TEXTS.into_iter()).unwrap();
            let vocab = theirs.get_model().get_vocab();
            assert_eq!(vocab.len(), 340);
            for (token, id) in vocab {
                assert_eq!(ours.token(id).as_deref(), Some(token.as_str()), "{id}");
            }
        }
    }

    #[test]
    fn impossible_sizes_are_refused() {
        let error =
            TokenizerConfig { vocab_size: 100, ..TokenizerConfig::default() }.validate("tokenizer").unwrap_err();
        assert!(error.to_string().contains("tokenizer.vocab_size: got 100, expected at least 259"), "{error}");
    }

    #[test]
    fn a_sample_is_spread_over_the_list() {
        let texts: Vec<String> = (0..1000).map(|i| format!("{i:010}")).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let chosen = sample(&texts, 1000);
        assert_eq!(chosen.len(), 100);
        assert_eq!((chosen[0], chosen[99]), ("0000000009", "0000000999"));
        assert_eq!(sample(&texts, 10_000).len(), 1000);
    }
}
