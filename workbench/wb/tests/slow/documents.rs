//! What is printed is what works: the commands of README.md, of GUIDE.md and of the heads of the recipes, tried as a
//! newcomer would, in a new folder with empty caches and a hub on this machine.

use std::{
    collections::BTreeSet,
    ffi::OsString,
    fs,
    io::{Cursor, Write},
    os::unix::{fs::symlink, process::CommandExt},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use arrow_array::{
    ArrayRef, RecordBatch, StringArray,
    builder::{ListBuilder, StringBuilder},
};
use parquet::arrow::ArrowWriter;
use serde_json::Value;
use wb_fake_hub::FakeHub;
use zip::{ZipWriter, write::SimpleFileOptions};

use crate::{data, minilm, root, say, skip};

/// A command that takes longer on a newcomer's machine is one that the page has to warn of.
const LIMIT: Duration = Duration::from_secs(300);

/// A clone before its build, a project beside it, and a hub.
struct Newcomer {
    folder: tempfile::TempDir,
    hub: FakeHub,
    data: PathBuf,
}

impl Newcomer {
    /// `None`, and a counted skip, where data or model are not at hand.
    fn new(test: &str) -> Option<Self> {
        let (data, minilm) = (data(test)?, minilm(test)?);
        let Some(tracked) = tracked() else {
            skip(test, "this is no clone: `git ls-files` does not say what a newcomer has");
            return None;
        };
        let newcomer = Self { folder: tempfile::tempdir().unwrap(), hub: FakeHub::start().unwrap(), data };
        for file in &tracked {
            let is_seen = file.starts_with("configs") || file.starts_with("datasets");
            let is_code = file.starts_with("workbench") && file.extension().is_some_and(|ending| ending == "rs");
            for (wanted, place) in [(is_seen, "clone"), (is_code, "my-project")] {
                if wanted {
                    copy(&root().join(file), &newcomer.path(place).join(file));
                }
            }
        }
        // `wb` and `cargo` by their names; nothing is built.
        fs::create_dir(newcomer.path("bin")).unwrap();
        fs::create_dir(newcomer.path("home")).unwrap();
        symlink(env!("CARGO_BIN_EXE_wb"), newcomer.path("bin/wb")).unwrap();
        let cargo = "#!/bin/sh\n[ \"$1 $2 $3 $4 $5\" = \"run --release -p wb --\" ] && shift 5 && exec wb \"$@\"\n\
                     echo \"only cargo run --release -p wb -- ... is known here\" >&2\nexit 1\n";
        fs::write(newcomer.path("bin/cargo"), cargo).unwrap();
        assert!(Command::new("chmod").arg("+x").arg(newcomer.path("bin/cargo")).status().unwrap().success());
        newcomer.hub.add_folder("models", "sentence-transformers/all-MiniLM-L6-v2", Path::new(&minilm)).unwrap();
        newcomer.publish_codesearchnet();
        newcomer.publish_spider();
        Some(newcomer)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The functions at hand as the hub has them: the first thousand as the test split, which `csn-1000` needs.
    fn publish_codesearchnet(&self) {
        let text = fs::read_to_string(self.data.join("codesearchnet/ruby/valid.jsonl")).unwrap();
        let functions: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let (test, valid) = (parquet(&functions[..1000], "test"), parquet(&functions[1000..], "validation"));
        let commit = "bd0cf261e357a3eb5c8fba490d23ec1a1cd59555";
        let files = [
            ("ruby/test-00000-of-00001.parquet", test.as_slice()),
            ("ruby/validation-00000-of-00001.parquet", valid.as_slice()),
        ];
        self.hub.add_at("datasets", "code-search-net/code_search_net", commit, &files);
    }

    /// Spider's archive out of what is at hand of it; Spider-Syn's list has the training questions too.
    fn publish_spider(&self) {
        let from = self.data.join("spider");
        let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
        let mut add = |name: &str, bytes: &[u8]| {
            archive.start_file(format!("spider/{name}"), SimpleFileOptions::default()).unwrap();
            archive.write_all(bytes).unwrap();
        };
        for (name, file) in [
            ("dev.json", "dev.json"),
            ("tables.json", "tables.json"),
            ("train_spider.json", "train/spider_syn_train.json"),
        ] {
            add(name, &fs::read(from.join(file)).unwrap());
        }
        add("train_others.json", b"[]");
        for database in fs::read_dir(from.join("database")).unwrap() {
            let name = database.unwrap().file_name().into_string().unwrap();
            let file = format!("database/{name}/{name}.sqlite");
            add(&file, &fs::read(from.join(&file)).unwrap());
        }
        let zip = archive.finish().unwrap().into_inner();
        let commit = "6232cc3fad6d54c62b3ba23a364083a98ff36a17";
        self.hub.add_at("datasets", "xlangai/spider", commit, &[("data/spider.zip", &zip)]);
    }

    /// A line of a shell, as typed in the clone; what it printed, how it ended (`None` past the limit), and seconds.
    fn types(&self, line: &str) -> (String, Option<i32>, f64) {
        let started = Instant::now();
        let printed = self.path("printed");
        let file = fs::File::create(&printed).unwrap();
        let mut command = Command::new("sh");
        let of_this_machine =
            |name: &str| ["WB_", "HF_", "XDG_", "TRANSFORMERS_"].iter().any(|at| name.starts_with(at));
        for (name, _) in std::env::vars_os().filter(|(name, _)| of_this_machine(&name.to_string_lossy())) {
            command.env_remove(name);
        }
        let machine = PathBuf::from(std::env::var_os("HOME").unwrap_or_default());
        // The quickstart reads the crates that this very build has fetched.
        let cargo = std::env::var_os("CARGO_HOME").map_or_else(|| machine.join(".cargo"), PathBuf::from);
        let mut path = OsString::from(self.path("bin"));
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        let mut child = command
            .args(["-c", line])
            .current_dir(self.path("clone"))
            .env("PATH", path)
            .env("HOME", self.path("home"))
            .env("CARGO_HOME", cargo)
            .env("HF_ENDPOINT", self.hub.endpoint())
            .env("WB_DATA_MIRROR", format!("{}/web/", self.hub.endpoint()))
            .env("BROWSER", "true")
            .stdin(Stdio::null())
            .stdout(file.try_clone().unwrap())
            .stderr(file)
            .process_group(0)
            .spawn()
            .unwrap();
        let status = loop {
            match child.try_wait().unwrap() {
                Some(status) => break status.code().or(Some(-1)),
                None if started.elapsed() > LIMIT => {
                    // The shell's own word, which is there where the program is not; the line and all that it started.
                    Command::new("sh").args(["-c", &format!("kill -9 -{}", child.id())]).status().unwrap();
                    child.wait().unwrap();
                    break None;
                }
                None => thread::sleep(Duration::from_millis(20)),
            }
        };
        (String::from_utf8_lossy(&fs::read(printed).unwrap()).into_owned(), status, started.elapsed().as_secs_f64())
    }

    /// In the place of data sets whose publisher cannot be asked here: what is at hand of them.
    fn puts(&self, data_sets: &str) {
        for name in data_sets.split_whitespace() {
            let (from, to) = (self.data.join(name), self.path("clone/datasets/external").join(name));
            if from.is_dir() && !to.exists() {
                fs::create_dir_all(to.parent().unwrap()).unwrap();
                symlink(from, to).unwrap();
            }
        }
    }
}

/// What git tracks here; `None` where this is no clone.
fn tracked() -> Option<Vec<PathBuf>> {
    let listed =
        Command::new("git").args(["ls-files", "configs", "datasets", "workbench"]).current_dir(root()).output();
    let listed = listed.ok().filter(|output| output.status.success())?;
    let files: Vec<PathBuf> = String::from_utf8(listed.stdout).unwrap().lines().map(PathBuf::from).collect();
    // One that is deleted and not committed yet is listed too.
    Some(files.into_iter().filter(|file| root().join(file).is_file()).collect())
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    fs::copy(from, to).unwrap();
}

/// Functions in the hub's schema of CodeSearchNet.
fn parquet(functions: &[Value], split: &str) -> Vec<u8> {
    let texts = |key: &str| -> ArrayRef {
        Arc::new(functions.iter().map(|function| function[key].as_str()).collect::<StringArray>())
    };
    let lists = |key: &str| -> ArrayRef {
        let mut builder = ListBuilder::new(StringBuilder::new());
        for function in functions {
            let tokens = function[key].as_array().unwrap();
            tokens.iter().for_each(|token| builder.values().append_value(token.as_str().unwrap()));
            builder.append(true);
        }
        Arc::new(builder.finish())
    };
    let of_split: ArrayRef = Arc::new(StringArray::from(vec![split; functions.len()]));
    let batch = RecordBatch::try_from_iter([
        ("repository_name", texts("repo")),
        ("func_path_in_repository", texts("path")),
        ("func_name", texts("func_name")),
        ("whole_func_string", texts("original_string")),
        ("language", texts("language")),
        ("func_code_string", texts("code")),
        ("func_code_tokens", lists("code_tokens")),
        ("func_documentation_string", texts("docstring")),
        ("func_documentation_tokens", lists("docstring_tokens")),
        ("split_name", of_split),
        ("func_code_url", texts("url")),
    ])
    .unwrap();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    bytes
}

/// A command, and the comment behind it.
struct Line {
    command: String,
    comment: String,
}

impl Line {
    fn new(text: &str) -> Self {
        let (command, comment) = text.split_once(" # ").unwrap_or((text, ""));
        Self { command: command.trim().to_owned(), comment: comment.trim().to_owned() }
    }

    /// Why it is not run here, in the page's own words: what it needs, its size, or its time.
    fn left_out(&self) -> Option<&str> {
        if ["cargo test", "cargo install"].iter().any(|start| self.command.starts_with(start)) {
            return Some("nothing is built within a test");
        }
        let mut words = self.comment.split([' ', ':', ',', ';']);
        let is_number = words.next().is_some_and(|word| word.parse::<f64>().is_ok());
        let units = ["MB", "GB", "minute", "minutes", "hours", "days"];
        let is_cost = is_number && words.next().is_some_and(|word| units.contains(&word));
        (is_cost || self.comment.starts_with("needs ")).then_some(self.comment.as_str())
    }
}

/// The commands in the shell blocks of a page, in order; a backslash at the end goes on in the next line.
fn commands(page: &str) -> Vec<Line> {
    let text = fs::read_to_string(root().join(page)).unwrap();
    let (mut found, mut begun, mut inside) = (Vec::new(), String::new(), false);
    for line in text.lines() {
        if let Some(fence) = line.strip_prefix("```") {
            inside = !inside && fence == "sh";
            continue;
        }
        if !inside || line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        match line.strip_suffix('\\') {
            Some(part) => begun += part,
            None => found.push(Line::new(&(std::mem::take(&mut begun) + line))),
        }
    }
    assert!(begun.is_empty(), "{page}: the last line goes on");
    found
}

#[test]
#[ignore = "slow: four minutes"]
fn every_command_of_the_readme_and_the_guide_works_for_a_newcomer() {
    let test = "every_command_of_the_readme_and_the_guide_works_for_a_newcomer";
    let Some(newcomer) = Newcomer::new(test) else { return };
    let (mut all, mut left_out, mut failed) = (0, 0, Vec::new());
    let started = Instant::now();
    for page in ["README.md", "GUIDE.md"] {
        let lines = commands(page);
        assert!(lines.len() > 4, "{page}: only {} commands", lines.len());
        for line in lines {
            all += 1;
            if let Some(reason) = line.left_out() {
                say(&format!("{page}: not run: {}: {reason}", line.command));
                left_out += 1;
                newcomer.puts(line.command.strip_prefix("wb data get ").unwrap_or(""));
                continue;
            }
            let (printed, status, seconds) = newcomer.types(&line.command);
            say(&format!("{page}: {seconds:6.1} s  {}", line.command));
            if status != Some(0) {
                let ended = status.map_or_else(|| "was stopped".to_owned(), |code| format!("ended with {code}"));
                failed.push(format!("{page}: `{}` {ended} after {seconds:.1} s\n{printed}", line.command));
            }
        }
    }
    say(&format!("{all} commands, {left_out} of them not run, {:.0} s", started.elapsed().as_secs_f64()));
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(left_out * 3 < all, "{left_out} of {all} commands cannot be tried");
}

/// The recipes, and the comment lines at the head of each without their marks.
fn recipes() -> Vec<(String, Vec<String>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root().join("configs")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "yaml") {
            let text = fs::read_to_string(&path).unwrap();
            let head = text.lines().map_while(|line| line.strip_prefix('#')).map(str::to_owned).collect();
            found.push((path.file_name().unwrap().to_str().unwrap().to_owned(), head));
        }
    }
    found.sort();
    assert!(found.len() > 10, "{} recipes", found.len());
    found
}

/// Whoever types it meets no unknown command and no unknown flag.
#[test]
#[ignore = "slow: seconds, in a new folder"]
fn every_command_in_the_head_of_a_recipe_is_one_that_wb_has() {
    let Some(newcomer) = Newcomer::new("every_command_in_the_head_of_a_recipe_is_one_that_wb_has") else { return };
    let (mut tried, mut wrong) = (0, Vec::new());
    for (recipe, head) in recipes() {
        let commands: Vec<Line> =
            head.iter().map(|line| line.trim()).filter(|line| line.starts_with("wb ")).map(Line::new).collect();
        if commands.is_empty() {
            wrong.push(format!("{recipe}: no command to paste"));
        }
        for line in commands {
            tried += 1;
            let (printed, status, _) = newcomer.types(&format!("{} --help", line.command));
            if status != Some(0) {
                wrong.push(format!("{recipe}: {}\n{printed}", line.command));
            }
            for word in line.command.split_whitespace().filter(|word| word.starts_with("configs/")) {
                assert!(root().join(word).is_file(), "{recipe}: {word} is not there");
            }
        }
    }
    say(&format!("{tried} commands in heads of recipes"));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// On a machine that has nothing, every recipe says what is missing with a command that brings it.
#[test]
#[ignore = "slow: seconds, in a new folder"]
fn what_a_recipe_needs_is_fetched_or_has_a_command_that_brings_it() {
    let test = "what_a_recipe_needs_is_fetched_or_has_a_command_that_brings_it";
    let Some(newcomer) = Newcomer::new(test) else { return };
    // Of language models only the name and the size are looked at.
    for (id, file) in [
        ("Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF", "qwen2.5-coder-1.5b-instruct-q8_0.gguf"),
        ("Qwen/Qwen2.5-Coder-7B-Instruct-GGUF", "qwen2.5-coder-7b-instruct-q4_k_m.gguf"),
    ] {
        newcomer.hub.add("models", id, &[(file, b"GGUF")]);
    }
    // `wb check` reads the small files of a model for its sizes, and those of these are not at hand: their rows say that
    // the hub does not have them. Pairs of one's own and packages of a system have no command.
    let excused = [
        "google/xtr-base-en",
        "Qwen/Qwen3-Embedding-0.6B",
        "nomic-ai/CodeRankEmbed",
        "answerdotai/ModernBERT-base",
        "Qwen/Qwen2.5-Coder-1.5B",
        "datasets/external/text-pairs",
        "datasets/external/synthetic",
        "/usr/lib/",
    ];
    let (brings, mut wrong) = (["wb data get ", "wb synth ", "wb train ", "wb run "], Vec::new());
    for (recipe, _) in recipes() {
        // The clone that a newcomer has here is without sources.
        let behind = if recipe == "my-repo.yaml" { "../my-project " } else { "" };
        let (printed, status, seconds) = newcomer.types(&format!("wb check configs/{recipe} {behind}--no-probe"));
        let missing: BTreeSet<&str> = printed.lines().filter(|line| line.contains("missing: ")).collect();
        say(&format!("{recipe}: exit {status:?}, {} things missing, {seconds:.1} s", missing.len()));
        let is_told = |line: &&str| {
            let command = line.split_once("missing: ").map_or("", |(_, command)| command);
            brings.iter().any(|start| command.starts_with(start)) || excused.iter().any(|name| line.contains(name))
        };
        let expected = if missing.is_empty() { 0 } else { 2 };
        if status != Some(expected) || !missing.iter().all(is_told) {
            wrong.push(format!("{recipe}: {status:?}\n{printed}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
