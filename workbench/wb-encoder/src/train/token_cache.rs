//! Token ids of texts, made once where memory allows.

use std::{
    collections::HashMap,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use wb_core::Side;

use crate::error::Result;

/// A text to tokenize, and what decides its tokens besides the text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TokenizeRequest<'a> {
    /// The text.
    pub text: &'a str,
    /// Its side.
    pub side: Side,
    /// Put before it; none for the encoder's own prompt.
    pub prompt: Option<&'a str>,
    /// Cut to so many tokens, special tokens included; none for the encoder's own limit, and never more than that.
    pub max_tokens: Option<usize>,
}

/// Text to token ids as the model wants them: prompt, special tokens and truncation included.
pub type Tokenize<'a> = dyn Fn(TokenizeRequest<'_>) -> Result<Vec<u32>> + Sync + 'a;

/// Shards of the cache, so that threads seldom wait for each other.
const SHARDS: usize = 32;

/// Bytes that an entry of the cache costs besides its ids.
const ENTRY: usize = 64;

/// Ids by the numbers of text and view.
type Shard = HashMap<(u32, u32), Arc<[u32]>>;

/// Token ids by text and view (see [`super::views::Views`]), kept up to a number of bytes;
/// what does not fit is made again each time.
#[derive(Debug)]
pub struct TokenCache {
    shards: Vec<RwLock<Shard>>,
    room: AtomicUsize,
}

impl TokenCache {
    /// A cache with room for so many bytes.
    pub fn new(bytes: usize) -> Self {
        Self { shards: (0..SHARDS).map(|_| RwLock::default()).collect(), room: AtomicUsize::new(bytes) }
    }

    /// Appends a text's token ids to `into`, from the cache or from `tokenize`. Returns how many.
    pub fn append(
        &self,
        text: u32,
        view: u32,
        into: &mut Vec<u32>,
        tokenize: impl FnOnce() -> Result<Vec<u32>>,
    ) -> Result<usize> {
        let shard = &self.shards[text as usize % SHARDS];
        let kept = shard.read().unwrap_or_else(PoisonError::into_inner).get(&(text, view)).map(Arc::clone);
        if let Some(ids) = kept {
            into.extend_from_slice(&ids);
            return Ok(ids.len());
        }
        let ids = tokenize()?;
        into.extend_from_slice(&ids);
        let bytes = size_of_val(ids.as_slice()) + ENTRY;
        let count = ids.len();
        let reserve = |room: usize| room.checked_sub(bytes);
        if self.room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, reserve).is_ok() {
            // Another thread may have been quicker with the same ids; then this copy takes its place.
            shard.write().unwrap_or_else(PoisonError::into_inner).insert((text, view), ids.into());
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_made_again() {
        let cache = TokenCache::new(ENTRY + 12);
        let (mut into, mut made) = (Vec::new(), 0);
        for (text, view) in [(0, 0), (1, 0), (0, 0), (0, 1), (1, 0)] {
            let count = cache.append(text, view, &mut into, || {
                made += 1;
                Ok(vec![10 * view + text; 2])
            });
            assert_eq!(count.unwrap(), 2);
        }
        assert_eq!(into, [0, 0, 1, 1, 0, 0, 10, 10, 1, 1]);
        assert_eq!(made, 4, "8 of 12 bytes hold the first text in its first view, nothing else fits");
    }
}
