//! A real server that is asked while it loads its model: waited for, and no failure.

use std::{
    io::{Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    process::{Command, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use wb_llm::{LlmConfig, LlmQuestion, Message, Role, SamplingConfig};

use crate::support::{self, ask, config, open};

/// Hands everything on to a port, and remembers the status lines that come back.
fn proxy(to: u16, seen: Arc<Mutex<Vec<String>>>) -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut from, seen) = (stream.unwrap(), seen.clone());
            std::thread::spawn(move || {
                let Ok(mut there) = TcpStream::connect(("127.0.0.1", to)) else { return };
                let (mut asks, mut sends) = (from.try_clone().unwrap(), there.try_clone().unwrap());
                std::thread::spawn(move || {
                    let _ = std::io::copy(&mut asks, &mut sends);
                    let _ = sends.shutdown(Shutdown::Write);
                });
                let mut piece = [0; 4096];
                while let Ok(n @ 1..) = there.read(&mut piece) {
                    if piece.starts_with(b"HTTP/1.1 ") {
                        seen.lock().unwrap().push(String::from_utf8_lossy(&piece[9..12]).into_owned());
                    }
                    if from.write_all(&piece[..n]).is_err() {
                        return;
                    }
                }
                let _ = from.shutdown(Shutdown::Both);
            });
        }
    });
    port
}

#[test]
fn a_real_server_that_loads_its_model_is_waited_for() {
    let test = "loading::a_real_server_that_loads_its_model_is_waited_for";
    let (Some(model), Some(python)) = (support::model(test, "stories260K.gguf"), support::python(test)) else { return };
    let port = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
    let mut child = Command::new(python)
        .arg(support::root().join("scripts/peers/llama_server.py"))
        .args(["--port", &port.to_string(), "-np", "2", "-c", "1024", "--threads", "1", "--model"])
        .arg(model)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let pid = child.id().to_string();
    // Such a small model is loaded in a tenth of a second: the server is let run for a thirtieth of the time only, from
    // when it listens on.
    let signal = move |name: &str| drop(Command::new("kill").args([name, &pid]).stderr(Stdio::null()).status());
    let (begin, loaded) = (Instant::now(), Arc::new(AtomicBool::new(false)));
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(begin.elapsed() < Duration::from_secs(60) && child.try_wait().unwrap().is_none());
        std::thread::sleep(Duration::from_millis(1));
    }
    signal("-STOP");
    let is_loaded = loaded.clone();
    let slow = std::thread::spawn(move || {
        while !is_loaded.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(60));
            signal("-CONT");
            std::thread::sleep(Duration::from_millis(2));
            signal("-STOP");
        }
        signal("-CONT");
    });
    let seen = Arc::new(Mutex::new(Vec::new()));
    let url = format!("http://127.0.0.1:{}", proxy(port, seen.clone()));
    let folder = tempfile::tempdir().unwrap();
    let mut config = LlmConfig { canaries: false, ..config(&url) };
    (config.timeouts.start_s, config.timeouts.request_s) = (60.0, 30.0);
    let opened = open(&config, &folder.path().join("ledger.jsonl"));
    loaded.store(true, Ordering::Relaxed);
    slow.join().unwrap();
    let client = opened.unwrap_or_else(|error| panic!("{error}, after {:?}", seen.lock().unwrap()));
    let question = LlmQuestion {
        recipe: "stories@1/tell".into(),
        item: "a".into(),
        sample: 0,
        messages: vec![Message { role: Role::User, content: "Once upon a time".into() }],
        sampling: SamplingConfig { temperature: 0.0, top_p: 1.0, max_tokens: 60 },
        schema: Some(serde_json::json!({"type": "string", "minLength": 1, "maxLength": 20})),
    };
    let replies = ask(&client, &[question]);
    let total = client.account().total();
    let _ = (child.kill(), child.wait());
    assert!(replies.is_ok(), "{replies:?}");
    assert_eq!((total.answered + total.rejected, total.retries), (1, 0));
    let seen = seen.lock().unwrap();
    let loading = seen.iter().take_while(|status| *status == "503").count();
    assert!(loading >= 1 && seen[loading..].iter().all(|status| status == "200"), "{seen:?}");
}
