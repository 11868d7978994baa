//! The same with a server that runs, on forms of weights and texts that are not kept.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use wb_llm::{
    LlmEngine, SamplingConfig,
    engines::embedded::{EmbeddedConfig, EmbeddedEngine},
};

use super::{GREEDY, model, open, skipped};

const SERVER: &str = "
import sys, xllamacpp as x
p = x.CommonParams(); p.model.path = sys.argv[1]; p.n_ctx = 512; p.n_parallel = 1; p.warmup = False; p.cpuparams.n_threads = 1
p.cpuparams_batch.n_threads = 1; p.cache_ram_mib = 0; p.hostnames = ['127.0.0.1']; p.port = 0
if sys.argv[2:] == ['exact']:
    p.cache_type_k = p.cache_type_v = x.ggml_type.GGML_TYPE_F32; p.flash_attn_type = x.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
s = x.Server(p); print('at', s.listening_address, flush=True)
sys.stdin.read()
";

struct Server {
    process: Child,
    address: String,
}

impl Server {
    /// `exact` keeps keys and values in 32 bits, as candle does; by default llama.cpp keeps them in 16, which changes which of
    /// two nearly equal tokens is taken.
    fn start(python: &str, model: &Path, exact: bool) -> Self {
        let mut process = Command::new(python)
            .args(["-c", SERVER])
            .arg(model)
            .args(exact.then_some("exact"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let line = lines.by_ref().map(Result::unwrap).find(|l| l.starts_with("at ")).unwrap();
        let address = line.trim_start_matches("at ").trim_start_matches("http://").trim_end_matches('/').to_owned();
        let server = Self { process, address };
        let begun = Instant::now();
        while !server.ask("GET", "/health", None).0.starts_with("HTTP/1.1 200") {
            assert!(begun.elapsed().as_secs() < 30);
            std::thread::sleep(Duration::from_millis(20));
        }
        server
    }

    /// The head and the body of an answer.
    fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> (String, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let body = body.map(Value::to_string).unwrap_or_default();
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n",
            self.address
        );
        stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.to_owned(), body.to_owned())
    }

    fn post(&self, path: &str, body: Value) -> Value {
        let (head, body) = self.ask("POST", path, Some(&body));
        serde_json::from_str(&body).unwrap_or_else(|e| panic!("{head}\n{body}\n{e}"))
    }

    fn greedy(&self, prompt: &str) -> String {
        let body = json!({"prompt": prompt, "max_tokens": 80, "temperature": 0, "cache_prompt": false, "seed": 1});
        self.post("/v1/completions", body)["choices"][0]["text"].as_str().unwrap().to_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn python(test: &str) -> Option<String> {
    let found = std::env::var("WB_PYTHON")
        .ok()
        .filter(|p| Command::new(p).args(["-c", "import xllamacpp"]).output().is_ok_and(|o| o.status.success()));
    if found.is_none() {
        skipped(test, "WB_PYTHON names no Python with xllamacpp");
    }
    found
}

#[test]
fn a_live_server_says_the_same() {
    let test = "a_live_server_says_the_same";
    let Some(python) = python(test) else { return };
    for name in ["stories", "qwen2", "qwen3"] {
        let Some(path) = model(name, test) else { continue };
        let (server, engine) = (Server::start(&python, &path, true), open(&path));
        for i in 0..12 {
            let prompt =
                ["Tom had a ", "x = [", "The big cat and the ", "return "][i % 4].to_owned() + &"so ".repeat(i);
            assert_eq!(
                engine.complete(&prompt, &GREEDY, 1).unwrap().text,
                server.greedy(&prompt),
                "{name}: {prompt:?}"
            );
        }
        // Texts of random characters out of several alphabets, and pieces of control tokens.
        let mut state = 1u64;
        for _ in 0..300 {
            let mut text = String::new();
            for _ in 0..40 {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let n = (state >> 33) as u32;
                match n % 9 {
                    0 => text.push_str([" ", "  ", "\n", "\r\n", "\t", " \n"][n as usize / 9 % 6]),
                    1 => text.push_str(
                        ["<|im_end|>", "<s>", "</s>", "<|im_start|>", "<|", "'s", "'LL", "\u{2581}"]
                            [n as usize / 9 % 8],
                    ),
                    2 => text.extend(char::from_u32(n / 9 % 0x2_0000)),
                    3 => text.extend(char::from_digit(n / 9 % 10, 10)),
                    4 => text.extend(char::from_u32(0x20 + n / 9 % 0x5F)),
                    5 => text.extend(char::from_u32(0xA0 + n / 9 % 0x500)),
                    _ => text.extend(char::from_u32(u32::from(b'a') + n / 9 % 26)),
                }
            }
            for control in [true, false] {
                let body = json!({"content": text, "add_special": false, "parse_special": control});
                let theirs: Vec<u32> = serde_json::from_value(server.post("/tokenize", body)["tokens"].take()).unwrap();
                assert_eq!(engine.tokens().encode(&text, false, control, None), theirs, "{name}: {text:?}");
            }
        }
    }
}

/// How fast both are, one thread each, one after the other; a figure to look at, nothing is asserted.
#[test]
#[ignore = "measures"]
fn speed_beside_a_server() {
    let test = "speed_beside_a_server";
    let Some(python) = python(test) else { return };
    let path = match std::env::var_os("WB_GGUF") {
        Some(path) => path.into(),
        None => model("stories", test).unwrap(),
    };
    let threads = std::env::var("WB_THREADS").map_or(0, |n| n.parse().unwrap());
    let config = EmbeddedConfig { model: path.clone(), context: 512, threads, ..Default::default() };
    let (server, engine) = (Server::start(&python, &path, false), EmbeddedEngine::open(&config).unwrap());
    let n: u32 = std::env::var("WB_TOKENS").map_or(200, |n| n.parse().unwrap());
    let long = "The little dog ran home. ".repeat(std::env::var("WB_PROMPT").map_or(10, |n| n.parse().unwrap()));
    for _ in 0..4 {
        let sampling = SamplingConfig { max_tokens: n, ..GREEDY };
        let (begun, answer) = (Instant::now(), engine.complete("Once upon a time", &sampling, 1).unwrap());
        let ours = answer.usage.completion.unwrap() as f64 / begun.elapsed().as_secs_f64();
        let body = json!({"prompt": "Once upon a time", "max_tokens": n, "temperature": 0, "cache_prompt": false});
        let (begun, answer) = (Instant::now(), server.post("/v1/completions", body));
        let theirs = answer["usage"]["completion_tokens"].as_f64().unwrap() / begun.elapsed().as_secs_f64();
        let (begun, answer) =
            (Instant::now(), engine.complete(&long, &SamplingConfig { max_tokens: 1, ..GREEDY }, 1).unwrap());
        let ours_prompt = answer.usage.prompt.unwrap() as f64 / begun.elapsed().as_secs_f64();
        let body = json!({"prompt": long, "max_tokens": 1, "temperature": 0, "cache_prompt": false});
        let (begun, answer) = (Instant::now(), server.post("/v1/completions", body));
        let theirs_prompt = answer["usage"]["prompt_tokens"].as_f64().unwrap() / begun.elapsed().as_secs_f64();
        let _ = writeln!(
            std::io::stderr(),
            "answers: {ours:.1} tokens/s here, {theirs:.1} there; prompts: {ours_prompt:.1} here, {theirs_prompt:.1} there"
        );
    }
}
