//! The interpreters of this machine: found on the path, and tried with the empty environment that they will have.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use wb_code::Language;

/// An interpreter that runs snippets of one language.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interpreter {
    /// The language that it runs.
    pub language: Language,
    /// The program.
    pub program: PathBuf,
}

impl Interpreter {
    /// The interpreters for Python and JavaScript on this machine; a language without one is not in the list.
    pub fn find_all() -> Vec<Self> {
        [(Language::Python, "python3"), (Language::JavaScript, "node")]
            .into_iter()
            .filter_map(|(language, name)| find(name).map(|program| Self { language, program }))
            .collect()
    }

    /// The arguments that make it run a program given as text, apart from the user's own settings.
    pub(super) fn arguments(&self, harness: &str) -> Vec<String> {
        let words: &[&str] = match self.language {
            Language::Python => &["-I", "-S", "-B", "-c"],
            _ => &["--max-old-space-size=256", "--stack-size=800", "-e"],
        };
        words.iter().map(|word| (*word).to_owned()).chain([harness.to_owned()]).collect()
    }

    /// The program that calls both sides.
    pub(super) fn harness(&self) -> &'static str {
        match self.language {
            Language::Python => include_str!("harness.py"),
            _ => include_str!("harness.js"),
        }
    }
}

/// The first program of this name on the path that runs without any environment: a wrapper that needs one does not.
fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let usual = ["/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"].map(PathBuf::from);
    let folders = std::env::split_paths(&path).chain(usual);
    let found = folders.map(|folder| folder.join(name)).find(|program| runs(program))?;
    // What a wrapper script starts is asked for its own place, so that the wrapper is not run every time.
    Some(real_program(name, &found).unwrap_or(found))
}

fn runs(program: &Path) -> bool {
    let quiet = || Command::new(program).arg("--version").env_clear().stdin(Stdio::null()).output();
    program.is_file() && quiet().is_ok_and(|output| output.status.success())
}

fn real_program(name: &str, program: &Path) -> Option<PathBuf> {
    let question: [&str; 2] = match name {
        "python3" => ["-c", "import sys; print(sys.executable)"],
        _ => ["-p", "process.execPath"],
    };
    let output = Command::new(program).args(question).env_clear().stdin(Stdio::null()).output().ok()?;
    let real = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
    runs(&real).then_some(real)
}
