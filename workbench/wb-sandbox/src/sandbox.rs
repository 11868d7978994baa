//! A project of its own for each test: nothing of this machine gets in, and nothing gets out.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::made_up;

/// A temporary project with `code/`, a made-up source tree, and `tiny.yaml`, which trains on it in about a second.
pub struct Sandbox {
    folder: TempDir,
    _filters: insta::internals::SettingsBindDropGuard,
}

/// A bag of token vectors, trained on the made-up tree.
pub const TINY: &str = include_str!("../../wb-pipeline/tests/fixtures/tiny.yaml");

/// A transformer of two layers in its place.
pub const TRANSFORMER: &str =
    "encoder.model={transformer: {hidden_size: 16, layers: 2, heads: 2, intermediate_size: 32, positions: 64}}";

impl Default for Sandbox {
    fn default() -> Self {
        Self::new()
    }
}

impl Sandbox {
    /// A new project.
    pub fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("wb-").tempdir().unwrap();
        let mut settings = insta::Settings::clone_current();
        // What differs from machine to machine and from day to day.
        settings.add_filter(&escape(&folder.path().canonicalize().unwrap().display().to_string()), "[project]");
        settings.add_filter(&escape(&folder.path().display().to_string()), "[project]");
        settings.add_filter(&escape(&program()), "wb");
        settings.add_filter(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "[time]");
        settings.add_filter(r"\d{4}-\d\d-\d\d-", "[date]-");
        settings.add_filter(r"-[0-9a-f]{8,12}\b", "-[hash]");
        settings.add_filter(r"pid \d+ on \S+", "pid [pid] on [host]");
        // A stage that took long has a line of its own; on a quick machine none has.
        settings.add_filter(r"(?m)^err: [a-z 0-9]{1,24} +\d+ in [\d.]+ s.*\n?", "");
        // So has one that takes long, every half a minute.
        settings.add_filter(r"(?m)^err: [a-z 0-9]{1,24} +(\d+(/\d+ \(\d+ %\))? )?after \d.*\n?", "");
        settings.add_filter(r"\b[\d.]+ s\b", "[seconds] s");
        settings.add_filter(r"\b\d+/\d+/\d+\b", "[wins/ties/losses]");
        settings.add_filter(r"p [=<] \.?[\d.]+", "p = [p]");
        settings.add_filter(r"\b[\d.]+ pairs/s", "[speed] pairs/s");
        // Memory and time are reckoned by this machine's threads and speed.
        settings.add_filter(r"(?m)^out: cost .*\n?", "");
        // Sums in another order, on another processor, differ in the last digits.
        settings.add_filter(r"([+-]?)\d\.\d{4}\b", "${1}[score]");
        let sandbox = Self { folder, _filters: settings.bind_to_scope() };
        made_up::tree(&sandbox.path("code"));
        sandbox.write("tiny.yaml", TINY);
        sandbox
    }

    /// The place of a file of the project.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file of the project, and the folders above it.
    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Copies a golden folder of random weights, whose embeddings the reference implementation checks.
    pub fn golden_encoder(&self, name: &str, to: &str) {
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wb-encoder/tests/golden");
        let mut folders = vec![PathBuf::new()];
        while let Some(inside) = folders.pop() {
            for entry in fs::read_dir(golden.join(name).join(&inside)).unwrap() {
                let entry = entry.unwrap();
                let path = inside.join(entry.file_name());
                match entry.file_type().unwrap().is_dir() {
                    true => folders.push(path),
                    false => self.write(&format!("{to}/{}", path.display()), fs::read(entry.path()).unwrap()),
                }
            }
        }
    }

    /// Writes an encoder `bert/` without prompts, a cross-encoder `cross/`, and a golden file's pairs as `pairs.jsonl`.
    pub fn golden_rescoring(&self, golden: &Value) {
        self.golden_encoder("tiny-bert", "bert");
        fs::remove_file(self.path("bert/config_sentence_transformers.json")).unwrap();
        self.golden_encoder("tiny-cross-encoder", "cross");
        let pairs = golden["pairs"].as_array().unwrap().iter();
        let pairs = pairs.map(|pair| json!({"anchor": pair[0], "positive": pair[1]}).to_string() + "\n");
        self.write("pairs.jsonl", pairs.collect::<String>());
    }

    /// Numbers of the vectors of a few texts by an encoder, of one a text or one a token.
    pub fn vectors(&self, encoder: &str) -> Vec<f64> {
        self.write("texts.txt", "sort a list\nfn main() {}\nread a file line by line, and count its words");
        let out = format!("{encoder}.jsonl");
        self.succeeds(&["encode", "--encoder", encoder, "--in", "texts.txt", "--out", &out]);
        let lines = self.lines(&out);
        assert_eq!(lines.len(), 3);
        let parts = lines.iter().flat_map(|line| line["embedding"].as_array().unwrap());
        let numbers = parts.flat_map(|part| part.as_array().cloned().unwrap_or_else(|| vec![part.clone()]));
        numbers.map(|number| number.as_f64().unwrap()).collect()
    }

    /// A text that is there; of a path that is absolute already, too.
    pub fn text(&self, name: &(impl AsRef<Path> + ?Sized)) -> String {
        let path = self.folder.path().join(name);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// A file of JSON.
    pub fn json(&self, name: &(impl AsRef<Path> + ?Sized)) -> Value {
        serde_json::from_str(&self.text(name)).unwrap()
    }

    /// A file of JSON lines.
    pub fn lines(&self, name: &(impl AsRef<Path> + ?Sized)) -> Vec<Value> {
        self.text(name).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The names of what is in a folder, in order.
    pub fn names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(folder)).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Files in the folders of a folder, with what they hold.
    pub fn files_below(&self, folder: &str) -> Vec<(String, Vec<u8>)> {
        let of =
            |it: String| self.names(&format!("{folder}/{it}")).into_iter().map(move |name| it.clone() + "/" + &name);
        let read = |name: String| (name.clone(), fs::read(self.path(&format!("{folder}/{name}"))).unwrap());
        self.names(folder).into_iter().flat_map(of).map(read).collect()
    }

    /// The command, ready to run.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(program());
        command.args(arguments).current_dir(self.folder.path()).stdin(Stdio::null());
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("WB_") || name.starts_with("HF_")) {
            command.env_remove(name);
        }
        command
            .env("WB_OFFLINE", "1")
            .env("COLUMNS", "120")
            .env("HOME", self.folder.path())
            .env_remove("XDG_CACHE_HOME");
        command
    }

    /// The command, ready to run with a server of this machine in the place of the hub.
    pub fn online(&self, arguments: &[&str], endpoint: &str) -> Command {
        let mut command = self.command(arguments);
        command.env_remove("WB_OFFLINE").env("HF_ENDPOINT", endpoint).env("HF_HOME", self.path("hf"));
        command
    }

    /// Exit code, standard output and standard error of a command that reads a text.
    pub fn with_input(&self, arguments: &[&str], input: &str) -> (Option<i32>, String, String) {
        let mut command = self.command(arguments);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        told(child.wait_with_output().unwrap())
    }

    /// Starts the command, whose output nobody reads.
    pub fn start(&self, arguments: &[&str]) -> Child {
        self.command(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// Runs the command; `check` without measuring this machine, which takes seconds.
    pub fn run(&self, arguments: &[&str]) -> Output {
        let mut command = self.command(arguments);
        if arguments.first() == Some(&"check") {
            command.arg("--no-probe");
        }
        command.output().unwrap()
    }

    /// Exit code, standard output and standard error as one block.
    pub fn wb(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let mut block = match output.status.code() {
            Some(code) => format!("exit {code}"),
            None => format!("ended by {}", output.status),
        };
        let (_, out, err) = told(output);
        for (name, text) in [("out", out), ("err", err)] {
            for line in text.lines() {
                block += format!("\n{name}: {line}").trim_end();
            }
        }
        block
    }

    /// Runs what has to work; gives standard output and standard error.
    pub fn succeeds(&self, arguments: &[&str]) -> (String, String) {
        let (code, out, err) = told(self.run(arguments));
        assert_eq!(code, Some(0), "wb {}\n{out}\n{err}", arguments.join(" "));
        (out, err)
    }

    /// Runs what has to work and to print all of this.
    #[track_caller]
    pub fn says(&self, arguments: &[&str], parts: &[&str]) {
        has(&self.succeeds(arguments).0, parts);
    }

    /// Runs what has to work and to remark all of this.
    #[track_caller]
    pub fn notes(&self, arguments: &[&str], parts: &[&str]) {
        has(&self.succeeds(arguments).1, parts);
    }

    /// Runs what has to work on so many threads.
    pub fn succeeds_on(&self, threads: &str, arguments: &[&str]) {
        let (code, out, err) = told(self.command(arguments).env("RAYON_NUM_THREADS", threads).output().unwrap());
        assert_eq!(code, Some(0), "{out}\n{err}");
    }

    /// Asserts that the command ends with an error and writes nothing.
    pub fn refuses(&self, arguments: &[&str]) -> String {
        let before = self.listing();
        let block = self.wb(arguments);
        assert!(block.starts_with("exit 2"), "{block}");
        let mut left = self.listing();
        left.retain(|entry| !before.contains(entry));
        assert!(left.is_empty(), "an error may leave nothing behind: {block}\n{left:#?}");
        block
    }

    /// Asserts that the command ends with an error that says all of this, and writes nothing.
    #[track_caller]
    pub fn refuses_with(&self, arguments: &[&str], parts: &[&str]) {
        has(&self.refuses(arguments), parts);
    }

    /// Asserts an error where the command may write something.
    #[track_caller]
    pub fn fails_with(&self, arguments: &[&str], parts: &[&str]) {
        let block = self.wb(arguments);
        assert!(block.starts_with("exit 2"), "{block}");
        has(&block, parts);
    }

    /// Output of each command, which has to end with an error and to write nothing.
    pub fn refusals(&self, rows: &[&[&str]]) -> String {
        rows.iter().map(|arguments| self.refuses(arguments).replacen("exit 2\n", "", 1) + "\n").collect()
    }

    /// The lines of the table of scores of `wb bench pairs`, without what names the encoder.
    pub fn scores(&self, encoder: &str) -> Vec<String> {
        let (out, _) = self.succeeds(&["bench", "pairs", "--encoder", encoder]);
        let scores = out.lines().filter(|line| line.contains('[') && line.contains("pairs-"));
        let from_protocol = |line: &str| {
            line.split_whitespace().skip_while(|word| !word.starts_with("pairs-")).collect::<Vec<_>>().join(" ")
        };
        scores.map(from_protocol).collect()
    }

    /// All files with their sizes, and all folders.
    pub fn listing(&self) -> Vec<String> {
        let mut found = Vec::new();
        list(self.folder.path(), &mut found);
        found.sort();
        found
    }

    /// The only run under a folder of runs.
    pub fn only_run(&self, runs: &str) -> PathBuf {
        let mut folders: Vec<PathBuf> = fs::read_dir(self.path(runs))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.is_dir())
            .collect();
        assert_eq!(folders.len(), 1, "{folders:?}");
        folders.remove(0)
    }

    /// The weights of the only run under a folder of runs.
    pub fn weights(&self, runs: &str) -> Vec<u8> {
        fs::read(self.only_run(runs).join("encoder/model.safetensors")).unwrap()
    }

    /// Waits until a process has written something that it writes while it trains.
    pub fn wait_for(&self, what: &str, is_there: impl Fn() -> bool) {
        let started = Instant::now();
        while !is_there() {
            assert!(started.elapsed() < Duration::from_secs(60), "no {what} after a minute");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Number of checkpoints that lie under a folder of runs.
    pub fn checkpoints(&self, runs: &str) -> usize {
        let Ok(folders) = fs::read_dir(self.path(runs)) else { return 0 };
        let count = |run: PathBuf| fs::read_dir(run.join("checkpoints")).map_or(0, Iterator::count);
        folders.flatten().map(|entry| count(entry.path())).sum()
    }
}

/// The program, where Cargo says that it lies to the tests that it runs.
fn program() -> String {
    std::env::var("CARGO_BIN_EXE_wb").expect("tests of the command are run by cargo test")
}

fn list(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.push(format!("{}/", path.display()));
            list(&path, found);
        } else {
            found.push(format!("{} {}", path.display(), path.metadata().unwrap().len()));
        }
    }
}

/// Asserts that a text holds each of these.
#[track_caller]
pub fn has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
}

/// Exit code, standard output and standard error.
pub fn told(output: Output) -> (Option<i32>, String, String) {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// Sends a signal, such as `-INT`.
#[cfg(unix)]
pub fn send(signal: &str, child: &Child) {
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
}

/// Takes out of a record how long things took.
pub fn without_seconds(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|key, _| !key.contains("second"));
            fields.values_mut().for_each(without_seconds);
        }
        Value::Array(values) => values.iter_mut().for_each(without_seconds),
        _ => {}
    }
}

/// A text as a regular expression.
fn escape(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_punctuation() { format!("\\{c}") } else { c.to_string() }).collect()
}
