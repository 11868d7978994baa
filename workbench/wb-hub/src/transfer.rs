//! One file from a server to the disk: begun where an earlier attempt was cut, and kept only when it is the right one.

use std::{
    fs::{self, File, OpenOptions},
    io::{Read, Seek, SeekFrom, Write},
    path::Path,
};

use ureq::http::HeaderMap;
use wb_core::{
    atomic,
    download::{Meter, Observer},
    faults,
};

use crate::{
    Digest, Error, Why,
    answers::About,
    client::{Client, Opened},
    patience::{Attempts, Trouble},
    repo::is_commit,
};

/// A file that is to come.
pub(crate) struct Coming<'a> {
    /// Its address.
    pub(crate) url: &'a str,
    /// Description of it for messages.
    pub(crate) about: About,
    /// Its bytes, where they are known.
    pub(crate) size: Option<u64>,
    /// Its content, where it is known.
    pub(crate) digest: Option<&'a Digest>,
    /// The commit that the server has to answer with.
    pub(crate) commit: Option<&'a str>,
    /// Path of the unfinished file.
    pub(crate) part: &'a Path,
    /// Path of the whole file.
    pub(crate) to: &'a Path,
}

/// Fetches a file; nothing is at its place before it is whole and right.
pub(crate) fn fetch(
    client: &Client<'_>,
    coming: &Coming<'_>,
    observer: &dyn Observer,
    meter: &mut Meter<'_>,
) -> Result<(), Error> {
    let folder = coming.part.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
    let begun = fs::metadata(coming.part).map_or(0, |part| part.len());
    whole(client, coming, observer, meter)?;
    if let Err(wrong) = check(coming) {
        remove(coming.part)?;
        // A part that somebody else began may be another file's; what came in one go is not asked for twice.
        if begun == 0 {
            return Err(wrong);
        }
        observer
            .note(&format!("{}: what an earlier download left was not right; fetching it whole", coming.about.what));
        meter.shift(-(coming.size.unwrap_or_default() as i64));
        whole(client, coming, observer, meter)?;
        if let Err(wrong) = check(coming) {
            remove(coming.part)?;
            return Err(wrong);
        }
    }
    atomic::rename(coming.part, coming.to)?;
    atomic::sync_folder(coming.to.parent().unwrap_or(Path::new(".")))
}

/// Brings the part to its full length, over as many connections as it takes.
fn whole(
    client: &Client<'_>,
    coming: &Coming<'_>,
    observer: &dyn Observer,
    meter: &mut Meter<'_>,
) -> Result<(), Error> {
    let failed = |source| written(source, coming);
    let opened = faults::point()
        .and_then(|()| OpenOptions::new().create(true).truncate(false).read(true).write(true).open(coming.part));
    let mut file = opened.map_err(failed)?;
    let mut length = file.seek(SeekFrom::End(0)).map_err(failed)?;
    if coming.size.is_some_and(|size| length > size) {
        length = 0;
        file.set_len(0).map_err(failed)?;
    }
    meter.shift(length as i64);
    let mut attempts = Attempts::new(client.settings.patience, observer);
    let mut expected = coming.size;
    // An empty file is asked for too: that it is there, and empty, is the server's word.
    let mut asked = false;
    while expected.is_none_or(|size| length < size) || (!asked && expected == Some(0)) {
        let before = length;
        let end = more(client, coming, &mut file, &mut length, &mut expected, meter);
        asked = true;
        if length > before {
            attempts.progressed();
        }
        match end {
            Ok(()) => {}
            Err(trouble) => {
                // A part that does not fit the file on the server is no beginning of it.
                if matches!(&trouble, Trouble::Again { error, .. } if Why::of(error) == Some(Why::WrongBytes)) {
                    meter.shift(-(length as i64));
                    length = 0;
                    file.set_len(0).map_err(failed)?;
                }
                attempts.wait(trouble)?;
            }
        }
    }
    faults::point().and_then(|()| file.sync_all()).map_err(failed)
}

/// One connection: what comes is appended, and `length` is what is there then.
fn more(
    client: &Client<'_>,
    coming: &Coming<'_>,
    file: &mut File,
    length: &mut u64,
    expected: &mut Option<u64>,
    meter: &mut Meter<'_>,
) -> Result<(), Trouble> {
    let from = Some(*length).filter(|length| *length > 0);
    let opened = client.get(coming.url, from, &coming.about)?;
    agrees(&opened.first, coming)?;
    let (begins, total) = span(&opened, coming)?;
    if let (Some(expected), Some(total)) = (*expected, total)
        && expected != total
    {
        let message = format!("the server has {total} bytes, expected {expected}");
        return Err(coming.about.error(Why::WrongBytes, message).into());
    }
    if total.is_some() && expected.is_none() {
        *expected = total;
        meter.expect(total.unwrap_or_default());
    }
    if begins != *length {
        // It sends the whole file, whatever it was asked for.
        meter.shift(-(*length as i64));
        *length = 0;
        file.set_len(0).map_err(|source| written(source, coming))?;
    }
    file.seek(SeekFrom::Start(*length)).map_err(|source| written(source, coming))?;
    let mut reader = opened.body.into_with_config().limit(u64::MAX).reader();
    let mut piece = vec![0; 1 << 17];
    loop {
        let count = match reader.read(&mut piece) {
            Ok(0) => break,
            Ok(count) => count,
            Err(source) => return Err(cut(coming, *length, *expected, Some(source))),
        };
        if expected.is_some_and(|size| *length + count as u64 > size) {
            let message = format!("more bytes come than the {} that it has", expected.unwrap_or_default());
            return Err(coming.about.error(Why::WrongBytes, message).into());
        }
        faults::point().and_then(|()| file.write_all(&piece[..count])).map_err(|source| written(source, coming))?;
        *length += count as u64;
        meter.add(count as u64);
    }
    match *expected {
        Some(size) if *length < size => Err(cut(coming, *length, *expected, None)),
        // Nobody said how long it is: it ends where the server ends it.
        None => {
            *expected = Some(*length);
            Ok(())
        }
        Some(_) => Ok(()),
    }
}

/// Checks that the endpoint answers with the commit and the content that it lists.
fn agrees(headers: &HeaderMap, coming: &Coming<'_>) -> Result<(), Trouble> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    if let (Some(expected), Some(got)) = (coming.commit, header("x-repo-commit"))
        && is_commit(got)
        && got != expected
    {
        let message = format!("the hub answers with commit {got}, expected {expected}");
        return Err(coming.about.error(Why::WrongBytes, message).into());
    }
    let Some(digest) = coming.digest else { return Ok(()) };
    let etag = header("x-linked-etag").or_else(|| header("etag")).unwrap_or_default();
    let etag = etag.trim_start_matches("W/").trim_matches('"');
    // Servers in between may have tags of their own; one that is a hash is the content's.
    let is_hash = matches!(etag.len(), 40 | 64) && etag.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_hash && etag.len() == digest.hex().len() && !etag.eq_ignore_ascii_case(digest.hex()) {
        let message = format!("the hub answers with content {etag}, its list says {}", digest.hex());
        return Err(coming.about.error(Why::WrongBytes, message).with_hint("give the same command again").into());
    }
    Ok(())
}

/// The byte that an answer begins at, and the length of the whole file where it is told.
fn span(opened: &Opened, coming: &Coming<'_>) -> Result<(u64, Option<u64>), Trouble> {
    let header = |name: &str| opened.last.get(name).and_then(|value| value.to_str().ok());
    if opened.status != 206 {
        return Ok((0, header("content-length").and_then(|text| text.trim().parse().ok())));
    }
    // `bytes 10-99/100`, or `bytes 10-99/*`
    let told = header("content-range").and_then(|text| {
        let (range, total) = text.trim().strip_prefix("bytes ")?.split_once('/')?;
        Some((range.split_once('-')?.0.trim().parse().ok()?, total.trim().parse().ok()))
    });
    told.ok_or_else(|| coming.about.error(Why::Nonsense, "the server sends a part and does not say which").into())
}

fn cut(coming: &Coming<'_>, length: u64, expected: Option<u64>, source: Option<std::io::Error>) -> Trouble {
    let of = expected.map_or_else(String::new, |size| format!(" of {size}"));
    let mut error = coming.about.error(Why::Unreachable, format!("the connection was cut after {length}{of} bytes"));
    if let Some(source) = source {
        error = error.with_cause(source);
    }
    Trouble::again(error.with_hint("give the same command again: what came is kept"), None)
}

/// Checks that the file that came is the one that was listed.
fn check(coming: &Coming<'_>) -> Result<(), Error> {
    let Some(digest) = coming.digest else { return Ok(()) };
    let found = digest.of_same_kind(coming.part)?;
    if found.hex().eq_ignore_ascii_case(digest.hex()) {
        return Ok(());
    }
    let message = format!("wrong bytes came: their hash is {}, expected {}", found.hex(), digest.hex());
    let hint = "they were thrown away; give the same command again, and if it stays so, the server or what is in between is broken";
    Err(coming.about.error(Why::WrongBytes, message).with_hint(hint))
}

fn remove(path: &Path) -> Result<(), Error> {
    fs::remove_file(path).map_err(Error::io("remove", path))
}

/// The disk's own trouble; what came so far stays.
fn written(source: std::io::Error, coming: &Coming<'_>) -> Error {
    if source.kind() == std::io::ErrorKind::StorageFull {
        let folder = coming.part.parent().unwrap_or(Path::new("."));
        let message = format!("the disk of {} is full", folder.display());
        let hint =
            "free some space, or set HF_HOME to another disk, and give the same command again: what came is kept";
        return coming.about.error(Why::DiskFull, message).with_hint(hint).with_cause(source);
    }
    Error::Io { action: "write", path: coming.part.to_owned(), source }
}
