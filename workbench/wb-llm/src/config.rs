//! A run's settings of its language model: engine, parallel requests, patience.

use std::{borrow::Cow, fmt, path::PathBuf, time::Duration};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{self, MapAccess, Visitor},
};
use wb_core::Error;

use crate::engines::{
    http::{HttpConfig, address::Address},
    sidecar::SidecarConfig,
};

/// The section `llm:` of an experiment.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct LlmConfig {
    /// Engine that runs the model: `auto`, `http`, `sidecar`, `embedded` or `replay`, with settings as `{ http: {} }`.
    /// `auto` is `http` where there is a `base_url`, else `sidecar` where a llama-server is found, else `embedded`;
    /// which it was stands in `synthesis.json`. A server that happens to listen on this machine is never taken.
    pub engine: EngineConfig,
    /// Model to ask. For `sidecar` and `embedded` a GGUF file: a path (a leading `~` is the home folder), or a file of
    /// the hub as `owner/name/FILE.gguf` or `owner/name@revision/FILE.gguf`, which is fetched when it is first used.
    /// For `http` the server's name of the model, empty for its only one.
    #[serde(deserialize_with = "wb_core::paths::typed")]
    pub model: String,
    /// Address of the server of `http`: `http://127.0.0.1:8080`, with or without `/v1`.
    pub base_url: String,
    /// Tokens of prompt and answer together, of one question; `0` is what a server says, else 4,096.
    pub context: u32,
    /// Lets prompts leave this machine: without it, `base_url` has to be a loopback address.
    pub allow_remote: bool,
    /// Questions asked at once; `0` is what the engine has slots for.
    pub parallel: usize,
    /// `recorded`: answers are in the ledger, and the same bytes come out of it again. `strict`: one question at a time
    /// and no cache of prompts, so that the same server and build give the same answers.
    pub determinism: Determinism,
    /// Limits on waiting.
    pub timeouts: TimeoutsConfig,
    /// Attempts after a failure, and the waits between them.
    pub retries: RetriesConfig,
    /// Asks the engine a few questions at the start, to know whether it keeps to schemas, repeats itself, reads control
    /// tokens in text and counts tokens.
    pub canaries: bool,
}

impl Default for LlmConfig {
    fn default() -> Self {
        Self {
            engine: EngineConfig::Auto,
            model: String::new(),
            base_url: String::new(),
            context: 0,
            allow_remote: false,
            parallel: 0,
            determinism: Determinism::Recorded,
            timeouts: TimeoutsConfig::default(),
            retries: RetriesConfig::default(),
            canaries: true,
        }
    }
}

/// An engine; one with all of its settings at their defaults may be written as its name alone.
#[derive(Debug, Clone, Default, Serialize, PartialEq)]
#[serde(rename_all = "snake_case")]
pub enum EngineConfig {
    /// `http` where there is a `base_url`, else `sidecar` where a llama-server is found, else `embedded`.
    /// Which one it was is written down. A server that happens to listen somewhere is never taken.
    #[default]
    Auto,
    /// A server that runs already.
    Http(HttpConfig),
    /// A llama-server that is started, and ended, here.
    Sidecar(SidecarConfig),
    /// The model's file, run in this process; one question at a time.
    Embedded(EmbeddedSettings),
    /// Answers of an earlier run, out of its ledger: no model.
    Replay,
}

/// Settings of `engine: { embedded: {...} }`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(deny_unknown_fields, default)]
pub struct EmbeddedSettings {
    /// Threads that the arithmetic runs on; 0 is one for each core.
    pub threads: usize,
}

impl EmbeddedSettings {
    fn validate(&self, key: &str) -> wb_core::Result<()> {
        if self.threads > 1024 {
            let message = format!("got {}, expected at most 1024", self.threads);
            return Err(Error::value(format!("{key}.threads"), message));
        }
        Ok(())
    }
}

/// The names of engines, as they are written.
const ENGINES: [&str; 5] = ["auto", "http", "sidecar", "embedded", "replay"];

impl<'de> Deserialize<'de> for EngineConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(EngineVisitor)
    }
}

impl JsonSchema for EngineConfig {
    fn schema_name() -> Cow<'static, str> {
        "EngineConfig".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "An engine; one with all of its settings at their defaults may be written as its name alone.",
            "anyOf": [
                { "type": "string", "enum": ENGINES },
                {
                    "type": "object",
                    "properties": {
                        "http": generator.subschema_for::<HttpConfig>(),
                        "sidecar": generator.subschema_for::<SidecarConfig>(),
                        "embedded": generator.subschema_for::<EmbeddedSettings>(),
                    },
                    "minProperties": 1,
                    "maxProperties": 1,
                    "additionalProperties": false,
                },
            ],
        })
    }
}

/// A name, or a map of one name and its settings.
struct EngineVisitor;

impl<'de> Visitor<'de> for EngineVisitor {
    type Value = EngineConfig;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "one of {}, or a map of one of them and its settings", ENGINES.join(", "))
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<EngineConfig, E> {
        Ok(match name {
            "auto" => EngineConfig::Auto,
            "http" => EngineConfig::Http(HttpConfig::default()),
            "sidecar" => EngineConfig::Sidecar(SidecarConfig::default()),
            "embedded" => EngineConfig::Embedded(EmbeddedSettings::default()),
            "replay" => EngineConfig::Replay,
            other => return Err(E::unknown_variant(other, &ENGINES)),
        })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<EngineConfig, A::Error> {
        use de::Error as _;
        let Some(name) = map.next_key::<String>()? else {
            return Err(A::Error::invalid_length(0, &self));
        };
        let engine = match name.as_str() {
            "http" => EngineConfig::Http(map.next_value()?),
            "sidecar" => EngineConfig::Sidecar(map.next_value()?),
            "embedded" => EngineConfig::Embedded(map.next_value()?),
            "auto" | "replay" => {
                return Err(A::Error::custom(format!("`{name}` has no settings, expected the name alone")));
            }
            other => return Err(A::Error::unknown_variant(other, &ENGINES)),
        };
        match map.next_key::<String>()? {
            None => Ok(engine),
            Some(second) => Err(A::Error::custom(format!("`{second}` beside `{name}`, expected one engine"))),
        }
    }
}

/// Source from which answers can be had again: the model, or only the ledger.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Determinism {
    /// Answers are recorded. Servers that work on several requests at once add in another order each time.
    #[default]
    Recorded,
    /// One question at a time, and no cache of prompts: the same server and build give the same answers.
    Strict,
}

/// Limits on waiting, in seconds.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct TimeoutsConfig {
    /// Until a server that is loading its model answers.
    pub start_s: f64,
    /// Until a connection stands.
    pub connect_s: f64,
    /// Between two pieces of an answer that streams.
    pub idle_s: f64,
    /// Seconds of one request, from its first byte to the answer's last.
    pub request_s: f64,
}

impl Default for TimeoutsConfig {
    fn default() -> Self {
        Self { start_s: 120.0, connect_s: 5.0, idle_s: 120.0, request_s: 600.0 }
    }
}

/// Attempts after a failure, and the waits between them.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct RetriesConfig {
    /// Attempts of one request that a server fails at: no connection, a time-out, 429, 500, 502, 503, half an answer.
    pub tries: u32,
    /// The first wait is drawn from 0 to this; each next one from twice as much.
    pub first_wait_s: f64,
    /// The longest wait, except where the server asks for more.
    pub max_wait_s: f64,
    /// All attempts and waits of one request together.
    pub deadline_s: f64,
    /// Attempts at an answer that fits the schema, each with a seed of its own.
    pub answers: u32,
    /// Goes on without the questions that the server failed at `tries` times while it answered others. Otherwise the run
    /// ends once all others are answered, and the same command asks these again.
    pub leave_out: bool,
}

impl Default for RetriesConfig {
    fn default() -> Self {
        Self { tries: 8, first_wait_s: 0.5, max_wait_s: 30.0, deadline_s: 1800.0, answers: 3, leave_out: false }
    }
}

/// Longest time that can be asked for: a day.
const MAX_SECONDS: f64 = 86_400.0;

impl LlmConfig {
    /// Refuses what cannot work, before anything is asked.
    pub fn validate(&self, key: &str) -> wb_core::Result<()> {
        let at = |name: &str| format!("{key}.{name}");
        if self.parallel > 1024 {
            return Err(Error::value(at("parallel"), format!("got {}, expected at most 1024", self.parallel)));
        }
        if self.determinism == Determinism::Strict && self.parallel > 1 {
            let message = format!("{} with `determinism: strict`, expected 0 or 1", self.parallel);
            return Err(Error::value(at("parallel"), message)
                .with_hint("servers that work on several requests at once do not repeat themselves"));
        }
        let has_url = !self.base_url.is_empty();
        if has_url {
            Address::parse(&self.base_url, self.allow_remote)
                .map_err(|(message, hint)| Error::value(at("base_url"), message).with_hint(hint))?;
        }
        match &self.engine {
            EngineConfig::Auto => {
                if !has_url && self.model.is_empty() {
                    return Err(Error::value(at("model"), "empty, and so is `base_url`, expected one of them")
                        .with_hint("model: path/to/model.gguf, or base_url: http://127.0.0.1:8080"));
                }
            }
            EngineConfig::Http(http) => {
                if !has_url {
                    return Err(Error::value(at("base_url"), "empty, expected the address of a server")
                        .with_hint("base_url: http://127.0.0.1:8080"));
                }
                http.validate(&at("engine.http"))?;
            }
            EngineConfig::Sidecar(_) | EngineConfig::Embedded(_) if self.model.is_empty() => {
                let empty = Error::value(at("model"), "empty, expected a GGUF file");
                return Err(empty.with_hint("model: path/to/model.gguf"));
            }
            EngineConfig::Sidecar(sidecar) => sidecar.validate(&at("engine.sidecar"))?,
            EngineConfig::Embedded(embedded) => embedded.validate(&at("engine.embedded"))?,
            EngineConfig::Replay => {}
        }
        self.timeouts.validate(&at("timeouts"))?;
        self.retries.validate(&at("retries"))
    }
}

impl TimeoutsConfig {
    fn validate(&self, key: &str) -> wb_core::Result<()> {
        seconds(key, "start_s", self.start_s, 0.0)?;
        seconds(key, "connect_s", self.connect_s, 0.001)?;
        seconds(key, "idle_s", self.idle_s, 0.001)?;
        seconds(key, "request_s", self.request_s, 0.001)
    }
}

impl RetriesConfig {
    fn validate(&self, key: &str) -> wb_core::Result<()> {
        for (name, value) in [("tries", self.tries), ("answers", self.answers)] {
            if !(1..=100).contains(&value) {
                return Err(Error::value(format!("{key}.{name}"), format!("got {value}, expected 1 to 100")));
            }
        }
        seconds(key, "first_wait_s", self.first_wait_s, 0.0)?;
        seconds(key, "max_wait_s", self.max_wait_s, 0.0)?;
        seconds(key, "deadline_s", self.deadline_s, 0.001)
    }
}

fn seconds(key: &str, name: &str, value: f64, least: f64) -> wb_core::Result<()> {
    if (least..=MAX_SECONDS).contains(&value) {
        return Ok(());
    }
    Err(Error::value(format!("{key}.{name}"), format!("got {value}, expected {least} to {MAX_SECONDS} seconds")))
}

/// Seconds of a validated config as a duration.
pub(crate) fn duration(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::from_secs(MAX_SECONDS as u64))
}

/// The key of a server: named here, never written here.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct KeyConfig {
    /// The name of an environment variable that holds it.
    pub env: String,
    /// A file that holds it.
    #[serde(deserialize_with = "wb_core::paths::typed")]
    pub file: PathBuf,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(json: serde_json::Value) -> String {
        let config: LlmConfig = serde_json::from_value(json).unwrap();
        config.validate("llm").unwrap_err().to_string()
    }

    #[test]
    fn impossible_values_are_refused_by_key() {
        use serde_json::json;
        for (config, message) in [
            (json!({}), "llm.model: empty, and so is `base_url`, expected one of them"),
            (json!({"engine": {"http": {}}}), "llm.base_url: empty, expected the address of a server"),
            (json!({"engine": {"sidecar": {}}}), "llm.model: empty, expected a GGUF file"),
            (
                json!({"model": "a.gguf", "determinism": "strict", "parallel": 4}),
                "llm.parallel: 4 with `determinism: strict`, expected 0 or 1",
            ),
            (json!({"model": "a", "retries": {"tries": 0}}), "llm.retries.tries: got 0, expected 1 to 100"),
            (
                json!({"model": "a", "timeouts": {"request_s": -1.0}}),
                "llm.timeouts.request_s: got -1, expected 0.001 to 86400 seconds",
            ),
            (
                json!({"base_url": "http://203.0.113.7:80"}),
                "llm.base_url: `203.0.113.7` is another machine, expected a loopback address",
            ),
        ] {
            assert_eq!(refused(config), message);
        }
    }

    #[test]
    fn single_key_maps_are_read_and_written() {
        let yaml = "engine:\n  http:\n    dialect: ollama\nbase_url: http://localhost:11434/v1\nmodel: qwen\n";
        let config: LlmConfig = wb_core::config::from_text(yaml, std::path::Path::new("x.yaml")).unwrap();
        config.validate("llm").unwrap();
        let text = wb_core::config::to_text(&config).unwrap();
        assert_eq!(wb_core::config::from_text::<LlmConfig>(&text, std::path::Path::new("y.yaml")).unwrap(), config);
        let auto: LlmConfig =
            wb_core::config::from_text("engine: auto\nmodel: a.gguf\n", std::path::Path::new("x.yaml")).unwrap();
        assert_eq!(auto.engine, EngineConfig::Auto);
        let read = |yaml: &str| wb_core::config::from_text::<LlmConfig>(yaml, std::path::Path::new("x.yaml"));
        for (yaml, expected) in [
            ("engine: embedded", EngineConfig::Embedded(EmbeddedSettings::default())),
            ("engine: {embedded: {threads: 2}}", EngineConfig::Embedded(EmbeddedSettings { threads: 2 })),
            ("engine: sidecar", EngineConfig::Sidecar(SidecarConfig::default())),
            ("engine: replay", EngineConfig::Replay),
        ] {
            let config = read(yaml).unwrap();
            assert_eq!(config.engine, expected, "{yaml}");
            let text = wb_core::config::to_text(&config).unwrap();
            assert_eq!(read(&text).unwrap(), config, "{text}");
        }
        for (yaml, says) in [
            ("engine: embeded", "embeded"),
            ("engine: {embedded: {thread: 2}}", "thread"),
            ("engine: {replay: {}}", "no settings"),
            ("engine: {http: {}, sidecar: {}}", "`sidecar` beside `http`"),
            ("engine: {}", "expected one of auto"),
            ("engine: 3", "expected one of auto"),
        ] {
            let error = read(yaml).unwrap_err().to_string();
            assert!(error.contains(says) && error.contains("engine"), "{yaml}: {error}");
        }
    }
}
