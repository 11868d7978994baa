//! One request over HTTP in bounded time and memory, and what its failures mean.

use std::{
    io::Read,
    time::{Duration, SystemTime},
};

use serde::de::DeserializeOwned;
use serde_json::Value;
use ureq::{Agent, Body, http::Response};
use wb_core::{key::Key, retry_after::retry_after};

use super::{address::Address, replies::ErrorBody};
use crate::{
    config::{TimeoutsConfig, duration},
    error::Failure,
};

/// Bytes of an answer at most: at 4 bytes a token this is 2 million tokens.
const MAX_BYTES: u64 = 8 << 20;
/// Bytes of a body that are shown in a message.
const SHOWN: usize = 600;
/// Servers close a connection that rests for 5 seconds; ours are given up before.
const MAX_REST: Duration = Duration::from_secs(3);

/// An answer as it came: status, `Retry-After`, body.
struct Raw {
    status: u16,
    after: Option<Duration>,
    body: Vec<u8>,
}

/// A client of one server.
pub struct Transport {
    agent: Agent,
    address: Address,
    key: Option<Key>,
}

impl Transport {
    /// A client that keeps `parallel` connections open. Nothing is sent yet.
    pub fn new(address: Address, key: Option<Key>, timeouts: &TimeoutsConfig, parallel: usize) -> Self {
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            // A redirect could take prompts and key to another machine.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_connect(Some(duration(timeouts.connect_s)))
            .timeout_global(Some(duration(timeouts.request_s)))
            .max_idle_connections(parallel.max(1))
            .max_idle_connections_per_host(parallel.max(1))
            .max_idle_age(MAX_REST)
            .user_agent(concat!("wb/", env!("CARGO_PKG_VERSION")));
        if address.is_loopback() {
            // Whatever the environment says: what is meant for this machine does not pass through another.
            config = config.proxy(None);
        }
        Self { agent: config.build().new_agent(), address, key }
    }

    /// Address of the server.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Reads a route, within `limit`.
    pub fn get<T: DeserializeOwned>(&self, path: &str, limit: Duration) -> Result<T, Failure> {
        let mut request = self.agent.get(self.address.route(path));
        if let Some(key) = &self.key {
            request = request.header("authorization", format!("Bearer {}", key.reveal()));
        }
        let response = request.config().timeout_global(Some(limit)).build().call();
        self.parsed(path, self.raw(path, response, MAX_BYTES)?)
    }

    /// Sends JSON to a route.
    pub fn post<T: DeserializeOwned>(&self, path: &str, body: &Value) -> Result<T, Failure> {
        let response = self.sent(path, body, None, None);
        self.parsed(path, self.raw(path, response, MAX_BYTES)?)
    }

    /// Posts where an answer of so many bytes may come, within `limit`.
    pub fn post_large<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &Value,
        (limit, bytes): (Duration, u64),
    ) -> Result<T, Failure> {
        let response = self.sent(path, body, None, Some(limit));
        self.parsed(path, self.raw(path, response, bytes)?)
    }

    /// Sends JSON to a route that answers line by line; each line goes to `line` as it comes. Between two pieces at
    /// most `idle` passes.
    pub fn post_lines(
        &self,
        path: &str,
        body: &Value,
        idle: Duration,
        line: &mut dyn FnMut(&str) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let response = self.sent(path, body, Some(idle), None).map_err(|error| self.broken(path, error))?;
        if response.status().as_u16() != 200 {
            return Err(self.refused(path, self.raw(path, Ok(response), MAX_BYTES)?));
        }
        let mut reader = response.into_body().into_reader();
        let (mut kept, mut piece, mut total) = (Vec::new(), [0; 16 << 10], 0u64);
        loop {
            let n = reader.read(&mut piece).map_err(|error| self.broken(path, error.into()))?;
            kept.extend_from_slice(&piece[..n]);
            total += n as u64;
            if total > MAX_BYTES {
                return Err(too_long(path, MAX_BYTES));
            }
            let mut from = 0;
            while let Some(end) = kept[from..].iter().position(|&byte| byte == b'\n') {
                line(String::from_utf8_lossy(&kept[from..from + end]).trim_end())?;
                from += end + 1;
            }
            kept.drain(..from);
            if n == 0 {
                return if kept.is_empty() { Ok(()) } else { line(String::from_utf8_lossy(&kept).trim_end()) };
            }
        }
    }

    fn sent(
        &self,
        path: &str,
        body: &Value,
        idle: Option<Duration>,
        limit: Option<Duration>,
    ) -> Result<Response<Body>, ureq::Error> {
        let mut request = self.agent.post(self.address.route(path)).header("content-type", "application/json");
        if let Some(key) = &self.key {
            request = request.header("authorization", format!("Bearer {}", key.reveal()));
        }
        let mut config = request.config().timeout_per_read(idle);
        if let Some(limit) = limit {
            config = config.timeout_global(Some(limit));
        }
        config.build().send(body.to_string())
    }

    fn raw(&self, path: &str, response: Result<Response<Body>, ureq::Error>, bytes: u64) -> Result<Raw, Failure> {
        let response = response.map_err(|error| self.broken(path, error))?;
        let status = response.status().as_u16();
        let header = response.headers().get("retry-after").and_then(|value| value.to_str().ok());
        let after = header.and_then(|text| retry_after(text, SystemTime::now()));
        let mut body = Vec::new();
        let read = response.into_body().into_reader().take(bytes + 1).read_to_end(&mut body);
        read.map_err(|error| self.broken(path, error.into()))?;
        if body.len() as u64 > bytes {
            return Err(too_long(path, bytes));
        }
        Ok(Raw { status, after, body })
    }

    fn parsed<T: DeserializeOwned>(&self, path: &str, raw: Raw) -> Result<T, Failure> {
        if raw.status != 200 {
            return Err(self.refused(path, raw));
        }
        serde_json::from_slice(&raw.body).map_err(|error| Failure::Retry {
            what: format!("{path} answered what is not the JSON expected ({error}): {}", self.shown(&raw.body)),
            after: None,
        })
    }

    /// A body in a message: short, on one line, without the key.
    fn shown(&self, body: &[u8]) -> String {
        let text = String::from_utf8_lossy(body);
        let text = self.key.as_ref().map_or_else(|| text.to_string(), |key| key.redact(&text));
        let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(SHOWN).collect();
        if line.trim().is_empty() { "an empty body".into() } else { line }
    }

    /// Makes a failure of a status other than 200.
    fn refused(&self, path: &str, raw: Raw) -> Failure {
        let Raw { status, after, body } = raw;
        let what = format!("{path} answered {status}: {}", self.shown(&body));
        match status {
            500 if is_unusable(&body) => Failure::Unusable(what),
            408 | 425 | 429 | 500 | 502..=599 => Failure::Retry { what, after },
            413 => Failure::Reject(what),
            400 | 422 if is_too_long_a_prompt(&body) => Failure::Reject(what),
            _ => Failure::Stop(what),
        }
    }

    /// Makes a failure of a request without an answer.
    fn broken(&self, path: &str, error: ureq::Error) -> Failure {
        use ureq::Error as E;
        let text = error.to_string();
        let text = self.key.as_ref().map_or_else(|| text.clone(), |key| key.redact(&text));
        let what = format!("{}: {text}", self.address.route(path));
        match error {
            // What no second attempt changes.
            E::BadUri(_)
            | E::Http(_)
            | E::Tls(_)
            | E::Rustls(_)
            | E::TlsRequired
            | E::InvalidProxyUrl
            | E::RedirectFailed
            | E::TooManyRedirects => Failure::Stop(what),
            _ => Failure::Retry { what, after: None },
        }
    }
}

fn too_long(path: &str, bytes: u64) -> Failure {
    Failure::Retry { what: format!("{path} answered more than {bytes} bytes"), after: None }
}

/// llama-server reads what the model wrote, and answers 500 where it cannot: the server is well.
fn is_unusable(body: &[u8]) -> bool {
    let body = serde_json::from_slice::<ErrorBody>(body).ok();
    body.is_some_and(|body| body.message().is_some_and(|message| message.contains("model produced output that")))
}

/// Servers name it differently: llama-server by a type, vLLM, LM Studio and Ollama by a sentence.
fn is_too_long_a_prompt(body: &[u8]) -> bool {
    let Ok(body) = serde_json::from_slice::<ErrorBody>(body) else { return false };
    if body.kind() == Some("exceed_context_size_error") {
        return true;
    }
    let message = body.message().unwrap_or_default().to_lowercase();
    message.contains("context")
        && ["length", "size", "window"].iter().any(|word| message.contains(word))
        && ["exceed", "maximum", "too long", "greater than", "larger than"].iter().any(|word| message.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_long_a_prompt_is_told_from_other_mistakes() {
        for body in [
            r#"{"error":{"code":400,"message":"request (1802 tokens) exceeds the available context size (512 tokens)","type":"exceed_context_size_error"}}"#,
            r#"{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens","code":400}"#,
            r#"{"error":"the input length exceeds the context length"}"#,
        ] {
            assert!(is_too_long_a_prompt(body.as_bytes()), "{body}");
        }
        for body in [
            r#"{"error":{"message":"unknown field `contexts`"}}"#,
            "exceeds context length",
            r#"{"error":{"type":"x"}}"#,
        ] {
            assert!(!is_too_long_a_prompt(body.as_bytes()), "{body}");
        }
    }
}
