//! Preparation in parts that many machines work at, with the result of one: pairs are read, filtered and sketched file by
//! file ([`PartWriter`]), candidates for near duplicates found by ranges of keys ([`PartMatcher`]) and verified by ranges of
//! texts ([`verified`]), and what is left to decide in order is decided by one process ([`merge_parts`]).

mod matching;
mod merge;
mod sketched;
mod sliced;

pub use self::{
    matching::{PartMatcher, verified},
    merge::{NearFiles, SketchedFiles, merge_parts},
    sketched::{PartCount, PartFile, PartWriter, SketchedPart},
    sliced::{Slice, SlicedFile, slices},
};

/// Ranges of keys, and of texts, that the work is cut by.
pub const RANGES: usize = crate::near::FILES;

/// Shingles of the texts of a part, for whoever verifies: the bytes, and the number of shingles of each text.
pub type PartShingles = (std::sync::Arc<dyn wb_core::RangeReader>, Vec<u32>);

fn shingles(parts: Vec<PartShingles>, threshold: f64) -> crate::near::Shingles {
    let parts = parts.into_iter().map(|(bytes, lengths)| crate::near::ShinglesPart::new(bytes, &lengths));
    crate::near::Shingles::new(parts.collect(), threshold)
}
