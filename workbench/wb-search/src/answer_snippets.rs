//! An answer as snippets for a prompt, few-shot examples: each in a fence that nothing in it can close.

use std::fmt::Write;

use wb_code::notebook::comment_of;
use wb_core::untrusted::clean;

use crate::{
    SearchAnswer,
    answer::{AnsweredUnit, Extent},
    files::{FileRole, language_and_role},
    units::cells::is_mark,
};

impl SearchAnswer {
    /// Kinds of files whose code is a snippet for a prompt.
    pub const OF_SNIPPETS: [FileRole; 2] = [FileRole::Source, FileRole::Example];

    /// The answers as snippets, best first: the place, and fenced the code, below a model's summary where there is one.
    pub fn snippets(&self) -> String {
        let mut told = String::new();
        for (number, AnsweredUnit { found, extent, said, text, .. }) in (1..).zip(&self.answers) {
            let (path, [first, last]) = (clean(&found.path), found.lines);
            let _ = writeln!(told, "### Example {number}: {path}:{first}-{last}\n");
            if *extent == Extent::Stale {
                let _ = writeln!(told, "(has changed since it was indexed; `wb search --fresh` reads it again)\n");
                continue;
            }
            let language = language_and_role(&found.path, "").map_or("", |(language, _)| language);
            let summary = said.lines().next().map(|summary| format!("{} {summary}\n", comment_of(language)));
            let code = format!("{}{}", summary.unwrap_or_default(), code(text));
            let fence = "`".repeat(longest_run(&code, '`').max(2) + 1);
            let _ = writeln!(told, "{fence}{language}\n{code}\n{fence}\n");
        }
        told.extend(self.empty.iter().map(|why| format!("nothing found: {why}\n")));
        told.truncate(told.trim_end_matches('\n').len());
        told
    }
}

/// Lines without those that only say where a cell begins, and with one empty line where there are several.
fn code(text: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    for line in text.lines().map(str::trim_end).filter(|line| !is_mark(line)) {
        if !(line.is_empty() && kept.last().is_none_or(|before| before.is_empty())) {
            kept.push(line);
        }
    }
    kept.join("\n").trim_end().to_owned()
}

fn longest_run(text: &str, of: char) -> usize {
    text.split(|c| c != of).map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_and_runs_of_empty_lines_are_left_out() {
        let text = "# %% [markdown]\n# Load.\n\n\n\n# %%\nx = 1\n\n\ny = 2\n";
        assert_eq!(code(text), "# Load.\n\nx = 1\n\ny = 2");
    }

    #[test]
    fn fences_are_longer_than_those_inside() {
        assert_eq!(longest_run("a ``` b ```` c `", '`'), 4);
    }
}
