//! Groups of texts that one thread takes together.

use std::ops::Range;

use crate::{
    batch::TokenBatch,
    error::{Error, Result},
};

/// Some neighbouring texts of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Their positions in the batch.
    pub texts: Range<usize>,
    /// Their tokens' positions in the batch.
    pub tokens: Range<usize>,
}

/// Cuts a batch into groups of about `tokens` tokens; the cut depends on the batch alone.
pub fn groups(batch: &TokenBatch, tokens: usize) -> Vec<Group> {
    let offsets = batch.offsets();
    let mut groups = Vec::new();
    let mut first = 0;
    for text in 0..batch.len() {
        if offsets[text + 1] - offsets[first] >= tokens || text + 1 == batch.len() {
            groups.push(Group { texts: first..text + 1, tokens: offsets[first]..offsets[text + 1] });
            first = text + 1;
        }
    }
    groups
}

/// Refuses a batch that a model with these limits cannot take.
pub fn check(batch: &TokenBatch, vocab_size: usize, max_tokens: usize) -> Result<()> {
    for (at, text) in batch.texts().enumerate() {
        if text.len() > max_tokens {
            return Err(refuse(at, format!("{} tokens, the model takes {max_tokens}", text.len())));
        }
        if let Some(id) = text.iter().find(|id| **id as usize >= vocab_size) {
            return Err(refuse(at, format!("token id {id}, the model knows 0 to {}", vocab_size - 1)));
        }
    }
    Ok(())
}

fn refuse(at: usize, message: String) -> Error {
    wb_core::Error::data(format!("text {at} of a batch"), message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_is_in_one_group() {
        let texts: Vec<Vec<u32>> = [3, 5, 1, 9, 2, 0].iter().map(|n| vec![0; *n]).collect();
        let batch = TokenBatch::new(texts.iter().map(Vec::as_slice));
        let groups = groups(&batch, 8);
        assert_eq!(groups.iter().map(|g| g.texts.clone()).collect::<Vec<_>>(), [0..2, 2..4, 4..6]);
        assert_eq!(groups.iter().map(|g| g.tokens.clone()).collect::<Vec<_>>(), [0..8, 8..18, 18..20]);
        assert!(check(&batch, 1, 9).is_ok());
        assert!(check(&batch, 1, 8).unwrap_err().to_string().contains("text 3"));
    }
}
