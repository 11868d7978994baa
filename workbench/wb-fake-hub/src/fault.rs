//! Faults on purpose: what a network, a proxy or a server does wrong.

use std::time::Duration;

use crate::http::{Answer, HubRequest};

/// Something that goes wrong with requests whose path holds `of`, `times` times (0 for always).
#[derive(Debug, Clone)]
pub struct Fault {
    of: String,
    kind: Kind,
    times: Option<usize>,
}

#[derive(Debug, Clone)]
enum Kind {
    Cut(usize),
    Status(u16, Vec<(String, String)>, String),
    WrongByte(usize),
    WholeFile,
    Silence(Duration),
    Header(String, String),
}

impl Fault {
    fn new(of: &str, kind: Kind) -> Self {
        Self { of: of.to_owned(), kind, times: None }
    }

    /// The connection is cut after so many bytes of the body.
    pub fn cut(of: &str, after: usize) -> Self {
        Self::new(of, Kind::Cut(after))
    }

    /// Another status, with headers and a body.
    pub fn status(of: &str, status: u16, headers: &[(&str, &str)], body: &str) -> Self {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Self::new(of, Kind::Status(status, headers, body.to_owned()))
    }

    /// One byte of the body is another.
    pub fn wrong_byte(of: &str, at: usize) -> Self {
        Self::new(of, Kind::WrongByte(at))
    }

    /// Ranges are ignored: the whole file comes, with status 200. Only of files that come from the hub itself.
    pub fn whole_file(of: &str) -> Self {
        Self::new(of, Kind::WholeFile)
    }

    /// Nothing comes for so long.
    pub fn silence(of: &str, length: Duration) -> Self {
        Self::new(of, Kind::Silence(length))
    }

    /// A header has another value.
    pub fn header(of: &str, name: &str, value: &str) -> Self {
        Self::new(of, Kind::Header(name.to_owned(), value.to_owned()))
    }

    /// Only so many times.
    #[must_use]
    pub fn times(mut self, times: usize) -> Self {
        self.times = Some(times);
        self
    }

    /// True where answers to this request ignore its range.
    pub(crate) fn ignores_ranges(&self, request: &HubRequest) -> bool {
        matches!(self.kind, Kind::WholeFile) && request.path.contains(&self.of)
    }
}

/// Does the first fault that fits.
pub(crate) fn apply(faults: &mut Vec<Fault>, request: &HubRequest, answer: &mut Answer) {
    let Some(at) = faults.iter().position(|fault| request.path.contains(&fault.of)) else { return };
    let fault = &mut faults[at];
    match &fault.kind {
        Kind::Cut(after) => answer.cut = Some(*after),
        Kind::Status(status, headers, body) => {
            *answer = Answer::new(*status, body.as_bytes());
            answer.headers.clone_from(headers);
        }
        Kind::WrongByte(place) => {
            if let Some(byte) = answer.body.get_mut(*place) {
                *byte ^= 1;
            }
        }
        Kind::WholeFile => {}
        Kind::Silence(length) => answer.silence = *length,
        Kind::Header(name, value) => {
            answer.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
            answer.headers.push((name.clone(), value.clone()));
        }
    }
    if let Some(times) = &mut fault.times {
        *times = times.saturating_sub(1);
        if *times == 0 {
            faults.remove(at);
        }
    }
}
