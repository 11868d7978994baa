//! The commit that a folder is at, read from git's own files: no git has to be there.

use std::path::{Path, PathBuf};

use crate::files::plain::{MOST_OF_RULES, common_folder, git_folder, plain_text};

/// Bytes of a file of branches: some hundred thousand.
const MOST_OF_REFS: u64 = 64 << 20;

/// The folders of a repository.
pub(crate) struct GitFolders {
    /// The folder whose files it has.
    pub root: PathBuf,
    /// The folder of git's files: those of a second worktree are its own.
    pub own: PathBuf,
    /// The folder of what all worktrees share.
    pub common: PathBuf,
}

impl GitFolders {
    /// Folders of the repository that a folder is in.
    pub fn around(folder: &Path) -> Option<Self> {
        let root = folder.ancestors().find(|above| above.join(".git").exists())?.to_owned();
        let own = git_folder(&root)?;
        Some(Self { root, common: common_folder(&own), own })
    }
}

/// The commit of the repository that a folder is in; `None` where it is in none, or has no commit yet.
pub fn head_commit(folder: &Path) -> Option<String> {
    let GitFolders { own: git, common, .. } = GitFolders::around(folder)?;
    let head = read(&git.join("HEAD"))?;
    let Some(name) = head.strip_prefix("ref: ") else { return is_commit(&head).then_some(head) };
    // Branches of a second worktree lie with those of the first.
    let found = [&git, &common].into_iter().find_map(|folder| read(&folder.join(name)));
    found.or_else(|| packed(&common, name)).filter(|commit| is_commit(commit))
}

/// A branch among those that are kept in one file.
fn packed(git: &Path, name: &str) -> Option<String> {
    let text = plain_text(&git.join("packed-refs"), MOST_OF_REFS)?;
    let line = text.lines().find_map(|line| line.split_once(' ').filter(|(_, known)| *known == name));
    line.map(|(commit, _)| commit.to_owned())
}

fn read(file: &Path) -> Option<String> {
    plain_text(file, MOST_OF_RULES).map(|text| text.trim().to_owned())
}

/// True for the name of a commit in full.
pub(crate) fn is_commit(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use std::{fs, process::Command};

    use super::*;

    fn git(folder: &Path, arguments: &[&str]) -> String {
        let who = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "init.defaultBranch=main"];
        let out = Command::new("git").args(who).args(arguments).current_dir(folder).output().unwrap();
        assert!(out.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8(out.stdout).unwrap().trim().to_owned()
    }

    #[test]
    fn commits_are_those_that_git_says() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("main");
        fs::create_dir_all(root.join("src")).unwrap();
        git(&root, &["init", "-q"]);
        assert_eq!(head_commit(&root), None);
        git(&root, &["commit", "-q", "--allow-empty", "-m", "one"]);
        let one = git(&root, &["rev-parse", "HEAD"]);
        assert_eq!(head_commit(&root.join("src")), Some(one.clone()));
        git(&root, &["pack-refs", "--all"]);
        assert_eq!(head_commit(&root), Some(one.clone()));
        git(&root, &["worktree", "add", "-q", "-b", "other", "../second"]);
        let second = folder.path().join("second");
        assert_eq!(head_commit(&second), Some(one.clone()));
        git(&second, &["commit", "-q", "--allow-empty", "-m", "two"]);
        assert_eq!(head_commit(&second), Some(git(&second, &["rev-parse", "HEAD"])));
        assert_eq!(head_commit(&root), Some(one.clone()));
        git(&root, &["checkout", "-q", "--detach"]);
        assert_eq!(head_commit(&root), Some(one));
        // A branch's name leads out of the folder of git.
        fs::write(root.join(".git/HEAD"), "ref: ../secret").unwrap();
        fs::write(root.join("secret"), "password").unwrap();
        assert_eq!(head_commit(&root), None);
    }
}
