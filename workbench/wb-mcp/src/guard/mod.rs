//! Rights to ask over HTTP: requests for another host, from a page of another origin, or without the token are refused.

use std::{fs, net::SocketAddr, path::Path};

use http::{HeaderMap, StatusCode, header, uri::Authority};
use subtle::ConstantTimeEq;
use wb_core::{Error, Result};

/// Characters of a token at least.
const SHORTEST: usize = 16;
/// Names of this machine for itself.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// Place and conditions of a server over HTTP.
#[derive(Debug, Clone)]
pub struct HttpAccess {
    /// Address to listen at; a port of 0 takes a free one.
    pub address: SocketAddr,
    /// Further names by which clients call this machine.
    pub hosts: Vec<String>,
    /// Token that every request has to carry; others than this machine are served with one alone.
    pub token: Option<String>,
}

impl HttpAccess {
    /// Refuses an address that others reach without a token.
    pub fn checked(self) -> Result<Self> {
        if self.token.is_none() && !self.address.ip().is_loopback() {
            let what = format!("{} can be reached by other machines, and there is no token", self.address);
            return Err(Error::failed(what).with_hint("--token-file FILE, or --http 127.0.0.1:8722"));
        }
        Ok(self)
    }

    /// The status with which a request is refused; none for one that may ask.
    pub(crate) fn refusal(&self, headers: &HeaderMap) -> Option<StatusCode> {
        let mut hosts = headers.get_all(header::HOST).iter();
        let host = hosts.next().filter(|_| hosts.next().is_none()).and_then(|host| authority(host.to_str().ok()?));
        let Some(host) = host.filter(|host| self.is_own(host)) else { return Some(StatusCode::FORBIDDEN) };
        let mut origins = headers.get_all(header::ORIGIN).iter();
        // A page of this very server, or no page.
        let is_same = |origin: &header::HeaderValue| {
            let text = origin.to_str().ok().and_then(|text| text.strip_prefix("http://"));
            text.and_then(authority).is_some_and(|origin| origin == host)
        };
        if !origins.all(is_same) {
            return Some(StatusCode::FORBIDDEN);
        }
        let token = self.token.as_ref()?;
        let mut given = headers.get_all(header::AUTHORIZATION).iter();
        let given = given.next().filter(|_| given.next().is_none()).and_then(|given| bearer(given.to_str().ok()?));
        let is_it = given.is_some_and(|given| bool::from(given.as_bytes().ct_eq(token.as_bytes())));
        (!is_it).then_some(StatusCode::UNAUTHORIZED)
    }

    /// True for a name of this server. Addresses are its own: only names can be made to lead here by others.
    fn is_own(&self, (host, _): &(String, Option<u16>)) -> bool {
        let is_named = self.hosts.iter().any(|named| named.eq_ignore_ascii_case(host));
        let is_address = host.parse::<std::net::IpAddr>().is_ok() && !self.address.ip().is_loopback();
        LOOPBACK.contains(&host.as_str()) || is_named || is_address
    }
}

/// Host in lower case without brackets, and port.
fn authority(text: &str) -> Option<(String, Option<u16>)> {
    let authority: Authority = text.parse().ok().filter(|_| !text.contains('@'))?;
    let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase();
    match authority.port() {
        Some(port) => Some((host, Some(port.as_u16()))),
        // Two colons make no port, and none at all is that of the protocol.
        None => Some((host, Some(80))).filter(|_| !text.ends_with(':')),
    }
}

fn bearer(text: &str) -> Option<&str> {
    let (scheme, token) = text.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token)
}

/// Reads a token from a file: one line of printable characters without spaces.
pub fn read_token(file: &Path) -> Result<String> {
    let text = fs::read_to_string(file).map_err(Error::io("read", file))?;
    let token = text.trim();
    let is_printable = token.bytes().all(|byte| byte.is_ascii_graphic());
    if token.len() < SHORTEST || !is_printable {
        let what = format!("expected a token of {SHORTEST} printable characters or more, without spaces");
        return Err(Error::file(file, what).with_hint("openssl rand -hex 32 > token"));
    }
    Ok(token.to_owned())
}

#[cfg(test)]
mod tests;
