//! A model run in this process, from one GGUF file, without any other program.
//!
//! Everything is made of the file: the weights (candle's kernels), the tokenizer, the chat template. What could be run
//! wrongly is refused when the file is opened. One request at a time; an answer is a function of model, prompt,
//! sampling and seed, whatever was asked before and however many threads there are.

use std::{
    fs::File,
    io::BufReader,
    path::PathBuf,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use rand::RngExt;
use rayon::ThreadPool;
use serde::{Deserialize, Serialize};
use wb_core::Seed;

use self::{
    architecture::DecoderSizes,
    decoder::Decoder,
    header::{GgufValue, Header},
    neutral::neutral,
    schema::{Follow, SchemaGrammars},
    template::Template,
    tokens::GgufTokenizer,
};
use crate::{
    Error, Failure,
    config::duration,
    controls::{ControlSource, ControlTokens},
    engine::{EngineInfo, LlmEngine},
    request::{ChatRequest, Completion, FinishReason, Message, SamplingConfig, Usage},
};

mod architecture;
mod decoder;
mod guarded;
pub mod header;
mod llama;
mod neutral;
mod sampler;
mod schema;
mod template;
pub mod tokens;

/// Threads at most.
const MAX_THREADS: usize = 1024;

/// A model in a file.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct EmbeddedConfig {
    /// The GGUF file.
    pub model: PathBuf,
    /// Tokens of prompt and answer together at most; what the model was trained for where that is less. Its keys and values
    /// and its tables of positions take memory in proportion.
    pub context: u32,
    /// Threads that work on it; 0 is one for each core.
    pub threads: usize,
    /// Seconds that an answer may take, from the first token of its prompt on.
    pub limit_s: f64,
}

impl Default for EmbeddedConfig {
    fn default() -> Self {
        Self { model: PathBuf::new(), context: 4096, threads: 0, limit_s: 600.0 }
    }
}

impl EmbeddedConfig {
    /// Refuses what cannot be meant, by the keys of the section `llm`.
    fn validate(&self) -> Result<(), Error> {
        let wrong = |key: &str, what: String| Err(Error::value(key, what));
        if self.model.as_os_str().is_empty() {
            let what = "empty, expected a GGUF file, as in `llm.model=qwen2.5-coder-1.5b-instruct-q4_k_m.gguf`";
            return wrong("llm.model", what.into());
        }
        if !(64..=131_072).contains(&self.context) {
            let what = format!("got {}, expected 64 to 131072 tokens, as in `llm.context=4096`", self.context);
            return wrong("llm.context", what);
        }
        if self.threads > MAX_THREADS {
            let what = format!("got {}, expected 0 to {MAX_THREADS}", self.threads);
            return wrong("llm.engine.embedded.threads", what);
        }
        if self.limit_s.is_nan() || self.limit_s <= 0.0 {
            let what =
                format!("got {}, expected more than 0 seconds, as in `llm.timeouts.request_s=600`", self.limit_s);
            return wrong("llm.timeouts.request_s", what);
        }
        Ok(())
    }
}

/// A model in this process.
pub struct EmbeddedEngine {
    info: EngineInfo,
    context: usize,
    tokens: GgufTokenizer,
    controls: ControlTokens,
    schemas: SchemaGrammars,
    template: Result<Template, String>,
    decoder: Mutex<Decoder>,
    /// Threads that candle's loops run on. A loop that is begun outside of a pool is handed over to another thread and waited for,
    /// which takes longer than most loops of a small model. (Products of quantized matrices have threads of their own, as
    /// many as `CANDLE_NUM_THREADS` or `RAYON_NUM_THREADS` says; where neither is set, candle counts the cores in a file of
    /// the system at every product of others, which is most of a small model's time.)
    pool: ThreadPool,
    limit: Duration,
}

impl EmbeddedEngine {
    /// Reads a model. Refuses files that are damaged, and models whose arithmetic, tokenizer or chat template is not one
    /// that is known to come out right here; a model without a chat template can only complete.
    pub fn open(config: &EmbeddedConfig) -> Result<Self, Error> {
        config.validate()?;
        let io = |source| Error::Io { action: "read", path: config.model.clone(), source };
        let refused = |what: String| Error::file(&config.model, what);
        let file = File::open(&config.model).map_err(io)?;
        if !file.metadata().map_err(io)?.is_file() {
            return Err(refused("not a file, a GGUF file was expected".into()));
        }
        let mut reader = BufReader::with_capacity(1 << 16, file);
        let header = Header::read(&mut reader).map_err(refused)?;
        let sizes = DecoderSizes::of(&header).map_err(refused)?;
        let context = config.context.min(sizes.context);
        let tokens = GgufTokenizer::of(&header, sizes.vocabulary).map_err(refused)?;
        let controls = ControlTokens::of_metadata(&header.metadata).map_err(refused)?;
        let schemas = SchemaGrammars::new(&tokens).map_err(refused)?;
        let template = match header.metadata.get("tokenizer.chat_template") {
            None => {
                Err("the model has no chat template (tokenizer.chat_template), it can only complete texts".to_owned())
            }
            Some(GgufValue::Text(source)) => {
                let text = |id: Option<u32>| id.map_or("", |id| tokens.vocabulary.text(id));
                let (bos, eos) = (text(tokens.vocabulary.bos), text(tokens.vocabulary.eos));
                Ok(Template::new(source, bos, eos).map_err(|e| refused(format!("tokenizer.chat_template: {e}")))?)
            }
            Some(other) => {
                return Err(refused(format!("tokenizer.chat_template is {}, a text was expected", other.kind())));
            }
        };
        let model_hash = hash(&mut reader).map_err(io)?;
        let decoder = Decoder::load(&sizes, &header, context, &mut reader).map_err(refused)?;
        let all = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = if config.threads == 0 { all } else { config.threads };
        let name = |n| format!("embedded-{n}");
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).thread_name(name).build();
        let pool = pool.map_err(|e| refused(format!("{threads} threads cannot be started: {e}")))?;
        let stem = || config.model.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
        let info = EngineInfo {
            engine: "embedded".into(),
            model: header.text("general.name").map_or_else(stem, str::to_owned),
            file_hash: Some(model_hash.clone()),
            model_hash,
            context: Some(context),
            build: concat!("wb-llm ", env!("CARGO_PKG_VERSION"), ", candle 0.11").into(),
            parallel: 1,
            controls: controls.known(ControlSource::File),
        };
        let (context, decoder) = (context as usize, Mutex::new(decoder));
        Ok(Self { info, context, tokens, controls, schemas, template, decoder, pool, limit: duration(config.limit_s) })
    }

    /// A conversation as the model's chat template writes it, contents unchanged.
    pub fn prompt(&self, messages: &[Message]) -> Result<String, Failure> {
        let template = self.template.as_ref().map_err(|e| Failure::Stop(e.clone()))?;
        template
            .write(messages)
            .map_err(|e| Failure::Stop(format!("the model's chat template does not take these messages: {e}")))
    }

    /// The tokens of a conversation, up to where the answer begins. Contents give no token of control, whatever they say.
    pub fn prompt_tokens(&self, messages: &[Message]) -> Result<Vec<u32>, Failure> {
        let neutral = neutral(messages, self.tokens.controls()).map_err(Failure::Reject)?;
        let text = self.prompt(&neutral.messages)?;
        Ok(self.tokens.encode(&text, !self.tokens.begins(&text), true, Some(neutral.mark)))
    }

    /// The tokenizer.
    pub fn tokens(&self) -> &GgufTokenizer {
        &self.tokens
    }

    fn generate(
        &self,
        prompt: &[u32],
        sampling: &SamplingConfig,
        seed: u32,
        schema: Option<&serde_json::Value>,
    ) -> Result<Completion, Failure> {
        let n = prompt.len();
        if n == 0 {
            return Err(Failure::Reject("the prompt has no token".into()));
        }
        if n >= self.context {
            return Err(Failure::Reject(format!(
                "the prompt has {n} tokens, which leaves no room for an answer in a context of {}",
                self.context
            )));
        }
        let mut follow = schema
            .map(|schema| self.schemas.begin(schema))
            .transpose()
            .map_err(|e| Failure::Stop(format!("the answer cannot be held to its schema: {e}")))?;
        let mut locked = self.decoder.lock().unwrap_or_else(PoisonError::into_inner);
        let decoder: &mut Decoder = &mut locked;
        self.pool.install(|| self.drawn(decoder, prompt, sampling, seed, follow.as_mut()))
    }

    /// Token after token, until one ends the answer, or its schema does, or there is no room left, or no time.
    fn drawn(
        &self,
        decoder: &mut Decoder,
        prompt: &[u32],
        sampling: &SamplingConfig,
        seed: u32,
        mut follow: Option<&mut Follow>,
    ) -> Result<Completion, Failure> {
        let n = prompt.len();
        let begun = Instant::now();
        let is_late = || begun.elapsed() >= self.limit;
        let late = |read: usize, count: usize| {
            let limit = self.limit.as_secs_f64();
            Err(Failure::Reject(format!(
                "not answered in {limit} s: {read} of {n} tokens of the prompt were read and {count} of at most {} written; \
                 llm.timeouts.request_s allows more",
                sampling.max_tokens
            )))
        };
        let room = (sampling.max_tokens as usize).min(self.context - n);
        let mut answer = Vec::new();
        let (mut count, mut finish) = (0, FinishReason::Length);
        let mut logits = Vec::new();
        if room > 0 {
            let Some(first) = decoder.prompt(prompt, &is_late).map_err(Failure::Stop)? else {
                return late(decoder.read(), 0);
            };
            logits = first;
        }
        while count < room {
            if is_late() {
                return late(n, count);
            }
            // Rows of the table of embeddings that have no token are never drawn.
            logits.truncate(self.tokens.vocabulary.len());
            let allowed = follow.as_deref_mut().map(Follow::allowed).transpose().map_err(Failure::Reject)?;
            let draw = Seed(seed.into()).stream_at("token", count as u64).random::<f64>();
            let Some(token) = sampler::pick(&logits, allowed.as_ref(), sampling, draw) else {
                return Err(Failure::Reject("the schema allows no token of this vocabulary here".into()));
            };
            count += 1;
            if self.tokens.vocabulary.ends.contains(&token) {
                finish = FinishReason::Stop;
                break;
            }
            answer.extend(self.tokens.bytes(token));
            if let Some(follow) = follow.as_deref_mut() {
                follow.take(token).map_err(Failure::Reject)?;
                if follow.done().map_err(Failure::Reject)? {
                    finish = FinishReason::Stop;
                    break;
                }
            }
            if count < room {
                logits = decoder.next(&[token]).map_err(Failure::Stop)?;
            }
        }
        Ok(Completion {
            text: whole(&answer, finish == FinishReason::Length),
            finish,
            usage: Usage { prompt: Some(n as u64), cached: Some(0), completion: Some(count as u64) },
            truncated: false,
        })
    }
}

impl LlmEngine for EmbeddedEngine {
    fn info(&self) -> &EngineInfo {
        &self.info
    }

    fn chat(&self, request: &ChatRequest) -> Result<Completion, Failure> {
        let prompt = self.prompt_tokens(&request.messages)?;
        self.generate(&prompt, &request.sampling, request.seed, request.schema.as_ref())
    }

    fn complete(&self, prompt: &str, sampling: &SamplingConfig, seed: u32) -> Result<Completion, Failure> {
        let prompt = self.tokens.encode(prompt, true, true, None);
        self.generate(&prompt, sampling, seed, None)
    }

    fn harmless(&self, message: &str) -> Result<String, Failure> {
        Ok(self.controls.broken(message))
    }

    fn tokenize(&self, text: &str) -> Result<Option<Vec<u32>>, Failure> {
        Ok(Some(self.tokens.encode(text, false, true, None)))
    }
}

/// Bytes as text; bytes that are no character become U+FFFD. Of an answer that was `cut`, a character that was only begun is
/// left out.
fn whole(bytes: &[u8], cut: bool) -> String {
    let begun = bytes.utf8_chunks().last().map_or(0, |last| {
        let tail = last.invalid();
        let begun = std::str::from_utf8(tail).is_err_and(|e| e.error_len().is_none());
        if cut && begun { tail.len() } else { 0 }
    });
    String::from_utf8_lossy(&bytes[..bytes.len() - begun]).into_owned()
}

/// BLAKE3 of a whole file, in hexadecimal.
fn hash(reader: &mut BufReader<File>) -> std::io::Result<String> {
    use std::io::{Seek, SeekFrom};
    reader.seek(SeekFrom::Start(0))?;
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(reader)?;
    Ok(hasher.finalize().to_hex().to_string())
}
