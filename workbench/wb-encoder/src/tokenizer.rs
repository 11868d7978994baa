//! Text to token ids: a `tokenizer.json` as the hub's libraries read it, with lengths decided here.

use std::{
    collections::HashMap,
    ops::Range,
    path::{Path, PathBuf},
};

use rayon::prelude::*;
use tokenizers::{
    AddedToken, Model, NormalizerWrapper,
    normalizers::{Lowercase, Sequence},
    processors::template::TemplateProcessing,
};
use wb_core::atomic;

use crate::{
    error::{Error, Result},
    word_splitter::WordSplitter,
};

/// A tokenizer. Truncation and padding written in its file are not used: lengths are the encoder's business.
#[derive(Debug, Clone)]
pub struct Tokenizer {
    inner: tokenizers::Tokenizer,
    /// Special tokens before every text.
    before: Vec<u32>,
    /// Special tokens after every text.
    after: Vec<u32>,
    /// Texts that would be taken for special tokens.
    added: Vec<String>,
    /// A quick way to split plain texts into words, where one is known.
    splitter: Option<WordSplitter>,
    /// The file that it came from, for messages.
    path: PathBuf,
}

/// Token ids of a text, and where in the text they stand.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PlacedTokens {
    /// Token ids, prompt and special tokens included.
    pub ids: Vec<u32>,
    /// The bytes of the text that a token stands for; `None` for special tokens and for the prompt's.
    pub places: Vec<Option<Range<usize>>>,
}

/// Names of the token that stands for a hidden one. The last is a way out: texts are not padded here,
/// so that the vector of padding is free for it.
const MASK_TOKENS: [&str; 4] = ["[MASK]", "<mask>", "<|mask|>", "[PAD]"];

/// Token ids of words that were seen, so that each is looked up once.
#[derive(Default)]
struct Words {
    ids: Vec<u32>,
    place: HashMap<String, Range<usize>>,
}

/// Texts that share one [`Words`].
const CHUNK: usize = 512;

impl Tokenizer {
    /// Reads a `tokenizer.json`.
    pub fn read(path: &Path) -> Result<Self> {
        let bytes = std::fs::read(path).map_err(Error::io("read", path))?;
        let inner = tokenizers::Tokenizer::from_bytes(&bytes).map_err(|error| {
            Error::file(path, format!("is not a tokenizer: {error}"))
                .with_hint("expected a `tokenizer.json` as written by the tokenizers library")
        })?;
        Self::new(inner, path)
    }

    /// Takes a tokenizer of the library; `path` is where it came from, for messages.
    pub fn new(mut inner: tokenizers::Tokenizer, path: &Path) -> Result<Self> {
        inner.with_truncation(None).map_err(failed("turning truncation off"))?;
        inner.with_padding(None);
        let added = inner.get_added_tokens_decoder().into_values().map(|token| token.content).collect();
        let splitter = WordSplitter::of(&inner);
        let (before, after) = (Vec::new(), Vec::new());
        let mut tokenizer = Self { inner, before, after, added, splitter, path: path.to_owned() };
        tokenizer.find_special_tokens()?;
        Ok(tokenizer)
    }

    /// Leaves out the special tokens around texts, as bags of token vectors want it.
    #[must_use]
    pub fn without_special_tokens(mut self) -> Self {
        self.before.clear();
        self.after.clear();
        self
    }

    /// Puts other special tokens around every text, in what is written of it too.
    ///
    /// # Errors
    ///
    /// If one of them is no token.
    pub(crate) fn surrounded_by(mut self, before: &[&str], after: &[&str]) -> Result<Self> {
        let named = before.iter().chain(after).map(|token| {
            let id = self.id(token).ok_or_else(|| Error::file(&self.path, format!("has no token `{token}`")))?;
            Ok(((*token).to_owned(), id))
        });
        let mut special: Vec<(String, u32)> = named.collect::<Result<_>>()?;
        special.sort();
        special.dedup();
        let pieces: Vec<&str> = before.iter().copied().chain(["$A"]).chain(after.iter().copied()).collect();
        let template = TemplateProcessing::builder()
            .try_single(pieces)
            .and_then(|builder| builder.special_tokens(special).build().map_err(|error| error.to_string()))
            .map_err(|error| failed("putting special tokens around texts")(error.into()))?;
        self.inner.with_post_processor(Some(template));
        self.find_special_tokens()?;
        Ok(self)
    }

    /// Lowercases texts before all else that it does to them. Characters are taken one by one: a sigma at
    /// the end of a word becomes σ, where Python's `lower()` has ς.
    pub fn lowercased(mut self) -> Result<Self> {
        let mut steps: Vec<NormalizerWrapper> = vec![Lowercase.into()];
        match self.inner.get_normalizer().cloned() {
            Some(NormalizerWrapper::Sequence(sequence)) => steps.extend(sequence.as_ref().iter().cloned()),
            Some(other) => steps.push(other),
            None => {}
        }
        self.inner.with_normalizer(Some(Sequence::new(steps))).map_err(failed("turning lower-casing on"))?;
        self.splitter = WordSplitter::of(&self.inner);
        Ok(self)
    }

    /// Switches BERT's own lower-casing (and its removal of accents, which follows it) on or off;
    /// says whether that changed anything. Other tokenizers stay as they are.
    pub(crate) fn set_bert_lowercase(&mut self, lowercase: bool) -> Result<bool> {
        let Some(NormalizerWrapper::BertNormalizer(mut bert)) = self.inner.get_normalizer().cloned() else {
            return Ok(false);
        };
        if bert.lowercase == lowercase {
            return Ok(false);
        }
        bert.lowercase = lowercase;
        self.inner.with_normalizer(Some(bert)).map_err(failed("changing lower-casing"))?;
        self.splitter = WordSplitter::of(&self.inner);
        Ok(true)
    }

    /// Token ids of one text after its prompt, cut to `max_tokens` with special tokens counted.
    pub fn encode(&self, prompt: &str, text: &str, max_tokens: usize) -> Result<Vec<u32>> {
        self.encode_with(prompt, text, max_tokens, &mut Words::default())
    }

    fn encode_with(&self, prompt: &str, text: &str, max_tokens: usize, words: &mut Words) -> Result<Vec<u32>> {
        let joined;
        let text = match prompt {
            "" => text,
            _ => {
                joined = format!("{prompt}{text}");
                &joined
            }
        };
        let room = max_tokens.saturating_sub(self.special_tokens());
        let mut ids = self.before.clone();
        match self
            .splitter
            .filter(|splitter| splitter.takes(text) && !self.added.iter().any(|added| text.contains(added)))
        {
            Some(splitter) => self.append_words(splitter, text, room, words, &mut ids)?,
            None => {
                let encoding = self.inner.encode_fast(text, false).map_err(failed("splitting a text"))?;
                ids.extend(encoding.get_ids().iter().take(room));
            }
        }
        ids.extend(&self.after);
        Ok(ids)
    }

    /// The ids of [`Tokenizer::encode`], with their places in the text. Always takes the library's general way,
    /// which is several times slower.
    pub fn encode_with_places(&self, prompt: &str, text: &str, max_tokens: usize) -> Result<PlacedTokens> {
        let joined = format!("{prompt}{text}");
        let room = max_tokens.saturating_sub(self.special_tokens());
        let encoding = self.inner.encode(joined.as_str(), false).map_err(failed("splitting a text"))?;
        let own = encoding.get_ids().iter().zip(encoding.get_offsets()).take(room);
        let mut tokens = PlacedTokens { ids: self.before.clone(), places: vec![None; self.before.len()] };
        for (id, (begin, end)) in own {
            // A token that begins in the prompt, such as a word at its end, is not the text's alone.
            let place = begin.checked_sub(prompt.len()).map(|begin| begin..end - prompt.len());
            tokens.ids.push(*id);
            tokens.places.push(place);
        }
        tokens.ids.extend(&self.after);
        tokens.places.resize(tokens.ids.len(), None);
        Ok(tokens)
    }

    /// Token ids and types of two short texts as one, with the special tokens that the file puts around and between.
    pub(crate) fn encode_two(&self, first: &str, second: &str) -> Result<(Vec<u32>, Vec<u32>)> {
        let encoding = self.inner.encode_fast((first, second), true).map_err(failed("trying it on two words"))?;
        Ok((encoding.get_ids().to_vec(), encoding.get_type_ids().to_vec()))
    }

    /// The token that stands for a hidden one, where there is one.
    pub fn mask_token(&self) -> Option<u32> {
        MASK_TOKENS.into_iter().find_map(|token| self.inner.token_to_id(token))
    }

    /// Appends at most `room` token ids of a plain text.
    fn append_words(
        &self,
        splitter: WordSplitter,
        text: &str,
        room: usize,
        words: &mut Words,
        ids: &mut Vec<u32>,
    ) -> Result<()> {
        let limit = ids.len() + room;
        let mut failure = None;
        splitter.split(text, &mut |word| {
            if ids.len() >= limit {
                return false;
            }
            if let Some(place) = words.place.get(word) {
                ids.extend(&words.ids[place.clone()]);
                return true;
            }
            match self.inner.get_model().tokenize(word) {
                Ok(tokens) => {
                    let begin = words.ids.len();
                    words.ids.extend(tokens.iter().map(|token| token.id));
                    ids.extend(&words.ids[begin..]);
                    words.place.insert(word.to_owned(), begin..words.ids.len());
                    true
                }
                Err(error) => {
                    failure = Some(failed("splitting a word")(error));
                    false
                }
            }
        });
        ids.truncate(limit);
        failure.map_or(Ok(()), Err)
    }

    /// [`Tokenizer::encode`] for many texts on all threads; row `i` belongs to `texts[i]`.
    pub fn encode_all(&self, prompt: &str, texts: &[&str], max_tokens: usize) -> Result<Vec<Vec<u32>>> {
        let chunk = |texts: &[&str]| -> Result<Vec<Vec<u32>>> {
            let mut words = Words::default();
            texts.iter().map(|text| self.encode_with(prompt, text, max_tokens, &mut words)).collect()
        };
        let chunks: Vec<Vec<Vec<u32>>> = texts.par_chunks(CHUNK).map(chunk).collect::<Result<_>>()?;
        Ok(chunks.into_iter().flatten().collect())
    }

    /// One token by its id, with the special tokens around it.
    pub(crate) fn alone(&self, id: u32) -> Vec<u32> {
        self.before.iter().copied().chain([id]).chain(self.after.iter().copied()).collect()
    }

    /// Number of special tokens around every text.
    pub fn special_tokens(&self) -> usize {
        self.before.len() + self.after.len()
    }

    /// Texts that are taken for a token of their own wherever they stand.
    pub(crate) fn added(&self) -> &[String] {
        &self.added
    }

    /// True where a text is one of the added tokens.
    pub(crate) fn is_added(&self, token: &str) -> bool {
        self.added.iter().any(|added| added == token)
    }

    /// Recognizes some of its tokens in texts as they are, as markers have to be where others read them.
    pub(crate) fn recognizing(mut self, tokens: &[&str]) -> Result<Self> {
        let special = tokens.iter().map(|token| AddedToken::from(*token, true).normalized(false));
        self.inner.add_special_tokens(special).map_err(failed("adding special tokens"))?;
        self.added = self.inner.get_added_tokens_decoder().into_values().map(|token| token.content).collect();
        Ok(self)
    }

    /// Number of special tokens before every text.
    pub fn special_tokens_before(&self) -> usize {
        self.before.len()
    }

    /// The largest token id, plus one.
    pub fn vocab_size(&self) -> usize {
        self.inner.get_vocab(true).values().max().map_or(0, |id| *id as usize + 1)
    }

    /// Refuses a vocabulary with ids that have no vector.
    pub fn check_fits(&self, vectors: usize) -> Result<()> {
        let tokens = self.vocab_size();
        if tokens <= vectors {
            return Ok(());
        }
        Err(Error::file(
            &self.path,
            format!("has token ids up to {}, but the weights have {vectors} token vectors", tokens - 1),
        )
        .with_hint("use the tokenizer that the weights were trained with"))
    }

    /// The token's text for an id.
    pub fn token(&self, id: u32) -> Option<String> {
        self.inner.id_to_token(id)
    }

    /// The id of a token's text.
    pub fn id(&self, token: &str) -> Option<u32> {
        self.inner.token_to_id(token)
    }

    /// The whole tokenizer as JSON: what is written, and what decides its ids.
    pub fn to_json(&self) -> Result<String> {
        let json = self.inner.to_string(true).map_err(failed("writing itself as JSON"))?;
        Ok(json + "\n")
    }

    /// Writes a `tokenizer.json`.
    pub fn write(&self, path: &Path) -> Result<()> {
        atomic::write(path, self.to_json()?.as_bytes())
    }

    /// Learns from one word what the file puts before and after every text.
    fn find_special_tokens(&mut self) -> Result<()> {
        let ids = |special| -> Result<Vec<u32>> {
            let encoding = self.inner.encode_fast("a", special).map_err(failed("trying it on a word"))?;
            Ok(encoding.get_ids().to_vec())
        };
        let (own, all) = (ids(false)?, ids(true)?);
        let Some(at) = all.windows(own.len().max(1)).position(|window| window == own) else {
            return Err(Error::file(
                &self.path,
                format!("turns a word of ids {own:?} into {all:?}, expected special tokens only before and after"),
            ));
        };
        let (before, after) = (all[..at].to_vec(), all[at + own.len()..].to_vec());
        (self.before, self.after) = (before, after);
        Ok(())
    }
}

pub(crate) fn failed(what: &str) -> impl FnOnce(tokenizers::Error) -> Error {
    move |source| Error::failed(format!("tokenizer: {what}")).with_cause(source)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The general way of the library, which every quick way must equal.
    fn general(tokenizer: &Tokenizer, text: &str) -> Vec<u32> {
        tokenizer.inner.encode(text, true).unwrap().get_ids().to_vec()
    }

    fn tiny(name: &str) -> Tokenizer {
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
        Tokenizer::read(&golden.join(name).join("tokenizer.json")).unwrap()
    }

    #[test]
    fn real_code_gets_the_same_ids_quickly() {
        let bert = tiny("tiny-bert");
        assert_eq!(bert.splitter, Some(WordSplitter::Bert { lowercase: true }));
        let sources = [include_str!("tokenizer.rs"), include_str!("weights/mod.rs"), include_str!("word_splitter.rs")];
        let texts: Vec<&str> = sources.iter().flat_map(|s| s.split_inclusive("\n}\n")).collect();
        for tokenizer in [bert, tiny("tiny-roberta")] {
            // Its file's own truncation and padding are off.
            let quick = tokenizer.encode_all("", &texts, usize::MAX).unwrap();
            for (text, quick) in texts.iter().zip(quick) {
                assert_eq!(quick, general(&tokenizer, text), "{text}");
            }
        }
    }

    #[test]
    fn places_are_those_of_the_text_and_ids_are_the_same() {
        for (tokenizer, mask) in [(tiny("tiny-bert"), "[MASK]"), (tiny("tiny-roberta"), "<mask>")] {
            assert_eq!(tokenizer.token(tokenizer.mask_token().unwrap()).unwrap(), mask);
            let source = include_str!("tokenizer.rs");
            let mut texts: Vec<&str> = source.split_inclusive("\n}\n").collect();
            texts.extend(["", "naïve café, Grüße, Σ", "文字列を逆順にする関数"]);
            for text in texts {
                for (prompt, most) in [("", usize::MAX), ("search_code: ", 40)] {
                    let found = tokenizer.encode_with_places(prompt, text, most).unwrap();
                    assert_eq!(found.ids, tokenizer.encode(prompt, text, most).unwrap());
                    assert_eq!(found.ids.len(), found.places.len());
                    assert!(found.places[0].is_none() && found.places.last().unwrap().is_none());
                    let mut before = 0;
                    for (id, place) in found.ids.iter().zip(&found.places) {
                        let Some(place) = place else { continue };
                        // Tokens follow each other; letters of several bytes may be several tokens at one place.
                        assert!(before <= place.start && place.end <= text.len());
                        before = place.start;
                        let token = tokenizer.token(*id).unwrap();
                        let of_text = text[place.clone()].trim().to_lowercase();
                        let plain = token.trim_start_matches("##").trim_start_matches('Ġ').to_lowercase();
                        if of_text.is_ascii() && plain.is_ascii() && token != "[UNK]" {
                            assert_eq!(of_text, plain, "{text}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn special_tokens_in_a_text_are_seen_as_the_library_sees_them() {
        let bert = tiny("tiny-bert");
        for text in ["a [SEP] b", "[CLS]", "[MASK]sort", "[mask]"] {
            assert_eq!(bert.encode("", text, 64).unwrap(), general(&bert, text), "{text}");
        }
    }
}
