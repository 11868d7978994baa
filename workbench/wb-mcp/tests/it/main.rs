//! The server from outside: both versions of the protocol over streams and over HTTP, hostile clients, hostile projects.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should say where")]

mod hostile;
mod http;
mod live;
mod protocol;
mod search;
mod structure;

use std::{fs, path::Path, sync::Arc};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf, duplex, split},
    runtime::Runtime,
    task::JoinHandle,
};
use wb_mcp::{AgentServer, EncoderOpener, Error, LiveProject, Result, serve_streams};
use wb_search::IndexPlace;

/// Versions of the protocol: with a handshake, and without.
const VERSIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];

const PARSER: &str = "/// Reads a configuration file.\npub fn read_config(path: &Path) -> Config {\n    parse(path)\n}\n\n\
                      /// Parses a text.\npub fn parse(path: &Path) -> Config {\n    todo!()\n}\n";
const SERVER: &str = "class Server:\n    def listen(self, port):\n        \"\"\"Waits for connections on a port.\"\"\"\n        \
                      return self.accept(port)\n\n    def accept(self, port):\n        return port\n";
const TEST: &str = "from app.server import Server\n\n\ndef test_listen():\n    assert Server().listen(80)\n";

/// A project with an index of its own.
struct Made {
    folder: TempDir,
    caches: TempDir,
}

impl Made {
    fn of(files: &[(&str, &str)]) -> Self {
        let made = Self { folder: tempfile::tempdir().unwrap(), caches: tempfile::tempdir().unwrap() };
        files.iter().for_each(|(path, text)| made.write(path, text));
        made
    }

    fn usual() -> Self {
        Self::of(&[("src/config.rs", PARSER), ("app/server.py", SERVER), ("tests/test_server.py", TEST)])
    }

    fn root(&self) -> &Path {
        self.folder.path()
    }

    fn write(&self, path: &str, text: &str) {
        let file = self.root().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    fn place(&self) -> IndexPlace {
        IndexPlace::of(self.root(), Some(self.caches.path().join("index"))).unwrap()
    }

    fn live(&self) -> Arc<LiveProject> {
        LiveProject::new(self.place(), without_encoder()).unwrap()
    }
}

fn without_encoder() -> EncoderOpener {
    Box::new(|kept, _| if kept.is_some() { Err(Error::failed("no encoder is here")) } else { Ok(None) })
}

/// A client over streams that speaks one version.
struct StreamClient {
    runtime: Runtime,
    server: JoinHandle<Result<()>>,
    write: WriteHalf<DuplexStream>,
    read: BufReader<ReadHalf<DuplexStream>>,
    version: &'static str,
    id: u64,
}

impl StreamClient {
    fn of(project: Arc<LiveProject>, version: &'static str) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let (ours, theirs) = duplex(1 << 16);
        let (read, write) = split(theirs);
        let server = runtime.spawn(async move { serve_streams(AgentServer::new(project), read, write).await });
        let (read, write) = split(ours);
        let mut client = Self { runtime, server, write, read: BufReader::new(read), version, id: 0 };
        if version == VERSIONS[0] {
            let me = json!({"name": "test", "version": "1"});
            let hello =
                client.ask("initialize", json!({"protocolVersion": version, "capabilities": {}, "clientInfo": me}));
            assert_eq!(hello["result"]["protocolVersion"], version);
            client.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        }
        client
    }

    fn say(&mut self, message: &Value) {
        self.say_bytes(format!("{message}\n").as_bytes());
    }

    fn say_bytes(&mut self, bytes: &[u8]) {
        self.runtime.block_on(async {
            self.write.write_all(bytes).await.unwrap();
            self.write.flush().await.unwrap();
        });
    }

    fn hear(&mut self) -> Value {
        let mut line = String::new();
        self.runtime.block_on(self.read.read_line(&mut line)).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    /// The answer to a request.
    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.id += 1;
        let request = request(self.version, self.id, method, params);
        self.say(&request);
        let answer = self.hear();
        assert_eq!((&answer["id"], &answer["jsonrpc"]), (&json!(self.id), &json!("2.0")), "{answer}");
        answer
    }

    /// The result of a tool.
    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.ask("tools/call", json!({"name": tool, "arguments": arguments}));
        assert!(answer.get("error").is_none(), "{answer}");
        answer["result"].clone()
    }

    /// The structured answer of a tool, which stands in the text too.
    fn answer(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.call(tool, arguments);
        structured(&result)
    }

    /// The words of a tool that failed.
    fn failure(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], true, "{result}");
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }

    /// Closes the input; the server ends by itself.
    fn end(self) {
        let Self { runtime, server, write, read, .. } = self;
        drop(read.into_inner().unsplit(write));
        runtime.block_on(server).unwrap().unwrap();
    }
}

/// A request of a version: from 2026-07-28 on each says it, before only the first one does.
fn request(version: &str, id: u64, method: &str, mut params: Value) -> Value {
    if version == VERSIONS[1] {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        });
    }
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

fn structured(result: &Value) -> Value {
    assert_ne!(result["isError"], true, "{result}");
    let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(text, result["structuredContent"]);
    text
}

/// Places of an answer, as `path:lines`.
fn places(answer: &Value) -> Vec<&str> {
    answer["answers"].as_array().unwrap().iter().map(|one| one["at"].as_str().unwrap()).collect()
}
