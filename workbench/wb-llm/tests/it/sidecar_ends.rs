//! A server of ours that does not get as far as answering: whatever happens meanwhile, nothing of it stays behind.

use std::{
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use wb_llm::{
    EngineConfig, LlmConfig,
    engines::sidecar::{SidecarConfig, SidecarEngine},
};

use crate::support::{self, program, timed};

/// The variable that all processes of a test have in their environment.
const MARK: &str = "WB_TEST_SLOW_PARENT";

/// A program that is always about to answer.
fn slow(folder: &Path, help: &str) -> PathBuf {
    let script = format!(
        "if [ \"$1\" = --help ]; then {help}; fi\necho $$ >> '{}'\nexec sleep 300",
        folder.join("pids").display()
    );
    program(&folder.join("slow-server"), &script)
}

fn open(folder: &Path, server: PathBuf, interrupt: Arc<AtomicBool>) -> wb_llm::Result<SidecarEngine> {
    let settings = SidecarConfig { server, ..SidecarConfig::default() };
    let model = folder.join("model.gguf");
    std::fs::write(&model, "GGUF").unwrap();
    let engine = EngineConfig::Sidecar(settings.clone());
    let mut config = LlmConfig { engine, model: model.display().to_string(), ..support::config("") };
    config.timeouts.start_s = 60.0;
    SidecarEngine::open(&config, &settings, &folder.join("server.log"), interrupt)
}

/// Processes that have this folder in their environment.
fn marked(folder: &Path) -> Vec<String> {
    let mark = format!("{MARK}={}", folder.display());
    let is_marked = |pid: &String| {
        let environ = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environ.split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes())
    };
    let all = std::fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().into_string().ok());
    all.filter(|name| name.bytes().all(|b| b.is_ascii_digit())).filter(is_marked).collect()
}

/// Not a test of its own: the process that starts a server and gets a signal.
#[test]
#[ignore = "the child of the test below"]
fn parent() {
    let Ok(folder) = std::env::var(MARK).map(PathBuf::from) else { return };
    let _ = open(&folder, folder.join("slow-server"), Arc::default());
}

/// As a terminal sends it: to us and all that we have started.
#[test]
fn a_signal_within_a_second_of_the_start_leaves_no_process() {
    let all = tempfile::tempdir().unwrap();
    let mut seen = 0;
    for (n, signal) in ["INT", "TERM", "KILL", "HUP"].into_iter().enumerate() {
        for (m, after) in [3, 15, 40, 120, 500].into_iter().enumerate() {
            let folder = all.path().join(format!("{n}-{m}"));
            std::fs::create_dir(&folder).unwrap();
            // Half of them while the program still says what it knows.
            slow(&folder, if (n + m) % 2 == 0 { "echo --no-ui; exit 0" } else { "exec sleep 300" });
            let mut child = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "sidecar_ends::parent", "--ignored"])
                .env(MARK, &folder)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .process_group(0)
                .spawn()
                .unwrap();
            std::thread::sleep(Duration::from_millis(after));
            seen = seen.max(marked(&folder).len());
            let group = format!("-{}", child.id());
            // Either all of the group, or only us.
            let target = if m % 2 == 0 { group } else { child.id().to_string() };
            let status = Command::new("kill").args([&format!("-{signal}"), "--", &target]).status().unwrap();
            assert!(status.success());
            child.wait().unwrap();
            let begin = Instant::now();
            while !marked(&folder).is_empty() {
                let left = marked(&folder);
                assert!(begin.elapsed() < Duration::from_secs(5), "{signal} after {after} ms: {left:?} stay");
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }
    // The test saw what it looks for: us, the guard with its two halves, and the program.
    assert!(seen >= 4, "{seen}");
}

#[test]
fn a_request_to_stop_while_it_loads_or_says_what_it_knows_ends_it() {
    for help in ["echo --no-ui; exit 0", "exec sleep 300"] {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let server = slow(folder, &format!("echo $$ >> '{}'; {help}", folder.join("pids").display()));
        let interrupt = Arc::new(AtomicBool::new(false));
        let stop = interrupt.clone();
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(400));
            stop.store(true, Ordering::Relaxed);
        });
        let (opened, time) = timed(|| open(folder, server, interrupt));
        let error = opened.err().unwrap().to_string();
        assert!(error.starts_with("stopped"), "{error}");
        assert!(time < Duration::from_secs(2), "{time:?}");
        let pids = std::fs::read_to_string(folder.join("pids")).unwrap();
        let begin = Instant::now();
        for pid in pids.lines() {
            while Path::new(&format!("/proc/{pid}")).exists() {
                assert!(begin.elapsed() < Duration::from_secs(5), "{pid} stays");
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }
}

#[test]
fn a_server_that_dies_while_it_loads_shows_its_last_words() {
    let folder = tempfile::tempdir().unwrap();
    let script = "if [ \"$1\" = --help ]; then echo --no-ui; exit 0; fi\n\
                  i=0; while [ $i -lt 400 ]; do echo \"layer $i of the model is read\" >&2; i=$((i+1)); done\n\
                  sleep 0.3; echo 'ggml: cannot allocate 8 GiB' >&2; exit 9";
    let server = program(&folder.path().join("dying"), script);
    let (opened, time) = timed(|| open(folder.path(), server, Arc::default()));
    let error = opened.err().unwrap().to_string();
    assert!(error.contains("llama-server ended with code 9") && error.contains("server.log"), "{error}");
    assert!(error.trim_end().ends_with("ggml: cannot allocate 8 GiB"), "{error}");
    assert!(error.contains("layer 399 of") && !error.contains("layer 1 of"), "{error}");
    assert!(time < Duration::from_secs(5), "{time:?}");
}
