//! Notices that a server cut the prompt without saying so: it then counts fewer tokens than the prompt has.

use crate::request::Message;

/// Reported tokens of a prompt may be this share of our own count: templates add tokens, and counts of parts differ a
/// little from the count of the whole.
pub const SHARE: f64 = 0.9;

/// Bytes of text a token stands for at most, on average over a prompt, runs of one character aside. Tokenizers of code
/// and prose are between 2.5 and 5.
const BYTES_PER_TOKEN: usize = 8;

/// Tokens that a template may add to a message.
const TEMPLATE: usize = 16;

/// Fewer tokens than this a text cannot have: bytes, with runs of the same byte counted once (a tokenizer may have one
/// token for 64 spaces), by 8.
pub fn least_tokens(text: &str) -> usize {
    let bytes = text.as_bytes();
    let changes = bytes.windows(2).filter(|pair| pair[0] != pair[1]).count() + usize::from(!bytes.is_empty());
    changes / BYTES_PER_TOKEN
}

/// More tokens than this a text cannot have: one for each byte.
pub fn most_tokens(messages: &[Message]) -> usize {
    messages.iter().map(|message| message.content.len() + TEMPLATE).sum()
}

/// The finding of the reported count about a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptFit {
    /// The prompt fits for certain, or nothing is reported.
    Whole,
    /// Perhaps cut; an exact count is needed to know.
    Unsure,
    /// Cut for certain.
    Cut,
}

/// Judges without counting. `context` is of prompt and answer together.
pub fn judge(messages: &[Message], reported: Option<u64>, context: Option<u32>, answer: u32) -> PromptFit {
    let Some(reported) = reported else { return PromptFit::Whole };
    let least: usize = messages.iter().map(|message| least_tokens(&message.content)).sum();
    if (reported as f64) < SHARE * least as f64 {
        return PromptFit::Cut;
    }
    let most = most_tokens(messages) as u64;
    match context {
        // Some servers halve the window before they cut, others leave room for the answer.
        Some(context) if most <= u64::from((context / 2).min(context.saturating_sub(answer))) => PromptFit::Whole,
        _ if reported >= most => PromptFit::Whole,
        _ => PromptFit::Unsure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Role;

    fn message(content: String) -> Vec<Message> {
        vec![Message { role: Role::User, content }]
    }

    #[test]
    fn cut_prompts_are_told_by_their_count() {
        let prompt = message("let value = other + 1;\n".repeat(100));
        assert_eq!(judge(&prompt, Some(900), Some(2048), 100), PromptFit::Unsure);
        assert_eq!(judge(&prompt, Some(200), Some(2048), 100), PromptFit::Cut);
        assert_eq!(judge(&prompt, Some(900), Some(8192), 100), PromptFit::Whole);
        assert_eq!(judge(&prompt, Some(900), Some(8192), 8000), PromptFit::Unsure);
        assert_eq!(judge(&prompt, None, Some(2048), 100), PromptFit::Whole);
        assert_eq!(judge(&message(" ".repeat(6400)), Some(100), Some(32768), 10), PromptFit::Whole);
    }
}
