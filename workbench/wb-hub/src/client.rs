//! One request over HTTP: redirects followed by hand, the key sent to the endpoint alone, failures told apart.

use std::time::Duration;

use ureq::{
    Agent, Body,
    http::{HeaderMap, Response, Uri, header::LOCATION},
};

use crate::{
    Settings, Why,
    answers::{About, refusal},
    patience::Trouble,
};

/// Redirects in a row.
const HOPS: usize = 8;
/// A connection that is not there after this never will be.
const CONNECT: Duration = Duration::from_secs(15);

/// A client of the hub, and of whom it sends to.
pub(crate) struct Client<'a> {
    agent: Agent,
    pub(crate) settings: &'a Settings,
}

/// An answer that says yes.
pub(crate) struct Opened {
    /// 200 or 206.
    pub(crate) status: u16,
    /// Headers of the endpoint's own answer, before it sent elsewhere.
    pub(crate) first: HeaderMap,
    /// Headers of the answer that has the body.
    pub(crate) last: HeaderMap,
    /// The content.
    pub(crate) body: Body,
}

impl<'a> Client<'a> {
    /// Proxies are those of the environment: `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY`.
    pub(crate) fn new(settings: &'a Settings) -> Self {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .accept_encoding("identity")
            .user_agent(format!("wb/{}", env!("CARGO_PKG_VERSION")))
            .timeout_connect(Some(CONNECT))
            .timeout_recv_response(Some(settings.patience.silence))
            .timeout_per_read(Some(settings.patience.silence))
            .build();
        Self { agent: config.new_agent(), settings }
    }

    /// Asks for an address, from this byte on where one is given.
    pub(crate) fn get(&self, url: &str, from: Option<u64>, about: &About) -> Result<Opened, Trouble> {
        let (mut url, mut first) = (url.to_owned(), None);
        for _ in 0..HOPS {
            let response = self.once(&url, from, about)?;
            let status = response.status().as_u16();
            if (300..400).contains(&status) && response.headers().contains_key(LOCATION) {
                url = self.next(&url, response.headers(), about)?;
                first.get_or_insert_with(|| response.headers().clone());
                continue;
            }
            if !matches!(status, 200 | 206) {
                return Err(refusal(status, response, about, self.settings));
            }
            let (head, body) = response.into_parts();
            return Ok(Opened {
                status,
                first: first.unwrap_or_else(|| head.headers.clone()),
                last: head.headers,
                body,
            });
        }
        Err(about.error(Why::Nonsense, format!("redirects more than {HOPS} times")).into())
    }

    fn once(&self, url: &str, from: Option<u64>, about: &About) -> Result<Response<Body>, Trouble> {
        let mut request = self.agent.get(url);
        if let Some(from) = from {
            request = request.header("range", format!("bytes={from}-"));
        }
        if let Some(key) = self.settings.key.as_ref().filter(|_| self.is_endpoint(url)) {
            request = request.header("authorization", format!("Bearer {}", key.reveal()));
        }
        request.call().map_err(|error| self.unanswered(error, url, about))
    }

    /// True where an address is one of the endpoint's own: only these see the key.
    fn is_endpoint(&self, url: &str) -> bool {
        let place = |url: &str| {
            let uri: Uri = url.parse().ok()?;
            Some((uri.scheme_str()?.to_owned(), uri.authority()?.to_string()))
        };
        place(url).is_some_and(|of| place(&self.settings.endpoint) == Some(of))
    }

    /// Address to which a redirect leads: to another place of the same server, or to another server, but never from
    /// TLS to none.
    fn next(&self, url: &str, headers: &HeaderMap, about: &About) -> Result<String, Trouble> {
        let nonsense = || about.error(Why::Nonsense, "redirects to an address that is none");
        let location = headers.get(LOCATION).and_then(|value| value.to_str().ok()).ok_or_else(nonsense)?;
        let base: Uri = url.parse().map_err(|_| nonsense())?;
        if location.starts_with('/') && !location.starts_with("//") {
            let (Some(scheme), Some(host)) = (base.scheme_str(), base.authority()) else {
                return Err(nonsense().into());
            };
            return Ok(format!("{scheme}://{host}{location}"));
        }
        let to: Uri = location.parse().map_err(|_| nonsense())?;
        match (base.scheme_str(), to.scheme_str()) {
            (Some("http"), Some("http" | "https")) | (Some("https"), Some("https")) => Ok(location.to_owned()),
            (Some("https"), Some("http")) => Err(about
                .error(Why::Refused, format!("redirects from https to {location}, which anybody can read"))
                .into()),
            _ => Err(nonsense().into()),
        }
    }

    /// Nobody answered.
    fn unanswered(&self, error: ureq::Error, url: &str, about: &About) -> Trouble {
        use ureq::Error as E;
        // Where there is no such server, or no network, to try for long is to say late what is wrong.
        let nobody = match &error {
            E::Io(error) => is_nobody(error),
            E::HostNotFound | E::ConnectionFailed => true,
            _ => false,
        };
        let host = url.parse::<Uri>().ok().and_then(|uri| uri.authority().map(ToString::to_string));
        let host = host.unwrap_or_else(|| url.to_owned());
        let message = format!("{host} cannot be reached");
        let told = match error {
            E::BadUri(_) | E::InvalidProxyUrl => return about.error(Why::Nonsense, message).into(),
            error => about.error(Why::Unreachable, message).with_cause(error),
        };
        let hint = format!(
            "see whether this machine has a network (HTTPS_PROXY and HF_ENDPOINT are taken); with WB_OFFLINE=1 only what is \
             there already is used; or {}",
            about.elsewhere()
        );
        Trouble::Again { error: Box::new(told.with_hint(hint)), after: None, counts: if nobody { 3 } else { 1 } }
    }
}

/// True where nobody is there at all: no name, no way, or a machine that refuses.
fn is_nobody(error: &std::io::Error) -> bool {
    use std::io::ErrorKind as Kind;
    let by_kind = matches!(
        error.kind(),
        Kind::ConnectionRefused | Kind::NetworkUnreachable | Kind::HostUnreachable | Kind::NotFound
    );
    // A name that cannot be looked up has no kind of its own.
    by_kind || error.to_string().contains("lookup address")
}
