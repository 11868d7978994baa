//! Plain ASCII texts to words, as common tokenizers split them, many times faster than their general way.
//!
//! Code is mostly ASCII, and a tokenizer spends most of its time on finding words: normalizing with alignments,
//! regular expressions with look-around. Here each of three known splitters is a loop over bytes. Whatever is not plain,
//! or not one of these splitters, goes the general way; tests hold both to the same words.

use serde_json::{Value, json};

/// Place of a space inside an identifier: `parse|Http`, `HTTP|Response`.
const CAMEL: &str = r"(?<=\p{Ll})(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})";
/// Characters that only separate words.
const SEPARATORS: &str = r"[\s_]+";
/// A word: letters, digits, or neither.
const RUNS: &str = r"[\p{L}\p{M}]+|\p{N}+|[^\p{L}\p{M}\p{N}]+";

/// A known way to split texts into words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WordSplitter {
    /// Identifiers fall apart; white space and `_` only separate.
    Identifiers { lowercase: bool },
    /// GPT-2's and RoBERTa's: a space belongs to the word after it.
    Gpt2 { lowercase: bool },
    /// BERT's: white space separates, every punctuation mark is a word.
    Bert { lowercase: bool },
}

impl WordSplitter {
    /// The splitter that a tokenizer uses, if it is one of these.
    pub(crate) fn of(tokenizer: &tokenizers::Tokenizer) -> Option<Self> {
        // Tokens that are looked for in normalized text could hide in any text.
        if tokenizer.get_added_tokens_decoder().values().any(|token| token.normalized) {
            return None;
        }
        let value = |part: Option<Value>| part.unwrap_or(Value::Null);
        let normalizer = value(tokenizer.get_normalizer().and_then(|n| serde_json::to_value(n).ok()));
        let pre_tokenizer = value(tokenizer.get_pre_tokenizer().and_then(|p| serde_json::to_value(p).ok()));
        if pre_tokenizer == json!({"type": "BertPreTokenizer"}) {
            let usual = normalizer["type"] == "BertNormalizer" && normalizer["clean_text"] == true;
            return usual.then(|| Self::Bert { lowercase: normalizer["lowercase"] == true });
        }
        let ours = [true, false].into_iter().flat_map(|lowercase| {
            [Self::Identifiers { lowercase }, Self::Gpt2 { lowercase }].map(|splitter| (splitter, splitter.json()))
        });
        let roberta = (Self::Gpt2 { lowercase: false }, (Value::Null, byte_level(true)));
        let lowercase = (Self::Gpt2 { lowercase: true }, (json!({"type": "Lowercase"}), byte_level(true)));
        let known =
            ours.chain([roberta, lowercase]).find(|(_, json)| *json == (normalizer.clone(), pre_tokenizer.clone()));
        known.map(|(splitter, _)| splitter)
    }

    /// Normalizer and pre-tokenizer as `tokenizer.json` holds them, for the byte-level splitters.
    pub(crate) fn json(self) -> (Value, Value) {
        let mut normalizers = Vec::new();
        let mut pre_tokenizers = Vec::new();
        let (identifiers, lowercase) = match self {
            Self::Identifiers { lowercase } => (true, lowercase),
            Self::Gpt2 { lowercase } | Self::Bert { lowercase } => (false, lowercase),
        };
        if identifiers {
            normalizers.push(json!({"type": "Replace", "pattern": {"Regex": CAMEL}, "content": " "}));
            for (pattern, behavior) in [(SEPARATORS, "Removed"), (RUNS, "Isolated")] {
                let pattern = json!({"Regex": pattern});
                pre_tokenizers
                    .push(json!({"type": "Split", "pattern": pattern, "behavior": behavior, "invert": false}));
            }
        }
        if lowercase {
            normalizers.push(json!({"type": "Lowercase"}));
        }
        pre_tokenizers.push(byte_level(!identifiers));
        (
            json!({"type": "Sequence", "normalizers": normalizers}),
            json!({"type": "Sequence", "pretokenizers": pre_tokenizers}),
        )
    }

    /// True where [`WordSplitter::split`] takes the text: white space and printable ASCII only.
    pub(crate) fn takes(self, text: &str) -> bool {
        match self {
            // BERT removes vertical tabs and form feeds instead of splitting there.
            Self::Bert { .. } => text.bytes().all(|b| matches!(b, b'\t' | b'\n' | b'\r' | b' '..=b'~')),
            _ => text.bytes().all(|b| matches!(b, b'\t'..=b'\r' | b' '..=b'~')),
        }
    }

    /// Calls `add` for each word, as the model of the tokenizer gets it, until `add` says `false`.
    pub(crate) fn split(self, text: &str, add: &mut dyn FnMut(&str) -> bool) {
        match self {
            Self::Identifiers { lowercase } => identifiers(text.as_bytes(), lowercase, add),
            Self::Gpt2 { lowercase } => gpt2(text.as_bytes(), lowercase, add),
            Self::Bert { lowercase } => bert(text.as_bytes(), lowercase, add),
        }
    }
}

fn byte_level(regex: bool) -> Value {
    json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": regex})
}

#[derive(Clone, Copy, PartialEq)]
enum Class {
    Upper,
    Lower,
    Digit,
    Space,
    Other,
}

fn class(byte: u8) -> Class {
    match byte {
        b'A'..=b'Z' => Class::Upper,
        b'a'..=b'z' => Class::Lower,
        b'0'..=b'9' => Class::Digit,
        b'\t'..=b'\r' | b' ' => Class::Space,
        _ => Class::Other,
    }
}

/// The word of some bytes in the byte-level alphabet, where white space is a character from U+0100 on.
fn write(word: &mut String, bytes: &[u8], lowercase: bool) {
    word.clear();
    for byte in bytes {
        word.push(match byte {
            0..=b' ' => char::from_u32(0x100 + u32::from(*byte)).unwrap_or(' '),
            _ if lowercase => char::from(byte.to_ascii_lowercase()),
            _ => char::from(*byte),
        });
    }
}

fn identifiers(bytes: &[u8], lowercase: bool, add: &mut dyn FnMut(&str) -> bool) {
    let separates = |byte: u8| byte == b'_' || class(byte) == Class::Space;
    let mut word = String::new();
    let mut begin = 0;
    for at in 0..=bytes.len() {
        let goes_on = at > begin && at < bytes.len() && !separates(bytes[at]) && {
            match (class(bytes[at - 1]), class(bytes[at])) {
                (Class::Upper, Class::Upper) => bytes.get(at + 1).is_none_or(|next| class(*next) != Class::Lower),
                (Class::Upper, Class::Lower) => true,
                (before, now) => before == now,
            }
        };
        if goes_on {
            continue;
        }
        if at > begin {
            write(&mut word, &bytes[begin..at], lowercase);
            if !add(&word) {
                return;
            }
        }
        begin = at + usize::from(at < bytes.len() && separates(bytes[at]));
    }
}

/// `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
fn gpt2(bytes: &[u8], lowercase: bool, add: &mut dyn FnMut(&str) -> bool) {
    let letter = |class| matches!(class, Class::Upper | Class::Lower);
    let same = |a, b| a == b || (letter(a) && letter(b));
    let mut word = String::new();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        // What the expression sees is normalized already.
        let is = |ending: &[u8]| {
            rest.len() > ending.len()
                && rest[1..=ending.len()]
                    .iter()
                    .zip(ending)
                    .all(|(a, b)| if lowercase { a.to_ascii_lowercase() == *b } else { a == b })
        };
        let endings: [&[u8]; 7] = [b"s", b"t", b"re", b"ve", b"m", b"ll", b"d"];
        let contraction = (rest[0] == b'\'').then(|| endings.iter().find(|ending| is(ending))).flatten();
        let first = usize::from(rest[0] == b' ');
        let length = if let Some(ending) = contraction {
            ending.len() + 1
        } else if rest.len() > first && class(rest[first]) != Class::Space {
            let kind = class(rest[first]);
            first + rest[first..].iter().take_while(|byte| same(class(**byte), kind)).count()
        } else {
            let spaces = rest.iter().take_while(|byte| class(**byte) == Class::Space).count();
            // The last of several spaces belongs to the word after them.
            if spaces < rest.len() && spaces > 1 { spaces - 1 } else { spaces }
        };
        write(&mut word, &rest[..length], lowercase);
        if !add(&word) {
            return;
        }
        at += length;
    }
}

fn bert(bytes: &[u8], lowercase: bool, add: &mut dyn FnMut(&str) -> bool) {
    let alone = |byte: u8| class(byte) == Class::Other;
    let mut word = String::new();
    let mut at = 0;
    while at < bytes.len() {
        let length = match class(bytes[at]) {
            Class::Space | Class::Other => 1,
            _ => bytes[at..].iter().take_while(|byte| !alone(**byte) && class(**byte) != Class::Space).count(),
        };
        if class(bytes[at]) != Class::Space {
            write(&mut word, &bytes[at..at + length], lowercase);
            if !add(&word) {
                return;
            }
        }
        at += length;
    }
}

#[cfg(test)]
mod tests {
    use tokenizers::{
        Normalizer, OffsetReferential, OffsetType, PreTokenizedString, PreTokenizer, normalizer::NormalizedString,
    };

    use super::*;

    /// A tokenizer with this splitter and no words.
    fn tokenizer(splitter: WordSplitter) -> tokenizers::Tokenizer {
        let (mut normalizer, mut pre_tokenizer) = splitter.json();
        if let WordSplitter::Bert { lowercase } = splitter {
            normalizer = json!({"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
                                "strip_accents": null, "lowercase": lowercase});
            pre_tokenizer = json!({"type": "BertPreTokenizer"});
        }
        let model = json!({"type": "BPE", "vocab": {}, "merges": []});
        let json = json!({"version": "1.0", "added_tokens": [], "normalizer": normalizer, "pre_tokenizer": pre_tokenizer,
                          "model": model});
        tokenizers::Tokenizer::from_bytes(json.to_string()).unwrap()
    }

    fn both(splitter: WordSplitter, text: &str) -> (Vec<String>, Vec<String>) {
        let tokenizer = tokenizer(splitter);
        assert_eq!(WordSplitter::of(&tokenizer), Some(splitter));
        let (mut quick, mut slow) = (Vec::new(), Vec::new());
        splitter.split(text, &mut |word| {
            quick.push(word.to_owned());
            true
        });
        let mut normalized = NormalizedString::from(text);
        tokenizer.get_normalizer().unwrap().normalize(&mut normalized).unwrap();
        let mut pieces = PreTokenizedString::from(normalized);
        tokenizer.get_pre_tokenizer().unwrap().pre_tokenize(&mut pieces).unwrap();
        for (word, _, _) in pieces.get_splits(OffsetReferential::Normalized, OffsetType::Byte) {
            slow.push(word.to_owned());
        }
        slow.retain(|word| !word.is_empty());
        (quick, slow)
    }

    fn all() -> impl Iterator<Item = WordSplitter> {
        [true, false].into_iter().flat_map(|lowercase| {
            [
                WordSplitter::Identifiers { lowercase },
                WordSplitter::Gpt2 { lowercase },
                WordSplitter::Bert { lowercase },
            ]
        })
    }

    #[test]
    fn words_end_where_a_reader_sees_them_end() {
        let text = "let x1 = parseHTTPResponse2(a_b, __C__); // I/O: A Xy\r\n";
        let (quick, slow) = both(WordSplitter::Identifiers { lowercase: false }, text);
        assert_eq!(quick.join(" "), "let x 1 = parse HTTP Response 2 ( a b , C ); // I / O : A Xy");
        assert_eq!(quick, slow);
        let (quick, slow) = both(WordSplitter::Gpt2 { lowercase: false }, "it's  a\n\n  b'RE I'll (x) ");
        assert_eq!(quick.join("|"), "it|'s|Ġ|Ġa|ĊĊĠ|Ġb|'|RE|ĠI|'ll|Ġ(|x|)|Ġ");
        assert_eq!(quick, slow);
    }

    proptest::proptest! {
        #[test]
        fn the_quick_way_gives_the_same_words(text in "[ -~\t\n\r\u{b}\u{c}]{0,60}") {
            for splitter in all().filter(|splitter| splitter.takes(&text)) {
                let (quick, slow) = both(splitter, &text);
                proptest::prop_assert_eq!(quick, slow);
            }
        }

        #[test]
        fn and_so_for_few_kinds_of_letters(text in "[a-bA-B_0 .'slLd\n]{0,40}") {
            for splitter in all() {
                let (quick, slow) = both(splitter, &text);
                proptest::prop_assert_eq!(quick, slow);
            }
        }
    }
}
