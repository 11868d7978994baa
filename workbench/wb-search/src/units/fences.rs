//! Functions and types that code between the fences of Markdown defines.

use std::ops::Range;

use wb_code::{
    CodeItem, canonical_name,
    prose::{FencePlace, FenceReader},
};

use super::known;

/// Functions and types in blocks of code whose fence names a language that can be read.
pub(super) fn fenced(lines: &[&str]) -> Vec<CodeItem> {
    let mut found = Vec::new();
    let mut fences = FenceReader::default();
    let mut open = (0, "");
    for (at, line) in lines.iter().enumerate() {
        match fences.read(line) {
            FencePlace::Opens(info) => open = (at + 1, info),
            FencePlace::Closes => found.extend(of_block(lines, open.0..at, open.1)),
            FencePlace::Outside | FencePlace::Inside => {}
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
