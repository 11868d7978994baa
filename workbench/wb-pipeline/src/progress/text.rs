//! Rates, shares and texts in the width that there is.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Stands where a text was cut.
const CUT: char = '…';

/// Units per second, or per minute where that says more.
pub fn rate(per_second: f64, units: &str) -> String {
    match per_second {
        fast if fast >= 10.0 => format!("{fast:.0}{units}/s"),
        medium if medium >= 0.5 => format!("{medium:.1}{units}/s"),
        slow => format!("{:.1}{units}/min", slow * 60.0),
    }
}

/// A share in whole percent, rounded down: it says 100 when everything is done.
pub fn percent(done: u64, total: u64) -> String {
    format!("{} %", (u128::from(done.min(total)) * 100).checked_div(u128::from(total)).unwrap_or(0))
}

/// Columns that a text takes on a terminal.
pub fn width(text: &str) -> usize {
    text.width()
}

/// A text that takes at most `most` columns, on one line: cut where it is longer, without anything that moves a cursor.
pub fn cut(text: &str, most: usize) -> String {
    // Names of files and data sets may hold anything.
    let clean: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let clean = clean.trim_end();
    if width(clean) <= most {
        return clean.to_owned();
    }
    let (mut taken, mut columns) = (String::new(), 0);
    for c in clean.chars() {
        columns += c.width().unwrap_or(0);
        if columns >= most {
            break;
        }
        taken.push(c);
    }
    taken.truncate(taken.trim_end().len());
    if most > 0 {
        taken.push(CUT);
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_by_hand() {
        assert_eq!(rate(812.4, " pairs"), "812 pairs/s");
        assert_eq!(rate(4.25, ""), "4.2/s");
        assert_eq!(rate(0.2, ""), "12.0/min");
        assert_eq!(rate(0.005, ""), "0.3/min");
    }

    #[test]
    fn a_share_is_whole_when_everything_is_done() {
        assert_eq!(percent(999, 1000), "99 %");
        assert_eq!(percent(1000, 1000), "100 %");
        assert_eq!(percent(1001, 1000), "100 %");
        assert_eq!(percent(0, 0), "0 %");
        assert_eq!(percent(u64::MAX, u64::MAX), "100 %");
    }

    #[test]
    fn texts_are_cut_by_columns() {
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdef", 5), "abcd…");
        assert_eq!(cut("abcdef", 1), "…");
        assert_eq!(cut("abcdef", 0), "");
        // Two columns each; half of one is not shown.
        assert_eq!(cut("漢字漢字", 8), "漢字漢字");
        assert_eq!(cut("漢字漢字", 6), "漢字…");
        assert_eq!(width(&cut("漢字漢字", 5)), 5);
        assert_eq!(cut("a\nb\x1b[2J\tc  ", 80), "a b [2J c");
        for most in 0..12 {
            assert!(width(&cut("漢 a 字 e\u{301} 漢字", most)) <= most);
        }
    }
}
