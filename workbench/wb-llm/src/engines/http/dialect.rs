//! The words in which a kind of server wants to be asked, and the reading of its answers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::replies::{Ollama, OpenAi, finish};
use crate::{
    error::Failure,
    request::{ChatRequest, Completion, Message, SamplingConfig, Usage},
};

/// The kind of server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Dialect {
    /// Found out by asking it.
    #[default]
    Probe,
    /// llama.cpp's `llama-server`.
    LlamaServer,
    /// vLLM.
    Vllm,
    /// Ollama, by its own routes: those that look like OpenAI's cut prompts at a length that cannot be set.
    Ollama,
    /// Hugging Face's Text Generation Inference.
    Tgi,
    /// Anything else with `/v1/chat/completions`: LM Studio, a gateway.
    Generic,
}

/// The marks by which a kind of server is known.
#[derive(Debug, Clone, Copy, Default)]
pub struct SelfDescription {
    /// Owner of its models in `/v1/models`; empty where that is not its own name.
    pub owner: &'static str,
    /// The route of its own that says more; empty where there is none. What follows points into its answer.
    pub route: &'static str,
    /// Part of the answer that no other kind has.
    pub sign: &'static str,
    /// Tokens of prompt and answer together.
    pub context: &'static str,
    /// Requests that it works on at once.
    pub slots: &'static str,
    /// Its version.
    pub build: &'static str,
    /// Part of the model's identity: the name that it gets there, and its place.
    pub model: Option<(&'static str, &'static str)>,
}

impl Dialect {
    /// Kinds that can be told from others, in the order in which they are looked for.
    pub const KNOWN: [Self; 4] = [Self::LlamaServer, Self::Vllm, Self::Ollama, Self::Tgi];

    /// Gives the marks by which it is known.
    pub fn self_description(self) -> SelfDescription {
        match self {
            Self::LlamaServer => SelfDescription {
                owner: "llamacpp",
                route: "/props",
                sign: "/total_slots",
                context: "/default_generation_settings/n_ctx",
                slots: "/total_slots",
                build: "/build_info",
                model: Some(("template", "/chat_template")),
            },
            Self::Vllm => {
                SelfDescription { owner: "vllm", route: "/version", build: "/version", ..SelfDescription::default() }
            }
            Self::Ollama => SelfDescription {
                route: "/api/version",
                sign: "/version",
                build: "/version",
                ..SelfDescription::default()
            },
            // Its models are owned by themselves.
            Self::Tgi => SelfDescription {
                route: "/info",
                sign: "/max_total_tokens",
                context: "/max_total_tokens",
                build: "/version",
                model: Some(("sha", "/model_sha")),
                ..SelfDescription::default()
            },
            Self::Generic | Self::Probe => SelfDescription::default(),
        }
    }
}

/// The settings of all requests to one server.
#[derive(Debug, Clone)]
pub struct Manner {
    /// Kind of the server.
    pub dialect: Dialect,
    /// The model's name at the server.
    pub model: String,
    /// Tokens of prompt and answer together, where it is known.
    pub context: Option<u32>,
    /// True where the server may take the beginning of a prompt from its cache.
    pub cache: bool,
    /// True where answers come piece by piece.
    pub stream: bool,
}

/// A prompt: a conversation, or a text to go on with.
pub enum ServerPrompt<'a> {
    /// A conversation.
    Chat(&'a ChatRequest),
    /// A text, how to draw, and the seed.
    Text(&'a str, &'a SamplingConfig, u32),
}

impl Manner {
    /// The route for a prompt.
    pub fn route(&self, asked: &ServerPrompt<'_>) -> &'static str {
        match (self.dialect, asked) {
            (Dialect::Ollama, ServerPrompt::Chat(_)) => "/api/chat",
            (Dialect::Ollama, ServerPrompt::Text(..)) => "/api/generate",
            (_, ServerPrompt::Chat(_)) => "/v1/chat/completions",
            (_, ServerPrompt::Text(..)) => "/v1/completions",
        }
    }

    /// The request's body.
    pub fn body(&self, asked: &ServerPrompt<'_>) -> Value {
        if self.dialect == Dialect::Ollama { self.ollama(asked) } else { self.open_ai(asked) }
    }

    fn open_ai(&self, asked: &ServerPrompt<'_>) -> Value {
        let mut body = Map::new();
        let mut put = |key: &str, value: Value| body.insert(key.to_owned(), value);
        put("model", json!(self.model));
        let (sampling, seed) = match asked {
            ServerPrompt::Chat(request) => {
                put("messages", messages(&request.messages));
                if let Some(schema) = &request.schema {
                    put("response_format", self.response_format(schema));
                }
                (&request.sampling, request.seed)
            }
            ServerPrompt::Text(prompt, sampling, seed) => {
                put("prompt", json!(prompt));
                (*sampling, *seed)
            }
        };
        put("max_tokens", json!(sampling.max_tokens));
        put("temperature", json!(sampling.temperature));
        // TGI takes 1 for an error, and means it where nothing is given.
        if self.dialect != Dialect::Tgi || sampling.top_p < 1.0 {
            put("top_p", json!(sampling.top_p));
        }
        put("seed", json!(seed));
        put("stream", json!(self.stream));
        if self.stream {
            put("stream_options", json!({"include_usage": true}));
        }
        // Servers draw from less than the whole distribution unless they are told not to; what is drawn from is to be
        // the same everywhere.
        match self.dialect {
            Dialect::LlamaServer => {
                put("top_k", json!(0));
                put("min_p", json!(0.0));
                put("repeat_penalty", json!(1.0));
                put("cache_prompt", json!(self.cache));
            }
            Dialect::Vllm => {
                put("top_k", json!(-1));
                put("min_p", json!(0.0));
                put("repetition_penalty", json!(1.0));
            }
            _ => {}
        }
        Value::Object(body)
    }

    fn response_format(&self, schema: &Value) -> Value {
        match self.dialect {
            Dialect::Tgi => json!({"type": "json", "value": schema}),
            // The one form that all others know.
            _ => {
                json!({"type": "json_schema", "json_schema": {"name": "answer", "strict": true, "schema": schema}})
            }
        }
    }

    fn ollama(&self, asked: &ServerPrompt<'_>) -> Value {
        let (sampling, seed) = match asked {
            ServerPrompt::Chat(request) => (&request.sampling, request.seed),
            ServerPrompt::Text(_, sampling, seed) => (*sampling, *seed),
        };
        let options = json!({
            "num_ctx": self.context, "num_predict": sampling.max_tokens, "temperature": sampling.temperature,
            "top_p": sampling.top_p, "seed": seed, "top_k": 0, "min_p": 0.0, "repeat_penalty": 1.0,
        });
        let mut body = json!({"model": self.model, "stream": self.stream, "options": options});
        match asked {
            ServerPrompt::Chat(request) => {
                body["messages"] = messages(&request.messages);
                if let Some(schema) = &request.schema {
                    body["format"] = schema.clone();
                }
            }
            ServerPrompt::Text(prompt, ..) => {
                body["prompt"] = json!(prompt);
                body["raw"] = json!(true);
            }
        }
        body
    }

    /// Reads a whole answer.
    pub fn completion(&self, answer: Value) -> Result<Completion, Failure> {
        let mut pieces = StreamedAnswer::default();
        pieces.add(self.dialect, answer)?;
        pieces.finish()
    }

    /// Reads a line of a stream: an event of OpenAI's kind, or Ollama's plain JSON.
    pub fn line(&self, line: &str, pieces: &mut StreamedAnswer) -> Result<(), Failure> {
        let text = match self.dialect {
            Dialect::Ollama => line,
            _ => match line.split_once(':') {
                Some(("data" | "error", text)) => text.trim(),
                // Comments and names of events, among them the signs of life that some servers send.
                _ => return Ok(()),
            },
        };
        if text.is_empty() || text == "[DONE]" {
            return Ok(());
        }
        let value = serde_json::from_str(text).map_err(|error| {
            let shown: String = text.chars().take(200).collect();
            retry(format!("a piece of a stream is not JSON ({error}): {shown}"))
        })?;
        pieces.add(self.dialect, value)
    }
}

/// An answer that is being put together.
#[derive(Debug, Default)]
pub struct StreamedAnswer {
    text: String,
    any: bool,
    finish: Option<String>,
    usage: Usage,
    truncated: bool,
}

impl StreamedAnswer {
    fn add(&mut self, dialect: Dialect, value: Value) -> Result<(), Failure> {
        let shown = || value.to_string().chars().take(300).collect::<String>();
        let unread = |error: serde_json::Error| retry(format!("an answer of an unknown shape ({error}): {}", shown()));
        if dialect == Dialect::Ollama {
            let piece: Ollama = serde::Deserialize::deserialize(&value).map_err(unread)?;
            refuse_error(piece.error)?;
            let text = piece.message.and_then(|message| message.content).or(piece.response);
            self.any |= text.is_some();
            self.text.push_str(&text.unwrap_or_default());
            if piece.done == Some(true) {
                self.finish = Some(piece.done_reason.unwrap_or_default());
                self.usage = Usage { prompt: piece.prompt_eval_count, cached: None, completion: piece.eval_count };
            }
            return Ok(());
        }
        let piece: OpenAi = serde::Deserialize::deserialize(&value).map_err(unread)?;
        refuse_error(piece.error)?;
        self.truncated |= piece.truncated == Some(true);
        if let Some(usage) = piece.usage {
            self.usage = usage.into();
        }
        let Some(choice) = piece.choices.into_iter().next() else { return Ok(()) };
        let text = choice.message.or(choice.delta).and_then(|message| message.content).or(choice.text);
        self.any |= text.is_some();
        self.text.push_str(&text.unwrap_or_default());
        self.finish = choice.finish_reason.or(self.finish.take());
        Ok(())
    }

    /// The answer, once there is no more to come.
    pub fn finish(self) -> Result<Completion, Failure> {
        match self.finish {
            // A reason for the end and no text is an empty answer; neither is a server that broke off.
            None if !self.any => Err(retry("an answer without a choice in it".into())),
            None => Err(retry("the answer broke off: no `finish_reason` came with it".into())),
            Some(word) => Ok(Completion {
                text: self.text,
                finish: finish(Some(word)),
                usage: self.usage,
                truncated: self.truncated,
            }),
        }
    }
}

fn messages(messages: &[Message]) -> Value {
    // `Message` serializes as servers want it: role and content.
    serde_json::to_value(messages).unwrap_or_default()
}

fn refuse_error(error: Option<Value>) -> Result<(), Failure> {
    match error {
        None | Some(Value::Null) => Ok(()),
        Some(error) => Err(retry(format!("the server broke off: {error}"))),
    }
}

fn retry(what: String) -> Failure {
    Failure::Retry { what, after: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{FinishReason, Role};

    fn manner(dialect: Dialect, stream: bool) -> Manner {
        Manner { dialect, model: "m".into(), context: Some(4096), cache: false, stream }
    }

    fn request(schema: bool) -> ChatRequest {
        ChatRequest {
            messages: vec![Message { role: Role::User, content: "hi".into() }],
            sampling: SamplingConfig { temperature: 0.5, top_p: 0.75, max_tokens: 7 },
            seed: 9,
            schema: schema.then(|| json!({"type": "object"})),
        }
    }

    #[test]
    fn each_server_is_asked_in_its_words() {
        let request = request(true);
        let asked = ServerPrompt::Chat(&request);
        let llama = manner(Dialect::LlamaServer, false);
        assert_eq!(
            llama.body(&asked),
            json!({"model": "m", "messages": [{"role": "user", "content": "hi"}],
                "response_format": {"type": "json_schema",
                    "json_schema": {"name": "answer", "strict": true, "schema": {"type": "object"}}},
                "max_tokens": 7, "temperature": 0.5, "top_p": 0.75, "seed": 9, "stream": false,
                "top_k": 0, "min_p": 0.0, "repeat_penalty": 1.0, "cache_prompt": false})
        );
        let generic = manner(Dialect::Generic, false).body(&asked);
        assert!(generic.get("top_k").is_none() && generic.get("cache_prompt").is_none());
        let tgi = manner(Dialect::Tgi, false);
        assert_eq!(
            tgi.body(&asked),
            json!({"model": "m", "messages": [{"role": "user", "content": "hi"}],
                "response_format": {"type": "json", "value": {"type": "object"}},
                "max_tokens": 7, "temperature": 0.5, "top_p": 0.75, "seed": 9, "stream": false})
        );
        let of_all = SamplingConfig { top_p: 1.0, ..request.sampling.clone() };
        assert!(tgi.body(&ServerPrompt::Text("x", &of_all, 3)).get("top_p").is_none());
        let ollama = manner(Dialect::Ollama, false);
        assert_eq!(ollama.route(&asked), "/api/chat");
        let body = ollama.body(&asked);
        assert_eq!(body["options"]["num_ctx"], 4096);
        assert_eq!(body["options"]["num_predict"], 7);
        assert_eq!(body["format"], json!({"type": "object"}));
        let text = ollama.body(&ServerPrompt::Text("x", &request.sampling, 3));
        assert!(text["raw"] == true && text["prompt"] == "x" && text["options"]["seed"] == 3);
    }

    #[test]
    fn answers_are_read_whole_or_in_pieces() {
        let usage = json!({"prompt_tokens": 3, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 1}});
        let whole = json!({"choices": [{"finish_reason": "stop", "message": {"content": "ab"}}], "usage": usage});
        let expected = Completion {
            text: "ab".into(),
            finish: FinishReason::Stop,
            usage: Usage { prompt: Some(3), cached: Some(1), completion: Some(2) },
            truncated: false,
        };
        let llama = manner(Dialect::LlamaServer, true);
        assert_eq!(llama.completion(whole).unwrap(), expected);
        let mut pieces = StreamedAnswer::default();
        for line in [
            ": alive",
            r#"data: {"choices":[{"delta":{"role":"assistant","content":null},"finish_reason":null}]}"#,
            r#"data: {"choices":[{"delta":{"content":"a"}}]}"#,
            "",
            r#"data: {"choices":[{"delta":{"content":"b"},"finish_reason":"stop"}]}"#,
            &format!(r#"data: {{"choices":[],"usage":{usage}}}"#),
            "data: [DONE]",
        ] {
            llama.line(line, &mut pieces).unwrap();
        }
        assert_eq!(pieces.finish().unwrap(), expected);
        let mut pieces = StreamedAnswer::default();
        let ollama = manner(Dialect::Ollama, true);
        for line in [
            r#"{"message":{"content":"a"},"done":false}"#,
            r#"{"message":{"content":"b"},"done":true,"done_reason":"stop","prompt_eval_count":3,"eval_count":2}"#,
        ] {
            ollama.line(line, &mut pieces).unwrap();
        }
        assert_eq!(pieces.finish().unwrap().text, "ab");
    }

    #[test]
    fn what_is_no_answer_is_tried_again() {
        let generic = manner(Dialect::Generic, false);
        for body in
            [json!({}), json!([]), json!({"choices": []}), json!({"choices": [{"message": {"content": "half"}}]})]
        {
            assert!(matches!(generic.completion(body.clone()), Err(Failure::Retry { .. })), "{body}");
        }
        let broke = generic.completion(json!({"error": {"message": "slot gone"}})).unwrap_err().to_string();
        assert!(broke.contains("slot gone"), "{broke}");
        let empty = generic.completion(json!({"choices": [{"message": {"content": ""}, "finish_reason": "length"}]}));
        assert_eq!(empty.unwrap().finish, FinishReason::Length);
    }
}
