//! A server that runs already: llama-server, vLLM, Ollama, LM Studio, and what else speaks as OpenAI does.

pub mod address;
mod controls;
mod dialect;
mod guard;
mod probe;
mod replies;
mod transport;

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

pub use self::dialect::Dialect;
use self::{
    address::Address,
    controls::ServerControls,
    dialect::{Manner, ServerPrompt, StreamedAnswer},
    guard::PromptFit,
    replies::TokenizeReply,
    transport::Transport,
};
use crate::{
    Error, Failure, Result,
    config::{Determinism, KeyConfig, LlmConfig, duration},
    engine::{EngineInfo, LlmEngine},
    request::{ChatRequest, Completion, Message, Role, SamplingConfig},
    secret,
};

/// Settings of `engine: { http: {...} }`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct HttpConfig {
    /// The kind of server; found out where it is not given.
    pub dialect: Dialect,
    /// Place of the server's key, if it wants one.
    pub key: KeyConfig,
    /// Lets answers come piece by piece: a server that hangs is noticed after `timeouts.idle_s` and not only after
    /// `timeouts.request_s`. It costs the server some work for each token.
    pub stream: bool,
}

impl HttpConfig {
    pub(crate) fn validate(&self, key: &str) -> wb_core::Result<()> {
        if !self.key.env.is_empty() && !self.key.file.as_os_str().is_empty() {
            return Err(Error::value(format!("{key}.key.file"), "given beside `env`, expected one of them"));
        }
        Ok(())
    }
}

/// Ollama's window where none is asked for; its own default depends on the machine, so one is always sent.
const OLLAMA_CONTEXT: u32 = 4096;
/// Requests at once where a server does not say how many it works on.
const PARALLEL: usize = 4;

/// A model behind a server.
pub struct HttpEngine {
    info: EngineInfo,
    transport: Transport,
    manner: Manner,
    controls: ServerControls,
    idle: Duration,
}

impl HttpEngine {
    /// Waits for the server and asks it what it is.
    pub fn open(config: &LlmConfig, http: &HttpConfig) -> Result<Self> {
        let key = secret::key_of(&http.key, "llm.engine.http.key")?;
        Self::connect(config, http, &config.base_url, key, "http", &mut || Ok(false))
    }

    /// Waits for the server and asks it what it is, unless somebody asks to stop.
    pub fn open_unless(config: &LlmConfig, http: &HttpConfig, interrupt: &AtomicBool) -> Result<Self> {
        let key = secret::key_of(&http.key, "llm.engine.http.key")?;
        Self::connect(config, http, &config.base_url, key, "http", &mut || match interrupt.load(Ordering::Relaxed) {
            true => Err(Error::Stopped),
            false => Ok(false),
        })
    }

    /// Connects to a server, which may just be starting; `alive` is asked while it loads.
    pub(crate) fn connect(
        config: &LlmConfig,
        http: &HttpConfig,
        base_url: &str,
        key: Option<wb_core::key::Key>,
        name: &str,
        alive: &mut dyn FnMut() -> Result<bool>,
    ) -> Result<Self> {
        let address = Address::parse(base_url, config.allow_remote)
            .map_err(|(what, hint)| Error::value("llm.base_url", what).with_hint(hint))?;
        // As many connections as there may be requests; how many there will be is known only after asking.
        let connections = if config.parallel == 0 { 64 } else { config.parallel };
        let transport = Transport::new(address, key, &config.timeouts, connections);
        let models = probe::wait(&transport, duration(config.timeouts.start_s), alive)?;
        let model = if name == "http" { config.model.as_str() } else { "" };
        let found = probe::find(&transport, models, (http.dialect, model), alive)?;
        let asked = (config.context > 0).then_some(config.context);
        let context = match found.dialect {
            Dialect::Ollama => Some(asked.unwrap_or(OLLAMA_CONTEXT)),
            _ => found.context.or(asked),
        };
        if let (Some(asked), Some(context)) = (asked, context)
            && asked > context
        {
            let what = format!("{asked}, and {} has {context} tokens a slot", transport.address().root());
            return Err(Error::value("llm.context", what));
        }
        let strict = config.determinism == Determinism::Strict;
        let slots = if strict { 1 } else { found.slots.unwrap_or(PARALLEL) };
        let info = EngineInfo {
            engine: name.to_owned(),
            model: found.model.clone(),
            model_hash: found.model_hash,
            file_hash: found.file_hash,
            context,
            build: found.build,
            parallel: if config.parallel == 0 { slots } else { config.parallel },
            controls: found.controls.known().clone(),
        };
        let (dialect, model) = (found.dialect, found.model);
        let manner = Manner { dialect, model, context, cache: !strict, stream: http.stream };
        Ok(Self { info, transport, manner, controls: found.controls, idle: duration(config.timeouts.idle_s) })
    }

    /// The kind of server.
    pub fn dialect(&self) -> Dialect {
        self.manner.dialect
    }

    fn ask(&self, asked: &ServerPrompt<'_>) -> Result<Completion, Failure> {
        let (route, body) = (self.manner.route(asked), self.manner.body(asked));
        if !self.manner.stream {
            return self.manner.completion(self.transport.post(route, &body)?);
        }
        let mut pieces = StreamedAnswer::default();
        self.transport.post_lines(route, &body, self.idle, &mut |line| self.manner.line(line, &mut pieces))?;
        pieces.finish()
    }

    /// Refuses an answer to a prompt that the server cut.
    fn guarded(&self, messages: &[Message], answer: u32, completion: Completion) -> Result<Completion, Failure> {
        let reported = completion.usage.prompt;
        let cut = |count: String| {
            let reported = reported.map_or_else(String::new, |n| format!(", of which the server read {n}"));
            let window = self.manner.context.map_or_else(String::new, |n| format!("; its window has {n}"));
            Err(Failure::Reject(format!("the server cut the prompt of {count} tokens{reported}{window}")))
        };
        if completion.truncated {
            return cut("unknown".into());
        }
        match guard::judge(messages, reported, self.manner.context, answer) {
            PromptFit::Whole => Ok(completion),
            PromptFit::Cut => {
                let least: usize = messages.iter().map(|message| guard::least_tokens(&message.content)).sum();
                cut(format!("at least {least}"))
            }
            PromptFit::Unsure => {
                let mut count = 0;
                for message in messages {
                    let Some(tokens) = self.tokenize(&message.content)? else { return Ok(completion) };
                    count += tokens.len();
                }
                if reported.is_some_and(|reported| (reported as f64) < guard::SHARE * count as f64) {
                    return cut(count.to_string());
                }
                Ok(completion)
            }
        }
    }
}

impl LlmEngine for HttpEngine {
    fn info(&self) -> &EngineInfo {
        &self.info
    }

    fn place(&self) -> String {
        self.transport.address().root().to_owned()
    }

    fn chat(&self, request: &ChatRequest) -> Result<Completion, Failure> {
        let completion = self.ask(&ServerPrompt::Chat(request))?;
        self.guarded(&request.messages, request.sampling.max_tokens, completion)
    }

    fn complete(&self, prompt: &str, sampling: &SamplingConfig, seed: u32) -> Result<Completion, Failure> {
        let completion = self.ask(&ServerPrompt::Text(prompt, sampling, seed))?;
        let message = Message { role: Role::User, content: prompt.to_owned() };
        self.guarded(&[message], sampling.max_tokens, completion)
    }

    fn harmless(&self, message: &str) -> Result<String, Failure> {
        self.controls.broken(&self.transport, message)
    }

    fn tokenize(&self, text: &str) -> Result<Option<Vec<u32>>, Failure> {
        let body = match self.manner.dialect {
            Dialect::LlamaServer => json!({"content": text, "parse_special": true, "add_special": false}),
            Dialect::Vllm => json!({"model": self.manner.model, "prompt": text, "add_special_tokens": false}),
            _ => return Ok(None),
        };
        match self.transport.post::<TokenizeReply>("/tokenize", &body) {
            Ok(found) => Ok(found.tokens),
            // A server, or what stands before it, without this route.
            Err(Failure::Stop(what)) if what.contains(" answered 404") => Ok(None),
            Err(failure) => Err(failure),
        }
    }
}
