//! The part of HTTP/1.1 that a client of the hub meets.

use std::{
    io::{self, BufRead, BufReader, Write},
    net::TcpStream,
    time::Duration,
};

/// A request that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HubRequest {
    /// True where it went to the host of large files.
    pub to_store: bool,
    /// `GET`.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// The first byte that is asked for.
    pub from: Option<u64>,
    /// The token that came with it.
    pub token: Option<String>,
}

/// An answer.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// The connection is cut after so many bytes of the body.
    pub(crate) cut: Option<usize>,
    /// Nothing comes for so long before the body.
    pub(crate) silence: Duration,
    /// The body stays here: its length alone is told.
    pub(crate) head_only: bool,
}

impl Answer {
    pub(crate) fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self { status, headers: Vec::new(), body: body.into(), cut: None, silence: Duration::ZERO, head_only: false }
    }

    #[must_use]
    pub(crate) fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }
}

/// Reads a request; none where the client has gone.
pub(crate) fn read(stream: &TcpStream, to_store: bool) -> io::Result<Option<HubRequest>> {
    let mut lines = BufReader::new(stream).lines();
    let Some(first) = lines.next().transpose()? else { return Ok(None) };
    let mut words = first.split(' ');
    let (Some(method), Some(path)) = (words.next(), words.next()) else { return Ok(None) };
    let mut request =
        HubRequest { to_store, method: method.to_owned(), path: path.to_owned(), from: None, token: None };
    for line in lines {
        let line = line?;
        let Some((name, value)) = line.split_once(':') else { break };
        let value = value.trim();
        match name.to_ascii_lowercase().as_str() {
            "range" => {
                request.from = value.strip_prefix("bytes=").and_then(|range| range.split('-').next()?.parse().ok())
            }
            "authorization" => request.token = value.strip_prefix("Bearer ").map(str::to_owned),
            _ => {}
        }
    }
    Ok(Some(request))
}

/// Writes an answer, as far as it is to come.
pub(crate) fn write(mut stream: TcpStream, answer: Answer) -> io::Result<()> {
    let mut head = format!("HTTP/1.1 {} Status\r\ncontent-length: {}\r\n", answer.status, answer.body.len());
    for (name, value) in &answer.headers {
        head += &format!("{name}: {value}\r\n");
    }
    stream.write_all(format!("{head}connection: close\r\n\r\n").as_bytes())?;
    if answer.head_only {
        return stream.flush();
    }
    std::thread::sleep(answer.silence);
    let end = answer.cut.unwrap_or(answer.body.len()).min(answer.body.len());
    stream.write_all(&answer.body[..end])?;
    stream.flush()
}
