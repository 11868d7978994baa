//! A guide's vectors of texts, made once where memory allows: its time is that of one epoch, however many there are.

use std::{
    borrow::Cow,
    collections::HashMap,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use ndarray::{Array2, ArrayView1};
use wb_core::{Result, Side, progress::silent};

use super::Guide;
use crate::error::of_guide;

/// Bytes of a guide's vectors that are kept from epoch to epoch.
pub const GUIDE_CACHE: usize = 1 << 29;
/// Bytes that an entry of the cache costs besides its vector.
pub const ENTRY: usize = 64;
/// Shards of the cache, so that threads seldom wait for each other.
const SHARDS: usize = 32;

/// Vectors by the number of a text and its side.
type Shard = HashMap<(u32, Side), Arc<[f32]>>;

/// A guide with its vectors, kept up to a number of bytes; what does not fit is made again each time.
///
/// On the processor a text's vector does not depend on the texts beside it, so that a training which was stopped, and begins
/// with nothing kept, goes on to the same bytes.
pub struct CachedGuide<'a> {
    guide: &'a Guide<'a>,
    shards: Vec<RwLock<Shard>>,
    room: AtomicUsize,
}

impl<'a> CachedGuide<'a> {
    /// A guide with room for so many bytes.
    pub fn new(guide: &'a Guide<'a>, bytes: usize) -> Self {
        Self { guide, shards: (0..SHARDS).map(|_| RwLock::default()).collect(), room: AtomicUsize::new(bytes) }
    }

    /// Vectors of a side's texts, given by their numbers: those that are kept, and all others by one call of the guide, in
    /// which each stands once.
    ///
    /// # Shapes
    /// `[texts, dim]`
    pub fn embed<'t>(
        &self,
        side: Side,
        numbers: &[u32],
        text: &dyn Fn(u32) -> Result<Cow<'t, str>>,
    ) -> Result<Array2<f32>> {
        let mut vectors = Array2::zeros((numbers.len(), self.guide.dim()));
        let mut missing: Vec<u32> = Vec::new();
        let mut rows: HashMap<u32, Vec<usize>> = HashMap::new();
        for (row, number) in numbers.iter().enumerate() {
            let kept = self.shard(*number).read().unwrap_or_else(PoisonError::into_inner);
            if let Some(kept) = kept.get(&(*number, side)) {
                vectors.row_mut(row).assign(&ArrayView1::from(&**kept));
                continue;
            }
            let of_text = rows.entry(*number).or_default();
            if of_text.is_empty() {
                missing.push(*number);
            }
            of_text.push(row);
        }
        if missing.is_empty() {
            return Ok(vectors);
        }
        let texts = missing.iter().map(|number| text(*number)).collect::<Result<Vec<_>>>()?;
        let texts: Vec<&str> = texts.iter().map(AsRef::as_ref).collect();
        let found = self.guide.encode_single_vector(&texts, side, &mut silent);
        let found = found.map_err(|error| of_guide(&self.guide.name(), error))?;
        for (number, vector) in missing.into_iter().zip(found.view().rows()) {
            rows.remove(&number).into_iter().flatten().for_each(|row| vectors.row_mut(row).assign(&vector));
            self.keep((number, side), vector);
        }
        Ok(vectors)
    }

    fn keep(&self, key: (u32, Side), vector: ArrayView1<'_, f32>) {
        let bytes = size_of::<f32>() * vector.len() + ENTRY;
        let reserve = |room: usize| room.checked_sub(bytes);
        if self.room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, reserve).is_ok() {
            // Another thread may have been quicker with the same vector; then this copy takes its place.
            let mut shard = self.shard(key.0).write().unwrap_or_else(PoisonError::into_inner);
            shard.insert(key, vector.iter().copied().collect());
        }
    }

    fn shard(&self, number: u32) -> &RwLock<Shard> {
        &self.shards[number as usize % SHARDS]
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use wb_core::{Embeddings, Encoder, Progress, fingerprint::Fingerprint};

    use super::*;

    /// Says a text's length and side, and writes down what it was asked.
    #[derive(Default)]
    struct Asked(Mutex<Vec<String>>);

    impl Encoder for Asked {
        fn name(&self) -> String {
            "asked".into()
        }

        fn dim(&self) -> usize {
            2
        }

        fn fingerprint(&self) -> Fingerprint {
            Fingerprint::of_bytes(b"asked")
        }

        fn encode(
            &self,
            texts: &[&str],
            side: Side,
            _: &mut dyn FnMut(Progress),
        ) -> std::result::Result<Embeddings, wb_core::encoder::EncodeError> {
            self.0.lock().unwrap().push(texts.join(" "));
            let number = |(row, column): (usize, usize)| match column {
                0 => texts[row].len() as f32,
                _ => f32::from(u8::from(side == Side::Query)),
            };
            Ok(Embeddings::dense(Array2::from_shape_fn((texts.len(), 2), number)))
        }
    }

    #[test]
    fn each_text_is_asked_once_for_each_side_as_long_as_there_is_room() {
        let text = |number: u32| Ok(Cow::Owned("x".repeat(number as usize)));
        let asked = Asked::default();
        let told = |guide: &CachedGuide<'_>| {
            let of = |side, numbers: &[u32]| {
                let vectors = guide.embed(side, numbers, &text).unwrap();
                let expected: Vec<f32> = numbers.iter().map(|number| *number as f32).collect();
                assert_eq!(vectors.column(0).to_vec(), expected);
                assert!(vectors.column(1).iter().all(|query| (*query == 1.0) == (side == Side::Query)));
            };
            of(Side::Query, &[1, 2, 1]);
            of(Side::Document, &[2, 3]);
            of(Side::Query, &[3, 1, 2]);
            of(Side::Document, &[3, 2, 3]);
            of(Side::Document, &[]);
            std::mem::take(&mut *asked.0.lock().unwrap())
        };
        assert_eq!(told(&CachedGuide::new(&asked, 10_000)), ["x xx", "xx xxx", "xxx"]);
        // Room for one vector: the first.
        assert_eq!(told(&CachedGuide::new(&asked, ENTRY + 8)), ["x xx", "xx xxx", "xxx xx", "xxx xx"]);
    }
}
