//! Small pure functions on texts that filters, deduplication and audits share.

/// The text with every run of white space as one space, and none at the ends.
pub fn fold(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !folded.is_empty() {
            folded.push(' ');
        }
        folded.push_str(word);
    }
    folded
}

/// A 128-bit hash of the folded text: equal texts are equal, and different ones differ for every practical purpose.
pub fn folded_hash(text: &str) -> u128 {
    let mut hasher = blake3::Hasher::new();
    for word in text.split_whitespace() {
        hasher.update(word.as_bytes());
        hasher.update(b" ");
    }
    let mut first = [0; 16];
    first.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    u128::from_le_bytes(first)
}

/// The beginning of a text on one line, for tables and examples.
pub fn shorten(text: &str, chars: usize) -> String {
    let folded = fold(text);
    match folded.char_indices().nth(chars) {
        Some((end, _)) => format!("{}…", folded[..end].trim_end()),
        None => folded,
    }
}

/// Words in lower case: runs of letters and digits.
pub fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase)
}

/// The text up to its first blank line, without the white space around it.
pub fn first_paragraph(text: &str) -> &str {
    let text = text.trim();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        if line.trim().is_empty() {
            return text[..start].trim_end();
        }
        start += line.len();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_folds() {
        assert_eq!(fold("  a\t\n b\u{a0}c "), "a b c");
        assert_eq!(fold(" \n"), "");
        assert_eq!(folded_hash("a  b"), folded_hash("\na b\r\n"));
        assert_ne!(folded_hash("a b"), folded_hash("ab"));
    }

    #[test]
    fn texts_are_shortened_at_characters() {
        assert_eq!(shorten("größer  als", 3), "grö…");
        assert_eq!(shorten("größer  als", 7), "größer…");
        assert_eq!(shorten("ab", 2), "ab");
    }

    #[test]
    fn the_first_paragraph_ends_at_a_blank_line() {
        assert_eq!(first_paragraph("\n a\n b\n \t\n c"), "a\n b");
        assert_eq!(first_paragraph("a"), "a");
        assert_eq!(first_paragraph(""), "");
        assert_eq!(first_paragraph("a\r\n\r\nb"), "a");
    }
}
