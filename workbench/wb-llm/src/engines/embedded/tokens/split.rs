//! Pretokenizers: the way a text falls into words before pairs are joined: `tokenizer.ggml.pre`.

use regex::Regex;

/// A way to split. The patterns are those of the tokenizers' own files, in an engine that takes linear time.
#[derive(Debug, Clone)]
pub struct Pretokenizer {
    patterns: Vec<Regex>,
    /// True where a word that is a token as a whole is never joined from pairs (`ignore_merges`).
    pub whole_words: bool,
    /// True where a text begins with the beginning token unless the file says otherwise.
    pub add_bos: bool,
}

const GPT2: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|(?<space>\s+)";
const QWEN2: &str = r"'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD]|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|(?<space>\s+)";
const LLAMA3: &str = r"'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD]|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|(?<space>\s+)";

/// The names that are known, with the patterns that they stand for.
const KNOWN: [(&[&str], &[&str], bool, bool); 4] = [
    (&["gpt-2", "phi-2", "mellum"], &[GPT2], false, false),
    (&["starcoder", "refact", "smollm", "codeshell"], &[r"\p{N}", GPT2], false, false),
    (&["qwen2", "deepseek-r1-qwen", "megrez"], &[QWEN2], false, false),
    (&["llama-bpe", "llama3", "llama-v3"], &[LLAMA3], true, true),
];

impl Pretokenizer {
    /// The split of that name; the error lists those that are known.
    pub fn named(name: &str) -> Result<Self, String> {
        let Some((_, patterns, whole_words, add_bos)) = KNOWN.iter().find(|(names, ..)| names.contains(&name)) else {
            let known: Vec<&str> = KNOWN.iter().flat_map(|(names, ..)| names.iter().copied()).collect();
            return Err(format!(
                "tokenizer.ggml.pre is {name:?}, known are {}. A llama-server knows more: llm.engine: sidecar",
                known.join(", ")
            ));
        };
        let patterns = patterns.iter().map(|p| Regex::new(p).map_err(|e| e.to_string())).collect::<Result<_, _>>()?;
        Ok(Self { patterns, whole_words: *whole_words, add_bos: *add_bos })
    }

    /// The words of a text; together they are the text.
    pub fn words<'a>(&self, text: &'a str) -> Vec<&'a str> {
        let mut words = vec![text];
        for pattern in &self.patterns {
            words = words.into_iter().flat_map(|word| cut(pattern, word)).collect();
        }
        words
    }
}

/// A text at the matches of a pattern; what lies between two matches is a word too.
///
/// The patterns end in `\s+(?!\S)|\s+`: of a run of spaces before something else, the last one is left to it. That is
/// done here, so that the pattern itself needs no look-ahead.
fn cut<'a>(pattern: &Regex, text: &'a str) -> Vec<&'a str> {
    let mut out = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let Some(found) = pattern.captures_at(text, at) else { break };
        let Some(all) = found.get(0).filter(|m| !m.is_empty()) else { break };
        let mut end = all.end();
        if found.name("space").is_some() && end < text.len() {
            let last = all.as_str().char_indices().next_back().map_or(0, |(i, _)| i);
            if last > 0 {
                end = all.start() + last;
            }
        }
        if at < all.start() {
            out.push(&text[at..all.start()]);
        }
        out.push(&text[all.start()..end]);
        at = end;
    }
    if at < text.len() {
        out.push(&text[at..]);
    }
    out
}
