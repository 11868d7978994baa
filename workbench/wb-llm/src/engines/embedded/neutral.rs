//! Keeps what others wrote text: a token of control in it is kept from being read as one.
//!
//! The content of a message may be a file out of a corpus that holds `<|im_end|>`, and a chat template puts it next to
//! the tokens that end turns. Where such a text stands in a content, a mark is put into it before the template is
//! written; the tokenizer, which cuts tokens of control out of the whole text, does not find it any more, and leaves the
//! mark out. The model reads exactly the characters that were written.

use crate::request::Message;

/// Messages whose tokens of control are broken, and the mark that breaks them.
pub struct Neutral {
    /// The messages.
    pub messages: Vec<Message>,
    /// A character that none of them held.
    pub mark: char,
}

/// Breaks the texts of `controls` in all messages. Fails where the messages hold all of the 32 characters that Unicode
/// reserves for no use, one of which is needed.
pub fn neutral<'a>(messages: &[Message], controls: impl Iterator<Item = &'a str> + Clone) -> Result<Neutral, String> {
    let Some(mark) = ('\u{FDD0}'..='\u{FDEF}').find(|c| messages.iter().all(|m| !m.content.contains(*c))) else {
        return Err("the messages hold every one of U+FDD0 to U+FDEF, which no text does".into());
    };
    let messages = messages
        .iter()
        .map(|m| Message { role: m.role, content: broken(&m.content, mark, controls.clone()) })
        .collect();
    Ok(Neutral { messages, mark })
}

fn broken<'a>(content: &str, mark: char, controls: impl Iterator<Item = &'a str>) -> String {
    // Places behind the first character of every occurrence, overlapping ones too, and behind a beginning at the very end,
    // which the template's own text could complete.
    let mut places: Vec<usize> = Vec::new();
    for control in controls {
        let Some(first) = control.chars().next().map(char::len_utf8) else { continue };
        let mut at = 0;
        while let Some(found) = content[at..].find(control) {
            places.push(at + found + first);
            at += found + first;
        }
        if control.char_indices().skip(1).any(|(i, _)| content.ends_with(&control[..i])) {
            places.push(content.len());
        }
    }
    places.sort_unstable();
    places.dedup();
    let mut out = String::with_capacity(content.len() + places.len() * 4);
    let mut at = 0;
    for place in places {
        out.push_str(&content[at..place]);
        out.push(mark);
        at = place;
    }
    out.push_str(&content[at..]);
    out
}
