//! Both versions of a function are called with the same drawn arguments, and what they give back is compared.
//!
//! This runs code that is not ours. It runs in a child process with an empty environment, in an empty folder that goes
//! afterwards, under limits of time and memory, and files cannot be written; code that names files, processes, the
//! network, the clock or chance is not run at all. That is care, not a prison: it is off unless asked for.

mod arguments;
mod child;
mod interpreter;

use serde::{Deserialize, Serialize};
use wb_code::{Language, rewrites::ParsedSource};
use wb_core::Seed;

pub use interpreter::Interpreter;

/// The result of running two versions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunVerdict {
    /// Every call gave the same, and at least one gave a value.
    Equal,
    /// Another result for at least one call.
    Differs,
    /// Reason why nothing was run, or why the run told nothing.
    Unchecked(String),
}

impl RunVerdict {
    /// A short name for counts.
    pub fn name(&self) -> String {
        match self {
            Self::Equal => "equal".to_owned(),
            Self::Differs => "differs".to_owned(),
            Self::Unchecked(why) => format!("unchecked: {why}"),
        }
    }
}

#[derive(Serialize)]
struct Request<'r> {
    left: &'r str,
    right: &'r str,
    /// The function that is called on either side.
    names: [&'r str; 2],
    arguments: Vec<Vec<serde_json::Value>>,
}

#[derive(Deserialize)]
struct Reply {
    differ: u64,
    values: u64,
    /// Calls that took too much time or memory.
    stuck: u64,
    load: String,
}

/// Words of which none may stand in code that is run: files, processes, network, clock, chance, and what looks at
/// code itself.
const FORBIDDEN: &[&str] = &[
    "os",
    "sys",
    "open",
    "exec",
    "eval",
    "compile",
    "__import__",
    "subprocess",
    "socket",
    "shutil",
    "pathlib",
    "input",
    "requests",
    "urllib",
    "threading",
    "multiprocessing",
    "ctypes",
    "signal",
    "time",
    "datetime",
    "random",
    "uuid",
    "secrets",
    "globals",
    "breakpoint",
    "exit",
    "quit",
    "id",
    "hash",
    "object",
    "attrgetter",
    "methodcaller",
    "get_type_hints",
    "ForwardRef",
    "vars",
    "locals",
    "getattr",
    "setattr",
    "builtins",
    "importlib",
    "pickle",
    "require",
    "process",
    "fetch",
    "Date",
    "XMLHttpRequest",
    "import",
    "Function",
    "constructor",
    "globalThis",
    "window",
    "document",
    "setTimeout",
    "setInterval",
    "performance",
    "crypto",
    "module",
    "exports",
];

/// Modules of Python that only compute.
const HARMLESS: &[&str] = &[
    "math",
    "re",
    "string",
    "collections",
    "itertools",
    "functools",
    "operator",
    "heapq",
    "bisect",
    "typing",
    "fractions",
    "decimal",
    "copy",
    "statistics",
    "cmath",
];

/// Runs the first function of `left` and its counterpart in `right`, if they can be run: the function of the same name,
/// else the first one that is called with as many values.
pub fn compare(left: &str, right: &str, interpreters: &[Interpreter], language: Language, seed: Seed) -> RunVerdict {
    let unchecked = |why: &str| RunVerdict::Unchecked(why.to_owned());
    let Some(interpreter) = interpreters.iter().find(|one| one.language == language) else {
        return unchecked("no interpreter for the language");
    };
    let Ok(source) = ParsedSource::parse(left, language) else { return unchecked("it does not parse") };
    let Some(Some((name, parameters))) = source.plain_functions().into_iter().next() else {
        return unchecked("no function with plain parameters");
    };
    let Some(counterpart) = counterpart(right, language, &name, parameters.len()) else {
        return unchecked("no function with the same parameters on the other side");
    };
    if !is_harmless(left) || !is_harmless(right) {
        return unchecked("it may do more than compute");
    }
    let request =
        Request { left, right, names: [&name, &counterpart], arguments: arguments::arguments(&parameters, seed) };
    let Ok(folder) = EmptyFolder::new() else { return unchecked("no temporary folder") };
    let input = serde_json::to_string(&request).unwrap_or_default();
    let answer = child::answer(interpreter, &input, folder.path());
    let reply = answer.and_then(|text| serde_json::from_str::<Reply>(text.trim()).ok());
    const EXHAUSTED: &str = "it ran out of time or memory";
    match reply {
        None => unchecked(EXHAUSTED),
        Some(reply) if !reply.load.is_empty() => unchecked("it needs what is not there"),
        Some(reply) if reply.differ > 0 => RunVerdict::Differs,
        Some(reply) if reply.values == 0 && reply.stuck > 0 => unchecked(EXHAUSTED),
        Some(reply) if reply.values == 0 => unchecked("no call gave a value"),
        Some(_) => RunVerdict::Equal,
    }
}

fn counterpart(code: &str, language: Language, name: &str, n_parameters: usize) -> Option<String> {
    let functions = ParsedSource::parse(code, language).ok()?.plain_functions();
    let mut fitting = functions.into_iter().flatten().filter(|(_, parameters)| parameters.len() == n_parameters);
    let first = fitting.next()?;
    let same = std::iter::once(first.clone()).chain(fitting).find(|(other, _)| other == name);
    Some(same.unwrap_or(first).0)
}

/// True where code names nothing that reaches out of it, imports of modules that only compute aside.
fn is_harmless(code: &str) -> bool {
    code.lines().all(|line| {
        let trimmed = line.trim_start();
        let mut words = trimmed.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
        if trimmed.starts_with("import ") || trimmed.starts_with("from ") {
            let names_are_harmless = trimmed.starts_with("from ") || !trimmed.contains('.');
            return names_are_harmless
                && match trimmed.strip_prefix("from ") {
                    Some(rest) => HARMLESS.contains(&rest.split(' ').next().unwrap_or_default()),
                    None => trimmed["import ".len()..]
                        .split(',')
                        .all(|module| HARMLESS.contains(&module.split_whitespace().next().unwrap_or_default())),
                };
        }
        // What begins with `_` may be a module's own way out, as `collections._sys` is.
        words.all(|word| !FORBIDDEN.contains(&word) && (!word.starts_with('_') || ["_", "__name__"].contains(&word)))
    })
}

/// A folder for one child.
struct EmptyFolder(std::path::PathBuf);

impl EmptyFolder {
    fn new() -> std::io::Result<Self> {
        let path = wb_core::atomic::temporary_name(&std::env::temp_dir().join("wb-verify"));
        std::fs::create_dir(&path)?;
        Ok(Self(path))
    }

    fn path(&self) -> &std::path::Path {
        &self.0
    }
}

impl Drop for EmptyFolder {
    fn drop(&mut self) {
        // It is in the folder for temporary files, should this fail.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn verdict(left: &str, right: &str, language: Language) -> Option<RunVerdict> {
        let interpreters = Interpreter::find_all();
        if !interpreters.iter().any(|one| one.language == language) {
            // Past the capture of test output, so that skipped tests are seen and counted.
            let _ = writeln!(std::io::stderr(), "SKIPPED verify-{language}: no interpreter on this machine");
            return None;
        }
        Some(compare(left, right, &interpreters, language, Seed(1)))
    }

    #[test]
    fn equal_functions_are_equal_and_different_ones_differ() {
        let python = "def f(n, xs):\n    return [x + n for x in xs]\n";
        for (other, expected) in [
            ("def f(a, b):\n    r = []\n    for c in b:\n        r.append(c + a)\n    return r\n", RunVerdict::Equal),
            ("def f(n, xs):\n    return [x - n for x in xs]\n", RunVerdict::Differs),
            ("def f(n, xs):\n    xs.append(1)\n    return [x + n for x in xs[:-1]]\n", RunVerdict::Differs),
            // Of another name, after a helper with other parameters; and the one of the same name before another.
            (
                "def plus(a):\n    return a\n\ndef shift(k, ys):\n    return [plus(y) + k for y in ys]\n",
                RunVerdict::Equal,
            ),
            ("def g(n, xs):\n    return xs\n\ndef f(n, xs):\n    return [x + n for x in xs]\n", RunVerdict::Equal),
            (
                "def f(n):\n    return n\n",
                RunVerdict::Unchecked("no function with the same parameters on the other side".into()),
            ),
        ] {
            assert_eq!(verdict(python, other, Language::Python).unwrap_or(expected.clone()), expected, "{other}");
        }
        let js = "function f(n, xs) { return xs.map((x) => x + n); }";
        for (other, expected) in [
            ("function f(a, b) { const r = []; for (const c of b) { r.push(c + a); } return r; }", RunVerdict::Differs),
            ("function f(a, b) { return b.map((c) => c + a); }", RunVerdict::Equal),
            ("function f(a, b) { return b.map((c) => c - a); }", RunVerdict::Differs),
        ] {
            let found = verdict(js, other, Language::JavaScript).unwrap_or(expected.clone());
            // A text is something to go over and has no `map`: the first pair differs there.
            assert_eq!(found, expected, "{other}");
        }
    }

    #[test]
    fn what_hangs_or_eats_or_reaches_out_ends_and_is_unchecked() {
        let same = |code: &str, language| verdict(code, code, language);
        for (code, why) in [
            ("def f(n):\n    while True:\n        n = n\n", "it ran out of time or memory"),
            ("def f(n):\n    x = 'a'\n    while True:\n        x = x + x\n", "it ran out of time or memory"),
            ("def f(n):\n    return f(n)\n", "it ran out of time or memory"),
            ("def f(n):\n    return open('/etc/passwd').read()\n", "it may do more than compute"),
            ("import collections\ndef f(n):\n    return collections._sys.modules\n", "it may do more than compute"),
            (
                "from operator import attrgetter\nimport re\ndef f(n):\n    return attrgetter('_s' + 'ys')(re)\n",
                "it may do more than compute",
            ),
            ("import os\ndef f(n):\n    return n\n", "it may do more than compute"),
            ("def f(self, n):\n    return n\n", "no function with plain parameters"),
            ("def f(n):\n    return missing(n)\n", "no call gave a value"),
            ("X = missing()\ndef f(n):\n    return n\n", "it needs what is not there"),
        ] {
            let expected = RunVerdict::Unchecked(why.to_owned());
            assert_eq!(same(code, Language::Python).unwrap_or(expected.clone()), expected, "{code}");
        }
        // Names that are put together reach no function of the process, and no code is made out of texts.
        let out = "function f(n) { return this['constr' + 'uctor']['constr' + 'uctor']('return 1')() + n; }";
        if let Some(found) = same(out, Language::JavaScript) {
            assert_eq!(found.name(), "unchecked: no call gave a value");
        }
        let endless = "while (true) { }\nfunction f(n) { return n; }";
        if let Some(found) = same(endless, Language::JavaScript) {
            assert_eq!(found.name(), "unchecked: it needs what is not there");
        }
    }
}
