//! What the tests share: configurations, questions, and what of the world is here.

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tempfile::TempDir;
use wb_core::Seed;
use wb_llm::{
    Ask, ChatRequest, Client, EngineConfig, EngineInfo, LlmConfig, LlmQuestion, Message, Reply, Result, Role,
    SamplingConfig, Usage,
    config::{RetriesConfig, TimeoutsConfig},
    keys,
    ledger::{AnswerCost, AnsweredRecord, FORMAT, LedgerRecord, Opened, RecordedQuestion, records},
};

/// An answer that fits the schema of [`question`].
pub const ONE: &str = "{\"n\": 1}";

/// Quick waits, few of them, no canaries.
pub fn config(base_url: &str) -> LlmConfig {
    LlmConfig {
        base_url: base_url.into(),
        parallel: 4,
        timeouts: TimeoutsConfig { start_s: 20.0, connect_s: 2.0, idle_s: 1.0, request_s: 2.0 },
        retries: RetriesConfig {
            tries: 6,
            first_wait_s: 0.004,
            max_wait_s: 0.05,
            deadline_s: 20.0,
            ..RetriesConfig::default()
        },
        canaries: false,
        ..LlmConfig::default()
    }
}

/// Answers of an earlier run.
pub fn replay() -> LlmConfig {
    LlmConfig { engine: EngineConfig::Replay, ..LlmConfig::default() }
}

pub fn open(config: &LlmConfig, ledger: &Path) -> Result<Client> {
    Client::open(config, Seed(7), ledger, Arc::default())
}

/// A place for a ledger, in a folder that goes with it.
pub fn place() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let ledger = folder.path().join("ledger.jsonl");
    (folder, ledger)
}

/// A client with a ledger of its own.
pub fn fresh(config: &LlmConfig) -> (TempDir, Client) {
    let (folder, ledger) = place();
    let client = open(config, &ledger).unwrap_or_else(|error| panic!("{error}"));
    (folder, client)
}

/// The replies, which nobody is told of as they come.
pub fn ask(client: &Client, questions: &[LlmQuestion]) -> Result<Vec<Reply>> {
    client.ask_all(questions, &mut |_, _| {})
}

/// Asks to stop after so many milliseconds.
pub fn stop_after(milliseconds: u64, interrupt: &Arc<AtomicBool>) {
    let stop = interrupt.clone();
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(milliseconds));
        stop.store(true, Ordering::Relaxed);
    });
}

/// Starts a test of this program that is not one of its own, in a process that can be killed.
pub fn child(test: &str, environment: &[(&str, &str)]) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--ignored"])
        .envs(environment.iter().copied())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// Waits for something that a process does.
pub fn wait_for(child: &mut Child, is_done: impl Fn() -> bool) {
    let begin = Instant::now();
    while !is_done() {
        assert!(child.try_wait().unwrap().is_none() && begin.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(5));
    }
}

pub fn opened(info: &EngineInfo, seed: u64) -> LedgerRecord {
    LedgerRecord::Opened(Box::new(Opened { format: FORMAT, engine: info.clone(), seed, canaries: None }))
}

/// The record of an engine's answer in a run of [`open`].
pub fn answered(info: &EngineInfo, question: &LlmQuestion, text: String, usage: Usage) -> LedgerRecord {
    LedgerRecord::Answered(Box::new(AnsweredRecord {
        question: RecordedQuestion::of(keys::key(question, info, Seed(7)), question),
        attempt: 0,
        seed: 1,
        text,
        usage,
        cost: AnswerCost::default(),
        milliseconds: None,
    }))
}

/// A request without a schema.
pub fn request() -> ChatRequest {
    ChatRequest {
        messages: vec![Message { role: Role::User, content: "hi".into() }],
        sampling: SamplingConfig::default(),
        seed: 1,
        schema: None,
    }
}

/// A question about an item, whose answer is an object with a number.
pub fn question(item: &str) -> LlmQuestion {
    LlmQuestion {
        recipe: "made-up@1/ask".into(),
        item: item.into(),
        messages: vec![Message { role: Role::User, content: format!("item {item}") }],
        schema: Some(number_schema()),
        ..LlmQuestion::default()
    }
}

pub fn questions(n: usize) -> Vec<LlmQuestion> {
    (0..n).map(|i| question(&format!("{i:04}"))).collect()
}

pub fn number_schema() -> Value {
    json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": false})
}

/// What the made-up model says: a number out of prompt and seed; one in ten times what is no JSON.
pub fn made_up(body: &Value) -> String {
    let prompt = body["messages"][0]["content"].as_str().unwrap_or_default();
    let hash = blake3::hash(format!("{prompt} {}", body["seed"]).as_bytes());
    let n = u32::from_le_bytes(hash.as_bytes()[..4].try_into().unwrap());
    if n % 10 == 0 { "I would rather not".into() } else { format!("{{\"n\": {n}}}") }
}

/// Records without what depends on how often something failed, sorted.
pub fn answers(ledger: &Path) -> Vec<String> {
    let mut answers: Vec<String> = records(ledger)
        .unwrap()
        .into_iter()
        .filter_map(|record| match record {
            LedgerRecord::Opened(_) => None,
            LedgerRecord::Answered(a) => {
                Some(format!("{} {} {} {} {}", a.question.item, a.question.key, a.attempt, a.seed, a.text))
            }
            LedgerRecord::Rejected(r) => {
                Some(format!("{} {} {} {}", r.question.item, r.question.key, r.class, r.reason))
            }
        })
        .collect();
    answers.sort();
    answers
}

pub fn text(reply: &Reply) -> &str {
    match reply {
        Reply::Answered(answer) => &answer.text,
        Reply::Rejected(rejection) => &rejection.reason,
    }
}

/// Runs, and says how long it took.
pub fn timed<T>(run: impl FnOnce() -> T) -> (T, Duration) {
    let begin = Instant::now();
    let result = run();
    (result, begin.elapsed())
}

/// Past the capture of test output, so that skipped tests are seen and counted.
pub fn skip(test: &str, reason: &str) {
    let _ = writeln!(std::io::stderr(), "SKIPPED {test}: {reason}");
}

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// A model of the shared folder, or a counted skip.
pub fn model(test: &str, name: &str) -> Option<PathBuf> {
    let beside = || root().join("../shared");
    let file = std::env::var_os("WB_SHARED").map_or_else(beside, PathBuf::from).join("models").join(name);
    if file.is_file() {
        return Some(file);
    }
    skip(test, &format!("no model at {}", file.display()));
    None
}

/// A Python with a real server in it, or a counted skip.
pub fn python(test: &str) -> Option<PathBuf> {
    let cache = || PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cache");
    let cache = std::env::var_os("XDG_CACHE_HOME").map_or_else(cache, PathBuf::from).join("wb");
    let python = std::env::var_os("WB_PYTHON").map_or_else(|| cache.join("peers/bin/python"), PathBuf::from);
    let look = "import importlib.util as u, sys; sys.exit(u.find_spec('xllamacpp') is None)";
    if Command::new(&python).args(["-c", look]).output().is_ok_and(|output| output.status.success()) {
        return Some(python);
    }
    skip(test, &format!("no Python with xllamacpp at {}: scripts/peers.sh makes one", python.display()));
    None
}

/// A program that behaves as llama-server: the real one, in a Python package.
pub fn llama_server(folder: &Path, python: &Path) -> PathBuf {
    let script = root().join("scripts/peers/llama_server.py");
    program(&folder.join("llama-server"), &format!("exec '{}' '{}' \"$@\"", python.display(), script.display()))
}

/// A shell script that can be run.
pub fn program(path: &Path, script: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    std::fs::write(path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path.to_path_buf()
}

/// A real server with four slots; it ends when it is dropped.
pub struct RealServer {
    pub child: Child,
    pub url: String,
    pub port: u16,
    _folder: tempfile::TempDir,
}

/// The key of real servers.
pub const KEY: &str = "sk-only-for-tests";

impl RealServer {
    pub fn start(test: &str, model_name: &str, context: u32) -> Option<Self> {
        let model = model(test, model_name)?;
        Self::of(test, &model, context)
    }

    /// The same for any file.
    pub fn of(test: &str, model: &Path, context: u32) -> Option<Self> {
        let python = python(test)?;
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let folder = tempfile::tempdir().unwrap();
        let child = Self::spawn(&python, model, port, context);
        let mut server = Self { child, url: format!("http://127.0.0.1:{port}"), port, _folder: folder };
        server.listens();
        Some(server)
    }

    /// Waits until it listens; that it loads its model is for who asks it to see.
    fn listens(&mut self) {
        let port = self.port;
        wait_for(&mut self.child, || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
    }

    /// A counter of its own.
    pub fn counter(&self, name: &str) -> u64 {
        use std::io::Read;
        let mut stream = std::net::TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let head = "GET /metrics HTTP/1.0\r\nHost: 127.0.0.1\r\nAuthorization: Bearer";
        write!(stream, "{head} {KEY}\r\nConnection: close\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let line = text.lines().find(|line| line.starts_with(&format!("llamacpp:{name} "))).unwrap();
        line.rsplit(' ').next().unwrap().parse::<f64>().unwrap() as u64
    }

    fn spawn(python: &Path, model: &Path, port: u16, context: u32) -> Child {
        Command::new(python)
            .arg(root().join("scripts/peers/llama_server.py"))
            .args(["--port", &port.to_string(), "--model"])
            .arg(model)
            .args(["-np", "4", "-c", &(4 * context).to_string(), "--threads", "1"])
            .env("LLAMA_API_KEY", KEY)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    }

    /// Sends a signal: `STOP`, `CONT`, `KILL`.
    pub fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([format!("-{name}").as_str(), &pid]).status().unwrap().success());
    }

    /// Its configuration; the key comes from a file.
    pub fn config(&self) -> LlmConfig {
        let file = self._folder.path().join("key");
        std::fs::write(&file, format!("{KEY}\n")).unwrap();
        let mut config = config(&self.url);
        config.engine = serde_json::from_value(json!({"http": {"key": {"file": file}}})).unwrap();
        config.timeouts.request_s = 30.0;
        config
    }

    /// Starts the same server again, at the same port.
    pub fn again(&mut self, test: &str, model_name: &str, context: u32) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let (model, python) = (model(test, model_name).unwrap(), python(test).unwrap());
        self.child = Self::spawn(&python, &model, self.port, context);
        self.listens();
    }
}

impl Drop for RealServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
