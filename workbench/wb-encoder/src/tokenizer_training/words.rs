//! Texts to counted words, split as the tokenizer to be learned will split them.

use std::collections::HashMap;

use rayon::prelude::*;
use tokenizers::{
    Normalizer, OffsetReferential, OffsetType, PreTokenizedString, PreTokenizer, normalizer::NormalizedString,
};

use crate::{error::Result, tokenizer::failed, word_splitter::WordSplitter};

/// Counts the words of the texts; words are written in the byte-level alphabet.
pub(super) fn count(
    tokenizer: &tokenizers::Tokenizer,
    splitter: WordSplitter,
    texts: &[&str],
) -> Result<HashMap<String, u64>> {
    let chunk = |texts: &[&str]| -> Result<HashMap<String, u64>> {
        let mut counts = HashMap::new();
        let mut add = |word: &str| {
            match counts.get_mut(word) {
                Some(count) => *count += 1,
                None => {
                    counts.insert(word.to_owned(), 1);
                }
            }
            true
        };
        for text in texts {
            match splitter.takes(text) {
                true => splitter.split(text, &mut add),
                false => split(tokenizer, text, &mut add)?,
            }
        }
        Ok(counts)
    };
    texts.par_chunks(256).map(chunk).try_reduce(HashMap::new, |mut all, mut more| {
        if all.len() < more.len() {
            std::mem::swap(&mut all, &mut more);
        }
        for (word, count) in more {
            *all.entry(word).or_default() += count;
        }
        Ok(all)
    })
}

/// Words as the tokenizer itself sees them.
fn split(tokenizer: &tokenizers::Tokenizer, text: &str, add: &mut impl FnMut(&str) -> bool) -> Result<()> {
    let mut normalized = NormalizedString::from(text);
    if let Some(normalizer) = tokenizer.get_normalizer() {
        normalizer.normalize(&mut normalized).map_err(failed("normalizing a text"))?;
    }
    let mut pieces = PreTokenizedString::from(normalized);
    if let Some(pre_tokenizer) = tokenizer.get_pre_tokenizer() {
        pre_tokenizer.pre_tokenize(&mut pieces).map_err(failed("splitting a text into words"))?;
    }
    for (word, _, _) in pieces.get_splits(OffsetReferential::Normalized, OffsetType::Byte) {
        if !word.is_empty() {
            add(word);
        }
    }
    Ok(())
}
