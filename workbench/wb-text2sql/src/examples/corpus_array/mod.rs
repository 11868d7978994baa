//! The texts of an index's rows as NumPy keeps them: `numpy.load(path, allow_pickle=True)` of what is written gives an
//! array of `str` objects, row `i` for vector `i`, as `numpy.save(path, numpy.array(texts, dtype=object))` leaves it.
//!
//! Such a file is a program for Python's pickle machine. Here it is read by a machine that knows lists, tuples,
//! dictionaries, texts and numbers, and refuses by its name whatever else a program asks for.

mod pickle;
#[cfg(test)]
mod tests;
mod value;

use std::{
    collections::BTreeMap,
    fs,
    io::{BufWriter, Write},
    path::Path,
    rc::Rc,
};

use wb_core::pickle::Id;
use wb_retrieval::npy::NpyHeader;

use self::{pickle::Objects, value::PickledValue};
use crate::{Error, Result};

/// The keys under which a row that is a dictionary has its text; the first that is there is taken.
pub const TEXT_KEYS: [&str; 5] = ["text", "document", "content", "page_content", "sql"];

/// Steps of a pickle that any array takes, and those that a row may take: a dictionary of a hundred keys takes 400.
const STEPS: usize = 1000;
const STEPS_A_ROW: usize = 400;

/// Writes texts as an array of objects that every NumPy reads; a file that is there is replaced when the new one is whole.
///
/// # Errors
///
/// If it cannot be written.
pub fn write_texts<'a>(path: &Path, texts: impl ExactSizeIterator<Item = &'a str>) -> Result<()> {
    wb_core::atomic::write_with(path, |file| {
        let mut out = BufWriter::new(file);
        out.write_all(&NpyHeader::new("|O", &[texts.len()]).encode())?;
        encode(texts, &mut out)?;
        out.flush()
    })
}

/// The pickle of version 4: `numpy.core` is what both NumPy 1 and NumPy 2 know.
fn encode<'a>(texts: impl ExactSizeIterator<Item = &'a str>, out: &mut impl Write) -> std::io::Result<()> {
    // _reconstruct(ndarray, (0,), b"b"), filled with (1, (rows,), dtype("O8", False, True), False, [texts]).
    out.write_all(
        b"\x80\x04cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85C\x01b\x87R(K\x01\x8a\x08",
    )?;
    out.write_all(&(texts.len() as u64).to_le_bytes())?;
    out.write_all(
        b"\x85cnumpy\ndtype\n\x8c\x02O8\x89\x88\x87R(K\x03\x8c\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK?tb\x89](",
    )?;
    for text in texts {
        match u32::try_from(text.len()) {
            Ok(length) => {
                out.write_all(b"X")?;
                out.write_all(&length.to_le_bytes())?;
            }
            Err(_) => {
                out.write_all(b"\x8d")?;
                out.write_all(&(text.len() as u64).to_le_bytes())?;
            }
        }
        out.write_all(text.as_bytes())?;
    }
    out.write_all(b"etb.")
}

/// Reads the texts of an index with so many vectors: an array of objects, or of NumPy's own texts (`<U…`, `|S…`).
///
/// A row is a text, a dictionary with one of [`TEXT_KEYS`], or a tuple or list, of which the longest text is taken. A
/// single dictionary of positions from 0, or a single list, is read as its rows.
///
/// # Errors
///
/// With the file and what is in it, if it is none of these, asks for anything that makes no texts, or has more or fewer
/// rows than `vectors`.
pub fn read_texts(path: &Path, vectors: usize) -> Result<Vec<Rc<str>>> {
    let bytes = fs::read(path).map_err(Error::io("read", path))?;
    parse(&bytes, vectors).map_err(|what| Error::file(path, what))
}

fn parse(bytes: &[u8], vectors: usize) -> Result<Vec<Rc<str>>, String> {
    let mut rest = bytes;
    let (header, _) = NpyHeader::read(&mut rest)?;
    let kind = header.kind.trim_matches('\'');
    let is_single = header.shape.is_empty() && kind == "|O";
    if !is_single && header.shape[..] != [vectors as u64] {
        let shape = header.shape_text();
        return Err(format!("has the shape {shape}, expected ({vectors},): the index has {vectors} vectors"));
    }
    if kind == "|O" {
        return objects(rest, &header.shape, vectors);
    }
    let width = |prefix: &str| kind.strip_prefix(prefix).and_then(|width| width.parse::<usize>().ok());
    match (width("<U"), width(">U"), width("|S")) {
        (Some(width), ..) => entries(rest, width, 4, vectors, |bytes| utf32(bytes, u32::from_le_bytes)),
        (_, Some(width), _) => entries(rest, width, 4, vectors, |bytes| utf32(bytes, u32::from_be_bytes)),
        (.., Some(width)) => entries(rest, width, 1, vectors, |bytes| {
            let length = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            std::str::from_utf8(&bytes[..length]).map(Rc::from).map_err(|_| "has text that is no UTF-8".to_owned())
        }),
        _ => Err(format!("holds {}, expected texts: '|O', '<U…' or '|S…'", header.kind)),
    }
}

/// Texts of one width, `width` characters of `size` bytes each.
fn entries(
    bytes: &[u8],
    width: usize,
    size: usize,
    vectors: usize,
    read: impl Fn(&[u8]) -> Result<Rc<str>, String>,
) -> Result<Vec<Rc<str>>, String> {
    let entry = width.checked_mul(size);
    if entry.and_then(|entry| entry.checked_mul(vectors)) != Some(bytes.len()) {
        let found = bytes.len();
        return Err(format!("has {found} bytes after its header, expected {vectors} texts of {width} × {size} bytes"));
    }
    let entry = width * size;
    (0..vectors)
        .map(|row| read(&bytes[row * entry..][..entry]).map_err(|message| format!("row {row}: {message}")))
        .collect()
}

/// Code points of four bytes, padded with 0.
fn utf32(bytes: &[u8], number: fn([u8; 4]) -> u32) -> Result<Rc<str>, String> {
    let points = bytes.chunks_exact(4).map(|four| number([four[0], four[1], four[2], four[3]]));
    let text: Option<String> = points.map(char::from_u32).collect();
    let text = text.ok_or("has a number that is no character")?;
    Ok(Rc::from(text.trim_end_matches('\0')))
}

/// The texts of an array of objects.
fn objects(program: &[u8], shape: &[u64], vectors: usize) -> Result<Vec<Rc<str>>, String> {
    let Objects { shape: own, entries, values } =
        Objects::read(program, vectors.saturating_mul(STEPS_A_ROW).saturating_add(STEPS))?;
    if own != shape {
        return Err(format!("has the shape {shape:?} in its header and {own:?} in its pickle"));
    }
    let rows = match (shape, &entries[..]) {
        ([], [single]) => match &values[*single] {
            PickledValue::List(rows) => rows.clone(),
            PickledValue::Dictionary(pairs) => positions(pairs, &values)?,
            other => return Err(format!("holds {}, expected a text for each vector", other.kind())),
        },
        _ => entries,
    };
    if rows.len() != vectors {
        return Err(format!("{} texts, but the index has {vectors} vectors", rows.len()));
    }
    // Rows that share a value share its text, so that no file can take more memory than it has bytes.
    let mut made: BTreeMap<Id, Rc<str>> = BTreeMap::new();
    let text = |(row, id): (usize, Id)| {
        let source = text_of(id, &values).map_err(|message| format!("row {row}: {message}"))?;
        let PickledValue::Text(text) = values[source] else { return Err(format!("row {row}: is no text")) };
        Ok(Rc::clone(made.entry(source).or_insert_with(|| Rc::from(text))))
    };
    rows.into_iter().enumerate().map(text).collect()
}

/// The values of a dictionary with keys from 0, in the order of the keys.
fn positions(pairs: &[(Id, Id)], values: &[PickledValue<'_>]) -> Result<Vec<Id>, String> {
    let mut rows = vec![None; pairs.len()];
    for (key, value) in pairs {
        let place = match values[*key] {
            PickledValue::Number(place) => usize::try_from(place).ok().and_then(|place| rows.get_mut(place)),
            _ => None,
        };
        match place {
            Some(row @ None) => *row = Some(*value),
            _ => {
                return Err(format!("holds a dictionary, expected its keys to be 0 to {}, each once", pairs.len() - 1));
            }
        }
    }
    Ok(rows.into_iter().flatten().collect())
}

/// The text of a row.
fn text_of(row: Id, values: &[PickledValue<'_>]) -> Result<Id, String> {
    match &values[row] {
        PickledValue::Text(_) => Ok(row),
        PickledValue::Dictionary(pairs) => {
            let under = |name: &str| {
                let named = |(key, _): &&(Id, Id)| matches!(values[*key], PickledValue::Text(key) if key == name);
                pairs.iter().rev().find(named).map(|(_, value)| *value)
            };
            let (key, id) = TEXT_KEYS.into_iter().find_map(|key| under(key).map(|id| (key, id))).ok_or_else(|| {
                format!("a dictionary without text, expected one of the keys {}", TEXT_KEYS.join(", "))
            })?;
            match &values[id] {
                PickledValue::Text(_) => Ok(id),
                other => Err(format!("{} under `{key}`, expected text", other.kind())),
            }
        }
        PickledValue::Tuple(items) | PickledValue::List(items) => {
            let length = |id: &Id| if let PickledValue::Text(text) = values[*id] { Some(text.len()) } else { None };
            let texts = items.iter().filter_map(|id| Some((length(id)?, *id)));
            let longest = texts.max_by_key(|(length, _)| *length).map(|(_, id)| id);
            longest.ok_or_else(|| format!("{} without text", values[row].kind()))
        }
        other => Err(format!("{}, expected text, or a dictionary or tuple with text", other.kind())),
    }
}
