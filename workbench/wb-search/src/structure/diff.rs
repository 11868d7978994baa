//! A unified diff, as git writes it, and the lines of a file that it changes.

use std::{ops::Range, path::Path};

use crate::{Error, Result, git::git};

/// Changes of one file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DiffedFile {
    /// Path before; none where the file is new.
    pub old: Option<String>,
    /// Path after; none where the file is gone.
    pub new: Option<String>,
    hunks: Vec<DiffHunk>,
}

/// Lines that are changed together, with those around them.
#[derive(Debug, Clone, PartialEq, Eq)]
struct DiffHunk {
    /// First line before and after, from 1; the line in front where there is none.
    starts: [u32; 2],
    /// Lines with ` `, `-` or `+`.
    lines: Vec<(Side, String)>,
}

/// The side of a change that a line stands on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Both,
    Old,
    New,
}

/// The changes from a commit to the files of a folder as they are.
///
/// # Errors
///
/// If git is not there, or does not know the commit.
pub fn diff_since(root: &Path, revision: &str) -> Result<String> {
    let failed = |why: String| {
        let what = format!("the changes since `{revision}` are not known: {why}");
        Error::failed(what).with_hint("git diff REV | wb impact --diff -")
    };
    if revision.starts_with('-') {
        return Err(failed("a commit's name does not begin with `-`".to_owned()));
    }
    // Paths from the folder, as text that no program has changed.
    let as_text = ["diff", "--relative", "--no-ext-diff", "--no-textconv", "--no-color", "--submodule=short"];
    git(root, &[&as_text[..], &["--ignore-submodules=all", "--find-renames", revision, "--"]].concat()).map_err(failed)
}

/// The files of a diff, in its order.
///
/// # Errors
///
/// If the text is no unified diff, at the line where that is seen.
pub fn diffed_files(text: &str) -> Result<Vec<DiffedFile>> {
    let failed = |line: usize, what: &str| {
        let place = format!("line {} of the diff", line + 1);
        Err(Error::data(place, what)
            .with_hint("expected what `git diff` writes: --- a/FILE, +++ b/FILE, @@ -1,2 +1,3 @@"))
    };
    let mut files: Vec<DiffedFile> = Vec::new();
    let mut lines = text.lines().enumerate().peekable();
    let mut has_head = false;
    while let Some((at, line)) = lines.next() {
        if line.starts_with("diff --git ") {
            files.push(DiffedFile::default());
            has_head = true;
        } else if let Some(path) = line.strip_prefix("rename from ").filter(|_| has_head) {
            files.last_mut().into_iter().for_each(|file| file.old = Some(unquoted(path)));
        } else if let Some(path) = line.strip_prefix("rename to ").filter(|_| has_head) {
            files.last_mut().into_iter().for_each(|file| file.new = Some(unquoted(path)));
        } else if let Some(old) = line.strip_prefix("--- ") {
            let Some((_, new)) = lines.next_if(|(_, next)| next.starts_with("+++ ")) else {
                return failed(at, "`--- FILE` without `+++ FILE` below it");
            };
            if !std::mem::take(&mut has_head) {
                files.push(DiffedFile::default());
            }
            let (old, new) = (path(old, "a/"), path(&new[4..], "b/"));
            files.last_mut().into_iter().for_each(|file| (file.old, file.new) = (old.clone(), new.clone()));
        } else if line.starts_with("@@") {
            let Some([old, new]) = ranges(line) else { return failed(at, "`@@` without the lines that it is about") };
            let Some(file) = files.last_mut() else { return failed(at, "`@@` before any file") };
            let mut hunk = DiffHunk { starts: [old.start, new.start], lines: Vec::new() };
            let mut left = [old.len(), new.len()];
            while left != [0, 0] {
                let Some((at, line)) = lines.next() else { return failed(at, "fewer lines than `@@` says") };
                let (side, text) = match line.as_bytes().first() {
                    Some(b'+') => (Side::New, &line[1..]),
                    Some(b'-') => (Side::Old, &line[1..]),
                    Some(b' ') => (Side::Both, &line[1..]),
                    // Empty lines lose their margin on the way.
                    None => (Side::Both, ""),
                    Some(b'\\') => continue,
                    Some(_) => return failed(at, "a line that begins with none of ` `, `+` and `-`"),
                };
                for (place, other) in [Side::New, Side::Old].into_iter().enumerate() {
                    if side != other {
                        let Some(fewer) = left[place].checked_sub(1) else {
                            return failed(at, "more lines than `@@` says");
                        };
                        left[place] = fewer;
                    }
                }
                hunk.lines.push((side, text.to_owned()));
            }
            file.hunks.push(hunk);
        }
    }
    let is_empty = files.is_empty() && !text.trim().is_empty();
    if is_empty { failed(0, "there is no file in it") } else { Ok(files) }
}

/// Lines of both sides: `@@ -1,2 +3,4 @@`.
fn ranges(line: &str) -> Option<[Range<u32>; 2]> {
    let mut parts = line.strip_prefix("@@ ")?.split(' ');
    let mut range = |sign| {
        let part = parts.next()?.strip_prefix(sign)?;
        let (start, length) = part.split_once(',').unwrap_or((part, "1"));
        let (start, length): (u32, u32) = (start.parse().ok()?, length.parse().ok()?);
        Some(start..start.checked_add(length)?)
    };
    Some([range('-')?, range('+')?])
}

/// The path of a `---` or `+++` line; none for a file that is not there.
fn path(text: &str, prefix: &str) -> Option<String> {
    let text = unquoted(text.split('\t').next().unwrap_or_default());
    (text != "/dev/null").then(|| text.strip_prefix(prefix).unwrap_or(&text).to_owned())
}

/// A path without the quotes and escapes that git writes around some.
fn unquoted(text: &str) -> String {
    let Some(inner) = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) else { return text.to_owned() };
    let mut bytes = Vec::new();
    let mut rest = inner.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        match rest.next() {
            Some(b'n') => bytes.push(b'\n'),
            Some(b't') => bytes.push(b'\t'),
            Some(digit @ b'0'..=b'3') => {
                let digits = [digit, rest.next().unwrap_or(b'0'), rest.next().unwrap_or(b'0')];
                bytes.push(digits.iter().fold(0, |all: u8, digit| all.wrapping_mul(8).wrapping_add(digit & 7)));
            }
            other => bytes.extend(other),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Lines of a text that a diff changes, and the text without its changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChangedLines {
    /// Lines that are added, or are to be changed, from 1.
    pub lines: Vec<u32>,
    /// Lines in front of which others are taken away, or are to be put, from 1.
    pub gaps: Vec<u32>,
    /// The text on the other side of the change.
    pub other: String,
    /// True where the text has the changes; false where they are to come.
    pub is_applied: bool,
}

impl DiffedFile {
    /// The lines of a text that are changed, by the side of the diff that the text is; `None` where it is neither.
    pub(crate) fn changed_lines(&self, text: &str) -> Option<ChangedLines> {
        let lines: Vec<&str> = text.lines().collect();
        [Side::New, Side::Old].into_iter().find_map(|side| self.changed_on(side, &lines))
    }

    fn changed_on(&self, side: Side, text: &[&str]) -> Option<ChangedLines> {
        let place = usize::from(side == Side::New);
        let mut changed =
            ChangedLines { lines: Vec::new(), gaps: Vec::new(), other: String::new(), is_applied: side == Side::New };
        let mut done = 0;
        let keep = |other: &mut String, lines: &[&str]| lines.iter().for_each(|line| *other += &format!("{line}\n"));
        for hunk in &self.hunks {
            let has_lines = hunk.lines.iter().any(|(its, _)| *its == side || *its == Side::Both);
            // Without lines of its own, a hunk names the line in front.
            let start = (hunk.starts[place] as usize).checked_sub(usize::from(has_lines))?;
            keep(&mut changed.other, text.get(done..start)?);
            let mut at = start;
            for (its, line) in &hunk.lines {
                if *its == side || *its == Side::Both {
                    (text.get(at) == Some(&line.trim_end_matches('\r'))).then_some(())?;
                    at += 1;
                }
                if *its == side {
                    changed.lines.push(at as u32);
                } else {
                    keep(&mut changed.other, &[line]);
                }
                if *its != side && *its != Side::Both && changed.gaps.last() != Some(&(at as u32 + 1)) {
                    changed.gaps.push(at as u32 + 1);
                }
            }
            done = at;
        }
        keep(&mut changed.other, text.get(done..)?);
        Some(changed)
    }

    /// Lines of the text before that are taken away or changed, from 1.
    pub(crate) fn removed_lines(&self) -> Vec<u32> {
        let of_hunk = |hunk: &DiffHunk| {
            let old = hunk.lines.iter().filter(|(side, _)| *side != Side::New);
            let numbered = (hunk.starts[0]..).zip(old).filter(|(_, (side, _))| *side == Side::Old);
            numbered.map(|(line, _)| line).collect::<Vec<u32>>()
        };
        self.hunks.iter().flat_map(of_hunk).collect()
    }

    /// Text of a file that is gone, or is to come.
    pub(super) fn whole(&self) -> String {
        self.hunks.iter().flat_map(|hunk| &hunk.lines).map(|(_, line)| format!("{line}\n")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "\
diff --git a/a.py b/a.py
index 1..2 100644
--- a/a.py
+++ b/a.py
@@ -1,3 +1,3 @@
 def f():
-    return 1
+    return 2
 
@@ -10,2 +10,1 @@ def g():
 x = 1
-y = 2
diff --git \"a/\\303\\244.py\" \"b/\\303\\244.py\"
--- \"a/\\303\\244.py\"
+++ /dev/null
@@ -1 +0,0 @@
-z = 1
\\ No newline at end of file
diff --git a/old.py b/new.py
rename from old.py
rename to new.py
";

    #[test]
    fn files_and_lines_of_a_diff_are_read() {
        let files = diffed_files(DIFF).unwrap();
        let paths: Vec<(Option<&str>, Option<&str>)> =
            files.iter().map(|file| (file.old.as_deref(), file.new.as_deref())).collect();
        assert_eq!(paths, [(Some("a.py"), Some("a.py")), (Some("ä.py"), None), (Some("old.py"), Some("new.py"))],);
        assert_eq!(files[1].whole(), "z = 1\n");
        let between = "\nb\nc\nd\ne\nf\ng\n";
        let new = format!("def f():\n    return 2\n{between}x = 1\n");
        let old = format!("def f():\n    return 1\n{between}x = 1\ny = 2\n");
        let changed = files[0].changed_lines(&new).unwrap();
        assert_eq!((&changed.lines, &changed.gaps), (&vec![2], &vec![2, 11]));
        assert_eq!((changed.other, changed.is_applied), (old.clone(), true));
        let to_come = files[0].changed_lines(&old).unwrap();
        assert_eq!((&to_come.lines, &to_come.gaps), (&vec![2, 11], &vec![3]));
        assert_eq!((to_come.other, to_come.is_applied), (new, false));
        assert_eq!(files[0].changed_lines("def f():\n    return 3\n"), None);
    }

    #[test]
    fn a_text_that_is_no_diff_is_refused_by_its_line() {
        for (text, expected) in [
            ("hello", "line 1 of the diff: there is no file in it"),
            ("--- a/a.py\nx", "line 1 of the diff: `--- FILE` without `+++ FILE` below it"),
            ("@@ -1 +1 @@\n", "line 1 of the diff: `@@` before any file"),
            ("--- a\n+++ a\n@@ -1,2 +1,2 @@\n x\n", "line 3 of the diff: fewer lines than `@@` says"),
            ("--- a\n+++ a\n@@ -1 +1 @@\n-x\n-x\n", "line 5 of the diff: more lines than `@@` says"),
            ("--- a\n+++ a\n@@ -1,4294967295 +1 @@\n", "line 3 of the diff: `@@` without the lines that it is about"),
            ("--- a\n+++ a\n@@ -1 +1 @@\nx\n", "line 4 of the diff: a line that begins with none of ` `, `+` and `-`"),
        ] {
            let error = diffed_files(text).unwrap_err();
            assert_eq!(error.to_string(), expected, "{text:?}");
        }
        assert_eq!(diffed_files("\n").unwrap(), Vec::new());
    }
}
