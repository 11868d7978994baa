//! Texts of others, shown so that they do nothing.

use std::{borrow::Cow, fmt::Write};

/// A line without what a terminal would take for a command, or would show in another order than it stands.
pub fn clean(line: &str) -> String {
    replaced(line, |c| is_command(c) && c != '\t')
}

/// A text of lines without what a terminal would take for a command; it goes on where there is none, at no cost.
pub fn harmless(text: &str) -> Cow<'_, str> {
    let is_harmful = |c: char| is_command(c) && !matches!(c, '\t' | '\n');
    let text = if text.contains("\r\n") { Cow::Owned(text.replace("\r\n", "\n")) } else { Cow::Borrowed(text) };
    match text.contains(is_harmful) {
        true => Cow::Owned(replaced(&text, is_harmful)),
        false => text,
    }
}

/// JSON that says the same, with everything that a terminal would take for a command written as `\u`: JSON itself asks for
/// that below U+0020 alone.
pub fn harmless_json(json: String) -> String {
    let is_harmful = |c: char| is_command(c) && !c.is_ascii_whitespace();
    if !json.contains(is_harmful) {
        return json;
    }
    json.chars().fold(String::with_capacity(json.len() + 64), |mut all, c| {
        match is_harmful(c) {
            true => _ = write!(all, "\\u{:04x}", u32::from(c)),
            false => all.push(c),
        }
        all
    })
}

fn replaced(text: &str, is_harmful: impl Fn(char) -> bool) -> String {
    text.chars().map(|c| if is_harmful(c) { '\u{fffd}' } else { c }).collect()
}

/// True for control characters, and for those that turn the direction of writing.
fn is_command(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_of_terminals_are_shown_as_what_they_are_not() {
        assert_eq!(clean("a\t\u{1b}[31mb\u{9b}c\u{202e}d"), "a\t\u{fffd}[31mb\u{fffd}c\u{fffd}d");
        assert_eq!(harmless("a\r\nb\tc"), "a\nb\tc");
        assert_eq!(harmless("a\rb\u{1b}]0;x\u{7}"), "a\u{fffd}b\u{fffd}]0;x\u{fffd}");
        assert!(matches!(harmless("nothing of it: ä 👩‍💻"), Cow::Borrowed(_)));
    }

    #[test]
    fn json_says_the_same() {
        let text = "a\u{9b}b\u{202e}c\n\u{1b}";
        let json = harmless_json(serde_json::to_string_pretty(&[text]).unwrap());
        assert!(json.contains("a\\u009bb\\u202ec\\n\\u001b"), "{json}");
        assert_eq!(serde_json::from_str::<Vec<String>>(&json).unwrap(), [text]);
    }
}
