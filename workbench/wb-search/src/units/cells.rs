//! Cells of notebooks, and of scripts that are cut as notebooks are, by lines of `# %%`.

use wb_code::{ChunkKind, CodeItem, notebook::CELL};

/// Each cell of code, with the cells of prose above it as its comment.
pub(crate) fn cells(lines: &[&str]) -> Vec<CodeItem> {
    let marks: Vec<(u32, bool)> = (1..).zip(lines).filter_map(|(at, line)| Some((at, mark(line)?))).collect();
    let mut found = Vec::new();
    let mut from = None;
    for (at, (line, is_code)) in marks.iter().enumerate() {
        let first = *from.get_or_insert(*line);
        if *is_code {
            let last = marks.get(at + 1).map_or(lines.len() as u32, |(next, _)| next - 1);
            found.push(CodeItem {
                kind: ChunkKind::Function,
                name: String::new(),
                lines: [first, last],
                code_line: *line,
            });
            from = None;
        }
    }
    found
}

/// True for a line that says where a cell begins, and nothing else.
pub(crate) fn is_mark(line: &str) -> bool {
    mark(line).is_some()
}

/// True for a line that opens a cell of code, false for one of prose; nothing for any other.
fn mark(line: &str) -> Option<bool> {
    let rest = ["#", "//", "--"].iter().find_map(|sign| line.strip_prefix(sign))?;
    let kind = rest.trim_start().strip_prefix(CELL)?;
    Some(!["[markdown]", "[md]", "[raw]"].iter().any(|prose| kind.contains(prose)))
}
