//! A server that answers as OpenAI's do, and fails as it is told: on `std::net`, a thread for each connection.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};

/// What is done with one request.
#[derive(Debug, Clone)]
pub enum Act {
    /// Status 200 with this text as the answer.
    Say(String),
    /// Status 200 with this body.
    Body(Value),
    /// A status with headers and a body.
    Status(u16, &'static str, String),
    /// Status 200 and a body that is no JSON.
    Garbage,
    /// Half of a body, and the end.
    HalfBody,
    /// Status 200 and a byte every so often.
    Drip(Duration),
    /// Nothing, for ever.
    Hang,
    /// Status 200 and a page of HTML.
    Html,
    /// Status 200 and 10 MB.
    Big,
    /// The connection is closed.
    Close,
}

/// A request to answer.
pub struct Asked {
    /// How many were before it.
    pub number: usize,
    /// Its body.
    pub body: Value,
    /// Its headers, in lower case.
    pub head: String,
}

impl Asked {
    /// What the user says.
    pub fn prompt(&self) -> String {
        self.body["messages"].as_array().map_or(String::new(), |messages| {
            messages.iter().filter_map(|message| message["content"].as_str()).collect::<Vec<_>>().join("\n")
        })
    }
}

type Plan = dyn Fn(&Asked) -> Act + Send + Sync;
type Refusal = dyn Fn() -> Option<Act> + Send + Sync;
type Tokenizer = dyn Fn(&Value) -> Value + Send + Sync;

struct State {
    plan: Box<Plan>,
    models: Box<Refusal>,
    routes: Mutex<Vec<(&'static str, Value)>>,
    tokenizer: Mutex<Option<Box<Tokenizer>>>,
    asked: AtomicUsize,
    /// Prompts in the order in which they came, each before it is answered.
    prompts: Mutex<Vec<String>>,
    /// Connections that are served.
    serving: AtomicUsize,
    /// Prompts in the order in which they were answered.
    answered: Mutex<Vec<String>>,
    heads: Mutex<Vec<String>>,
    dead: AtomicBool,
    connections: Mutex<Vec<TcpStream>>,
}

/// The server; it ends when it is dropped.
pub struct FaultServer {
    pub address: SocketAddr,
    state: Arc<State>,
}

impl FaultServer {
    pub fn start(plan: impl Fn(&Asked) -> Act + Send + Sync + 'static) -> Self {
        Self::start_at(0, plan)
    }

    /// One whose list of models may be refused; it says yes to everything else.
    pub fn start_with_models(models: impl Fn() -> Option<Act> + Send + Sync + 'static) -> Self {
        Self::started(0, |_| Act::Say("yes".into()), models)
    }

    /// One that answers these routes with these bodies, and no others.
    pub fn start_with_routes(routes: Vec<(&'static str, Value)>) -> Self {
        let server = Self::start(|_| Act::Close);
        *server.state.routes.lock().unwrap() = routes;
        server
    }

    /// One that answers these routes with these bodies, `/tokenize` as it is told, and questions by a plan.
    pub fn start_with(
        routes: Vec<(&'static str, Value)>,
        tokenizer: impl Fn(&Value) -> Value + Send + Sync + 'static,
        plan: impl Fn(&Asked) -> Act + Send + Sync + 'static,
    ) -> Self {
        let server = Self::start(plan);
        *server.state.routes.lock().unwrap() = routes;
        *server.state.tokenizer.lock().unwrap() = Some(Box::new(tokenizer));
        server
    }

    pub fn start_at(port: u16, plan: impl Fn(&Asked) -> Act + Send + Sync + 'static) -> Self {
        Self::started(port, plan, || None)
    }

    fn started(
        port: u16,
        plan: impl Fn(&Asked) -> Act + Send + Sync + 'static,
        models: impl Fn() -> Option<Act> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(State {
            plan: Box::new(plan),
            models: Box::new(models),
            routes: Mutex::default(),
            tokenizer: Mutex::default(),
            asked: AtomicUsize::new(0),
            prompts: Mutex::default(),
            serving: AtomicUsize::new(0),
            answered: Mutex::default(),
            heads: Mutex::default(),
            dead: AtomicBool::new(false),
            connections: Mutex::default(),
        });
        let shared = state.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if shared.dead.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                stream.set_nodelay(true).unwrap();
                let mut connections = shared.connections.lock().unwrap();
                connections.push(stream.try_clone().unwrap());
                drop(connections);
                let shared = shared.clone();
                shared.serving.fetch_add(1, Ordering::SeqCst);
                std::thread::spawn(move || {
                    serve(stream, &shared);
                    shared.serving.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        Self { address, state }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Chat requests so far.
    pub fn asked(&self) -> usize {
        self.state.asked.load(Ordering::SeqCst)
    }

    /// Prompts answered with a `Say`, so far.
    pub fn answered(&self) -> Vec<String> {
        self.state.answered.lock().unwrap().clone()
    }

    /// Prompts that came, so far, answered or not.
    pub fn prompts(&self) -> Vec<String> {
        self.state.prompts.lock().unwrap().clone()
    }

    /// Waits until whoever was connected is gone: nothing of what a dead client sent is still on its way.
    pub fn rests(&self) {
        let begin = std::time::Instant::now();
        while self.state.serving.load(Ordering::SeqCst) > 0 {
            assert!(begin.elapsed() < Duration::from_secs(20), "a connection stays");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// The heads of all requests so far.
    pub fn heads(&self) -> Vec<String> {
        self.state.heads.lock().unwrap().clone()
    }

    /// Dies at once, with all connections.
    pub fn die(&self) {
        self.state.dead.store(true, Ordering::SeqCst);
        for stream in self.state.connections.lock().unwrap().drain(..) {
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
        // Wakes the listener, so that it closes.
        let _ = TcpStream::connect(self.address);
    }
}

impl Drop for FaultServer {
    fn drop(&mut self) {
        self.die();
    }
}

fn serve(stream: TcpStream, state: &State) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut stream = stream;
    loop {
        let Some((path, head, body)) = read(&mut reader) else { return };
        if state.dead.load(Ordering::SeqCst) {
            return;
        }
        state.heads.lock().unwrap().push(head.clone());
        let given = state.routes.lock().unwrap().iter().find(|(route, _)| *route == path).map(|(_, body)| body.clone());
        let act = match path.as_str() {
            _ if given.is_some() => Act::Body(given.unwrap()),
            "/v1/models" => (state.models)()
                .unwrap_or_else(|| Act::Body(json!({"data": [{"id": "made-up", "owned_by": "nobody"}]}))),
            "/v1/chat/completions" => {
                let number = state.asked.fetch_add(1, Ordering::SeqCst);
                let asked = Asked { number, body: serde_json::from_slice(&body).unwrap(), head };
                state.prompts.lock().unwrap().push(asked.prompt());
                let act = (state.plan)(&asked);
                if matches!(act, Act::Say(_)) {
                    state.answered.lock().unwrap().push(asked.prompt());
                }
                act
            }
            "/tokenize" if state.tokenizer.lock().unwrap().is_some() => {
                let tokenizer = state.tokenizer.lock().unwrap();
                Act::Body(tokenizer.as_ref().unwrap()(&serde_json::from_slice(&body).unwrap()))
            }
            _ => Act::Status(404, "", "{\"error\":{\"message\":\"no such route\"}}".into()),
        };
        if act_on(&mut stream, act, state).is_none() {
            let _ = stream.shutdown(std::net::Shutdown::Both);
            return;
        }
    }
}

fn read(reader: &mut BufReader<TcpStream>) -> Option<(String, String, Vec<u8>)> {
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line == "\r\n" {
            break;
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let path = head.split_whitespace().nth(1)?.to_owned();
    Some((path, head, body))
}

fn act_on(stream: &mut TcpStream, act: Act, state: &State) -> Option<()> {
    let mut send = |status: u16, headers: &str, kind: &str, length: usize, body: &[u8]| {
        let head = format!("HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\n{headers}Content-Length: {length}\r\n\r\n");
        stream.write_all(&[head.as_bytes(), body].concat()).ok()
    };
    let json = "application/json";
    match act {
        Act::Say(text) => {
            let body = say(&text).to_string();
            send(200, "", json, body.len(), body.as_bytes())
        }
        Act::Body(body) => {
            let body = body.to_string();
            send(200, "", json, body.len(), body.as_bytes())
        }
        Act::Status(status, headers, body) => send(status, headers, json, body.len(), body.as_bytes()),
        Act::Garbage => send(200, "", json, 9, b"{\"choices"),
        Act::HalfBody => {
            let body = say("\"half\"").to_string();
            send(200, "", json, body.len(), &body.as_bytes()[..body.len() / 2]);
            None
        }
        Act::Drip(pause) => {
            send(200, "", json, 1000, b"");
            for _ in 0..1000 {
                stream.write_all(b" ").ok()?;
                std::thread::sleep(pause);
            }
            None
        }
        Act::Hang => {
            while !state.dead.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(20));
            }
            None
        }
        Act::Html => send(200, "", "text/html", 32, b"<html><body>Sign in</body></html>".get(..32).unwrap()),
        Act::Big => {
            let body = format!("{{\"choices\":\"{}\"}}", "x".repeat(10_000_000));
            send(200, "", json, body.len(), body.as_bytes())
        }
        Act::Close => None,
    }
}

/// An answer with a text; 10 tokens asked, 5 answered.
pub fn say(text: &str) -> Value {
    json!({"choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 4}}})
}
