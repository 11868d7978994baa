//! Texts whose parts have colors, for those who read them on a terminal.

use anstyle::{AnsiColor, Style};

/// The part that a piece of a text has, which gives its color.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ink {
    /// Anything else.
    Plain,
    /// The path of a file.
    Path,
    /// Numbers of lines.
    Number,
    /// A name that is defined.
    Name,
    /// Words that were asked for.
    Found,
    /// Remarks beside what was asked for.
    Faint,
}

impl Ink {
    fn style(self) -> Style {
        match self {
            Self::Plain => Style::new(),
            Self::Path => AnsiColor::Magenta.on_default(),
            Self::Number => AnsiColor::Green.on_default(),
            Self::Name => Style::new().bold(),
            Self::Found => AnsiColor::Red.on_default().bold(),
            Self::Faint => Style::new().dimmed(),
        }
    }
}

/// A text in pieces, each with its ink.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Painted {
    pieces: Vec<(Ink, String)>,
}

impl Painted {
    /// Adds a piece.
    pub fn put(&mut self, ink: Ink, text: impl AsRef<str>) -> &mut Self {
        match self.pieces.last_mut() {
            Some((last, before)) if *last == ink => before.push_str(text.as_ref()),
            _ => self.pieces.push((ink, text.as_ref().to_owned())),
        }
        self
    }

    /// The text without what it ends with, where that is empty lines.
    pub fn without_empty_end(mut self) -> Self {
        while let Some((_, last)) = self.pieces.last_mut() {
            last.truncate(last.trim_end_matches('\n').len());
            if !last.is_empty() {
                break;
            }
            self.pieces.pop();
        }
        self
    }

    /// The text without its colors.
    pub fn plain(&self) -> String {
        self.pieces.iter().map(|(_, text)| text.as_str()).collect()
    }

    /// The text with codes of colors, if a terminal takes some; each piece as `shown` makes it, which is to take out the
    /// codes that it has itself.
    pub fn told(&self, in_colors: bool, shown: impl Fn(&str) -> String) -> String {
        let piece = |(ink, text): &(Ink, String)| {
            // A style that is plain has no codes.
            let style = if in_colors { ink.style() } else { Style::new() };
            format!("{style}{}{style:#}", shown(text))
        };
        self.pieces.iter().map(piece).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::untrusted::harmless;

    #[test]
    fn colors_are_around_pieces_and_never_of_them() {
        let mut text = Painted::default();
        text.put(Ink::Path, "a.rs").put(Ink::Plain, ":").put(Ink::Number, "3").put(Ink::Plain, " x\u{1b}[2Jy\n");
        text.put(Ink::Plain, "\n");
        let text = text.without_empty_end();
        assert_eq!(text.plain(), "a.rs:3 x\u{1b}[2Jy");
        let shown = |text: &str| harmless(text).into_owned();
        assert_eq!(text.told(false, shown), "a.rs:3 x\u{fffd}[2Jy");
        assert_eq!(text.told(true, shown), "\u{1b}[35ma.rs\u{1b}[0m:\u{1b}[32m3\u{1b}[0m x\u{fffd}[2Jy");
        assert_eq!(Painted::default().without_empty_end().told(true, shown), "");
    }
}
