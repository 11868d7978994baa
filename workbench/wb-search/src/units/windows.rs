//! Long runs of lines, cut where a reader would stop.

/// Cuts lines (from 1) into parts of at most `most` characters, each before the line that is best to begin with: the one
/// with the least indentation, after an empty line where there is one. A longer line is a part by itself.
pub(super) fn cut(lines: &[&str], [from, to]: [u32; 2], most: usize) -> Vec<[u32; 2]> {
    let mut parts = Vec::new();
    let mut start = from;
    while start <= to {
        let mut end = start;
        let mut chars = length(lines, start);
        while end < to && chars + length(lines, end + 1) <= most {
            end += 1;
            chars += length(lines, end);
        }
        if end < to {
            // In the later half, so that parts are not small.
            let half = start + (end - start) / 2 + 1;
            let best = (half..=end + 1).rev().min_by_key(|line| cost(lines, *line));
            end = best.unwrap_or(end + 1) - 1;
        }
        parts.push([start, end.max(start)]);
        start = end.max(start) + 1;
    }
    parts
}

fn length(lines: &[&str], line: u32) -> usize {
    lines[line as usize - 1].len() + 1
}

/// The less, the better a part begins with this line.
fn cost(lines: &[&str], line: u32) -> usize {
    let text = lines[line as usize - 1];
    let indentation = text.len() - text.trim_start().len();
    let closes = text.trim_start().starts_with(['}', ')', ']']) || text.trim() == "end";
    let after_empty = line >= 2 && lines[line as usize - 2].trim().is_empty();
    match text.trim().is_empty() || closes {
        true => usize::MAX,
        false => 2 * indentation + usize::from(!after_empty),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_all_lines_and_begin_at_the_margin() {
        let text = "a\n    b\n    c\n\nd\n    e\n    f\n";
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(cut(&lines, [1, 7], 20), [[1, 4], [5, 7]]);
        assert_eq!(cut(&lines, [1, 7], 100), [[1, 7]]);
        assert_eq!(cut(&lines, [1, 3], 1), [[1, 1], [2, 2], [3, 3]]);
        assert!(cut(&lines, [4, 3], 10).is_empty());
    }
}
