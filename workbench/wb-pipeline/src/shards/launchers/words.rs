//! The last words of a process, which are read as they come: a pipe that nobody reads would stop it.

use std::{
    io::Read,
    thread::{self, JoinHandle},
};

/// Bytes that are kept.
const LAST: usize = 16 << 10;

/// Reads until the end, beside whatever else is done, and gives the last of it.
pub(super) fn last_words(from: Option<impl Read + Send + 'static>) -> JoinHandle<String> {
    thread::spawn(move || from.map(last).unwrap_or_default())
}

fn last(mut from: impl Read) -> String {
    let (mut last, mut piece) = (Vec::new(), [0; 4096]);
    // What cannot be read is not told.
    while let Ok(read @ 1..) = from.read(&mut piece) {
        last.extend_from_slice(&piece[..read]);
        last.drain(..last.len().saturating_sub(LAST));
    }
    String::from_utf8_lossy(&last).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::{LAST, last};

    #[test]
    fn the_last_words_are_kept_however_much_is_said() {
        assert_eq!(last(&b" error: no\n"[..]), "error: no");
        let much = "line\n".repeat(100_000) + "error: the end\n";
        let kept = last(much.as_bytes());
        assert!(kept.ends_with("error: the end") && kept.len() <= LAST, "{}", kept.len());
    }
}
