//! The server over HTTP: what is asked is answered, and whoever may not ask is refused.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    sync::{atomic::Ordering, mpsc},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use wb_mcp::{HttpAccess, Result, StopFlag, serve_http};

use crate::{Made, VERSIONS, places, request, structured};

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// A server that runs until this is dropped.
struct Served {
    address: SocketAddr,
    stop: StopFlag,
    server: Option<JoinHandle<Result<()>>>,
}

impl Served {
    fn of(made: &Made, token: Option<&str>) -> Self {
        let (send, told) = mpsc::channel();
        let (project, stop) = (made.live(), StopFlag::default());
        let access =
            HttpAccess { address: "127.0.0.1:0".parse().unwrap(), hosts: Vec::new(), token: token.map(str::to_owned) };
        let flag = stop.clone();
        let server =
            thread::spawn(move || serve_http(project, access, &flag, |address| send.send(address.to_owned()).unwrap()));
        let url = told.recv_timeout(Duration::from_secs(20)).unwrap();
        let address = url.strip_prefix("http://").unwrap().strip_suffix("/mcp").unwrap().parse().unwrap();
        Self { address, stop, server: Some(server) }
    }

    /// Sends bytes and reads until the server closes; status and body.
    fn raw(&self, bytes: &[u8]) -> (u16, String) {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        // A server that has refused does not read the rest.
        let _ = stream.write_all(bytes);
        let mut told = Vec::new();
        let _ = stream.read_to_end(&mut told);
        let told = String::from_utf8_lossy(&told).into_owned();
        let status = told.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        (status, told.split_once("\r\n\r\n").map_or(String::new(), |(_, body)| body.to_owned()))
    }

    fn send(&self, head: &str, headers: &[(&str, &str)], body: &str) -> (u16, String) {
        let mut text = format!("{head} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
        let own = self.address.to_string();
        let usual = [
            ("Host", own.as_str()),
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
        ];
        for (name, value) in
            usual.iter().filter(|(name, _)| !headers.iter().any(|(other, _)| other == name)).chain(headers)
        {
            text += &format!("{name}: {value}\r\n");
        }
        self.raw(format!("{text}\r\n{body}").as_bytes())
    }

    /// The answer to a request of a version.
    fn ask(&self, version: &str, method: &str, params: Value) -> Value {
        let body = request(version, 7, method, params);
        let name = body["params"]["name"].as_str().unwrap_or_default();
        let mut headers = vec![("MCP-Protocol-Version", version)];
        if version == VERSIONS[1] {
            headers.push(("Mcp-Method", method));
            headers.extend((!name.is_empty()).then_some(("Mcp-Name", name)));
        }
        let (status, answer) = self.send("POST /mcp", &headers, &body.to_string());
        assert_eq!(status, 200, "{answer}");
        serde_json::from_str(&answer).unwrap()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let asked = Instant::now();
        self.stop.store(true, Ordering::SeqCst);
        let ended = self.server.take().unwrap().join();
        if !thread::panicking() {
            ended.unwrap().unwrap();
            assert!(asked.elapsed() < Duration::from_secs(10));
        }
    }
}

#[test]
fn both_versions_are_answered() {
    let made = Made::usual();
    let served = Served::of(&made, None);
    let hello = served.ask(
        VERSIONS[0],
        "initialize",
        json!({"protocolVersion": VERSIONS[0], "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}),
    );
    assert_eq!(hello["result"]["protocolVersion"], VERSIONS[0]);
    for version in VERSIONS {
        let listed = served.ask(version, "tools/list", json!({}));
        assert_eq!(listed["result"]["tools"][0]["name"], "search", "{listed}");
        let call = json!({"name": "search", "arguments": {"question": "wait for connections"}});
        let answer = structured(&served.ask(version, "tools/call", call)["result"]);
        assert_eq!(places(&answer)[0], "app/server.py:1-7");
    }
    assert!(served.ask(VERSIONS[1], "server/discover", json!({}))["result"]["supportedVersions"].is_array());
}

#[test]
fn others_are_refused() {
    let made = Made::usual();
    let served = Served::of(&made, Some(TOKEN));
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
    let (bearer, own) = (format!("Bearer {TOKEN}"), format!("http://{}", served.address));
    let with = ("Authorization", bearer.as_str());
    for (head, headers, expected) in [
        ("POST /mcp", &[with][..], 200),
        ("POST /mcp", &[with, ("Origin", &own)], 200),
        ("POST /mcp", &[], 401),
        ("POST /mcp", &[("Authorization", "Bearer wrong")], 401),
        ("POST /mcp", &[with, ("Host", "evil.example")], 403),
        ("POST /mcp", &[with, ("Origin", "http://evil.example")], 403),
        ("POST /mcp", &[with, ("Origin", "null")], 403),
        // Without the token nothing is said of what there is.
        ("POST /other", &[], 401),
        ("POST /other", &[with], 404),
        ("POST /mcp/../mcp", &[with], 404),
        ("GET /mcp", &[with], 405),
        ("DELETE /mcp", &[with], 405),
        ("OPTIONS /mcp", &[with], 405),
    ] {
        let (status, body) = served.send(head, headers, &ping);
        assert_eq!(status, expected, "{head} {headers:?}: {body}");
        assert!(!body.contains("Access-Control"), "{body}");
    }
}

#[test]
fn bytes_of_any_kind_do_not_end_the_server() {
    let made = Made::usual();
    let served = Served::of(&made, None);
    let large = "x".repeat((1 << 20) + 1);
    assert_eq!(served.send("POST /mcp", &[], &large).0, 413);
    for body in ["", "null", "[]", "{", "\u{0}", "{\"jsonrpc\":\"2.0\"}", "[[[[[[[[[["] {
        let (status, told) = served.send("POST /mcp", &[], body);
        assert!((400..500).contains(&status), "{body:?}: {status} {told}");
    }
    let (status, _) = served.send("POST /mcp", &[("Content-Type", "text/plain")], "{}");
    assert_eq!(status, 415);
    assert_eq!(served.raw(b"\x16\x03\x01\x02\x00 no HTTP at all\r\n\r\n").0, 400);
    assert_eq!(
        served
            .raw(format!("GET /mcp HTTP/1.1\r\nHost: {}\r\n{}\r\n", served.address, "a: b\r\n".repeat(5000)).as_bytes())
            .0,
        431
    );
    assert_eq!(served.ask(VERSIONS[1], "tools/list", json!({}))["result"]["tools"][0]["name"], "search");
}

#[test]
fn clients_are_answered_at_the_same_time() {
    let made = Made::usual();
    let served = Served::of(&made, None);
    let ask = |number: usize| {
        let (symbol, at) = [("Server.accept", "app/server.py:6"), ("read_config", "src/config.rs:2")][number % 2];
        for _ in 0..5 {
            let call = json!({"name": "symbol", "arguments": {"symbol": symbol}});
            let answer = structured(&served.ask(VERSIONS[1], "tools/call", call)["result"]);
            assert_eq!(places(&answer), [at]);
        }
    };
    let ask = &ask;
    thread::scope(|scope| (0..8).for_each(|number| drop(scope.spawn(move || ask(number)))));
}

#[test]
fn a_client_that_says_nothing_keeps_nobody_waiting() {
    let made = Made::usual();
    let served = Served::of(&made, None);
    let silent: Vec<TcpStream> = (0..20).map(|_| TcpStream::connect(served.address).unwrap()).collect();
    assert_eq!(served.ask(VERSIONS[1], "tools/list", json!({}))["result"]["tools"][0]["name"], "search");
    drop(silent);
}
