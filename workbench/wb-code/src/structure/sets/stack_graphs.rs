//! Assertions of stack-graphs' tests: `^ defined: 3, 7` below a name.

use std::{collections::BTreeSet, path::Path};

use super::{StructureCase, files_below};
use crate::{
    Error, Result,
    structure::{EdgeClass, Project, Solver},
};

/// A name and the lines at which it should be defined.
#[derive(Debug, PartialEq, Eq)]
struct Assertion {
    /// Path of the part of the file that it is in.
    path: String,
    line: u32,
    column: usize,
    expected: BTreeSet<u32>,
}

/// Asks the assertions of all files below a folder.
pub(super) fn measure(folder: &Path) -> Result<Vec<StructureCase>> {
    let mut cases = Vec::new();
    for path in files_below(folder)? {
        let name = path.strip_prefix(folder).unwrap_or(&path).to_string_lossy().into_owned();
        let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending).to_owned();
        if !["js", "ts", "tsx", "py", "java"].contains(&ending.as_str()) {
            continue;
        }
        let text = std::fs::read_to_string(&path).map_err(Error::io("read", &path))?;
        let file = name.rsplit_once('/').map_or(name.as_str(), |(_, file)| file);
        let (parts, assertions) = parts(&text, file);
        if !assertions.is_empty() {
            cases.push(case(name, ending, &parts, &assertions));
        }
    }
    Ok(cases)
}

fn case(name: String, category: String, parts: &[(String, String)], assertions: &[Assertion]) -> StructureCase {
    let project = Project::of_texts(parts.iter().map(|(path, text)| (path.as_str(), text.as_str())));
    let mut solver = Solver::new(&project);
    let (mut right, mut answered, mut exact_wrong, mut wrong) = (0, 0, 0, Vec::new());
    for Assertion { path, line, column, expected } in assertions {
        let mut lines = BTreeSet::new();
        if let Some(at) = project.file_at(path) {
            let file = &project.files()[at];
            let text = parts.iter().find(|(part, _)| part == path).map_or("", |(_, text)| text);
            let byte = text.split_inclusive('\n').take(*line as usize - 1).map(str::len).sum::<usize>() + column;
            let here = |span: &std::ops::Range<u32>| span.contains(&(byte as u32));
            for reference in file.structure.references.iter().filter(|reference| here(&reference.span)) {
                for definition in solver.definitions(at, reference.value) {
                    let found = project.files()[definition.file].structure.binding(definition.binding).line;
                    exact_wrong += usize::from(definition.edge == EdgeClass::Exact && !expected.contains(&found));
                    lines.insert(found);
                }
            }
        }
        answered += 1;
        match lines == *expected {
            true => right += 1,
            false => wrong.push(format!("{path}:{line}:{}: {lines:?} in place of {expected:?}", column + 1)),
        }
    }
    let expected = assertions.len();
    StructureCase { name, category, right, expected, answered, answered_right: right, exact_wrong, wrong }
}

/// The files that a test consists of, each with its lines at the places that they have in the test, and its assertions.
fn parts(text: &str, file: &str) -> (Vec<(String, String)>, Vec<Assertion>) {
    let mut parts: Vec<(String, String)> = vec![(file.to_owned(), String::new())];
    let mut assertions = Vec::new();
    let mut asked = 0;
    for (line, number) in text.lines().zip(1..) {
        if let Some(path) = header(line, "path:") {
            parts.push((path, "\n".repeat(number)));
            continue;
        }
        if let Some((before, lines)) = line.split_once(" defined:")
            && before.trim_end().ends_with('^')
        {
            let column = before.find('^').unwrap_or_default();
            let expected = lines.split(',').filter_map(|line| line.trim().parse().ok()).collect();
            let path = parts.last().map(|(path, _)| path.clone()).unwrap_or_default();
            assertions.push(Assertion { path, line: asked, column, expected });
        } else if header(line, "global:").is_none() {
            asked = number as u32;
        }
        if let Some((_, part)) = parts.last_mut() {
            part.push_str(if header(line, "global:").is_some() { "" } else { line });
            part.push('\n');
        }
    }
    parts.retain(|(_, part)| !part.trim().is_empty());
    (parts, assertions)
}

/// Text behind a word between rows of dashes.
fn header(line: &str, word: &str) -> Option<String> {
    let rest = line.trim_start_matches(['/', '*', '#', ' ']);
    let rest = rest.strip_prefix('-')?.trim_start_matches(['-', ' ']).strip_prefix(word)?;
    Some(rest.split_whitespace().next()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_is_cut_into_files_that_keep_their_lines() {
        let text = "# --- path: a.py ---\nx = 1\n# --- path: b.py ---\nfrom a import x\nx\n# ^ defined: 4, 2\n# <- x\n";
        let (parts, assertions) = parts(text, "t.py");
        assert_eq!(parts[0], ("a.py".to_owned(), "\nx = 1\n".to_owned()));
        assert!(parts[1].1.starts_with("\n\n\nfrom a import x\nx\n"));
        let expected = BTreeSet::from([2, 4]);
        assert_eq!(assertions, [Assertion { path: "b.py".to_owned(), line: 5, column: 2, expected }]);
    }
}
