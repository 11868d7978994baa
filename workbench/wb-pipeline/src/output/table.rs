//! A table with aligned columns.

use super::line;

/// A table with aligned columns: words to the left, numbers to the right.
pub fn table(header: &[&str], rows: &[Vec<String>]) {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        cells.chain([header[column].chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..header.len()).map(width).collect();
    let begins_with_a_letter = |cell: &String| cell.starts_with(char::is_alphabetic);
    let is_words = |at: usize| at == 0 || rows.iter().filter_map(|row| row.get(at)).any(begins_with_a_letter);
    let print = |cells: Vec<&str>| {
        let line: Vec<String> = cells
            .iter()
            .zip(&widths)
            .enumerate()
            .map(|(at, (cell, width))| if is_words(at) { format!("{cell:<width$}") } else { format!("{cell:>width$}") })
            .collect();
        self::line(line.join("  ").trim_end());
    };
    print(header.to_vec());
    for row in rows {
        print(row.iter().map(String::as_str).collect());
    }
}
