//! A llama-server that is started here, listens on this machine only, and ends with us.

use std::{
    fs::{self, File, OpenOptions},
    io::{Read, Seek, SeekFrom, Write, pipe},
    net::TcpListener,
    path::{Path, PathBuf},
    process::Child,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::channel,
    },
    time::{Duration, Instant},
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wb_core::fingerprint::Fingerprint;

use super::{
    guard::guarded,
    http::{Dialect, HttpConfig, HttpEngine},
    llama_server,
};
use crate::{
    Error, Failure, Result,
    config::{Determinism, LlmConfig},
    controls::{ControlSource, ControlTokens},
    engine::{EngineInfo, LlmEngine},
    gguf,
    request::{ChatRequest, Completion, SamplingConfig},
    secret,
};

/// Settings of `engine: { sidecar: {...} }`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct SidecarConfig {
    /// The program; empty: what `WB_LLAMA_SERVER` names, else `llama-server` on `PATH`.
    #[serde(deserialize_with = "wb_core::paths::typed")]
    pub server: PathBuf,
    /// Threads of the processor; 0 leaves it to the server.
    pub threads: usize,
    /// Layers of the model on a GPU; 0 leaves it to the server.
    pub gpu_layers: u32,
    /// Further arguments, as the server takes them.
    pub arguments: Vec<String>,
}

impl SidecarConfig {
    pub(crate) fn validate(&self, key: &str) -> wb_core::Result<()> {
        let ours = ["--host", "--port", "--api-key", "--api-key-file", "--path", "--ssl-key-file", "-m", "--model"];
        for argument in &self.arguments {
            let name = argument.split('=').next().unwrap_or_default();
            if ours.contains(&name) {
                let message = format!("`{name}`, which is set here, expected other arguments");
                return Err(Error::value(format!("{key}.arguments"), message));
            }
        }
        Ok(())
    }
}

/// The variable that llama-server reads its key from: arguments are seen by everyone on the machine.
const KEY_VARIABLE: &str = "LLAMA_API_KEY";
/// Tokens of a slot where the configuration says none.
const CONTEXT: u32 = 4096;
/// Slots where the configuration says none.
const PARALLEL: usize = 4;
/// Last bytes of the server's output that an error shows.
const SHOWN: u64 = 1500;
/// Starts at another port, if somebody else took the one that was free.
const PORTS: u32 = 3;
/// Time and bytes that a program may take to print its `--help`.
const HELP: Duration = Duration::from_secs(30);
const MAX_HELP: u64 = 4 << 20;
/// Time that a killed server's end is waited for.
const END: Duration = Duration::from_secs(5);

/// A server of our own, asked over HTTP.
pub struct SidecarEngine {
    info: EngineInfo,
    config: LlmConfig,
    settings: SidecarConfig,
    program: PathBuf,
    log: PathBuf,
    interrupt: Arc<AtomicBool>,
    /// The model's control tokens, where its file could be read; else the server is asked of them.
    controls: Option<ControlTokens>,
    running: Mutex<Running>,
}

struct Running {
    server: Arc<Server>,
    http: Arc<HttpEngine>,
    restarts: u32,
}

/// The process, killed when it is dropped.
struct Server(Mutex<Child>);

impl Server {
    fn child(&self) -> MutexGuard<'_, Child> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives the guard's exit code, if it ended.
    fn ended(&self) -> Option<i32> {
        self.child().try_wait().ok().flatten().map(|status| status.code().unwrap_or(-1))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let mut child = self.child();
        // The guard sees the end of its input and kills the server; it must not be killed itself before.
        drop(child.stdin.take());
        let begin = Instant::now();
        while begin.elapsed() < END {
            if !matches!(child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = child.kill();
        let _ = child.wait();
    }
}

impl SidecarEngine {
    /// Starts the server and waits until it has its model. Its output is added to `log`.
    pub fn open(config: &LlmConfig, settings: &SidecarConfig, log: &Path, interrupt: Arc<AtomicBool>) -> Result<Self> {
        let program = llama_server::find(&settings.server)?;
        let model = Path::new(&config.model);
        if !model.is_file() {
            let what = format!("no file `{}`, expected a GGUF file", config.model);
            return Err(Error::value("llm.model", what));
        }
        let hash = Fingerprint::of_file(model)?;
        let (server, http) = start(config, settings, &program, log, &interrupt)?;
        let found = http.info();
        let metadata = gguf::metadata(model);
        let controls = metadata.and_then(|metadata| ControlTokens::of_metadata(&metadata)).ok();
        let info = EngineInfo {
            controls: match &controls {
                Some(tokens) => tokens.known(ControlSource::File),
                None => found.controls.clone(),
            },
            engine: "sidecar".into(),
            model: model.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            model_hash: hash.as_str().to_owned(),
            file_hash: Some(hash.as_str().to_owned()),
            ..found.clone()
        };
        let running = Mutex::new(Running { server, http, restarts: 0 });
        let (config, settings, log) = (config.clone(), settings.clone(), log.to_path_buf());
        Ok(Self { info, config, settings, program, log, interrupt, controls, running })
    }

    fn running(&self) -> MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks, and looks after the server where it gave no answer.
    fn ask<T>(&self, ask: impl Fn(&HttpEngine) -> Result<T, Failure>) -> Result<T, Failure> {
        let (server, http) = {
            let running = self.running();
            (running.server.clone(), running.http.clone())
        };
        ask(&http).map_err(|failure| match failure {
            Failure::Retry { what, after } => self.looked_after(&server, what, after),
            other => other,
        })
    }

    fn looked_after(&self, server: &Arc<Server>, what: String, after: Option<Duration>) -> Failure {
        let mut running = self.running();
        if !Arc::ptr_eq(&running.server, server) {
            // Another thread has started it again meanwhile.
            return Failure::Retry { what, after };
        }
        // Its sockets close before its end can be seen.
        let begin = Instant::now();
        let code = loop {
            match server.ended() {
                Some(code) => break code,
                None if begin.elapsed() > Duration::from_millis(300) => return Failure::Retry { what, after },
                None => std::thread::sleep(Duration::from_millis(20)),
            }
        };
        let end = ending(code, &self.log);
        if code != SEGFAULT || running.restarts > 0 {
            return Failure::Stop(end);
        }
        running.restarts += 1;
        match start(&self.config, &self.settings, &self.program, &self.log, &self.interrupt) {
            Ok((server, http)) => {
                (running.server, running.http) = (server, http);
                Failure::Retry { what: format!("{end}; it was started again, once"), after: None }
            }
            Err(error) => Failure::Stop(format!("{end}; and to start it again failed: {}", error.in_one_line())),
        }
    }

    /// Times that the server was started again.
    pub fn restarts(&self) -> u32 {
        self.running().restarts
    }
}

impl LlmEngine for SidecarEngine {
    fn info(&self) -> &EngineInfo {
        &self.info
    }

    fn place(&self) -> String {
        format!("the llama-server whose output is in {}", self.log.display())
    }

    fn chat(&self, request: &ChatRequest) -> Result<Completion, Failure> {
        self.ask(|http| http.chat(request))
    }

    fn complete(&self, prompt: &str, sampling: &SamplingConfig, seed: u32) -> Result<Completion, Failure> {
        self.ask(|http| http.complete(prompt, sampling, seed))
    }

    fn harmless(&self, message: &str) -> Result<String, Failure> {
        match &self.controls {
            Some(tokens) => Ok(tokens.broken(message)),
            None => self.ask(|http| http.harmless(message)),
        }
    }

    fn tokenize(&self, text: &str) -> Result<Option<Vec<u32>>, Failure> {
        self.ask(|http| http.tokenize(text))
    }
}

/// Exit code of the guard for a server that a bad address of memory ended: 128 and the signal's number, 11.
const SEGFAULT: i32 = 139;

fn ending(code: i32, log: &Path) -> String {
    let how = match code {
        SEGFAULT => {
            "crashed (SIGSEGV). Builds with `-march=native` crash so in `ggml_backend_amx_mul_mat` on processors \
                     with AMX under some hypervisors: use a generic build"
                .to_owned()
        }
        129..=192 => format!("was ended by signal {}", code - 128),
        code => format!("ended with code {code}"),
    };
    format!("llama-server {how}; the end of {}:\n{}", log.display(), tail(log))
}

fn tail(log: &Path) -> String {
    let read = || -> std::io::Result<String> {
        let mut file = File::open(log)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(SHOWN)))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
    };
    read().unwrap_or_default()
}

fn start(
    config: &LlmConfig,
    settings: &SidecarConfig,
    program: &Path,
    log: &Path,
    interrupt: &AtomicBool,
) -> Result<(Arc<Server>, Arc<HttpEngine>)> {
    let help = help(program, interrupt)?;
    let mut last = Error::failed("never started");
    for _ in 0..PORTS {
        let port = free_port()?;
        let key = secret::random_key()?;
        let arguments = arguments(config, settings, &help, port);
        let server = Arc::new(spawn(program, &arguments, &key, log)?);
        let base_url = format!("http://127.0.0.1:{port}");
        let http = HttpConfig { dialect: Dialect::LlamaServer, ..HttpConfig::default() };
        let connected = HttpEngine::connect(config, &http, &base_url, Some(key), "sidecar", &mut || {
            if interrupt.load(Ordering::Relaxed) {
                return Err(Error::Stopped);
            }
            server.ended().map_or(Ok(true), |code| Err(Error::failed(ending(code, log))))
        });
        match connected {
            Ok(http) => return Ok((server, Arc::new(http))),
            // Between the look for a free port and the server's start somebody may have taken it.
            Err(error) if server.ended().is_some() && tail(log).contains("bind") => last = error,
            Err(error) => return Err(error),
        }
    }
    Err(last)
}

/// Reads what `--help` prints: names of options change from build to build. It may load a GPU's libraries first, and a program
/// that is none may do anything; the guard ends it when we do.
fn help(program: &Path, interrupt: &AtomicBool) -> Result<String> {
    let io = |source| Error::Io { action: "start", path: program.to_owned(), source };
    let (reader, writer) = pipe().map_err(io)?;
    let mut command = guarded(program, &["--help".to_owned()]);
    let child = command.stdout(writer.try_clone().map_err(io)?).stderr(writer).spawn().map_err(io)?;
    // It keeps the writing ends open.
    drop(command);
    let _killed_when_dropped = Server(Mutex::new(child));
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut text = Vec::new();
        let read = reader.take(MAX_HELP).read_to_end(&mut text);
        drop(sender.send(read.map(|_| String::from_utf8_lossy(&text).into_owned())));
    });
    let begin = Instant::now();
    while begin.elapsed() < HELP {
        if interrupt.load(Ordering::Relaxed) {
            return Err(Error::Stopped);
        }
        if let Ok(text) = receiver.recv_timeout(Duration::from_millis(50)) {
            return text.map_err(io);
        }
    }
    let seconds = HELP.as_secs();
    Err(Error::failed(format!("{} --help has not ended after {seconds} s: is it a llama-server?", program.display())))
}

fn arguments(config: &LlmConfig, settings: &SidecarConfig, help: &str, port: u16) -> Vec<String> {
    let slots = match (config.determinism, config.parallel) {
        (Determinism::Strict, _) => 1,
        (_, 0) => PARALLEL,
        (_, set) => set,
    };
    let context = if config.context == 0 { CONTEXT } else { config.context };
    let mut arguments: Vec<String> = ["--host", "127.0.0.1"].map(str::to_owned).to_vec();
    let mut put = |name: &str, value: String| arguments.extend([name.to_owned(), value]);
    put("--port", port.to_string());
    put("--model", config.model.clone());
    put("-np", slots.to_string());
    put("-c", (slots as u64 * u64::from(context)).to_string());
    if settings.threads > 0 {
        put("--threads", settings.threads.to_string());
    }
    if settings.gpu_layers > 0 {
        put("--n-gpu-layers", settings.gpu_layers.to_string());
    }
    let knows = |name: &str| help.split(|c: char| c.is_whitespace() || c == ',').any(|word| word == name);
    if knows("--cache-ram") {
        // Unless told otherwise it keeps up to 8 GiB of prompts.
        put("--cache-ram", "512".into());
    }
    for names in [&["--no-ui", "--no-webui"][..], &["--offline"]] {
        arguments.extend(names.iter().find(|name| knows(name)).map(|name| (*name).to_owned()));
    }
    arguments.extend(settings.arguments.iter().cloned());
    arguments
}

fn spawn(program: &Path, arguments: &[String], key: &wb_core::key::Key, log: &Path) -> Result<Server> {
    if let Some(folder) = log.parent() {
        fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
    }
    let mut output = OpenOptions::new().create(true).append(true).open(log).map_err(Error::io("write", log))?;
    writeln!(output, "\n$ {} {}", program.display(), arguments.join(" ")).map_err(Error::io("write", log))?;
    let errors = output.try_clone().map_err(Error::io("write", log))?;
    let child = guarded(program, arguments)
        .env(KEY_VARIABLE, key.reveal())
        .stdout(output)
        .stderr(errors)
        .spawn()
        .map_err(Error::io("start", "sh"))?;
    Ok(Server(Mutex::new(child)))
}

fn free_port() -> Result<u16> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr());
    listener.map(|address| address.port()).map_err(|error| Error::failed(format!("no free port: {error}")))
}
