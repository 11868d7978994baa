//! A server of ours that does not get as far as answering: whatever happens meanwhile, nothing of it stays behind.

use std::{
    collections::BTreeSet,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Arc, atomic::AtomicBool},
    time::{Duration, Instant},
};

use wb_llm::{
    EngineConfig, LlmConfig,
    engines::sidecar::{SidecarConfig, SidecarEngine},
};

use crate::support::{self, program, stop_after, timed};

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

const SIGNALS: [(&str, u32); 4] = [("INT", 2), ("TERM", 15), ("KILL", 9), ("HUP", 1)];
/// How long a process may take to end after a signal, on a machine with much else to do.
const END: Duration = Duration::from_secs(20);

/// Signals that this process ignores, and with it whatever it starts: a shell without job control makes what it runs in
/// the background deaf to INT, and `nohup` to HUP.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    u64::from_str_radix(mask.trim(), 16).unwrap()
}

/// As a terminal sends it: to us and all that we have started.
#[test]
fn a_signal_within_a_second_of_the_start_leaves_no_process() {
    let all = tempfile::tempdir().unwrap();
    // Each signal beside the others: most of the time is waiting.
    let run = |n: usize, signal: &'static str| {
        let cases = [3, 15, 40, 120, 500].into_iter().enumerate();
        cases
            .map(|(m, after)| signalled(&all.path().join(format!("{n}-{m}")), signal, after, (n + m, m)))
            .max()
            .unwrap()
    };
    let seen: Vec<usize> = std::thread::scope(|scope| {
        let of = |(n, (signal, _)): (usize, (&'static str, u32))| scope.spawn(move || run(n, signal));
        let threads: Vec<_> = SIGNALS.into_iter().enumerate().map(of).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    // The test saw what it looks for: us, the guard with its two halves, and the program.
    assert!(seen.iter().all(|seen| *seen >= 4), "{seen:?}");
}

/// Starts a parent, sends it a signal, and waits until nothing of it is left; how many processes there were.
fn signalled(folder: &Path, signal: &str, after: u64, (help, target): (usize, usize)) -> usize {
    std::fs::create_dir(folder).unwrap();
    // Half of them while the program still says what it knows.
    slow(folder, if help % 2 == 0 { "echo --no-ui; exit 0" } else { "exec sleep 300" });
    // It must not be deaf to the signal because we are.
    let deaf: Vec<&str> =
        SIGNALS.into_iter().filter(|(_, n)| ignored() >> (n - 1) & 1 == 1).map(|(name, _)| name).collect();
    let this = std::env::current_exe().unwrap();
    let mut command = match deaf.is_empty() {
        true => Command::new(&this),
        false => Command::new("env"),
    };
    if !deaf.is_empty() {
        command.arg(format!("--default-signal={}", deaf.join(","))).arg(&this);
    }
    let mut child = command
        .args(["--exact", "sidecar_ends::parent", "--ignored"])
        .env(MARK, folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .unwrap();
    // Until `env` has become the parent, it is as deaf as we are: a signal would be lost.
    let exe = format!("/proc/{}/exe", child.id());
    while std::fs::read_link(&exe).is_ok_and(|running| running != this) {
        std::thread::sleep(Duration::from_millis(1));
    }
    // The last of them when all is there, however busy the machine is.
    let begin = Instant::now();
    let mut seen = BTreeSet::new();
    while begin.elapsed() < Duration::from_millis(after) || (after == 500 && seen.len() < 4 && begin.elapsed() < END) {
        std::thread::sleep(Duration::from_millis(after.min(20)));
        seen.extend(marked(folder));
    }
    let group = format!("-{}", child.id());
    // Either all of the group, or only us.
    let target = if target % 2 == 0 { group } else { child.id().to_string() };
    let status = Command::new("kill").args([&format!("-{signal}"), "--", &target]).status().unwrap();
    assert!(status.success());
    let begin = Instant::now();
    let what = format!("{signal} after {after} ms");
    while child.try_wait().unwrap().is_none() {
        if begin.elapsed() > END {
            let _ = child.kill();
            panic!("{what}: the parent goes on");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    loop {
        let left = marked(folder);
        if left.is_empty() {
            return seen.len();
        }
        assert!(begin.elapsed() < END, "{what}: {left:?} stay");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_request_to_stop_while_it_loads_or_says_what_it_knows_ends_it() {
    for help in ["echo --no-ui; exit 0", "exec sleep 300"] {
        stopped_while(|folder| slow(folder, &format!("echo $$ >> '{}'; {help}", folder.join("pids").display())));
    }
}

/// An INT that reaches the guard first, before it looks after anything.
#[test]
fn a_guard_that_gets_an_int_goes_on_guarding() {
    stopped_while(|folder| {
        let script = format!(
            "if [ \"$1\" = --help ]; then echo --no-ui; exit 0; fi\nkill -INT $PPID\necho $$ >> '{}'\nexec sleep 300",
            folder.join("pids").display()
        );
        program(&folder.join("slow-server"), &script)
    });
}

/// Opens an engine whose server never answers, asks it to stop, and sees that no server is left.
fn stopped_while(server: impl Fn(&Path) -> PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let server = server(folder);
    let interrupt = Arc::default();
    stop_after(400, &interrupt);
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
