//! Files that anybody may have put into a project, opened only where they are plain ones: a pipe would wait for ever, and a
//! device never end.

use std::{
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
};

/// Bytes of a file that says which others are left aside, or where git keeps what.
pub(crate) const MOST_OF_RULES: u64 = 1 << 20;

/// Opens a file below a folder, where it is a plain one and no link leads to it.
pub(crate) fn open_below(root: &Path, path: &str) -> io::Result<File> {
    let mut at = root.to_owned();
    let mut is_plain = false;
    for name in Path::new(path) {
        at.push(name);
        let kind = fs::symlink_metadata(&at)?.file_type();
        if kind.is_symlink() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a link leads to it"));
        }
        is_plain = kind.is_file();
    }
    match is_plain {
        true => File::open(at),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "is no plain file")),
    }
}

/// Text of a plain file of so many bytes at most, or of the one that a link leads to.
pub(crate) fn plain_text(path: &Path, most: u64) -> Option<String> {
    fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    text_within(File::open(path).ok()?, most)
}

/// Text of an open file of so many bytes at most.
pub(super) fn text_within(file: File, most: u64) -> Option<String> {
    let size = file.metadata().ok().map(|metadata| metadata.len()).filter(|size| *size <= most)?;
    let mut text = String::with_capacity(size as usize);
    file.take(most).read_to_string(&mut text).ok()?;
    Some(text)
}

/// The folder of git's files that a folder has; of a worktree or a submodule the one that its file `.git` leads to.
pub(crate) fn git_folder(folder: &Path) -> Option<PathBuf> {
    let git = folder.join(".git");
    if git.is_dir() {
        return Some(git);
    }
    let text = plain_text(&git, MOST_OF_RULES)?;
    Some(folder.join(text.trim().strip_prefix("gitdir: ")?))
}

/// The folder of what all worktrees share, by a repository's folder of git's files.
pub(crate) fn common_folder(git: &Path) -> PathBuf {
    plain_text(&git.join("commondir"), MOST_OF_RULES).map_or_else(|| git.to_owned(), |path| git.join(path.trim()))
}

/// The first of the files by which a walk leaves others aside in a folder that is no plain file, or a very large one.
pub(crate) fn trap(folder: &Path) -> Option<PathBuf> {
    let mut read = [".ignore", ".gitignore", ".git"].map(|name| folder.join(name)).to_vec();
    if let Some(git) = git_folder(folder) {
        read.extend([git.join("commondir"), common_folder(&git).join("info/exclude")]);
    }
    read.into_iter().find(|path| {
        // A folder is not read, and what is not there neither.
        let is_harmless = |of: fs::Metadata| of.is_dir() || of.is_file() && of.len() <= MOST_OF_RULES;
        fs::metadata(path).is_ok_and(|of| !is_harmless(of))
    })
}

#[cfg(all(test, unix))]
mod tests {
    use std::{os::unix::fs::symlink, process::Command};

    use super::*;

    #[test]
    fn pipes_devices_and_links_are_not_opened() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("project");
        fs::create_dir_all(root.join("src")).unwrap();
        fs::write(root.join("src/a.rs"), "fn a() {}\n").unwrap();
        let mut text = String::new();
        open_below(&root, "src/a.rs").unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "fn a() {}\n");
        assert!(Command::new("mkfifo").arg(root.join("pipe.rs")).status().unwrap().success());
        symlink(root.join("src"), root.join("other")).unwrap();
        symlink("/dev/zero", root.join("zero.rs")).unwrap();
        for path in ["pipe.rs", "other/a.rs", "zero.rs", "src", "gone.rs"] {
            assert!(open_below(&root, path).is_err(), "{path}");
        }
        assert_eq!(plain_text(&root.join("zero.rs"), 10), None);
        assert_eq!(plain_text(&root.join("pipe.rs"), 10), None);
        assert_eq!(plain_text(&root.join("src/a.rs"), 9), None);
        assert_eq!(plain_text(&root.join("other/a.rs"), 10).as_deref(), Some("fn a() {}\n"));
    }

    #[test]
    fn files_of_rules_that_would_not_end_are_found() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path();
        fs::create_dir_all(root.join(".git/info")).unwrap();
        fs::write(root.join(".gitignore"), "a\n").unwrap();
        fs::create_dir(root.join(".ignore")).unwrap();
        assert_eq!(trap(root), None);
        symlink("/dev/zero", root.join(".git/info/exclude")).unwrap();
        assert_eq!(trap(root), Some(root.join(".git/info/exclude")));
        let worktree = root.join("worktree");
        fs::create_dir(&worktree).unwrap();
        fs::write(worktree.join(".git"), format!("gitdir: {}\n", root.join(".git").display())).unwrap();
        assert_eq!(trap(&worktree), Some(root.join(".git/info/exclude")));
        fs::remove_file(root.join(".gitignore")).unwrap();
        assert!(Command::new("mkfifo").arg(root.join(".gitignore")).status().unwrap().success());
        assert_eq!(trap(root), Some(root.join(".gitignore")));
    }
}
