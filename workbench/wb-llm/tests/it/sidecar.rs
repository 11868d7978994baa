//! A server that is started by us: how it is started, that it ends with us, what its crash does.

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::json;
use wb_llm::{
    EngineConfig, Error, Failure, LlmConfig, LlmEngine,
    engines::sidecar::{SidecarConfig, SidecarEngine},
};

use crate::{
    server::{Act, FaultServer},
    support::{self, program, request, timed},
};

/// What the made-up program writes down, in its folder.
fn read(folder: &Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(name)).unwrap_or_default()
}

/// Not a test of its own: the made-up server, run by the shell script of [`made_up`].
#[test]
#[ignore = "the program of the tests below"]
fn made_up_server() {
    let Ok(folder) = std::env::var("WB_TEST_FOLDER").map(PathBuf::from) else { return };
    let arguments = std::env::var("WB_TEST_ARGUMENTS").unwrap();
    let words: Vec<&str> = arguments.split(' ').collect();
    let after = |name: &str| words[words.iter().position(|word| *word == name).unwrap() + 1];
    let key = std::env::var("LLAMA_API_KEY").unwrap();
    let pid = std::process::id();
    std::fs::write(folder.join("key"), &key).unwrap();
    std::fs::write(folder.join("arguments"), &arguments).unwrap();
    let starts = read(&folder, "pids") + &format!("{pid}\n");
    std::fs::write(folder.join("pids"), starts).unwrap();
    let crash = folder.join("crash");
    let _server = FaultServer::start_at(after("--port").parse().unwrap(), move |asked| {
        assert!(asked.head.contains(&format!("Bearer {key}")));
        if crash.exists() {
            if std::fs::read_to_string(&crash).unwrap() == "once" {
                std::fs::remove_file(&crash).unwrap();
            }
            // The first is caught by what Rust has against overflowing stacks, which then lets go.
            loop {
                Command::new("kill").args(["-SEGV", &pid.to_string()]).status().unwrap();
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        Act::Say("hello".into())
    });
    std::thread::sleep(Duration::from_secs(60));
}

/// A program that looks like llama-server to who starts it.
fn made_up(folder: &Path) -> PathBuf {
    let this = std::env::current_exe().unwrap();
    let script = format!(
        "if [ \"$1\" = --help ]; then echo '--no-ui, --no-webui  no page'; echo '--cache-ram N'; exit 0; fi\n\
         export WB_TEST_FOLDER='{}' WB_TEST_ARGUMENTS=\"$*\"\n\
         exec '{}' --exact sidecar::made_up_server --ignored --nocapture",
        folder.display(),
        this.display()
    );
    std::fs::write(folder.join("model.gguf"), "GGUF").unwrap();
    program(&folder.join("made-up-llama-server"), &script)
}

fn config(folder: &Path) -> (LlmConfig, SidecarConfig) {
    let settings = SidecarConfig { server: made_up(folder), ..SidecarConfig::default() };
    let model = folder.join("model.gguf").display().to_string();
    let engine = EngineConfig::Sidecar(settings.clone());
    let config = LlmConfig { engine, model, context: 1000, parallel: 3, ..support::config("") };
    (config, settings)
}

fn start(folder: &Path) -> SidecarEngine {
    let (config, settings) = config(folder);
    SidecarEngine::open(&config, &settings, &folder.join("server.log"), Arc::default()).unwrap()
}

fn is_alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

fn dies(pid: &str) -> bool {
    let begin = Instant::now();
    while is_alive(pid) && begin.elapsed() < Duration::from_secs(5) {
        std::thread::sleep(Duration::from_millis(10));
    }
    !is_alive(pid)
}

#[test]
fn it_is_started_with_a_key_that_nobody_sees_and_ends_with_its_engine() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let engine = start(folder);
    assert_eq!(engine.chat(&request()).unwrap().text, "hello");
    let info = engine.info();
    assert_eq!((info.engine.as_str(), info.model.as_str(), info.parallel), ("sidecar", "model.gguf", 3));
    assert_eq!(info.model_hash, blake3::hash(b"GGUF").to_hex().as_str());
    let arguments = read(folder, "arguments");
    for part in ["--host 127.0.0.1", "-np 3", "-c 3000", "--cache-ram 512", "--no-ui"] {
        assert!(arguments.contains(part), "{arguments}");
    }
    // Not known to this build's --help.
    assert!(!arguments.contains("--offline") && !arguments.contains("--no-webui"));
    let (key, pid) = (read(folder, "key"), read(folder, "pids"));
    let pid = pid.trim();
    assert_eq!(key.len(), 48);
    let seen = format!("{arguments}{}{info:?}", read(folder, "server.log"));
    assert!(!seen.contains(&key));
    let commands = std::fs::read_dir("/proc").unwrap().flatten();
    let commands = commands.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    assert!(commands.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).all(|text| !text.contains(&key)));
    assert!(is_alive(pid));
    drop(engine);
    assert!(dies(pid));
}

#[test]
fn a_crash_is_answered_by_one_new_start_and_the_second_by_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let engine = start(folder);
    std::fs::write(folder.join("crash"), "once").unwrap();
    let failure = engine.chat(&request()).unwrap_err();
    assert!(matches!(&failure, Failure::Retry { what, .. } if what.contains("started again")), "{failure}");
    assert_eq!((engine.chat(&request()).unwrap().text.as_str(), engine.restarts()), ("hello", 1));
    std::fs::write(folder.join("crash"), "always").unwrap();
    let failure = engine.chat(&request()).unwrap_err();
    let Failure::Stop(what) = &failure else { panic!("{failure}") };
    assert!(what.contains("SIGSEGV") && what.contains("amx") && what.contains("generic build"), "{what}");
    assert_eq!(read(folder, "pids").lines().count(), 2);
}

/// Not a test of its own: the process that starts a server and is killed.
#[test]
#[ignore = "the child of the test below"]
fn parent() {
    let Ok(folder) = std::env::var("WB_TEST_PARENT") else { return };
    let engine = start(folder.as_ref());
    engine.chat(&request()).unwrap();
    std::fs::write(Path::new(&folder).join("ready"), "").unwrap();
    std::thread::sleep(Duration::from_secs(60));
}

#[test]
fn the_server_dies_with_a_parent_that_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut child = support::child("sidecar::parent", &[("WB_TEST_PARENT", folder.to_str().unwrap())]);
    support::wait_for(&mut child, || folder.join("ready").exists());
    let pid = read(folder, "pids");
    assert!(is_alive(pid.trim()));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(dies(pid.trim()));
}

#[test]
fn what_cannot_start_is_told_with_the_end_of_its_output() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (mut config, mut settings) = config(folder);
    let open = |config: &LlmConfig, settings: &SidecarConfig| {
        let opened = SidecarEngine::open(config, settings, &folder.join("server.log"), Arc::default());
        opened.err().unwrap().to_string()
    };
    settings.server = program(
        &folder.join("broken"),
        "if [ \"$1\" = --help ]; then exit 0; fi; echo 'error loading model: tensor missing' >&2; exit 3",
    );
    let (error, time) = timed(|| open(&config, &settings));
    assert!(error.contains("ended with code 3") && error.contains("tensor missing"), "{error}");
    assert!(time < Duration::from_secs(5), "{time:?}");
    settings.server = folder.join("absent");
    assert!(open(&config, &settings).contains("absent"));
    config.model = "no.gguf".into();
    settings.server = folder.join("broken");
    assert_eq!(open(&config, &settings), "llm.model: no file `no.gguf`, expected a GGUF file");
}

#[test]
fn the_real_server_runs_as_a_sidecar() {
    let test = "sidecar::the_real_server_runs_as_a_sidecar";
    let (Some(model), Some(python)) = (support::model(test, "stories260K.gguf"), support::python(test)) else { return };
    let folder = tempfile::tempdir().unwrap();
    let server = support::llama_server(folder.path(), &python);
    let engine: EngineConfig = serde_json::from_value(json!({"sidecar": {"server": server, "threads": 1}})).unwrap();
    let model = model.display().to_string();
    let mut config = LlmConfig { engine, model, context: 256, canaries: true, ..support::config("") };
    config.timeouts.request_s = 30.0;
    let client = support::open(&config, &folder.path().join("ledger.jsonl"));
    let client = client.unwrap_or_else(|error: Error| panic!("{error}"));
    assert_eq!((client.info().engine.as_str(), client.info().context, client.parallel()), ("sidecar", Some(256), 4));
    let found = client.canaries().unwrap();
    assert_eq!(found.schema, wb_llm::canaries::Enforced::Enforced);
    assert!(found.counts_tokens);
    drop(client);
    assert!(read(folder.path(), "ledger.server.log").contains("--cache-ram 512"));
}
