//! A block of instructions in a Markdown file that agents read, between two marks.

use crate::{
    appended::{append, line_end, take, whole},
    entry::TakenOut,
    fault::TextFault,
};

const BEGIN: &str = "<!-- wb:begin -->";
const END: &str = "<!-- wb:end -->";

const INSTRUCTIONS: &str = "\
## Code search with wb

The MCP server `wb` has an index of this project's code.
Ask it first where something is done, defined, used or tested: in words, by a name, or with an error message as it is.
Read files, or grep for an exact text, after that.";

/// True where the text has a block.
pub fn has_block(text: &str) -> bool {
    text.contains(BEGIN)
}

/// The text with the block, or nothing where it is there already.
pub fn put(text: Option<&str>, folder_is_new: bool) -> Result<Option<String>, TextFault> {
    let block = |end: &str| [BEGIN, INSTRUCTIONS, END].join("\n").replace('\n', end);
    let Some(text) = text else { return Ok(Some(whole(&block("\n"), folder_is_new))) };
    let block = block(line_end(text));
    Ok(match find(text)? {
        None => Some(append(text, &block)),
        Some(range) if text[range.clone()] == block => None,
        Some(range) => Some([&text[..range.start], &block, &text[range.end..]].concat()),
    })
}

/// The text without the block.
pub fn take_out(text: &str) -> Result<TakenOut, TextFault> {
    Ok(find(text)?.map_or(TakenOut::Nothing, |range| take(text, range)))
}

/// The bytes of the block.
fn find(text: &str) -> Result<Option<std::ops::Range<usize>>, TextFault> {
    let Some(start) = text.find(BEGIN) else {
        return text.find(END).map_or(Ok(None), |at| Err(torn(at, &format!("`{END}` without `{BEGIN}`"))));
    };
    let second = text[start + BEGIN.len()..].find(BEGIN).map(|at| start + BEGIN.len() + at);
    let end = text[start..].find(END).map(|at| start + at + END.len());
    match (second, end) {
        (None, Some(end)) => Ok(Some(start..end)),
        (Some(second), _) => Err(torn(second, &format!("a second `{BEGIN}`"))),
        (None, None) => Err(torn(start, &format!("`{BEGIN}` without `{END}`"))),
    }
}

fn torn(at: usize, message: &str) -> TextFault {
    TextFault::new(at, message, "take the marks out by hand, with what stands between them that is not yours")
}
