//! Fenced blocks of code in Markdown.

/// The place of a line in a text with fenced blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FencePlace<'a> {
    /// A line of the text.
    Outside,
    /// A fence that opens a block, with the words behind it: the name of a language, as a rule.
    Opens(&'a str),
    /// A line of a block.
    Inside,
    /// A fence that closes a block.
    Closes,
}

/// A reader of a text's lines, one after the other, that knows whether a block is open.
///
/// Fences are those of CommonMark 0.31, 4.5: three or more backticks or tildes, behind which no backtick may stand after
/// backticks; a block is closed by a fence of the same mark, at least as long and with nothing behind it, or by the text's
/// end. Differs in that backticks may stand at any margin, as those in lists do; tildes behind four spaces, as a traceback of
/// Python has them below its code, are none.
#[derive(Debug, Default)]
pub struct FenceReader {
    /// The mark and the length of the fence of the block that is open.
    open: Option<(char, usize)>,
}

impl FenceReader {
    /// Reads the next line.
    pub fn read<'a>(&mut self, line: &'a str) -> FencePlace<'a> {
        let text = line.trim();
        let is_far = line.starts_with("    ") || line.starts_with('\t');
        let mut marks = ['`', '~'].into_iter().filter(|mark| *mark == '`' || !is_far);
        let fence = marks.find_map(|mark| {
            let rest = text.trim_start_matches(mark);
            let length = text.len() - rest.len();
            (length >= 3).then_some((mark, length, rest))
        });
        match (self.open, fence) {
            (None, Some((mark, length, info))) if mark == '~' || !info.contains('`') => {
                self.open = Some((mark, length));
                FencePlace::Opens(info.trim_start())
            }
            (None, _) => FencePlace::Outside,
            (Some((open, least)), Some((mark, length, ""))) if mark == open && length >= least => {
                self.open = None;
                FencePlace::Closes
            }
            (Some(_), _) => FencePlace::Inside,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{FencePlace::*, *};

    fn places(text: &str) -> Vec<FencePlace<'_>> {
        let mut reader = FenceReader::default();
        text.lines().map(|line| reader.read(line)).collect()
    }

    #[test]
    fn blocks_are_closed_by_their_own_mark() {
        assert_eq!(places("a\n``` py x\nb\n```\nc"), [Outside, Opens("py x"), Inside, Closes, Outside]);
        assert_eq!(places("~~~\n# a\n```\n~~~~ \n# b"), [Opens(""), Inside, Inside, Closes, Outside]);
        // One block with three fences in it.
        let nested = places("````md\n```py\nx\n```\n````\nend");
        assert_eq!(nested, [Opens("md"), Inside, Inside, Inside, Closes, Outside]);
        assert_eq!(places("```\n```py\n```"), [Opens(""), Inside, Closes]);
        assert_eq!(places("- a\n      ```\n  x\n  ```\nb"), [Outside, Opens(""), Inside, Closes, Outside]);
    }

    #[test]
    fn what_is_no_fence_opens_nothing() {
        assert_eq!(
            places("``` x ``` y\n``\na ```\n~~~ `b` ~~~\nc"),
            [Outside, Outside, Outside, Opens("`b` ~~~"), Inside]
        );
        assert_eq!(places("    a(b)\n    ~~~~^^^\n\t~~~\n# c"), [Outside; 4]);
    }
}
