//! The structures of a project's files, beside its index: each by the key of its text, so that a file that is touched changes
//! its own alone.

use std::{collections::HashMap, ops::Range};

use rayon::prelude::*;
use wb_code::{
    Language,
    structure::{FileStructure, StructureHead, lowers_by_rules, structure_of},
};
use wb_core::Progress;

use crate::{
    CodeIndex, Result,
    bytes::{Magic, OpenFile, Reader, Sealed, Writer, damaged},
    parts::PartChange,
};

const MAGIC: Magic = *b"wbstru\x00\x03";
/// Bytes that one byte of LZ4 stands for at most.
const MOST_PACKED: usize = 256;
/// Files that one thread reads at a time.
const TOGETHER: usize = 16;

/// A key of a text.
type TextKey = [u64; 2];

/// Structures by the keys of their texts.
#[derive(Debug, Clone)]
pub(crate) struct StructureStore {
    sealed: Sealed<2>,
    /// Heads, and places of the packed structures, by the keys of their texts.
    entries: HashMap<TextKey, (StructureHead, Range<usize>)>,
}

impl StructureStore {
    /// The store of a part; none where there is none, or one of another version.
    pub fn open(part: Option<&OpenFile>) -> Result<Option<Self>> {
        Sealed::read_part(&MAGIC, part, Self::of)
    }

    fn of(sealed: Sealed<2>) -> Result<Self> {
        let (mut from, mut entries, mut begin) = (Reader(sealed.section(0)), HashMap::new(), 0_usize);
        for _ in 0..from.number()? {
            let key = from.key()?;
            let length = usize::try_from(from.number()?).map_err(|_| damaged())?;
            let head_length = usize::try_from(from.number()?).map_err(|_| damaged())?;
            let head = StructureHead::from_bytes(from.bytes(head_length)?)?;
            let end = begin.checked_add(length).filter(|end| *end <= sealed.section(1).len()).ok_or_else(damaged)?;
            entries.insert(key, (head, begin..end));
            begin = end;
        }
        Ok(Self { sealed, entries })
    }

    /// The head of a file's structure: that which others have to know of it.
    pub fn head(&self, key: TextKey) -> Option<&StructureHead> {
        self.entries.get(&key).map(|(head, _)| head)
    }

    /// The bytes of a structure; names are in them as they are written.
    pub fn bytes(&self, key: TextKey) -> Option<Result<Vec<u8>>> {
        let (_, range) = self.entries.get(&key)?;
        let packed = self.sealed.section(1).get(range.clone()).unwrap_or_default();
        Some(unpack(packed))
    }

    /// Reads every structure; the number of them.
    pub fn verify(&self) -> Result<usize> {
        for key in self.entries.keys() {
            self.bytes(*key).transpose()?.map(|bytes| FileStructure::from_bytes(&bytes)).transpose()?;
        }
        Ok(self.entries.len())
    }

    /// Structures of all files of an index that have rules; what the part before has is taken from there. The number of files
    /// that were read for it.
    pub fn bring_up(
        before: Option<&OpenFile>,
        index: &CodeIndex,
        progress: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<(PartChange, usize)> {
        // A damaged one has nothing to keep.
        let before = Self::open(before).unwrap_or_default();
        let mut wanted: Vec<(usize, TextKey, Language)> = Vec::new();
        for (at, file) in index.files().iter().enumerate() {
            let language = Language::named(&file.language).filter(|language| lowers_by_rules(*language));
            wanted.extend(language.map(|language| (at, file.hash, language)));
        }
        wanted.sort_by_key(|(_, key, _)| *key);
        wanted.dedup_by_key(|(_, key, _)| *key);
        let is_known = |key: &TextKey| before.as_ref().is_some_and(|before| before.entries.contains_key(key));
        let (known, new): (Vec<_>, Vec<_>) = wanted.into_iter().partition(|(_, key, _)| is_known(key));
        if new.is_empty() && before.as_ref().is_some_and(|before| before.entries.len() == known.len()) {
            return Ok((PartChange::Kept, 0));
        }
        let made = lowered(index, &new, progress)?;
        let mut sections: [Writer; 2] = Default::default();
        sections[0].number((known.len() + made.len()) as u64);
        let mut add = |key: TextKey, head: &StructureHead, packed: &[u8]| -> Result<()> {
            let head = head.to_bytes()?;
            sections[0].key(&key);
            sections[0].number(packed.len() as u64);
            sections[0].number(head.len() as u64);
            sections[0].0.extend_from_slice(&head);
            sections[1].0.extend_from_slice(packed);
            Ok(())
        };
        for (_, key, _) in known {
            if let Some(before) = &before
                && let Some((head, range)) = before.entries.get(&key)
            {
                add(key, head, before.sealed.section(1).get(range.clone()).unwrap_or_default())?;
            }
        }
        let read = made.len();
        for (key, head, packed) in made {
            add(key, &head, &packed)?;
        }
        let sealed = Sealed::of(&MAGIC, &sections.each_ref().map(|section| section.0.as_slice()));
        Ok((PartChange::Made(sealed.bytes().clone()), read))
    }
}

type Packed = (TextKey, StructureHead, Vec<u8>);

/// Structures of files as they are, on all threads; a file that has changed meanwhile is left out.
fn lowered(
    index: &CodeIndex,
    new: &[(usize, TextKey, Language)],
    progress: &mut (dyn FnMut(Progress) + Send),
) -> Result<Vec<Packed>> {
    let mut made = Vec::with_capacity(new.len());
    for wave in new.chunks(TOGETHER * 4 * rayon::current_num_threads()) {
        let one = |(at, key, language): &(usize, TextKey, Language)| -> Result<Option<Packed>> {
            let Some(text) = index.current_text(*at) else { return Ok(None) };
            let structure = structure_of(&text, *language);
            Ok(Some((*key, StructureHead::of(&structure), lz4_flex::compress_prepend_size(&structure.to_bytes()?))))
        };
        let parts: Vec<Option<Packed>> = wave.par_iter().with_max_len(TOGETHER).map(one).collect::<Result<_>>()?;
        made.extend(parts.into_iter().flatten());
        progress(Progress::new("reading structures", made.len(), new.len()));
    }
    Ok(made)
}

/// Unpacks what says how long it is, which is not believed beyond what is possible.
fn unpack(packed: &[u8]) -> Result<Vec<u8>> {
    let length = packed.first_chunk().map(|four| u32::from_le_bytes(*four) as usize).ok_or_else(damaged)?;
    if length > packed.len().saturating_mul(MOST_PACKED) {
        return Err(damaged());
    }
    lz4_flex::decompress_size_prepended(packed).map_err(|_| damaged())
}
