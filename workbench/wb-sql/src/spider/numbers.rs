//! Texts that Python reads as numbers, since the published parser asks `float()`.

/// The zeros of all scripts that have decimal digits in Unicode 14; nine digits follow each.
#[rustfmt::skip]
const ZEROS: [u32; 66] = [
    0x30, 0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xde6, 0xe50, 0xed0,
    0xf20, 0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90, 0x1b50, 0x1bb0, 0x1c40, 0x1c50, 0xa620,
    0xa8d0, 0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0, 0xff10, 0x104a0, 0x10d30, 0x11066, 0x110f0, 0x11136, 0x111d0,
    0x112f0, 0x11450, 0x114d0, 0x11650, 0x116c0, 0x11730, 0x118e0, 0x11950, 0x11c50, 0x11d50, 0x11da0, 0x16a60,
    0x16ac0, 0x16b50, 0x1d7ce, 0x1d7d8, 0x1d7e2, 0x1d7ec, 0x1d7f6, 0x1e140, 0x1e2f0, 0x1e950, 0x1fbf0,
];

/// The value of a decimal digit of any script.
pub(super) fn digit(c: char) -> Option<char> {
    if c.is_ascii() {
        return c.is_ascii_digit().then_some(c);
    }
    let code = u32::from(c);
    let zero = ZEROS[ZEROS.partition_point(|&zero| zero <= code).checked_sub(1)?];
    char::from_digit(code - zero, 10)
}

/// True where Unicode counts it as a decimal digit.
pub(super) fn is_digit(c: char) -> bool {
    digit(c).is_some()
}

/// A number as Python's `float()` reads it: signs, exponents, `inf`, `nan`, digits of all scripts, and underscores
/// between digits.
pub(super) fn number(text: &str) -> Option<f64> {
    if let Ok(number) = text.parse() {
        return Some(number);
    }
    if !text.contains('_') && text.is_ascii() {
        return None;
    }
    let digits: Vec<char> = text.trim().chars().map(|c| digit(c).unwrap_or(c)).collect();
    let between = |place: usize| {
        let near = |place: Option<usize>| place.and_then(|place| digits.get(place)).is_some_and(char::is_ascii_digit);
        near(place.checked_sub(1)) && near(place.checked_add(1))
    };
    if (0..digits.len()).any(|place| digits[place] == '_' && !between(place)) {
        return None;
    }
    digits.into_iter().filter(|&c| c != '_').collect::<String>().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_python() {
        for (text, expected) in [
            ("5", 5.0),
            ("-5.", -5.0),
            (".5", 0.5),
            ("+1e3", 1000.0),
            ("1_000", 1000.0),
            ("1_0.0_5", 10.05),
            ("٣", 3.0),
            ("١٢.٥", 12.5),
            ("infinity", f64::INFINITY),
            ("-inf", f64::NEG_INFINITY),
        ] {
            assert_eq!(number(text), Some(expected), "{text}");
        }
        assert!(number("nan").unwrap().is_nan());
        for text in ["", ".", "_1", "1_", "1__0", "1_.5", "e5", "5,3", "0x10", "five", "--5", "½", "_", "1e_5"] {
            assert_eq!(number(text), None, "{text}");
        }
    }

    #[test]
    fn digits_of_all_scripts_have_their_values() {
        assert_eq!(digit('9'), Some('9'));
        assert_eq!(digit('٠'), Some('0'));
        assert_eq!(digit('९'), Some('9'));
        assert_eq!(digit('𝟿'), Some('9'));
        assert!([' ', 'a', '²', '½', '\u{66a}', '\u{1d800}'].into_iter().all(|c| !is_digit(c)));
        assert!(ZEROS.is_sorted());
    }
}
