//! Buckets of S3, by the variables of the environment that other programs take too.

use std::{
    sync::{Arc, Once},
    time::Duration,
};

use object_store::{
    ClientOptions, ObjectStore,
    aws::{AmazonS3Builder, AmazonS3ConfigKey},
};
use wb_core::{Error, remote::SCHEME};

use crate::Result;

/// Longest wait for one answer; a part of an upload is one.
const ANSWER: Duration = Duration::from_secs(120);
/// The variable that forbids the network.
const OFFLINE: &str = "WB_OFFLINE";

/// Opens a bucket by variables of an environment: those that begin with `AWS_`, as other programs take them.
///
/// # Errors
///
/// If the environment forbids the network, or says nonsense.
pub(crate) fn bucket(name: &str, variables: &[(String, String)]) -> Result<Arc<dyn ObjectStore>> {
    let is_on = |value: &str| !matches!(value.to_uppercase().as_str(), "" | "0" | "OFF" | "NO" | "FALSE");
    if variables.iter().any(|(name, value)| name == OFFLINE && is_on(value)) {
        return Err(Error::failed(format!("{SCHEME}{name} is not asked: {OFFLINE} forbids the network"))
            .with_hint(format!("unset {OFFLINE}, or name a folder that the machines share")));
    }
    // Two libraries of cryptography may be in a program, so that the one for TLS has to be named.
    static NAMED: Once = Once::new();
    NAMED.call_once(|| {
        // Fails where another part of the program has named one, which then holds.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
    let mut builder = AmazonS3Builder::new().with_bucket_name(name);
    for (variable, value) in variables.iter().filter(|(variable, _)| variable.starts_with("AWS_")) {
        if let Ok(key) = variable.to_ascii_lowercase().parse::<AmazonS3ConfigKey>() {
            builder = builder.with_config(key, value);
        }
    }
    // Whoever writes http:// means it; signatures of requests go over the wire, and no key.
    let endpoints = [AmazonS3ConfigKey::Endpoint, AmazonS3ConfigKey::S3Endpoint];
    let is_plain =
        endpoints.iter().filter_map(|key| builder.get_config_value(key)).any(|url| url.starts_with("http://"));
    let options = ClientOptions::new().with_timeout(ANSWER).with_allow_http(is_plain);
    let opened = builder.with_client_options(options).build();
    Ok(Arc::new(opened.map_err(|error| Error::failed(format!("cannot open the bucket {name}")).with_cause(error))?))
}
