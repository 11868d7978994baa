//! Functions and types that code between the fences of Markdown defines.

use std::ops::Range;

use wb_code::{CodeItem, canonical_name};

use super::known;

/// Functions and types in blocks of code whose fence names a language that can be read.
pub(super) fn fenced(lines: &[&str]) -> Vec<CodeItem> {
    let mut found = Vec::new();
    let mut open: Option<(usize, &str)> = None;
    for (at, line) in lines.iter().enumerate() {
        let Some(info) = line.trim_start().strip_prefix("```") else { continue };
        match open.take() {
            // A fence that is closed says nothing; one inside of code is a part of it.
            Some((first, language)) if info.trim().is_empty() => found.extend(of_block(lines, first..at, language)),
            Some(before) => open = Some(before),
            None => open = Some((at + 1, info)),
        }
    }
    found
}

/// Items of a block, by the lines of the file.
fn of_block(lines: &[&str], block: Range<usize>, info: &str) -> Vec<CodeItem> {
    let before = block.start as u32;
    let name =
        info.trim().split(|c: char| c.is_whitespace() || matches!(c, ',' | '{' | '}')).next().unwrap_or_default();
    let mut found = known(&lines[block].join("\n"), &canonical_name(name)).unwrap_or_default();
    for CodeItem { lines, code_line, .. } in &mut found {
        *lines = lines.map(|line| line + before);
        *code_line += before;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_between_fences_defines_names_on_the_lines_of_the_file() {
        let text = "# Plan\n```rust,ignore\nstruct Plan;\n\nfn run() {}\n```\n```\nfn no() {}\n```\n  ```sql\ncreate table days (\n);\n  ```\n```py\ndef open_end():\n";
        let lines: Vec<&str> = text.lines().collect();
        let found: Vec<_> = fenced(&lines).into_iter().map(|item| (item.name, item.lines, item.code_line)).collect();
        let expected = [("Plan", [3, 3], 3), ("run", [5, 5], 5), ("days", [11, 12], 11)];
        assert_eq!(found, expected.map(|(name, lines, code)| (name.to_owned(), lines, code)));
    }
}
