//! The names of an `index.scip`, beside the index: each file's with the key of the text that they are of.
//!
//! SCIP itself does not say which text it is of. That is decided once, when it is read: a file whose text has the
//! names where SCIP defines them is the text, and its key is kept. The same SCIP gives a file no other key later on.

use std::{
    collections::{HashMap, HashSet},
    fs::Metadata,
    path::Path,
    time::UNIX_EPOCH,
};

use serde::Serialize;
use wb_code::structure::{
    ExactNames,
    file::BindingKind,
    scip::{SCIP_FILE, ScipIndex, ScipSymbol, SymbolSpan},
};

use crate::{
    CodeIndex, Error, Result,
    bytes::{Magic, OpenFile, Reader, Sealed, Writer, damaged},
    parts::{IndexPart, PartChange},
};

const MAGIC: Magic = *b"wbscip\x00\x01";
/// Kinds of symbols by their numbers.
const KINDS: [BindingKind; 6] = [
    BindingKind::Variable,
    BindingKind::Function,
    BindingKind::Class,
    BindingKind::Module,
    BindingKind::Parameter,
    BindingKind::Field,
];

/// The files of a project that an indexer has read, and those that it has read as they are now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ScipCoverage {
    /// Files that it names.
    pub documents: usize,
    /// Files whose names are taken from it: those that are as it saw them.
    pub current: usize,
}

impl ScipCoverage {
    /// Coverage of an index, where there is an `index.scip`.
    pub fn of(index: &CodeIndex) -> Result<Option<Self>> {
        let keys = index.files().iter().map(|file| (file.path.as_str(), file.hash)).collect::<HashMap<_, _>>();
        let kept = ScipStore::open(index.parts().get(IndexPart::Scip))?;
        Ok(kept.map(|kept| kept.exact(|path, key| keys.get(path) == Some(&key)).1))
    }
}

/// The SCIP that was read, so that it is not read again.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ScipSource {
    path: String,
    length: u64,
    modified: u64,
    hash: [u8; blake3::OUT_LEN],
}

/// A file as SCIP knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct KeptDocument {
    path: String,
    /// The key of the text that the names are of; none where no text was found that they can be of.
    key: Option<[u64; 2]>,
    /// Names; of one without a text, those that it defines, at no place.
    names: Vec<SymbolSpan>,
}

/// Names of the files of an index, by an indexer.
#[derive(Debug, Clone)]
pub(crate) struct ScipStore {
    source: ScipSource,
    symbols: Vec<ScipSymbol>,
    documents: Vec<KeptDocument>,
}

impl ScipStore {
    /// The store of a part; none where there is none, or one of another version.
    pub fn open(part: Option<&OpenFile>) -> Result<Option<Self>> {
        Sealed::<1>::read_part(&MAGIC, part, |sealed| Self::of_bytes(sealed.section(0)))
    }

    /// Reads the SCIP that is named, else the one that was read before, else the one at the project's root; nothing is done
    /// where it is what it was.
    pub fn bring_up(part: Option<&OpenFile>, index: &CodeIndex, named: Option<&Path>) -> Result<PartChange> {
        // A damaged one has nothing to keep.
        let before = Self::open(part).unwrap_or_default();
        let at_root = index.root().join(SCIP_FILE);
        let from_before = before.as_ref().map(|before| Path::new(&before.source.path).to_owned());
        let from = match (named, from_before.clone()) {
            (Some(named), _) => std::path::absolute(named).map_err(Error::io("find", named))?,
            (None, Some(known)) if known.is_file() => known,
            // What was named once may be gone by now, and was said of these texts.
            (None, Some(known)) if known != at_root && !at_root.is_file() => return Ok(PartChange::Kept),
            (None, _) => at_root,
        };
        if named.is_none() && !from.is_file() {
            return Ok(part.map_or(PartChange::Kept, |_| PartChange::Gone));
        }
        let about = std::fs::metadata(&from).map_err(Error::io("read", &from))?;
        let before = before.filter(|_| from_before.as_ref() == Some(&from));
        let is_whole = |store: &Self| store.documents.iter().all(|document| document.key.is_some());
        let is_same = |source: &ScipSource| (source.length, source.modified) == (about.len(), modified(&about));
        if before.as_ref().is_some_and(|before| is_whole(before) && is_same(&before.source)) {
            return Ok(PartChange::Kept);
        }
        let bytes = ScipIndex::bytes(&from)?;
        let scip = ScipIndex::of_bytes(&bytes);
        let scip = scip.map_err(|error| error.within(format!("cannot use {}", from.display())))?;
        let path_text = from.to_string_lossy().into_owned();
        let source = ScipSource {
            path: path_text,
            length: about.len(),
            modified: modified(&about),
            hash: *blake3::hash(&bytes).as_bytes(),
        };
        let store = Self::of(scip, source, index, before.as_ref());
        let is_same = |before: &Self| before.source == store.source && before.documents == store.documents;
        Ok(match before.as_ref().is_some_and(is_same) {
            true => PartChange::Kept,
            false => PartChange::Made(Sealed::of(&MAGIC, &[&store.to_bytes()]).bytes().clone()),
        })
    }

    fn of(scip: ScipIndex, source: ScipSource, index: &CodeIndex, before: Option<&Self>) -> Self {
        let before = before.filter(|before| before.source.hash == source.hash);
        let known: HashMap<&str, &KeptDocument> = before
            .iter()
            .flat_map(|before| before.documents.iter().map(|document| (document.path.as_str(), document)))
            .filter(|(_, document)| document.key.is_some())
            .collect();
        let files: HashMap<&str, usize> =
            index.files().iter().enumerate().map(|(at, file)| (file.path.as_str(), at)).collect();
        let documents = scip.documents.iter().map(|document| {
            if let Some(known) = known.get(document.path.as_str()) {
                return (*known).clone();
            }
            let path = document.path.clone();
            let file = files.get(path.as_str()).copied();
            let spans = file.and_then(|file| document.spans(&scip, &index.current_text(file)?));
            match (file, spans) {
                (Some(file), Some(names)) => KeptDocument { path, key: Some(index.files()[file].hash), names },
                _ => {
                    let defined = document.occurrences.iter().filter(|it| it.is_definition).map(|it| it.symbol);
                    let name = |symbol| SymbolSpan { span: 0..0, line: 1, symbol, is_definition: true };
                    KeptDocument { path, key: None, names: defined.map(name).collect() }
                }
            }
        });
        let documents = documents.collect();
        Self { source, documents, symbols: scip.symbols }
    }

    /// The names of those files that are as they were, and how many these are.
    pub fn exact(self, is_current: impl Fn(&str, [u64; 2]) -> bool) -> (ExactNames, ScipCoverage) {
        let documents = self.documents.len();
        let (mut files, mut doubtful) = (HashMap::new(), HashSet::new());
        for KeptDocument { path, key, names } in self.documents {
            match key.is_some_and(|key| is_current(&path, key)) {
                true => _ = files.insert(path, names),
                false => doubtful.extend(names.into_iter().filter(|it| it.is_definition).map(|it| it.symbol)),
            }
        }
        let coverage = ScipCoverage { documents, current: files.len() };
        (ExactNames::new(files, self.symbols, doubtful), coverage)
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut to = Writer::default();
        let ScipSource { path, length, modified, hash } = &self.source;
        to.text(path);
        to.number(*length);
        to.number(*modified);
        to.0.extend_from_slice(hash);
        to.number(self.symbols.len() as u64);
        for ScipSymbol { name, kind, is_local } in &self.symbols {
            to.text(name);
            let kind = KINDS.iter().position(|known| known == kind).unwrap_or_default();
            to.number(kind as u64 * 2 + u64::from(*is_local));
        }
        to.number(self.documents.len() as u64);
        for KeptDocument { path, key, names } in &self.documents {
            to.text(path);
            to.number(u64::from(key.is_some()));
            to.key(&key.unwrap_or_default());
            to.number(names.len() as u64);
            let (mut start, mut line) = (0, 0);
            for one in names {
                to.number(u64::from(one.span.start - start));
                to.number(u64::from(one.span.end - one.span.start));
                to.number(u64::from(one.line - line));
                to.number(u64::from(one.symbol) * 2 + u64::from(one.is_definition));
                (start, line) = (one.span.start, one.line);
            }
        }
        to.0
    }

    fn of_bytes(bytes: &[u8]) -> Result<Self> {
        let mut from = Reader(bytes);
        let path = from.text()?.to_owned();
        let (length, modified) = (from.number()?, from.number()?);
        let hash = from.bytes(blake3::OUT_LEN)?.try_into().map_err(|_| damaged())?;
        let source = ScipSource { path, length, modified, hash };
        let mut symbols = Vec::new();
        for _ in 0..from.number()? {
            let name = from.text()?.to_owned();
            let bits = from.below(KINDS.len() as u64 * 2)?;
            symbols.push(ScipSymbol { name, kind: KINDS[bits as usize / 2], is_local: bits % 2 == 1 });
        }
        let mut documents = Vec::new();
        for _ in 0..from.number()? {
            let path = from.text()?.to_owned();
            let has_key = from.below(2)? == 1;
            let key = from.key()?;
            let (mut names, mut start, mut line) = (Vec::new(), 0_u32, 0_u32);
            for _ in 0..from.number()? {
                let mut after = |before: u32| before.checked_add(from.count::<u32>()?).ok_or_else(damaged);
                start = after(start)?;
                let end = after(start)?;
                line = after(line)?;
                let bits = from.below(symbols.len() as u64 * 2)?;
                names.push(SymbolSpan { span: start..end, line, symbol: bits / 2, is_definition: bits % 2 == 1 });
            }
            documents.push(KeptDocument { path, key: has_key.then_some(key), names });
        }
        if from.0.is_empty() { Ok(Self { source, symbols, documents }) } else { Err(damaged()) }
    }
}

/// Time at which a file was changed, in nanoseconds, as far as the system says.
fn modified(about: &Metadata) -> u64 {
    let since = about.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    since.map_or(0, |since| since.as_nanos() as u64)
}
