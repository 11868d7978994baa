//! Zip archives whose entries are stored as they are, without compression: what torch writes.

/// The entries of an archive.
#[derive(Debug)]
pub struct Archive<'a> {
    entries: Vec<(&'a str, &'a [u8])>,
}

const LOCAL: u32 = 0x0403_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;
const END_64: u32 = 0x0606_4b50;
const END_64_PLACE: u32 = 0x0706_4b50;
/// An end without a comment, and the longest comment.
const END_LENGTH: usize = 22;
const LONGEST_COMMENT: usize = 0xffff;
/// A number that stands somewhere else, in 64 bits.
const ELSEWHERE: u32 = u32::MAX;

impl<'a> Archive<'a> {
    /// Reads the directory at the end. Entries that lie outside of the file or are compressed are an error.
    pub fn open(bytes: &'a [u8]) -> Result<Self, String> {
        let file = Bytes(bytes);
        let end = find_end(file).ok_or("it has no directory at its end")?;
        let (count, directory) = directory(file, end)?;
        let mut entries: Vec<(&str, &[u8])> = Vec::new();
        let mut at = directory;
        for _ in 0..count {
            let (name, data, next) = entry(file, at)?;
            entries.push((name, data));
            at = next;
        }
        entries.sort_unstable_by_key(|(name, _)| *name);
        if let Some(twice) = entries.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(format!("it has two entries {:?}", twice[0].0));
        }
        Ok(Self { entries })
    }

    /// The bytes of an entry.
    pub fn get(&self, name: &str) -> Option<&'a [u8]> {
        let at = self.entries.binary_search_by_key(&name, |(name, _)| name).ok()?;
        Some(self.entries[at].1)
    }

    /// The pickle, and what its neighbours' names begin with.
    pub fn program(&self) -> Result<(&'a str, &'a [u8]), String> {
        let mut found = self.entries.iter().filter_map(|(name, data)| {
            let prefix = name.strip_suffix("data.pkl")?;
            (prefix.is_empty() || prefix.ends_with('/')).then_some((prefix, *data))
        });
        match (found.next(), found.next()) {
            (Some(program), None) => Ok(program),
            (None, _) => Err("has no data.pkl, expected one: is it a file of torch.save?".into()),
            (Some(_), Some(_)) => Err("has several data.pkl, expected one".into()),
        }
    }
}

/// Numbers at places, all of which are compared with the file's length.
#[derive(Clone, Copy)]
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn slice(self, at: usize, len: usize) -> Result<&'a [u8], String> {
        let end = at.checked_add(len).filter(|end| *end <= self.0.len());
        end.map(|end| &self.0[at..end])
            .ok_or_else(|| format!("{len} bytes at {at} are wanted, and there are {}", self.0.len()))
    }

    fn number(self, at: usize, len: usize) -> Result<u64, String> {
        Ok(self.slice(at, len)?.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    fn u16(self, at: usize) -> Result<usize, String> {
        Ok(self.number(at, 2)? as usize)
    }

    fn u32(self, at: usize) -> Result<u32, String> {
        Ok(self.number(at, 4)? as u32)
    }

    fn u64(self, at: usize) -> Result<usize, String> {
        let number = self.number(at, 8)?;
        usize::try_from(number).map_err(|_| format!("{number} is beyond this machine"))
    }
}

/// The last place that looks like the end of an archive and whose comment fills the file.
fn find_end(file: Bytes<'_>) -> Option<usize> {
    let last = file.0.len().checked_sub(END_LENGTH)?;
    let fits = |at: &usize| {
        let comment = file.u16(at + 20);
        file.u32(*at) == Ok(END) && comment.is_ok_and(|comment| at + END_LENGTH + comment == file.0.len())
    };
    (last.saturating_sub(LONGEST_COMMENT)..=last).rev().find(fits)
}

/// Number of entries, and the place where the directory begins.
fn directory(file: Bytes<'_>, end: usize) -> Result<(usize, usize), String> {
    let (count, place) = (file.u16(end + 10)?, file.u32(end + 16)?);
    // Large archives, and all of some writers, have the numbers in a second end before this one.
    if let Some(locator) = end.checked_sub(20).filter(|at| file.u32(*at) == Ok(END_64_PLACE)) {
        let end = file.u64(locator + 8)?;
        if file.u32(end)? != END_64 {
            return Err("its 64-bit directory is not where it should be".into());
        }
        return Ok((file.u64(end + 32)?, file.u64(end + 48)?));
    }
    Ok((count, place as usize))
}

/// One entry of the directory: its name, its bytes, and where the next one begins.
fn entry(file: Bytes<'_>, at: usize) -> Result<(&str, &[u8], usize), String> {
    if file.u32(at)? != CENTRAL {
        return Err(format!("its directory is damaged at {at}"));
    }
    let (flags, method) = (file.u16(at + 8)?, file.u16(at + 10)?);
    let lengths = [at + 28, at + 30, at + 32].map(|at| file.u16(at));
    let [name_length, extra_length, comment_length] = [lengths[0].clone()?, lengths[1].clone()?, lengths[2].clone()?];
    let name = std::str::from_utf8(file.slice(at + 46, name_length)?)
        .map_err(|_| format!("it has an entry at {at} whose name is no text"))?;
    let extra = file.slice(at + 46 + name_length, extra_length)?;
    let mut wide = Wide::find(extra)?;
    let size = wide.or(file.u32(at + 24)?)?;
    let packed_size = wide.or(file.u32(at + 20)?)?;
    let place = wide.or(file.u32(at + 42)?)?;
    if flags & 1 != 0 || method != 0 || size != packed_size {
        return Err(format!("its entry {name:?} is compressed or encrypted, expected it stored as it is"));
    }
    if file.u32(place)? != LOCAL {
        return Err(format!("its entry {name:?} is not where the directory says"));
    }
    let data = place.saturating_add(30).saturating_add(file.u16(place + 26)?).saturating_add(file.u16(place + 28)?);
    let data = file.slice(data, size).map_err(|message| format!("its entry {name:?} is not whole: {message}"))?;
    Ok((name, data, at + 46 + name_length + extra_length + comment_length))
}

/// The 64-bit numbers of an entry, in the order of those that stand elsewhere.
struct Wide<'a> {
    numbers: Bytes<'a>,
    at: usize,
}

impl<'a> Wide<'a> {
    fn find(extra: &'a [u8]) -> Result<Self, String> {
        let all = Bytes(extra);
        let mut at = 0;
        while at + 4 <= extra.len() {
            let (kind, len) = (all.u16(at)?, all.u16(at + 2)?);
            if kind == 1 {
                return Ok(Self { numbers: Bytes(all.slice(at + 4, len)?), at: 0 });
            }
            at += 4 + len;
        }
        Ok(Self { numbers: Bytes(&[]), at: 0 })
    }

    fn or(&mut self, narrow: u32) -> Result<usize, String> {
        if narrow != ELSEWHERE {
            return Ok(narrow as usize);
        }
        self.at += 8;
        self.numbers.u64(self.at - 8)
    }
}
