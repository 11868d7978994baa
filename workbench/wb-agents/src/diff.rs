//! The difference of two texts, as `diff -u` shows it.

use wb_core::untrusted::clean;

/// Lines shown around what differs.
const CONTEXT: usize = 3;
/// Letters shown of a line: configurations on one line can be megabytes.
const WIDTH: usize = 160;

/// A unified diff with one hunk, whose long lines are cut around what differs.
pub fn unified(from: (&str, &str), to: (&str, &str)) -> String {
    let (before, after): (Vec<&str>, Vec<&str>) =
        (from.1.split_inclusive('\n').collect(), to.1.split_inclusive('\n').collect());
    let same = |(a, b): &(&&str, &&str)| a == b;
    let head = before.iter().zip(&after).take_while(same).count();
    let tail = before[head..].iter().rev().zip(after[head..].iter().rev()).take_while(same).count();
    let first = head.saturating_sub(CONTEXT);
    let (old, new) = (&before[head..before.len() - tail], &after[head..after.len() - tail]);
    let behind = &before[before.len() - tail..][..tail.min(CONTEXT)];
    let around = head - first + behind.len();
    let place = |lines: usize| format!("{},{lines}", if lines == 0 { first } else { first + 1 });
    let mut shown = format!("--- {}\n+++ {}\n", from.0, to.0);
    shown += &format!("@@ -{} +{} @@\n", place(around + old.len()), place(around + new.len()));
    before[first..head].iter().for_each(|line| push(&mut shown, ' ', line, 0));
    // What differs within a line is found from the first pair; the others are short.
    let from_letter = old
        .first()
        .zip(new.first())
        .map_or(0, |(old, new)| old.chars().zip(new.chars()).take_while(|(a, b)| a == b).count());
    old.iter().for_each(|line| push(&mut shown, '-', line, from_letter));
    new.iter().for_each(|line| push(&mut shown, '+', line, from_letter));
    behind.iter().for_each(|line| push(&mut shown, ' ', line, 0));
    shown
}

fn push(shown: &mut String, mark: char, line: &str, from_letter: usize) {
    let text = line.trim_end_matches('\n').trim_end_matches('\r');
    let skipped = if text.chars().count() > WIDTH { from_letter.saturating_sub(WIDTH / 4) } else { 0 };
    let mut letters = text.chars().skip(skipped);
    let window: String = letters.by_ref().take(WIDTH).collect();
    let (before, after) = (if skipped > 0 { "…" } else { "" }, if letters.next().is_some() { "…" } else { "" });
    shown.push_str(&format!("{mark}{before}{}{after}\n", clean(&window)));
    if !line.ends_with('\n') {
        shown.push_str("\\ No newline at end of file\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_shown_with_three_lines_around_them() {
        let before = "1\n2\n3\n4\n5\n6\n7\n8\n";
        let shown = unified(("a", before), ("b", "1\n2\n3\n4\nfive\n5a\n6\n7\n8\n"));
        assert_eq!(shown, "--- a\n+++ b\n@@ -2,7 +2,8 @@\n 2\n 3\n 4\n-5\n+five\n+5a\n 6\n 7\n 8\n");
        let shown = unified(("a", ""), ("b", "x"));
        assert_eq!(shown, "--- a\n+++ b\n@@ -0,0 +1,1 @@\n+x\n\\ No newline at end of file\n");
        let shown = unified(("a", "x\n"), ("b", "x\nx\n"));
        assert_eq!(shown, "--- a\n+++ b\n@@ -1,1 +1,2 @@\n x\n+x\n");
    }

    #[test]
    fn long_lines_are_cut_and_escape_sequences_do_nothing() {
        let long = "a".repeat(1_000_000);
        let shown = unified(("a", &format!("{{{long}}}")), ("b", &format!("{{{long}, \u{1b}[2J}}")));
        assert!(shown.len() < 1_000 && shown.contains(", \u{fffd}[2J}"), "{shown}");
    }
}
