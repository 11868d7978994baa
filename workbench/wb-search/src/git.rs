//! Commands of git, for what its own files do not say.
//!
//! A repository may be anybody's, and git does what a repository's settings say, which can name programs. Commits are
//! therefore asked for with nothing of it but its objects; and no answer may take for ever or fill the memory.

use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use tempfile::TempDir;
use wb_core::untrusted::clean;

use crate::commit::{GitFolders, head_commit};

/// Time that an answer may take.
const LONGEST: Duration = Duration::from_secs(20);
/// Time that all that is asked of one history may take.
const LONGEST_OF_HISTORY: Duration = Duration::from_secs(120);
/// Bytes that an answer may have.
const MOST: u64 = 64 << 20;
/// Bytes that an answer about commits may have.
const MOST_OF_HISTORY: u64 = 16 << 20;
/// The first git that takes settings as variables, by which filters are switched off.
const OLDEST: [u32; 2] = [2, 31];

/// The output of a command of git on a folder's files; else git's own words, in one line. Hooks, monitors and filters that
/// the repository's settings name are not started.
pub(crate) fn git(folder: &Path, arguments: &[&str]) -> Result<String, String> {
    const OFF: [[&str; 2]; 4] = [
        ["core.fsmonitor", "false"],
        ["core.hooksPath", "/dev/null"],
        ["log.showSignature", "false"],
        ["safe.bareRepository", "explicit"],
    ];
    let asked = |arguments: &[&str], off: &[(String, &str)]| {
        let mut command = quiet(Command::new("git"));
        // As variables, since a name may have any character.
        command.env("GIT_CONFIG_COUNT", (OFF.len() + off.len()).to_string());
        let all = OFF.iter().map(|[name, value]| (*name, *value));
        for (at, (name, value)) in all.chain(off.iter().map(|(name, value)| (name.as_str(), *value))).enumerate() {
            command.env(format!("GIT_CONFIG_KEY_{at}"), name).env(format!("GIT_CONFIG_VALUE_{at}"), value);
        }
        command.arg("--no-optional-locks").args(arguments).current_dir(folder);
        command
    };
    let version = bounded(asked(&["--version"], &[]), MOST)?.text;
    if version_of(&version).is_none_or(|version| version < OLDEST) {
        let [major, minor] = OLDEST;
        return Err(format!("it needs git {major}.{minor} or later, this is {}", clean(version.trim())));
    }
    let named = bounded(asked(&["config", "--null", "--name-only", "--get-regexp", r"^filter\."], &[]), MOST)?;
    if named.text.contains('\u{fffd}') {
        return Err("the settings name a filter that is not UTF-8, which cannot be switched off".to_owned());
    }
    let filters = named.text.split('\0').filter_map(|name| name.rsplit_once('.')).map(|(filter, _)| filter);
    let off = |filter: &str| {
        [("clean", ""), ("smudge", ""), ("process", ""), ("required", "false")]
            .map(|(key, value)| (format!("{filter}.{key}"), value))
    };
    let off: Vec<(String, &str)> = filters.flat_map(off).collect();
    let Output { text, status, error } = bounded(asked(arguments, &off), MOST)?;
    if status.success() { Ok(text) } else { Err(error) }
}

/// The commits of a repository, read from its objects alone: its settings, attributes and mail map do not count.
pub(crate) struct GitHistory {
    /// A repository without anything.
    own: TempDir,
    objects: PathBuf,
    begun: Instant,
    /// The commit that the repository is at.
    pub commit: String,
    /// The path of the folder in its repository: empty, or ending in `/`.
    pub prefix: String,
}

impl GitHistory {
    /// Commits of the repository that a folder is in; `None` where it is in none, or at no commit.
    pub fn of(folder: &Path) -> Option<Self> {
        let folder = folder.canonicalize().ok()?;
        let GitFolders { root, common, .. } = GitFolders::around(&folder)?;
        let (objects, commit) = (common.join("objects").canonicalize().ok()?, head_commit(&folder)?);
        let below = folder.strip_prefix(&root).ok()?.to_str()?.replace('\\', "/");
        let prefix = if below.is_empty() { below } else { below + "/" };
        let own = TempDir::new().ok()?;
        fs::create_dir(own.path().join("refs")).ok()?;
        fs::write(own.path().join("HEAD"), "ref: refs/heads/none\n").ok()?;
        let format = if commit.len() == 64 { "1\n[extensions]\n\tobjectformat = sha256" } else { "0" };
        // Packs are looked at through windows, since what is mapped counts for the memory that it may take.
        let windows = "\tpackedGitWindowSize = 64m\n\tpackedGitLimit = 512m\n";
        let config = format!("[core]\n\tbare = true\n{windows}\trepositoryformatversion = {format}\n");
        fs::write(own.path().join("config"), config).ok()?;
        Some(Self { own, objects, begun: Instant::now(), commit, prefix })
    }

    /// The log from the commit on, with paths from the folder; as far as it comes: commits that a clone does not have end it.
    pub fn log(&self, arguments: &[&str]) -> Option<String> {
        // From the repository's root, where nothing is said.
        let relative = format!("--relative={}", self.prefix);
        let relative = Some(relative.as_str()).filter(|_| !self.prefix.is_empty());
        let all = ["log"].into_iter().chain(arguments.iter().copied()).chain(relative);
        self.git(&all.chain([self.commit.as_str(), "--"]).collect::<Vec<_>>())
    }

    /// The output of a command; nothing, where the time for all of them is over. Paths are taken literally, and from the
    /// repository's root.
    pub fn git(&self, arguments: &[&str]) -> Option<String> {
        if self.begun.elapsed() > LONGEST_OF_HISTORY {
            return None;
        }
        let mut command = quiet(within_memory());
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        command.env("GIT_OBJECT_DIRECTORY", &self.objects).env("GIT_LITERAL_PATHSPECS", "1");
        command.arg("--git-dir").arg(self.own.path()).args(arguments);
        bounded(command, MOST_OF_HISTORY).ok().map(|done| done.text)
    }
}

/// Git with 2 GiB of memory at most, where a shell can say so: a few kilobytes of folders within folders may hold millions of
/// paths.
fn within_memory() -> Command {
    if cfg!(unix) {
        let mut command = Command::new("sh");
        command.args(["-c", "ulimit -v 2097152 2>/dev/null; exec git \"$@\"", "git"]);
        command
    } else {
        Command::new("git")
    }
}

/// A command of git that asks nobody, fetches nothing, and is not led elsewhere by variables of a hook that started us.
fn quiet(mut command: Command) -> Command {
    std::env::vars_os()
        .filter(|(name, _)| name.to_string_lossy().starts_with("GIT_"))
        .for_each(|(name, _)| _ = command.env_remove(name));
    command.env("GIT_NO_LAZY_FETCH", "1").env("GIT_ALLOW_PROTOCOL", "none").env("GIT_TERMINAL_PROMPT", "0");
    // A small pack may hold a file of any size.
    command.env("GIT_ALLOC_LIMIT", "256m");
    command
}

struct Output {
    text: String,
    status: ExitStatus,
    /// The first line of what it complains of.
    error: String,
}

/// Numbers of a version: `git version 2.47.3`.
fn version_of(text: &str) -> Option<[u32; 2]> {
    let mut numbers = text.strip_prefix("git version ")?.split('.').map(|number| number.trim().parse().ok());
    Some([numbers.next()??, numbers.next()??])
}

/// Runs a command within [`LONGEST`] and so many bytes.
fn bounded(mut command: Command, most: u64) -> Result<Output, String> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| format!("git cannot be started: {error}"))?;
    let begun = Instant::now();
    let left = || LONGEST.saturating_sub(begun.elapsed());
    let pipes = (child.stdout.take(), child.stderr.take());
    let (out, err) = (pipes.0.map(|pipe| told(pipe, most)), pipes.1.map(|pipe| told(pipe, most)));
    let found = out.and_then(|out| out.recv_timeout(left()).ok());
    let is_too_much = found.as_ref().is_some_and(|bytes| bytes.len() as u64 > most);
    let mut status = None;
    while status.is_none() && found.is_some() && !is_too_much && !left().is_zero() {
        status = child.try_wait().map_err(|error| format!("git cannot be waited for: {error}"))?;
        if status.is_none() {
            thread::sleep(Duration::from_millis(1));
        }
    }
    let (Some(bytes), Some(status)) = (found, status) else {
        // It may have ended by now.
        let _ = child.kill();
        let _ = child.wait();
        return Err(match is_too_much {
            true => format!("git told more than {} MiB", most >> 20),
            false => format!("git took longer than {} s", LONGEST.as_secs()),
        });
    };
    let error = err.and_then(|err| err.recv_timeout(left()).ok()).unwrap_or_default();
    let error = clean(String::from_utf8_lossy(&error).lines().next().unwrap_or_default().trim());
    Ok(Output { text: String::from_utf8_lossy(&bytes).into_owned(), status, error })
}

/// Bytes of a pipe once it ends, or one more than may be.
fn told(pipe: impl Read + Send + 'static, most: u64) -> mpsc::Receiver<Vec<u8>> {
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // What came before an error is told.
        let _ = pipe.take(most + 1).read_to_end(&mut bytes);
        let _ = tell.send(bytes);
    });
    told
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::{history::days_since_change, structure::diff_since};

    /// A repository with a file of one commit, and a program that leaves a file behind where it is started.
    fn hostile() -> (TempDir, PathBuf) {
        let folder = TempDir::new().unwrap();
        let root = folder.path();
        fs::write(root.join("a.py"), "x = 1\n").unwrap();
        run(root, &["init", "-q"]);
        run(root, &["add", "."]);
        run(root, &["commit", "-q", "-m", "one"]);
        let (evil, was_here) = (root.join("evil.sh"), root.join("was-here"));
        fs::write(&evil, format!("#!/bin/sh\ntouch {}\ncat\n", was_here.display())).unwrap();
        fs::set_permissions(&evil, PermissionsExt::from_mode(0o755)).unwrap();
        (folder, was_here)
    }

    fn ages(folder: &Path) -> Vec<(String, u32)> {
        let mut ages: Vec<(String, u32)> = days_since_change(folder, &|_| true).into_iter().collect();
        ages.sort();
        ages
    }

    #[test]
    fn versions_are_read() {
        assert_eq!(version_of("git version 2.47.3\n"), Some([2, 47]));
        assert_eq!(version_of("git version 2.39.5 (Apple Git-154)\n"), Some([2, 39]));
        assert_eq!(version_of("git version 2.9\n"), Some([2, 9]));
        assert_eq!(version_of("hub"), None);
    }

    #[test]
    fn a_file_that_grows_out_of_a_small_pack_fills_no_memory() {
        let (folder, _) = hostile();
        fs::write(folder.path().join("big.py"), vec![b'x'; 300 << 20]).unwrap();
        run(folder.path(), &["add", "big.py"]);
        run(folder.path(), &["commit", "-q", "-m", "big"]);
        let history = GitHistory::of(folder.path()).unwrap();
        assert!(history.git(&["show", &format!("{}:big.py", history.commit)]).is_none_or(|text| text.is_empty()));
        assert_eq!(ages(folder.path()).len(), 2);
    }

    #[test]
    fn folders_of_folders_of_folders_fill_no_memory() {
        let folder = TempDir::new().unwrap();
        let root = folder.path();
        run(root, &["init", "-q"]);
        let given = |arguments: &[&str], text: &str| {
            let file = root.join("given");
            fs::write(&file, text).unwrap();
            let mut command = Command::new("git");
            command.args(["-c", "user.name=a", "-c", "user.email=a@b.c"]).args(arguments).current_dir(root);
            let done = command.stdin(fs::File::open(file).unwrap()).output().unwrap();
            assert!(done.status.success(), "{done:?}");
            String::from_utf8(done.stdout).unwrap().trim().to_owned()
        };
        let mut of = format!("100644 blob {}\t", given(&["hash-object", "-w", "--stdin"], "x = 1\n"));
        let mut tree = String::new();
        // 100 to the power of five paths.
        for _ in 0..5 {
            let names: String = (0..100).map(|n| format!("{of}a{n:03}\n")).collect();
            tree = given(&["mktree"], &names);
            of = format!("040000 tree {tree}\t");
        }
        let commit = given(&["commit-tree", &tree, "-m", "one"], "");
        run(root, &["update-ref", "HEAD", &commit]);
        let started = Instant::now();
        assert_eq!(ages(root), []);
        assert!(started.elapsed() < LONGEST, "{:?}", started.elapsed());
    }

    fn run(root: &Path, arguments: &[&str]) {
        let who = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "init.defaultBranch=main"];
        assert!(Command::new("git").args(who).args(arguments).current_dir(root).status().unwrap().success());
    }

    #[test]
    fn no_program_that_a_repository_names_is_started() {
        let (folder, was_here) = hostile();
        let (root, evil) = (folder.path(), folder.path().join("evil.sh").display().to_string());
        fs::write(root.join("a.py"), "x = 2\n").unwrap();
        fs::write(root.join(".gitattributes"), "*.py filter=x=y diff=x\n").unwrap();
        let filters = ["filter.x=y.clean", "filter.x=y.process", "diff.x.textconv", "diff.x.command"];
        for name in filters.into_iter().chain(["core.fsmonitor", "core.pager", "diff.external", "gpg.program"]) {
            run(root, &["config", name, &evil]);
        }
        run(root, &["config", "filter.x=y.required", "true"]);
        run(root, &["config", "log.showSignature", "true"]);
        let diff = diff_since(root, "HEAD").unwrap();
        assert!(diff.contains("-x = 1\n+x = 2\n"), "{diff}");
        assert_eq!(ages(root), [("a.py".to_owned(), 0)]);
        assert!(!was_here.exists());
        // They would have been.
        let _ = Command::new("git").args(["diff", "HEAD"]).current_dir(root).output().unwrap();
        assert!(was_here.exists());
        let mut settings = fs::read(root.join(".git/config")).unwrap();
        settings.extend(b"[filter \"x\xff\"]\n\tclean = /bin/true\n");
        fs::write(root.join(".git/config"), settings).unwrap();
        assert!(diff_since(root, "HEAD").unwrap_err().to_string().contains("a filter that is not UTF-8"));
    }

    #[test]
    fn no_program_that_a_submodule_names_is_started() {
        let (folder, was_here) = hostile();
        let (root, evil) = (folder.path(), folder.path().join("evil.sh").display().to_string());
        // A submodule at another commit than the one that is recorded, whose settings are its own.
        let sub = root.join("sub");
        fs::create_dir(&sub).unwrap();
        fs::write(sub.join("b.py"), "y = 1\n").unwrap();
        run(&sub, &["init", "-q"]);
        run(&sub, &["add", "."]);
        run(&sub, &["commit", "-q", "-m", "one"]);
        run(root, &["-c", "advice.addEmbeddedRepo=false", "add", "sub"]);
        run(root, &["commit", "-q", "-m", "two"]);
        fs::write(sub.join("b.py"), "y = 2\n").unwrap();
        run(&sub, &["commit", "-q", "-a", "-m", "two"]);
        run(&sub, &["config", "diff.external", &evil]);
        run(root, &["config", "diff.submodule", "diff"]);
        let _ = diff_since(root, "HEAD").unwrap();
        assert!(!was_here.exists());
        let _ = Command::new("git").args(["diff", "HEAD"]).current_dir(root).output().unwrap();
        assert!(was_here.exists());
    }

    #[test]
    fn settings_that_would_hold_git_up_do_not_count_for_commits() {
        let (folder, _) = hostile();
        let pipe = |name: &str| {
            let place = folder.path().join(name);
            let _ = fs::remove_file(&place);
            assert!(Command::new("mkfifo").arg(&place).status().unwrap().success());
        };
        [".mailmap", ".git/config", ".git/info/grafts"].into_iter().for_each(pipe);
        let started = Instant::now();
        assert_eq!(ages(folder.path()), [("a.py".to_owned(), 0)]);
        assert!(started.elapsed() < LONGEST / 2);
    }

    #[test]
    fn a_clone_that_lacks_commits_or_files_has_the_ages_that_it_can() {
        let (folder, _) = hostile();
        let root = folder.path();
        fs::create_dir(root.join("sub")).unwrap();
        fs::write(root.join("sub/b.py"), "y = 1\n".repeat(20)).unwrap();
        run(root, &["add", "sub"]);
        run(root, &["commit", "-q", "-m", "two"]);
        fs::write(root.join("sub/b.py"), "y = 1\n".repeat(21)).unwrap();
        run(root, &["mv", "sub/b.py", "sub/c.py"]);
        run(root, &["add", "sub"]);
        run(root, &["commit", "-q", "-m", "three"]);
        run(root, &["config", "uploadpack.allowFilter", "true"]);
        let url = format!("file://{}", root.display());
        let cloned = |options: &[&str], below: &str| {
            let place = TempDir::new().unwrap();
            run(place.path(), &[&["clone", "-q"], options, &[&url, "copy"]].concat());
            ages(&place.path().join("copy").join(below)).into_iter().map(|(path, _)| path).collect::<Vec<_>>()
        };
        let all = ["a.py", "sub/b.py", "sub/c.py"];
        assert_eq!(cloned(&[], ""), all);
        assert_eq!(cloned(&["--filter=blob:none"], ""), all);
        assert_eq!(cloned(&[], "sub"), ["b.py", "c.py"]);
        // The oldest commit that is there may have changed all of its files, or none.
        assert_eq!(cloned(&["--depth", "2"], ""), ["sub/b.py", "sub/c.py"]);
    }
}
