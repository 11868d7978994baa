//! Files of a project that can be searched, with what is left aside and why.
//!
//! Nothing outside of the folder is read: links are not followed, and pipes, devices and sockets are no files. What
//! `.gitignore` names is left aside, as are secrets by their names.

pub(crate) mod plain;
mod roles;
mod secrets;

use std::{
    collections::{BTreeMap, HashSet},
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
    sync::{Arc, mpsc},
    time::UNIX_EPOCH,
};

use ignore::{WalkBuilder, WalkState};
use plain::{MOST_OF_RULES, open_below, text_within, trap};
pub use roles::{FileKind, FileRole, language_and_role, language_named};
pub(crate) use secrets::has_private_key;
use secrets::is_secret_name;
use wb_code::notebook::{self, is_notebook};

use crate::{Error, Result, annotations::ProjectAnnotations, head_commit};

/// Larger files are data, or written by programs.
pub const MOST_BYTES: u64 = 1 << 20;
/// Larger notebooks are not read: most of one are pictures in its outputs.
const MOST_NOTEBOOK_BYTES: u64 = 16 << 20;
/// Bytes at the beginning of a file in which text has no zero.
const HEAD: usize = 8192;
/// Characters of a line, on average, beyond which nobody is meant to read a file.
const MOST_CHARS_A_LINE: usize = 500;

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
            // A dependency that was removed, as by `rm -r node_modules`: the project itself can be searched still.
            match folder.try_exists() {
                Ok(false) => found.skip("further folder that is gone"),
                _ => found.walk(folder, Path::new(""))?,
            }
        }
        found.files.sort_by(|one, other| one.path.cmp(&other.path));
        found.files.dedup_by(|later, first| later.path == first.path);
        if further.iter().any(|folder| folder.starts_with(root) || root.starts_with(folder)) {
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
        let full = folder.canonicalize().map_err(Error::io("read", folder))?;
        if let Some(trap) = full.ancestors().find_map(trap) {
            let what = format!("{} is no plain file of at most {MOST_OF_RULES} bytes", trap.display());
            return Err(
                Error::failed(what).with_hint("it says which files are left aside: without it, all are searched")
            );
        }
        // What a project ignores may be wanted by its name, as a package is.
        let is_project = folder == below;
        let mut walk = WalkBuilder::new(folder);
        walk.require_git(false).follow_links(false).git_global(false).parents(is_project);
        let (send, found) = mpsc::channel();
        let told = send.clone();
        walk.filter_entry(move |entry| {
            let is_trap = entry.file_type().is_some_and(|kind| kind.is_dir()) && trap(entry.path()).is_some();
            if is_trap {
                // The walk is over where nobody listens any more.
                told.send(Err("folder whose .gitignore, .ignore or .git is no plain file")).ok();
            }
            !is_trap
        });
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
        drop((send, walk));
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

    /// Language and role of a file that was not read yet: by its path, and where that has no ending, by its first line.
    pub(crate) fn kind_of(&self, path: &str) -> Option<(&'static str, FileRole)> {
        let named = self.named(path);
        language_and_role(named, "").or_else(|| {
            let has_ending = named.rsplit('/').next().unwrap_or(named).contains('.');
            let text = if has_ending { None } else { text_below(&self.root, path) };
            language_and_role(named, &text?)
        })
    }

    pub(crate) fn skip(&mut self, reason: &'static str) {
        *self.skipped.entry(reason).or_default() += 1;
    }

    /// Text of one of the files, or why it has none; of a notebook its code and its prose, on the lines where they stand.
    pub fn read(&self, file: &ProjectFile) -> std::result::Result<String, &'static str> {
        let most = most_bytes(&file.path);
        if file.size > most {
            return Err("too large");
        }
        let mut open = open_below(&self.root, &file.path).map_err(|_| "cannot be read")?;
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

fn most_bytes(path: &str) -> u64 {
    if is_notebook(path) { MOST_NOTEBOOK_BYTES } else { MOST_BYTES }
}

/// Text of a file below a folder that [`FolderFiles::read`] would read by its size, all of it.
pub(crate) fn text_below(root: &Path, path: &str) -> Option<String> {
    text_within(open_below(root, path).ok()?, most_bytes(path))
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

/// A path as an index has it, with `/`; none where it is not UTF-8.
pub(crate) fn slashed(path: &Path) -> Option<String> {
    let parts: Option<Vec<&str>> = path.iter().map(|part| part.to_str()).collect();
    // The first part of a full path is its root.
    parts.map(|parts| parts.join("/").replacen("//", "/", 1))
}

fn classify(path: &Path, root: &Path) -> std::result::Result<ProjectFile, &'static str> {
    let path_below = path.strip_prefix(root).ok().and_then(slashed).ok_or("path that is not UTF-8")?;
    if is_secret_name(path_below.rsplit('/').next().unwrap_or_default()) {
        return Err("secret by its name");
    }
    let metadata = fs::symlink_metadata(path).map_err(|_| "cannot be read")?;
    let modified = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let modified = modified.and_then(|time| u64::try_from(time.as_nanos()).ok()).unwrap_or(0);
    Ok(ProjectFile { path: path_below, size: metadata.len(), modified })
}

#[cfg(test)]
mod tests {
    use super::*;

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
        // A folder whose rules would not end is left aside, and the project is refused.
        fs::create_dir(root.join("sub")).unwrap();
        fs::write(root.join("sub/b.py"), "b = 1\n").unwrap();
        std::os::unix::fs::symlink("/dev/zero", root.join("sub/.gitignore")).unwrap();
        let found = FolderFiles::of(&root).unwrap();
        assert!(found.files.iter().all(|file| !file.path.starts_with("sub/")));
        assert_eq!(found.skipped["folder whose .gitignore, .ignore or .git is no plain file"], 1);
        let error = FolderFiles::of(&root.join("sub")).unwrap_err().to_string();
        assert!(error.contains("sub/.gitignore is no plain file"), "{error}");
        assert!(FolderFiles::of(&root.join("a.py")).unwrap_err().to_string().contains("not a folder"));
    }
}
