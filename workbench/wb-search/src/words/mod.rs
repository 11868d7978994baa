//! Words of code and questions: identifiers in their parts and whole, endings taken off, as BM25 has them.

mod variants;

pub(crate) use variants::{root, roots, short_forms};
use wb_retrieval::code_tokens::{CodeTokenizer, CodeTokensConfig, Stemming};

/// A tokenizer with the rules of this crate.
pub(crate) fn tokenizer() -> CodeTokenizer {
    CodeTokensConfig::default().init()
}

/// The words of an identifier, in lower case, with their endings.
pub(crate) fn identifier_words(identifier: &str) -> Vec<String> {
    CodeTokensConfig { whole: false, stemming: Stemming::None, ..CodeTokensConfig::default() }.init().words(identifier)
}

/// True for a word of a question in prose that says nothing of code.
pub(crate) fn says_nothing(word: &str) -> bool {
    const WORDS: [&str; 97] = [
        "a", "about", "after", "all", "also", "an", "and", "any", "are", "as", "at", "be", "been", "being", "between",
        "both", "but", "by", "can", "could", "did", "do", "doe", "does", "during", "each", "for", "from", "had", "has",
        "hav", "have", "how", "i", "if", "in", "into", "is", "it", "its", "may", "me", "more", "most", "my", "no",
        "not", "of", "on", "one", "only", "or", "other", "our", "over", "same", "should", "so", "some", "such", "than",
        "that", "the", "their", "them", "then", "ther", "there", "thes", "these", "they", "thi", "this", "thos",
        "those", "through", "to", "under", "up", "us", "was", "we", "wer", "were", "what", "when", "wher", "where",
        "whether", "which", "whil", "who", "why", "will", "with", "would", "you",
    ];
    WORDS.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_keep_the_words_that_say_something() {
        let kept = |text: &str| -> Vec<String> {
            let words = tokenizer().words(text);
            words.into_iter().filter(|word| !says_nothing(word)).collect()
        };
        assert_eq!(kept("How does the parser handle these errors?"), ["parser", "handl", "error"]);
        assert_eq!(kept("where is this defined, and what is there"), ["defin"]);
    }
}
