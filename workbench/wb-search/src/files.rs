//! Files of a project that can be searched, with what is left aside and why.
//!
//! Nothing outside of the folder is read: links are not followed, and pipes, devices and sockets are no files. What
//! `.gitignore` names is left aside, as are secrets by their names.

use std::{
    collections::{BTreeMap, HashSet},
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
    str::FromStr,
    sync::{Arc, mpsc},
    time::UNIX_EPOCH,
};

use ignore::{WalkBuilder, WalkState};
use serde::{
    Deserialize, Serialize,
    de::{IntoDeserializer, value},
};
use wb_code::{
    CodeLanguage,
    notebook::{self, is_notebook},
    tree::VENDORED_FOLDERS,
};
use wb_core::suggest;

use crate::{Error, Result, annotations::ProjectAnnotations, head_commit};

/// Larger files are data, or written by programs.
pub const MOST_BYTES: u64 = 1 << 20;
/// Larger notebooks are not read: most of one are pictures in its outputs.
const MOST_NOTEBOOK_BYTES: u64 = 16 << 20;
/// Bytes at the beginning of a file in which text has no zero.
const HEAD: usize = 8192;
/// Characters of a line, on average, beyond which nobody is meant to read a file.
const MOST_CHARS_A_LINE: usize = 500;

/// The part that a file plays in its project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileRole {
    /// Code that does the work.
    Source,
    /// Tests and what they are made of.
    Test,
    /// Examples and benchmarks.
    Example,
    /// Types without bodies: `.d.ts`, `.pyi`.
    Declaration,
    /// Code that a program wrote, or that came from elsewhere.
    Generated,
    /// Prose.
    Docs,
    /// Settings and data.
    Config,
    /// Anything else, which patterns alone look into.
    Other,
}

impl FromStr for FileRole {
    type Err = String;

    fn from_str(name: &str) -> std::result::Result<Self, String> {
        let known = Self::deserialize(name.into_deserializer());
        known.map_err(|_: value::Error| {
            "expected source, test, example, declaration, generated, docs, config or other".to_owned()
        })
    }
}

impl FileRole {
    /// All of them, in the order of their numbers in an index.
    pub const ALL: [Self; 8] = [
        Self::Source,
        Self::Test,
        Self::Example,
        Self::Declaration,
        Self::Generated,
        Self::Docs,
        Self::Config,
        Self::Other,
    ];
}

/// A file as a walk finds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectFile {
    /// Path below the root, with `/`.
    pub path: String,
    /// Bytes.
    pub size: u64,
    /// Nanoseconds since 1970 at which it was changed last; 0 where nobody knows.
    pub modified: u64,
}

/// The files of a folder.
#[derive(Debug, Clone)]
pub struct FolderFiles {
    /// The folder.
    pub root: PathBuf,
    /// Further folders, in full: the paths of their files are in full too.
    pub further: Vec<PathBuf>,
    /// The commit that it is at; none where it is in no repository.
    pub commit: Option<String>,
    /// Annotations for the units of its files, where they are read for an index.
    pub annotations: Option<Arc<ProjectAnnotations>>,
    /// Its files, ordered by their paths.
    pub files: Vec<ProjectFile>,
    /// Numbers of files that are left aside, by reason.
    pub skipped: BTreeMap<&'static str, u64>,
}

impl FolderFiles {
    /// Walks through a folder.
    pub fn of(root: &Path) -> Result<Self> {
        Self::of_several(root, &[])
    }

    /// One file alone, named by whoever asks: what is ignored does not count.
    pub fn of_file(path: &Path) -> Result<Self> {
        let root = path.parent().unwrap_or(Path::new(""));
        let left_aside = |reason| Error::failed(format!("{} is left aside: {reason}", path.display()));
        let files = vec![classify(path, root).map_err(left_aside)?];
        let (further, commit, skipped) = (Vec::new(), None, BTreeMap::new());
        Ok(Self { root: root.to_owned(), further, commit, annotations: None, files, skipped })
    }

    /// Walks through a folder and further ones, given in full, each with its own rules of what is ignored. A file of
    /// several is one of the first that has it.
    pub fn of_several(root: &Path, further: &[PathBuf]) -> Result<Self> {
        let mut found = Self {
            root: root.to_owned(),
            further: further.to_vec(),
            commit: head_commit(root),
            annotations: None,
            files: Vec::new(),
            skipped: BTreeMap::new(),
        };
        found.walk(root, root)?;
        for folder in further {
            found.walk(folder, Path::new(""))?;
        }
        found.files.sort_by(|one, other| one.path.cmp(&other.path));
        found.files.dedup_by(|later, first| later.path == first.path);
        if further.iter().any(|folder| folder.starts_with(root)) {
            let of_root: HashSet<PathBuf> = found
                .files
                .iter()
                .filter(|file| !file.path.starts_with('/'))
                .map(|file| root.join(&file.path))
                .collect();
            found.files.retain(|file| !file.path.starts_with('/') || !of_root.contains(Path::new(&file.path)));
        }
        Ok(found)
    }

    /// Adds the files of a folder, by their paths below another one.
    fn walk(&mut self, folder: &Path, below: &Path) -> Result<()> {
        if !folder.is_dir() {
            let what = format!("{} is not a folder, expected one with files to search", folder.display());
            return Err(Error::failed(what).with_hint("wb index path/to/project"));
        }
        // What a project ignores may be wanted by its name, as a package is.
        let is_project = folder == below;
        let mut walk = WalkBuilder::new(folder);
        walk.require_git(false).follow_links(false).git_global(false).parents(is_project);
        let (send, found) = mpsc::channel();
        walk.threads(rayon::current_num_threads()).build_parallel().run(|| {
            let send = send.clone();
            Box::new(move |entry| {
                let classified = match entry {
                    Ok(entry) if entry.file_type().is_some_and(|kind| kind.is_file()) => classify(entry.path(), below),
                    Ok(_) => return WalkState::Continue,
                    Err(_) => Err("cannot be listed"),
                };
                match send.send(classified) {
                    Ok(()) => WalkState::Continue,
                    Err(_) => WalkState::Quit,
                }
            })
        });
        drop(send);
        for classified in found {
            match classified {
                Ok(file) => self.files.push(file),
                Err(reason) => self.skip(reason),
            }
        }
        Ok(())
    }

    /// A file's path as it counts: one of a further folder begins with the name of that folder.
    pub fn named<'a>(&self, path: &'a str) -> &'a str {
        named(&self.further, path)
    }

    pub(crate) fn skip(&mut self, reason: &'static str) {
        *self.skipped.entry(reason).or_default() += 1;
    }

    /// Text of one of the files, or why it has none; of a notebook its code and its prose, on the lines where they stand.
    pub fn read(&self, file: &ProjectFile) -> std::result::Result<String, &'static str> {
        let most = if is_notebook(&file.path) { MOST_NOTEBOOK_BYTES } else { MOST_BYTES };
        if file.size > most {
            return Err("too large");
        }
        let mut open = File::open(self.root.join(&file.path)).map_err(|_| "cannot be read")?;
        // Its size, and the byte at which its end is seen.
        let mut bytes = Vec::with_capacity(HEAD.max(file.size as usize + 1));
        bytes.resize(HEAD, 0);
        let head = read_up_to(&mut open, &mut bytes).map_err(|_| "cannot be read")?;
        bytes.truncate(head);
        if bytes.contains(&0) {
            return Err("no text");
        }
        open.take(most).read_to_end(&mut bytes).map_err(|_| "cannot be read")?;
        let text = String::from_utf8(bytes).map_err(|_| "not UTF-8")?;
        if has_private_key(&text) {
            return Err("has a private key");
        }
        let text = readable(&file.path, text)?;
        let lines = text.lines().count().max(1);
        if text.len() / lines > MOST_CHARS_A_LINE { Err("lines too long to read") } else { Ok(text) }
    }
}

/// The text that is read of a file: all of it, or a notebook's code and prose.
pub(crate) fn readable(path: &str, text: String) -> std::result::Result<String, &'static str> {
    match is_notebook(path) {
        true => notebook::readable(&text).map_err(|fault| fault.reason),
        false => Ok(text),
    }
}

/// Fills a buffer as far as there is something; the number of bytes.
fn read_up_to(from: &mut File, buffer: &mut [u8]) -> std::io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match from.read(&mut buffer[filled..])? {
            0 => break,
            n => filled += n,
        }
    }
    Ok(filled)
}

/// A path without what is above the further folder that it is in.
pub(crate) fn named<'a>(further: &[PathBuf], path: &'a str) -> &'a str {
    let above = further.iter().filter_map(|folder| folder.parent()?.to_str());
    let below = |above: &str| path.strip_prefix(above).filter(|rest| rest.starts_with('/') || above.ends_with('/'));
    let is_further = path.starts_with('/');
    let shortest = above.filter(|_| is_further).filter_map(below).min_by_key(|rest| rest.len());
    shortest.map_or(path, |rest| rest.trim_start_matches('/'))
}

fn classify(path: &Path, root: &Path) -> std::result::Result<ProjectFile, &'static str> {
    let parts: Option<Vec<&str>> =
        path.strip_prefix(root).ok().and_then(|path| path.iter().map(|part| part.to_str()).collect());
    let path_below = parts.ok_or("path that is not UTF-8")?.join("/").replacen("//", "/", 1);
    if is_secret(path_below.rsplit('/').next().unwrap_or_default()) {
        return Err("secret by its name");
    }
    let metadata = fs::symlink_metadata(path).map_err(|_| "cannot be read")?;
    let modified = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let modified = modified.and_then(|time| u64::try_from(time.as_nanos()).ok()).unwrap_or(0);
    Ok(ProjectFile { path: path_below, size: metadata.len(), modified })
}

/// Names under which keys and passwords are kept.
fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let ends = [".pem", ".key", ".p12", ".pfx", ".keystore", ".jks", ".kdbx"];
    name == ".env"
        || name.starts_with(".env.") && !name.ends_with(".example")
        || ends.iter().any(|ending| name.ends_with(ending))
        || ["id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", ".netrc", ".npmrc", ".pypirc", "credentials.json"]
            .contains(&name.as_str())
}

/// True for a text with a key as OpenSSL and OpenSSH write them: a line that opens it, and below it one of nothing but its
/// digits. Code that names such a line has none.
pub(crate) fn has_private_key(text: &str) -> bool {
    if memchr::memmem::find(text.as_bytes(), b"PRIVATE KEY-----").is_none() {
        return false;
    }
    let is_digits = |line: &&str| {
        let bare = line.trim_matches(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '\\' | ','));
        bare.len() >= 40 && bare.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '='))
    };
    let lines: Vec<&str> = text.lines().collect();
    let opens = |line: &str| line.contains("-----BEGIN ") && line.contains("PRIVATE KEY-----");
    let is_key = |at: usize| lines[at + 1..].iter().take(4).any(is_digits);
    (0..lines.len()).any(|at| opens(lines[at]) && is_key(at))
}

/// Languages of code beyond those that [`CodeLanguage`] has, with the endings of their files.
const CUT_BY_LINES: [(&str, &[&str]); 12] = [
    ("erlang", &["erl", "hrl"]),
    ("dart", &["dart"]),
    ("julia", &["jl"]),
    ("r", &["r"]),
    ("ocaml", &["ml", "mli"]),
    ("fsharp", &["fs", "fsx"]),
    ("clojure", &["clj", "cljs", "cljc"]),
    ("groovy", &["groovy", "gradle"]),
    ("nim", &["nim"]),
    ("vue", &["vue", "svelte"]),
    ("shell", &["bats", "zsh"]),
    // The grammar of shells cannot read it.
    ("fish", &["fish"]),
];

const DOCS: [&str; 6] = ["md", "mdx", "rst", "txt", "adoc", "org"];
const CONFIG: [&str; 12] =
    ["toml", "yaml", "yml", "json", "ini", "cfg", "conf", "xml", "properties", "proto", "graphql", "tf"];

/// The language without a grammar that files with an ending are in.
fn cut_by_lines(ending: &str) -> Option<&'static str> {
    CUT_BY_LINES.iter().find(|(_, endings)| endings.contains(&ending)).map(|(name, _)| *name)
}

/// The language that is meant by a name, an ending or what people write for it, as files have it: `py` is `python`.
///
/// # Errors
///
/// If it is none that files have.
pub fn language_named(text: &str) -> std::result::Result<String, String> {
    let name = wb_code::canonical_name(text);
    let name = cut_by_lines(&name).map_or(name, str::to_owned);
    let known = || {
        let of_code = CodeLanguage::all().map(|language| language.name);
        of_code.chain(CUT_BY_LINES.iter().map(|(name, _)| *name)).chain(["text"])
    };
    match known().find(|known| *known == name) {
        Some(known) => Ok(known.to_owned()),
        None => {
            let near = suggest::nearest(&name, known());
            let near = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
            Err(format!("expected a language such as rust, python or text{near}"))
        }
    }
}

/// Language and role of a file by its path, and its role by what it begins with; `None` where nothing is known of it.
pub fn language_and_role(path: &str, text: &str) -> Option<(&'static str, FileRole)> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let lower = name.to_ascii_lowercase();
    let Some((stem, ending)) = lower.rsplit_once('.') else {
        return match lower.as_str() {
            "makefile" | "dockerfile" | "rakefile" | "gemfile" | "justfile" => Some(("text", FileRole::Config)),
            _ => None,
        };
    };
    if is_notebook(name) {
        // What shows how a library is used, but for tests and what came from elsewhere.
        let role = match role_of_code(&path.to_ascii_lowercase(), stem, &lower, text) {
            FileRole::Source => FileRole::Example,
            role => role,
        };
        let language = notebook::language_of(text);
        let known = CodeLanguage::all().map(|language| language.name).chain(CUT_BY_LINES.map(|(name, _)| name));
        return Some((known.into_iter().find(|known| *known == language).unwrap_or("text"), role));
    }
    let code = CodeLanguage::with_ending(ending).map(|language| language.name).or_else(|| cut_by_lines(ending));
    let Some(language) = code else {
        let prose = DOCS.contains(&ending).then_some(("text", FileRole::Docs));
        return prose.or_else(|| CONFIG.contains(&ending).then_some(("text", FileRole::Config)));
    };
    Some((language, role_of_code(&path.to_ascii_lowercase(), stem, &lower, text)))
}

fn role_of_code(path: &str, stem: &str, name: &str, text: &str) -> FileRole {
    const TESTS: [&str; 8] = ["test", "tests", "testing", "__tests__", "spec", "specs", "testdata", "fixtures"];
    const EXAMPLES: [&str; 8] =
        ["example", "examples", "bench", "benches", "benchmark", "benchmarks", "demo", "samples"];
    let folders = || path.split('/').rev().skip(1);
    let stands_in = |names: &[&str]| folders().any(|folder| names.contains(&folder));
    let head: String = text.chars().take(400).collect::<String>().to_ascii_lowercase();
    let written = head.contains("@generated") || head.contains("do not edit") || head.contains("autogenerated");
    if stands_in(&VENDORED_FOLDERS) || name.ends_with(".min.js") || written {
        return FileRole::Generated;
    }
    let is_test = ["_test", "_tests", ".test", "_spec", ".spec", "-test"].iter().any(|end| stem.ends_with(end))
        || stem.starts_with("test_")
        || matches!(stem, "test" | "tests" | "conftest");
    if is_test || stands_in(&TESTS) {
        return FileRole::Test;
    }
    if stands_in(&EXAMPLES) {
        return FileRole::Example;
    }
    match name.ends_with(".d.ts") || name.ends_with(".pyi") {
        true => FileRole::Declaration,
        false => FileRole::Source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_private_key_is_known_by_its_digits() {
        let digits = "MIIEpAIBAAKCAQEAx".repeat(4);
        assert!(has_private_key(&format!("a\n-----BEGIN RSA PRIVATE KEY-----\n{digits}\n")));
        assert!(has_private_key(&format!("KEY = \"\"\"-----BEGIN PRIVATE KEY-----\n  {digits}\n")));
        assert!(!has_private_key("if line.startswith('-----BEGIN RSA PRIVATE KEY-----'):\n    return parse(line)\n"));
        assert!(!has_private_key(&format!("-----BEGIN PUBLIC KEY-----\n{digits}\n")));
    }

    #[test]
    fn languages_are_named_as_people_do() {
        for (text, expected) in
            [("py", "python"), ("Rust", "rust"), ("c++", "cpp"), ("kt", "kotlin"), ("jl", "julia"), ("text", "text")]
        {
            assert_eq!(language_named(text).unwrap(), expected);
        }
        assert!(language_named("pyhton").unwrap_err().ends_with("; did you mean `python`?"));
        assert_eq!(language_named("qqqqqqqq").unwrap_err(), "expected a language such as rust, python or text");
    }

    #[test]
    fn roles_follow_from_paths_and_heads() {
        for (path, text, expected) in [
            ("src/lib.rs", "", Some(("rust", FileRole::Source))),
            ("src/Parser.kt", "", Some(("kotlin", FileRole::Source))),
            ("lib/a_test.exs", "", Some(("elixir", FileRole::Test))),
            ("functions/a.fish", "", Some(("fish", FileRole::Source))),
            ("tests/it/a.py", "", Some(("python", FileRole::Test))),
            ("pkg/a_test.go", "", Some(("go", FileRole::Test))),
            ("web/a.spec.ts", "", Some(("typescript", FileRole::Test))),
            ("examples/a.js", "", Some(("javascript", FileRole::Example))),
            ("a.ipynb", "", Some(("python", FileRole::Example))),
            ("tests/a.ipynb", "# language: r\n", Some(("r", FileRole::Test))),
            ("types/a.d.ts", "", Some(("typescript", FileRole::Declaration))),
            ("vendor/x/a.go", "", Some(("go", FileRole::Generated))),
            ("api.go", "// Code generated by x. DO NOT EDIT.\n", Some(("go", FileRole::Generated))),
            ("README.md", "", Some(("text", FileRole::Docs))),
            ("Cargo.toml", "", Some(("text", FileRole::Config))),
            ("Makefile", "", Some(("text", FileRole::Config))),
            ("a.png", "", None),
            ("LICENSE", "", None),
        ] {
            assert_eq!(language_and_role(path, text), expected, "{path}");
        }
    }

    #[test]
    fn every_language_with_a_grammar_is_named_by_its_endings() {
        for language in wb_code::Language::ALL {
            for ending in language.extensions() {
                let named = language_and_role(&format!("a.{ending}"), "").map(|(name, _)| name);
                assert_eq!(named.and_then(wb_code::Language::named), Some(language), "{ending}");
            }
        }
        for (name, endings) in CUT_BY_LINES {
            for ending in endings {
                assert!(CodeLanguage::with_ending(ending).is_none(), "{name}: {ending}");
            }
        }
    }

    #[test]
    fn what_nobody_is_meant_to_read_is_left_aside() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("bundle.js"), "x".repeat(2000) + "\n" + &"y".repeat(2000)).unwrap();
        let found = FolderFiles::of(folder.path()).unwrap();
        assert_eq!(found.read(&found.files[0]), Err("lines too long to read"));
    }

    #[test]
    #[cfg(unix)]
    fn a_hostile_folder_gives_its_own_plain_files_alone() {
        let place = tempfile::tempdir().unwrap();
        let (root, outside) = (place.path().join("project"), place.path().join("outside.py"));
        fs::create_dir(&root).unwrap();
        fs::write(&outside, "secret = 1\n").unwrap();
        std::os::unix::fs::symlink(&outside, root.join("link.py")).unwrap();
        std::os::unix::fs::symlink(place.path(), root.join("up")).unwrap();
        let pipe = std::process::Command::new("mkfifo").arg(root.join("pipe.py")).status().unwrap();
        assert!(pipe.success());
        for (name, text) in [
            ("a.py", "def a(): pass\n"),
            ("ignored.py", "x = 1\n"),
            (".gitignore", "ignored.py\n"),
            ("server.key", "-----BEGIN\n"),
            ("id_rsa.py", "x = 1\n"),
            ("credentials.json", "{}\n"),
        ] {
            fs::write(root.join(name), text).unwrap();
        }
        fs::write(root.join("large.py"), vec![b'#'; MOST_BYTES as usize + 1]).unwrap();
        fs::write(root.join("binary.py"), b"a\0b").unwrap();
        let found = FolderFiles::of(&root).unwrap();
        let names: Vec<&str> = found.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(names, ["a.py", "binary.py", "id_rsa.py", "large.py"]);
        assert_eq!(found.skipped, [("secret by its name", 2)].into());
        assert_eq!(found.read(&found.files[3]), Err("too large"));
        assert_eq!(found.read(&found.files[1]), Err("no text"));
        assert!(FolderFiles::of(&root.join("a.py")).unwrap_err().to_string().contains("not a folder"));
    }
}
