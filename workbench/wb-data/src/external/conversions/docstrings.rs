//! The Python functions of code-docstring-corpus, which has each on one line with tokens for line breaks and indentation.
//!
//! After the authors' own `extract_funcdefs_and_docstrings_and_meta_properspacing.py`: lines end in ` DCNL`, a level of
//! indentation is ` DCSP `, and inside of string literals a blank is ` DCSP ` and a tab ` DCTB `; a `DCNL` of the code
//! itself is `DCQTDCNL`, and so on. A description is in single quotes, its own escaped by backslashes, and no other
//! escape is one. The code was printed by a program out of its syntax tree, so levels are four blanks here.

use std::{io::BufRead, path::Path};

use serde::Serialize;
use serde_json::json;
use wb_core::Progress;

use super::{
    conversion::{ConversionCounts, Convert, Inputs, count},
    lines,
};
use crate::{Error, Result, sources::open};

/// `{train,valid,test}.jsonl` with `code`, `docstring`, `language`, `repo`, `path` and `line`, out of the files wanted as
/// `declbodies`, `descriptions` and `metadata` with `.SPLIT` behind, or `.SPLIT.gz`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Docstrings;

/// Splits by their names in the files of the corpus.
const SPLITS: [&str; 3] = ["train", "valid", "test"];

impl Convert for Docstrings {
    fn convert(&self, inputs: &Inputs<'_>, to: &Path, progress: &mut dyn FnMut(Progress)) -> Result<ConversionCounts> {
        let mut counts = ConversionCounts::new();
        for (done, split) in SPLITS.into_iter().enumerate() {
            progress(Progress::new("converting functions", done, SPLITS.len()).note(split));
            let file = |kind: &str| {
                let packed = inputs.files.iter().any(|file| file.name == format!("{kind}.{split}.gz"));
                inputs.one(&format!("{kind}.{split}{}", if packed { ".gz" } else { "" }))
            };
            let paths = [file("declbodies")?, file("descriptions")?, file("metadata")?];
            let written = lines::write(&to.join(format!("{split}.jsonl")), |lines| {
                functions(paths, &mut counts, &mut |function| lines.json(&function))
            })?;
            count(&mut counts, "functions", written);
        }
        Ok(counts)
    }
}

/// Gives the functions of three files that belong line to line; what is left out is counted.
fn functions(
    paths: [&Path; 3],
    counts: &mut ConversionCounts,
    take: &mut dyn FnMut(serde_json::Value) -> Result<()>,
) -> Result<()> {
    let mut readers = [open(paths[0])?.reader, open(paths[1])?.reader, open(paths[2])?.reader];
    let mut number = 0;
    loop {
        let mut read = [Vec::new(), Vec::new(), Vec::new()];
        for ((reader, line), path) in readers.iter_mut().zip(&mut read).zip(paths) {
            reader.read_until(b'\n', line).map_err(Error::io("read", path))?;
        }
        if let Some(short) = read.iter().position(Vec::is_empty) {
            return match read.iter().position(|line| !line.is_empty()) {
                None => Ok(()),
                Some(long) => Err(Error::file(
                    paths[short],
                    format!("it ends after {number} lines, and {} goes on", paths[long].display()),
                )),
            };
        }
        number += 1;
        let texts =
            read.map(|line| String::from_utf8(line).ok().map(|text| text.trim_end_matches(['\n', '\r']).to_owned()));
        let [Some(code), Some(description), Some(metadata)] = texts else {
            // Some of the corpus was written in other encodings.
            count(counts, "not UTF-8, left out", 1);
            continue;
        };
        let (code, docstring) = (code_of(&code), docstring_of(&description));
        let Some(docstring) = docstring.filter(|docstring| !docstring.is_empty() && !code.trim().is_empty()) else {
            count(counts, "without a docstring in quotes, left out", 1);
            continue;
        };
        let (repo, path, line) = place_of(&metadata);
        take(json!({
            "code": code, "docstring": docstring, "language": "python", "repo": repo, "path": path, "line": line,
        }))?;
    }
}

/// The source of a function out of its line.
fn code_of(line: &str) -> String {
    let mut lines = Vec::new();
    // ` DCNL` ends a line; before one that has no indentation a blank stands alone.
    for part in line.split(" DCNL ") {
        let mut rest = part.strip_suffix(" DCNL").unwrap_or(part).trim_start();
        let mut levels = 0;
        while let Some(after) = rest.strip_prefix("DCSP ") {
            rest = after.trim_start();
            levels += 1;
        }
        lines.push(format!("{}{}", "    ".repeat(levels), unescaped(&in_strings(rest))));
    }
    lines.join("\n")
}

/// The blanks and tabs of string literals.
fn in_strings(text: &str) -> String {
    let text = text.replace(" DCSP ", " ").replace(" DCTB ", "\t");
    text.replace(" DCQSDCSP ", " DCSP ").replace(" DCQSDCTB ", " DCTB ").replace("DCQSDCQS", "DCQS")
}

fn unescaped(text: &str) -> String {
    text.replace("DCQTDCNL", "DCNL").replace("DCQTDCQT", "DCQT")
}

/// A description without its quotes; none where it has none.
fn docstring_of(line: &str) -> Option<String> {
    let inside = line.trim().strip_prefix('\'')?.strip_suffix('\'')?;
    let lines: Vec<String> = inside.split(" DCNL ").map(|line| unescaped(&line.replace("\\'", "'"))).collect();
    Some(lines.join("\n").trim().to_owned())
}

/// `github/OWNER/NAME/PATH LINE` as repository, path and line; empty, and 0, where it is something else.
fn place_of(metadata: &str) -> (String, String, u64) {
    let (file, line) = metadata.rsplit_once(' ').unwrap_or((metadata, "0"));
    let inside = file.strip_prefix("github/").unwrap_or(file);
    let mut parts = inside.splitn(3, '/');
    let (owner, name) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let path = parts.next().unwrap_or_default().to_owned();
    (format!("{owner}/{name}"), path, line.parse().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_become_lines_and_levels() {
        // As they stand in the corpus: the first line of the body has a blank more.
        let line = "@f() DCNL def f(a): DCNL  DCSP try: DCNL DCSP  DCSP return g('x DCSP y DCTB z') DCNL DCSP except: DCNL DCSP  DCSP pass";
        let expected = "@f()\ndef f(a):\n    try:\n        return g('x y\tz')\n    except:\n        pass";
        assert_eq!(code_of(line), expected);
        assert_eq!(code_of("def f(): DCNL  DCSP return 'DCQTDCNL DCQSDCSP '"), "def f():\n    return 'DCNL DCSP '");
        assert_eq!(code_of("def f(): DCNL  DCSP return 'a DCSP  DCSP b'"), "def f():\n    return 'a  b'");
    }

    #[test]
    fn descriptions_lose_their_quotes() {
        let docstring = |line: &str| docstring_of(line);
        assert_eq!(docstring(r"'It isn\'t. DCNL :param x: \n'").as_deref(), Some("It isn't.\n:param x: \\n"));
        assert_eq!(docstring("no quotes"), None);
        assert_eq!(docstring("'"), None);
    }

    #[test]
    fn metadata_name_repository_path_and_line() {
        let expected = ("frappe/frappe".to_owned(), "frappe/desk/a b.py".to_owned(), 15);
        assert_eq!(place_of("github/frappe/frappe/frappe/desk/a b.py 15"), expected);
    }
}
