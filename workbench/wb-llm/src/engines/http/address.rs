//! The address of a server, and the check that it is this machine.

use std::net::IpAddr;

use ureq::http::Uri;

/// The root of a server's routes, without `/v1` and without a slash at its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    root: String,
    loopback: bool,
}

impl Address {
    /// Reads a `base_url`. Refused with a message and a hint: what is no address, what names a password, and, without
    /// `allow_remote`, what is not this machine.
    pub fn parse(text: &str, allow_remote: bool) -> Result<Self, (String, &'static str)> {
        let shape = |what: &str| (format!("`{text}` {what}"), "base_url: http://127.0.0.1:8080");
        // Not repeated in the message: it may hold a password.
        let secret = || ("has a user or a password in it".to_owned(), "name the key with `key: { env: NAME }`");
        let authority = text.split_once("://").map_or(text, |(_, rest)| rest).split('/').next().unwrap_or_default();
        if authority.contains('@') {
            return Err(secret());
        }
        let uri: Uri = text.parse().map_err(|_| shape("is no address, expected http://HOST:PORT"))?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) {
            return Err(shape("does not begin with http:// or https://"));
        }
        let Some(host) = uri.host().filter(|host| !host.is_empty()) else { return Err(shape("names no host")) };
        if uri.query().is_some() {
            return Err(shape("has a `?` in it, expected http://HOST:PORT"));
        }
        let loopback = is_loopback(host);
        if !loopback && !allow_remote {
            let message = format!("`{host}` is another machine, expected a loopback address");
            return Err((message, "allow_remote: true lets prompts, with the code in them, leave this machine"));
        }
        let root = text.trim_end_matches('/');
        let root = root.strip_suffix("/v1").unwrap_or(root).trim_end_matches('/');
        Ok(Self { root: root.to_owned(), loopback })
    }

    /// The full address of a route that begins with a slash.
    pub fn route(&self, path: &str) -> String {
        format!("{}{path}", self.root)
    }

    /// The root itself.
    pub fn root(&self) -> &str {
        &self.root
    }

    /// True where it is this machine.
    pub fn is_loopback(&self) -> bool {
        self.loopback
    }
}

/// `localhost` and the addresses that never leave a machine.
fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost") || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_unless_allowed() {
        for text in ["http://127.0.0.1:8080", "http://localhost/v1", "http://[::1]:80/", "https://127.9.9.9/v1/"] {
            let address = Address::parse(text, false).unwrap();
            assert!(address.is_loopback() && !address.root().ends_with('/') && !address.root().ends_with("/v1"));
        }
        for text in [
            "http://10.0.0.1",
            "http://0.0.0.0:80",
            "http://localhost.example",
            "http://127.0.0.1.example",
            "http://2130706433",
            "http://[::ffff:10.0.0.1]",
        ] {
            assert!(Address::parse(text, false).is_err(), "{text}");
            assert!(!Address::parse(text, true).unwrap().is_loopback(), "{text}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused_and_passwords_are_not_repeated() {
        for text in ["", "127.0.0.1:8080", "ftp://127.0.0.1", "http://", "http://127.0.0.1/?a=b", "/v1"] {
            assert!(Address::parse(text, true).is_err(), "{text}");
        }
        for text in ["http://me:pass-word@127.0.0.1", "http://127.0.0.1@example.org", "me:pass-word@127.0.0.1"] {
            let (message, _) = Address::parse(text, true).unwrap_err();
            assert!(!message.contains("pass-word") && message.contains("password"), "{message}");
        }
        assert_eq!(Address::parse("http://a/x/v1", true).unwrap().route("/v1/models"), "http://a/x/v1/models");
    }
}
