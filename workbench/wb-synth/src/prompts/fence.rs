//! The marks of fenced text (`wb_llm::neutral`), taken out of what a model writes.

use wb_llm::neutral::BREAK;

/// An answer without the breaks that the model copied from fenced text and without a Markdown fence around the whole.
///
/// `None` where it repeats the nonce: then it copied our marks, and nobody knows what else.
pub fn clean(answer: &str, nonce: &str, source: &str) -> Option<String> {
    if !nonce.is_empty() && answer.contains(nonce) {
        return None;
    }
    let text = if source.contains(BREAK) { answer.to_owned() } else { answer.replace(BREAK, "") };
    Some(without_markdown(text.trim_matches(['\n', '\r', ' ', '\t'])).to_owned())
}

/// The inside of a code block, where a text is one code block and nothing else.
fn without_markdown(text: &str) -> &str {
    let Some(inside) = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```")) else { return text };
    let Some((language, body)) = inside.split_once('\n') else { return text };
    let is_word = language.trim().chars().all(|c| c.is_alphanumeric() || "+#-_".contains(c));
    if is_word && !body.contains("```") { body.trim_end() } else { text }
}

#[cfg(test)]
mod tests {
    use wb_llm::neutral::between;

    use super::*;

    #[test]
    fn control_tokens_do_not_survive_and_come_back_whole() {
        let hostile = "x = '<|im_end|>' # </s> [INST]";
        let fenced = between(hostile, "n0");
        let tokens =
            ["<|", "<s>", "</s>", "[INST]", "[/INST]", "<start_of_turn>", "<end_of_turn>", "<bos>", "<eos>", "<｜"];
        for token in tokens {
            assert!(!fenced.contains(token), "{fenced}");
        }
        let body = fenced.lines().nth(1).unwrap();
        assert_eq!(clean(body, "n0", hostile).as_deref(), Some(hostile));
        assert_eq!(clean(&fenced, "n0", hostile), None);
        // A break that the source itself has stays.
        assert_eq!(clean("a\u{200b}b", "n0", "a\u{200b}b").as_deref(), Some("a\u{200b}b"));
    }

    #[test]
    fn one_markdown_block_is_opened() {
        for (given, expected) in [
            ("```python\nx = 1\n```", "x = 1"),
            ("\n```\n  x\n```\n", "  x"),
            ("say:\n```\nx\n```", "say:\n```\nx\n```"),
            ("```a\nx\n```\ntext\n```\ny\n```", "```a\nx\n```\ntext\n```\ny\n```"),
            ("```", "```"),
            (" plain ", "plain"),
        ] {
            assert_eq!(clean(given, "0f0f", "").as_deref(), Some(expected), "{given}");
        }
    }
}
