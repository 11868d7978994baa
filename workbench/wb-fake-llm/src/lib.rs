//! A server on this machine that answers as a language model's does, always the same to the same question, for tests.
//!
//! It keeps to the schema of a question, writes SQL where it is asked for some, and can be told to fail.

use std::{
    collections::HashMap,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    ops::Deref,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

/// A server that keeps to schemas and always says the same of the same question; it counts how often each was answered.
#[derive(Debug)]
pub struct FakeLlm {
    /// The value that sets its address: `llm.base_url=http://127.0.0.1:PORT`.
    pub url: String,
    served: Arc<Served>,
}

/// Questions to a server, and how it treats them.
#[derive(Debug, Default)]
pub struct Served {
    /// Answers sent whole, by the question's body.
    pub answered: Mutex<HashMap<String, u32>>,
    /// The bodies of questions in the order in which they came, answered or not.
    pub asked: Mutex<Vec<String>>,
    /// Number of questions with a schema of which it fails at one, whenever it is asked; 0 is none.
    pub fails: AtomicU64,
    /// Connections that are served.
    connections: AtomicUsize,
    stop: AtomicBool,
}

impl Deref for FakeLlm {
    type Target = Served;

    fn deref(&self) -> &Served {
        &self.served
    }
}

impl FakeLlm {
    /// Starts one that thinks so long about each question.
    ///
    /// # Errors
    ///
    /// If the loopback has no free port.
    pub fn start(delay: Duration) -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let url = format!("llm.base_url=http://{}", listener.local_addr()?);
        let server = Self { url, served: Arc::default() };
        let all = Arc::clone(&server.served);
        thread::spawn(move || {
            for stream in listener.incoming() {
                if all.stop.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let served = Arc::clone(&all);
                served.connections.fetch_add(1, Ordering::SeqCst);
                thread::spawn(move || {
                    // A client that dies in the middle ends its connection and nothing else.
                    drop(serve(stream, delay, &served));
                    served.connections.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        Ok(server)
    }

    /// Waits until whoever was connected is gone: nothing of what a dead client sent is still on its way.
    ///
    /// # Panics
    ///
    /// If somebody stays for 20 seconds.
    pub fn rests(&self) {
        let begin = Instant::now();
        while self.connections.load(Ordering::SeqCst) > 0 {
            assert!(begin.elapsed() < Duration::from_secs(20), "a connection stays");
            thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for FakeLlm {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        // Wakes the thread that waits for a client.
        drop(TcpStream::connect(self.url.trim_start_matches("llm.base_url=http://")));
    }
}

fn serve(stream: TcpStream, delay: Duration, served: &Served) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    loop {
        let (mut line, mut length) = (String::new(), 0);
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        loop {
            let mut header = String::new();
            reader.read_line(&mut header)?;
            if header.trim().is_empty() {
                break;
            }
            if let Some((name, value)) = header.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().unwrap_or(0);
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let body = String::from_utf8_lossy(&body).into_owned();
        let is_chat = line.starts_with("POST ") && line.contains("/v1/chat/completions");
        let failed = served.fails.load(Ordering::SeqCst);
        let (status, reply) = match is_chat {
            true if failed > 0 && body.contains("response_format") && sum(&body).is_multiple_of(failed) => {
                ("500 Internal Server Error", json!({"error": "out of memory"}))
            }
            true => ("200 OK", chat(&body)),
            false => ("404 Not Found", json!({"error": "no"})),
        };
        if is_chat {
            served.asked.lock().unwrap_or_else(PoisonError::into_inner).push(body.clone());
            thread::sleep(delay);
        }
        let reply = reply.to_string();
        let mut stream = &stream;
        write!(
            stream,
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{reply}",
            reply.len()
        )?;
        stream.flush()?;
        if is_chat && status == "200 OK" {
            *served.answered.lock().unwrap_or_else(PoisonError::into_inner).entry(body).or_default() += 1;
        }
    }
}

fn chat(body: &str) -> Value {
    let request: Value = serde_json::from_str(body).unwrap_or_default();
    let schema = &request["response_format"]["json_schema"]["schema"];
    let words = sum(body);
    let content = match schema {
        Value::Null if body.contains("You write SQL") => queried(&request),
        Value::Null => said(words),
        _ if !schema["properties"]["sql"].is_null() => json!({ "sql": queried(&request) }).to_string(),
        _ if !schema["properties"]["summary"].is_null() => described(body).to_string(),
        _ => filled(schema, words).to_string(),
    };
    json!({
        "model": "made-up",
        "choices": [{"message": {"role": "assistant", "content": content}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": body.len() / 3, "completion_tokens": 9},
    })
}

/// A description that names what the code only hints at: of `zq_elpmasrevo` it says `oversample`.
fn described(body: &str) -> Value {
    let hint = body.rsplit("zq_").next().unwrap_or_default();
    let word: String =
        hint.chars().take_while(char::is_ascii_lowercase).collect::<Vec<_>>().into_iter().rev().collect();
    json!({
        "summary": format!("This code shows how to {word} something."),
        "keywords": [word],
        "queries": [format!("how do I {word} it")],
    })
}

/// SQL as a model might write it: with an example it counts, except where it is drawn badly; without one it misspells a
/// column, and mends that when it is told.
fn queried(request: &Value) -> String {
    let last = request["messages"].as_array().and_then(|all| all.last()?["content"].as_str()).unwrap_or_default();
    let drawn_badly =
        request["temperature"].as_f64() > Some(0.0) && request["seed"].as_u64().unwrap_or(0).is_multiple_of(5);
    let sql = match (last.contains("does not run"), last.contains("Examples of questions")) {
        (true, _) => "SELECT name FROM item",
        (_, true) if drawn_badly => "SELECT min(id) FROM sale",
        (_, true) => "SELECT count(*)\nFROM item",
        _ => "SELECT nam FROM item",
    };
    sql.to_owned()
}

/// A number of a text; any will do.
fn sum(text: &str) -> u64 {
    text.bytes().fold(17, |sum: u64, byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)))
}

fn said(words: u64) -> String {
    const WORDS: [&str; 8] = ["counts", "reads", "joins", "splits", "sorts", "finds", "writes", "sums"];
    let word = |at: u32| WORDS[(words >> (3 * at) & 7) as usize];
    (0..12).map(word).collect::<Vec<_>>().join(" ")
}

fn filled(schema: &Value, words: u64) -> Value {
    if !schema["const"].is_null() {
        return schema["const"].clone();
    }
    if let Some(choices) = schema["enum"].as_array() {
        return choices[1.min(choices.len() - 1)].clone();
    }
    match schema["type"].as_str() {
        Some("object") => {
            let properties = schema["properties"].as_object().cloned().unwrap_or_default();
            let value = |(at, (name, of)): (usize, (&String, &Value))| (name.clone(), filled(of, words >> at));
            Value::Object(properties.iter().enumerate().map(value).collect())
        }
        Some("array") => {
            let least = schema["minItems"].as_u64().unwrap_or(1);
            Value::Array((0..least).map(|at| filled(&schema["items"], words.rotate_left(7 * at as u32))).collect())
        }
        Some("integer") => json!(1),
        _ => json!(said(words)),
    }
}
