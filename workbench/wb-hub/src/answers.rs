//! Refusals of a server, as a person needs to read them.

use std::{io::Read, time::SystemTime};

use ureq::{Body, http::Response};
use wb_core::retry_after::retry_after;

use crate::{Error, RepoKind, Settings, Why, error::failure, patience::Trouble};

/// Bytes of a refusal's body that are read.
const SHOWN: u64 = 400;

/// The thing that is asked for, in words.
pub(crate) struct About {
    /// `owner/name@commit: file`, or an address.
    pub(crate) what: String,
    /// The repository, where it is one.
    pub(crate) repo: Option<(RepoKind, String)>,
}

impl About {
    /// An error about it.
    pub(crate) fn error(&self, why: Why, message: impl Into<String>) -> Error {
        failure(why, self.what.clone(), message)
    }

    /// Another way to the same work.
    pub(crate) fn elsewhere(&self) -> &'static str {
        self.repo.as_ref().map_or("fetch it by other means and put it in its place", |(kind, _)| kind.elsewhere())
    }

    /// Address at which a person looks at the repository.
    fn page(&self, settings: &Settings) -> String {
        match &self.repo {
            Some((RepoKind::Model, id)) => format!("{}/{id}", settings.endpoint),
            Some((RepoKind::Dataset, id)) => format!("{}/datasets/{id}", settings.endpoint),
            None => self.what.clone(),
        }
    }
}

/// An answer other than yes: asked again, or told.
pub(crate) fn refusal(status: u16, response: Response<Body>, about: &About, settings: &Settings) -> Trouble {
    let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let (code, message) = (header("x-error-code").unwrap_or_default(), header("x-error-message"));
    let after = header("retry-after").and_then(|text| retry_after(&text, SystemTime::now()));
    let after = after.or_else(|| header("ratelimit").and_then(|text| until_reset(&text)));
    let mut body = Vec::new();
    // A refusal is told by its status; what its body adds may be missing.
    let _ = response.into_body().into_reader().take(SHOWN).read_to_end(&mut body);
    let body = String::from_utf8_lossy(&body);
    let told = message.unwrap_or_else(|| body.lines().next().unwrap_or_default().to_owned());
    let told: String = told.chars().map(|c| if c.is_control() { ' ' } else { c }).take(200).collect();
    let told = settings.key.as_ref().map_or_else(|| told.clone(), |key| key.redact(&told));

    let page = about.page(settings);
    let has_key = settings.key.is_some();
    let is_repo = about.repo.is_some();
    let tokens = format!("{}/settings/tokens", settings.endpoint);
    let (why, message, hint) = match (status, code.as_str()) {
        (401 | 403, "GatedRepo") if has_key => (
            Why::Gated,
            "is gated, and the account of your token has no access".to_owned(),
            format!("accept its terms at {page} with that account, then give the same command again"),
        ),
        (401 | 403, "GatedRepo") => (
            Why::Gated,
            "is gated: its owner lets in who has accepted the terms".to_owned(),
            format!("accept them at {page}, make a token at {tokens}, and set HF_TOKEN"),
        ),
        // Whoever is not let in is told of no repository: it may be private, or not there.
        (401 | 404, "RepoNotFound") | (401, "") if is_repo && !told.contains("Invalid credentials") => (
            Why::NoRepository,
            match has_key {
                true => "no repository has this name, or none that your token may read".to_owned(),
                false => "no public repository has this name".to_owned(),
            },
            format!("look at {page}; one that is not public needs HF_TOKEN ({tokens})"),
        ),
        (401, _) => (
            Why::Token,
            format!("the token is not accepted: {told}"),
            format!("make another at {tokens} and set HF_TOKEN, or unset it for public repositories"),
        ),
        (404, "RevisionNotFound") => (
            Why::NoRevision,
            "the repository has no such branch, tag or commit".to_owned(),
            format!("its page lists them: {page}"),
        ),
        (404, "EntryNotFound") => {
            (Why::NoFile, "the repository has no such file".to_owned(), format!("its page lists them: {page}"))
        }
        (404, _) if is_repo => (
            Why::NoRepository,
            "the hub has no such repository, or no such file in it".to_owned(),
            format!("look at {page}; one that is not public needs HF_TOKEN"),
        ),
        (404 | 410, _) => (
            Why::NoFile,
            "the server has no such file".to_owned(),
            "it may have moved: look for it by its name".to_owned(),
        ),
        (416, _) => {
            // What came before is not the beginning of this file: the caller begins anew.
            let error = about.error(Why::WrongBytes, "the server has no more bytes, and more were expected");
            return Trouble::again(error.with_hint("give the same command again"), None);
        }
        (429, _) => {
            let error = about.error(Why::Busy, "the server has had too many requests (429)");
            let hint =
                "wait some minutes and give the same command again: what came is kept; HF_TOKEN raises the limit";
            return Trouble::again(error.with_hint(hint), after);
        }
        (408 | 425 | 500..=599, _) => {
            let error = about.error(Why::Unreachable, format!("the server answers {status}: {told}"));
            let hint = "the fault is the server's; give the same command again later: what came is kept";
            return Trouble::again(error.with_hint(hint), after);
        }
        _ => (
            Why::Refused,
            format!("the server answers {status}: {told}"),
            format!("look at {page}; or {}", about.elsewhere()),
        ),
    };
    about.error(why, message).with_hint(hint).into()
}

/// The seconds in `"api";r=0;t=55`: after so many the count of requests begins anew.
fn until_reset(text: &str) -> Option<std::time::Duration> {
    let fields = text.split(';').map(str::trim);
    let seconds = fields.filter_map(|field| field.strip_prefix("t=")).find_map(|value| value.parse::<u64>().ok());
    seconds.map(std::time::Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hub_says_when_it_counts_anew() {
        assert_eq!(until_reset("\"api\";r=0;t=55"), Some(std::time::Duration::from_secs(55)));
        assert_eq!(until_reset("\"api\";r=10"), None);
    }
}
